//! Types that copies have and native tables do not: GEOMETRY and its kin, VECTOR, and MariaDB's UUID,
//! INET4 and INET6.
//!
//! Their values are kept as the server shows them and shown as they are. What a server would do with
//! them beyond that, it does.

use pelorus_error::{Error, Result};
use pelorus_mirror::Form;
use pelorus_sql::table::{
    AlterAction, AlterTable, Base, ColumnDefault, ColumnDefinition, TableDefinition,
};

/// How the binlog tells the values of a type.
pub(super) fn form(base: Base) -> Form {
    match base {
        Base::Uuid => Form::Uuid,
        Base::Inet4 => Form::Inet4,
        Base::Inet6 => Form::Inet6,
        _ => Form::Plain,
    }
}

/// Which columns of a definition are of such types.
pub(super) fn columns(definition: &TableDefinition) -> Vec<bool> {
    definition.columns.iter().map(|it| it.data_type.base.is_opaque()).collect()
}

/// Looks whether a change of the source makes values of these types, or makes others of them.
///
/// # Errors
/// One that does: the copy has to be made anew.
pub(super) fn check(definition: &TableDefinition, alter: &AlterTable) -> Result<()> {
    for action in &alter.actions {
        let (from, column) = match action {
            AlterAction::AddColumn { column, .. } => (None, column),
            AlterAction::ModifyColumn { column, .. } => (Some(&column.name), column),
            AlterAction::ChangeColumn { from, column, .. } => (Some(from), column),
            _ => continue,
        };
        let before = from.and_then(|name| {
            definition.columns.iter().find(|it| it.name.eq_ignore_ascii_case(name))
        });
        if makes_values(before, column) {
            return Err(Error::unsupported(format_args!(
                "values of type {} in column '{}' that a change of the table makes",
                column.data_type.base.name().to_uppercase(),
                column.name
            )));
        }
    }
    Ok(())
}

fn makes_values(before: Option<&ColumnDefinition>, column: &ColumnDefinition) -> bool {
    let is_opaque = column.data_type.base.is_opaque();
    let can_be_null = column.nullable != Some(false);
    match before {
        None => is_opaque && (!can_be_null || !has_no_default(column)),
        Some(before) => {
            let differs = before.data_type.base != column.data_type.base;
            (is_opaque || before.data_type.base.is_opaque())
                && (differs || before.nullable != column.nullable && !can_be_null)
        }
    }
}

fn has_no_default(column: &ColumnDefinition) -> bool {
    match &column.default {
        None => true,
        Some(ColumnDefault::Literal(value)) => value.text.eq_ignore_ascii_case("NULL"),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use pelorus_sql::Mode;
    use pelorus_sql::table::TableStatement;

    use super::*;

    #[test]
    fn values_that_a_change_makes_are_noticed() {
        let parse = |sql: &str| pelorus_sql::table::parse(sql, Mode::default()).unwrap();
        let text = "CREATE TABLE t (id INT PRIMARY KEY, g POINT NULL, u VARCHAR(40))";
        let TableStatement::Create(table) = parse(text) else { panic!() };
        let is_followed = |actions: &str| match parse(&format!("ALTER TABLE t {actions}")) {
            TableStatement::Alter(alter) => check(&table, &alter).is_ok(),
            other => panic!("{other:?}"),
        };
        for good in [
            "ADD v VECTOR(3)",
            "ADD v UUID DEFAULT NULL",
            "MODIFY g POINT NULL AFTER id",
            "MODIFY u TEXT",
            "DROP COLUMN g",
            "CHANGE g h POINT NULL",
        ] {
            assert!(is_followed(good), "{good}");
        }
        for bad in [
            "ADD v POINT NOT NULL",
            "ADD v UUID DEFAULT (UUID())",
            "MODIFY g GEOMETRY",
            "MODIFY u UUID",
            "CHANGE g h BLOB",
            "MODIFY g POINT NOT NULL",
        ] {
            assert!(!is_followed(bad), "{bad}");
        }
    }
}
