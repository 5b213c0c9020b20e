//! Frames and deltas: integers as codes above a base for each group of rows.
//!
//! Frame: value = base of the group + code * step. Delta: value = base of the group + step * sum
//! of the group's codes up to the row. All arithmetic wraps at 64 bits.

use std::ops::Range;

use super::codes::{Code, Codes, by_width};
use super::ranges::{self, Test};
use super::{Column, double, single};
use crate::kind::Kind;
use crate::list::List;
use crate::scalar::{Predicate, Value};
use crate::selection::Selection;

/// The integers of a column.
#[derive(Clone, Debug)]
pub(super) struct Ints {
    pub(super) codes: Codes,
    pub(super) bases: Vec<u64>,
    /// Rows that share a base are 2 to this power.
    pub(super) shift: u8,
    pub(super) step: u64,
    /// Codes are increments.
    pub(super) delta: bool,
    /// Floats are the integers divided by ten to this power.
    pub(super) exponent: u8,
}

impl Ints {
    /// The integer of a row.
    #[inline]
    pub(super) fn get(&self, row: usize) -> i64 {
        let group = row >> self.shift;
        let code = if self.delta {
            let first = group << self.shift;
            by_width!(self.codes, cells => sum(&cells[first..=row]))
        } else {
            self.codes.wide(row)
        };
        self.bases[group].wrapping_add(code.wrapping_mul(self.step)).cast_signed()
    }

    /// Appends the integers of single rows, converted.
    pub(super) fn take<T>(
        &self,
        rows: &[u32],
        out: &mut Vec<T>,
        convert: impl Fn(i64) -> T + Copy,
    ) {
        if self.delta {
            out.extend(rows.iter().map(|&row| convert(self.get(row as usize))));
            return;
        }
        let (step, shift) = (self.step, self.shift);
        by_width!(self.codes, cells => {
            let of_row = |base: u64, row: usize| {
                let value = base.wrapping_add(cells[row].wide().wrapping_mul(step));
                convert(value.cast_signed())
            };
            // Most columns have one base, which need not be looked up.
            match self.bases.as_slice() {
                [base] => out.extend(rows.iter().map(|&row| of_row(*base, row as usize))),
                bases => out.extend(
                    rows.iter().map(|&row| of_row(bases[row as usize >> shift], row as usize)),
                ),
            }
        });
    }

    /// Appends a range of integers, converted.
    pub(super) fn extend<T>(
        &self,
        rows: Range<usize>,
        out: &mut Vec<T>,
        convert: impl Fn(i64) -> T + Copy,
    ) {
        out.reserve(rows.len());
        for (group, rows) in self.groups(rows) {
            let base = self.bases[group];
            by_width!(self.codes, cells => if self.delta {
                let before = sum(&cells[group << self.shift..rows.start]);
                let base = base.wrapping_add(before.wrapping_mul(self.step));
                self.extend_delta(base, &cells[rows], out, convert);
            } else {
                self.extend_frame(base, &cells[rows], out, convert);
            });
        }
    }

    /// The base of all rows of a range that is not empty, if there is one and codes are no
    /// increments.
    pub(super) fn base_of(&self, rows: &Range<usize>) -> Option<u64> {
        let group = rows.start >> self.shift;
        let is_one = !self.delta && (rows.end - 1) >> self.shift == group;
        self.bases.get(group).copied().filter(|_| is_one)
    }

    /// The groups that a range touches, with the rows in each.
    fn groups(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let shift = self.shift;
        let last =
            if rows.is_empty() { rows.start >> shift } else { ((rows.end - 1) >> shift) + 1 };
        (rows.start >> shift..last).map(move |group| {
            let (start, end) = (group << shift, (group + 1) << shift);
            (group, rows.start.max(start)..rows.end.min(end))
        })
    }

    /// Appends the integers of codes above a base, converted.
    #[inline]
    pub(super) fn extend_frame<T, C: Code>(
        &self,
        base: u64,
        cells: &[C],
        out: &mut Vec<T>,
        convert: impl Fn(i64) -> T + Copy,
    ) {
        // Without a step there is no multiplication, and a product of two 32-bit numbers is one
        // vector instruction where a 64-bit product takes three.
        if self.step == 1 {
            let value = |cell: &C| convert(base.wrapping_add(cell.wide()).cast_signed());
            out.extend(cells.iter().map(value));
        } else if let (true, Ok(step)) = (size_of::<C>() <= 4, u32::try_from(self.step)) {
            let step = u64::from(step);
            let value = |cell: &C| {
                let code = cell.wide() & 0xFFFF_FFFF;
                convert(base.wrapping_add(code * step).cast_signed())
            };
            out.extend(cells.iter().map(value));
        } else {
            let step = self.step;
            let value =
                |cell: &C| convert(base.wrapping_add(cell.wide().wrapping_mul(step)).cast_signed());
            out.extend(cells.iter().map(value));
        }
    }

    #[inline]
    fn extend_delta<T, C: Code>(
        &self,
        base: u64,
        cells: &[C],
        out: &mut Vec<T>,
        convert: impl Fn(i64) -> T + Copy,
    ) {
        let (mut value, step) = (base, self.step);
        out.extend(cells.iter().map(|cell| {
            value = value.wrapping_add(cell.wide().wrapping_mul(step));
            convert(value.cast_signed())
        }));
    }

    /// Keeps the rows of a range whose values satisfy a predicate on numbers.
    pub(super) fn select(
        &self,
        column: &Column,
        predicate: &Predicate,
        rows: Range<usize>,
        selection: &mut Selection,
    ) {
        if self.delta {
            return self.select_sorted(column, predicate, rows, selection);
        }
        let integers = (!column.kind.is_float()).then(|| ranges::integers(predicate));
        for (group, rows) in self.groups(rows) {
            if selection.count_in(rows.clone()) == 0 {
                continue;
            }
            let base = self.bases[group];
            let test = match &integers {
                Some(test) => {
                    let base = widen(column.kind, base);
                    let limit = i128::from(self.codes.limit());
                    let most = limit.saturating_mul(self.step.into());
                    let here = test.between(base, base.saturating_add(most));
                    if here.ranges() > rows.len() {
                        self.look_up(column, &here, rows, selection);
                        continue;
                    }
                    self.codes_of(&here, base)
                }
                None => self.float_codes(column.kind, predicate, base),
            };
            self.codes.select(&test, rows, |word| column.valid_word(word), selection);
        }
    }

    /// Looks up every value of a range in a list that is longer than the range.
    fn look_up(
        &self,
        column: &Column,
        test: &Test<i128>,
        rows: Range<usize>,
        selection: &mut Selection,
    ) {
        let hit = |row: usize| {
            // The last word of a column has places for rows that are not there.
            if !rows.contains(&row) {
                return false;
            }
            let integer = self.get(row);
            let value = match column.kind {
                Kind::UInt64 => integer.cast_unsigned().into(),
                _ => integer.into(),
            };
            test.holds(value)
        };
        selection.retain(rows.clone(), |word| {
            let bits = |bits, row| bits << 1 | u64::from(hit(row));
            let hits = (word * 64..(word + 1) * 64).rev().fold(0, bits);
            hits & column.valid_word(word)
        });
    }

    /// The codes of the integers that pass.
    fn codes_of(&self, test: &Test<i128>, base: i128) -> Test<u64> {
        let limit = self.codes.limit();
        let step = i128::from(self.step);
        test.map(|low, high| {
            let (low, high) = (low.saturating_sub(base), high.saturating_sub(base));
            let (low, high) = match step {
                1 => (low, high),
                // Rounded towards the inside of the range.
                _ => (-(low.saturating_neg().div_euclid(step)), high.div_euclid(step)),
            };
            let high = u64::try_from(high.min(limit.into())).ok()?;
            let low = u64::try_from(low.max(0)).ok()?;
            (low <= high).then_some((low, high, low == 0 && high == limit))
        })
    }

    /// The codes of the floats that pass; floats rise with their codes.
    #[expect(clippy::cast_possible_truncation, reason = "wraps as decoding does")]
    fn float_codes(&self, kind: Kind, predicate: &Predicate, base: u64) -> Test<u64> {
        let count = self.codes.limit() + 1;
        let base = i128::from(base.cast_signed());
        let value = |code: u64| {
            let integer = base + i128::from(code) * i128::from(self.step);
            // Beyond 64 bits there are no values; the ends keep the order.
            let integer = integer.min(i64::MAX.into()) as i64;
            match kind {
                Kind::Float32 => Value::Float(single(integer, self.exponent).into()),
                _ => Value::Float(double(integer, self.exponent)),
            }
        };
        Test::of(&ranges::of_sorted(predicate, count, value), count)
    }

    /// Deltas never fall, so the rows that pass are found by binary search.
    fn select_sorted(
        &self,
        column: &Column,
        predicate: &Predicate,
        rows: Range<usize>,
        selection: &mut Selection,
    ) {
        let found = match predicate {
            Predicate::In(list) if list.len() > rows.len() / MERGED => {
                self.merged(column, list, rows.clone())
            }
            _ => {
                let value = |row: u64| {
                    let row = usize::try_from(row).unwrap_or(usize::MAX);
                    column.int_value(self.get(row), self.exponent)
                };
                ranges::of_sorted(predicate, column.rows as u64, value)
            }
        };
        let mut next = rows.start;
        for range in found {
            let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(rows.end);
            selection.remove(next..start.max(next));
            next = usize::try_from(range.end).unwrap_or(usize::MAX).clamp(next, rows.end);
        }
        selection.remove(next..rows.end);
        column.retain_valid(rows, selection);
    }

    /// The rows of a range that equal one of many constants: both are in order and read once.
    fn merged(&self, column: &Column, list: &List, rows: Range<usize>) -> Vec<Range<u64>> {
        let mut values = Vec::new();
        self.extend(rows.clone(), &mut values, |value| value);
        let mut constants = list.iter().peekable();
        let mut found = Vec::new();
        for (row, value) in (rows.start as u64..).zip(values) {
            let value = column.int_value(value, self.exponent);
            while constants.next_if(|one| one.as_value().order(value).is_lt()).is_some() {}
            if constants.peek().is_some_and(|one| one.as_value().order(value).is_eq()) {
                found.push(row..row + 1);
            }
        }
        ranges::merge(found)
    }
}

/// A list is merged with the rows where it has one constant for so many of them, or more.
const MERGED: usize = 32;

/// A base as a number of the column's type.
fn widen(kind: Kind, base: u64) -> i128 {
    if kind == Kind::UInt64 { base.into() } else { base.cast_signed().into() }
}

#[inline]
fn sum<C: Code>(cells: &[C]) -> u64 {
    cells.iter().fold(0, |sum, cell| sum.wrapping_add(cell.wide()))
}
