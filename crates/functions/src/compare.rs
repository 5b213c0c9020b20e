//! Comparisons: `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`, `BETWEEN`, `IN`, `STRCMP` and the choice of
//! what two values are compared as.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, Decimal128Type, Float64Type, Int64Type};
use pelorus_error::{Error, Result};
use pelorus_types::{Collation, ColumnType, WireType, collation};

use crate::call::{Batch, Call};
use crate::collate::mix::mix_to_compare;
use crate::collate::weight::Rules;
use crate::context::EvalContext;
use crate::datetime::{parse, read};
use crate::decimal::Decimal;
use crate::errors::parameter_count;
use crate::input::Input;
use crate::lookup::Lookup;
use crate::shape::{self, Numeric, null_if_any};
use crate::value::{Arg, Origin, Value};
use crate::vector;

/// What two values are compared as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Int,
    Decimal,
    Real,
    /// The same, where numbers are equal that differ by less than half a unit of the last of so
    /// many digits behind the point.
    Fixed(u8),
    Text(Rules),
    Bytes,
    /// A DATE or DATETIME, packed.
    Date,
    /// The same, where of texts the date alone counts.
    Day,
    /// A TIME in microseconds.
    Time,
    /// The same, where texts are rounded to the digits of a column first.
    TimeOf(u8),
}

impl Kind {
    /// Texts of a collation, or bytes where it is that of bytes.
    pub(crate) fn under(collation: Collation) -> Self {
        if collation == collation::BINARY { Kind::Bytes } else { Kind::Text(Rules::of(collation)) }
    }

    /// The same where constants are not taken to the type of a column.
    pub(crate) fn as_given(self) -> Self {
        if let Kind::TimeOf(_) = self { Kind::Time } else { self }
    }
}

/// Chooses what the values of several arguments are compared as.
pub(crate) fn kind(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Kind> {
    let real: Vec<&Arg> = args.iter().copied().filter(|arg| !arg.is_null()).collect();
    if real.is_empty() {
        return Ok(Kind::Int);
    }
    if args.iter().any(|arg| arg.ty.wire == WireType::Json) {
        return Err(Error::unsupported("comparison of JSON values"));
    }
    // MySQL takes two digits for a year of this or the last century, but not everywhere.
    let short = |arg: &&Arg| {
        arg.constant_int().is_some_and(|year| (0..100).contains(&year))
            || arg.constant_text().is_some_and(|text| text.trim().len() <= 2)
    };
    if real.iter().any(|arg| arg.ty.wire == WireType::Year) && real.iter().any(short) {
        return Err(Error::unsupported("YEAR values compared with years of two digits"));
    }
    let all = |test: fn(&Arg) -> bool| real.iter().all(|arg| test(arg));
    let any = |test: fn(&Arg) -> bool| real.iter().any(|arg| test(arg));
    if all(|arg| arg.ty.is_string()) {
        return text_kind(&real, ctx, operation);
    }
    if all(|arg| arg.ty.wire == WireType::Time) {
        return Ok(Kind::Time);
    }
    let comparable_as_date = |arg: &&Arg| {
        arg.ty.is_temporal()
            || (arg.ty.is_string() && !arg.is_hex())
            || (arg.constant.is_some() && arg.ty.is_integer())
    };
    if any(|arg| arg.ty.is_date()) && real.iter().all(comparable_as_date) {
        check_constant_dates(&real, ctx)?;
        return Ok(Kind::Date);
    }
    if any(|arg| arg.ty.wire == WireType::Time)
        && all(|arg| arg.ty.wire == WireType::Time || arg.ty.is_string())
    {
        // A column takes the constant to its own type; otherwise both are text.
        let is_column = |arg: &Arg| arg.ty.wire == WireType::Time && arg.origin == Origin::Column;
        let column = real
            .iter()
            .find(|arg| is_column(arg))
            .filter(|_| all(|arg| arg.ty.wire == WireType::Time || arg.constant_text().is_some()));
        return match column {
            Some(column) => Ok(Kind::TimeOf(column.ty.decimals)),
            None => text_kind(&real, ctx, operation),
        };
    }
    Ok(match real.iter().map(|arg| shape::numeric(arg)).max() {
        Some(Numeric::Int) | None => Kind::Int,
        Some(Numeric::Decimal) => Kind::Decimal,
        Some(Numeric::Real) if exact_integers(&real) => Kind::Int,
        Some(Numeric::Real) => Kind::Real,
    })
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

/// The same for the operators alone. Of a text beside a DATE, neither of them a constant, a MySQL takes
/// the date.
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

/// The digits behind the point of two numbers, of which one is a floating-point number, where both
/// are known. Columns of one type have been rounded to the same numbers.
fn fixed_digits(left: &Arg, right: &Arg) -> Option<u8> {
    let digits = [left, right].map(|arg| shape::decimals(&arg.ty));
    let are_alike = [left, right].iter().all(|arg| arg.origin == Origin::Column)
        && (left.ty.wire, digits[0]) == (right.ty.wire, digits[1]);
    let most = digits[0].max(digits[1]);
    (most < shape::NOT_FIXED && !are_alike).then_some(most)
}

/// Compares numbers as far as so many digits behind the point go.
fn up_to(digits: u8, a: f64, b: f64) -> Ordering {
    let within = 5.0 / 10_f64.powi(i32::from(digits) + 1);
    if (a - b).abs() < within { Ordering::Equal } else { total(a, b) }
}

/// Compares as text, or as bytes when the arguments agree on that.
pub(crate) fn text_kind(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Kind> {
    Ok(Kind::under(mix_to_compare(args, ctx, operation)?.collation))
}

/// Error 1525 for a constant text that is no date, beside dates; 1235 for a number or bytes that are
/// none, which MySQL takes for something else than a date.
fn check_constant_dates(args: &[&Arg], ctx: &EvalContext) -> Result<()> {
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
    if let Some(odd) = odd {
        return Err(Error::unsupported(format_args!("a date compared with {}", odd.text)));
    }
    let plain = args.iter().all(|arg| arg.ty.wire == WireType::Date || !arg.ty.is_date());
    for text in args.iter().filter_map(|arg| arg.constant_text()) {
        let date = parse::datetime_with(text, any_day).value;
        if !date.is_some_and(|date| crate::literal::allowed(date, ctx)) {
            let kind = if plain { "DATE" } else { "DATETIME" };
            return Err(Error::remote(
                1525,
                *b"HY000",
                format!("Incorrect {kind} value: '{text}'"),
            ));
        }
    }
    Ok(())
}

/// Integer columns beside literal texts that are wholly integers compare as integers.
fn exact_integers(args: &[&Arg]) -> bool {
    args.iter().any(|arg| arg.origin == Origin::Column && arg.ty.is_integer())
        && args.iter().all(|arg| {
            arg.ty.is_integer()
                || arg.constant_text().and_then(crate::parse::exact_integer).is_some_and(|value| {
                    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value)
                })
        })
}

/// Compares values of two inputs in one row. `None` when either is NULL.
pub(crate) fn compare(
    kind: &Kind,
    a: &Input<'_>,
    b: &Input<'_>,
    row: usize,
) -> Result<Option<Ordering>> {
    if a.is_null(row) || b.is_null(row) {
        return Ok(None);
    }
    Ok(match kind {
        Kind::Int => a.int(row).zip(b.int(row)).map(|(a, b)| a.cmp(&b)),
        Kind::Decimal => a.decimal(row).zip(b.decimal(row)).map(|(a, b)| a.compare(b)),
        Kind::Real => a.real(row).zip(b.real(row)).map(|(a, b)| total(a, b)),
        Kind::Fixed(digits) => a.real(row).zip(b.real(row)).map(|(a, b)| up_to(*digits, a, b)),
        Kind::Date => {
            read::for_comparison(a, row)?.zip(read::for_comparison(b, row)?).map(|(a, b)| a.cmp(&b))
        }
        Kind::Day => read::day(a, row)?.zip(read::day(b, row)?).map(|(a, b)| a.cmp(&b)),
        Kind::Time => read::time(a, row)?.zip(read::time(b, row)?).map(|(a, b)| a.cmp(&b)),
        Kind::TimeOf(digits) => {
            let (a, b) = (rounded_time(a, row, *digits)?, rounded_time(b, row, *digits)?);
            a.zip(b).map(|(a, b)| a.cmp(&b))
        }
        Kind::Bytes => a.bytes(row)?.zip(b.bytes(row)?).map(|(a, b)| a.cmp(&b)),
        Kind::Text(rules) => match (a.text(row)?, b.text(row)?) {
            (Some(a), Some(b)) => Some(rules.compare(&a, &b, &mut Default::default())?),
            _ => None,
        },
    })
}

/// A TIME; a text as a column of so many digits after the point would store it.
fn rounded_time(input: &Input<'_>, row: usize, digits: u8) -> Result<Option<i64>> {
    let micros = read::time(input, row)?;
    if !input.ty.is_string() {
        return Ok(micros);
    }
    Ok(micros.map(|micros| crate::cast::round_time(micros, digits, input.ctx())))
}

/// Doubles of MySQL are never NaN; -0 equals 0.
pub(crate) fn total(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

type Test = fn(Ordering) -> bool;

fn test_of(name: &str) -> Option<Test> {
    Some(match name {
        "=" | "<=>" | "CASE =" => Ordering::is_eq,
        "<>" | "!=" => Ordering::is_ne,
        "<" => Ordering::is_lt,
        "<=" => Ordering::is_le,
        ">" => Ordering::is_gt,
        ">=" => Ordering::is_ge,
        _ => return None,
    })
}

/// Binds `=`, `<=>`, `<>`, `!=`, `<`, `<=`, `>` or `>=`, and `CASE =`, the equality that `CASE x WHEN`
/// has.
pub(crate) fn binary(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [left, right] = args else { return Err(parameter_count(name)) };
    let test = test_of(name).ok_or_else(|| Error::internal(format!("{name} compares nothing")))?;
    let (sign, kind) = match name {
        "CASE =" => ("=", case_kind(left, right, ctx)?),
        _ => {
            let sign = if name == "!=" { "<>" } else { name };
            (sign, operator_kind(left, right, ctx, sign)?)
        }
    };
    let text = format!("({} {sign} {})", left.text, right.text);
    let null_safe = name == "<=>";
    let ty = if null_safe {
        ColumnType::boolean().not_null()
    } else {
        null_if_any(ColumnType::boolean(), args)
    };
    let number = Beside::among(&kind, left, right);
    let kernel = move |batch: &Batch<'_>| {
        if let Some((number, at)) = &number {
            let result = number.compared(*at, batch, |order| {
                if null_safe { Some(order.is_some_and(test)) } else { order.map(test) }
            })?;
            return Ok(Arc::new(result) as ArrayRef);
        }
        if !null_safe && let Some(result) = fast(&kind, test, batch)? {
            return Ok(Arc::new(result) as ArrayRef);
        }
        let (a, b) = (&batch.inputs[0], &batch.inputs[1]);
        let result = vector::truths(batch.rows, |row| {
            if null_safe && (a.is_null(row) || b.is_null(row)) {
                return Ok(Some(a.is_null(row) && b.is_null(row)));
            }
            let order = compare(&kind, a, b, row)?;
            Ok(if null_safe { Some(order.is_some_and(test)) } else { order.map(test) })
        })?;
        Ok(Arc::new(result) as ArrayRef)
    };
    Ok(Call::new(name, args, ctx, ty, Box::new(kernel)).with_text(text))
}

/// What `CASE left WHEN right` compares as. A MySQL goes by the type of the left one: a text stays
/// one beside dates.
fn case_kind(left: &Arg, right: &Arg, ctx: &EvalContext) -> Result<Kind> {
    let of_mysql = !ctx.of_mariadb;
    if of_mysql && left.ty.is_string() && !left.is_null() && right.ty.is_date() {
        return text_kind(&[left, right], ctx, "case");
    }
    if of_mysql && left.ty.wire == WireType::Time && right.ty.is_date() {
        return Err(Error::unsupported("CASE of a TIME with dates"));
    }
    Ok(kind(&[left, right], ctx, "case")?.as_given())
}

/// A constant text that is compared as a number. That is made once, and complained of once for the
/// statement, as in MySQL.
struct Number<T> {
    value: T,
    complaint: Option<String>,
}

impl Number<f64> {
    fn real(arg: &Arg) -> Option<Self> {
        let text = arg.constant_text()?;
        let read = crate::parse::double_prefix(text.as_bytes());
        let complains = read.truncated && !text.is_empty();
        let complaint = complains.then(|| format!("Truncated incorrect DOUBLE value: '{text}'"));
        Some(Self { value: read.value, complaint })
    }
}

impl Number<Decimal> {
    fn decimal(arg: &Arg) -> Option<Self> {
        let text = arg.constant_text()?;
        let read = crate::parse::decimal_prefix(text.as_bytes());
        let complains = read.truncated;
        let complaint = complains.then(|| format!("Truncated incorrect DECIMAL value: '{text}'"));
        Some(Self { value: read.value, complaint })
    }
}

impl<T: Copy> Number<T> {
    fn given(&self, ctx: &EvalContext) -> T {
        if let Some(complaint) = &self.complaint {
            ctx.warn_once(1292, complaint);
        }
        self.value
    }
}

/// Such a text beside values that are no constants.
enum Beside {
    Real(Number<f64>),
    Decimal(Number<Decimal>),
}

impl Beside {
    fn of(kind: &Kind, text: &Arg, other: &Arg) -> Option<Self> {
        match kind {
            _ if other.constant.is_some() => None,
            Kind::Real => Number::real(text).map(Self::Real),
            Kind::Decimal => Number::decimal(text).map(Self::Decimal),
            _ => None,
        }
    }

    /// The one of two arguments that is such a text, and its place.
    fn among(kind: &Kind, left: &Arg, right: &Arg) -> Option<(Self, usize)> {
        let right_one = Self::of(kind, right, left).map(|it| (it, 1));
        right_one.or_else(|| Some((Self::of(kind, left, right)?, 0)))
    }

    /// What is made of the order of the other values and this, which is the left one at 0.
    fn compared(
        &self,
        at: usize,
        batch: &Batch<'_>,
        truth: impl Fn(Option<Ordering>) -> Option<bool>,
    ) -> Result<Int64Array> {
        let other = &batch.inputs[1 - at];
        let turned = |order: Option<Ordering>| match at {
            0 => order.map(Ordering::reverse),
            _ => order,
        };
        if batch.rows == 0 {
            return vector::truths(0, |_| Ok(None));
        }
        match self {
            Self::Real(number) => {
                let number = number.given(batch.ctx);
                vector::truths(batch.rows, |row| {
                    Ok(truth(turned(other.real(row).map(|it| total(it, number)))))
                })
            }
            Self::Decimal(number) => {
                let number = number.given(batch.ctx);
                vector::truths(batch.rows, |row| {
                    Ok(truth(turned(other.decimal(row).map(|it| it.compare(number)))))
                })
            }
        }
    }
}

fn fast(kind: &Kind, test: Test, batch: &Batch<'_>) -> Result<Option<Int64Array>> {
    let (a, b) = (&batch.inputs[0], &batch.inputs[1]);
    let rows = batch.rows;
    Ok(match kind {
        Kind::Int => fast_integers(test, a, b, rows),
        Kind::Real => {
            match (vector::primitive::<Float64Type>(a), vector::primitive::<Float64Type>(b)) {
                (Some(a), Some(b)) => {
                    Some(vector::zip(a, b, rows, |a, b| i64::from(test(total(a, b)))))
                }
                _ => None,
            }
        }
        Kind::Decimal => match (vector::decimal128(a), vector::decimal128(b)) {
            (Some((a, s1)), Some((b, s2))) if s1 == s2 => Some(fast_ordered(test, &a, &b, rows)),
            _ => None,
        },
        Kind::Date => {
            let (a, b) = (read::dates(a, rows)?, read::dates(b, rows)?);
            Some(fast_ordered(test, &a, &b, rows))
        }
        Kind::Day => {
            let (a, b) = (read::days(a, rows)?, read::days(b, rows)?);
            Some(fast_ordered(test, &a, &b, rows))
        }
        Kind::Time if a.ty.wire == WireType::Time && b.ty.wire == WireType::Time => {
            let (a, b) = (a.array.as_primitive_opt(), b.array.as_primitive_opt());
            a.zip(b).map(|(a, b)| fast_ordered::<Int64Type>(test, a, b, rows))
        }
        Kind::Text(rules) => fast_text(rules, test, batch)?,
        _ => None,
    })
}

fn fast_integers(test: Test, a: &Input<'_>, b: &Input<'_>, rows: usize) -> Option<Int64Array> {
    if let (Some(a), Some(b)) =
        (vector::primitive::<Int64Type>(a), vector::primitive::<Int64Type>(b))
    {
        return Some(fast_ordered(test, a, b, rows));
    }
    let ((a, 0), (b, 0)) = (vector::decimal128(a)?, vector::decimal128(b)?) else { return None };
    Some(fast_ordered::<Decimal128Type>(test, &a, &b, rows))
}

fn fast_ordered<T>(
    test: Test,
    a: &PrimitiveArray<T>,
    b: &PrimitiveArray<T>,
    rows: usize,
) -> Int64Array
where
    T: ArrowPrimitiveType,
    T::Native: Ord,
{
    // The test is turned into an operator outside the loop so that the loop has no calls.
    let (lt, eq, gt) = (test(Ordering::Less), test(Ordering::Equal), test(Ordering::Greater));
    match (lt, eq, gt) {
        (false, true, false) => vector::zip(a, b, rows, |a, b| i64::from(a == b)),
        (true, false, true) => vector::zip(a, b, rows, |a, b| i64::from(a != b)),
        (true, false, false) => vector::zip(a, b, rows, |a, b| i64::from(a < b)),
        (true, true, false) => vector::zip(a, b, rows, |a, b| i64::from(a <= b)),
        (false, false, true) => vector::zip(a, b, rows, |a, b| i64::from(a > b)),
        _ => vector::zip(a, b, rows, |a, b| i64::from(a >= b)),
    }
}

/// A column of text against one text: its key is made once.
fn fast_text(rules: &Rules, test: Test, batch: &Batch<'_>) -> Result<Option<Int64Array>> {
    let (a, b) = (&batch.inputs[0], &batch.inputs[1]);
    if !b.is_one() || a.is_one() || b.is_null(0) {
        return Ok(None);
    }
    let Some(column) = a.array.as_string_opt::<i32>() else { return Ok(None) };
    let Some(constant) = b.text(0)? else { return Ok(None) };
    let (mut wanted, mut key) = (Vec::new(), Vec::new());
    rules.key(&constant, &mut wanted)?;
    let mut values = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        if column.is_null(row) {
            values.push(0);
            continue;
        }
        let value = column.value(row);
        let order = match rules.compare_simple(value, &constant) {
            Some(order) => order,
            None => {
                key.clear();
                rules.key(value, &mut key)?;
                key.cmp(&wanted)
            }
        };
        values.push(i64::from(test(order)));
    }
    Ok(Some(Int64Array::new(values.into(), column.nulls().cloned())))
}

/// Binds `BETWEEN` and `NOT BETWEEN` of value, low and high.
pub(crate) fn between(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [value, low, high] = args else { return Err(parameter_count(name)) };
    let negated = name == "NOT BETWEEN";
    let kind = kind(&[value, low, high], ctx, "between")?;
    let ty = null_if_any(ColumnType::boolean(), args);
    let word = if negated { "not between" } else { "between" };
    let text = format!("({} {word} {} and {})", value.text, low.text, high.text);
    let kernel = move |batch: &Batch<'_>| {
        let [value, low, high] = batch.inputs.as_slice() else {
            return Err(Error::internal("BETWEEN has three arguments"));
        };
        let result = vector::truths(batch.rows, |row| {
            let above = compare(&kind, value, low, row)?.map(Ordering::is_ge);
            let below = compare(&kind, value, high, row)?.map(Ordering::is_le);
            let within = match (above, below) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            Ok(within.map(|within| within != negated))
        })?;
        Ok(Arc::new(result) as ArrayRef)
    };
    Ok(Call::new(name, args, ctx, ty, Box::new(kernel)).with_text(text))
}

/// Binds `IN` and `NOT IN` of a value and a list.
pub(crate) fn within(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [value, list @ ..] = args else { return Err(parameter_count(name)) };
    if list.is_empty() {
        return Err(parameter_count(name));
    }
    let negated = name == "NOT IN";
    let kinds = in_kinds(value, list, ctx)?;
    let number = match list {
        [one] => Beside::among(&kinds[0], value, one),
        _ => None,
    };
    let are_numbers =
        value.constant.is_none() && kinds.iter().all(|kind| matches!(kind, Kind::Real));
    let numbers: Option<Vec<Number<f64>>> =
        if are_numbers { list.iter().map(Number::real).collect() } else { None };
    let ty = null_if_any(ColumnType::boolean(), args);
    let texts: Vec<&str> = list.iter().map(|arg| arg.text.as_str()).collect();
    let word = if negated { "not in" } else { "in" };
    let text = format!("({} {word} ({}))", value.text, texts.join(","));
    let lookup = if numbers.is_none() { Lookup::of(&kinds, list, ctx) } else { None };
    // Constants that are known already are no arguments of a batch.
    let is_known = number.is_none() && (numbers.is_some() || lookup.is_some());
    let reads = if is_known { 1 } else { args.len() };
    let sorted: OnceLock<Vec<f64>> = OnceLock::new();
    let kernel = move |batch: &Batch<'_>| {
        if let Some((number, at)) = &number {
            let result =
                number.compared(*at, batch, |order| order.map(|order| order.is_eq() != negated))?;
            return Ok(Arc::new(result) as ArrayRef);
        }
        let [value, list @ ..] = batch.inputs.as_slice() else {
            return Err(Error::internal("IN has arguments"));
        };
        if let Some(numbers) = numbers.as_ref().filter(|_| batch.rows > 0) {
            // They are asked for every batch, since they may leave warnings.
            let mut given: Vec<f64> = numbers.iter().map(|it| it.given(batch.ctx)).collect();
            let numbers = sorted.get_or_init(|| {
                given.sort_unstable_by(|a, b| total(*a, *b));
                given
            });
            let is_among = |value| numbers.binary_search_by(|it| total(*it, value)).is_ok();
            let result = vector::truths(batch.rows, |row| {
                Ok(value.real(row).map(|value| is_among(value) != negated))
            })?;
            return Ok(Arc::new(result) as ArrayRef);
        }
        if let Some(lookup) = &lookup {
            let mut key = Vec::new();
            let result = vector::truths(batch.rows, |row| {
                Ok(lookup.has(value, row, &mut key)?.map(|found| found != negated))
            })?;
            return Ok(Arc::new(result) as ArrayRef);
        }
        if let Some(result) = fast_in(&kinds, value, list, batch.rows, negated) {
            return Ok(Arc::new(result) as ArrayRef);
        }
        let result = vector::truths(batch.rows, |row| {
            let mut unknown = false;
            for (kind, item) in kinds.iter().zip(list) {
                match compare(kind, value, item, row)? {
                    Some(Ordering::Equal) => return Ok(Some(!negated)),
                    Some(_) => {}
                    None => unknown = true,
                }
            }
            Ok((!unknown).then_some(negated))
        })?;
        Ok(Arc::new(result) as ArrayRef)
    };
    Ok(Call::new(name, args, ctx, ty, Box::new(kernel)).with_text(text).reading(reads))
}

/// What the value is compared with each item as. Texts share one collation.
fn in_kinds(value: &Arg, list: &[Arg], ctx: &EvalContext) -> Result<Vec<Kind>> {
    if let Some(kind) = dated_kind(value, list, ctx)? {
        return Ok(vec![kind; list.len()]);
    }
    let strings: Vec<&Arg> = list.iter().filter(|arg| arg.ty.is_string()).collect();
    let shared = if value.ty.is_string() && !strings.is_empty() {
        let mut all = vec![value];
        all.extend(strings);
        Some(kind(&all, ctx, "in")?)
    } else {
        None
    };
    list.iter()
        .map(|item| match (&shared, item.ty.is_string()) {
            (Some(shared), true) => Ok(*shared),
            // A list of one is an equality; the items of others are taken as they are.
            _ if list.len() == 1 => operator_kind(value, item, ctx, "in"),
            _ => kind(&[value, item], ctx, "in"),
        })
        .map(|kind| if list.len() > 1 { kind.map(Kind::as_given) } else { kind })
        .collect()
}

/// A text among several dates and texts is a date to a MySQL beside all of them; beside constants
/// without a DATETIME its time of day is cut off.
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
    let mut all = vec![value];
    all.extend(&real);
    let kind = kind(&all, ctx, "in")?;
    let has_time = |text: &str| parse::datetime(text).has_time;
    let is_day = |item: &&Arg| item.ty.wire == WireType::Date || item.ty.is_string();
    let is_cut = value.constant.is_none()
        && list.iter().all(|item| item.constant.is_some())
        && real.iter().all(is_day);
    if !is_cut {
        return Ok(Some(kind));
    }
    if real.iter().any(|item| item.constant_text().is_some_and(has_time)) {
        return Err(Error::unsupported("a text IN dates and texts with a time of day"));
    }
    Ok(Some(Kind::Day))
}

/// A column of integers in a list of integers.
fn fast_in(
    kinds: &[Kind],
    value: &Input<'_>,
    list: &[Input<'_>],
    rows: usize,
    negated: bool,
) -> Option<Int64Array> {
    let column = vector::primitive::<Int64Type>(value)?;
    let simple = kinds.iter().all(|kind| matches!(kind, Kind::Int))
        && list.iter().all(|item| item.is_one() && !item.is_null(0))
        && column.len() == rows;
    if !simple {
        return None;
    }
    let items: Vec<i128> = list.iter().filter_map(|item| item.int(0)).collect();
    let items: Vec<i64> = items.iter().filter_map(|item| i64::try_from(*item).ok()).collect();
    Some(column.unary(|value| i64::from(items.contains(&value) != negated)))
}

/// Binds `STRCMP`.
pub(crate) fn strcmp(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [a, b] = args else { return Err(parameter_count(name)) };
    let mixed = mix_to_compare(&[a, b], ctx, "strcmp")?;
    let binary = mixed.collation == collation::BINARY;
    let rules = Rules::of(mixed.collation);
    let ty = null_if_any(shape::bigint_type(2, false), args);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (a, b) = (&batch.inputs[0], &batch.inputs[1]);
        let order = if binary {
            a.bytes(row)?.zip(b.bytes(row)?).map(|(a, b)| a.cmp(&b))
        } else {
            match (a.text(row)?, b.text(row)?) {
                (Some(a), Some(b)) => Some(rules.compare(&a, &b, &mut Default::default())?),
                _ => None,
            }
        };
        Ok(order.map_or(Value::Null, |order| Value::Int(order as i64)))
    }))
}
