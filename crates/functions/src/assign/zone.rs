//! TIMESTAMP between universal time, in which columns store it, and a session's time zone, in
//! which expressions see it. Both are packed by [`pelorus_types::temporal`]; a zero date is zero in
//! either.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_error::{Error, Result};
use pelorus_types::temporal::DateTime;

use crate::context::TimeZone;

/// The first moment that a TIMESTAMP holds, in universal time.
const FIRST: DateTime = DateTime { second: 1, ..DateTime::date(1970, 1, 1) };
/// The last one: 2^31 - 1 seconds after 1970, to the microsecond.
const LAST: DateTime =
    DateTime { hour: 3, minute: 14, second: 7, micros: 999_999, ..DateTime::date(2038, 1, 19) };

/// A packed local date with time as the TIMESTAMP that a column stores; `None` outside the range of
/// TIMESTAMP (1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 in universal time).
pub fn timestamp_to_utc(packed: i64, zone: TimeZone) -> Option<i64> {
    if packed == 0 {
        return Some(0);
    }
    let date = shifted(packed, -zone.offset_seconds())?;
    (FIRST.pack()..=LAST.pack()).contains(&date).then_some(date)
}

/// A stored TIMESTAMP on the clock of a session's zone, packed.
pub fn timestamp_from_utc(packed: i64, zone: TimeZone) -> i64 {
    if packed == 0 {
        return 0;
    }
    // What a column stores lies far from the ends of the calendar.
    shifted(packed, zone.offset_seconds()).unwrap_or(packed)
}

/// A whole stored TIMESTAMP column on the clock of a session's zone: what a scan hands to
/// expressions. Free of charge in universal time. Error for an array that is no `Int64`.
pub fn timestamps_from_utc(array: &ArrayRef, zone: TimeZone) -> Result<ArrayRef> {
    if zone.offset_seconds() == 0 {
        return Ok(Arc::clone(array));
    }
    let values = array.as_primitive_opt::<Int64Type>().ok_or_else(|| {
        Error::internal(format!("timestamps were given as an array of {}", array.data_type()))
    })?;
    let shifted: Int64Array = values.unary(|packed| timestamp_from_utc(packed, zone));
    debug_assert_eq!(shifted.len(), array.len());
    Ok(Arc::new(shifted))
}

fn shifted(packed: i64, seconds: i64) -> Option<i64> {
    if seconds == 0 {
        return Some(packed);
    }
    Some(DateTime::unpack(packed).plus_micros(seconds * 1_000_000)?.pack())
}
