//! Reads arguments of any type as dates and times.

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_error::{Error, Result};
use pelorus_types::WireType;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS, days_in_month};

use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::Input;
use crate::scalar::datetime::parse;
use crate::value::Value;
use crate::zone::{TimeZone, seconds};

/// The invalid dates that a conversion accepts.
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
    /// The date alone is asked for. Warnings say that the text is no date, though one with a time of
    /// day would do.
    of_date: bool,
    /// Any day up to 31 of a number passes.
    any_number: bool,
    /// The number 0 passes.
    zero_number: bool,
    /// Any day up to 31 of a text passes.
    any_text: bool,
    /// Nothing is said of the fraction that a number has after a date alone, and which is cut.
    any_fraction: bool,
}

impl Lenience {
    /// A date of the calendar only.
    pub(crate) const STRICT: Lenience = Lenience {
        zero_parts: false,
        zero_date: false,
        held: false,
        any_day: false,
        of_date: false,
        any_number: false,
        zero_number: false,
        any_text: false,
        any_fraction: false,
    };

    /// Everything that a DATE can hold.
    pub(crate) const FUZZY: Lenience =
        Lenience { zero_parts: true, zero_date: true, held: true, any_day: true, ..Self::STRICT };

    /// A date of the calendar only, whose day counts on where it is a number.
    pub(crate) const COUNTED: Lenience =
        Lenience { of_date: true, any_number: true, any_fraction: true, ..Self::STRICT };

    /// Everything that a difference of two times can be made of.
    pub(crate) const ANY: Lenience = Lenience { any_number: true, any_text: true, ..Self::FUZZY };

    /// The invalid dates that conversions accept under the session's `sql_mode`.
    pub(crate) fn of(ctx: &EvalContext) -> Self {
        let mode = &ctx.sql_mode;
        let (zero_parts, zero_date) = (!mode.no_zero_in_date, !mode.no_zero_date);
        Self { zero_parts, zero_date, any_fraction: true, ..Self::FUZZY }
    }

    /// The invalid dates that functions which extract a part of a date accept.
    pub(crate) fn part(ctx: &EvalContext) -> Self {
        let zero_date = !ctx.sql_mode.no_zero_date;
        Self { zero_date, any_number: true, zero_number: true, ..Self::FUZZY }
    }

    /// The same for a function that looks at the date alone.
    #[must_use]
    pub(crate) fn of_date(self) -> Self {
        Self { of_date: true, any_fraction: true, ..self }
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

    /// The date of a number, if it passes.
    fn number(self, value: Decimal, ctx: &EvalContext) -> Result<Option<DateTime>> {
        let any_day = self.any_number || self.any_day(ctx);
        let date = match self.of_date {
            true => parse::number_day(value).filter(|date| any_day || is_day(*date)),
            false => parse::number_with(value, any_day),
        };
        let is_zero = |date: &DateTime| date.midnight() == DateTime::default();
        if ctx.of_mariadb && date.is_some_and(|date| !date.is_valid() && !is_zero(&date)) {
            return Err(Error::unsupported("such a number as a date of a MariaDB"));
        }
        let passes = |date: &DateTime| self.allows(*date) || self.zero_number && is_zero(date);
        let date = date.filter(passes);
        if date.is_some() && !self.any_fraction && !ctx.of_mariadb {
            warn_of_fraction(value, ctx);
        }
        Ok(date)
    }
}

/// A value as date and time. Warns and gives NULL for other values.
pub(crate) fn datetime(
    input: &Input<'_>,
    row: usize,
    lenience: Lenience,
) -> Result<Option<DateTime>> {
    let warn = |text: &str| {
        input.ctx().warn(1292, format!("Incorrect datetime value: '{text}'"));
    };
    let number = |value| lenience.number(value, input.ctx());
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
            year_as_date(input.int(row)).filter(|date| lenience.allows(*date))
        }
        Value::Int(value) => number(Decimal::from_i128(i128::from(value)))?,
        Value::UInt(value) => number(Decimal::from_i128(i128::from(value)))?,
        Value::Decimal(value) => number(value)?,
        Value::Double(value) => number(crate::input::double_to_decimal(value))?,
        Value::Text(text) => {
            check_reading(&text, input.ctx())?;
            return Ok(text_as_datetime(&text, input, lenience));
        }
        Value::Bytes(_) if input.hex => number(Decimal::from_i128(input.int(row).unwrap_or(0)))?,
        Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            check_reading(&text, input.ctx())?;
            return Ok(text_as_datetime(&text, input, lenience));
        }
    };
    match found {
        Some(date) => Ok(Some(date)),
        None => {
            let text = input.text(row)?.unwrap_or_default();
            warn(&text);
            Ok(None)
        }
    }
}

/// Warns of the fraction of a number that is a date alone.
fn warn_of_fraction(value: Decimal, ctx: &EvalContext) {
    if parse::is_date_with_fraction(value) {
        ctx.warn(1292, format!("Truncated incorrect date value: '{}'", value.to_text()));
    }
}

/// Whether the calendar has the day, where it is not zero.
fn is_day(date: DateTime) -> bool {
    date.month == 0 || date.day <= days_in_month(date.year, date.month)
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
    let parsed = parse::datetime_with(text, lenience.any_text || lenience.any_day(ctx));
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

/// A value as a TIME in microseconds. Warns and gives NULL for other values.
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
        _ if input.ctx().of_mariadb => {
            Err(Error::unsupported("a number beyond the range of TIME as MariaDB has it"))
        }
        _ => {
            warn("Truncated incorrect", &text);
            Ok(None)
        }
    }
}

/// A date with its time of day, or a time without a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Date(DateTime),
    Time(i64),
}

/// The date or time of a value if both are allowed. A number is a time if it can be one, a text a
/// date.
pub(crate) fn moment(input: &Input<'_>, row: usize, lenience: Lenience) -> Result<Option<Moment>> {
    let is_date = match input.value(row) {
        Value::Null => return Ok(None),
        Value::Date(_) => true,
        Value::Time(_) => false,
        Value::Text(text) => is_text_of_date(&text),
        Value::Bytes(bytes) if !input.hex => is_text_of_date(&String::from_utf8_lossy(&bytes)),
        _ => {
            let number = input.decimal(row).unwrap_or_else(|| Decimal::from_i128(0));
            let time = parse::number_as_time(number);
            parse::is_dated_number(number) || time.is_none_or(|time| time.abs() > TIME_MAX_MICROS)
        }
    };
    Ok(match is_date {
        true => datetime(input, row, lenience)?.map(Moment::Date),
        false => time(input, row)?.map(Moment::Time),
    })
}

/// Whether a text is a date where a time will do as well, be it of a day that no month has.
pub(crate) fn is_text_of_date(text: &str) -> bool {
    if parse::begins_with_time(text) {
        return false;
    }
    let read = parse::datetime(text);
    read.value.is_some() || read.shaped
}

/// A value packed for a comparison with dates. To a MySQL a text that is no date is the date of zeros,
/// and a YEAR has no month and no day.
pub(crate) fn for_comparison(input: &Input<'_>, row: usize) -> Result<Option<i64>> {
    if input.ty.is_date() {
        return Ok(match input.value(row) {
            Value::Date(packed) => Some(packed),
            _ => None,
        });
    }
    if input.ctx().of_mariadb {
        let date = datetime(input, row, Lenience::FUZZY)?;
        if date.is_none() && input.ty.is_string() && !input.is_null(row) {
            return Err(Error::unsupported(
                "a text that is no date compared with dates of a MariaDB",
            ));
        }
        return Ok(date.map(DateTime::pack));
    }
    let date = match input.value(row) {
        Value::Null => return Ok(None),
        Value::UInt(year) if input.ty.wire == WireType::Year => {
            let year = u16::try_from(year).unwrap_or_default();
            Some(DateTime { year, ..DateTime::default() })
        }
        Value::Bytes(bytes) if input.hex => {
            text_as_datetime(&String::from_utf8_lossy(&bytes), input, Lenience::FUZZY)
        }
        _ => datetime(input, row, Lenience::FUZZY)?,
    };
    let zero = input.ty.is_string().then(DateTime::default);
    Ok(date.or(zero).map(DateTime::pack))
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

    use crate::registry::resolve::resolve;
    use crate::{EvalContext, array_of, literal};

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
