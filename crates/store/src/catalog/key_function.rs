//! Key functions, which compute parts of partition and segment keys: `col`, `LEFT(col, n)`,
//! `TIME_SLICE(col, INTERVAL ...)`, `ROUND_DOWN(col, n)`, `HASH(col, n)`.
//!
//! Each maps equal values to equal results, so that a condition `col = x` narrows a key `f(col)` to
//! `f(x)`; monotonic functions ([`Function::is_monotonic`]) narrow ranges too. Rounding is always
//! downwards, also below zero.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use pelorus_error::{Error, Result};
use pelorus_types::temporal::DateTime;
use std::sync::Arc;

use crate::format::bytes::{Reader, Writer};

/// A function of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyFunction {
    /// The position of the column.
    pub column: usize,
    /// The function of its value.
    pub function: Function,
}

/// A function of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// The value itself.
    Identity,
    /// The first characters of a text.
    Left(u32),
    /// The begin of the slice of so many microseconds, counted from 0001-01-01 (a Monday), that a
    /// DATE, DATETIME or TIMESTAMP lies in. Invalid dates are their own slice.
    TimeSlice(u64),
    /// The begin of the month of every so many months, counted from year 0.
    MonthSlice(u32),
    /// The largest multiple of a number that is not above an integer.
    RoundDown(u64),
    /// A bucket from 0 up to but without the number.
    Hash(u32),
}

impl Function {
    /// Whether a larger value never gives a smaller result; of slices of time that holds among dates
    /// of the calendar.
    pub fn is_monotonic(self) -> bool {
        !matches!(self, Function::Hash(_))
    }

    /// The results for a column's values; NULL gives NULL.
    ///
    /// # Errors
    /// A type that the function does not take.
    pub fn apply(self, values: &ArrayRef) -> Result<ArrayRef> {
        let wrong = || {
            Error::internal(format!(
                "{self:?} of a column of {} is not defined",
                values.data_type()
            ))
        };
        let int = |map: &dyn Fn(i64) -> i64| -> Result<ArrayRef> {
            let values = values.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
            Ok(Arc::new(values.unary::<_, Int64Type>(map)))
        };
        match self {
            Function::Identity => Ok(Arc::clone(values)),
            Function::Left(chars) => left(values, chars as usize).ok_or_else(wrong),
            Function::TimeSlice(micros) => int(&|packed| time_slice(packed, micros)),
            Function::MonthSlice(months) => int(&|packed| month_slice(packed, months)),
            Function::RoundDown(step) => match values.data_type() {
                DataType::UInt64 => {
                    let values = values.as_primitive::<UInt64Type>();
                    let step = step.max(1);
                    Ok(Arc::new(values.unary::<_, UInt64Type>(|it| it - it % step)))
                }
                _ => int(&|value| round_down(value, step)),
            },
            Function::Hash(buckets) => hash(values, buckets.max(1)).ok_or_else(wrong),
        }
    }
}

fn left(values: &ArrayRef, chars: usize) -> Option<ArrayRef> {
    let prefix =
        |text: &str| text.char_indices().nth(chars).map_or(text.len(), |(position, _)| position);
    match values.data_type() {
        DataType::Utf8 => {
            let values = values.as_string::<i32>();
            let cut = values.iter().map(|text| text.map(|text| &text[..prefix(text)]));
            Some(Arc::new(StringArray::from_iter(cut)))
        }
        DataType::Binary => {
            let values = values.as_binary::<i32>();
            let cut = values.iter().map(|bytes| bytes.map(|it| &it[..chars.min(it.len())]));
            Some(Arc::new(arrow::array::BinaryArray::from_iter(cut)))
        }
        _ => None,
    }
}

fn round_down(value: i64, step: u64) -> i64 {
    match i64::try_from(step.max(1)) {
        // The multiple below the smallest value does not exist; that value stands for it.
        Ok(step) => value.checked_sub(value.rem_euclid(step)).unwrap_or(i64::MIN),
        Err(_) if value < 0 => i64::MIN,
        Err(_) => 0,
    }
}

fn time_slice(packed: i64, micros: u64) -> i64 {
    const DAY: i128 = 86_400_000_000;
    let moment = DateTime::unpack(packed);
    if !moment.is_valid() || micros == 0 {
        return packed;
    }
    // 0001-01-01, a Monday, so that slices of 7 days begin on Mondays.
    let origin = DateTime::date(1, 1, 1).day_number();
    let days = moment.day_number() - origin;
    let total = i128::from(days) * DAY + i128::from(moment.time_micros());
    let begin = total - total.rem_euclid(i128::from(micros));
    let days = i64::try_from(begin.div_euclid(DAY)).unwrap_or(0) + origin;
    let rest = i64::try_from(begin.rem_euclid(DAY)).unwrap_or(0);
    // Year 0 before the origin is cut at the first date there is.
    DateTime::from_day_number(days).map_or(0, |date| date.at_time_micros(rest).pack())
}

fn month_slice(packed: i64, months: u32) -> i64 {
    let moment = DateTime::unpack(packed);
    if !moment.is_valid() || months == 0 {
        return packed;
    }
    let month = u32::from(moment.year) * 12 + u32::from(moment.month) - 1;
    let begin = month - month % months;
    let year = u16::try_from(begin / 12).unwrap_or(9999);
    let month = u8::try_from(begin % 12 + 1).unwrap_or(1);
    DateTime::date(year, month, 1).pack()
}

fn hash(values: &ArrayRef, buckets: u32) -> Option<ArrayRef> {
    let bucket = |bytes: &[u8]| i64::from(bucket_of(bytes, buckets));
    let hashed: Int64Array = match values.data_type() {
        DataType::Int64 => {
            values.as_primitive::<Int64Type>().unary(|value| bucket(&value.to_le_bytes()))
        }
        DataType::UInt64 => {
            values.as_primitive::<UInt64Type>().unary(|value| bucket(&value.to_le_bytes()))
        }
        DataType::Utf8 => {
            let values = values.as_string::<i32>();
            values.iter().map(|text| text.map(|text| bucket(text.as_bytes()))).collect()
        }
        DataType::Binary => {
            let values = values.as_binary::<i32>();
            values.iter().map(|bytes| bytes.map(bucket)).collect()
        }
        _ => return None,
    };
    Some(Arc::new(hashed))
}

/// The bucket of a value. It is part of the data format and can never change: FNV-1a over the
/// bytes, finished by the mixer of MurmurHash3, scaled by multiplication.
fn bucket_of(bytes: &[u8], buckets: u32) -> u32 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^= hash >> 33;
    u32::try_from(((hash >> 32) * u64::from(buckets)) >> 32).unwrap_or(0)
}

impl KeyFunction {
    pub(crate) fn write(&self, out: &mut Writer) {
        let (tag, argument) = match self.function {
            Function::Identity => (0, 0),
            Function::Left(chars) => (1, u64::from(chars)),
            Function::TimeSlice(micros) => (2, micros),
            Function::MonthSlice(months) => (3, u64::from(months)),
            Function::RoundDown(step) => (4, step),
            Function::Hash(buckets) => (5, u64::from(buckets)),
        };
        out.count(self.column);
        out.u8(tag);
        out.u64(argument);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let column = from.count_up_to(crate::catalog::schema::COLUMNS_MAX)?;
        let tag = from.u8()?;
        let argument = from.u64()?;
        let small = || {
            u32::try_from(argument).map_err(|_| from.damaged("an argument of a key is too large"))
        };
        let function = match tag {
            0 => Function::Identity,
            1 => Function::Left(small()?),
            2 => Function::TimeSlice(argument),
            3 => Function::MonthSlice(small()?),
            4 => Function::RoundDown(argument),
            5 => Function::Hash(small()?),
            other => return Err(from.damaged(&format!("unknown key function {other}"))),
        };
        Ok(Self { column, function })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::UInt64Array;

    use super::*;

    fn one(function: Function, values: ArrayRef) -> ArrayRef {
        function.apply(&values).unwrap()
    }

    #[test]
    fn rounding_goes_down_on_both_sides_of_zero() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![-11, -10, -1, 0, 9, 10, i64::MIN]));
        let rounded = one(Function::RoundDown(10), values);
        let expected = Int64Array::from(vec![-20, -10, -10, 0, 0, 10, i64::MIN]);
        assert_eq!(rounded.as_primitive::<Int64Type>(), &expected);
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        let rounded = one(Function::RoundDown(10), unsigned);
        assert_eq!(rounded.as_primitive::<UInt64Type>().value(0), u64::MAX - 5);
    }

    #[test]
    fn slices_of_time_begin_where_the_calendar_says() {
        const HOUR: u64 = 3_600_000_000;
        let moment =
            DateTime { year: 2013, month: 1, day: 13, hour: 4, minute: 36, second: 46, micros: 7 };
        let slice = |micros| DateTime::unpack(time_slice(moment.pack(), micros));
        assert_eq!(slice(2 * HOUR), DateTime { hour: 4, ..moment.midnight() });
        // 2013-01-13 was a Sunday.
        assert_eq!(slice(7 * 24 * HOUR), DateTime::date(2013, 1, 7));
        let months = DateTime::unpack(month_slice(moment.pack(), 3));
        assert_eq!(months, DateTime::date(2013, 1, 1));
        // A zero date is its own slice.
        assert_eq!(time_slice(0, HOUR), 0);
    }

    #[test]
    fn slices_keep_the_order() {
        let mut last = i64::MIN;
        for minute in 0..20_000_i64 {
            let moment = DateTime::date(1999, 12, 28).plus_micros(minute * 61_000_000).unwrap();
            let slice = time_slice(moment.pack(), 6 * 3_600_000_000);
            assert!(slice >= last && slice <= moment.pack());
            last = slice;
        }
    }

    #[test]
    fn left_counts_characters() {
        let values: ArrayRef = Arc::new(StringArray::from(vec![Some("äöü"), Some("a"), None]));
        let cut = one(Function::Left(2), values);
        let expected = StringArray::from(vec![Some("äö"), Some("a"), None]);
        assert_eq!(cut.as_string::<i32>(), &expected);
    }

    #[test]
    fn buckets_are_part_of_the_format_and_even() {
        assert_eq!(bucket_of(b"", 16), 14);
        let mut counts = [0_u32; 16];
        for number in 0..16_000_u64 {
            counts[bucket_of(&(number * 16).to_le_bytes(), 16) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
