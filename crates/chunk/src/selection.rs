//! A selection: the rows of a chunk that a scan still needs, one bit a row, in words of 64 rows.
//!
//! Positions are those of the chunk, so a vector is always 32 whole words, validity bitmaps and
//! delete bitmaps line up with it word by word, and several columns narrow one selection in turn.
//! The whole bitmap of a full chunk is 16 KiB and stays in the first-level cache.

use std::ops::Range;

use crate::{VECTOR_ROWS, vectors_of};

/// Words of a full vector.
const VECTOR_WORDS: usize = VECTOR_ROWS / 64;

/// Rows of a range of a chunk, found once to be decoded from several columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    pub(crate) range: Range<usize>,
    pub(crate) which: Which,
}

/// Which rows of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// Many of them: so many, and their bits, that of the range's first row being the lowest of
    /// the first word.
    Many(usize, Vec<u64>),
    /// Few of them: their numbers in the chunk, rising.
    Few(Vec<u32>),
}

impl Picked {
    /// How many rows there are.
    pub fn count(&self) -> usize {
        match &self.which {
            Which::All => self.range.len(),
            Which::Many(count, _) => *count,
            Which::Few(rows) => rows.len(),
        }
    }
}

/// A set of rows of one chunk. Bits beyond the last row are always clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    rows: usize,
    words: Vec<u64>,
}

/// The bits of word `word` that belong to a range of rows.
#[inline]
fn mask_of(rows: &Range<usize>, word: usize) -> u64 {
    let first = rows.start.saturating_sub(word * 64);
    let last = rows.end.saturating_sub(word * 64).min(64);
    if first >= last {
        return 0;
    }
    (u64::MAX >> (64 - (last - first))) << first
}

impl Selection {
    /// Selects no row of a chunk with so many rows.
    pub fn none(rows: usize) -> Self {
        Self { rows, words: vec![0; rows.div_ceil(64)] }
    }

    /// Selects every row of a chunk with so many rows.
    pub fn all(rows: usize) -> Self {
        let mut words = vec![u64::MAX; rows.div_ceil(64)];
        if let Some(last) = words.last_mut()
            && !rows.is_multiple_of(64)
        {
            *last = u64::MAX >> (64 - rows % 64);
        }
        Self { rows, words }
    }

    /// The rows of the chunk, selected or not.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a range of rows; what lies beyond the chunk is ignored.
    pub fn insert(&mut self, rows: Range<usize>) {
        let rows = rows.start..rows.end.min(self.rows);
        for word in rows.start / 64..rows.end.div_ceil(64).min(self.words.len()) {
            self.words[word] |= mask_of(&rows, word);
        }
    }

    /// Takes a range of rows out.
    pub fn remove(&mut self, rows: Range<usize>) {
        self.retain(rows, |_| 0);
    }

    /// Whether the row is selected; rows beyond the chunk are not.
    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Keeps the rows that are in both; words that the other lacks count as empty.
    pub fn intersect(&mut self, other: &[u64]) {
        for (at, word) in self.words.iter_mut().enumerate() {
            *word &= other.get(at).copied().unwrap_or(0);
        }
    }

    /// Takes out the rows of a bitmap, for example the deleted ones.
    pub fn subtract(&mut self, other: &[u64]) {
        for (word, other) in self.words.iter_mut().zip(other) {
            *word &= !other;
        }
    }

    /// Adds the rows of another selection of the same chunk.
    pub fn unite(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
        // Only the last word can have got bits beyond the last row.
        let tail = self.rows / 64;
        if let Some(last) = self.words.get_mut(tail) {
            *last &= mask_of(&(0..self.rows), tail);
        }
    }

    /// Number of selected rows.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Number of selected rows in a range.
    pub fn count_in(&self, rows: Range<usize>) -> usize {
        let words = rows.start / 64..rows.end.div_ceil(64).min(self.words.len());
        words.map(|word| (self.words[word] & mask_of(&rows, word)).count_ones() as usize).sum()
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// All words; bit `i % 64` of word `i / 64` is row `i`.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words of one vector (32, fewer in the last one); empty beyond the chunk.
    pub fn vector(&self, vector: usize) -> &[u64] {
        let first = vector.saturating_mul(VECTOR_WORDS).min(self.words.len());
        &self.words[first..(first + VECTOR_WORDS).min(self.words.len())]
    }

    /// The vectors in which a row is selected, in order.
    pub fn vectors(&self) -> impl Iterator<Item = usize> {
        (0..vectors_of(self.rows)).filter(|&at| self.vector(at).iter().any(|&word| word != 0))
    }

    /// The selected rows of a range, in order.
    pub fn iter(&self, rows: Range<usize>) -> impl Iterator<Item = usize> {
        let words = rows.start / 64..rows.end.div_ceil(64).min(self.words.len());
        words.flat_map(move |at| {
            let mut word = self.words[at] & mask_of(&rows, at);
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros() as usize;
                word &= word - 1;
                Some(at * 64 + bit)
            })
        })
    }

    /// The selected rows of a range as indexes for [`crate::Column::take`].
    #[expect(clippy::cast_possible_truncation, reason = "a chunk has at most 131,072 rows")]
    pub fn indices(&self, rows: Range<usize>) -> Vec<u32> {
        let mut indices = Vec::with_capacity(self.count_in(rows.clone()));
        indices.extend(self.iter(rows).map(|row| row as u32));
        indices
    }

    /// The selected rows of a range for [`crate::Column::decode_picked`].
    pub fn pick(&self, range: Range<usize>) -> Picked {
        /// One row in so many is few.
        const FEW: usize = 8;
        let range = range.start.min(self.rows)..range.end.min(self.rows);
        let count = self.count_in(range.clone());
        let which = if count == range.len() {
            Which::All
        } else if count * FEW < range.len() {
            Which::Few(self.indices(range.clone()))
        } else {
            Which::Many(count, self.words_of(range.clone()))
        };
        Picked { range, which }
    }

    /// The bits of a range, its first row being the lowest bit of the first word.
    fn words_of(&self, rows: Range<usize>) -> Vec<u64> {
        let (first, by) = (rows.start / 64, rows.start % 64);
        let at = |word: usize| self.words.get(word).copied().unwrap_or(0);
        let shifted = |word: usize| match by {
            0 => at(word),
            _ => at(word) >> by | at(word + 1) << (64 - by),
        };
        let length = rows.len();
        let inside = |word: usize| mask_of(&(0..length), word);
        (0..length.div_ceil(64)).map(|word| shifted(first + word) & inside(word)).collect()
    }

    /// Narrows a range word by word: `hits` gives the matching bits of a word, and is not called
    /// for words in which nothing is selected any more. Bits outside the range stay.
    #[inline]
    pub(crate) fn retain(&mut self, rows: Range<usize>, mut hits: impl FnMut(usize) -> u64) {
        let words = rows.start / 64..rows.end.div_ceil(64).min(self.words.len());
        for at in words {
            let inside = mask_of(&rows, at);
            if self.words[at] & inside != 0 {
                self.words[at] &= hits(at) | !inside;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_cross_words_are_exact() {
        let mut selection = Selection::none(200);
        selection.insert(60..130);
        assert_eq!(selection.iter(0..200).collect::<Vec<_>>(), (60..130).collect::<Vec<_>>());
        assert_eq!(selection.indices(63..65), vec![63, 64]);
        selection.remove(61..129);
        assert_eq!(selection.indices(0..200), vec![60, 129]);
        assert_eq!(selection.pick(60..131).count(), 2);
        assert_eq!(selection.words_of(60..131), [1, 1 << 5]);
        assert_eq!(selection.words_of(60..130), [1, 1 << 5]);
        assert_eq!(selection.words_of(0..129), [1 << 60, 0, 0]);
        selection.insert(190..1000);
        assert_eq!(selection.count_in(190..1000), 10);
    }

    #[test]
    fn everything_is_exactly_the_rows() {
        for rows in [0, 1, 63, 64, 65, 2047, 2048, 2049] {
            assert_eq!(Selection::all(rows).count(), rows);
            assert_eq!(Selection::all(rows).pick(0..rows).count(), rows);
            assert_eq!(Selection::all(rows).vectors().count(), rows.div_ceil(2048));
        }
    }

    #[test]
    fn a_longer_selection_adds_no_rows_beyond_the_chunk() {
        let mut selection = Selection::none(70);
        selection.unite(&Selection::all(300));
        assert_eq!(selection, Selection::all(70));
        selection.subtract(&[1, 0]);
        assert_eq!(selection.count(), 69);
        selection.intersect(&[3]);
        assert_eq!(selection.indices(0..70), vec![1]);
    }
}
