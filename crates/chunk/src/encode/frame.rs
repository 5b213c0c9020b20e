//! Frames of reference and deltas over a lane of integers: statistics, price, writing.

use crate::format::{CHUNK_SHIFT, DELTA_SHIFT, VECTOR_SHIFT};
use crate::{Codec, VECTOR_ROWS};

/// Deltas cost this many times their bytes, in tenths: reading one value sums up to 127 codes.
const DELTA_WEIGHT: usize = 15;

/// Statistics for the choice of a frame.
pub(super) struct Stats {
    /// Smallest and largest value of each vector.
    pub(super) ends: Vec<(i64, i64)>,
    min: i64,
    max: i64,
}

/// A frame or delta, priced but not written.
pub(super) struct Plan {
    pub(super) codec: Codec,
    pub(super) width: u8,
    pub(super) group_shift: u8,
    pub(super) step: u64,
    /// Bytes of bases and codes.
    pub(super) bytes: usize,
    /// Bytes weighted by the time to read them.
    pub(super) cost: usize,
}

/// Bytes that hold a code.
fn width_of(code: u64) -> u8 {
    match code {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

fn distance(low: i64, high: i64) -> u64 {
    high.wrapping_sub(low).cast_unsigned()
}

fn gcd(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

/// The greatest common divisor of all distances from the first value.
fn common_step(values: &[i64]) -> u64 {
    let first = values[0];
    let mut step = 0u64;
    for &value in values {
        let far = value.abs_diff(first);
        if step == 0 || !far.is_multiple_of(step) {
            step = gcd(far, step);
            if step == 1 {
                break;
            }
        }
    }
    step.max(1)
}

impl Stats {
    /// Statistics of at least one value.
    pub(super) fn of(values: &[i64]) -> Self {
        let ends: Vec<(i64, i64)> = values
            .chunks(VECTOR_ROWS)
            .map(|vector| {
                vector.iter().fold((i64::MAX, i64::MIN), |(low, high), &value| {
                    (low.min(value), high.max(value))
                })
            })
            .collect();
        let min = ends.iter().fold(i64::MAX, |least, ends| least.min(ends.0));
        let max = ends.iter().fold(i64::MIN, |most, ends| most.max(ends.1));
        Self { ends, min, max }
    }

    /// The cheapest frame or delta.
    pub(super) fn plan(&self, values: &[i64]) -> Plan {
        let rows = values.len();
        let range = distance(self.min, self.max);
        // A step pays only where it saves a width; where all is narrow it is not even looked for.
        let step = if width_of(range) > 1 { common_step(values) } else { 1 };
        let spread = self.ends.iter().map(|&(low, high)| distance(low, high)).max().unwrap_or(0);
        let frame = |range: u64, shift: u8| {
            let step = if width_of(range) == width_of(range / step) { 1 } else { step };
            let width = width_of(range / step);
            let bytes = rows * usize::from(width) + rows.div_ceil(1 << shift) * 8;
            Plan { codec: Codec::Frame, width, group_shift: shift, step, bytes, cost: bytes }
        };
        let mut best = frame(range, CHUNK_SHIFT);
        let vectors = frame(spread, VECTOR_SHIFT);
        if vectors.width < best.width && vectors.bytes < best.bytes {
            best = vectors;
        }
        // A delta of one byte cannot beat a frame of one.
        if best.width > 1 && values.is_sorted() {
            let rise = values.windows(2).map(|pair| distance(pair[0], pair[1])).max().unwrap_or(0);
            let width = width_of(rise / step);
            let bytes = rows * usize::from(width) + rows.div_ceil(1 << DELTA_SHIFT) * 8;
            let cost = bytes * DELTA_WEIGHT / 10;
            if width <= 4 && cost < best.cost {
                let group_shift = DELTA_SHIFT;
                best = Plan { codec: Codec::Delta, width, group_shift, step, bytes, cost };
            }
        }
        best
    }
}

impl Plan {
    /// The bases, exclusive-ored with `flip`, and the codes.
    pub(super) fn write(&self, values: &[i64], flip: u64) -> (Vec<u8>, Vec<u8>) {
        let mut bases = Vec::new();
        let mut codes = Vec::with_capacity(values.len() * usize::from(self.width));
        for group in values.chunks(1 << self.group_shift) {
            let base = match self.codec {
                Codec::Delta => group[0],
                _ => group.iter().copied().min().unwrap_or(0),
            };
            bases.extend_from_slice(&(base.cast_unsigned() ^ flip).to_le_bytes());
            if self.codec == Codec::Delta {
                let rises = group.windows(2).map(|pair| distance(pair[0], pair[1]) / self.step);
                extend(&mut codes, group.len(), self.width, std::iter::once(0).chain(rises));
            } else if self.step == 1 {
                let codes_of = group.iter().map(|&value| distance(base, value));
                extend(&mut codes, group.len(), self.width, codes_of);
            } else {
                let codes_of = group.iter().map(|&value| distance(base, value) / self.step);
                extend(&mut codes, group.len(), self.width, codes_of);
            }
        }
        (bases, codes)
    }
}

/// Appends as many codes as a group has rows, at a width that holds them.
#[expect(clippy::cast_possible_truncation, reason = "the plan's width holds every code")]
pub(super) fn extend(
    bytes: &mut Vec<u8>,
    rows: usize,
    width: u8,
    codes: impl Iterator<Item = u64>,
) {
    let start = bytes.len();
    bytes.resize(start + rows * usize::from(width), 0);
    let bytes = &mut bytes[start..];
    // One loop a width, over slots of fixed size, so that each becomes vector instructions.
    match width {
        1 => bytes.iter_mut().zip(codes).for_each(|(slot, code)| *slot = code as u8),
        2 => fill(bytes, codes.map(|code| (code as u16).to_le_bytes())),
        4 => fill(bytes, codes.map(|code| (code as u32).to_le_bytes())),
        _ => fill(bytes, codes.map(u64::to_le_bytes)),
    }
}

fn fill<const W: usize>(bytes: &mut [u8], codes: impl Iterator<Item = [u8; W]>) {
    for (slot, code) in bytes.as_chunks_mut::<W>().0.iter_mut().zip(codes) {
        *slot = code;
    }
}
