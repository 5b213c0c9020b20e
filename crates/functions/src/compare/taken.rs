//! What a MySQL takes constants for that are compared with a column of dates, times or years: for values
//! of the column's own type, as if they were stored there. What the column would not store compares as
//! a number or a text. (`convert_constant_item` of its sources.)

use arrow::array::ArrayRef;
use pelorus_error::{Error, Result};
use pelorus_types::WireType;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS};

use crate::assign;
use crate::call::Batch;
use crate::cast::{round_datetime, round_time};
use crate::context::EvalContext;
use crate::datetime::parse;
use crate::decimal::Decimal;
use crate::input::{Input, Slot, double_to_decimal};
use crate::output::array_of;
use crate::value::{Arg, Coercibility, Origin, Value};

/// Constants that stand in the place of arguments.
#[derive(Default)]
pub(crate) struct Taken(Vec<Option<(ArrayRef, Slot)>>);

impl Taken {
    /// What is to stand where; `None` leaves an argument.
    pub(crate) fn of(args: &[Option<Arg>]) -> Result<Self> {
        let array = |arg: &Option<Arg>| match arg {
            Some(Arg { constant: Some(value), ty, .. }) => {
                Ok(Some((array_of(value, ty)?, Slot::of_type(*ty))))
            }
            _ => Ok(None),
        };
        args.iter().map(array).collect::<Result<Vec<_>>>().map(Self)
    }

    /// The input in a place of a batch, or what stands there.
    pub(crate) fn at<'a>(&'a self, batch: &Batch<'a>, at: usize) -> Result<Input<'a>> {
        match self.0.get(at) {
            Some(Some((array, slot))) => Input::new(array, slot, batch.ctx),
            _ => Ok(batch.inputs[at]),
        }
    }

    /// A batch with them in their places.
    pub(crate) fn applied<'a>(&'a self, batch: &Batch<'a>) -> Result<Batch<'a>> {
        let mut inputs = batch.inputs.clone();
        for (input, taken) in inputs.iter_mut().zip(&self.0) {
            if let Some((array, slot)) = taken {
                *input = Input::new(array, slot, batch.ctx)?;
            }
        }
        Ok(Batch { inputs, rows: batch.rows, ctx: batch.ctx })
    }
}

/// What the two values of an operator are taken for: a constant compared with a column for one of
/// the column's values.
pub(crate) fn taken_pair(left: &Arg, right: &Arg, ctx: &EvalContext) -> [Option<Arg>; 2] {
    match as_stored(left, right, ctx) {
        None => [as_stored(right, left, ctx), None],
        taken => [None, taken],
    }
}

/// What a column takes a constant for; `None` where it is compared as it is.
pub(crate) fn as_stored(column: &Arg, constant: &Arg, ctx: &EvalContext) -> Option<Arg> {
    let is_column = column.origin == Origin::Column && column.constant.is_none();
    if ctx.of_mariadb || !is_column || column.text.is_empty() {
        return None;
    }
    let value = match column.ty.wire {
        WireType::Year => year(constant, ctx),
        WireType::Time => time(constant, column.ty.decimals, ctx).map(Value::Time),
        WireType::Timestamp => {
            let date = date(constant, column.ty.decimals, ctx)?;
            let is_there = date == DateTime::default() || (1970..=2038).contains(&date.year);
            is_there.then(|| Value::Date(date.pack()))
        }
        WireType::DateTime => {
            date(constant, column.ty.decimals, ctx).map(|date| Value::Date(date.pack()))
        }
        WireType::Date => date(constant, 0, ctx).map(|date| Value::Date(date.midnight().pack())),
        _ => None,
    };
    value.map(|value| of_column(column, value, constant))
}

/// A constant of a column's type.
fn of_column(column: &Arg, value: Value, constant: &Arg) -> Arg {
    let coercibility = Coercibility::Numeric;
    Arg { coercibility, ..Arg::literal(value, column.ty.not_null(), constant.text.clone()) }
}

/// The number of a constant that is one.
fn number(value: &Value) -> Option<Decimal> {
    Some(match value {
        Value::Int(value) => Decimal::from_i128(i128::from(*value)),
        Value::UInt(value) => Decimal::from_i128(i128::from(*value)),
        Value::Decimal(value) => *value,
        Value::Double(value) => double_to_decimal(*value),
        _ => return None,
    })
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

fn year(constant: &Arg, ctx: &EvalContext) -> Option<Value> {
    if constant.ty.wire == WireType::Year {
        return None;
    }
    assign::year_of(constant.constant.as_ref()?, constant, ctx).map(Value::UInt)
}

/// A number as a date of a column, whatever day it is. Texts stay texts: they compare as dates with
/// their time of day.
fn date(constant: &Arg, digits: u8, ctx: &EvalContext) -> Option<DateTime> {
    let date = parse::number_with(number(constant.constant.as_ref()?)?, true)?;
    round_datetime(date, digits, ctx)
}

fn time(constant: &Arg, digits: u8, ctx: &EvalContext) -> Option<i64> {
    let micros = match constant.constant.as_ref()? {
        Value::Date(packed) => DateTime::unpack(*packed).time_micros(),
        value => match (text(value), number(value)) {
            (Some(text), _) => {
                let read = parse::time(&text);
                read.value.filter(|_| !read.truncated)?
            }
            (None, Some(number)) => {
                parse::number_as_time(number).filter(|it| it.abs() <= TIME_MAX_MICROS)?
            }
            (None, None) => return None,
        },
    };
    Some(round_time(micros, digits, ctx))
}

/// What a DATE, DATETIME or TIME takes the constants of a list for that are all numbers, and what a
/// TIME takes those for that are all texts: also what no such value is has a place, as zero or as
/// what no value equals.
///
/// # Errors
/// 1235 for numbers beyond 64 bits, some of which a MySQL takes for zero.
pub(crate) fn listed(value: &Arg, items: &[Arg], ctx: &EvalContext) -> Result<Vec<Option<Arg>>> {
    items.iter().map(|item| of_list(value, item, ctx)).collect()
}

fn of_list(value: &Arg, item: &Arg, ctx: &EvalContext) -> Result<Option<Arg>> {
    const NOTHING: i64 = i64::MIN;
    let Some(constant) = item.constant.as_ref().filter(|it| !it.is_null()) else { return Ok(None) };
    if let (WireType::Time, Some(text)) = (value.ty.wire, text(constant)) {
        let time = Value::Time(parse::time(&text).value.unwrap_or_default());
        return Ok(Some(of_column(value, time, item)));
    }
    if let (WireType::Date, Some(text)) = (value.ty.wire, text(constant)) {
        let date = parse::datetime_with(&text, ctx.sql_mode.allow_invalid_dates).value;
        let date = Value::Date(date.map_or(NOTHING, DateTime::pack));
        return Ok(Some(of_column(value, date, item)));
    }
    let Some(number) = number(constant) else { return Ok(None) };
    let is_beyond = number.compare(Decimal::from_i128(i128::from(u64::MAX))).is_gt();
    let is_double = matches!(constant, Value::Double(double) if double.fract() != 0.0);
    let is_wide = is_double || is_beyond || number.scale > 6;
    let time = parse::number_as_time(number).filter(|it| it.abs() <= TIME_MAX_MICROS);
    let is_real = matches!(constant, Value::Double(_));
    let taken = match value.ty.wire {
        _ if is_wide => None,
        WireType::Time if is_real && time.is_none() => None,
        WireType::Time => Some(Value::Time(time.unwrap_or(NOTHING))),
        WireType::Date => {
            let day = parse::number_day(number)
                .filter(|day| day.month == 0 || day.day == 0 || day.is_valid());
            Some(Value::Date(day.map_or(NOTHING, DateTime::pack)))
        }
        _ => {
            let date = parse::number_with(number, ctx.sql_mode.allow_invalid_dates);
            Some(Value::Date(date.unwrap_or_default().pack()))
        }
    };
    match taken {
        Some(taken) => Ok(Some(of_column(value, taken, item))),
        None => {
            Err(Error::unsupported(format_args!("{} IN a list with {}", value.text, item.text)))
        }
    }
}
