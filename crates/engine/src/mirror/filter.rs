//! Filtered copies: a copy with a part of the columns or rows of its table.
//!
//! A column that is left out is a small column that is always NULL, marked by a comment; a copy has
//! no comments from its user. The row condition is stored as the comment of the table. Both belong
//! therefore to a generation of the copy, and changes of the definition preserve them.

mod condition;

use pelorus_error::{Code, Error, Result};
use pelorus_native::definition::NativeDef;
use pelorus_query::TablePart;
use pelorus_sql::ddl::{
    AlterAction, AlterTable, Base, ColumnDefinition, TableDefinition, TableOption, TypeName,
};
use pelorus_sql::statement::MirrorFilter;
use pelorus_sql::{Mode, ast_analysis};
use sqlparser::ast::Expr;

use super::opaque;

pub(super) use condition::RowFilter;

/// The comment of a column that is left out.
const LEFT_OUT: &str = "left out";
/// The option that has the condition.
const COMMENT: &str = "COMMENT";

/// Makes the definition of a copy that of a part.
///
/// # Errors
/// Columns that are not there (1054), and those that the copy cannot do without.
pub(super) fn apply(definition: &mut TableDefinition, filter: &MirrorFilter) -> Result<()> {
    let has = |name: &str| definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name));
    if let Some(condition) = &filter.condition {
        for name in names_of(&read(condition)?) {
            if !has(&name) {
                return Err(unknown(&name));
            }
            if filter.columns.leave_out(&name) {
                return Err(needed(&name, "the condition WHERE of the mirror"));
            }
        }
        definition.options.push(TableOption {
            name: COMMENT.to_owned(),
            value: condition.clone(),
            quoted: true,
        });
    }
    let keys = definition.keys.clone();
    let segments: Vec<String> =
        definition.segment_by.iter().flat_map(|it| names_of(&it.tree)).collect();
    for column in &mut definition.columns {
        if !filter.columns.leave_out(&column.name) {
            continue;
        }
        if column.primary || keys.iter().any(|key| key.holds(&column.name)) {
            return Err(needed(&column.name, "the primary key"));
        }
        // Partitions are made of the primary key.
        if segments.iter().any(|name| name.eq_ignore_ascii_case(&column.name)) {
            return Err(needed(&column.name, "SEGMENT BY"));
        }
        leave_out(column);
    }
    Ok(())
}

/// Names of the user that the table does not have.
///
/// # Errors
/// 1054.
pub(super) fn check_names(definition: &TableDefinition, filter: &MirrorFilter) -> Result<()> {
    let has =
        |name: &String| definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name));
    match filter.columns.names().iter().find(|name| !has(name)) {
        None => Ok(()),
        Some(name) => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Error {
    Error::new(Code::UnknownColumn, format!("Unknown column '{name}' in 'MIRROR'"))
}

fn needed(name: &str, by: &str) -> Error {
    let text = format!("column '{name}' cannot be left out of the mirror: {by} needs it");
    Error::new(Code::WrongArguments, text)
}

/// Makes a column one that is left out.
fn leave_out(column: &mut ColumnDefinition) {
    column.data_type = TypeName::new(Base::TinyInt);
    column.nullable = Some(true);
    column.default = None;
    column.generated = None;
    column.srid = None;
    column.comment = Some(LEFT_OUT.to_owned());
}

pub(super) fn is_left_out(column: &ColumnDefinition) -> bool {
    column.comment.as_deref() == Some(LEFT_OUT)
}

/// Translates an `ALTER TABLE` of the source for a filtered copy.
///
/// # Errors
/// Changes after which the copy must be created again: of columns that the condition names, and of
/// keys over columns that are left out.
pub(super) fn alter(
    definition: &TableDefinition,
    alter: &mut AlterTable,
    filter: &MirrorFilter,
) -> Result<()> {
    let condition = definition.option(COMMENT).map(read).transpose()?;
    let named = condition.as_ref().map(names_of).unwrap_or_default();
    let is_out = |name: &str| {
        definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name) && is_left_out(it))
    };
    alter
        .actions
        .retain(|action| !matches!(action, AlterAction::ColumnDefault(name, _) if is_out(name)));
    for action in &mut alter.actions {
        let touched = match action {
            AlterAction::AddColumn { column, .. } => {
                if filter.columns.leave_out(&column.name) {
                    leave_out(column);
                }
                continue;
            }
            AlterAction::ModifyColumn { column, .. } => {
                let name = column.name.clone();
                if is_out(&name) {
                    leave_out(column);
                }
                name
            }
            AlterAction::ChangeColumn { from, column, .. } => {
                if is_out(from) {
                    leave_out(column);
                }
                from.clone()
            }
            AlterAction::RenameColumn(from, _) => from.clone(),
            AlterAction::DropColumn { name, .. } => name.clone(),
            AlterAction::AddKey(key) => {
                let columns = &definition.columns;
                match columns.iter().find(|it| is_left_out(it) && key.holds(&it.name)) {
                    Some(column) => return Err(needed(&column.name, "the primary key")),
                    None => continue,
                }
            }
            AlterAction::Convert { .. } if condition.is_some() => {
                return Err(Error::unsupported("a change of the charset under a condition"));
            }
            _ => continue,
        };
        if named.iter().any(|name| name.eq_ignore_ascii_case(&touched)) {
            return Err(Error::unsupported(format_args!(
                "a change of column '{touched}', which the condition of the mirror names"
            )));
        }
    }
    Ok(())
}

/// The part of its table that a copy has, for queries.
pub(crate) fn part(def: &NativeDef) -> Option<TablePart> {
    let left_out: Vec<bool> = def.definition.columns.iter().map(is_left_out).collect();
    let opaque = opaque::columns(def);
    let condition = def.definition.option(COMMENT);
    if condition.is_none() && !left_out.contains(&true) && !opaque.contains(&true) {
        return None;
    }
    // A condition that cannot be read is implied by nothing.
    let unknown = || Expr::Value(sqlparser::ast::Value::Null.with_empty_span());
    let condition = condition.map(|text| read(text).unwrap_or_else(|_| unknown()));
    Some(TablePart { left_out, opaque, condition })
}

/// The part as callers see it that handle filtered copies: columns that are left out, and rows as if
/// they were all.
pub(crate) fn part_as_whole(def: &NativeDef) -> Option<TablePart> {
    part(def).map(|part| TablePart { left_out: part.left_out, ..TablePart::default() })
}

/// The condition of a copy's rows as SQL.
pub(crate) fn condition_text(def: &NativeDef) -> Option<&str> {
    def.definition.option(COMMENT)
}

/// Reads a condition.
pub(super) fn read(text: &str) -> Result<Expr> {
    pelorus_sql::parse_expression(text, Mode::default()).map_err(|unparsed| unparsed.error)
}

/// The columns that a condition names.
pub(super) fn names_of(tree: &Expr) -> Vec<String> {
    let last = |path: Vec<sqlparser::ast::Ident>| path.last().map(|it| it.value.clone());
    ast_analysis::all_columns(tree).into_iter().filter_map(last).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::ArrayRef;

    use super::super::definition::copy_of;
    use super::*;
    use pelorus_native::definition::Derived;

    const TABLE: &str = "CREATE TABLE `t` (`id` int NOT NULL, `s` varchar(9) COMMENT 'left out', \
        `d` datetime, `at` timestamp NULL, `j` json, `n` decimal(9,2), PRIMARY KEY (`id`))";

    fn filter(text: &str) -> Result<Option<RowFilter>> {
        let mut definition = copy_of(TABLE, None, &MirrorFilter::parse(text)?)?;
        definition.normalise();
        let derived = Derived::of("", &definition, Mode::default())?;
        RowFilter::of(&definition, &derived.targets)
    }

    #[test]
    fn conditions_are_those_of_a_row() {
        for good in [
            "id > 5 AND s = 'open' OR NOT (n IS NULL)",
            "s IN ('a', 'b') AND d >= '2026-01-01'",
            "at < '2026-01-01 10:00:00' XOR id % 10 = 3",
            "LEFT(s, 2) = 'ab' AND YEAR(d) = 2026 AND s LIKE 'x%' AND id",
            "at IS NULL AND n BETWEEN -1.5 AND 2",
        ] {
            assert!(filter(&format!("WHERE {good}")).unwrap().is_some(), "{good}");
        }
        for bad in [
            "d > NOW()",
            "id = @x",
            "id = (SELECT 1)",
            "id IN (SELECT 1)",
            "RAND() < 1",
            "'a' = 'A'",
            "j = '1'",
            "YEAR(at) = 2026",
            "at = d",
            "id + 1 > 5",
            "d > '2026-02-31'",
            "d > 20260101",
            "t.id = 1",
            "id = ?",
            "s REGEXP 'x'",
            "x = 1",
            "SUM(id) > 1",
            "at LIKE '2026%'",
        ] {
            assert!(filter(&format!("WHERE {bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn rows_are_wanted_when_the_condition_is_true() {
        let filter = filter("WHERE s <> 'B' AND n > 1 AND id IN (1, 2, 3, 4)").unwrap().unwrap();
        assert_eq!(filter.there(), Some("(n > 1) AND (id IN (1, 2, 3, 4))"));
        let ids: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![1, 2, 3, 4]));
        let texts: ArrayRef =
            Arc::new(arrow::array::StringArray::from(vec![Some("a"), Some("b"), None, Some("c")]));
        let numbers = arrow::array::Decimal128Array::from(vec![200, 200, 200, 50]);
        let numbers: ArrayRef = Arc::new(numbers.with_precision_and_scale(9, 2).unwrap());
        let other = arrow::array::new_null_array(&arrow::datatypes::DataType::Int64, 4);
        let columns =
            [ids, texts, Arc::clone(&other), Arc::clone(&other), Arc::clone(&other), numbers];
        let wanted: Vec<bool> = filter.wanted(4, &columns).unwrap().values().iter().collect();
        assert_eq!(wanted, [true, false, false, false]);
    }

    #[test]
    fn some_columns_cannot_be_left_out() {
        let error = |text: &str, layout: Option<&str>| {
            copy_of(TABLE, layout, &MirrorFilter::parse(text).unwrap()).unwrap_err().to_string()
        };
        assert!(error("EXCEPT COLUMNS (id)", None).contains("primary key"));
        assert!(error("COLUMNS (id) WHERE s = 'a'", None).contains("WHERE"));
        assert!(error("COLUMNS (id)", Some("SEGMENT BY (s)")).contains("SEGMENT BY"));
        let copy = copy_of(TABLE, None, &MirrorFilter::parse("COLUMNS (id, d)").unwrap()).unwrap();
        let out: Vec<bool> = copy.columns.iter().map(is_left_out).collect();
        // The comment of the user marks nothing.
        assert_eq!(out, [false, true, false, true, true, true]);
    }

    #[test]
    fn changes_keep_columns_left_out() {
        let words = MirrorFilter::parse("COLUMNS (id, d) WHERE d IS NOT NULL").unwrap();
        let copy = copy_of(TABLE, None, &words).unwrap();
        let after = |sql: &str| {
            let statement = pelorus_sql::ddl::parse(sql, Mode::default()).unwrap();
            let pelorus_sql::ddl::TableStatement::Alter(mut of) = statement else {
                panic!("{sql}")
            };
            alter(&copy, &mut of, &words).map(|()| of.actions)
        };
        let is_marked = |sql: &str| match after(sql).unwrap().as_slice() {
            [AlterAction::AddColumn { column, .. }]
            | [AlterAction::ModifyColumn { column, .. }]
            | [AlterAction::ChangeColumn { column, .. }] => is_left_out(column),
            other => panic!("{other:?}"),
        };
        assert!(is_marked("ALTER TABLE t ADD COLUMN x INT NOT NULL"));
        assert!(is_marked("ALTER TABLE t MODIFY s BLOB NOT NULL"));
        assert!(is_marked("ALTER TABLE t CHANGE s z INT"));
        assert!(!is_marked("ALTER TABLE t MODIFY id BIGINT"));
        assert!(after("ALTER TABLE t ALTER s SET DEFAULT 'abc'").unwrap().is_empty());
        for bad in [
            "ALTER TABLE t MODIFY d DATE",
            "ALTER TABLE t DROP COLUMN d",
            "ALTER TABLE t RENAME COLUMN d TO e",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (s)",
        ] {
            assert!(after(bad).is_err(), "{bad}");
        }
    }
}
