//! Fallibility: the calls that can fail or warn, that is leave an error or a warning for some
//! values of their arguments.
//!
//! A fallible call is evaluated only for the rows that reach it (see [`crate::short_circuit`]). A
//! call that is not known to be infallible counts as fallible; that costs time only.

use pelorus_types::{ColumnType, WireType};

use crate::scalar::cast::CastTarget;
use crate::types::result_type;
use crate::value::{Arg, Value};

/// Digits that fit a BIGINT whatever they are.
const SAFE_DIGITS: u32 = 18;

/// Digits that fit a DECIMAL with some to spare.
const SAFE_DECIMAL_DIGITS: u32 = 60;

/// Whether a function or operator can complain of values of its arguments. (Whether the arguments
/// themselves can is another matter.)
pub(crate) fn of_function(name: &str, args: &[Arg], ty: &ColumnType) -> bool {
    let quiet = is_quiet_condition(name, args)
        || is_quiet_number(name, args, ty)
        || is_quiet_text(name, args, ty)
        || is_quiet_date(name, args);
    !quiet
}

/// The same of a CAST.
pub(crate) fn of_cast(target: CastTarget, arg: &Arg) -> bool {
    let quiet = match target {
        CastTarget::Signed => digits(arg).is_some_and(|it| it <= SAFE_DIGITS) && is_integer(arg),
        CastTarget::Unsigned => is_integer(arg) && arg.ty.is_unsigned(),
        CastTarget::Char(None, _) => !arg.ty.is_binary_string() && is_plain(arg),
        CastTarget::Decimal(precision, scale) => {
            let whole = u32::from(precision.saturating_sub(scale));
            is_integer(arg) && digits(arg).is_some_and(|it| it <= whole)
        }
        CastTarget::Double => arg.ty.is_numeric(),
        _ => false,
    };
    !quiet
}

fn is_quiet_condition(name: &str, args: &[Arg]) -> bool {
    match name {
        "IS NULL" | "IS NOT NULL" | "ISNULL" | "IS UNKNOWN" | "IS NOT UNKNOWN" | "IFNULL"
        | "COALESCE" => true,
        "AND" | "OR" | "XOR" | "NOT" | "!" | "IS TRUE" | "IS NOT TRUE" | "IS FALSE"
        | "IS NOT FALSE" => args.iter().all(is_condition),
        "IF" => args.first().is_some_and(is_condition),
        "CASE" => args.chunks_exact(2).all(|pair| is_condition(&pair[0])),
        "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "CASE =" | "BETWEEN"
        | "NOT BETWEEN" | "IN" | "NOT IN" | "NULLIF" | "GREATEST" | "LEAST" => are_alike(args),
        _ => false,
    }
}

/// Whether the truth of the argument is seen without making a number of a text.
fn is_condition(arg: &Arg) -> bool {
    arg.ty.is_numeric() || arg.is_null()
}

/// Whether the arguments compare without becoming something else.
fn are_alike(args: &[Arg]) -> bool {
    let all = |test: fn(&Arg) -> bool| args.iter().all(|arg| arg.is_null() || test(arg));
    // A constant that is no date was found out when the comparison was bound.
    let are_dates = args.iter().any(|arg| arg.ty.is_date())
        && all(|arg| arg.ty.is_date() || arg.constant_text().is_some());
    are_dates
        || all(|arg| arg.ty.is_numeric())
        || all(is_text)
        || all(|arg| arg.ty.wire == WireType::Time)
}

fn is_quiet_number(name: &str, args: &[Arg], ty: &ColumnType) -> bool {
    let exact: Option<Vec<u32>> = args.iter().map(digits).collect();
    let Some(exact) = exact else { return false };
    let integers = args.iter().all(is_integer);
    let most = if integers { SAFE_DIGITS } else { SAFE_DECIMAL_DIGITS };
    // Below zero there is nothing for an operator that has a sign on one side only.
    let signs = !ty.is_unsigned() || args.iter().all(|arg| arg.ty.is_unsigned());
    let sum = |a: u32, b: u32| if integers { a.max(b) + 1 } else { a + b };
    match (name, exact.as_slice()) {
        ("+", [a, b]) => signs && sum(*a, *b) <= most,
        ("-", [a, b]) => !ty.is_unsigned() && sum(*a, *b) <= most,
        ("*", [a, b]) => signs && a + b <= most,
        ("/" | "DIV" | "%" | "MOD", [a, _]) => *a <= SAFE_DIGITS && is_positive(&args[1]),
        ("-" | "ABS" | "SIGN" | "CEIL" | "CEILING" | "FLOOR" | "ROUND", [a]) => *a <= SAFE_DIGITS,
        ("ROUND" | "TRUNCATE", [a, _]) => *a <= SAFE_DIGITS && args[1].constant_int().is_some(),
        ("&" | "|" | "^" | "<<" | ">>" | "~" | "BIT_COUNT", _) => integers,
        ("PI", _) => true,
        _ => false,
    }
}

fn is_positive(arg: &Arg) -> bool {
    match &arg.constant {
        Some(Value::Int(value)) => *value > 0,
        Some(Value::UInt(value)) => *value > 0,
        Some(Value::Decimal(value)) => !value.is_negative() && value.to_f64() > 0.0,
        _ => false,
    }
}

fn is_quiet_text(name: &str, args: &[Arg], ty: &ColumnType) -> bool {
    let short = result_type::blob_rank(ty.wire) == 0;
    match name {
        "CONCAT" | "CONCAT_WS" => short && args.iter().all(is_plain),
        "UPPER" | "UCASE" | "LOWER" | "LCASE" | "REVERSE" | "TRIM" | "TRIM LEADING"
        | "TRIM TRAILING" | "LTRIM" | "RTRIM" | "REPLACE" => short && args.iter().all(is_text),
        "LENGTH" | "OCTET_LENGTH" | "BIT_LENGTH" | "CHAR_LENGTH" | "CHARACTER_LENGTH" | "ASCII"
        | "ORD" | "INSTR" | "COLLATE" => args.iter().all(is_text),
        "LIKE" | "NOT LIKE" => args.len() == 2 && args.iter().all(is_text),
        "LEFT" | "RIGHT" | "SUBSTRING" | "SUBSTR" | "MID" => {
            args.first().is_some_and(is_text) && args.iter().skip(1).all(is_integer)
        }
        _ => false,
    }
}

fn is_quiet_date(name: &str, args: &[Arg]) -> bool {
    match name {
        "YEAR" | "MONTH" | "DAY" | "DAYOFMONTH" | "QUARTER" => {
            args.iter().all(|arg| arg.ty.is_date())
        }
        "NOW" | "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" | "UTC_TIMESTAMP"
        | "CURDATE" | "CURRENT_DATE" | "UTC_DATE" | "CURTIME" | "CURRENT_TIME" | "UTC_TIME" => {
            args.is_empty()
        }
        _ => false,
    }
}

fn is_integer(arg: &Arg) -> bool {
    arg.ty.is_integer() && arg.ty.wire != WireType::Bit
}

fn is_text(arg: &Arg) -> bool {
    arg.ty.is_string() && arg.ty.wire != WireType::Json && !arg.is_hex()
}

/// A value whose text is no more than what it is shown as.
fn is_plain(arg: &Arg) -> bool {
    is_text(arg) || (arg.ty.is_numeric() && arg.ty.wire != WireType::Bit)
}

/// How many digits the values of a whole number or decimal have at most. The length of an integer
/// column is one of display, and says nothing.
fn digits(arg: &Arg) -> Option<u32> {
    if let Some(value) = arg.constant_int() {
        return Some(value.unsigned_abs().checked_ilog10().map_or(1, |it| it + 1));
    }
    match arg.ty.wire {
        WireType::Tiny => Some(3),
        WireType::Year => Some(4),
        WireType::Short => Some(5),
        WireType::Int24 => Some(8),
        WireType::Long => Some(10),
        // What compares gives 0 or 1.
        WireType::LongLong if arg.ty.length == 1 && arg.text.starts_with('(') => Some(1),
        WireType::LongLong => Some(20),
        _ if arg.ty.is_decimal() => Some(u32::from(arg.ty.precision())),
        _ => None,
    }
}
