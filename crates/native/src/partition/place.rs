//! Computes the number of the partition of a value under HASH, KEY, RANGE and LIST.

/// The partition of a value under `[LINEAR] HASH`.
pub(super) fn place_of_hash(value: i128, count: u32, linear: bool) -> u32 {
    let count = count.max(1);
    let place = if linear {
        // The powers-of-two algorithm of MySQL's manual.
        let mask = i128::from(count.next_power_of_two()) - 1;
        let place = value & mask;
        if place >= i128::from(count) { place & (mask >> 1) } else { place }
    } else {
        (value % i128::from(count)).abs()
    };
    u32::try_from(place).unwrap_or(0)
}

/// The partition of an encoded tuple under `[LINEAR] KEY`. It is part of the data format: FNV-1a
/// over the bytes, its halves folded.
pub(super) fn place_of_key(bytes: &[u8], count: u32, linear: bool) -> u32 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    let folded = (hash ^ (hash >> 32)) & 0xFFFF_FFFF;
    place_of_hash(i128::from(folded), count, linear)
}

/// The partition of a value under RANGE; NULL is below everything.
pub(super) fn place_in_range(value: Option<i128>, bounds: &[Option<i128>]) -> Option<u32> {
    let below = |bound: &Option<i128>| match (value, bound) {
        (None, _) | (_, None) => false,
        (Some(value), Some(bound)) => *bound <= value,
    };
    let place = bounds.partition_point(below);
    u32::try_from(place).ok().filter(|_| place < bounds.len())
}
