//! Constants that MySQL converts to the type of a column of dates, times or years when it compares
//! the column with them. A constant that the column could not store compares as a number or a text.
//! (`convert_constant_item` in MySQL's sources.)

use arrow::array::ArrayRef;
use pelorus_error::{Error, Result};
use pelorus_types::WireType;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS};

use crate::assignment;
use crate::call::Batch;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::{Input, Slot, double_to_decimal};
use crate::output::array_of;
use crate::scalar::cast::{round_datetime, round_time};
use crate::scalar::datetime::parse;
use crate::value::{Arg, Coercibility, Origin, Value};

/// Converted constants that replace arguments.
#[derive(Default)]
pub(crate) struct Taken {
    constants: Vec<Option<(ArrayRef, Slot)>>,
    /// Warnings that a statement gives once: 1292.
    complaints: Vec<String>,
}

impl Taken {
    /// The replacement of each argument; `None` leaves an argument unchanged.
    pub(crate) fn of(args: &[Option<Arg>]) -> Result<Self> {
        let array = |arg: &Option<Arg>| match arg {
            Some(Arg { constant: Some(value), ty, .. }) => {
                Ok(Some((array_of(value, ty)?, Slot::of_type(*ty))))
            }
            _ => Ok(None),
        };
        let constants = args.iter().map(array).collect::<Result<_>>()?;
        Ok(Self { constants, complaints: Vec::new() })
    }

    /// The same with the warnings of the constants.
    pub(crate) fn with(mut self, complaints: Vec<Option<String>>) -> Self {
        self.complaints.extend(complaints.into_iter().flatten());
        self
    }

    fn complain(&self, batch: &Batch<'_>) {
        if batch.rows > 0 {
            self.complaints.iter().for_each(|it| batch.ctx.warn_once(1292, it));
        }
    }

    /// The input at a position of a batch, or its replacement.
    pub(crate) fn at<'a>(&'a self, batch: &Batch<'a>, at: usize) -> Result<Input<'a>> {
        self.complain(batch);
        match self.constants.get(at) {
            Some(Some((array, slot))) => Input::new(array, slot, batch.ctx),
            _ => Ok(batch.inputs[at]),
        }
    }

    /// A batch with them in their places.
    pub(crate) fn applied<'a>(&'a self, batch: &Batch<'a>) -> Result<Batch<'a>> {
        self.complain(batch);
        let mut inputs = batch.inputs.clone();
        for (input, taken) in inputs.iter_mut().zip(&self.constants) {
            if let Some((array, slot)) = taken {
                *input = Input::new(array, slot, batch.ctx)?;
            }
        }
        let memory = batch.memory.clone();
        Ok(Batch { inputs, rows: batch.rows, ctx: batch.ctx, memory })
    }
}

/// The converted operands of an operator: a constant compared with a column is converted to the
/// column's type.
pub(crate) fn taken_pair(left: &Arg, right: &Arg, ctx: &EvalContext) -> [Option<Arg>; 2] {
    match as_stored(left, right, ctx) {
        None => [as_stored(right, left, ctx), None],
        taken => [None, taken],
    }
}

/// The warnings of two values of which one is a column and the other a constant that it does not
/// store unchanged.
pub(crate) fn pair_complaints(
    left: &Arg,
    right: &Arg,
    ctx: &EvalContext,
) -> Result<Vec<Option<String>>> {
    [(left, right), (right, left)].map(|(a, b)| complaint(a, b, ctx)).into_iter().collect()
}

/// The warning of a constant that a column does not store unchanged.
pub(crate) fn complaint(column: &Arg, constant: &Arg, ctx: &EvalContext) -> Result<Option<String>> {
    if stored(column, constant, ctx).is_none_or(|it| it.is_whole) {
        return Ok(None);
    }
    let word = match column.ty.wire {
        WireType::Date => "date",
        WireType::Time => "time",
        _ => "datetime",
    };
    let name = column.text.rsplit(['`', '.']).find(|part| !part.is_empty()).unwrap_or_default();
    let value = shown(constant, ctx)?;
    Ok(Some(format!("Incorrect {word} value: '{value}' for column '{name}' at row 1")))
}

/// The text of a constant.
fn shown(constant: &Arg, ctx: &EvalContext) -> Result<String> {
    let Some(value) = &constant.constant else { return Ok(String::new()) };
    let array = array_of(value, &constant.ty)?;
    let slot = Slot::of(constant);
    let text = Input::new(&array, &slot, ctx)?.text(0)?;
    Ok(text.unwrap_or_default().into_owned())
}

/// The value to which a column converts a constant; `None` if it is compared unchanged.
pub(crate) fn as_stored(column: &Arg, constant: &Arg, ctx: &EvalContext) -> Option<Arg> {
    let value = stored(column, constant, ctx)?.value;
    value.map(|value| of_column(column, value, constant))
}

/// The value that a column would store for a constant.
struct Stored {
    /// `None` where it would store none.
    value: Option<Value>,
    /// Whether nothing of it is lost.
    is_whole: bool,
}

impl Stored {
    /// A value that is not stored.
    const REFUSED: Self = Self { value: None, is_whole: false };
}

/// `None` where no column is compared with a constant that it may take for one of its values.
fn stored(column: &Arg, constant: &Arg, ctx: &EvalContext) -> Option<Stored> {
    let is_column = column.origin == Origin::Column && column.constant.is_none();
    if ctx.of_mariadb || !is_column || column.text.is_empty() {
        return None;
    }
    match column.ty.wire {
        WireType::Year => Some(Stored { value: year(constant, ctx), is_whole: true }),
        WireType::Time => time(constant, column.ty.decimals, ctx),
        WireType::Date | WireType::DateTime | WireType::Timestamp => date(column, constant, ctx),
        _ => None,
    }
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
    assignment::year_of(constant.constant.as_ref()?, constant, ctx).map(Value::UInt)
}

/// A number as a date of a column, whatever day it is. Texts stay texts: they compare as dates with
/// their time of day.
fn date(column: &Arg, constant: &Arg, ctx: &EvalContext) -> Option<Stored> {
    let number = number(constant.constant.as_ref()?)?;
    let is_day = column.ty.wire == WireType::Date;
    let digits = if is_day { 0 } else { column.ty.decimals };
    let date = parse::number_with(number, true).and_then(|it| round_datetime(it, digits, ctx));
    let Some(date) = date else { return Some(Stored::REFUSED) };
    let is_cut = parse::is_date_with_fraction(number);
    let is_there = column.ty.wire != WireType::Timestamp
        || !is_cut && date.is_valid() && (1970..=2038).contains(&date.year);
    let is_partial = ctx.sql_mode.no_zero_in_date && (date.month == 0 || date.day == 0);
    if date != DateTime::default() && (!is_there || is_partial && !is_zero(date)) {
        return Some(Stored::REFUSED);
    }
    let kept = if is_day { date.midnight() } else { date };
    Some(Stored { value: Some(Value::Date(kept.pack())), is_whole: kept == date && !is_cut })
}

fn is_zero(date: DateTime) -> bool {
    date.midnight() == DateTime::default()
}

fn time(constant: &Arg, digits: u8, ctx: &EvalContext) -> Option<Stored> {
    let fits = |micros: &i64| micros.abs() <= TIME_MAX_MICROS;
    let (micros, is_whole) = match constant.constant.as_ref()? {
        Value::Date(packed) => (Some(DateTime::unpack(*packed).time_micros()), true),
        value => match (text(value), number(value)) {
            (Some(text), _) => {
                let read = parse::time(&text);
                let time = read.value.filter(|it| !read.truncated && fits(it));
                let is_empty = text.is_empty();
                (time, is_empty || time.is_some() && parse::dated(&text).is_none())
            }
            (None, Some(number)) => {
                let time = parse::number_as_time(number).filter(fits);
                (time, time.is_some() && !parse::is_dated_number(number))
            }
            (None, None) => return None,
        },
    };
    let value = micros.map(|micros| Value::Time(round_time(micros, digits, ctx)));
    Some(Stored { value, is_whole })
}

/// The converted item of a list, and its warnings.
type Item = (Option<Arg>, Option<String>);

/// The values to which a DATE, DATETIME or TIME converts the constants of a list that are all
/// numbers, and a TIME those that are all texts. A constant that is no such value also has a
/// position, as zero or as a value that equals nothing.
///
/// # Errors
/// 1235 for numbers beyond 64 bits, some of which MySQL takes for zero.
pub(crate) fn listed(value: &Arg, items: &[Arg], ctx: &EvalContext) -> Result<Vec<Item>> {
    items.iter().map(|item| of_list(value, item, ctx)).collect()
}

/// Stands for what no value equals.
const NOTHING: i64 = i64::MIN;

fn of_list(value: &Arg, item: &Arg, ctx: &EvalContext) -> Result<Item> {
    let Some(constant) = item.constant.as_ref().filter(|it| !it.is_null()) else {
        return Ok((None, None));
    };
    let (taken, complaint) = match (text(constant), number(constant)) {
        (Some(text), _) => text_of_list(value, &text, ctx),
        (None, Some(number)) => number_of_list(value, item, number)?,
        (None, None) => return Ok((None, None)),
    };
    let said = match complaint {
        Some(complaint) => Some(format!("{complaint} value: '{}'", shown(item, ctx)?)),
        None => None,
    };
    Ok((taken.map(|taken| of_column(value, taken, item)), said))
}

fn text_of_list(
    value: &Arg,
    text: &str,
    ctx: &EvalContext,
) -> (Option<Value>, Option<&'static str>) {
    match value.ty.wire {
        WireType::Time => {
            let read = parse::time(text);
            let is_time = read.value.is_some_and(|it| it.abs() <= TIME_MAX_MICROS);
            let complaint = (read.truncated || !is_time).then_some("Truncated incorrect time");
            (Some(Value::Time(read.value.unwrap_or_default())), complaint)
        }
        WireType::Date => {
            let read = parse::datetime_with(text, ctx.sql_mode.allow_invalid_dates);
            let is_date = read.value.is_some_and(|it| it == it.midnight());
            let complaint = (read.truncated || !is_date).then_some("Truncated incorrect date");
            (Some(Value::Date(read.value.map_or(NOTHING, DateTime::pack))), complaint)
        }
        _ => (None, None),
    }
}

fn number_of_list(
    value: &Arg,
    item: &Arg,
    number: Decimal,
) -> Result<(Option<Value>, Option<&'static str>)> {
    const NO_DATE: &str = "Incorrect datetime";
    let double = match &item.constant {
        Some(Value::Double(double)) => Some(*double),
        _ => None,
    };
    let is_beyond = number.compare(Decimal::from_i128(i128::from(u64::MAX))).is_gt();
    let is_wide = double.is_some_and(|it| it.fract() != 0.0) || is_beyond || number.scale > 6;
    let time = parse::number_as_time(number).filter(|it| it.abs() <= TIME_MAX_MICROS);
    let is_time = value.ty.wire == WireType::Time;
    if is_wide || is_time && double.is_some() && time.is_none() {
        let message = format_args!("{} IN a list with {}", value.text, item.text);
        return Err(Error::unsupported(message));
    }
    let (taken, complaint) = match value.ty.wire {
        WireType::Time => {
            let complaint = time.is_none().then_some("Truncated incorrect time");
            (Value::Time(time.unwrap_or(NOTHING)), complaint)
        }
        WireType::Date => {
            let day = parse::number_day(number);
            let complaint = day.is_none().then_some(NO_DATE);
            let day = day.filter(|day| day.month == 0 || day.day == 0 || day.is_valid());
            (Value::Date(day.map_or(NOTHING, DateTime::pack)), complaint)
        }
        _ => {
            let date = parse::number_with(number, true);
            let is_cut = parse::is_date_with_fraction(number);
            let complaint = match date {
                None => Some(NO_DATE),
                Some(_) => is_cut.then_some("Truncated incorrect date"),
            };
            (Value::Date(date.unwrap_or_default().pack()), complaint)
        }
    };
    Ok((Some(taken), complaint))
}
