//! Files of hostile bytes, through the public interface.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "files in memory are small")]

mod hostile;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(3000)))]

    #[test]
    fn hostile_bytes_do_no_harm(input in prop::collection::vec(any::<u8>(), 0..60)) {
        hostile::run(&input);
    }
}

/// What the inputs do is worth something: some files open, some do not, and some only by the other
/// header.
#[test]
fn hostile_bytes_have_every_outcome() {
    let mut seen = std::collections::BTreeSet::new();
    for number in 0_u32..2000 {
        let input: Vec<u8> =
            (0..8).flat_map(|at| (number.wrapping_mul(2_654_435_769) ^ at).to_le_bytes()).collect();
        seen.insert(hostile::run(&input));
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}
