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
    texts.array::<T>(nulls)
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

    /// The array.
    ///
    /// # Errors
    /// `Internal` for more than 2 GiB.
    pub(super) fn array<T: ByteArrayType<Offset = i32>>(
        self,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        array::<T>(self.offsets, self.bytes, nulls)
    }
}

/// Texts of a range, of which those are kept whose bits are set: neighbours are copied at once.
///
/// # Errors
/// As [`gather`].
pub(super) fn gather_many<T: ByteArrayType<Offset = i32>>(
    values: &GenericByteArray<T>,
    many: &Many<'_>,
) -> Result<ArrayRef> {
    let (ends, data) = (values.value_offsets(), values.value_data());
    let mut offsets = Vec::with_capacity(many.count + 1);
    let whole = ends[many.range.end] - ends[many.range.start];
    let mut out: Vec<u8> = Vec::with_capacity(whole as usize);
    offsets.push(0);
    for (at, &word) in many.words.iter().enumerate() {
        let (mut row, mut rest) = (many.range.start + at * 64, word);
        while rest != 0 {
            let skipped = rest.trailing_zeros();
            row += skipped as usize;
            rest >>= skipped;
            let run = rest.trailing_ones();
            let last = row + run as usize;
            let (begin, end) = (ends[row], ends[last]);
            let moved = out.len() as i32 - begin;
            out.extend_from_slice(&data[begin as usize..end as usize]);
            offsets.extend(ends[row + 1..=last].iter().map(|end| end + moved));
            row = last;
            rest = rest.checked_shr(run).unwrap_or(0);
        }
    }
    array::<T>(offsets, out, None)
}

fn array<T: ByteArrayType<Offset = i32>>(
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if i32::try_from(bytes.len()).is_err() {
        return Err(Error::internal(format!("{} bytes of text in one batch", bytes.len())));
    }
    let offsets = OffsetBuffer::new(offsets.into());
    let array = GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(bytes), nulls);
    let failed = |error| Error::internal("decoding texts of a chunk").caused_by(error);
    Ok(Arc::new(array.map_err(failed)?))
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
            texts in prop::collection::vec("[a-zé]{0,24}", 200..300),
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
