//! Moving the selected ones of many values together: the kernel of scans that leave rows out.
//!
//! Where one row in seven is dead no branch can be predicted, so there is none for a row: a value is
//! always copied, and the place for the next one moves on by the row's bit. Processors with AVX-512
//! do that for 64 bytes in one instruction (`VPCOMPRESSQ`, `VPCOMPRESSD`), those with AVX2 for 32
//! bytes by a permutation that a table gives for the bits.

/// Of the values from `kept` on, one for each bit, moves those whose bits are set to the front and
/// drops the rest.
pub(super) fn compact<T: Copy>(values: &mut Vec<T>, mut kept: usize, words: &[u64]) {
    let compress = kernel::<T>();
    for (begin, &word) in (kept..values.len()).step_by(64).zip(words) {
        let Some(&cells) = values[begin..].first_chunk::<64>() else {
            for row in (begin..values.len()).filter(|row| word >> (row - begin) & 1 == 1) {
                values[kept] = values[row];
                kept += 1;
            }
            break;
        };
        // Never more than came before was kept, so there are 64 places.
        if let Some(places) = values[kept..].first_chunk_mut::<64>() {
            kept += compress(&cells, word, places);
        }
    }
    values.truncate(kept);
}

/// Copies the cells whose bits are set to the first places; returns how many. The places behind
/// them may be overwritten.
type Compress<T> = fn(&[T; 64], u64, &mut [T; 64]) -> usize;

fn kernel<T: Copy>() -> Compress<T> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = avx512::kernel().or_else(avx2::kernel) {
        return kernel;
    }
    one_by_one
}

fn one_by_one<T: Copy>(cells: &[T; 64], word: u64, places: &mut [T; 64]) -> usize {
    if word == u64::MAX {
        *places = *cells;
        return 64;
    }
    let mut next = 0;
    for (bit, cell) in cells.iter().enumerate() {
        // One bit is clear, so that the place of the last cell is below 64 as well.
        places[next & 63] = *cell;
        next += usize::from(word >> bit & 1 == 1);
    }
    next
}

/// The same by AVX-512.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        _mm512_loadu_epi32, _mm512_loadu_epi64, _mm512_maskz_compress_epi32,
        _mm512_maskz_compress_epi64, _mm512_storeu_epi32, _mm512_storeu_epi64,
    };

    use super::Compress;

    /// The kernel for values of this size, if there is one and the processor can run it.
    pub(super) fn kernel<T: Copy>() -> Option<Compress<T>> {
        if !is_x86_feature_detected!("avx512f") || !is_x86_feature_detected!("popcnt") {
            return None;
        }
        match size_of::<T>() {
            // SAFETY: the processor has the features, and values have the size.
            8 => Some(|cells, word, places| unsafe { eights(cells, word, places) }),
            // SAFETY: as above.
            4 => Some(|cells, word, places| unsafe { fours(cells, word, places) }),
            _ => None,
        }
    }

    /// # Safety
    /// Values have 8 bytes.
    #[target_feature(enable = "avx512f,popcnt")]
    unsafe fn eights<T: Copy>(cells: &[T; 64], word: u64, places: &mut [T; 64]) -> usize {
        let mut next = 0;
        for (cells, mask) in cells.as_chunks::<8>().0.iter().zip(word.to_le_bytes()) {
            // SAFETY: eight values of 8 bytes are read.
            let eight = unsafe { _mm512_loadu_epi64(cells.as_ptr().cast()) };
            let kept = _mm512_maskz_compress_epi64(mask, eight);
            // SAFETY: of every eight cells before at most eight were kept, so that `next` is at
            // most 56, and eight places follow it.
            unsafe { _mm512_storeu_epi64(places.as_mut_ptr().add(next).cast(), kept) };
            next += mask.count_ones() as usize;
        }
        next
    }

    /// # Safety
    /// Values have 4 bytes.
    #[target_feature(enable = "avx512f,popcnt")]
    unsafe fn fours<T: Copy>(cells: &[T; 64], word: u64, places: &mut [T; 64]) -> usize {
        let mut next = 0;
        let masks = [word as u16, (word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16];
        for (cells, mask) in cells.as_chunks::<16>().0.iter().zip(masks) {
            // SAFETY: 16 values of 4 bytes are read.
            let sixteen = unsafe { _mm512_loadu_epi32(cells.as_ptr().cast()) };
            let kept = _mm512_maskz_compress_epi32(mask, sixteen);
            // SAFETY: of every 16 cells before at most 16 were kept, so that `next` is at most 48,
            // and 16 places follow it.
            unsafe { _mm512_storeu_epi32(places.as_mut_ptr().add(next).cast(), kept) };
            next += mask.count_ones() as usize;
        }
        next
    }
}

/// The same by AVX2.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_permutevar8x32_epi32, _mm256_storeu_si256};

    use super::Compress;

    /// For the bits of some cells, which of the eight 32-bit lanes go to the first places, where a
    /// cell has so many of them.
    const fn places<const MASKS: usize>(cells: usize, lanes: usize) -> [[u32; 8]; MASKS] {
        let mut table = [[0; 8]; MASKS];
        let mut mask = 0;
        while mask < MASKS {
            let (mut cell, mut next) = (0, 0);
            while cell < cells {
                let mut lane = 0;
                while mask >> cell & 1 == 1 && lane < lanes {
                    table[mask][next] = (cell * lanes + lane) as u32;
                    next += 1;
                    lane += 1;
                }
                cell += 1;
            }
            mask += 1;
        }
        table
    }

    static OF_EIGHT: [[u32; 8]; 256] = places(8, 1);
    static OF_FOUR: [[u32; 8]; 16] = places(4, 2);

    /// The kernel for values of this size, if there is one and the processor can run it.
    pub(super) fn kernel<T: Copy>() -> Option<Compress<T>> {
        if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("popcnt") {
            return None;
        }
        match size_of::<T>() {
            // SAFETY: the processor has the features, and values have the size.
            8 => Some(|cells, word, places| unsafe { eights(cells, word, places) }),
            // SAFETY: as above.
            4 => Some(|cells, word, places| unsafe { fours(cells, word, places) }),
            _ => None,
        }
    }

    /// # Safety
    /// Values have 8 bytes.
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn eights<T: Copy>(cells: &[T; 64], word: u64, places: &mut [T; 64]) -> usize {
        let mut next = 0;
        for (at, cells) in cells.as_chunks::<4>().0.iter().enumerate() {
            let mask = (word >> (at * 4)) as usize & 15;
            // SAFETY: four values of 8 bytes are read, and eight lanes of the table. Of every four
            // cells before at most four were kept, so that `next` is at most 60, and four places
            // follow it.
            unsafe {
                let four = _mm256_loadu_si256(cells.as_ptr().cast());
                let lanes = _mm256_loadu_si256(OF_FOUR[mask].as_ptr().cast());
                let kept = _mm256_permutevar8x32_epi32(four, lanes);
                _mm256_storeu_si256(places.as_mut_ptr().add(next).cast(), kept);
            }
            next += mask.count_ones() as usize;
        }
        next
    }

    /// # Safety
    /// Values have 4 bytes.
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn fours<T: Copy>(cells: &[T; 64], word: u64, places: &mut [T; 64]) -> usize {
        let mut next = 0;
        for (cells, mask) in cells.as_chunks::<8>().0.iter().zip(word.to_le_bytes()) {
            // SAFETY: eight values of 4 bytes are read, and eight lanes of the table. Of every
            // eight cells before at most eight were kept, so that `next` is at most 56, and eight
            // places follow it.
            unsafe {
                let eight = _mm256_loadu_si256(cells.as_ptr().cast());
                let lanes = _mm256_loadu_si256(OF_EIGHT[usize::from(mask)].as_ptr().cast());
                let kept = _mm256_permutevar8x32_epi32(eight, lanes);
                _mm256_storeu_si256(places.as_mut_ptr().add(next).cast(), kept);
            }
            next += mask.count_ones() as usize;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug>(
        bits: &[u64],
        missing: usize,
        value: impl Fn(usize) -> T,
    ) {
        let length = (bits.len() * 64).saturating_sub(missing);
        let mut expected = vec![value(100_000)];
        expected.extend((0..length).filter(|at| bits[at / 64] >> (at % 64) & 1 == 1).map(&value));
        let mut values = vec![value(100_000)];
        values.extend((0..length).map(&value));
        compact(&mut values, 1, bits);
        assert_eq!(values, expected);
    }

    proptest! {
        #[test]
        fn the_selected_values_remain_in_order(
            bits in prop::collection::vec(
                prop_oneof![4 => any::<u64>(), 1 => Just(0), 1 => Just(u64::MAX)],
                0..6,
            ),
            missing in 0_usize..64,
        ) {
            check(&bits, missing, |at| at as u64);
            check(&bits, missing, |at| at as f64);
            check(&bits, missing, |at| at as u32);
            check(&bits, missing, |at| at as i128);
            check(&bits, missing, |at| (at % 251) as u8);
        }

        #[test]
        fn all_kernels_agree(word: u64) {
            let cells: [u64; 64] = std::array::from_fn(|at| at as u64 * 3);
            let (mut fast, mut slow) = ([0; 64], [0; 64]);
            let count = kernel()(&cells, word, &mut fast);
            prop_assert_eq!(one_by_one(&cells, word, &mut slow), count);
            prop_assert_eq!(&fast[..count], &slow[..count]);
            #[cfg(target_arch = "x86_64")]
            if let Some(kernel) = avx2::kernel() {
                prop_assert_eq!(kernel(&cells, word, &mut fast), count);
                prop_assert_eq!(&fast[..count], &slow[..count]);
            }
            let cells: [u32; 64] = std::array::from_fn(|at| at as u32 * 3);
            let (mut fast, mut slow) = ([0; 64], [0; 64]);
            prop_assert_eq!(one_by_one(&cells, word, &mut slow), count);
            #[cfg(target_arch = "x86_64")]
            if let Some(kernel) = avx2::kernel() {
                prop_assert_eq!(kernel(&cells, word, &mut fast), count);
                prop_assert_eq!(&fast[..count], &slow[..count]);
            }
            prop_assert_eq!(kernel()(&cells, word, &mut fast), count);
            prop_assert_eq!(&fast[..count], &slow[..count]);
        }
    }
}
