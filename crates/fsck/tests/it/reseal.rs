//! Changes bytes and makes all checksums above them right again, so that damage reaches what lies
//! behind the checksums.

use std::path::{Path, PathBuf};

use pelorus_env::{Disk as _, Open, SimDisk, read_exact_at};
use pelorus_fsck::{BlockView, FileView};

/// A whole file.
pub(crate) fn bytes_of(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, Open::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn size_at(bytes: &[u8], at: usize) -> usize {
    u64_at(bytes, at).try_into().unwrap()
}

/// Changes bytes of a payload and makes all checksums above it right again.
pub(crate) fn reseal(
    disk: &SimDisk,
    path: &Path,
    view: &FileView,
    block: &BlockView,
    changes: &[(u32, u8)],
) {
    let mut bytes = bytes_of(disk, path);
    let payload_at = usize::try_from(block.offset).unwrap() + 72;
    let length = usize::try_from(block.payload).unwrap();
    for (at, byte) in changes {
        // The beginning has the most structure.
        let within = if at.is_multiple_of(2) { length.min(200) } else { length };
        bytes[payload_at + (*at >> 1) as usize % within] = *byte;
    }
    reseal_above(&mut bytes, view, payload_at, length);
    disk.overwrite(path, 0, &bytes).unwrap();
}

/// Changes a byte of a column of a chunk; the column's checksum in the description is made right,
/// too.
pub(crate) fn reseal_column(
    disk: &SimDisk,
    path: &Path,
    view: &FileView,
    block: &BlockView,
    at: u32,
    byte: u8,
) {
    let mut bytes = bytes_of(disk, path);
    let payload_at = usize::try_from(block.offset).unwrap() + 72;
    let length = usize::try_from(block.payload).unwrap();
    let chunk = view.chunks.iter().find(|chunk| chunk.block == block.number);
    let Some(Ok(columns)) = chunk.map(|chunk| &chunk.columns) else { return };
    let number = at as usize % columns.len();
    let mut end = 0;
    for (place, column) in columns.iter().enumerate() {
        let begin = payload_at + usize::next_multiple_of(end, 64);
        end = begin - payload_at + usize::try_from(column.bytes).unwrap();
        if place == number {
            let whole = begin..payload_at + end;
            let before = crc32c(&bytes[whole.clone()]).to_le_bytes();
            // The header has the most structure.
            let most = if at & 0x8000_0000 == 0 { 32 } else { whole.len() };
            bytes[begin + (at >> 8) as usize % most] = byte;
            let after = crc32c(&bytes[whole]).to_le_bytes();
            let payload = &mut bytes[payload_at..payload_at + length];
            let place = payload.windows(4).rposition(|it| it == before).unwrap();
            payload[place..place + 4].copy_from_slice(&after);
        }
    }
    reseal_above(&mut bytes, view, payload_at, length);
    disk.overwrite(path, 0, &bytes).unwrap();
}

/// Changes a byte of a record of the log.
pub(crate) fn reseal_record(disk: &SimDisk, segments: &[PathBuf], record: u16, at: u32, byte: u8) {
    let mut found = Vec::new();
    for path in segments {
        let bytes = bytes_of(disk, path);
        let mut group = 4096;
        while bytes.get(group..group + 8) == Some(b"PELORGRP") {
            let end = group + size_at(&bytes, group + 8);
            let mut begin = group + 40;
            while begin < end {
                let size = u32::from_le_bytes(bytes[begin..begin + 4].try_into().unwrap()) as usize;
                found.push((path, begin, size));
                begin += 8 + size;
            }
            group = end.next_multiple_of(4096);
        }
    }
    let (path, begin, size) = found[usize::from(record) % found.len()];
    let mut bytes = bytes_of(disk, path);
    // The beginning has the most structure.
    let within = if at.is_multiple_of(4) { size } else { size.min(120) };
    bytes[begin + 8 + (at >> 2) as usize % within] = byte;
    let position = u64_at(&bytes, 40) + begin as u64 - 4096;
    let payload = crc32c(&bytes[begin + 8..begin + 8 + size]);
    let sealed = [
        &bytes[16..40],
        &position.to_le_bytes()[..],
        &bytes[begin..begin + 4],
        &payload.to_le_bytes(),
    ];
    let crc = crc32c(&sealed.concat());
    bytes[begin + 4..begin + 8].copy_from_slice(&crc.to_le_bytes());
    disk.overwrite(path, 0, &bytes).unwrap();
}

/// Makes the checksums of a block right, and those of whatever refers to it.
fn reseal_above(bytes: &mut [u8], view: &FileView, payload_at: usize, length: usize) {
    let offset = (payload_at - 72) as u64;
    let check = seal(bytes, payload_at - 72, length);
    for slot in [0, 4096] {
        let at = |from: usize| slot + from..slot + from + 8;
        let (table, table_length) = (size_at(bytes, slot + 104), size_at(bytes, slot + 112));
        if table == 0 || view.headers[slot / 4096].state.starts_with("not") {
            continue;
        }
        let mut table_check = None;
        if table + 72 == payload_at {
            table_check = Some(check);
        } else {
            for entry in (table + 72 + 24..table + 72 + table_length).step_by(40) {
                if bytes[entry + 8..entry + 16] == offset.to_le_bytes() {
                    bytes[entry + 32..entry + 40].copy_from_slice(&check.to_le_bytes());
                    table_check = Some(seal(bytes, table, table_length));
                }
            }
        }
        if let Some(check) = table_check {
            bytes[at(120)].copy_from_slice(&check.to_le_bytes());
            let crc = crc32c(&bytes[slot..slot + 4092]);
            bytes[slot + 4092..slot + 4096].copy_from_slice(&crc.to_le_bytes());
        }
    }
}

/// Makes the checksums of a block right; gives its check.
fn seal(bytes: &mut [u8], at: usize, length: usize) -> u64 {
    let payload = crc32c(&bytes[at + 72..at + 72 + length]);
    bytes[at + 64..at + 68].copy_from_slice(&payload.to_le_bytes());
    let header = crc32c(&bytes[at..at + 68]);
    bytes[at + 68..at + 72].copy_from_slice(&header.to_le_bytes());
    u64::from(payload) << 32 | u64::from(header)
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    !crc
}
