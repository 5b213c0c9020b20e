//! Names of types, types of queries' columns, JSON columns of MariaDB, and the options that limit a
//! table's history.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ddl::{Base, ColumnDefinition, TableDefinition, TypeName};
use pelorus_store::History;
use pelorus_types::{Column, Flags, WireType};

/// The options `HISTORY` (seconds, or a text like `15 MINUTE`) and `HISTORY_BYTES`.
///
/// # Errors
/// Values that say nothing of the kind (1064).
pub(crate) fn history(definition: &TableDefinition) -> Result<History> {
    let mut history = History::default();
    let wrong = |name: &str, text: &str| {
        Error::new(Code::Syntax, format!("the table option {name} cannot be '{text}'"))
    };
    if let Some(text) = definition.option("HISTORY") {
        let seconds = seconds_of(text).ok_or_else(|| wrong("HISTORY", text))?;
        history.micros = seconds.saturating_mul(1_000_000);
    }
    if let Some(text) = definition.option("HISTORY_BYTES") {
        history.bytes = text.parse().map_err(|_| wrong("HISTORY_BYTES", text))?;
    }
    Ok(history)
}

/// A number of seconds, or a number with a unit.
fn seconds_of(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let unit = match words.next().map(str::to_ascii_uppercase).as_deref() {
        None | Some("SECOND") => 1_u64,
        Some("MINUTE") => 60,
        Some("HOUR") => 3600,
        Some("DAY") => 86_400,
        Some("WEEK") => 7 * 86_400,
        _ => return None,
    };
    words.next().is_none().then(|| number.saturating_mul(unit))
}

/// A type as `COLUMN_TYPE` and `SHOW COLUMNS` write it.
pub(crate) fn sql_type(data_type: &TypeName) -> String {
    let mut out = data_type.base.name().to_owned();
    if matches!(data_type.base, Base::Enum | Base::Set) {
        let values: Vec<String> =
            data_type.values.iter().map(|it| format!("'{}'", it.replace('\'', "''"))).collect();
        out.push_str(&format!("({})", values.join(",")));
    }
    match (data_type.length, data_type.scale) {
        (Some(length), Some(scale)) => out.push_str(&format!("({length},{scale})")),
        (Some(length), None) => out.push_str(&format!("({length})")),
        _ => {}
    }
    if data_type.unsigned {
        out.push_str(" unsigned");
    }
    if data_type.zerofill {
        out.push_str(" zerofill");
    }
    out
}

/// Makes a column JSON that MariaDB writes as text which is checked to be JSON: its own JSON columns
/// look so in dumps.
pub(crate) fn restore_json(column: &mut ColumnDefinition) {
    let plain = |text: &str| text.replace(['`', ' '], "").to_ascii_lowercase();
    let expected = plain(&format!("json_valid({})", column.name));
    let before = column.checks.len();
    if column.data_type.base == Base::LongText {
        column.checks.retain(|check| plain(&check.expression.text) != expected);
    }
    if column.checks.len() < before {
        column.data_type = TypeName::new(Base::Json);
    }
}

/// The type of a new column for the values of a query's column.
///
/// # Errors
/// 1235 for values that cannot be stored.
pub(crate) fn type_name(column: &Column) -> Result<TypeName> {
    let ty = &column.ty;
    let chars = ty.length / u32::from(ty.collation.bytes_per_char().max(1));
    let is_bytes = ty.is_binary_string();
    let text = |text: Base, bytes: Base| if is_bytes { bytes } else { text };
    let base = match ty.wire {
        WireType::Tiny => Base::TinyInt,
        WireType::Short => Base::SmallInt,
        WireType::Int24 => Base::MediumInt,
        WireType::Long => Base::Int,
        WireType::LongLong => Base::BigInt,
        WireType::OldDecimal | WireType::NewDecimal => Base::Decimal,
        WireType::Float => Base::Float,
        WireType::Double => Base::Double,
        WireType::Year => Base::Year,
        WireType::Bit => Base::Bit,
        WireType::Date => Base::Date,
        WireType::Time => Base::Time,
        WireType::DateTime => Base::DateTime,
        WireType::Timestamp => Base::Timestamp,
        WireType::Json => Base::Json,
        WireType::String if !ty.flags.has(Flags::ENUM) && !ty.flags.has(Flags::SET) => {
            text(Base::Char, Base::Binary)
        }
        WireType::Null => Base::VarBinary,
        WireType::VarChar | WireType::VarString if chars <= 16_383 => {
            text(Base::VarChar, Base::VarBinary)
        }
        WireType::VarChar | WireType::VarString | WireType::Blob if ty.length <= 262_140 => {
            text(Base::Text, Base::Blob)
        }
        WireType::VarChar | WireType::VarString | WireType::Blob => {
            text(Base::LongText, Base::LongBlob)
        }
        _ => {
            return Err(Error::unsupported(format_args!(
                "CREATE TABLE ... SELECT with column '{}' of this type; define the column",
                column.name
            )));
        }
    };
    let mut out = TypeName::new(base);
    out.unsigned = ty.is_unsigned() && base.is_number();
    match base {
        Base::Decimal => {
            out.length = Some(u32::from(ty.precision()));
            out.scale = Some(u32::from(ty.decimals));
        }
        Base::Char | Base::VarChar | Base::Binary | Base::VarBinary => out.length = Some(chars),
        Base::Bit => out.length = Some(ty.length),
        Base::Time | Base::DateTime | Base::Timestamp if ty.decimals > 0 => {
            out.length = Some(u32::from(ty.decimals));
        }
        _ => {}
    }
    if base.is_text() {
        out.charset = Some(ty.collation.charset().to_owned());
        out.collation = Some(ty.collation.name());
    }
    Ok(out)
}
