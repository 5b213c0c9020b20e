//! Compaction of arrays by AVX-512, which has an instruction for it.

use std::arch::x86_64::{
    _mm512_loadu_epi32, _mm512_loadu_epi64, _mm512_maskz_compress_epi32,
    _mm512_maskz_compress_epi64, _mm512_storeu_epi32, _mm512_storeu_epi64,
};
use std::mem::MaybeUninit;

use super::{Kernel, check};

/// The kernel for values of this size, if there is one and the processor can run it.
pub(super) fn kernel<T: Copy>() -> Option<Kernel<T>> {
    if !is_x86_feature_detected!("avx512f") || !is_x86_feature_detected!("popcnt") {
        return None;
    }
    match size_of::<T>() {
        // SAFETY: the processor has the features, and values have the size.
        8 => Some(|cells, words, places| unsafe { eights(cells, words, places) }),
        // SAFETY: as above.
        4 => Some(|cells, words, places| unsafe { fours(cells, words, places) }),
        _ => None,
    }
}

/// # Safety
/// Values have 8 bytes.
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn eights<T>(cells: &[[T; 64]], words: &[u64], places: &mut [MaybeUninit<T>]) -> usize {
    check(cells, words, places);
    let mut next = 0;
    for (cells, word) in cells.iter().zip(words) {
        for (cells, mask) in cells.as_chunks::<8>().0.iter().zip(word.to_le_bytes()) {
            // SAFETY: eight values of 8 bytes are read.
            let eight = unsafe { _mm512_loadu_epi64(cells.as_ptr().cast()) };
            let kept = _mm512_maskz_compress_epi64(mask, eight);
            // SAFETY: of every eight cells before at most eight were kept, so that `next` is at
            // most their number, and eight places follow it, since there are as many places as
            // cells.
            unsafe { _mm512_storeu_epi64(places.as_mut_ptr().add(next).cast(), kept) };
            next += mask.count_ones() as usize;
        }
    }
    next
}

/// # Safety
/// Values have 4 bytes.
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn fours<T>(cells: &[[T; 64]], words: &[u64], places: &mut [MaybeUninit<T>]) -> usize {
    check(cells, words, places);
    let mut next = 0;
    for (cells, word) in cells.iter().zip(words) {
        let masks = [0, 16, 32, 48].map(|by| (word >> by & 0xFFFF) as u16);
        for (cells, mask) in cells.as_chunks::<16>().0.iter().zip(masks) {
            // SAFETY: 16 values of 4 bytes are read.
            let sixteen = unsafe { _mm512_loadu_epi32(cells.as_ptr().cast()) };
            let kept = _mm512_maskz_compress_epi32(mask, sixteen);
            // SAFETY: of every 16 cells before at most 16 were kept, so that `next` is at most
            // their number, and 16 places follow it, since there are as many places as cells.
            unsafe { _mm512_storeu_epi32(places.as_mut_ptr().add(next).cast(), kept) };
            next += mask.count_ones() as usize;
        }
    }
    next
}
