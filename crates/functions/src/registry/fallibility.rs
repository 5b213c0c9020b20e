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

/// Whether a call with such arguments and a result of this type leaves neither an error nor a
/// warning, whatever the values are. (Whether the arguments themselves can is another matter.)
pub(crate) type Rule = fn(&[Arg], &ColumnType) -> bool;

/// Whether a CAST can complain of the values of its argument.
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

/// Functions of which nothing is known.
pub(crate) fn unknown(_: &[Arg], _: &ColumnType) -> bool {
    false
}

/// Functions that never fail.
pub(crate) fn always(_: &[Arg], _: &ColumnType) -> bool {
    true
}

/// Functions of truths.
pub(crate) fn of_conditions(args: &[Arg], _: &ColumnType) -> bool {
    args.iter().all(is_condition)
}

/// IF.
pub(crate) fn of_first_condition(args: &[Arg], _: &ColumnType) -> bool {
    args.first().is_some_and(is_condition)
}

/// CASE, in which conditions and results alternate.
pub(crate) fn of_case(args: &[Arg], _: &ColumnType) -> bool {
    args.chunks_exact(2).all(|pair| is_condition(&pair[0]))
}

/// Whether the truth of the argument is seen without making a number of a text.
fn is_condition(arg: &Arg) -> bool {
    arg.ty.is_numeric() || arg.is_null()
}

/// Functions that compare their arguments, where these compare without becoming something else.
pub(crate) fn alike(args: &[Arg], _: &ColumnType) -> bool {
    let all = |test: fn(&Arg) -> bool| args.iter().all(|arg| arg.is_null() || test(arg));
    // A constant that is no date was found out when the comparison was bound.
    let are_dates = args.iter().any(|arg| arg.ty.is_date())
        && all(|arg| arg.ty.is_date() || arg.constant_text().is_some());
    are_dates
        || all(|arg| arg.ty.is_numeric())
        || all(is_text)
        || all(|arg| arg.ty.wire == WireType::Time)
}

/// Whether an operator that has a sign on one side only meets nothing below zero.
fn fits_sign(args: &[Arg], ty: &ColumnType) -> bool {
    !ty.is_unsigned() || args.iter().all(|arg| arg.ty.is_unsigned())
}

/// Whether a result that has at most so many digits, from those of two arguments, is in range.
fn fits(args: &[Arg], count: impl Fn(bool, u32, u32) -> u32) -> bool {
    let [left, right] = args else { return false };
    let (Some(a), Some(b)) = (digits(left), digits(right)) else { return false };
    let integers = args.iter().all(is_integer);
    count(integers, a, b) <= if integers { SAFE_DIGITS } else { SAFE_DECIMAL_DIGITS }
}

/// The most digits of a sum. Those of decimals count on both sides of the point.
fn digits_of_sum(integers: bool, a: u32, b: u32) -> u32 {
    if integers { a.max(b) + 1 } else { a + b }
}

/// `+`.
pub(crate) fn sum(args: &[Arg], ty: &ColumnType) -> bool {
    fits_sign(args, ty) && fits(args, digits_of_sum)
}

/// `-` of one or two arguments.
pub(crate) fn difference(args: &[Arg], ty: &ColumnType) -> bool {
    match args {
        [_] => whole(args, ty),
        _ => !ty.is_unsigned() && fits(args, digits_of_sum),
    }
}

/// `*`.
pub(crate) fn product(args: &[Arg], ty: &ColumnType) -> bool {
    fits_sign(args, ty) && fits(args, |_, a, b| a + b)
}

/// `/`, `DIV` and `%`.
pub(crate) fn quotient(args: &[Arg], _: &ColumnType) -> bool {
    match args {
        [value, divisor] => is_short(value) && digits(divisor).is_some() && is_positive(divisor),
        _ => false,
    }
}

/// Functions of one number, whose result is about as large.
pub(crate) fn whole(args: &[Arg], _: &ColumnType) -> bool {
    matches!(args, [value] if is_short(value))
}

/// `ROUND`.
pub(crate) fn rounding(args: &[Arg], ty: &ColumnType) -> bool {
    whole(args, ty) || truncation(args, ty)
}

/// `TRUNCATE`.
pub(crate) fn truncation(args: &[Arg], _: &ColumnType) -> bool {
    matches!(args, [value, digits] if is_short(value) && digits.constant_int().is_some())
}

/// Operators on bits.
pub(crate) fn of_integers(args: &[Arg], _: &ColumnType) -> bool {
    args.iter().all(is_integer)
}

/// A number of few digits.
fn is_short(arg: &Arg) -> bool {
    digits(arg).is_some_and(|digits| digits <= SAFE_DIGITS)
}

fn is_positive(arg: &Arg) -> bool {
    match &arg.constant {
        Some(Value::Int(value)) => *value > 0,
        Some(Value::UInt(value)) => *value > 0,
        Some(Value::Decimal(value)) => !value.is_negative() && value.to_f64() > 0.0,
        _ => false,
    }
}

/// Texts that are put together.
pub(crate) fn joined_texts(args: &[Arg], ty: &ColumnType) -> bool {
    is_short_text(ty) && args.iter().all(is_plain)
}

/// Texts that become others.
pub(crate) fn short_texts(args: &[Arg], ty: &ColumnType) -> bool {
    is_short_text(ty) && args.iter().all(is_text)
}

/// Functions of texts whose result is no text.
pub(crate) fn of_texts(args: &[Arg], _: &ColumnType) -> bool {
    args.iter().all(is_text)
}

/// `LIKE`.
pub(crate) fn pattern(args: &[Arg], _: &ColumnType) -> bool {
    args.len() == 2 && args.iter().all(is_text)
}

/// Parts of texts at places.
pub(crate) fn part_of_text(args: &[Arg], _: &ColumnType) -> bool {
    args.first().is_some_and(is_text) && args.iter().skip(1).all(is_integer)
}

/// Functions of dates.
pub(crate) fn of_dates(args: &[Arg], _: &ColumnType) -> bool {
    args.iter().all(|arg| arg.ty.is_date())
}

/// Functions of the statement's time.
pub(crate) fn without_arguments(args: &[Arg], _: &ColumnType) -> bool {
    args.is_empty()
}

/// Whether a type is none of the long texts, whose results have a limit.
fn is_short_text(ty: &ColumnType) -> bool {
    result_type::blob_rank(ty.wire) == 0
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
