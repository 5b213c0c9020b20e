//! The implied attributes of TIMESTAMP columns if `explicit_defaults_for_timestamp` is off: they
//! accept no NULL, the first one of a table is the time of the last change, and all others default
//! to zero.

use pelorus_sql::ddl::{Base, ColumnDefault, ColumnDefinition, Expression};
use pelorus_sql::{Mode, literal};
use sqlparser::ast::{Expr, Value};

/// The default of all but the first.
const ZERO: &str = "0000-00-00 00:00:00";

/// Completes the TIMESTAMP columns of a table that a statement defines, as `is_new` says by their
/// positions.
pub(crate) fn imply_timestamps(
    columns: &mut [ColumnDefinition],
    is_new: impl Fn(usize) -> bool,
    mode: Mode,
) {
    let is_timestamp = |column: &ColumnDefinition| {
        column.data_type.base == Base::Timestamp && column.generated.is_none()
    };
    let first = columns.iter().position(|it| it.data_type.base == Base::Timestamp);
    for (at, column) in columns.iter_mut().enumerate().filter(|(at, _)| is_new(*at)) {
        if !is_timestamp(column) {
            continue;
        }
        column.nullable.get_or_insert(false);
        if column.nullable != Some(false) || column.default.is_some() {
            continue;
        }
        if Some(at) == first && column.on_update.is_none() {
            let digits = column.data_type.length.unwrap_or(0);
            column.default = Some(ColumnDefault::CurrentTimestamp(digits));
            column.on_update = Some(digits);
        } else {
            let tree = Expr::Value(Value::SingleQuotedString(ZERO.to_owned()).with_empty_span());
            let text = literal::text(ZERO, mode);
            column.default =
                Some(ColumnDefault::Literal(Expression { text, tree: Box::new(tree) }));
        }
    }
}
