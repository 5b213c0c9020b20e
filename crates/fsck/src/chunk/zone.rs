//! Checks zone maps and the positions of vectors against the values.

use crate::bytes::{Cursor, Decoded};
use crate::chunk::{ColumnAt, VECTOR};
use crate::values::{Column, Value, Wide};

/// Strings are cut to this many bytes.
const STRING_MAX: usize = 32;

/// The smallest and the largest value of a column in a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Zone {
    /// No value at all.
    Empty,
    /// Whole numbers that fit 128 bits.
    Narrow(i128, i128),
    /// Others.
    Wide(Wide, Wide),
    /// Floats; whether a NaN occurs.
    Float(bool, f64, f64),
    /// Strings, each with whether it was cut.
    Bytes((Vec<u8>, bool), (Vec<u8>, bool)),
}

impl Zone {
    pub(crate) fn parse(from: &mut Cursor<'_>) -> Decoded<Self> {
        Ok(match from.u8()? {
            0 => Zone::Empty,
            1 => Zone::Narrow(from.i128()?, from.i128()?),
            2 => Zone::Wide(Wide::from_le_bytes(from.wide()?), Wide::from_le_bytes(from.wide()?)),
            3 => Zone::Float(from.bool()?, from.f64()?, from.f64()?),
            4 => {
                let flags = from.u8()?;
                let mut string = |flag: u8| -> Decoded<(Vec<u8>, bool)> {
                    let length = usize::from(from.u8()?);
                    if length > STRING_MAX {
                        return Err(format!("the end of a zone has {length} bytes"));
                    }
                    Ok((from.take(length)?.to_vec(), flags & flag != 0))
                };
                Zone::Bytes(string(1)?, string(2)?)
            }
            other => return Err(format!("a zone has unknown tag {other}")),
        })
    }

    /// The zone that the format asks for.
    fn of(column: &Column) -> Self {
        let mut values =
            (0..column.rows()).map(|row| column.get(row)).filter(|it| *it != Value::Null);
        let Some(first) = values.next() else { return Zone::Empty };
        if let Some(first) = number(first) {
            let rest = values.filter_map(number);
            let (low, high) =
                rest.fold((first, first), |(low, high), it| (low.min(it), high.max(it)));
            return match low.narrow().zip(high.narrow()) {
                Some((low, high)) => Zone::Narrow(low, high),
                None => Zone::Wide(low, high),
            };
        }
        if let Some(first) = bytes(first) {
            let rest = values.filter_map(bytes);
            let (low, high) =
                rest.fold((first, first), |(low, high), it| (low.min(it), high.max(it)));
            return Zone::Bytes(cut(low), cut(high));
        }
        let mut nan = false;
        let mut ends: Option<(f64, f64)> = None;
        for value in std::iter::once(first).chain(values).filter_map(float) {
            if value.is_nan() {
                nan = true;
                continue;
            }
            // Adding zero makes the negative zero a positive one.
            let value = value + 0.0;
            let (low, high) = ends.unwrap_or((value, value));
            ends = Some((low.min(value), high.max(value)));
        }
        let (low, high) = ends.unwrap_or((0.0, 0.0));
        Zone::Float(nan, low, high)
    }

    /// Whether everything within the other zone is within this one.
    fn covers(&self, other: &Zone) -> bool {
        match (self, other) {
            (_, Zone::Empty) => true,
            (Zone::Narrow(low, high), Zone::Narrow(a, b)) => low <= a && b <= high,
            (Zone::Wide(low, high), Zone::Wide(a, b)) => low <= a && b <= high,
            (Zone::Float(nan, low, high), Zone::Float(other, a, b)) => {
                nan >= other && low <= a && b <= high
            }
            (Zone::Bytes(low, high), Zone::Bytes(a, b)) => {
                low.0 <= a.0 && (b.0 < high.0 || b.0 == high.0 && high.1 >= b.1)
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let string = |(bytes, cut): &(Vec<u8>, bool)| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            format!("{text:?}{}", if *cut { "…" } else { "" })
        };
        match self {
            Zone::Empty => write!(f, "no values"),
            Zone::Narrow(low, high) => write!(f, "{low} to {high}"),
            Zone::Wide(..) => write!(f, "numbers beyond 128 bits"),
            Zone::Float(nan, low, high) => {
                write!(f, "{low} to {high}{}", if *nan { ", NaN" } else { "" })
            }
            Zone::Bytes(low, high) => write!(f, "{} to {}", string(low), string(high)),
        }
    }
}

fn cut(bytes: &[u8]) -> (Vec<u8>, bool) {
    (bytes[..bytes.len().min(STRING_MAX)].to_vec(), bytes.len() > STRING_MAX)
}

fn number(value: Value<'_>) -> Option<Wide> {
    match value {
        Value::Int(value) => Some(i128::from(value).into()),
        Value::UInt(value) => Some(i128::from(value).into()),
        Value::Decimal(value) => Some(value.into()),
        Value::WideDecimal(value) => Some(value),
        _ => None,
    }
}

fn float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float(value) => Some(value.into()),
        Value::Double(value) => Some(value),
        _ => None,
    }
}

fn bytes<'a>(value: Value<'a>) -> Option<&'a [u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// Checks the zone of a column and the positions of its vectors.
pub(crate) fn check(at: &ColumnAt, column: &Column) -> Decoded<()> {
    let found = Zone::of(column);
    if at.zone != found {
        let how = if at.zone.covers(&found) {
            "wider than need be"
        } else {
            "wrong, so that rows are not found"
        };
        return Err(format!("its zone, {}, is {how}: its values are {found}", at.zone));
    }
    if at.vectors.is_empty() {
        return Ok(());
    }
    let ruler = Ruler::new(&at.zone).ok_or("positions of vectors without a ruler")?;
    for (vector, &(smallest, largest)) in at.vectors.iter().enumerate() {
        let rows = vector * VECTOR..((vector + 1) * VECTOR).min(column.rows());
        let mut positions =
            rows.map(|row| column.get(row)).filter_map(|value| ruler.position(value)).peekable();
        let fits = match positions.peek() {
            None => (smallest, largest) == (1, 0),
            Some(_) => positions.all(|it| (smallest..=largest).contains(&it)),
        };
        if !fits {
            return Err(format!(
                "vector {vector} has values outside of its positions {smallest} to {largest}, so \
                 that rows are not found"
            ));
        }
    }
    Ok(())
}

/// Maps values to positions from 0 to 65,535.
#[derive(Debug)]
enum Ruler<'a> {
    Float(f64, f64),
    Number { low: i128, high: i128, shift: u32 },
    Bytes { prefix: &'a [u8], low: u64, high: u64, shift: u32 },
}

impl<'a> Ruler<'a> {
    fn new(zone: &'a Zone) -> Option<Self> {
        match zone {
            Zone::Empty | Zone::Wide(..) | Zone::Float(true, ..) => None,
            Zone::Float(false, low, high) => {
                (high - low).is_finite().then_some(Ruler::Float(*low, *high))
            }
            Zone::Narrow(low, high) => {
                let span = high.wrapping_sub(*low).cast_unsigned();
                let shift = (u128::BITS - span.leading_zeros()).saturating_sub(16);
                Some(Ruler::Number { low: *low, high: *high, shift })
            }
            Zone::Bytes((low, _), (high, cut)) => {
                let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
                let prefix = &low[..common];
                let fill = if *cut { 0xFF } else { 0 };
                let (low, high) = (key(&low[common..], 0), key(&high[common..], fill));
                let span = high.checked_sub(low)?;
                let shift = (u64::BITS - span.leading_zeros()).saturating_sub(16);
                Some(Ruler::Bytes { prefix, low, high, shift })
            }
        }
    }

    fn position(&self, value: Value<'_>) -> Option<u16> {
        let position = match self {
            Ruler::Float(low, high) => {
                let value = float(value)?.clamp(*low, *high);
                let share = if high == low { 0.0 } else { (value - low) / (high - low) };
                return Some(floor(share * 65535.0));
            }
            Ruler::Number { low, high, shift } => {
                let value = number(value)?.narrow()?.clamp(*low, *high);
                value.wrapping_sub(*low).cast_unsigned() >> shift
            }
            Ruler::Bytes { prefix, low, high, shift } => {
                let value = bytes(value)?;
                let (head, rest) = value.split_at(value.len().min(prefix.len()));
                let key = match head.cmp(prefix) {
                    std::cmp::Ordering::Less => *low,
                    std::cmp::Ordering::Greater => *high,
                    std::cmp::Ordering::Equal => key(rest, 0).clamp(*low, *high),
                };
                u128::from((key - low) >> shift)
            }
        };
        u16::try_from(position).ok()
    }
}

/// The first eight bytes as a big-endian number, with others in place of missing ones.
fn key(bytes: &[u8], fill: u8) -> u64 {
    let mut found = [fill; 8];
    let length = bytes.len().min(8);
    found[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(found)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the format asks for the integer part; the share is from 0 to 1"
)]
fn floor(value: f64) -> u16 {
    value as u16
}
