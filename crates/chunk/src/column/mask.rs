//! Bit masks: one bit a row from tests of 64 cells at a time.

/// The bits of word `word` whose cells pass; cells beyond the last row give clear bits.
///
/// The 64 outcomes go into bytes first, which compiles to vector comparisons, and eight of these
/// are then packed by one multiplication: byte i of the factor's product with 0 or 1 at bit 8i
/// lands at bit 56 + i, and no two partial products meet.
#[inline]
pub(super) fn of<C: Copy>(cells: &[C], word: usize, hit: impl Fn(C) -> bool) -> u64 {
    let rest = &cells[(word * 64).min(cells.len())..];
    if let Some(cells) = rest.first_chunk::<64>() {
        let mut hits = [0u8; 64];
        for (outcome, cell) in hits.iter_mut().zip(cells) {
            *outcome = u8::from(hit(*cell));
        }
        let (eights, _) = hits.as_chunks::<8>();
        return eights.iter().rev().fold(0, |bits, eight| {
            bits << 8 | u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
        });
    }
    rest.iter().rev().fold(0, |bits, &cell| bits << 1 | u64::from(hit(cell)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_cell_has_its_bit(cells in prop::collection::vec(any::<u8>(), 0..200)) {
            for word in 0..5 {
                let bits = super::of(&cells, word, |cell| cell > 100);
                for bit in 0..64 {
                    let hit = cells.get(word * 64 + bit).is_some_and(|&cell| cell > 100);
                    prop_assert_eq!(bits >> bit & 1 == 1, hit);
                }
            }
        }
    }
}
