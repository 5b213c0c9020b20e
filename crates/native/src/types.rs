//! Column types of native tables: what clients see of a column, and the form in which its values
//! are stored.
//!
//! Lengths, decimals and flags are those that MySQL 8 reports for a column of a table.

mod default;
mod implied;
mod name;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_functions::assignment::Target;
use pelorus_sql::ddl::{Base, ColumnDefinition, TypeName};
use pelorus_types::{Collation, ColumnType, Flags, WireType, collation};

use super::collation_keys;

pub(crate) use default::{constant_under, default_value, definition_policy, invalid_default};
pub(crate) use implied::imply_timestamps;
pub(crate) use name::{history, restore_json, sql_type, type_name};

/// Digits of a DECIMAL.
const PRECISION_MAX: u32 = 65;
/// Digits after the point that values can have here and in MySQL.
const SCALE_MAX: u32 = 30;
/// Digits after the seconds.
const FRACTION_MAX: u32 = 6;
/// Most bytes of a VARCHAR or VARBINARY.
const VARCHAR_BYTES_MAX: u32 = 65_535;
/// Most characters of a CHAR, most bytes of a BINARY.
const CHAR_MAX: u32 = 255;
/// Most members of a SET.
const SET_MEMBERS_MAX: usize = 64;

/// The collation that a charset and a collation name, either of which may be missing.
///
/// # Errors
/// An unknown charset (1115) or collation (1273), or two that do not fit (1253).
pub fn collation_of(
    charset: Option<&str>,
    name: Option<&str>,
    otherwise: Collation,
) -> Result<Collation> {
    let of_charset = match charset.filter(|it| !it.eq_ignore_ascii_case("default")) {
        Some(charset) => Some(Collation::default_of(charset).ok_or_else(|| {
            Error::new(Code::UnknownCharset, format!("Unknown character set: '{charset}'"))
        })?),
        None => None,
    };
    let Some(name) = name.filter(|it| !it.eq_ignore_ascii_case("default")) else {
        return Ok(of_charset.unwrap_or(otherwise));
    };
    let found = Collation::by_name(name).ok_or_else(|| {
        Error::new(Code::UnknownCollation, format!("Unknown collation: '{name}'"))
    })?;
    match of_charset {
        Some(other) if other.charset() != found.charset() => Err(Error::new(
            Code::CollationCharsetMismatch,
            format!(
                "COLLATION '{}' is not valid for CHARACTER SET '{}'",
                found.name(),
                other.charset()
            ),
        )),
        _ => Ok(found),
    }
}

/// The collation of a text type.
pub fn type_collation(data_type: &TypeName, table: Collation) -> Result<Collation> {
    let (charset, name) = (data_type.charset.as_deref(), data_type.collation.as_deref());
    // A charset alone brings its own default, and neither that of the table.
    let found = collation_of(charset, name, table)?;
    if data_type.binary && name.is_none() {
        let binary = format!("{}_bin", found.charset());
        return Ok(Collation::by_name(&binary).unwrap_or(found));
    }
    Ok(found)
}

/// The type of a column as clients see it, and the column as a target of assignments. NOT NULL
/// and the flags of keys are not set yet.
///
/// # Errors
/// Lengths that cannot be, unknown charsets and collations.
pub(crate) fn column(
    table: &str,
    column: &ColumnDefinition,
    of_table: Collation,
) -> Result<(ColumnType, Target)> {
    let data_type = &column.data_type;
    let name = &column.name;
    let client = match data_type.base {
        base if base.is_integer() => integer(data_type, name)?,
        Base::Decimal => decimal(data_type, name)?,
        Base::Float | Base::Double => float(data_type, name)?,
        Base::Bit => bit(data_type, name)?,
        Base::Year => {
            let mut ty = ColumnType::new(WireType::Year, collation::BINARY, 4, 0);
            ty.flags = Flags::UNSIGNED.with(Flags::ZEROFILL);
            ty
        }
        Base::Date | Base::Time | Base::DateTime | Base::Timestamp => temporal(data_type, name)?,
        base if base.is_text() => text(data_type, name, of_table)?,
        Base::Binary | Base::VarBinary => bytes(data_type, name)?,
        Base::TinyBlob | Base::Blob | Base::MediumBlob | Base::LongBlob => {
            blob(data_type.base, collation::BINARY)
        }
        Base::Json => {
            let mut ty = ColumnType::new(WireType::Json, collation::BINARY, u32::MAX, 0);
            ty.flags = Flags::BLOB.with(Flags::BINARY);
            ty
        }
        _ => opaque(data_type),
    };
    let mut target = Target::new(
        table,
        name,
        ColumnType { wire: stored_wire(data_type.base, client.wire), ..client },
    );
    if matches!(data_type.base, Base::Enum | Base::Set) {
        target = target.with_members(data_type.values.clone());
    }
    if matches!(data_type.base, Base::Char | Base::VarChar | Base::Binary | Base::VarBinary)
        && let Some(length) = data_type.length
    {
        target = target.with_length(length);
    }
    Ok((client, target))
}

/// The declared type byte: clients see one byte for all sizes of TEXT and BLOB.
fn stored_wire(base: Base, client: WireType) -> WireType {
    match base {
        Base::TinyText | Base::TinyBlob => WireType::TinyBlob,
        Base::MediumText | Base::MediumBlob => WireType::MediumBlob,
        Base::LongText | Base::LongBlob => WireType::LongBlob,
        _ => client,
    }
}

/// Refuses types that only copies of linked tables have.
///
/// # Errors
/// 1235.
pub(crate) fn check_own(column: &ColumnDefinition) -> Result<()> {
    let base = column.data_type.base;
    if !base.is_opaque() {
        return Ok(());
    }
    Err(Error::unsupported(format_args!(
        "the type {} of column '{}' in native tables",
        base.name().to_uppercase(),
        column.name
    )))
}

/// The value of a column without a default that is not NULL.
///
/// # Errors
/// Values that cannot be stored.
pub(crate) fn implicit(target: &Target) -> Result<Value> {
    match target.ty.wire {
        WireType::Geometry | WireType::Vector => Ok(Value::Bytes(Vec::new())),
        _ => pelorus_functions::assignment::default_value(target),
    }
}

/// Bytes that are shown unchanged, and texts that a server made of its stored values.
fn opaque(data_type: &TypeName) -> ColumnType {
    /// MySQL's default length of VECTOR.
    const DIMENSIONS: u32 = 2048;
    let text = |chars: u32| {
        let mut ty = ColumnType::new(WireType::String, collation::UTF8MB4_GENERAL_CI, chars * 4, 0);
        ty.flags = Flags::BINARY.with(Flags::UNSIGNED);
        ty
    };
    let bytes = |wire, length, decimals| {
        let mut ty = ColumnType::new(wire, collation::BINARY, length, decimals);
        ty.flags = Flags::BLOB.with(Flags::BINARY);
        ty
    };
    match data_type.base {
        Base::Uuid => text(36),
        Base::Inet4 => text(15),
        Base::Inet6 => text(39),
        Base::Vector => {
            let dimensions = data_type.length.unwrap_or(DIMENSIONS);
            let not_fixed = pelorus_types::column::DECIMALS_NOT_FIXED;
            bytes(WireType::Vector, dimensions.saturating_mul(4), not_fixed)
        }
        _ => bytes(WireType::Geometry, u32::MAX, 0),
    }
}

fn number(wire: WireType, length: u32, decimals: u8, data_type: &TypeName) -> ColumnType {
    let mut ty = ColumnType::new(wire, collation::BINARY, length, decimals);
    if data_type.unsigned {
        ty.flags = ty.flags.with(Flags::UNSIGNED);
    }
    if data_type.zerofill {
        ty.flags = ty.flags.with(Flags::ZEROFILL);
    }
    ty
}

fn integer(data_type: &TypeName, name: &str) -> Result<ColumnType> {
    let (wire, signed, unsigned) = match data_type.base {
        Base::TinyInt => (WireType::Tiny, 4, 3),
        Base::SmallInt => (WireType::Short, 6, 5),
        Base::MediumInt => (WireType::Int24, 9, 8),
        Base::Int => (WireType::Long, 11, 10),
        _ => (WireType::LongLong, 20, 20),
    };
    let width = data_type.length.unwrap_or(if data_type.unsigned { unsigned } else { signed });
    if width > 255 {
        return Err(too_wide(name, 255));
    }
    Ok(number(wire, width, 0, data_type))
}

/// Error 1439, which MySQL has for display widths.
fn too_wide(name: &str, most: u32) -> Error {
    Error::new(
        Code::TooBigDisplayWidth,
        format!("Display width out of range for column '{name}' (max = {most})"),
    )
}

fn decimal(data_type: &TypeName, name: &str) -> Result<ColumnType> {
    let precision = data_type.length.filter(|length| *length > 0).unwrap_or(10);
    let scale = data_type.scale.unwrap_or(0);
    check_digits(name, precision, scale)?;
    let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    let sign = u32::from(!data_type.unsigned);
    let length = precision + sign + u32::from(scale > 0);
    Ok(number(WireType::NewDecimal, length, small(scale), data_type))
}

fn check_digits(name: &str, precision: u32, scale: u32) -> Result<()> {
    if scale > SCALE_MAX {
        return Err(Error::new(
            Code::ScaleTooBig,
            format!("Too big scale {scale} specified for column '{name}'. Maximum is {SCALE_MAX}."),
        ));
    }
    if precision > PRECISION_MAX {
        return Err(Error::new(
            Code::PrecisionTooBig,
            format!(
                "Too-big precision {precision} specified for '{name}'. Maximum is {PRECISION_MAX}."
            ),
        ));
    }
    if scale > precision {
        return Err(scale_above(name));
    }
    Ok(())
}

fn scale_above(name: &str) -> Error {
    Error::new(
        Code::ScaleAbovePrecision,
        format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}')."),
    )
}

fn float(data_type: &TypeName, name: &str) -> Result<ColumnType> {
    let (wire, plain) = match data_type.base {
        Base::Float => (WireType::Float, 12),
        _ => (WireType::Double, 22),
    };
    let (Some(length), Some(scale)) = (data_type.length, data_type.scale) else {
        return Ok(number(wire, plain, pelorus_types::column::DECIMALS_NOT_FIXED, data_type));
    };
    if length > 255 {
        return Err(too_wide(name, 255));
    }
    if scale > SCALE_MAX {
        check_digits(name, 0, scale)?;
    }
    if scale > length {
        return Err(scale_above(name));
    }
    Ok(number(wire, length, u8::try_from(scale).unwrap_or(0), data_type))
}

fn bit(data_type: &TypeName, name: &str) -> Result<ColumnType> {
    let length = data_type.length.unwrap_or(1).max(1);
    if length > 64 {
        return Err(too_wide(name, 64));
    }
    let mut ty = ColumnType::new(WireType::Bit, collation::BINARY, length, 0);
    ty.flags = Flags::UNSIGNED;
    Ok(ty)
}

fn temporal(data_type: &TypeName, name: &str) -> Result<ColumnType> {
    let digits = data_type.length.unwrap_or(0);
    let (wire, length) = match data_type.base {
        Base::Date => (WireType::Date, 10),
        Base::Time => (WireType::Time, 10),
        Base::DateTime => (WireType::DateTime, 19),
        _ => (WireType::Timestamp, 19),
    };
    if digits > FRACTION_MAX {
        return Err(Error::new(
            Code::PrecisionTooBig,
            format!(
                "Too-big precision {digits} specified for '{name}'. Maximum is {FRACTION_MAX}."
            ),
        ));
    }
    let length = if digits > 0 { length + 1 + digits } else { length };
    let decimals = u8::try_from(digits).unwrap_or(0);
    let mut ty = ColumnType::new(wire, collation::BINARY, length, decimals);
    ty.flags = Flags::BINARY;
    Ok(ty)
}

fn text(data_type: &TypeName, name: &str, of_table: Collation) -> Result<ColumnType> {
    let collation = type_collation(data_type, of_table)?;
    let width = u32::from(collation.bytes_per_char());
    let (wire, chars) = match data_type.base {
        Base::Char => {
            let chars = data_type.length.unwrap_or(1);
            if chars > CHAR_MAX {
                return Err(too_long(name, CHAR_MAX));
            }
            (WireType::String, chars)
        }
        Base::VarChar => {
            let chars = data_type.length.unwrap_or(1);
            if chars.saturating_mul(width) > VARCHAR_BYTES_MAX {
                return Err(too_long(name, VARCHAR_BYTES_MAX / width));
            }
            (WireType::VarString, chars)
        }
        Base::Enum | Base::Set => (WireType::String, listed_chars(data_type, name)?),
        base => return Ok(with_order(blob(base, collation))),
    };
    let mut ty = ColumnType::new(wire, collation, chars.saturating_mul(width), 0);
    match data_type.base {
        Base::Enum => ty.flags = Flags::ENUM,
        Base::Set => ty.flags = Flags::SET,
        _ => {}
    }
    Ok(with_order(ty))
}

/// Text that compares by its bytes says so.
fn with_order(mut ty: ColumnType) -> ColumnType {
    if ty.collation.is_binary_order() {
        ty.flags = ty.flags.with(Flags::BINARY);
    }
    ty
}

/// Characters of the longest ENUM value, or of all of a SET with commas.
fn listed_chars(data_type: &TypeName, name: &str) -> Result<u32> {
    let is_set = data_type.base == Base::Set;
    if is_set && data_type.values.len() > SET_MEMBERS_MAX {
        return Err(Error::new(
            Code::TooManySetMembers,
            format!("Too many strings for column {name} and SET"),
        ));
    }
    for value in &data_type.values {
        if is_set && value.contains(',') {
            return Err(Error::new(
                Code::IllegalValueForType,
                format!("Illegal set '{value}' value found during parsing"),
            ));
        }
    }
    let counts = data_type.values.iter().map(|value| value.trim_end_matches(' ').chars().count());
    let chars = if is_set {
        counts.sum::<usize>() + data_type.values.len().saturating_sub(1)
    } else {
        counts.max().unwrap_or(0)
    };
    Ok(u32::try_from(chars).unwrap_or(u32::MAX))
}

/// Error 1291 of an ENUM or SET with members that its collation calls equal. Tables that exist may
/// have some, and so may those of servers, which take them where `sql_mode` is not strict.
///
/// # Errors
/// An unknown charset or collation.
pub(crate) fn member_twice(
    column: &ColumnDefinition,
    of_table: Collation,
) -> Result<Option<Error>> {
    let data_type = &column.data_type;
    if !matches!(data_type.base, Base::Enum | Base::Set) {
        return Ok(None);
    }
    let collation = type_collation(data_type, of_table)?;
    // Spaces at the end are no part of a member.
    let trimmed = |value: &String| match collation == collation::BINARY {
        true => value.clone(),
        false => value.trim_end_matches(' ').to_owned(),
    };
    let texts: Vec<String> = data_type.values.iter().map(trimmed).collect();
    let array: ArrayRef = Arc::new(StringArray::from(texts.clone()));
    // Where the rules are not known, bytes tell them apart.
    let weights = collation_keys::weights(&array, collation).ok();
    let mut known = HashSet::new();
    for (at, text) in texts.iter().enumerate() {
        let key = match &weights {
            Some(weights) => weights.as_binary::<i32>().value(at),
            None => text.as_bytes(),
        };
        if !known.insert(key) {
            let kind = if data_type.base == Base::Set { "SET" } else { "ENUM" };
            let text = format!("Column '{}' has duplicated value '{text}' in {kind}", column.name);
            return Ok(Some(Error::new(Code::DuplicatedMember, text)));
        }
    }
    Ok(None)
}

fn too_long(name: &str, most: u32) -> Error {
    Error::new(
        Code::ColumnTooLong,
        format!(
            "Column length too big for column '{name}' (max = {most}); use BLOB or TEXT instead"
        ),
    )
}

fn bytes(data_type: &TypeName, name: &str) -> Result<ColumnType> {
    let length = data_type.length.unwrap_or(1);
    let (wire, most) = match data_type.base {
        Base::Binary => (WireType::String, CHAR_MAX),
        _ => (WireType::VarString, VARCHAR_BYTES_MAX),
    };
    if length > most {
        return Err(too_long(name, most));
    }
    let mut ty = ColumnType::new(wire, collation::BINARY, length, 0);
    ty.flags = Flags::BINARY;
    Ok(ty)
}

/// A TEXT or BLOB of any size. Lengths count bytes; characters may take more for a client.
fn blob(base: Base, collation: Collation) -> ColumnType {
    let bytes: u32 = match base {
        Base::TinyText | Base::TinyBlob => 0xff,
        Base::Text | Base::Blob => 0xffff,
        Base::MediumText | Base::MediumBlob => 0xff_ffff,
        _ => u32::MAX,
    };
    let length = bytes.saturating_mul(u32::from(collation.bytes_per_char()));
    let mut ty = ColumnType::new(WireType::Blob, collation, length, 0);
    ty.flags = Flags::BLOB;
    if collation == collation::BINARY {
        ty.flags = ty.flags.with(Flags::BINARY);
    }
    ty
}
