//! Texts by their places in an array: what dictionaries, runs and single rows of text decode to.
//!
//! Most texts are short. One of up to 16 bytes is copied as 16 bytes, of which those behind its end
//! are overwritten by the next one: a fixed length needs no call and no branch.

use std::sync::Arc;

use arrow::array::{ArrayRef, GenericByteArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::ByteArrayType;
use pelorus_error::{Error, Result};

use super::many::Many;

/// Texts up to this length are copied by a fixed length.
const SHORT: usize = 16;

/// Gathers texts. Rows that are NULL by `nulls` may have any index.
///
/// # Errors
/// `Internal` for more than 2 GiB.
pub(super) fn gather<T: ByteArrayType<Offset = i32>>(
    values: &GenericByteArray<T>,
    indices: &[u32],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let mut texts = Texts::with_capacity(indices.len());
    texts.extend(values, indices.iter().map(|&index| index as usize));
    array::<T>(texts.offsets, texts.bytes, nulls)
}

/// Texts in the making of an array.
#[derive(Debug)]
pub(super) struct Texts {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl Texts {
    /// None yet, with room for so many short ones.
    pub(super) fn with_capacity(texts: usize) -> Self {
        let mut offsets = Vec::with_capacity(texts + 1);
        offsets.push(0);
        Self { offsets, bytes: Vec::with_capacity(texts * SHORT) }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Appends texts of an array by their places.
    #[inline]
    pub(super) fn extend<T: ByteArrayType<Offset = i32>>(
        &mut self,
        values: &GenericByteArray<T>,
        places: impl ExactSizeIterator<Item = usize>,
    ) {
        let ends = values.value_offsets();
        // In a small dictionary many texts would lie too near to the end to be read as 16 bytes.
        let padded;
        let data = match values.value_data() {
            data if data.len() <= places.len() * 2 => {
                padded = [data, &[0; SHORT]].concat();
                &padded[..]
            }
            data => data,
        };
        let out = &mut self.bytes;
        for at in places {
            // Offsets of Arrow's are never negative.
            let (start, end) = (ends[at] as usize, ends[at + 1] as usize);
            let begin = out.len();
            match data.get(start..start + SHORT).and_then(<[u8]>::first_chunk::<SHORT>) {
                Some(short) if end - start <= SHORT => {
                    out.extend_from_slice(short);
                    out.truncate(begin + (end - start));
                }
                _ => out.extend_from_slice(&data[start..end]),
            }
            // What does not fit is found out at the end.
            self.offsets.push(out.len() as i32);
        }
    }

    /// Appends empty texts, for NULLs.
    pub(super) fn extend_empty(&mut self, texts: usize) {
        self.offsets.extend(std::iter::repeat_n(self.bytes.len() as i32, texts));
    }

    /// The array. It is checked once more, since the texts may come from arrays of any type.
    ///
    /// # Errors
    /// `Internal` for more than 2 GiB, and texts that are none of the type.
    pub(super) fn array<T: ByteArrayType<Offset = i32>>(
        self,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        check(&self.offsets, &self.bytes, nulls.as_ref())?;
        let offsets = OffsetBuffer::new(self.offsets.into());
        let array = GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(self.bytes), nulls);
        let failed = |error| Error::internal("gathering texts of chunks").caused_by(error);
        Ok(Arc::new(array.map_err(failed)?))
    }
}

/// Texts of a range, of which those are kept whose bits are set.
///
/// # Errors
/// As [`gather`].
pub(super) fn gather_many<T: ByteArrayType<Offset = i32>>(
    values: &GenericByteArray<T>,
    many: &Many<'_>,
) -> Result<ArrayRef> {
    let (ends, data) = (values.value_offsets(), values.value_data());
    let whole = (ends[many.range.end] - ends[many.range.start]) as usize;
    // One place more, since a text that is not kept is written as well, and then written over.
    let mut kept =
        Kept { offsets: vec![0; many.count + 2], bytes: vec![0; whole + SHORT], count: 0, end: 0 };
    for (at, &word) in many.words.iter().enumerate() {
        let first = many.range.start + at * 64;
        let ends = &ends[first..=many.range.end.min(first + 64)];
        // Where many are kept of short texts, a branch for each would be guessed wrong too often.
        let is_dense = word != u64::MAX && word.count_ones() > 24;
        match data.get(..ends[ends.len() - 1] as usize + SHORT) {
            Some(data) if is_dense && are_short(ends) => kept.each(ends, data, word),
            _ => kept.runs(ends, data, word),
        }
    }
    let Kept { mut offsets, mut bytes, count, end } = kept;
    offsets.truncate(count + 1);
    bytes.truncate(end);
    array::<T>(offsets, bytes, None)
}

fn are_short(ends: &[i32]) -> bool {
    ends.windows(2).fold(true, |all, pair| all & (pair[1] - pair[0] <= SHORT as i32))
}

/// Texts that were kept of many.
struct Kept {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    /// How many there are, and where the last one ends.
    count: usize,
    end: usize,
}

impl Kept {
    /// Keeps short texts, of at most 64, whose bits are set: all are copied, and the place for the
    /// next one moves on behind those that are kept.
    fn each(&mut self, ends: &[i32], data: &[u8], word: u64) {
        let (mut count, mut end) = (self.count, self.end);
        for (bit, pair) in ends.windows(2).enumerate() {
            let (start, length) = (pair[0] as usize, (pair[1] - pair[0]) as usize);
            let is_kept = (word >> bit & 1) as usize;
            self.bytes[end..end + SHORT].copy_from_slice(&data[start..start + SHORT]);
            end += length * is_kept;
            // What does not fit is found out at the end.
            self.offsets[count + 1] = end as i32;
            count += is_kept;
        }
        (self.count, self.end) = (count, end);
    }

    /// Keeps texts, of at most 64, whose bits are set: neighbours are copied at once.
    fn runs(&mut self, ends: &[i32], data: &[u8], word: u64) {
        let (mut row, mut rest) = (0, word);
        while rest != 0 {
            let skipped = rest.trailing_zeros();
            row += skipped as usize;
            rest >>= skipped;
            let run = rest.trailing_ones();
            let last = row + run as usize;
            let (begin, end) = (ends[row], ends[last]);
            let moved = self.end as i32 - begin;
            let length = (end - begin) as usize;
            self.bytes[self.end..self.end + length]
                .copy_from_slice(&data[begin as usize..end as usize]);
            self.end += length;
            let slots = &mut self.offsets[self.count + 1..];
            for (slot, end) in slots.iter_mut().zip(&ends[row + 1..=last]) {
                *slot = end + moved;
            }
            self.count += run as usize;
            row = last;
            rest = rest.checked_shr(run).unwrap_or(0);
        }
    }
}

/// An array of whole texts of another one, which their offsets bound.
fn array<T: ByteArrayType<Offset = i32>>(
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    check(&offsets, &bytes, nulls.as_ref())?;
    debug_assert!(offsets.is_sorted() && offsets.last() == Some(&(bytes.len() as i32)));
    // SAFETY: offsets begin with 0 and were made by adding lengths; their sum, checked above, is
    // below 2^31, so none of them wrapped.
    let offsets = unsafe { OffsetBuffer::new_unchecked(offsets.into()) };
    // SAFETY: the last offset is the length of the bytes, and between two of them lies a whole
    // text of an array that was checked to be of type `T`.
    let array =
        unsafe { GenericByteArray::<T>::new_unchecked(offsets, Buffer::from_vec(bytes), nulls) };
    Ok(Arc::new(array))
}

/// Checks what does not follow from how offsets and bytes are made.
fn check(offsets: &[i32], bytes: &[u8], nulls: Option<&NullBuffer>) -> Result<()> {
    let texts = offsets.len() - 1;
    if i32::try_from(bytes.len()).is_err() || nulls.is_some_and(|nulls| nulls.len() != texts) {
        return Err(Error::internal(format!(
            "{} bytes of {texts} texts in one batch",
            bytes.len()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, StringArray};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_are_those_of_their_places(
            texts in prop::collection::vec("[a-zé]{0,24}", 1..40),
            places in prop::collection::vec(any::<prop::sample::Index>(), 0..100),
        ) {
            let values = StringArray::from(texts.clone());
            let indices: Vec<u32> = places.iter().map(|it| it.index(texts.len()) as u32).collect();
            let found = gather(&values, &indices, None).unwrap();
            let found: Vec<&str> = found.as_string::<i32>().iter().flatten().collect();
            let expected: Vec<&str> = indices.iter().map(|&at| &*texts[at as usize]).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn neighbours_are_kept_as_they_are(
            texts in prop_oneof![
                prop::collection::vec("[a-zé]{0,24}", 200..300),
                prop::collection::vec("[a-zé]{0,8}", 200..300),
            ],
            begin in 0_usize..100,
            words in prop::collection::vec(
                prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), Just(u64::MAX - 1)],
                2..4,
            ),
        ) {
            let range = begin..200;
            let mut words = words;
            words.truncate(range.len().div_ceil(64));
            words.resize(range.len().div_ceil(64), 5);
            if let Some(last) = words.last_mut().filter(|_| !range.len().is_multiple_of(64)) {
                *last &= u64::MAX >> (64 - range.len() % 64);
            }
            let kept = |row: &usize| words[(row - begin) / 64] >> ((row - begin) % 64) & 1 == 1;
            let expected: Vec<&str> = range.clone().filter(kept).map(|row| &*texts[row]).collect();
            let values = StringArray::from(texts.clone());
            let many = Many { range, count: expected.len(), words: &words };
            let found = gather_many(&values, &many).unwrap();
            let found: Vec<&str> = found.as_string::<i32>().iter().flatten().collect();
            prop_assert_eq!(found, expected);
        }
    }
}
