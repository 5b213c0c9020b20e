//! Opaque columns: columns of a copy that can be shown but not computed with.
//!
//! These are columns of types that native tables do not have (GEOMETRY and its subtypes, VECTOR,
//! MariaDB's UUID, INET4 and INET6), and text in charsets of which only the characters are known
//! here. Their values are stored as the server shows them. A query that does more with them runs on
//! the server.

use pelorus_error::{Error, Result};
use pelorus_mirror::Form;
use pelorus_native::definition::{NativeDef, table_collation};
use pelorus_native::types::{collation_of, type_collation};
use pelorus_sql::ddl::{
    AlterAction, AlterTable, Base, ColumnDefault, ColumnDefinition, KeyKind, TableDefinition,
};
use pelorus_types::charset::Table;
use pelorus_types::{Collation, ColumnType};

/// How the binlog tells the values of a type.
pub(super) fn form(base: Base) -> Form {
    match base {
        Base::Uuid => Form::Uuid,
        Base::Inet4 => Form::Inet4,
        Base::Inet6 => Form::Inet6,
        _ => Form::Plain,
    }
}

/// Which columns of a copy are only shown.
pub(super) fn columns(def: &NativeDef) -> Vec<bool> {
    let columns = def.definition.columns.iter().zip(&def.targets);
    columns.map(|(it, target)| it.data_type.base.is_opaque() || is_foreign(&target.ty)).collect()
}

/// Whether a type is of text in a charset of which only the characters are known.
pub(super) fn is_foreign(ty: &ColumnType) -> bool {
    ty.is_string() && !ty.is_binary_string() && !ty.collation.has_plain_charset()
}

/// The error for a column that is only shown, where a copy would have to compare its values.
pub(super) fn needed(name: &str, ty: &ColumnType, by: &str) -> Error {
    Error::unsupported(format_args!(
        "mirrors of a table whose column '{name}' in character set {} is needed by {by}: text of this \
         character set is shown by mirrors, and not compared",
        ty.collation.charset()
    ))
}

/// Checks whether a change of the source creates or converts values of these columns.
///
/// # Errors
/// A change that does: the copy must be created again.
pub(super) fn check(definition: &TableDefinition, alter: &AlterTable) -> Result<()> {
    check_charsets(definition, alter)?;
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

/// The same for the charsets of text.
fn check_charsets(definition: &TableDefinition, alter: &AlterTable) -> Result<()> {
    let before = table_collation(definition)?;
    let mut after = before;
    let made = |name: &str| {
        Error::unsupported(format_args!(
            "text of column '{name}' in a character set of its own that a change of the table makes"
        ))
    };
    let foreign = |collation: Collation| !collation.has_plain_charset();
    let of = |column: &ColumnDefinition, table: Collation| {
        let is_text = column.data_type.base.is_text();
        if is_text { type_collation(&column.data_type, table).map(Some) } else { Ok(None) }
    };
    for action in &alter.actions {
        if let AlterAction::Option(option) = action {
            let (charset, collation) = match option.name.as_str() {
                "CHARSET" => (Some(option.value.as_str()), None),
                "COLLATE" => (None, Some(option.value.as_str())),
                _ => continue,
            };
            after = collation_of(charset, collation, after)?;
        }
    }
    for action in &alter.actions {
        let (from, column) = match action {
            AlterAction::Convert { charset, collation } => {
                let to = collation_of(charset.as_deref(), collation.as_deref(), after)?;
                for column in &definition.columns {
                    let Some(from) = of(column, before)? else { continue };
                    if from != to && (foreign(from) || foreign(to)) {
                        return Err(made(&column.name));
                    }
                }
                continue;
            }
            AlterAction::AddKey(key) if key.kind == KeyKind::Primary => {
                for column in definition.columns.iter().filter(|it| key.holds(&it.name)) {
                    if of(column, before)?.is_some_and(foreign) {
                        return Err(made(&column.name));
                    }
                }
                continue;
            }
            AlterAction::AddColumn { column, .. } => (None, column),
            AlterAction::ModifyColumn { column, .. } => (Some(&column.name), column),
            AlterAction::ChangeColumn { from, column, .. } => (Some(from), column),
            _ => continue,
        };
        let to = of(column, after)?;
        let Some(name) = from else {
            if let Some(to) = to.filter(|it| foreign(*it))
                && !is_plain_default(column, to)
            {
                return Err(made(&column.name));
            }
            continue;
        };
        let mut columns = definition.columns.iter();
        let Some(old) = columns.find(|it| it.name.eq_ignore_ascii_case(name)) else { continue };
        let from = of(old, before)?;
        let is_same = from == to && old.data_type.base == column.data_type.base;
        if !is_same && (from.is_some_and(foreign) || to.is_some_and(foreign)) {
            return Err(made(&column.name));
        }
        // Bytes become the text that they are in the charset; here they would be read as UTF-8.
        let is_utf8 = |to: Collation| matches!(to.charset(), "utf8mb4" | "utf8mb3" | "utf8");
        if old.data_type.base.is_bytes() && to.is_some_and(|it| !is_utf8(it)) {
            return Err(made(&column.name));
        }
    }
    Ok(())
}

/// Whether the default of a new column is the same text in every charset like its own.
fn is_plain_default(column: &ColumnDefinition, collation: Collation) -> bool {
    let is_ascii = Table::of(collation.charset()).is_none_or(Table::is_ascii);
    match &column.default {
        Some(ColumnDefault::Literal(value)) => is_ascii && value.text.is_ascii(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use pelorus_sql::Mode;
    use pelorus_sql::ddl::TableStatement;

    use super::*;

    #[test]
    fn values_that_a_change_makes_are_noticed() {
        let parse = |sql: &str| pelorus_sql::ddl::parse(sql, Mode::default()).unwrap();
        let text =
            "CREATE TABLE t (id INT PRIMARY KEY, g POINT NULL, u VARCHAR(40), b VARBINARY(9))";
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
            "MODIFY b VARCHAR(20) CHARACTER SET latin1",
            "CHANGE g h BLOB",
            "MODIFY g POINT NOT NULL",
        ] {
            assert!(!is_followed(bad), "{bad}");
        }
    }

    #[test]
    fn text_of_other_charsets_is_not_converted_here() {
        let parse = |sql: &str| pelorus_sql::ddl::parse(sql, Mode::default()).unwrap();
        let text = "CREATE TABLE t (id INT PRIMARY KEY, g VARCHAR(9), u VARCHAR(40) CHARACTER SET utf8mb4) \
            CHARSET gbk";
        let TableStatement::Create(table) = parse(text) else { panic!() };
        let is_followed = |actions: &str| match parse(&format!("ALTER TABLE t {actions}")) {
            TableStatement::Alter(alter) => check(&table, &alter).is_ok(),
            other => panic!("{other:?}"),
        };
        for good in [
            "ADD v VARCHAR(9)",
            "ADD v VARCHAR(9) NOT NULL DEFAULT 'new'",
            "MODIFY g VARCHAR(20) NOT NULL",
            "CHANGE g h VARCHAR(9)",
            "CHARSET utf8mb4",
            "MODIFY u VARCHAR(50) CHARACTER SET latin1",
            "CHARSET utf8mb4, MODIFY g VARCHAR(10) CHARACTER SET gbk",
            "DROP COLUMN g",
        ] {
            assert!(is_followed(good), "{good}");
        }
        for bad in [
            "ADD v VARCHAR(9) DEFAULT '中'",
            "ADD v VARCHAR(9) CHARACTER SET swe7 DEFAULT 'new'",
            "MODIFY g VARCHAR(9) CHARACTER SET big5",
            "MODIFY g VARCHAR(9) COLLATE gbk_bin",
            "MODIFY g TINYTEXT",
            "MODIFY u VARCHAR(40)",
            "MODIFY g INT",
            "CHARSET utf8mb4, MODIFY g VARCHAR(9)",
            "CONVERT TO CHARACTER SET utf8mb4",
            "CONVERT TO CHARACTER SET big5",
            "DROP PRIMARY KEY, ADD PRIMARY KEY (id, g)",
        ] {
            assert!(!is_followed(bad), "{bad}");
        }
    }
}
