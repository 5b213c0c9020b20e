//! Comparisons: `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`, `BETWEEN`, `IN`, `STRCMP`, and the choice
//! of the type under which two values compare.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, Decimal128Type, Float64Type, Int64Type};
use pelorus_error::{Error, Result};
use pelorus_types::{ColumnType, WireType, collation};

mod kind;
mod taken;

use crate::call::{Batch, Call, Kernel};
use crate::collation::resolution::mix_to_compare;
use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::Input;
use crate::kernels::in_list::Lookup;
use crate::kernels::vector;
use crate::registry::errors::parameter_count;
use crate::scalar::datetime::read;
use crate::types::result_type;
use crate::types::result_type::null_if_any;
use crate::value::{Arg, Origin, Value};

pub(crate) use kind::{Kind, case_kind, kind, operator_kind, pair_kind, text_kind};
use kind::{Listed, between_kind, in_kinds};
pub(crate) use taken::{Taken, pair_complaints, taken_pair};

/// Compares numbers as far as so many digits after the point go.
fn up_to(digits: u8, a: f64, b: f64) -> Ordering {
    let within = 5.0 / 10_f64.powi(i32::from(digits) + 1);
    if (a - b).abs() < within { Ordering::Equal } else { total(a, b) }
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
        Kind::Bytes => a.bytes(row)?.zip(b.bytes(row)?).map(|(a, b)| a.cmp(&b)),
        Kind::Text(rules) => match (a.text(row)?, b.text(row)?) {
            (Some(a), Some(b)) => Some(rules.compare(&a, &b, &mut Default::default())?),
            _ => None,
        },
    })
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
    let sign = match name {
        "CASE =" => "=",
        "!=" => "<>",
        _ => name,
    };
    let text = format!("({} {sign} {})", left.text, right.text);
    let ty = match name {
        "<=>" => ColumnType::boolean().not_null(),
        _ => null_if_any(ColumnType::boolean(), args),
    };
    let kernel = pair_kernel(name, sign, left, right, ctx)?;
    Ok(Call::new(name, args, ctx, ty, kernel).with_text(text).comparing(args))
}

/// The kernel of [`binary`], which looks at the first two arguments of a batch.
fn pair_kernel(
    name: &str,
    sign: &str,
    left: &Arg,
    right: &Arg,
    ctx: &EvalContext,
) -> Result<Kernel> {
    let test = test_of(name).ok_or_else(|| Error::internal(format!("{name} compares nothing")))?;
    let (kind, taken) = match name {
        "CASE =" => (case_kind(left, right, ctx)?, Taken::default()),
        _ => operator(left, right, ctx, sign)?,
    };
    let null_safe = name == "<=>";
    let number = Beside::among(&kind, left, right);
    Ok(Box::new(move |batch: &Batch<'_>| {
        let batch = &taken.applied(batch)?;
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
    }))
}

/// The type under which the operands of an operator are compared, and the converted constants.
fn operator(left: &Arg, right: &Arg, ctx: &EvalContext, sign: &str) -> Result<(Kind, Taken)> {
    let [a, b] = taken_pair(left, right, ctx);
    let kind = operator_kind(a.as_ref().unwrap_or(left), b.as_ref().unwrap_or(right), ctx, sign)?;
    Ok((kind, Taken::of(&[a, b])?.with(pair_complaints(left, right, ctx)?)))
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
        let is_fallible = read.truncated && !text.is_empty();
        let complaint = is_fallible.then(|| format!("Truncated incorrect DOUBLE value: '{text}'"));
        Some(Self { value: read.value, complaint })
    }
}

impl Number<Decimal> {
    fn decimal(arg: &Arg) -> Option<Self> {
        let text = arg.constant_text()?;
        let read = crate::parse::decimal_prefix(text.as_bytes());
        let is_fallible = read.truncated;
        let complaint = is_fallible.then(|| format!("Truncated incorrect DECIMAL value: '{text}'"));
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

/// Such a text compared with values that are not constants.
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

    /// The result of the order of the other values and this, which is the left one at 0.
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
    let ty = null_if_any(ColumnType::boolean(), args);
    let word = if negated { "not between" } else { "between" };
    let text = format!("({} {word} {} and {})", value.text, low.text, high.text);
    if !negated && is_equality(value, low, high, ctx) {
        let kernel = pair_kernel("=", "=", value, low, ctx)?;
        return Ok(Call::new(name, args, ctx, ty, kernel).with_text(text).comparing(args));
    }
    let (kind, taken) = between_kind([value, low, high], negated, ctx)?;
    let complaints = [low, high].map(|bound| taken::complaint(value, bound, ctx));
    let taken = Taken::of(&taken)?.with(complaints.into_iter().collect::<Result<_>>()?);
    let kernel = move |batch: &Batch<'_>| {
        let batch = &taken.applied(batch)?;
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
    Ok(Call::new(name, args, ctx, ty, Box::new(kernel)).with_text(text).comparing(args))
}

/// Whether a MySQL makes an equality of a BETWEEN whose bounds are the same. It says so of a column of
/// dates, times or years, which an equality and a BETWEEN compare in different ways.
fn is_equality(value: &Arg, low: &Arg, high: &Arg, ctx: &EvalContext) -> bool {
    let is_such = value.ty.is_temporal() || value.ty.wire == WireType::Year;
    let are_same = low.constant == high.constant
        && (low.ty.wire, &low.text) == (high.ty.wire, &high.text)
        && low.constant.is_some()
        && !low.is_null();
    !ctx.of_mariadb && is_such && value.origin == Origin::Column && are_same
}

/// Binds `IN` and `NOT IN` of a value and a list.
pub(crate) fn within(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [value, list @ ..] = args else { return Err(parameter_count(name)) };
    let [_, ..] = list else { return Err(parameter_count(name)) };
    let negated = name == "NOT IN";
    let Listed { kinds, taken, complaints } = in_kinds(value, list, ctx)?;
    let items: Vec<Arg> = list
        .iter()
        .zip(&taken[1..])
        .map(|(item, taken)| taken.as_ref().unwrap_or(item).clone())
        .collect();
    let taken = Taken::of(&taken)?.with(complaints);
    let number = match list {
        [one] => Beside::among(&kinds[0], value, one),
        _ => None,
    };
    let are_numbers =
        value.constant.is_none() && kinds.iter().all(|kind| matches!(kind, Kind::Real));
    let numbers: Option<Vec<Number<f64>>> =
        if are_numbers { list.iter().map(Number::real).collect() } else { None };
    let ty = null_if_any(ColumnType::boolean(), args);
    let text = in_text(value, list, negated);
    let lookup = if numbers.is_none() { Lookup::of(&kinds, &items, ctx) } else { None };
    // Constants that are known already are no arguments of a batch.
    let is_known = number.is_none() && (numbers.is_some() || lookup.is_some());
    let reads = if is_known { 1 } else { args.len() };
    let sorted: OnceLock<Vec<f64>> = OnceLock::new();
    let kernel = move |batch: &Batch<'_>| {
        let batch = &taken.applied(batch)?;
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
    Ok(Call::new(name, args, ctx, ty, Box::new(kernel))
        .with_text(text)
        .reading(reads)
        .comparing(args))
}

/// How MySQL prints an IN.
fn in_text(value: &Arg, list: &[Arg], negated: bool) -> String {
    let texts: Vec<&str> = list.iter().map(|arg| arg.text.as_str()).collect();
    let word = if negated { "not in" } else { "in" };
    format!("({} {word} ({}))", value.text, texts.join(","))
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
    let ty = null_if_any(result_type::bigint_type(2, false), args);
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
