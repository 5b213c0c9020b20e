//! Checks a table definition and refuses what MySQL refuses, with MySQL's errors. It sees the
//! definition as written, before it is normalised.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{Policy, Target};
use pelorus_sql::Mode;
use pelorus_sql::ddl::{
    Base, ColumnDefault, ColumnDefinition, KeyDefinition, KeyKind, KeyTarget, TableDefinition,
};
use pelorus_store::COLUMNS_MAX;
use pelorus_types::{Collation, collation};
use sqlparser::ast::{Expr, Value};

use super::definition::table_collation;
use super::types::{self, invalid_default};
use super::{collation_keys, constraints};

/// Most characters of a name.
const NAME_CHARS_MAX: usize = 64;
/// Most columns of a key.
const KEY_PARTS_MAX: usize = 16;
/// Most keys of a table.
const KEYS_MAX: usize = 64;

/// Checks a definition as written.
///
/// # Errors
/// Definitions that MySQL refuses, and clauses that native tables do not support (1235).
pub(crate) fn check(definition: &TableDefinition, mode: Mode, policy: &Policy) -> Result<()> {
    table_name(&definition.name.name)?;
    if definition.temporary {
        return Err(Error::unsupported("TEMPORARY tables in native databases"));
    }
    if definition.columns.is_empty() {
        let text = "A table must have at least 1 column";
        return Err(Error::new(Code::TableWithoutColumns, text));
    }
    if definition.columns.len() > COLUMNS_MAX {
        return Err(too_many_columns());
    }
    let collation = table_collation(definition)?;
    for (at, column) in definition.columns.iter().enumerate() {
        column_name(&column.name)?;
        let before = definition.columns.get(..at).unwrap_or_default();
        if before.iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            return Err(duplicate_column(&column.name));
        }
        self::column(definition, column, (collation, mode), policy)?;
    }
    if definition.columns.iter().all(|column| column.invisible) {
        let text = "A table must have at least one visible column.";
        return Err(Error::new(Code::NoVisibleColumn, text));
    }
    keys(definition, collation)?;
    auto_increment(definition)?;
    unique_keys(definition)?;
    super::durability::check(definition)
}

/// 1117.
pub(crate) fn too_many_columns() -> Error {
    Error::new(Code::TooManyColumns, "Too many columns")
}

/// Error 1060.
pub(crate) fn duplicate_column(name: &str) -> Error {
    Error::new(Code::DuplicateColumn, format!("Duplicate column name '{name}'"))
}

fn too_long(name: &str) -> Option<Error> {
    let is_long = name.chars().count() > NAME_CHARS_MAX;
    is_long.then(|| Error::new(Code::NameTooLong, format!("Identifier name '{name}' is too long")))
}

/// Whether an object can have a name: not empty, no space at its end, no zero byte.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.ends_with(' ') && !name.contains('\0')
}

/// Checks the name of a table.
///
/// # Errors
/// 1103 and 1059.
pub(crate) fn table_name(name: &str) -> Result<()> {
    if !is_name(name) {
        return Err(Error::new(Code::WrongTableName, format!("Incorrect table name '{name}'")));
    }
    too_long(name).map_or(Ok(()), Err)
}

/// Checks the name of a database.
///
/// # Errors
/// 1102 and 1059.
pub(crate) fn database_name(name: &str) -> Result<()> {
    if !is_name(name) {
        let text = format!("Incorrect database name '{name}'");
        return Err(Error::new(Code::WrongDatabaseName, text));
    }
    too_long(name).map_or(Ok(()), Err)
}

fn column_name(name: &str) -> Result<()> {
    if !is_name(name) {
        return Err(Error::new(Code::WrongColumnName, format!("Incorrect column name '{name}'")));
    }
    too_long(name).map_or(Ok(()), Err)
}

fn column(
    definition: &TableDefinition,
    column: &ColumnDefinition,
    (collation, mode): (Collation, Mode),
    policy: &Policy,
) -> Result<()> {
    let name = &column.name;
    let is_other = |used: &String| !used.eq_ignore_ascii_case(name);
    if let Some(check) = column
        .checks
        .iter()
        .find(|check| constraints::names(&check.expression.tree).iter().any(is_other))
    {
        return Err(constraints::of_other_column(definition, check));
    }
    if column.srid.is_some() {
        return Err(Error::unsupported(format_args!("SRID of column '{name}'")));
    }
    let (_, target) = types::column(&definition.name.name, column, collation)?;
    if let Some(ColumnDefault::Expression(expression)) = &column.default {
        let is_there =
            |name: &String| definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name));
        if let Some(name) =
            constraints::names(&expression.tree).into_iter().find(|it| !is_there(it))
        {
            let text = format!("Unknown column '{name}' in 'default value expression'");
            return Err(Error::new(Code::UnknownColumn, text));
        }
    }
    column_default(column, &target, mode, policy)
}

/// Whether it is a TEXT, BLOB, JSON or VECTOR, which have no literal defaults.
pub(crate) fn is_blob(base: Base) -> bool {
    use Base::*;
    matches!(base, TinyBlob | Blob | MediumBlob | LongBlob | Json | Vector)
        || matches!(base, TinyText | Text | MediumText | LongText)
}

/// Error 1101.
pub(crate) fn blob_default(name: &str) -> Error {
    let text = format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value");
    Error::new(Code::BlobCannotHaveDefault, text)
}

fn is_null(tree: &Expr) -> bool {
    matches!(tree, Expr::Value(value) if value.value == Value::Null)
}

/// Whether the column is one that `CURRENT_TIMESTAMP` with so many digits can fill.
fn takes_now(column: &ColumnDefinition, digits: u32) -> bool {
    matches!(column.data_type.base, Base::DateTime | Base::Timestamp)
        && column.data_type.length.unwrap_or(0) == digits
}

fn column_default(
    column: &ColumnDefinition,
    target: &Target,
    mode: Mode,
    policy: &Policy,
) -> Result<()> {
    let name = &column.name;
    if column.on_update.is_some_and(|digits| !takes_now(column, digits)) {
        let text = format!("Invalid ON UPDATE clause for '{name}' column");
        return Err(Error::new(Code::InvalidOnUpdate, text));
    }
    match &column.default {
        Some(ColumnDefault::Literal(literal)) if is_null(&literal.tree) => {
            let refused = column.nullable == Some(false) || column.primary || column.auto_increment;
            if refused { Err(invalid_default(name)) } else { Ok(()) }
        }
        Some(_) if column.auto_increment => Err(invalid_default(name)),
        Some(ColumnDefault::Literal(_)) if is_blob(column.data_type.base) => {
            Err(blob_default(name))
        }
        Some(ColumnDefault::Literal(_)) => {
            types::constant_under(column, target, mode, policy).map(drop)
        }
        Some(ColumnDefault::CurrentTimestamp(digits)) if !takes_now(column, *digits) => {
            Err(invalid_default(name))
        }
        _ => Ok(()),
    }
}

fn keys(definition: &TableDefinition, collation: Collation) -> Result<()> {
    let mut primaries = definition.keys.iter().filter(|key| key.kind == KeyKind::Primary).count();
    primaries += definition.columns.iter().filter(|column| column.primary).count();
    if primaries > 1 {
        return Err(Error::new(Code::MultiplePrimaryKeys, "Multiple primary key defined"));
    }
    if definition.keys.len() > KEYS_MAX {
        let text = format!("Too many keys specified; max {KEYS_MAX} keys allowed");
        return Err(Error::new(Code::TooManyKeys, text));
    }
    for (at, key) in definition.keys.iter().enumerate() {
        self::key(definition, key, collation)?;
        let Some(name) = &key.name else { continue };
        if name.eq_ignore_ascii_case("PRIMARY") && key.kind != KeyKind::Primary {
            let text = format!("Incorrect index name '{name}'");
            return Err(Error::new(Code::WrongKeyName, text));
        }
        if let Some(error) = too_long(name) {
            return Err(error);
        }
        let before = definition.keys.get(..at).unwrap_or_default();
        let same = |other: &&KeyDefinition| {
            other.name.as_deref().is_some_and(|other| other.eq_ignore_ascii_case(name))
        };
        if key.kind != KeyKind::Primary && before.iter().find(same).is_some() {
            return Err(duplicate_key_name(name));
        }
    }
    for column in definition.columns.iter().filter(|column| column.primary || column.unique) {
        let kind = if column.primary { KeyKind::Primary } else { KeyKind::Unique };
        key_column(column, None, kind, collation)?;
    }
    Ok(())
}

/// Error 1061.
pub(crate) fn duplicate_key_name(name: &str) -> Error {
    Error::new(Code::DuplicateKeyName, format!("Duplicate key name '{name}'"))
}

/// Error 3750.
pub(crate) fn no_primary_key() -> Error {
    Error::new(
        Code::PrimaryKeyRequired,
        "Unable to create or change a table without a primary key; native tables find their rows \
         by it. Add a primary key to the table, such as `id BIGINT UNSIGNED NOT NULL \
         AUTO_INCREMENT PRIMARY KEY`, or SET sql_generate_invisible_primary_key = ON for a hidden \
         row number",
    )
}

fn key(definition: &TableDefinition, key: &KeyDefinition, collation: Collation) -> Result<()> {
    if key.kind == KeyKind::Spatial {
        return Err(Error::unsupported(format_args!(
            "SPATIAL KEY '{}' in native tables",
            shown_name(key)
        )));
    }
    if key.parts.len() > KEY_PARTS_MAX {
        let text = format!("Too many key parts specified; max {KEY_PARTS_MAX} parts allowed");
        return Err(Error::new(Code::TooManyKeyParts, text));
    }
    let is_ordered = key.kind != KeyKind::FullText && key.using.as_deref() != Some("HASH");
    if !is_ordered && key.parts.iter().any(|part| part.descending) {
        let text = "Incorrect usage of spatial/fulltext/hash index and explicit index order";
        return Err(Error::new(Code::WrongUsage, text));
    }
    let (mut names, mut of_key): (Vec<&str>, _) = (Vec::new(), None);
    for part in &key.parts {
        let name = match &part.target {
            KeyTarget::Column(name) => name.as_str(),
            KeyTarget::Expression(_) if key.kind == KeyKind::Primary => {
                let text = "The primary key cannot be a functional index";
                return Err(Error::new(Code::FunctionalPrimaryKey, text));
            }
            KeyTarget::Expression(_) if key.kind == KeyKind::FullText => {
                let text = "Fulltext functional index is not supported.";
                return Err(Error::new(Code::FunctionalFullTextKey, text));
            }
            KeyTarget::Expression(expression) => {
                let is_there = |name: &String| {
                    definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name))
                };
                let mut names = constraints::names(&expression.tree).into_iter();
                if let Some(name) = names.find(|it| !is_there(it)) {
                    let text = format!("Unknown column '{name}' in 'functional index'");
                    return Err(Error::new(Code::UnknownColumn, text));
                }
                continue;
            }
        };
        let mut columns = definition.columns.iter();
        let column = columns.find(|it| it.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let text = format!("Key column '{name}' doesn't exist in table");
            Error::new(Code::KeyColumnMissing, text)
        })?;
        if names.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            return Err(duplicate_column(name));
        }
        names.push(name);
        key_column(column, part.length, key.kind, collation)?;
        if key.kind == KeyKind::FullText {
            full_text_column(column, collation, &mut of_key)?;
        }
    }
    Ok(())
}

/// A column as part of a FULLTEXT key: text, of one collation with the others.
fn full_text_column(
    column: &ColumnDefinition,
    of_table: Collation,
    of_key: &mut Option<Collation>,
) -> Result<()> {
    let is_wide = |it: Collation| matches!(it.charset(), "ucs2" | "utf16" | "utf16le" | "utf32");
    let base = column.data_type.base;
    let found = match base.is_text() && !matches!(base, Base::Enum | Base::Set) {
        true => Some(types::type_collation(&column.data_type, of_table)?),
        false => None,
    };
    let Some(found) = found.filter(|it| {
        *it != collation::BINARY && !is_wide(*it) && of_key.is_none_or(|other| other == *it)
    }) else {
        let text = format!("Column '{}' cannot be part of FULLTEXT index", column.name);
        return Err(Error::new(Code::WrongFullTextColumn, text));
    };
    if column.generated.as_ref().is_some_and(|it| !it.stored) {
        let text = "'Fulltext index on virtual generated column' is not supported for generated \
                    columns.";
        return Err(Error::new(Code::GeneratedColumnUnsupported, text));
    }
    *of_key = Some(found);
    Ok(())
}

/// The name of a key, or the name that it will get.
fn shown_name(key: &KeyDefinition) -> &str {
    match (&key.name, key.parts.first().map(|part| &part.target)) {
        (Some(name), _) | (None, Some(KeyTarget::Column(name))) => name,
        _ => "functional_index",
    }
}

/// Whether a column has texts or bytes of which the first can be part of a key.
pub(crate) fn has_beginning(column: &ColumnDefinition, length: u32) -> bool {
    let data_type = &column.data_type;
    match data_type.base {
        Base::Char | Base::VarChar | Base::Binary | Base::VarBinary => {
            length <= data_type.length.unwrap_or(1)
        }
        base => is_blob(base),
    }
}

/// A column as part of a key.
fn key_column(
    column: &ColumnDefinition,
    length: Option<u32>,
    kind: KeyKind,
    of_table: Collation,
) -> Result<()> {
    let name = &column.name;
    let base = column.data_type.base;
    if base == Base::Json {
        return Err(Error::new(
            Code::JsonKey,
            format!(
                "JSON column '{name}' supports indexing only via generated columns on a specified \
                 JSON path."
            ),
        ));
    }
    if is_blob(base) && length.is_none() && kind != KeyKind::FullText {
        return Err(Error::new(
            Code::BlobKeyWithoutLength,
            format!("BLOB/TEXT column '{name}' used in key specification without a key length"),
        ));
    }
    if let Some(length) = length.filter(|_| kind != KeyKind::FullText)
        && !has_beginning(column, length)
    {
        return Err(Error::new(
            Code::WrongPrefix,
            "Incorrect prefix key; the used key part isn't a string, the used length is longer than \
             the key part, or the storage engine doesn't support unique prefix keys",
        ));
    }
    if kind != KeyKind::Primary {
        return Ok(());
    }
    if column.nullable == Some(true) {
        return Err(Error::new(
            Code::PrimaryKeyNull,
            "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE \
             instead",
        ));
    }
    if length.is_some() {
        return Err(Error::unsupported(format_args!(
            "the beginning of column '{name}' in a primary key"
        )));
    }
    if base.is_text() {
        let collation = types::type_collation(&column.data_type, of_table)?;
        let nothing: arrow::array::ArrayRef =
            std::sync::Arc::new(arrow::array::StringArray::from(vec!["a"]));
        collation_keys::weights(&nothing, collation).map_err(|_| {
            Error::unsupported(format_args!(
                "the collation {} of column '{name}' in a primary key",
                collation.name()
            ))
        })?;
    }
    Ok(())
}

/// There is a primary key. Unique keys that hold the whole of it are unique by themselves; no others
/// are watched.
fn unique_keys(definition: &TableDefinition) -> Result<()> {
    let primary: Vec<&str> = definition
        .keys
        .iter()
        .filter(|key| key.kind == KeyKind::Primary)
        .flat_map(|key| &key.parts)
        .filter_map(|part| match &part.target {
            KeyTarget::Column(name) => Some(name.as_str()),
            KeyTarget::Expression(_) => None,
        })
        .chain(definition.columns.iter().filter(|it| it.primary).map(|it| it.name.as_str()))
        .collect();
    if primary.is_empty() {
        return Err(no_primary_key());
    }
    let refused = |name: &str| {
        Error::unsupported(format_args!(
            "UNIQUE KEY '{name}' beside the primary key in native tables (a plain KEY is allowed)"
        ))
    };
    for key in definition.keys.iter().filter(|key| key.kind == KeyKind::Unique) {
        let whole = |name: &&str| {
            key.parts.iter().any(|part| {
                part.length.is_none()
                    && matches!(&part.target, KeyTarget::Column(it) if it.eq_ignore_ascii_case(name))
            })
        };
        if !primary.iter().all(whole) {
            return Err(refused(shown_name(key)));
        }
    }
    let column = definition.columns.iter().find(|column| {
        column.unique && !(primary.len() == 1 && primary[0].eq_ignore_ascii_case(&column.name))
    });
    column.map_or(Ok(()), |column| Err(refused(&column.name)))
}

fn auto_increment(definition: &TableDefinition) -> Result<()> {
    let wrong = || {
        Error::new(
            Code::WrongAutoKey,
            "Incorrect table definition; there can be only one auto column and it must be defined \
             as a key",
        )
    };
    let mut columns = definition.columns.iter().filter(|column| column.auto_increment);
    let Some(column) = columns.next() else { return Ok(()) };
    if !column.data_type.base.is_integer() {
        let text = format!("Incorrect column specifier for column '{}'", column.name);
        return Err(Error::new(Code::WrongColumnDefinition, text));
    }
    let leads = |key: &KeyDefinition| {
        matches!(key.parts.first().map(|part| &part.target),
            Some(KeyTarget::Column(name)) if name.eq_ignore_ascii_case(&column.name))
    };
    let is_key = column.primary || column.unique || definition.keys.iter().any(leads);
    if columns.next().is_some() || !is_key { Err(wrong()) } else { Ok(()) }
}
