//! Comparison kinds: the type under which the operands of an operator, BETWEEN, IN or `CASE x WHEN`
//! compare.
//!
//! In MySQL dates and times compare as texts as long as all values are texts, dates or times.
//! Compared with a number they are numbers, unless a constant is converted to the type of a column
//! (see [`super::taken`]). MariaDB has rules of its own; where the two differ, `query` refuses to
//! compute results of a MariaDB.

use std::collections::HashSet;

use pelorus_error::{Code, Error, Result};
use pelorus_types::temporal::TIME_MAX_MICROS;
use pelorus_types::{Collation, WireType, collation};

use super::taken::{as_stored, listed, pair_complaints};
use crate::collation::resolution::mix_to_compare;
use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::scalar::datetime::parse;
use crate::types::result_type;
use crate::types::result_type::Numeric;
use crate::value::{Arg, Origin, Value};

/// The type under which two values are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Int,
    Decimal,
    Real,
    /// The same, where numbers are equal that differ by less than half a unit of the last of so
    /// many digits after the point.
    Fixed(u8),
    Text(Rules),
    Bytes,
    /// A DATE or DATETIME, packed.
    Date,
    /// The same, where of texts the date alone counts.
    Day,
    /// A TIME in microseconds.
    Time,
}

impl Kind {
    /// Texts of a collation, or bytes where it is that of bytes.
    pub(crate) fn under(collation: Collation) -> Self {
        if collation == collation::BINARY { Kind::Bytes } else { Kind::Text(Rules::of(collation)) }
    }
}

/// Chooses the type under which the values of several arguments are compared.
pub(crate) fn kind(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Kind> {
    let real: Vec<&Arg> = args.iter().copied().filter(|arg| !arg.is_null()).collect();
    if real.is_empty() {
        return Ok(Kind::Int);
    }
    if args.iter().any(|arg| arg.ty.wire == WireType::Json) {
        return Err(Error::unsupported("comparison of JSON values"));
    }
    let all = |test: fn(&Arg) -> bool| real.iter().all(|arg| test(arg));
    if all(|arg| arg.ty.is_string()) {
        return text_kind(&real, ctx, operation);
    }
    if all(|arg| arg.ty.wire == WireType::Time) {
        return Ok(Kind::Time);
    }
    if ctx.of_mariadb {
        return mariadb_kind(&real, ctx, operation);
    }
    let any_date = real.iter().any(|arg| arg.ty.is_date());
    let is_dated = |arg: &Arg| is_textual(arg) || arg.ty.wire == WireType::Year;
    if any_date && all(is_dated) {
        check_constant_dates(&real, ctx)?;
        return Ok(Kind::Date);
    }
    if all(is_textual) {
        return text_kind(&real, ctx, operation);
    }
    Ok(number_kind(&real))
}

/// Whether a value is a text to a MySQL that asks what to compare as: dates and times are.
fn is_textual(arg: &Arg) -> bool {
    arg.ty.is_string() || arg.ty.is_date() || arg.ty.wire == WireType::Time
}

/// The kind of number that values are compared as.
fn number_kind(args: &[&Arg]) -> Kind {
    match args.iter().map(|arg| result_type::numeric(arg)).max() {
        Some(Numeric::Int) | None => Kind::Int,
        Some(Numeric::Decimal) => Kind::Decimal,
        Some(Numeric::Real) => exact_kind(args).unwrap_or(Kind::Real),
    }
}

/// The type under which MariaDB compares values that are not all texts.
fn mariadb_kind(real: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Kind> {
    // Two digits are taken for a year of this or the last century, but not everywhere, and numbers with
    // a fraction for a year.
    let is_odd = |arg: &&&Arg| {
        let is_year = arg.ty.is_integer() && arg.constant_int().is_none_or(|it| it >= 100);
        arg.constant.is_some() && !is_year
    };
    if real.iter().any(|arg| arg.ty.wire == WireType::Year)
        && let Some(odd) = real.iter().find(is_odd)
    {
        return Err(Error::unsupported(format_args!("YEAR values compared with {}", odd.text)));
    }
    let all = |test: fn(&Arg) -> bool| real.iter().all(|arg| test(arg));
    let any = |test: fn(&Arg) -> bool| real.iter().any(|arg| test(arg));
    let comparable_as_date = |arg: &&Arg| {
        arg.ty.is_temporal()
            || (arg.ty.is_string() && !arg.is_hex())
            || (arg.constant.is_some() && arg.ty.is_integer())
    };
    if any(|arg| arg.ty.is_date()) && real.iter().all(comparable_as_date) {
        check_constant_numbers(real, ctx)?;
        check_constant_dates(real, ctx)?;
        return Ok(Kind::Date);
    }
    if any(|arg| arg.ty.wire == WireType::Time) {
        // What is no time becomes one of zeros.
        let is_odd = |arg: &&&Arg| arg.constant.is_some() && !is_plain_time(arg);
        if let Some(odd) = real.iter().find(is_odd) {
            return Err(Error::unsupported(format_args!("a TIME compared with {}", odd.text)));
        }
        if all(|arg| arg.ty.wire == WireType::Time || arg.constant_text().is_some()) {
            return Ok(Kind::Time);
        }
        if all(|arg| arg.ty.wire == WireType::Time || arg.ty.is_string()) {
            return text_kind(real, ctx, operation);
        }
    }
    let is_text = |arg: &Arg| arg.ty.is_string() && !arg.is_hex();
    if operation == "between" && any(Arg::is_hex) && real.iter().any(|arg| is_text(arg)) {
        return Err(Error::unsupported("BETWEEN of bits, texts and numbers of a MariaDB"));
    }
    let of_texts =
        all(|arg| arg.ty.is_integer() || arg.ty.is_string()) && real.iter().any(|arg| is_text(arg));
    Ok(match number_kind(real) {
        // Whole numbers and texts are decimals.
        Kind::Real if of_texts && any(|arg| arg.ty.is_integer()) => Kind::Decimal,
        kind => kind,
    })
}

/// Whether a constant is a time to every server.
fn is_plain_time(arg: &Arg) -> bool {
    let number = |value: i128| {
        let time = parse::number_as_time(Decimal::from_i128(value));
        value < 10_000_000_000 && time.is_some_and(|it| it.abs() <= TIME_MAX_MICROS)
    };
    match &arg.constant {
        Some(Value::Time(_)) => true,
        Some(Value::Int(value)) => number(i128::from(*value)),
        Some(Value::UInt(value)) => number(i128::from(*value)),
        Some(Value::Text(text)) => {
            let read = parse::time(text);
            read.value.is_some() && !read.truncated && parse::dated(text).is_none()
        }
        _ => false,
    }
}

/// The same for the two values of `=`, `<`, NULLIF and their like. A DECIMAL that is no constant takes a
/// constant text for a DECIMAL: a DOUBLE has fewer digits. Floating-point numbers that are shown with
/// so many digits (`DOUBLE(10,2)`) are compared up to these, as `set_cmp_func` of MySQL's
/// `Arg_comparator` has it.
pub(crate) fn pair_kind(
    left: &Arg,
    right: &Arg,
    ctx: &EvalContext,
    operation: &str,
) -> Result<Kind> {
    let is_exact = |arg: &Arg| arg.ty.is_decimal() && arg.constant.is_none();
    let is_text = |arg: &Arg| arg.ty.is_string() && arg.constant.is_some();
    let are_exact = is_exact(left) && is_text(right) || is_text(left) && is_exact(right);
    Ok(match kind(&[left, right], ctx, operation)? {
        Kind::Real if are_exact => Kind::Decimal,
        Kind::Real => fixed_digits(left, right).map_or(Kind::Real, Kind::Fixed),
        other => other,
    })
}

/// The same for the operators alone. Of a text and a DATE, neither of them a constant, MySQL
/// chooses the date.
pub(crate) fn operator_kind(
    left: &Arg,
    right: &Arg,
    ctx: &EvalContext,
    operation: &str,
) -> Result<Kind> {
    Ok(match pair_kind(left, right, ctx, operation)? {
        Kind::Date if !ctx.of_mariadb && are_texts_and_days(left, right) => Kind::Day,
        other => other,
    })
}

/// Whether one is a DATE and the other a text, neither of them a constant.
fn are_texts_and_days(left: &Arg, right: &Arg) -> bool {
    let is_day = |arg: &Arg| arg.ty.wire == WireType::Date;
    let is_known = [left, right].iter().any(|arg| arg.constant.is_some());
    !is_known && (is_day(left) && right.ty.is_string() || is_day(right) && left.ty.is_string())
}

/// The digits after the point of two numbers, of which one is a floating-point number, where both
/// are known. Columns of one type have been rounded to the same numbers.
fn fixed_digits(left: &Arg, right: &Arg) -> Option<u8> {
    let digits = [left, right].map(|arg| result_type::decimals(&arg.ty));
    let are_alike = [left, right].iter().all(|arg| arg.origin == Origin::Column)
        && (left.ty.wire, digits[0]) == (right.ty.wire, digits[1]);
    let most = digits[0].max(digits[1]);
    (most < result_type::NOT_FIXED && !are_alike).then_some(most)
}

/// Compares as text, or as bytes when the arguments agree on that.
pub(crate) fn text_kind(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Kind> {
    Ok(Kind::under(mix_to_compare(args, ctx, operation)?.collation))
}

/// Error 1235 for a number or bytes that are no date, compared with dates.
fn check_constant_numbers(args: &[&Arg], ctx: &EvalContext) -> Result<()> {
    let any_day = ctx.sql_mode.allow_invalid_dates;
    let number = |value: i128| parse::number_with(Decimal::from_i128(value), any_day);
    let odd = args.iter().find(|arg| match &arg.constant {
        Some(Value::Int(value)) => number(i128::from(*value)).is_none(),
        Some(Value::UInt(value)) => number(i128::from(*value)).is_none(),
        Some(Value::Bytes(bytes)) => {
            parse::datetime_with(&String::from_utf8_lossy(bytes), any_day).value.is_none()
        }
        _ => false,
    });
    match odd {
        Some(odd) => Err(Error::unsupported(format_args!("a date compared with {}", odd.text))),
        None => Ok(()),
    }
}

/// Error 1525 for a constant text that is no date, compared with dates; to a MariaDB it is the date of zeros.
fn check_constant_dates(args: &[&Arg], ctx: &EvalContext) -> Result<()> {
    let any_day = ctx.sql_mode.allow_invalid_dates;
    let plain = args.iter().all(|arg| arg.ty.wire == WireType::Date || !arg.ty.is_date());
    for constant in args.iter().filter_map(|arg| arg.constant.as_ref()) {
        let text = match constant {
            Value::Text(text) => text.as_str().into(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
            _ => continue,
        };
        let date = parse::datetime_with(&text, any_day).value;
        if !date.is_some_and(|date| crate::literal::allowed(date, ctx)) {
            if ctx.of_mariadb {
                return Err(Error::unsupported(format_args!("a date compared with '{text}'")));
            }
            let kind = if plain { "DATE" } else { "DATETIME" };
            return Err(Error::new(
                Code::WrongOptionValue,
                format!("Incorrect {kind} value: '{text}'"),
            ));
        }
    }
    Ok(())
}

/// What integer columns and literal texts that are whole numbers within BIGINT are compared as: texts of
/// digits alone as integers, others as decimals.
fn exact_kind(args: &[&Arg]) -> Option<Kind> {
    let is_column = |arg: &&Arg| arg.origin == Origin::Column && arg.ty.is_integer();
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    let is_integer = |arg: &&Arg| {
        let value = arg.constant_text().and_then(crate::parse::exact_integer);
        arg.ty.is_integer() || value.is_some_and(|value| range.contains(&value))
    };
    let is_whole = |arg: &&Arg| {
        is_integer(arg)
            || arg.constant_text().is_some_and(|text| {
                let read = crate::parse::decimal_prefix(text.as_bytes());
                let whole = read.value.truncate(0);
                let is_in_range = whole.units.to_i128().is_some_and(|it| range.contains(&it));
                !read.truncated && whole.compare(read.value).is_eq() && is_in_range
            })
    };
    if !args.iter().any(is_column) {
        return None;
    }
    if args.iter().all(is_integer) {
        return Some(Kind::Int);
    }
    args.iter().all(is_whole).then_some(Kind::Decimal)
}

/// The type under which a value and the bounds of BETWEEN are compared, and the converted
/// constants.
pub(super) fn between_kind(
    args: [&Arg; 3],
    negated: bool,
    ctx: &EvalContext,
) -> Result<(Kind, [Option<Arg>; 3])> {
    let real: Vec<&Arg> = args.iter().copied().filter(|arg| !arg.is_null()).collect();
    let is_text = |arg: &&Arg| is_textual(arg);
    let any_date = real.iter().any(|arg| arg.ty.is_date());
    if ctx.of_mariadb || args.iter().any(|arg| arg.ty.wire == WireType::Json) {
        return Ok((kind(&args, ctx, "between")?, [None, None, None]));
    }
    if any_date && real.iter().all(is_text) {
        // Bounds that are the same make an equality of it.
        let are_same = args[1].constant.is_some() && args[1].constant == args[2].constant;
        if are_same && !negated {
            check_constant_dates(&real, ctx)?;
        }
        return Ok((Kind::Date, [None, None, None]));
    }
    let taken = [None, as_stored(args[0], args[1], ctx), as_stored(args[0], args[2], ctx)];
    let is_temporal = args[0].ty.is_date() || args[0].ty.wire == WireType::Time;
    // A text that is a date is taken for one as well.
    let is_dated = |arg: &&&Arg| arg.constant.is_some() && is_textual(arg);
    let is_odd = args[0].ty.is_date() && args[1..].iter().any(|arg| is_dated(&arg));
    if is_temporal && (taken.iter().flatten().count() == 1 || is_odd) {
        // A MySQL compares a whole number that is no date with what the other bound is.
        return Err(Error::unsupported(format_args!(
            "{} BETWEEN a value of its own and another one",
            args[0].text
        )));
    }
    let given: Vec<&Arg> =
        args.iter().zip(&taken).map(|(arg, taken)| taken.as_ref().unwrap_or(arg)).collect();
    let real: Vec<&Arg> = given.iter().copied().filter(|arg| !arg.is_null()).collect();
    let are_texts = real.iter().all(is_text);
    let kind = if are_texts && real.iter().any(|arg| arg.ty.is_date()) {
        Kind::Date
    } else if are_texts {
        kind(&given, ctx, "between")?
    } else {
        number_kind(&real)
    };
    Ok((kind, taken))
}

/// The type under which `CASE left WHEN right` compares: the type of the left one decides. A text
/// compared with dates stays a text.
pub(crate) fn case_kind(left: &Arg, right: &Arg, ctx: &EvalContext) -> Result<Kind> {
    let are_texts = is_textual(left) && is_textual(right);
    if ctx.of_mariadb || left.is_null() || right.is_null() {
        return kind(&[left, right], ctx, "case");
    }
    match left.ty.wire {
        _ if !are_texts => Ok(number_kind(&[left, right])),
        _ if left.ty.is_date() => Ok(Kind::Date),
        WireType::Time if right.ty.is_date() => {
            Err(Error::unsupported("CASE of a TIME with dates"))
        }
        WireType::Time => Ok(Kind::Time),
        _ => text_kind(&[left, right], ctx, "case"),
    }
}

/// The type under which each item of a list is compared, the converted constants, and their
/// warnings.
pub(super) struct Listed {
    pub(super) kinds: Vec<Kind>,
    pub(super) taken: Vec<Option<Arg>>,
    pub(super) complaints: Vec<Option<String>>,
}

impl Listed {
    /// A list whose items are taken as they are.
    fn as_given(kinds: Vec<Kind>) -> Self {
        Self { taken: vec![None; kinds.len() + 1], kinds, complaints: Vec::new() }
    }
}

/// The types under which the value of IN is compared with each item. Texts share one collation.
pub(super) fn in_kinds(value: &Arg, list: &[Arg], ctx: &EvalContext) -> Result<Listed> {
    if let [item] = list {
        // A list of one is an equality.
        let taken = super::taken_pair(value, item, ctx);
        let [a, b] = &taken;
        let (a, b) = (a.as_ref().unwrap_or(value), b.as_ref().unwrap_or(item));
        let kinds = vec![operator_kind(a, b, ctx, "in")?];
        let complaints = pair_complaints(value, item, ctx)?;
        return Ok(Listed { kinds, taken: taken.into(), complaints });
    }
    let real = || list.iter().filter(|item| !item.is_null());
    let are_known = list.iter().all(|item| item.constant.is_some());
    let is_time = value.ty.wire == WireType::Time;
    let is_dated = value.ty.is_date() || real().any(|item| item.ty.is_date());
    let is_temporal = value.ty.is_date() || is_time;
    let are_numbers = !real().any(is_textual);
    let are_texts = real().all(is_textual);
    if !ctx.of_mariadb {
        check_list(value, list, is_dated)?;
    }
    let is_day = value.ty.wire == WireType::Date;
    if !ctx.of_mariadb
        && is_temporal
        && are_known
        && (are_numbers || are_texts && (is_time && !is_dated || is_day))
    {
        let kind = if is_time { Kind::Time } else { Kind::Date };
        let items = listed(value, list, ctx)?;
        let (items, complaints): (Vec<_>, Vec<_>) = items.into_iter().unzip();
        let taken = std::iter::once(None).chain(items).collect();
        return Ok(Listed { kinds: vec![kind; list.len()], taken, complaints });
    }
    if let Some(kinds) = mixed_kinds(value, list, ctx)? {
        return Ok(Listed::as_given(kinds));
    }
    if let Some(kind) = dated_kind(value, list, ctx)? {
        return Ok(Listed::as_given(vec![kind; list.len()]));
    }
    let strings: Vec<&Arg> = list.iter().filter(|arg| arg.ty.is_string()).collect();
    let shared = if value.ty.is_string() && !strings.is_empty() && (!is_dated || ctx.of_mariadb) {
        let mut all = vec![value];
        all.extend(strings);
        Some(kind(&all, ctx, "in")?)
    } else {
        None
    };
    let of_item = |item: &Arg| match (&shared, item.ty.is_string()) {
        (Some(shared), true) => Ok(*shared),
        _ if ctx.of_mariadb || value.is_null() || item.is_null() => kind(&[value, item], ctx, "in"),
        _ if value.ty.wire == WireType::Json || item.ty.wire == WireType::Json => {
            kind(&[value, item], ctx, "in")
        }
        _ if !is_textual(value) || !is_textual(item) => Ok(number_kind(&[value, item])),
        // One date makes dates of all texts.
        _ if is_dated => Ok(Kind::Date),
        _ => kind(&[value, item], ctx, "in"),
    };
    Ok(Listed::as_given(list.iter().map(of_item).collect::<Result<_>>()?))
}

/// Error 1235 for lists whose items a MySQL compares by rules of the list as a whole: texts among
/// times, times among dates and numbers, and a YEAR among constant texts.
fn check_list(value: &Arg, list: &[Arg], is_dated: bool) -> Result<()> {
    let all = || std::iter::once(value).chain(list).filter(|arg| !arg.is_null());
    let any = |test: fn(&Arg) -> bool| all().any(test);
    let is_time = value.ty.wire == WireType::Time;
    let has_time = any(|arg| arg.ty.wire == WireType::Time);
    let has_text = any(|arg| arg.ty.is_string());
    let has_number = any(|arg| !is_textual(arg));
    let are_known = list.iter().all(|item| item.constant.is_some());
    let is_of_times = has_time && has_text && !(is_dated && value.ty.is_string() && !has_number);
    let is_known_time = is_time && are_known && !is_dated && !has_number;
    let is_of_time_and_date = is_time && is_dated && has_number;
    let is_of_years = value.ty.wire == WireType::Year && has_text && are_known;
    if is_of_times && !is_known_time || is_of_time_and_date || is_of_years {
        return Err(Error::unsupported(format_args!("{} IN a list of several types", value.text)));
    }
    Ok(())
}

/// What items of several classes (numbers, texts, dates) are compared as: each item has a kind of its
/// own; if the value is a date, it is that of dates, else that of texts under one collation. `None` for
/// lists of one class.
fn mixed_kinds(value: &Arg, list: &[Arg], ctx: &EvalContext) -> Result<Option<Vec<Kind>>> {
    let is_text = |item: &Arg| is_textual(value) && is_textual(item);
    let real: Vec<&Arg> = list.iter().filter(|item| !item.is_null()).collect();
    let is_json =
        value.ty.wire == WireType::Json || real.iter().any(|item| item.ty.wire == WireType::Json);
    let classes: HashSet<u8> = real.iter().map(|item| class(value, item)).collect();
    if ctx.of_mariadb || is_json || value.is_null() || classes.len() < 2 {
        return Ok(None);
    }
    let mut texts = vec![value];
    texts.extend(real.iter().copied().filter(|item| item.ty.is_string()));
    let of_item = |item: &Arg| match item {
        _ if item.is_null() => kind(&[value, item], ctx, "in"),
        _ if !is_text(item) => Ok(number_kind(&[value, item])),
        _ if value.ty.wire == WireType::Time => Ok(Kind::Time),
        _ if value.ty.is_date() => Ok(Kind::Date),
        _ => text_kind(&texts, ctx, "in"),
    };
    list.iter().map(of_item).collect::<Result<_>>().map(Some)
}

/// The type under which MySQL compares two values: texts, integers, decimals or floating-point
/// numbers.
fn class(value: &Arg, item: &Arg) -> u8 {
    match number_kind(&[value, item]) {
        _ if is_textual(value) && is_textual(item) => 0,
        Kind::Int => 1,
        Kind::Decimal => 2,
        _ => 3,
    }
}

/// In MySQL a text among several dates and texts is a date when compared with all of them; compared
/// with constants without a DATETIME its time of day is cut off.
fn dated_kind(value: &Arg, list: &[Arg], ctx: &EvalContext) -> Result<Option<Kind>> {
    let real: Vec<&Arg> = list.iter().filter(|item| !item.is_null()).collect();
    let is_among = !ctx.of_mariadb
        && value.ty.is_string()
        && list.len() > 1
        && real.iter().any(|item| item.ty.is_date())
        && real.iter().all(|item| item.ty.is_date() || item.ty.is_string());
    if !is_among {
        return Ok(None);
    }
    let has_time = |text: &str| parse::datetime(text).has_time;
    let is_day = |item: &&Arg| item.ty.wire == WireType::Date || item.ty.is_string();
    let is_cut = value.constant.is_none()
        && list.iter().all(|item| item.constant.is_some())
        && real.iter().all(is_day);
    if !is_cut {
        return Ok(Some(Kind::Date));
    }
    if real.iter().any(|item| item.constant_text().is_some_and(has_time)) {
        return Err(Error::unsupported("a text IN dates and texts with a time of day"));
    }
    Ok(Some(Kind::Day))
}
