//! The hash of an encoded key: folded 64 x 64 -> 128 bit multiplication.
//!
//! The building block is the "multiply, then xor the two halves of the product" of Wang Yi's wyhash
//! (<https://github.com/wangyi-fudan/wyhash>), written here from its description. Two things
//! differ. Both factors that meet bytes of the key depend on the seed: a product with a known
//! constant would let an attacker choose keys that make it zero and so collide, whatever the seed.
//! And the length enters last, so that keys that differ in length only do not collide.
//!
//! Hashes are never written to disk; the function may change between versions.

/// Odd constants with about as many ones as zeros: the first digits of pi after its integer part.
const PI: [u64; 3] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7345, 0xA409_3822_299F_31D1];

/// The 128-bit product of both, its halves xored.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let (low, high) = a.carrying_mul(b, 0);
    low ^ high
}

/// Hashes a key. All 64 bits are of good quality. The seed must be secret and random where keys
/// come from strangers: it prevents the choice of keys that collide.
#[inline]
pub fn hash_key(seed: u64, key: &[u8]) -> u64 {
    let left = seed ^ PI[0];
    let right = seed.rotate_left(32) ^ PI[1];
    let state = match (key.first_chunk::<8>(), key.last_chunk::<8>()) {
        // Up to 16 bytes: both words may overlap, which is one-to-one as the length is known.
        (Some(head), Some(tail)) if key.len() <= 16 => {
            // Turned, so that a key of eight bytes is not multiplied by its own like: swapped
            // factors would give the same product.
            let tail = u64::from_le_bytes(*tail).rotate_left(32);
            fold(u64::from_le_bytes(*head) ^ left, tail ^ right)
        }
        (Some(_), Some(_)) => fold_long(left, right, key),
        _ => fold(short_word(key) ^ left, right),
    };
    fold(state ^ right, key.len() as u64 ^ PI[2])
}

/// At most seven bytes as a word, one-to-one for keys of one length.
#[inline]
fn short_word(key: &[u8]) -> u64 {
    match (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        (Some(head), Some(tail)) => {
            u64::from(u32::from_le_bytes(*head)) | (u64::from(u32::from_le_bytes(*tail)) << 32)
        }
        _ => key.iter().fold(0, |word, &byte| (word << 8) | u64::from(byte)),
    }
}

/// Keys of more than 16 bytes: blocks of 16 one after the other, then the last 16 bytes, which
/// may overlap the block before.
fn fold_long(left: u64, right: u64, key: &[u8]) -> u64 {
    let block = |state: u64, block: &[u8; 16]| {
        let words = block.as_chunks::<8>().0;
        fold(u64::from_le_bytes(words[0]) ^ state, u64::from_le_bytes(words[1]) ^ right)
    };
    let state = key.as_chunks::<16>().0.iter().fold(left, block);
    // The state is turned so that a last block which equals the one before does not undo it.
    key.last_chunk::<16>().map_or(state, |last| block(state.rotate_left(23) ^ left, last))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::cast_possible_truncation, reason = "cells, bits and lengths are small")]

    use std::collections::HashSet;

    use super::*;

    /// Chi-square over `cells` cells of the given hash values, as standard deviations from what
    /// uniform values give.
    fn deviation(values: impl Iterator<Item = u64>, cells: u64) -> f64 {
        let mut counts = vec![0_u32; cells as usize];
        let mut all = 0.0;
        for value in values {
            counts[((u128::from(value) * u128::from(cells)) >> 64) as usize] += 1;
            all += 1.0;
        }
        let expected = all / cells as f64;
        let chi: f64 =
            counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        let freedom = (cells - 1) as f64;
        (chi - freedom) / (2.0 * freedom).sqrt()
    }

    /// Every input bit turns every output bit in about half of the cases.
    fn check_avalanche(length: usize) {
        const TRIES: u64 = 4_000;
        let mut turned = vec![[0_u32; 64]; length * 8];
        for at in 0..TRIES {
            let mut key: Vec<u8> =
                (0..length).map(|byte| (hash_key(at, &[byte as u8, 1]) & 255) as u8).collect();
            let before = hash_key(at, &key);
            for (bit, turned) in turned.iter_mut().enumerate() {
                key[bit / 8] ^= 1 << (bit % 8);
                let change = before ^ hash_key(at, &key);
                key[bit / 8] ^= 1 << (bit % 8);
                turned.iter_mut().enumerate().for_each(|(out, n)| *n += (change >> out) as u32 & 1);
            }
        }
        // Six standard deviations of a fair coin; up to 25,600 coins per length are looked at.
        let tolerance = 6.0 * (TRIES as f64).sqrt() / 2.0;
        for (bit, turned) in turned.iter().enumerate() {
            for (out, &n) in turned.iter().enumerate() {
                let off = (f64::from(n) - TRIES as f64 / 2.0).abs();
                assert!(off <= tolerance, "length {length}, bit {bit} -> {out}: {n} of {TRIES}");
            }
        }
    }

    #[test]
    fn every_bit_of_the_key_moves_every_bit_of_the_hash() {
        for length in [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 32, 40] {
            check_avalanche(length);
        }
    }

    #[test]
    fn sequential_integers_spread_evenly() {
        for seed in [0, 1, 0x9E37_79B9_7F4A_7C15] {
            for shift in [0, 3, 16, 32] {
                let hashes = |bytes: fn(u64) -> [u8; 8]| {
                    (0..200_000_u64).map(move |i| hash_key(seed, &bytes(i << shift)))
                };
                for bytes in [u64::to_be_bytes, u64::to_le_bytes] {
                    // The top bits choose shard and bucket; the low ones are looked at as well.
                    for turn in [0, 12, 32] {
                        let off = deviation(hashes(bytes).map(|h| h.rotate_left(turn)), 4_096);
                        assert!(off.abs() < 6.0, "seed {seed}, shift {shift}, {turn}: {off}");
                    }
                }
            }
            let short = (0..200_000_u32).map(|i| hash_key(seed, &i.to_be_bytes()));
            let off = deviation(short, 4_096);
            assert!(off.abs() < 6.0, "seed {seed}, four bytes: {off}");
        }
    }

    #[test]
    fn keys_that_differ_in_few_bytes_do_not_meet() {
        let mut seen = HashSet::new();
        let mut count = 0;
        for length in [8, 12, 16, 17, 31, 32, 33, 48] {
            for first in 0..length {
                for value in 0..=255_u8 {
                    for second in [0, length / 2, length - 1] {
                        let mut key = vec![b'k'; length];
                        key[second] = b'z';
                        key[first] = value;
                        seen.insert(key);
                    }
                }
            }
        }
        let hashes: HashSet<u64> = seen.iter().map(|key| hash_key(3, key)).collect();
        count += seen.len();
        assert_eq!(hashes.len(), count);
        let off = deviation(seen.iter().map(|key| hash_key(3, key)), 1_024);
        assert!(off.abs() < 6.0, "{off}");
    }

    #[test]
    fn zeros_of_each_length_and_repeated_blocks_differ() {
        let zeros: HashSet<u64> = (0..200).map(|n| hash_key(5, &vec![0; n])).collect();
        assert_eq!(zeros.len(), 200);
        let ones: HashSet<u64> =
            (1..200).map(|n| hash_key(5, &b"0123456789abcdef".repeat(n))).collect();
        assert_eq!(ones.len(), 199);
        let seeds: HashSet<u64> = (0..1_000).map(|seed| hash_key(seed, b"key")).collect();
        assert_eq!(seeds.len(), 1_000);
    }

    #[test]
    fn no_key_known_without_the_seed_makes_a_factor_zero() {
        // Were one factor `head ^ PI[i]`, then all keys with this head would have one hash.
        for head in PI {
            let hashes: HashSet<u64> = (0..64_u64)
                .map(|tail| {
                    let mut key = head.to_le_bytes().to_vec();
                    key.extend(tail.to_le_bytes());
                    hash_key(0x5EED, &key)
                })
                .collect();
            assert_eq!(hashes.len(), 64);
        }
    }
}
