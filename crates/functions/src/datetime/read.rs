//! Arguments read as dates and times, whatever they are.

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_error::{Error, Result};
use pelorus_types::WireType;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS};

use crate::context::EvalContext;
use crate::datetime::parse;
use crate::decimal::Decimal;
use crate::input::Input;
use crate::value::Value;
use crate::zone::{TimeZone, seconds};

/// What a conversion to a date lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lenience {
    /// `2024-01-00` passes.
    zero_parts: bool,
    /// `0000-00-00` passes.
    zero_date: bool,
    /// What a DATE or DATETIME holds passes, whatever it is.
    held: bool,
    /// `2024-02-30` passes under `ALLOW_INVALID_DATES`.
    any_day: bool,
    /// Warnings say that the text is no date, though one with a time of day would do.
    of_date: bool,
}

impl Lenience {
    /// Everything that a DATE can hold.
    pub(crate) const FUZZY: Lenience =
        Lenience { zero_parts: true, zero_date: true, held: true, any_day: true, of_date: false };

    /// A date of the calendar only.
    pub(crate) const STRICT: Lenience = Lenience {
        zero_parts: false,
        zero_date: false,
        held: false,
        any_day: false,
        of_date: false,
    };

    /// What conversions let pass under the session's `sql_mode`.
    pub(crate) fn of(ctx: &EvalContext) -> Self {
        let mode = &ctx.sql_mode;
        let (zero_parts, zero_date) = (!mode.no_zero_in_date, !mode.no_zero_date);
        Self { zero_parts, zero_date, ..Self::FUZZY }
    }

    /// What the functions that give a part of a date let pass.
    pub(crate) fn part(ctx: &EvalContext) -> Self {
        Self { zero_date: !ctx.sql_mode.no_zero_date, ..Self::FUZZY }
    }

    /// The same for a function that looks at the date alone.
    #[must_use]
    pub(crate) fn of_date(self) -> Self {
        Self { of_date: true, ..self }
    }

    fn any_day(self, ctx: &EvalContext) -> bool {
        self.any_day && ctx.sql_mode.allow_invalid_dates
    }

    fn allows(self, date: DateTime) -> bool {
        if date.year == 0 && date.month == 0 && date.day == 0 {
            return self.zero_date;
        }
        self.zero_parts || (date.month != 0 && date.day != 0)
    }
}

/// A value as date and time. Warns and gives NULL for what is none.
pub(crate) fn datetime(
    input: &Input<'_>,
    row: usize,
    lenience: Lenience,
) -> Result<Option<DateTime>> {
    let warn = |text: &str| {
        input.ctx().warn(1292, format!("Incorrect datetime value: '{text}'"));
    };
    let number = |value| {
        let date = parse::number_with(value, lenience.any_day(input.ctx()))?;
        // A number of eight digits at most is a date of a year below 1000 where any date will do.
        let is_early = date.year < 1000 && value.compare(Decimal::from_i128(10_000_101)).is_lt();
        (lenience.held || !is_early).then_some(date)
    };
    let found = match input.value(row) {
        Value::Null => return Ok(None),
        Value::Date(packed) => {
            let date = DateTime::unpack(packed);
            if lenience.held || lenience.allows(date) {
                return Ok(Some(date));
            }
            let text = input.text(row)?.unwrap_or_default();
            warn(&text);
            return Ok(None);
        }
        Value::Time(micros) => return Ok(time_as_datetime(micros, input.ctx())),
        Value::Int(_) | Value::UInt(_) if input.ty.wire == WireType::Year => {
            year_as_date(input.int(row))
        }
        Value::Int(value) => number(Decimal::from_i128(i128::from(value))),
        Value::UInt(value) => number(Decimal::from_i128(i128::from(value))),
        Value::Decimal(value) => number(value),
        Value::Double(value) => number(crate::input::double_to_decimal(value)),
        Value::Text(text) => {
            check_reading(&text, input.ctx())?;
            return Ok(text_as_datetime(&text, input, lenience));
        }
        Value::Bytes(_) if input.hex => number(Decimal::from_i128(input.int(row).unwrap_or(0))),
        Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            check_reading(&text, input.ctx())?;
            return Ok(text_as_datetime(&text, input, lenience));
        }
    };
    match found.filter(|date| lenience.allows(*date)) {
        Some(date) => Ok(Some(date)),
        None => {
            let text = input.text(row)?.unwrap_or_default();
            warn(&text);
            Ok(None)
        }
    }
}

/// Refuses a text that the MariaDB whose answer this is may read in its own way.
fn check_reading(text: &str, ctx: &EvalContext) -> Result<()> {
    if ctx.of_mariadb && parse::is_disputed(text) {
        return Err(Error::unsupported("such a text as a date or time of a MariaDB"));
    }
    Ok(())
}

fn year_as_date(year: Option<i128>) -> Option<DateTime> {
    let year = u16::try_from(year?).ok()?;
    Some(DateTime::date(year, 1, 1))
}

fn text_as_datetime(text: &str, input: &Input<'_>, lenience: Lenience) -> Option<DateTime> {
    let ctx = input.ctx();
    let parsed = parse::datetime_with(text, lenience.any_day(ctx));
    let here = |date: DateTime| match parsed.offset {
        // The offset says when it was; the session's zone says what the clock showed here.
        Some(offset) => at_offset(date, offset, ctx.time_zone),
        None => Some(date),
    };
    let date = parsed.value.and_then(here).filter(|date| lenience.allows(*date));
    if date.is_none() && !lenience.of_date {
        ctx.warn(1292, format!("Incorrect datetime value: '{text}'"));
    } else if date.is_none() || parsed.truncated {
        let what = if lenience.of_date || !parsed.has_time { "date" } else { "datetime" };
        ctx.warn(1292, format!("Truncated incorrect {what} value: '{text}'"));
    }
    date
}

/// A TIME on the day of the statement.
pub(crate) fn time_as_datetime(micros: i64, ctx: &EvalContext) -> Option<DateTime> {
    today(ctx).plus_micros(micros)
}

/// The day of the statement in the session's time zone.
pub(crate) fn today(ctx: &EvalContext) -> DateTime {
    now(ctx).midnight()
}

/// The start of the statement in the session's time zone.
pub(crate) fn now(ctx: &EvalContext) -> DateTime {
    ctx.time_zone.local(ctx.now_micros)
}

/// A date that a clock shows which is so many seconds east of universal time, on the clock of a
/// time zone.
pub(crate) fn at_offset(date: DateTime, offset: i64, zone: TimeZone) -> Option<DateTime> {
    let moment = seconds(date) - offset;
    date.plus_micros((zone.offset_at(moment) - offset) * 1_000_000)
}

/// A value as a TIME in microseconds. Warns and gives NULL for what is none.
pub(crate) fn time(input: &Input<'_>, row: usize) -> Result<Option<i64>> {
    let warn = |what: &str, text: &str| {
        input.ctx().warn(1292, format!("{what} time value: '{text}'"));
    };
    let found = match input.value(row) {
        Value::Null => return Ok(None),
        Value::Time(micros) => return Ok(Some(micros)),
        Value::Date(packed) => return Ok(Some(DateTime::unpack(packed).time_micros())),
        Value::Int(value) => parse::number_as_time(Decimal::from_i128(i128::from(value))),
        Value::UInt(value) => parse::number_as_time(Decimal::from_i128(i128::from(value))),
        Value::Decimal(value) => parse::number_as_time(value),
        Value::Double(value) => parse::number_as_time(crate::input::double_to_decimal(value)),
        Value::Text(_) | Value::Bytes(_) => {
            let text = match input.value(row) {
                Value::Text(text) => text,
                Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                _ => String::new(),
            };
            check_reading(&text, input.ctx())?;
            let parsed = parse::time(&text);
            if parsed.truncated {
                warn("Truncated incorrect", &text);
            }
            return Ok(parsed.value);
        }
    };
    let text = input.text(row)?.unwrap_or_default();
    match found {
        Some(micros) if micros.abs() <= TIME_MAX_MICROS => Ok(Some(micros)),
        Some(micros) => {
            warn("Truncated incorrect", &text);
            Ok(Some(micros.signum() * TIME_MAX_MICROS))
        }
        None => {
            warn("Truncated incorrect", &text);
            Ok(None)
        }
    }
}

/// A value as a TIME; NULL, too, for one that says a date with its time of day.
pub(crate) fn time_alone(input: &Input<'_>, row: usize) -> Result<Option<i64>> {
    let time = time(input, row)?;
    Ok(time.filter(|_| dated(&input.value(row)).is_none()))
}

/// The date with its time of day that a value says which can be read as a time, if any.
pub(crate) fn dated(value: &Value) -> Option<DateTime> {
    let number = |value: Decimal| {
        let is_long = value.compare(Decimal::from_i128(10_000_000_000)).is_ge();
        is_long.then(|| parse::number(value)).flatten()
    };
    match value {
        Value::Date(packed) => Some(DateTime::unpack(*packed)),
        Value::Text(text) => parse::dated(text)?.value,
        Value::Bytes(bytes) => parse::dated(&String::from_utf8_lossy(bytes))?.value,
        Value::Int(value) => number(Decimal::from_i128(i128::from(*value))),
        Value::UInt(value) => number(Decimal::from_i128(i128::from(*value))),
        Value::Decimal(value) => number(*value),
        Value::Double(value) => number(crate::input::double_to_decimal(*value)),
        Value::Null | Value::Time(_) => None,
    }
}

/// A value packed for a comparison with dates.
pub(crate) fn for_comparison(input: &Input<'_>, row: usize) -> Result<Option<i64>> {
    if input.ty.is_date() {
        return Ok(match input.value(row) {
            Value::Date(packed) => Some(packed),
            _ => None,
        });
    }
    Ok(datetime(input, row, Lenience::FUZZY)?.map(DateTime::pack))
}

/// The same; of a text the date alone.
pub(crate) fn day(input: &Input<'_>, row: usize) -> Result<Option<i64>> {
    let packed = for_comparison(input, row)?;
    Ok(if input.ty.is_string() { packed.map(midnight) } else { packed })
}

fn midnight(packed: i64) -> i64 {
    DateTime::unpack(packed).midnight().pack()
}

/// All values packed for a comparison with dates, of texts the date alone; one value when the input
/// is one.
pub(crate) fn days(input: &Input<'_>, rows: usize) -> Result<Int64Array> {
    let packed = dates(input, rows)?;
    Ok(if input.ty.is_string() { packed.unary(midnight) } else { packed })
}

/// All values packed for a comparison with dates; one value when the input is one.
pub(crate) fn dates(input: &Input<'_>, rows: usize) -> Result<Int64Array> {
    if input.ty.is_date()
        && let Some(array) = input.array.as_primitive_opt::<Int64Type>()
    {
        return Ok(array.clone());
    }
    let rows = if input.is_one() { 1 } else { rows };
    (0..rows).map(|row| for_comparison(input, row)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{EvalContext, array_of, literal, resolve};

    #[test]
    fn what_a_mariadb_may_read_otherwise_is_refused() {
        let mut ctx = EvalContext::default();
        ctx.of_mariadb = true;
        let ctx = Arc::new(ctx);
        let errno = |name: &str, text: &str| {
            let arg = literal::text(text, &ctx);
            let array = array_of(arg.constant.as_ref().unwrap(), &arg.ty).unwrap();
            let call = resolve(name, &[arg], &ctx).unwrap();
            call.evaluate(&[array], 1).err().map(|error| error.errno())
        };
        assert_eq!(errno("HOUR", "2024-02-29T10:11:12"), Some(1235));
        assert_eq!(errno("DATE", "20240131 101112"), Some(1235));
        assert_eq!(errno("DATE", "2024-01-31 10:11 PM"), Some(1235));
        for text in ["2024-02-29 10:11:12", "20240229", "abc", ""] {
            assert_eq!((errno("HOUR", text), errno("DATE", text)), (None, None), "{text}");
        }
    }
}
