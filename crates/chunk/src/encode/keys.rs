//! Equality, order and hashes of the values of a column by row, for runs, dictionaries and zone
//! maps, for every physical type alike.

use std::cmp::Ordering;

use arrow::array::GenericByteArray;
use arrow::datatypes::{ByteArrayType, i256};

/// Values addressed by row. Equality is by bits, so that NaNs and negative zeros survive.
pub(super) trait Keys {
    fn same(&self, left: usize, right: usize) -> bool;
    fn order(&self, left: usize, right: usize) -> Ordering;
    fn hash(&self, row: usize) -> u64;
    /// Whether the value takes no part in zone maps.
    fn is_nan(&self, _row: usize) -> bool {
        false
    }
}

/// Values of fixed size.
pub(super) struct Numbers<'a, T>(pub(super) &'a [T]);

/// Text and binary.
pub(super) struct Texts<'a> {
    offsets: &'a [i32],
    bytes: &'a [u8],
}

/// One fixed-size value as a key.
pub(super) trait Number: Copy {
    fn same(self, other: Self) -> bool;
    fn order(self, other: Self) -> Ordering;
    /// Words to hash.
    fn words(self) -> [u64; 4];
    fn is_nan(self) -> bool;
}

macro_rules! integer {
    ($($type:ty, $value:ident => $words:expr;)*) => {$(
        impl Number for $type {
            fn same(self, other: Self) -> bool {
                self == other
            }
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
            fn words(self) -> [u64; 4] {
                let $value = self;
                $words
            }
            fn is_nan(self) -> bool {
                false
            }
        }
    )*};
}

integer! {
    u32, value => [value.into(), 0, 0, 0];
    u64, value => [value, 0, 0, 0];
    i64, value => [value.cast_unsigned(), 0, 0, 0];
    i128, value => words(&value.to_le_bytes());
    i256, value => words(&value.to_le_bytes());
}

macro_rules! float {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }
            fn order(self, other: Self) -> Ordering {
                self.total_cmp(&other)
            }
            fn words(self) -> [u64; 4] {
                [u64::from(self.to_bits()), 0, 0, 0]
            }
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }
        }
    )*};
}

float!(f32, f64);

fn words(bytes: &[u8]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// Mixes a word into a hash: the two halves of a product, folded.
#[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    (product as u64) ^ ((product >> 64) as u64)
}

impl<T: Number> Keys for Numbers<'_, T> {
    #[inline]
    fn same(&self, left: usize, right: usize) -> bool {
        self.0[left].same(self.0[right])
    }

    #[inline]
    fn order(&self, left: usize, right: usize) -> Ordering {
        self.0[left].order(self.0[right])
    }

    #[inline]
    fn hash(&self, row: usize) -> u64 {
        let words = self.0[row].words();
        if size_of::<T>() <= 8 {
            return mix(0, words[0]);
        }
        words.into_iter().fold(0, mix)
    }

    #[inline]
    fn is_nan(&self, row: usize) -> bool {
        self.0[row].is_nan()
    }
}

impl<'a> Texts<'a> {
    pub(super) fn of<T: ByteArrayType<Offset = i32>>(array: &'a GenericByteArray<T>) -> Self {
        Self { offsets: array.value_offsets(), bytes: array.value_data() }
    }

    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "Arrow's offsets are never negative")]
    fn at(&self, row: usize) -> &'a [u8] {
        &self.bytes[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// All of at most 16 bytes, given their number, as two words that may overlap: without a loop or
/// a call, which would cost more than the work for the short texts of dictionaries.
#[inline]
fn short(bytes: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return [u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()];
    }
    match *bytes {
        [first, middle, last] => [u64::from(first) << 8 | u64::from(middle), last.into()],
        [first, last] => [first.into(), last.into()],
        [only] => [only.into(), 0],
        _ => [0, 0],
    }
}

impl Keys for Texts<'_> {
    #[inline]
    fn same(&self, left: usize, right: usize) -> bool {
        let (left, right) = (self.at(left), self.at(right));
        left.len() == right.len()
            && if left.len() <= 16 { short(left) == short(right) } else { left == right }
    }

    #[inline]
    fn order(&self, left: usize, right: usize) -> Ordering {
        self.at(left).cmp(self.at(right))
    }

    #[inline]
    fn hash(&self, row: usize) -> u64 {
        let bytes = self.at(row);
        let length = bytes.len() as u64;
        if bytes.len() <= 16 {
            let [first, last] = short(bytes);
            return mix(mix(length, first), last);
        }
        let (words, _) = bytes.as_chunks::<8>();
        let hash = words.iter().fold(length, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        mix(hash, short(bytes)[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_the_same_only_if_all_bytes_are() {
        for length in 0..40 {
            let text: Vec<u8> = (1..=length).collect();
            let mut texts = vec![text.clone()];
            texts.extend((0..text.len()).map(|at| {
                let mut other = text.clone();
                other[at] = 200;
                other
            }));
            let bytes = texts.concat();
            let ends = texts.iter().scan(0, |end, text| {
                *end += i32::try_from(text.len()).unwrap();
                Some(*end)
            });
            let offsets: Vec<i32> = std::iter::once(0).chain(ends).collect();
            let keys = Texts { offsets: &offsets, bytes: &bytes };
            for (left, right) in
                (0..texts.len()).flat_map(|l| (0..texts.len()).map(move |r| (l, r)))
            {
                assert_eq!(keys.same(left, right), left == right, "length {length}");
                assert_eq!(keys.hash(left) == keys.hash(right), left == right, "length {length}");
            }
        }
    }
}
