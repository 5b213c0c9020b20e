//! Bit packing: numbers in as many bits as they need, in blocks of 2,048, each with a base and a
//! width of its own.
//!
//! A block is packed by columns, so that unpacking is one loop of shifts over neighbouring words,
//! which compilers turn into vector instructions: the layout of FastLanes (A. Afroozeh and P.
//! Boncz, "The FastLanes Compression Layout", VLDB 2023) with the whole block as one virtual
//! register. `docs/internals/format-chunk.md` has the bytes.

use crate::VECTOR_ROWS;

/// Appends the packed form of little-endian numbers of so many bytes each: 1, 2, 4 or 8.
pub(super) fn pack(width: usize, numbers: &[u8], packed: &mut Vec<u8>) {
    match width {
        1 => u8::pack(numbers, packed),
        2 => u16::pack(numbers, packed),
        4 => u32::pack(numbers, packed),
        _ => u64::pack(numbers, packed),
    }
}

/// Fills little-endian numbers of so many bytes each from their packed form; `None` if that does not
/// have exactly the bytes for it.
pub(super) fn unpack(width: usize, packed: &[u8], numbers: &mut [u8]) -> Option<()> {
    match width {
        1 => u8::unpack(packed, numbers),
        2 => u16::unpack(packed, numbers),
        4 => u32::unpack(packed, numbers),
        _ => u64::unpack(packed, numbers),
    }
}

/// Unsigned numbers as a section holds them.
trait Number {
    fn pack(numbers: &[u8], packed: &mut Vec<u8>);
    fn unpack(packed: &[u8], numbers: &mut [u8]) -> Option<()>;
}

/// Sets in words the bits that values come to.
fn or_into<const W: usize>(
    words: &mut [[u8; W]],
    values: &[[u8; W]],
    bits: impl Fn([u8; W]) -> [u8; W],
) {
    for (word, value) in words.iter_mut().zip(values) {
        for (slot, bits) in word.iter_mut().zip(bits(*value)) {
            *slot |= bits;
        }
    }
}

macro_rules! number {
    ($($number:ident $bytes:literal)*) => {$(impl Number for $number {
        fn pack(numbers: &[u8], packed: &mut Vec<u8>) {
            let blocks = || numbers.as_chunks::<$bytes>().0.chunks(VECTOR_ROWS);
            let ends = |block: &[[u8; $bytes]]| {
                let ends = ($number::MAX, 0);
                block.iter().map(|it| $number::from_le_bytes(*it)).fold(ends, |(low, high), it| {
                    (low.min(it), high.max(it))
                })
            };
            let all: Vec<($number, u32)> = blocks()
                .map(|block| ends(block))
                .map(|(low, high)| (low, $number::BITS - (high - low).leading_zeros()))
                .collect();
            all.iter().for_each(|(base, _)| packed.extend_from_slice(&base.to_le_bytes()));
            packed.extend(all.iter().map(|(_, bits)| bits.to_le_bytes()[0]));
            for (block, (base, bits)) in blocks().zip(all) {
                let lanes = block.len().div_ceil($number::BITS as usize);
                let start = packed.len();
                packed.resize(start + bits as usize * lanes * $bytes, 0);
                let words = packed[start..].as_chunks_mut::<$bytes>().0;
                for (row, values) in (0..).zip(block.chunks(lanes)).filter(|_| bits > 0) {
                    let at: u32 = row * bits;
                    let (word, shift) = ((at / $number::BITS) as usize, at % $number::BITS);
                    or_into(&mut words[word * lanes..], values, |it| {
                        $number::from_le_bytes(it).wrapping_sub(base).wrapping_shl(shift).to_le_bytes()
                    });
                    if shift + bits > $number::BITS {
                        let rest = $number::BITS - shift;
                        or_into(&mut words[(word + 1) * lanes..], values, |it| {
                            ($number::from_le_bytes(it).wrapping_sub(base) >> rest).to_le_bytes()
                        });
                    }
                }
            }
        }

        fn unpack(packed: &[u8], numbers: &mut [u8]) -> Option<()> {
            let numbers = numbers.as_chunks_mut::<$bytes>().0;
            let count = numbers.len().div_ceil(VECTOR_ROWS);
            let (bases, packed) = packed.split_at_checked(count * $bytes)?;
            let (widths, packed) = packed.split_at_checked(count)?;
            let (mut words, []) = packed.as_chunks::<$bytes>() else { return None };
            let heads = bases.as_chunks::<$bytes>().0.iter().zip(widths);
            for (block, (base, bits)) in numbers.chunks_mut(VECTOR_ROWS).zip(heads) {
                let (base, bits) = ($number::from_le_bytes(*base), u32::from(*bits));
                let lanes = block.len().div_ceil($number::BITS as usize);
                let these;
                (these, words) = words.split_at_checked(bits as usize * lanes)?;
                // A shift by all bits is not defined; and no number needs more than it has.
                let Some(mask) = $number::MAX.checked_shr($number::BITS.checked_sub(bits)?) else {
                    block.fill(base.to_le_bytes());
                    continue;
                };
                for (row, values) in (0..).zip(block.chunks_mut(lanes)) {
                    let at: u32 = row * bits;
                    let (word, shift) = ((at / $number::BITS) as usize, at % $number::BITS);
                    let low = &these[word * lanes..][..values.len()];
                    if shift + bits <= $number::BITS {
                        for (value, low) in values.iter_mut().zip(low) {
                            let low = $number::from_le_bytes(*low) >> shift;
                            *value = base.wrapping_add(low & mask).to_le_bytes();
                        }
                        continue;
                    }
                    let high = &these[(word + 1) * lanes..][..values.len()];
                    let rest = $number::BITS - shift;
                    for ((value, low), high) in values.iter_mut().zip(low).zip(high) {
                        let low = $number::from_le_bytes(*low) >> shift;
                        let both = low | $number::from_le_bytes(*high) << rest;
                        *value = base.wrapping_add(both & mask).to_le_bytes();
                    }
                }
            }
            words.is_empty().then_some(())
        }
    })*};
}

number!(u8 1 u16 2 u32 4 u64 8);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(numbers: &[u64], width: usize) -> Vec<u8> {
        numbers.iter().flat_map(|it| it.to_le_bytes()[..width].to_vec()).collect()
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out(
            width in prop::sample::select(vec![1usize, 2, 4, 8]),
            count in prop::sample::select(vec![0usize, 1, 7, 8, 9, 100, 2047, 2048, 2049, 5000]),
            bits in 0..=64u32,
            base: u64,
            seed: u64,
        ) {
            let most = u8::try_from(width).map_or(0, |it| 8 * u32::from(it));
            let mask = u64::MAX.checked_shr(64 - bits.min(most)).unwrap_or(0);
            let mut state = seed | 1;
            let numbers: Vec<u64> = (0..count).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (base & !mask) | (state >> 17) & mask
            }).collect();
            let plain = bytes_of(&numbers, width);
            let mut packed = vec![];
            pack(width, &plain, &mut packed);
            let needed = bits.min(most) as usize;
            let blocks = count.div_ceil(VECTOR_ROWS);
            prop_assert!(packed.len() <= blocks * (width + 1) + (count + blocks * 64) * needed / 8);
            let mut out = vec![0xAA; plain.len()];
            prop_assert_eq!(unpack(width, &packed, &mut out), Some(()));
            prop_assert_eq!(&out, &plain);
            // Neither fewer nor more bytes are taken.
            packed.push(0);
            prop_assert_eq!(unpack(width, &packed, &mut out), None);
            packed.truncate(packed.len().saturating_sub(2));
            if count > 0 {
                prop_assert_eq!(unpack(width, &packed, &mut out), None);
            }
        }
    }

    #[test]
    fn more_bits_than_a_number_has_are_damage() {
        let mut packed = vec![0, 9];
        packed.extend([0; 9]);
        assert_eq!(unpack(1, &packed, &mut [0; 8]), None);
        packed[1] = 8;
        packed.pop();
        assert_eq!(unpack(1, &packed, &mut [0; 8]), Some(()));
    }
}
