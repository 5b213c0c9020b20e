//! Conversion of TIMESTAMP between universal time, in which columns store it, and a session's time
//! zone, in which expressions see it. Both are packed by [`pelorus_types::temporal`]; a zero date
//! is zero in either.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_error::{Error, Result};
use pelorus_types::temporal::{DateTime, write_datetime};

use crate::zone::{Moment, Shift, TimeZone, seconds};

/// The first moment that a TIMESTAMP holds, in universal time.
const FIRST: DateTime = DateTime { second: 1, ..DateTime::date(1970, 1, 1) };
/// The last one: 2^31 - 1 seconds after 1970, to the microsecond.
const LAST: DateTime =
    DateTime { hour: 3, minute: 14, second: 7, micros: 999_999, ..DateTime::date(2038, 1, 19) };

/// A local date with time as a TIMESTAMP that a column stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Outside the range of TIMESTAMP: 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 in
    /// universal time.
    None,
    /// This one, packed.
    Once(i64),
    /// The clock was set back, and showed the date twice. This is the first moment, which MySQL
    /// takes.
    Twice(i64),
    /// The clock was set forward over the date. MySQL takes the moment of that.
    Skipped(i64),
}

impl Stored {
    /// The value that MySQL accepts; `None` outside the range.
    pub fn taken(self) -> Option<i64> {
        match self {
            Stored::None => None,
            Stored::Once(packed) | Stored::Twice(packed) | Stored::Skipped(packed) => Some(packed),
        }
    }

    /// The TIMESTAMP, if there is just one.
    pub fn exact(self) -> Option<i64> {
        match self {
            Stored::Once(packed) => Some(packed),
            _ => None,
        }
    }
}

/// A packed local date with time as the TIMESTAMP that a column stores.
pub fn timestamp_to_utc(packed: i64, zone: TimeZone) -> Stored {
    if packed == 0 {
        return Stored::Once(0);
    }
    let (mut packed, mut moment) = (packed, Moment::Once(0));
    if !zone.is_utc() {
        let date = DateTime::unpack(packed);
        let shown = seconds(date);
        moment = zone.moment(shown);
        // Of a time that was skipped only the part of the second is left.
        let Some(utc) = date.plus_micros((moment.taken() - shown) * 1_000_000) else {
            return Stored::None;
        };
        packed = utc.pack();
    }
    if !(FIRST.pack()..=LAST.pack()).contains(&packed) {
        return Stored::None;
    }
    match moment {
        Moment::Once(_) => Stored::Once(packed),
        Moment::Twice(..) => Stored::Twice(packed),
        Moment::Never(_) => Stored::Skipped(packed),
    }
}

/// A stored TIMESTAMP on the clock of a session's zone, packed.
pub fn timestamp_from_utc(packed: i64, zone: TimeZone) -> i64 {
    shown(packed, &mut Shift::new(zone))
}

/// Converts a whole stored TIMESTAMP column to a session's time zone, for expressions. Costs
/// nothing in universal time. Error for an array that is no `Int64`.
pub fn timestamps_from_utc(array: &ArrayRef, zone: TimeZone) -> Result<ArrayRef> {
    if zone.is_utc() {
        return Ok(Arc::clone(array));
    }
    let values = timestamps(array)?;
    let mut shift = Shift::new(zone);
    let mut shifted = Vec::with_capacity(values.len());
    shifted.extend(values.values().iter().map(|packed| shown(*packed, &mut shift)));
    Ok(Arc::new(Int64Array::new(shifted.into(), values.nulls().cloned())))
}

/// The other way round, with the rows whose moment is not clear, since the clock showed it twice:
/// they are given the first.
///
/// # Errors
/// An array that is no `Int64`, which is a bug.
pub fn timestamps_to_utc(array: &ArrayRef, zone: TimeZone) -> Result<(ArrayRef, Vec<u32>)> {
    if zone.is_utc() {
        return Ok((Arc::clone(array), Vec::new()));
    }
    let values = timestamps(array)?;
    let mut unclear = Vec::new();
    let mut moments = Vec::with_capacity(values.len());
    for (row, packed) in (0..).zip(values.values()) {
        let stored = timestamp_to_utc(*packed, zone);
        if matches!(stored, Stored::Twice(_)) && values.is_valid(row as usize) {
            unclear.push(row);
        }
        moments.push(stored.taken().unwrap_or(0));
    }
    Ok((Arc::new(Int64Array::new(moments.into(), values.nulls().cloned())), unclear))
}

/// Error 1235 for a TIMESTAMP, packed, whose local time is ambiguous.
pub fn shown_twice(packed: i64) -> Error {
    let mut shown = String::new();
    write_datetime(&mut shown, DateTime::unpack(packed), 0);
    Error::unsupported(format_args!(
        "copying or changing rows with the TIMESTAMP {shown}, which the clock of this time zone \
         showed twice; SET time_zone = '+00:00' for this statement"
    ))
}

fn timestamps(array: &ArrayRef) -> Result<&Int64Array> {
    array.as_primitive_opt::<Int64Type>().ok_or_else(|| {
        Error::internal(format!("timestamps were given as an array of {}", array.data_type()))
    })
}

fn shown(packed: i64, shift: &mut Shift) -> i64 {
    if packed == 0 {
        return 0;
    }
    // What a column stores lies far from the ends of the calendar.
    shift.local(packed).unwrap_or(packed)
}
