//! Evaluates the bounds of partitions when a table is created.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_functions::{EvalContext, Value};
use pelorus_sql::ddl::{
    Expression, PartitionBound, PartitionDefinition, PartitionMethod, PartitionValues, Partitioning,
};
use pelorus_sql::literal::Constant;
use pelorus_sql::{Mode, literal};
use sqlparser::ast::{Expr, UnaryOperator, Value as Sql};

use super::super::expression;
use super::method::{integer_of, signed, take_count};

/// Replaces the expressions of bounds by their values, as the session of the statement sees them,
/// and takes the number of partitions away where they are listed.
///
/// # Errors
/// A bound that is no constant or no integer, and a number that is not that of the list.
pub(crate) fn settle(
    partitioning: &mut Partitioning,
    mode: Mode,
    context: &Arc<EvalContext>,
) -> Result<()> {
    take_count(partitioning)?;
    let integers =
        matches!(partitioning.method, PartitionMethod::Range(_) | PartitionMethod::List(_));
    for partition in &mut partitioning.partitions {
        settle_partition(partition, integers, mode, context)?;
    }
    Ok(())
}

fn settle_partition(
    partition: &mut PartitionDefinition,
    integers: bool,
    mode: Mode,
    context: &Arc<EvalContext>,
) -> Result<()> {
    let name = partition.name.clone();
    let settle = |value: &mut Expression| -> Result<()> {
        let (tree, _) = signed(&value.tree);
        if matches!(tree, Expr::Value(_)) && (!integers || !is_text(tree, mode)) {
            return Ok(());
        }
        let (found, ty) = expression::constant(&value.tree, mode, context)?;
        let text = match integers {
            true => integer_of(&found, &name)?.map_or("NULL".to_owned(), |it| it.to_string()),
            false => match found {
                Value::Null => "NULL".to_owned(),
                Value::Int(_) | Value::UInt(_) => pelorus_result::scalar::text_of(&found, &ty),
                other => literal::text(&pelorus_result::scalar::text_of(&other, &ty), mode),
            },
        };
        *value = literal_expression(&text);
        Ok(())
    };
    match &mut partition.values {
        None | Some(PartitionValues::Default) => Ok(()),
        Some(PartitionValues::LessThan(bounds)) => bounds
            .iter_mut()
            .filter_map(|bound| match bound {
                PartitionBound::Value(value) => Some(value),
                PartitionBound::Maximum => None,
            })
            .try_for_each(settle),
        Some(PartitionValues::In(values)) => values.iter_mut().flatten().try_for_each(settle),
    }
}

fn is_text(tree: &Expr, mode: Mode) -> bool {
    matches!(literal::constant(tree, mode), Some(Constant::Text { .. }))
}

/// A literal as an expression.
fn literal_expression(text: &str) -> Expression {
    let value = |value: Sql| Expr::Value(value.with_empty_span());
    let tree = match (text, text.strip_prefix('-')) {
        ("NULL", _) => value(Sql::Null),
        (_, Some(digits)) => Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(value(Sql::Number(digits.to_owned(), false))),
        },
        _ => match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(raw) => value(Sql::SingleQuotedString(raw.to_owned())),
            None => value(Sql::Number(text.to_owned(), false)),
        },
    };
    Expression { text: text.to_owned(), tree: Box::new(tree) }
}
