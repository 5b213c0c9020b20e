//! Compacts arrays: appends the selected values of many, the kernel of scans that skip rows.
//!
//! If one row in seven is dead no branch can be predicted, so there is no branch per row: a value
//! is always copied, and the position of the next one advances by the row's bit. Processors with
//! AVX-512 do that for 64 bytes in one instruction (`VPCOMPRESSQ`, `VPCOMPRESSD`), those with AVX2
//! for eight values (four of 8 bytes) by a permutation from a table indexed by their bits. Narrower
//! values need less copying, so codes are selected before they are decoded.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::mem::MaybeUninit;

use super::codes::Code;

/// Appends those of some values, one for each bit, whose bits are set. Values without a bit are
/// left out.
pub(super) fn append<T: Copy>(values: &[T], words: &[u64], out: &mut Vec<T>) {
    append_by(values, words, out, kernel(), |value| value);
}

/// Numbers as codes: base + code * step, wrapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) base: u64,
    pub(super) step: u32,
}

/// Appends the numbers of those of some codes, one for each bit, whose bits are set, if there is
/// something faster for that than selecting the codes first and then looking for their numbers.
pub(super) fn append_line<C: Code>(
    codes: &[C],
    words: &[u64],
    line: Line,
    out: &mut Vec<i64>,
) -> bool {
    let Some(kernel) = line_kernel::<C>() else { return false };
    let kernel = |codes: &_, words: &_, places: &mut _| kernel(codes, words, line, places);
    let number = |code: C| line.base.wrapping_add(code.wide() * u64::from(line.step));
    append_by(codes, words, out, kernel, |code| number(code).cast_signed());
    true
}

#[inline]
fn append_by<C: Copy, T>(
    cells: &[C],
    words: &[u64],
    out: &mut Vec<T>,
    kernel: impl FnOnce(&[[C; 64]], &[u64], &mut [MaybeUninit<T>]) -> usize,
    value: impl Fn(C) -> T,
) {
    let (whole, rest) = cells.as_chunks::<64>();
    let some = whole.len().min(words.len());
    let (whole, rest) = (&whole[..some], if some < whole.len() { &[] } else { rest });
    out.reserve(cells.len());
    let places = &mut out.spare_capacity_mut()[..some * 64];
    let count = kernel(whole, &words[..some], places);
    let length = out.len() + count;
    assert!(length <= out.capacity(), "{count} of {some} times 64 values");
    // SAFETY: there is room for as many, as was just seen, and the kernel has written them.
    unsafe { out.set_len(length) };
    let word = words.get(some).copied().unwrap_or(0);
    for (bit, &cell) in rest.iter().enumerate() {
        if word >> bit & 1 == 1 {
            out.push(value(cell));
        }
    }
}

/// Writes the values whose bits are set to the first places; returns how many, all of which are
/// written. The places after them may be written as well. There are as many words as groups of
/// values, and 64 places for each, or it panics.
type Kernel<T> = fn(&[[T; 64]], &[u64], &mut [MaybeUninit<T>]) -> usize;

fn kernel<T: Copy>() -> Kernel<T> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = avx512::kernel().or_else(avx2::kernel) {
        return kernel;
    }
    one_by_one
}

/// The same for the numbers of codes.
type LineKernel<C> = fn(&[[C; 64]], &[u64], Line, &mut [MaybeUninit<i64>]) -> usize;

fn line_kernel<C: Copy>() -> Option<LineKernel<C>> {
    #[cfg(target_arch = "x86_64")]
    return avx2::line_kernel();
    #[cfg(not(target_arch = "x86_64"))]
    None
}

fn one_by_one<T: Copy>(cells: &[[T; 64]], words: &[u64], places: &mut [MaybeUninit<T>]) -> usize {
    check(cells, words, places);
    let mut next = 0;
    for (cells, &word) in cells.iter().zip(words) {
        for (bit, cell) in cells.iter().enumerate() {
            // Not more were kept than came before, so the place is there.
            places[next].write(*cell);
            next += usize::from(word >> bit & 1 == 1);
        }
    }
    next
}

fn check<C, T>(cells: &[[C; 64]], words: &[u64], places: &[MaybeUninit<T>]) {
    assert!(cells.len() == words.len() && places.len() == cells.len() * 64);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "any values will do")]

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
        let values: Vec<T> = (0..length).map(&value).collect();
        let mut out = vec![value(100_000)];
        append(&values, bits, &mut out);
        assert_eq!(out, expected);
    }

    /// All kernels for values of a size do what the plain one does.
    fn kernels_agree<T: Copy + PartialEq + std::fmt::Debug>(
        words: &[u64],
        value: impl Fn(usize) -> T,
    ) {
        let cells: Vec<[T; 64]> =
            (0..words.len()).map(|at| std::array::from_fn(|bit| value(at * 64 + bit))).collect();
        let run = |kernel: Kernel<T>| {
            let mut out = Vec::with_capacity(words.len() * 64);
            let count = kernel(&cells, words, &mut out.spare_capacity_mut()[..words.len() * 64]);
            // SAFETY: a kernel has written so many.
            unsafe { out.set_len(count) };
            out
        };
        let expected = run(one_by_one);
        assert_eq!(run(kernel()), expected);
        #[cfg(target_arch = "x86_64")]
        for kernel in [avx512::kernel(), avx2::kernel()].into_iter().flatten() {
            assert_eq!(run(kernel), expected);
        }
    }

    proptest! {
        #[test]
        fn the_selected_values_remain_in_order(
            bits in prop::collection::vec(
                prop_oneof![4 => any::<u64>(), 1 => Just(0), 1 => Just(u64::MAX)],
                0..6,
            ),
            missing in 0_usize..64,
            base: u64,
            step: u32,
        ) {
            let line = Line { base, step };
            let drawn = |at: usize| (at as u64 + base).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            lines_agree(&bits, missing, line, |at| [drawn(at) as u8]);
            lines_agree(&bits, missing, line, |at| (drawn(at) as u16).to_le_bytes());
            lines_agree(&bits, missing, line, |at| (drawn(at) as u32).to_le_bytes());
            check(&bits, missing, |at| at as u64);
            check(&bits, missing, |at| at as f64);
            check(&bits, missing, |at| at as u32);
            check(&bits, missing, |at| at as i128);
            check(&bits, missing, |at| at as u16);
            check(&bits, missing, |at| (at % 251) as u8);
            kernels_agree(&bits, |at| at as u64 * 3);
            kernels_agree(&bits, |at| at as u32 * 3);
            kernels_agree(&bits, |at| at as u16 * 3);
            kernels_agree(&bits, |at| [(at % 251) as u8]);
            kernels_agree(&bits, |at| at as i128);
        }
    }

    /// The numbers of selected codes are those of all codes, selected.
    fn lines_agree<C: Code>(bits: &[u64], missing: usize, line: Line, code: impl Fn(usize) -> C) {
        let length = (bits.len() * 64).saturating_sub(missing);
        let codes: Vec<C> = (0..length).map(code).collect();
        let number = |code: &C| line.base.wrapping_add(code.wide() * u64::from(line.step));
        let all: Vec<i64> = codes.iter().map(|code| number(code).cast_signed()).collect();
        let (mut expected, mut found) = (vec![7], vec![7]);
        append(&all, bits, &mut expected);
        if append_line(&codes, bits, line, &mut found) {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn values_without_bits_are_left_out() {
        let values: Vec<u32> = (0..300).collect();
        for words in 0..6 {
            let mut out = Vec::new();
            append(&values, &vec![u64::MAX; words], &mut out);
            assert_eq!(out, values[..values.len().min(words * 64)]);
        }
    }
}
