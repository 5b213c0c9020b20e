//! Compaction of arrays by AVX2: a table maps the bits of some cells to a permutation.

use std::arch::x86_64::{
    __m256i, _mm_loadl_epi64, _mm_loadu_si128, _mm_shuffle_epi8, _mm_storel_epi64,
    _mm_storeu_si128, _mm256_add_epi64, _mm256_castsi256_si128, _mm256_cvtepu8_epi32,
    _mm256_cvtepu16_epi32, _mm256_cvtepu32_epi64, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_mul_epu32, _mm256_permutevar8x32_epi32, _mm256_set1_epi64x, _mm256_storeu_si256,
};
use std::mem::MaybeUninit;

use super::{Kernel, Line, LineKernel, check};

/// For the bits of some cells, which of the lanes go to the first places, where a cell has so
/// many of them.
const fn lanes<const LANES: usize, const MASKS: usize>(cells: usize) -> [[u8; LANES]; MASKS] {
    let of_cell = LANES / cells;
    let mut table = [[0; LANES]; MASKS];
    let mut mask = 0;
    while mask < MASKS {
        let (mut cell, mut next) = (0, 0);
        while cell < cells {
            let mut lane = 0;
            while mask >> cell & 1 == 1 && lane < of_cell {
                table[mask][next] = (cell * of_cell + lane).to_le_bytes()[0];
                next += 1;
                lane += 1;
            }
            cell += 1;
        }
        mask += 1;
    }
    table
}

/// Eight cells of one lane, eight of two, and four of two.
static EIGHT: [[u8; 8]; 256] = lanes(8);
static EIGHT_PAIRS: [[u8; 16]; 256] = lanes(8);
static FOUR_PAIRS: [[u8; 8]; 16] = lanes(4);

/// The kernel for values of this size, if there is one and the processor can run it.
pub(super) fn kernel<T: Copy>() -> Option<Kernel<T>> {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("popcnt") {
        return None;
    }
    match size_of::<T>() {
        // SAFETY: the processor has the features, and values have the size.
        8 => Some(|cells, words, places| unsafe { eights(cells, words, places) }),
        // SAFETY: as above.
        4 => Some(|cells, words, places| unsafe { fours(cells, words, places) }),
        // SAFETY: as above.
        2 => Some(|cells, words, places| unsafe { twos(cells, words, places) }),
        // SAFETY: as above.
        1 => Some(|cells, words, places| unsafe { ones(cells, words, places) }),
        _ => None,
    }
}

/// Defines a kernel: `$body` writes those of `$cells`, of which there are `$count` of a number
/// of bytes, that `$mask` has bits for to `$to`.
macro_rules! kernel {
    ($name:ident, $count:literal, $bytes:literal, |$from:ident, $mask:ident, $to:ident| $body:block) => {
        /// # Safety
        #[doc = concat!("Values have ", $bytes, " bytes.")]
        #[target_feature(enable = "avx2,popcnt")]
        unsafe fn $name<T>(
            cells: &[[T; 64]],
            words: &[u64],
            places: &mut [MaybeUninit<T>],
        ) -> usize {
            check(cells, words, places);
            let mut next = 0;
            for (cells, word) in cells.iter().zip(words) {
                for (at, cells) in cells.as_chunks::<$count>().0.iter().enumerate() {
                    let $mask = (word >> (at * $count) & ((1 << $count) - 1)) as usize;
                    let $from = cells.as_ptr();
                    // SAFETY: so many values are read as are there, and a row of a table. Of
                    // as many cells before at most as many were kept, so that `next` is at most
                    // the number of those before, and as many places as are written follow it,
                    // since there are as many places as cells.
                    unsafe {
                        let $to = places.as_mut_ptr().add(next);
                        $body
                    }
                    next += $mask.count_ones() as usize;
                }
            }
            next
        }
    };
}

kernel!(eights, 4, 8, |from, mask, to| {
    let four = _mm256_loadu_si256(from.cast());
    let lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(FOUR_PAIRS[mask].as_ptr().cast()));
    _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(four, lanes));
});

kernel!(fours, 8, 4, |from, mask, to| {
    let eight = _mm256_loadu_si256(from.cast());
    let lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(EIGHT[mask].as_ptr().cast()));
    _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(eight, lanes));
});

kernel!(twos, 8, 2, |from, mask, to| {
    let eight = _mm_loadu_si128(from.cast());
    let lanes = _mm_loadu_si128(EIGHT_PAIRS[mask].as_ptr().cast());
    _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(eight, lanes));
});

kernel!(ones, 8, 1, |from, mask, to| {
    let eight = _mm_loadl_epi64(from.cast());
    let lanes = _mm_loadl_epi64(EIGHT[mask].as_ptr().cast());
    _mm_storel_epi64(to.cast(), _mm_shuffle_epi8(eight, lanes));
});

/// The kernel for lines of codes of this size, if there is one and the processor can run it.
pub(super) fn line_kernel<C: Copy>() -> Option<LineKernel<C>> {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("popcnt") {
        return None;
    }
    match size_of::<C>() {
        1 | 2 | 4 => Some(|cells, words, line, places| {
            // SAFETY: the processor has the features, and codes have one of the sizes.
            unsafe { on_line(cells, words, line, places) }
        }),
        _ => None,
    }
}

/// Selects eight codes as 32-bit numbers, and then makes them 64-bit ones.
///
/// # Safety
/// Codes have 1, 2 or 4 bytes.
#[target_feature(enable = "avx2,popcnt")]
unsafe fn on_line<C>(
    cells: &[[C; 64]],
    words: &[u64],
    line: Line,
    places: &mut [MaybeUninit<i64>],
) -> usize {
    check(cells, words, places);
    let base = _mm256_set1_epi64x(line.base.cast_signed());
    let step = _mm256_set1_epi64x(line.step.into());
    let value =
        |codes| _mm256_add_epi64(base, _mm256_mul_epu32(_mm256_cvtepu32_epi64(codes), step));
    let mut next = 0;
    for (cells, word) in cells.iter().zip(words) {
        for (cells, mask) in cells.as_chunks::<8>().0.iter().zip(word.to_le_bytes()) {
            // SAFETY: eight codes are read, and a row of a table.
            let kept = unsafe {
                let from: *const C = cells.as_ptr();
                let eight: __m256i = match size_of::<C>() {
                    1 => _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast())),
                    2 => _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast())),
                    _ => _mm256_loadu_si256(from.cast()),
                };
                let lanes = _mm_loadl_epi64(EIGHT[usize::from(mask)].as_ptr().cast());
                _mm256_permutevar8x32_epi32(eight, _mm256_cvtepu8_epi32(lanes))
            };
            let low = value(_mm256_castsi256_si128(kept));
            let high = value(_mm256_extracti128_si256::<1>(kept));
            // SAFETY: of every eight cells before at most eight were kept, so that `next` is at
            // most the number of those before, and eight places follow it, since there are as many
            // places as cells.
            unsafe {
                let to: *mut MaybeUninit<i64> = places.as_mut_ptr().add(next);
                _mm256_storeu_si256(to.cast(), low);
                _mm256_storeu_si256(to.add(4).cast(), high);
            }
            next += mask.count_ones() as usize;
        }
    }
    next
}
