//! The target type of a CAST: from the syntax tree to the types of `functions`.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::CastTarget;
use pelorus_types::Collation;
use sqlparser::ast::{CharacterLength, DataType, ExactNumberInfo};

/// The target of a cast. `collation` is the session's, which text without a charset gets.
///
/// # Errors
/// Types that MySQL does not cast to or that are not supported (1235), too many digits (1426).
pub fn cast_target(to: &DataType, collation: Collation) -> Result<CastTarget> {
    Ok(match to {
        DataType::Signed => CastTarget::Signed,
        DataType::Unsigned => CastTarget::Unsigned,
        DataType::Char(length) | DataType::Varchar(length) => {
            CastTarget::Char(characters(length.as_ref())?, collation)
        }
        DataType::Binary(length) => CastTarget::Binary(length.map(number).transpose()?),
        DataType::Date => CastTarget::Date,
        DataType::Datetime(digits) => CastTarget::DateTime(small(digits.unwrap_or(0))),
        DataType::Time(digits, _) => CastTarget::Time(small(digits.unwrap_or(0))),
        DataType::JSON => CastTarget::Json,
        DataType::Decimal(info) => {
            let (precision, scale) = decimal(*info);
            CastTarget::Decimal(precision, scale)
        }
        DataType::Float(ExactNumberInfo::Precision(bits)) if *bits > 53 => {
            let text = format!("Too-big precision {bits} specified for 'CAST'. Maximum is 53.");
            return Err(Error::new(Code::PrecisionTooBig, text));
        }
        DataType::Float(ExactNumberInfo::Precision(25..)) => CastTarget::Double,
        DataType::Float(_) => CastTarget::Float,
        DataType::Double(_) | DataType::Real => CastTarget::Double,
        DataType::Custom(..) => return custom(&to.to_string()),
        other => return Err(Error::unsupported(format_args!("CAST AS {other}"))),
    })
}

/// The target of a cast to `charset`: text in its default collation.
///
/// # Errors
/// An unknown charset (1115).
pub fn text_in_charset(length: Option<u32>, charset: &str) -> Result<CastTarget> {
    let collation = Collation::default_of(charset).ok_or_else(|| {
        Error::new(Code::UnknownCharset, format!("Unknown character set: '{charset}'"))
    })?;
    Ok(CastTarget::Char(length, collation))
}

/// The types that the parser keeps as text: `SIGNED`, `YEAR`, `NCHAR(3)`, `CHAR(3) CHARACTER SET
/// latin1`.
fn custom(text: &str) -> Result<CastTarget> {
    let (kind, charset) = match text.split_once(" CHARACTER SET ") {
        Some((kind, charset)) => (kind, Some(charset)),
        None => (text, None),
    };
    let (name, length) = match kind.trim_end_matches(')').split_once('(') {
        Some((name, length)) => (name, Some(number(length.parse().unwrap_or(u64::MAX))?)),
        None => (kind, None),
    };
    match (name, charset) {
        ("SIGNED", None) => Ok(CastTarget::Signed),
        ("YEAR", None) => Ok(CastTarget::Year),
        ("NCHAR", None) => text_in_charset(length, "utf8mb3"),
        ("CHAR" | "VARCHAR", Some(charset)) => text_in_charset(length, charset),
        _ => Err(Error::unsupported(format_args!("CAST AS {text}"))),
    }
}

fn characters(length: Option<&CharacterLength>) -> Result<Option<u32>> {
    match length {
        None => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) => number(*length).map(Some),
        Some(CharacterLength::Max) => Err(Error::unsupported("CHAR(MAX)")),
    }
}

/// A length that the types can carry.
fn number(length: u64) -> Result<u32> {
    u32::try_from(length)
        .map_err(|_| Error::unsupported(format_args!("a text of {length} characters")))
}

/// Digits; what is too many for a byte is too many for MySQL, whose error `functions` gives.
fn small(digits: u64) -> u8 {
    u8::try_from(digits).unwrap_or(u8::MAX)
}

fn decimal(info: ExactNumberInfo) -> (u8, u8) {
    match info {
        ExactNumberInfo::None => (10, 0),
        ExactNumberInfo::Precision(precision) => (small(precision), 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => {
            (small(precision), u8::try_from(scale).unwrap_or(u8::MAX))
        }
    }
}
