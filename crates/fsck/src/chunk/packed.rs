//! Decodes packed sub-blocks number by number, as the format describes them.

use std::borrow::Cow;

use super::column::{parse_head, places};
use crate::bytes::{Cursor, Decoded, long, size};

/// Numbers of a block.
const BLOCK: usize = 2048;

/// The plain form of a sub-block, which may be packed.
pub(super) fn plain(bytes: &[u8]) -> Decoded<Cow<'_, [u8]>> {
    let is_packed = bytes.get(2).is_some_and(|codec| codec & 0x80 != 0);
    if !is_packed {
        return Ok(Cow::Borrowed(bytes));
    }
    let from = &mut Cursor::new(bytes);
    let mut plain = from.take(32)?.to_vec();
    plain[2] &= 0x7F;
    let head = parse_head(&plain)?;
    let lengths = (0..6).map(|_| Ok(size(from.u32()?))).collect::<Decoded<Vec<usize>>>()?;
    for (section, (place, length)) in places(&head).into_iter().zip(lengths).enumerate() {
        let stored = from.take(length)?;
        let whole = if length == place.len() {
            stored.to_vec()
        } else {
            let done = match section {
                0 | 5 => decompress(stored, place.len()),
                1 => numbers(stored, 8, place.len()),
                3 => numbers(stored, usize::from(head.width), place.len()),
                _ => rises(stored, place.len()),
            };
            done.map_err(|why| format!("its packed section {section}: {why}"))?
        };
        if !whole.is_empty() {
            plain.resize(place.start, 0);
            plain.extend_from_slice(&whole);
        }
    }
    from.end()?;
    Ok(Cow::Owned(plain))
}

fn decompress(stored: &[u8], length: usize) -> Decoded<Vec<u8>> {
    let said = zstd::zstd_safe::get_frame_content_size(stored).ok().flatten();
    // A block of a frame has at most 128 KiB, and at least 4 bytes.
    if said != Some(long(length)) || length >> 15 > stored.len() {
        return Err(format!("it is not a frame of {length} bytes"));
    }
    let whole = zstd::bulk::decompress(stored, length).map_err(|error| error.to_string())?;
    if whole.len() == length {
        Ok(whole)
    } else {
        Err(format!("it has {} bytes instead of {length}", whole.len()))
    }
}

/// Little-endian numbers of `width` bytes, `length` bytes in all, from *bits*.
fn numbers(stored: &[u8], width: usize, length: usize) -> Decoded<Vec<u8>> {
    if width == 0 {
        return Err("there are no numbers".into());
    }
    let (count, total) = (length / width, width * 8);
    let blocks = count.div_ceil(BLOCK);
    let from = &mut Cursor::new(stored);
    let (bases, widths) = (from.take(blocks * width)?, from.take(blocks)?);
    let mut found = Vec::new();
    for (block, bits) in widths.iter().map(|bits| usize::from(*bits)).enumerate() {
        if bits > total {
            return Err(format!("block {block} has numbers of {bits} bits"));
        }
        let base = little(&bases[block * width..][..width]);
        let many = BLOCK.min(count - block * BLOCK);
        let lanes = many.div_ceil(total);
        let words = from.take(bits * lanes * width)?;
        for at in 0..many {
            let (lane, nth) = (at % lanes, at / lanes);
            let mut value = 0_u64;
            for bit in 0..bits {
                let place = nth * bits + bit;
                let word = little(&words[(place / total * lanes + lane) * width..][..width]);
                value |= (word >> (place % total) & 1) << bit;
            }
            found.extend_from_slice(&base.wrapping_add(value).to_le_bytes()[..width]);
        }
    }
    from.end()?;
    Ok(found)
}

/// Rising numbers of 32 bits from their differences.
fn rises(stored: &[u8], length: usize) -> Decoded<Vec<u8>> {
    let mut sum = 0_u32;
    let mut found = Vec::with_capacity(length);
    for rise in numbers(stored, 4, length)?.as_chunks::<4>().0 {
        sum = sum.wrapping_add(u32::from_le_bytes(*rise));
        found.extend_from_slice(&sum.to_le_bytes());
    }
    Ok(found)
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
