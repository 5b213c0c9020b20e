//! Decodes texts: copies them by their positions in an array, for dictionaries, runs and single
//! rows.
//!
//! Most texts are short. A text of up to 16 bytes is copied as 16 bytes, and the bytes beyond its
//! end are overwritten by the next one: a fixed length needs no call and no branch.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, GenericByteArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::ByteArrayType;
use pelorus_error::{Error, Result};

use super::many::Many;

/// Texts up to this length are copied by a fixed length.
const SHORT: usize = 16;

/// Where an offset of Arrow's leads.
#[inline]
#[expect(clippy::cast_sign_loss, reason = "Arrow's offsets are never negative")]
const fn place(offset: i32) -> usize {
    offset as usize
}

/// The offset of a place. One that does not fit wraps, which is found out at the end, by [`check`].
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "all are checked at once, by the last one"
)]
const fn offset(place: usize) -> i32 {
    place as i32
}

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
            let (start, end) = (place(ends[at]), place(ends[at + 1]));
            let begin = out.len();
            match data.get(start..start + SHORT).and_then(<[u8]>::first_chunk::<SHORT>) {
                Some(short) if end - start <= SHORT => {
                    out.extend_from_slice(short);
                    out.truncate(begin + (end - start));
                }
                _ => out.extend_from_slice(&data[start..end]),
            }
            self.offsets.push(offset(out.len()));
        }
    }

    /// Appends empty texts, for NULLs.
    pub(super) fn extend_empty(&mut self, texts: usize) {
        self.offsets.extend(std::iter::repeat_n(offset(self.bytes.len()), texts));
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
    let whole = place(ends[many.range.end] - ends[many.range.start]);
    // What is copied in whole blocks goes beyond its end, and is then written over.
    let mut kept = Kept {
        offsets: vec![0; many.count + 1 + 64],
        bytes: vec![0; whole + NEAR],
        count: 0,
        end: 0,
    };
    for (at, &word) in many.words.iter().enumerate() {
        let first = many.range.start + at * 64;
        // Many short runs cost more than a copy of each text.
        let runs = (word & !(word << 1)).count_ones();
        if runs > 8
            && let Some(near) = ends.get(first..).and_then(<[i32]>::first_chunk::<65>)
            && let Some(data) = data.get(place(ends[first])..).and_then(<[u8]>::first_chunk)
            && are_short(near)
            && kept.each(near, data, word)
        {
            continue;
        }
        let (mut row, mut rest) = (first, word);
        while rest != 0 {
            let skipped = rest.trailing_zeros();
            rest >>= skipped;
            let run = rest.trailing_ones();
            rest = rest.checked_shr(run).unwrap_or(0);
            row += skipped as usize;
            kept.run(ends, data, row..row + run as usize);
            row += run as usize;
        }
    }
    let Kept { mut offsets, mut bytes, count, end } = kept;
    offsets.truncate(count + 1);
    bytes.truncate(end);
    array::<T>(offsets, bytes, None)
}

fn are_short(ends: &[i32; 65]) -> bool {
    ends.windows(2).fold(true, |all, pair| all & (pair[1] - pair[0] <= offset(SHORT)))
}

/// Bytes from the first of 64 short texts on that are looked at.
const NEAR: usize = 64 * SHORT + SHORT;

/// Neighbours that take no more than so many bytes are copied by this fixed length, and offsets so
/// many at a time: where a dead row comes next cannot be guessed, so the less depends on it the
/// better.
const BLOCK: usize = 128;
const OFFSETS: usize = 8;

/// Texts that were kept of many.
struct Kept {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    /// How many there are, and where the last one ends.
    count: usize,
    end: usize,
}

impl Kept {
    /// Keeps the short ones of 64 texts whose bits are set, if there is room: all are copied, and
    /// the place for the next one moves on after those that are kept.
    #[inline(never)]
    fn each(&mut self, ends: &[i32; 65], data: &[u8; NEAR], word: u64) -> bool {
        let places = self.bytes[self.end..].first_chunk_mut::<NEAR>();
        let slots = self.offsets[self.count + 1..].first_chunk_mut::<64>();
        let (Some(places), Some(slots)) = (places, slots) else { return false };
        // All places are within 64 times the length; with the mask nothing needs to be checked.
        const MASK: usize = 64 * SHORT - 1;
        let (mut count, mut end) = (0, 0);
        for bit in 0..64 {
            let start = place(ends[bit] - ends[0]) & MASK;
            let length = place(ends[bit + 1] - ends[bit]);
            let is_kept = (word >> bit & 1) as usize;
            places[end & MASK..][..SHORT].copy_from_slice(&data[start..][..SHORT]);
            end += length & is_kept.wrapping_neg();
            slots[count & 63] = offset(self.end + end);
            count += is_kept;
        }
        self.count += count;
        self.end += end;
        true
    }

    /// Keeps neighbours.
    #[inline]
    fn run(&mut self, ends: &[i32], data: &[u8], rows: Range<usize>) {
        let (begin, end) = (ends[rows.start], ends[rows.end]);
        let (moved, length) = (offset(self.end) - begin, place(end - begin));
        let (from, to) = (&data[place(begin)..], &mut self.bytes[self.end..]);
        match (from.first_chunk::<BLOCK>(), to.first_chunk_mut::<BLOCK>()) {
            (Some(block), Some(place)) => {
                *place = *block;
                if length > BLOCK {
                    to[BLOCK..length].copy_from_slice(&from[BLOCK..length]);
                }
            }
            _ => to[..length].copy_from_slice(&from[..length]),
        }
        let count = rows.len();
        let from = ends[rows.start + 1..].as_chunks::<OFFSETS>();
        let to = self.offsets[self.count + 1..].as_chunks_mut::<OFFSETS>();
        // Those that are not of the run may wrap; they are written over.
        let moved_by = |end: i32| end.wrapping_add(moved);
        let some = count.div_ceil(OFFSETS);
        for (to, from) in to.0.iter_mut().zip(from.0).take(some) {
            *to = from.map(moved_by);
        }
        if some > from.0.len() {
            // The last ones of all texts.
            let begin = from.0.len() * OFFSETS;
            let to = &mut self.offsets[self.count + 1 + begin..];
            to.iter_mut().zip(from.1).for_each(|(to, from)| *to = moved_by(*from));
        }
        self.count += count;
        self.end += length;
    }
}

/// An array of whole texts of another one, which their offsets bound.
fn array<T: ByteArrayType<Offset = i32>>(
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    check(&offsets, &bytes, nulls.as_ref())?;
    debug_assert!(offsets.is_sorted() && offsets.last() == Some(&offset(bytes.len())));
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
            let indices: Vec<u32> = places.iter().map(|it| it.index(texts.len())).map(|at| u32::try_from(at).unwrap()).collect();
            let found = gather(&values, &indices, None).unwrap();
            let found: Vec<&str> = found.as_string::<i32>().iter().flatten().collect();
            let expected: Vec<&str> = indices.iter().map(|&at| &*texts[at as usize]).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn neighbours_are_kept_as_they_are(
            texts in prop_oneof![
                prop::collection::vec("[a-zé]{0,24}", 200..500),
                prop::collection::vec("[a-zé]{0,8}", 200..500),
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
