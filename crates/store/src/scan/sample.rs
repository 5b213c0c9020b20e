//! Chooses the rows of a random sample.

use pelorus_chunk::Selection;

/// A share of the rows of a unit, picked at random, the same ones every time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    share: f64,
    seed: u64,
}

impl Sample {
    /// A sample of so large a share of the rows, from 0 to 1. Units of one table get different
    /// seeds.
    pub fn new(share: f64, seed: u64) -> Self {
        Self { share, seed }
    }

    /// The same share of another block of rows.
    pub(crate) fn of_block(self, first: u32) -> Self {
        Self { seed: mixed(self.seed ^ u64::from(first)), ..self }
    }

    /// The rows of a block that are in the sample: each with the same probability, whatever the
    /// others are.
    pub(crate) fn pick(self, rows: usize) -> Selection {
        if self.share >= 1.0 {
            return Selection::all(rows);
        }
        let mut picked = Selection::none(rows);
        if self.share <= 0.0 {
            return picked;
        }
        let (mut state, mut next) = (self.seed, 0_usize);
        let log = (1.0 - self.share).ln();
        loop {
            state = state.wrapping_add(GOLDEN);
            // A number above 0 and up to 1, and from it how many rows are passed over.
            let chance = ((mixed(state) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let passed_over = (chance.ln() / log) as usize;
            next = next.saturating_add(passed_over);
            if next >= rows {
                return picked;
            }
            picked.insert(next..next + 1);
            next += 1;
        }
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64: spreads the bits of a number over another one.
fn mixed(seed: u64) -> u64 {
    let mut out = seed;
    out = (out ^ (out >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    out = (out ^ (out >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    out ^ (out >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_of_every_part_of_the_rows() {
        const ROWS: usize = 131_072;
        let picked = Sample::new(0.1, 5).pick(ROWS);
        for begin in (0..ROWS).step_by(ROWS / 8) {
            let found = picked.count_in(begin..begin + ROWS / 8);
            assert!((1400..1880).contains(&found), "{found}");
        }
        assert_eq!(picked, Sample::new(0.1, 5).pick(ROWS));
        assert_ne!(picked, Sample::new(0.1, 6).pick(ROWS));
        assert_eq!(Sample::new(1.0, 5).pick(77).count(), 77);
        assert_eq!(Sample::new(0.0, 5).pick(77).count(), 0);
    }
}
