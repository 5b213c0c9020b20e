//! `ALTER TABLE` that changes the type of a column: which changes a copy can apply without
//! resynchronisation.
//!
//! The conversion of a value to another type follows many rules, which differ between servers and
//! versions, and more so outside of strict modes. A copy applies the changes that have one meaning
//! everywhere: exact numbers, text to text, the same type with more or fewer digits. Any other
//! change resynchronises the table.

use pelorus_error::{Error, Result};
use pelorus_sql::ddl::{
    AlterAction, AlterTable, Base, ColumnDefinition, TableDefinition, TableOption, TypeName,
};

use super::filter;

/// Checks whether columns whose type changes get the server's values here. `strict` is the mode of
/// the session.
///
/// # Errors
/// A column that may get other values: the copy must be created again.
pub(super) fn check(definition: &TableDefinition, alter: &AlterTable, strict: bool) -> Result<()> {
    let of_bytes = has_charset_binary(definition, alter);
    for action in &alter.actions {
        let (name, column) = match action {
            AlterAction::ModifyColumn { column, .. } => (&column.name, column),
            AlterAction::ChangeColumn { from, column, .. } => (from, column),
            _ => continue,
        };
        let before = definition.columns.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        // One that is left out is NULL in every row, whatever its type is.
        let Some(before) = before.filter(|it| !filter::is_left_out(it)) else { continue };
        let (from, to) = (&before.data_type, &column.data_type);
        let is_text = is_characters(from.base) && is_characters(to.base);
        let gets_bytes = is_text && of_bytes && to.charset.is_none() && to.collation.is_none();
        if !keeps_values(from, to) || gets_bytes || !fills_alike(before, column, strict) {
            return Err(Error::unsupported(format_args!(
                "values of column '{}' when it becomes {} from {}",
                before.name,
                to.base.name().to_uppercase(),
                from.base.name().to_uppercase()
            )));
        }
    }
    Ok(())
}

/// Whether text that names no charset is of bytes.
fn has_charset_binary(definition: &TableDefinition, alter: &AlterTable) -> bool {
    let is_binary = |option: &TableOption| {
        matches!(option.name.as_str(), "CHARSET" | "COLLATE")
            && option.value.eq_ignore_ascii_case("binary")
    };
    let is_made_so =
        |action: &AlterAction| matches!(action, AlterAction::Option(it) if is_binary(it));
    definition.options.iter().any(is_binary) || alter.actions.iter().any(is_made_so)
}

/// Whether every server makes the same of a value.
fn keeps_values(from: &TypeName, to: &TypeName) -> bool {
    let length = |ty: &TypeName| ty.length.unwrap_or(1);
    let is_same = from.base == to.base;
    match from.base {
        base if is_exact(base) => is_exact(to.base),
        base if is_characters(base) => is_characters(to.base),
        Base::Enum | Base::Set => is_same && keeps_members(&from.values, &to.values),
        Base::Bit | Base::Binary => is_same && length(from) == length(to),
        Base::VarBinary => is_same && length(from) <= length(to),
        Base::Float | Base::Double => {
            let digits = |ty: &TypeName| (ty.length, ty.scale, ty.unsigned);
            is_same && digits(from) == digits(to)
        }
        // Dates and times round or cut their fractions as the session says; of large bytes, JSON and
        // what is only shown there are no other lengths.
        _ => is_same,
    }
}

/// Whether the values of an ENUM or SET stay the same. They are converted by their texts, so that
/// members may move. A member that is the empty text looks like the value of none: with one,
/// members stay where they are.
fn keeps_members(from: &[String], to: &[String]) -> bool {
    let is_told_apart = from.iter().chain(to).all(|it| !it.is_empty());
    to.starts_with(from) || (is_told_apart && from.iter().all(|it| to.contains(it)))
}

/// Whether NULL gets the server's replacement if it is no longer allowed. Strict sessions refuse
/// that, but for TIMESTAMPs.
fn fills_alike(before: &ColumnDefinition, column: &ColumnDefinition, strict: bool) -> bool {
    let loses_null = before.nullable != Some(false) && column.nullable == Some(false);
    let base = column.data_type.base;
    !loses_null || is_exact(base) || is_characters(base) || (strict && base != Base::Timestamp)
}

fn is_exact(base: Base) -> bool {
    base.is_integer() || base == Base::Decimal
}

fn is_characters(base: Base) -> bool {
    base.is_text() && !matches!(base, Base::Enum | Base::Set)
}

#[cfg(test)]
mod tests {
    use pelorus_sql::Mode;
    use pelorus_sql::ddl::TableStatement;

    use super::*;

    const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, i INT, d DECIMAL(9,3), f FLOAT, g DOUBLE, \
        c CHAR(9), v VARCHAR(9), x TEXT, b VARBINARY(9), y BINARY(4), l BLOB, e ENUM('a','b'), \
        s SET('a','b'), dt DATETIME(3), da DATE, ti TIME, ts TIMESTAMP NULL, ye YEAR, bi BIT(8), j JSON)";

    fn is_followed(table: &str, actions: &str, strict: bool) -> bool {
        let parse = |sql: &str| pelorus_sql::ddl::parse(sql, Mode::default()).unwrap();
        let TableStatement::Create(mut table) = parse(table) else { panic!() };
        table.normalise();
        match parse(&format!("ALTER TABLE t {actions}")) {
            TableStatement::Alter(alter) => check(&table, &alter, strict).is_ok(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_has_one_meaning_is_followed() {
        for good in [
            "MODIFY i BIGINT UNSIGNED NOT NULL COMMENT 'x'",
            "MODIFY i DECIMAL(12,2)",
            "CHANGE d n TINYINT",
            "MODIFY d DECIMAL(5,1) DEFAULT 4",
            "MODIFY f FLOAT DEFAULT 3",
            "MODIFY c VARCHAR(20)",
            "MODIFY v LONGTEXT CHARACTER SET latin1",
            "MODIFY x CHAR(3) NOT NULL",
            "MODIFY b VARBINARY(20)",
            "MODIFY y BINARY(4) NULL",
            "MODIFY e ENUM('a','b','c') DEFAULT 'c'",
            "MODIFY e ENUM('c','b','a')",
            "CHANGE s s2 SET('a','b','c')",
            "MODIFY s SET('b','c','a')",
            "MODIFY dt DATETIME",
            "MODIFY ts TIMESTAMP(6) NULL FIRST",
            "MODIFY bi BIT(8) DEFAULT b'1'",
            "MODIFY j JSON AFTER id",
            "MODIFY ye YEAR(4)",
            "DROP COLUMN j, ADD n DOUBLE, RENAME COLUMN f TO f2",
        ] {
            assert!(is_followed(TABLE, good, false), "{good}");
        }
    }

    #[test]
    fn what_servers_have_rules_of_their_own_for_is_not() {
        for bad in [
            "MODIFY f VARCHAR(30)",
            "MODIFY f DOUBLE",
            "MODIFY f FLOAT(7,2)",
            "MODIFY g YEAR",
            "MODIFY g BIT(20)",
            "MODIFY g BIGINT",
            "MODIFY i FLOAT",
            "MODIFY i VARCHAR(30)",
            "MODIFY i DATE",
            "MODIFY b BIGINT",
            "MODIFY b VARBINARY(4)",
            "MODIFY b VARCHAR(9)",
            "MODIFY v BIT(20)",
            "MODIFY c BINARY(9)",
            "MODIFY c CHAR(9) CHARACTER SET binary",
            "MODIFY v JSON",
            "MODIFY y BINARY(8)",
            "MODIFY l LONGBLOB",
            "MODIFY e TIME",
            "MODIFY e VARCHAR(9)",
            "MODIFY e ENUM('b')",
            "MODIFY e ENUM('','a','b')",
            "MODIFY e ENUM('A','b')",
            "MODIFY s SET('a')",
            "MODIFY dt DATE",
            "MODIFY ts DATETIME",
            "MODIFY da TIMESTAMP NULL",
            "CHANGE ti t2 INT",
            "MODIFY bi BIT(16)",
            "ADD n INT, MODIFY j TEXT",
        ] {
            assert!(!is_followed(TABLE, bad, true), "{bad}");
        }
    }

    #[test]
    fn nulls_that_are_no_longer_allowed() {
        assert!(is_followed(TABLE, "MODIFY dt DATETIME(3) NOT NULL", true));
        for bad in ["dt DATETIME(3)", "e ENUM('a','b')", "j JSON", "ts TIMESTAMP"] {
            assert!(!is_followed(TABLE, &format!("MODIFY {bad} NOT NULL"), false), "{bad}");
        }
        assert!(!is_followed(TABLE, "MODIFY ts TIMESTAMP NOT NULL", true));
    }

    #[test]
    fn text_without_a_charset_in_a_table_of_bytes() {
        let table =
            "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET latin1) CHARSET binary";
        assert!(!is_followed(table, "MODIFY v VARCHAR(20)", true));
        assert!(is_followed(table, "MODIFY v VARCHAR(20) CHARACTER SET latin1", true));
    }
}
