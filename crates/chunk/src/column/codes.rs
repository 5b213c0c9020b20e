//! Codes of 1, 2, 4 or 8 bytes in an array: reading one, reading many, testing 64 at a time.

use std::ops::Range;

use arrow::buffer::Buffer;

use super::mask;
use super::ranges::Test;
use crate::selection::Selection;

/// The codes of a column.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    pub(super) width: u8,
    pub(super) bytes: Buffer,
}

/// A code as it lies in memory.
pub(super) trait Code: Copy {
    /// The unsigned integer of that width.
    type Int: Copy + Ord;
    fn load(self) -> Self::Int;
    fn wide(self) -> u64;
    /// The nearest integer of that width.
    fn clamp(value: u64) -> Self::Int;
    /// Whether the code lies at most `span` above `low`.
    fn within(self, low: Self::Int, span: Self::Int) -> bool;
}

macro_rules! code {
    ($($width:literal => $type:ty;)*) => {$(
        impl Code for [u8; $width] {
            type Int = $type;
            #[inline]
            fn load(self) -> $type {
                <$type>::from_le_bytes(self)
            }
            #[inline]
            fn wide(self) -> u64 {
                u64::from(self.load())
            }
            #[inline]
            fn clamp(value: u64) -> $type {
                <$type>::try_from(value).unwrap_or(<$type>::MAX)
            }
            #[inline]
            fn within(self, low: $type, span: $type) -> bool {
                self.load().wrapping_sub(low) <= span
            }
        }
    )*};
}

code! {
    1 => u8;
    2 => u16;
    4 => u32;
    8 => u64;
}

/// Runs a body with `$cells` as the codes, a slice of byte arrays of the right width.
macro_rules! by_width {
    ($codes:expr, $cells:ident => $body:expr) => {{
        let bytes = $codes.bytes.as_slice();
        match $codes.width {
            1 => {
                let $cells = bytes.as_chunks::<1>().0;
                $body
            }
            2 => {
                let $cells = bytes.as_chunks::<2>().0;
                $body
            }
            4 => {
                let $cells = bytes.as_chunks::<4>().0;
                $body
            }
            _ => {
                let $cells = bytes.as_chunks::<8>().0;
                $body
            }
        }
    }};
}
pub(super) use by_width;

impl Codes {
    /// The code of a row.
    #[inline]
    pub(super) fn wide(&self, row: usize) -> u64 {
        by_width!(self, cells => cells[row].wide())
    }

    /// The first byte of the code of a row.
    #[inline]
    pub(super) fn first_byte(&self, row: usize) -> Option<u8> {
        self.bytes.get(row * usize::from(self.width)).copied()
    }

    /// The code of a row in a dictionary.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "dictionary codes have up to 4 bytes")]
    pub(super) fn get(&self, row: usize) -> u32 {
        self.wide(row) as u32
    }

    /// The largest code that the width allows.
    pub(super) fn limit(&self) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(self.width))
    }

    /// Whether every code is below a count, which is at least one.
    pub(super) fn all_below(&self, count: u64) -> bool {
        by_width!(self, cells => below(cells, count))
    }

    /// Appends the codes of a range in a dictionary.
    pub(super) fn extend(&self, rows: Range<usize>, out: &mut Vec<u32>) {
        by_width!(self, cells => extend(&cells[rows], out));
    }

    /// Keeps the rows of a range whose codes pass the test.
    pub(super) fn select(
        &self,
        test: &Test<u64>,
        rows: Range<usize>,
        valid: impl Fn(usize) -> u64,
        selection: &mut Selection,
    ) {
        by_width!(self, cells => select(cells, test, rows, valid, selection));
    }
}

/// Appends codes in a dictionary.
#[expect(clippy::cast_possible_truncation, reason = "dictionary codes have up to 4 bytes")]
pub(super) fn extend<C: Code>(cells: &[C], out: &mut Vec<u32>) {
    out.extend(cells.iter().map(|cell| cell.wide() as u32));
}

fn below<C: Code>(cells: &[C], count: u64) -> bool {
    cells.iter().map(|cell| cell.load()).max().is_none_or(|most| most <= C::clamp(count - 1))
}

fn select<C: Code>(
    cells: &[C],
    test: &Test<u64>,
    rows: Range<usize>,
    valid: impl Fn(usize) -> u64,
    selection: &mut Selection,
) {
    match test {
        Test::None => selection.remove(rows),
        Test::All => selection.retain(rows, valid),
        Test::In(low, high) => within(cells, *low, *high, 0, rows, valid, selection),
        Test::Out(low, high) => within(cells, *low, *high, u64::MAX, rows, valid, selection),
        Test::Any(ranges) if size_of::<C>() <= 2 => {
            // A table turns any set of codes into one load a row.
            let mut table = vec![false; 1 << (8 * size_of::<C>())];
            for &(low, high) in ranges {
                let low = usize::try_from(low).unwrap_or(usize::MAX).min(table.len() - 1);
                let high = usize::try_from(high).unwrap_or(usize::MAX).min(table.len() - 1);
                table[low..=high].fill(true);
            }
            let hit = |cell: C| usize::try_from(cell.wide()).is_ok_and(|code| table[code]);
            selection.retain(rows, |word| mask::of(cells, word, hit) & valid(word));
        }
        Test::Any(ranges) => match Bits::of(ranges) {
            Some(bits) => {
                let hit = |cell: C| bits.has(cell.wide());
                selection.retain(rows, |word| mask::of(cells, word, hit) & valid(word));
            }
            None => {
                let hit = |cell: C| test.holds(cell.wide());
                selection.retain(rows, |word| mask::of(cells, word, hit) & valid(word));
            }
        },
    }
}

/// Many codes that lie close together: one bit each.
struct Bits {
    low: u64,
    words: Vec<u64>,
}

impl Bits {
    /// Of ranges in rising order; `None` where bits for all that lies between their ends would cost
    /// more than they save.
    fn of(ranges: &[(u64, u64)]) -> Option<Self> {
        /// Bits that making one range is worth.
        const EACH: u64 = 1024;
        let (low, high) = (ranges.first()?.0, ranges.last()?.1);
        let span = high.checked_sub(low)?;
        if span / EACH > ranges.len() as u64 {
            return None;
        }
        let mut words = vec![0; usize::try_from(span / 64).ok()? + 1];
        for code in ranges.iter().flat_map(|(from, to)| *from..=*to) {
            let at = code - low;
            *words.get_mut(usize::try_from(at / 64).ok()?)? |= 1 << (at % 64);
        }
        Some(Self { low, words })
    }

    fn has(&self, code: u64) -> bool {
        let at = code.wrapping_sub(self.low);
        let word = usize::try_from(at / 64).ok().and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// Tests codes against one range; `invert` has all bits set to keep those outside.
fn within<C: Code>(
    cells: &[C],
    low: u64,
    high: u64,
    invert: u64,
    rows: Range<usize>,
    valid: impl Fn(usize) -> u64,
    selection: &mut Selection,
) {
    // Ranges that begin above the largest code were turned into `Test::None` before.
    let span = C::clamp(high.saturating_sub(low));
    let low = C::clamp(low);
    selection.retain(rows, |word| {
        (mask::of(cells, word, |cell| cell.within(low, span)) ^ invert) & valid(word)
    });
}
