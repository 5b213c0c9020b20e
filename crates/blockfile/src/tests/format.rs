//! Tests with bytes written by hand from `docs/internals/format-blockfile.md`: the content of a new
//! file, what is refused, and that no content of a header or table with right checksums makes the
//! reader panic.

use proptest::prelude::*;

use pelorus_env::SimDisk;
use pelorus_error::Code;

use super::script::*;

/// CRC-32C, bit by bit, as the document defines it.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 }
        })
    })
}

fn seal_header(slot: &mut [u8]) {
    let sum = crc(&slot[..4092]);
    slot[4092..4096].copy_from_slice(&sum.to_le_bytes());
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn sample() -> (SimDisk, Vec<u8>, usize) {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    work(&file, &mut model, 3, 4, &mut stop).unwrap();
    let bytes = disk.durable_bytes(path()).unwrap();
    let slot = if u64_at(&bytes, 56) > u64_at(&bytes, 4152) { 0 } else { 1 };
    (disk, bytes, slot)
}

#[test]
fn the_checksum_is_the_documented_one() {
    assert_eq!(crc(b"123456789"), 0xE306_9283);
}

#[test]
fn a_new_file_is_the_documented_bytes() {
    let disk = SimDisk::new(1);
    create(&disk).unwrap();
    let mut expected = vec![0; 65_536];
    for slot in [0_usize, 1] {
        let header = &mut expected[slot * 4096..slot * 4096 + 4096];
        header[..8].copy_from_slice(b"PELORUSB");
        header[8] = 1;
        header[12] = slot as u8;
        header[32..48].copy_from_slice(b"0123456789abcdef");
        header[48] = 7;
        header[56] = slot as u8;
        header[96..104].copy_from_slice(&65_536_u64.to_le_bytes());
        seal_header(header);
    }
    assert!(disk.durable_bytes(path()).unwrap() == expected);
}

#[test]
fn the_first_checkpoint_is_the_documented_bytes() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let root = file.write(9, b"payload", 40).unwrap();
    file.checkpoint(root, 41, || Ok(())).unwrap();
    let bytes = disk.durable_bytes(path()).unwrap();
    let block = |kind: u8, number: u64, lsn: u64, payload: &[u8]| {
        let mut block = b"PBLK".to_vec();
        block.extend([kind, 0, 0, 0]);
        block.extend(b"0123456789abcdef");
        for field in [7, number, 2, lsn, payload.len() as u64] {
            block.extend(field.to_le_bytes());
        }
        block.extend(crc(payload).to_le_bytes());
        let sum = crc(&block);
        block.extend(sum.to_le_bytes());
        let check = u64::from(crc(payload)) << 32 | u64::from(sum);
        block.extend(payload);
        (block, check)
    };
    let (data, check) = block(9, 1, 40, b"payload");
    assert_eq!(bytes[65_536..65_536 + data.len()], data);
    let mut table: Vec<u8> =
        [2, 2, 1, 1, 65_536_u64].iter().flat_map(|n| n.to_le_bytes()).collect();
    table.extend([7, 0, 0, 0, 9, 0, 0, 0]);
    table.extend(2_u64.to_le_bytes());
    table.extend(check.to_le_bytes());
    let (table, check) = block(0, 0, 41, &table);
    assert_eq!(bytes[69_632..69_632 + table.len()], table);
    let mut header = bytes[..4096].to_vec();
    let fields = [7, 2, 1, 41, 0, 1, 73_728, 69_632, 64, check];
    for (index, field) in fields.into_iter().enumerate() {
        assert_eq!(u64_at(&header, 48 + 8 * index), field, "field {index}");
    }
    seal_header(&mut header);
    assert_eq!(bytes[..4096], header);
}

#[test]
fn unknown_versions_and_features_are_refused() {
    for (at, name) in [(8, "version 3"), (16, "features 0x2"), (23, "features 0x200000000000000")] {
        for slot in [0, 1] {
            let (disk, bytes, _) = sample();
            let mut header = bytes[slot * 4096..slot * 4096 + 4096].to_vec();
            header[at] ^= 2;
            seal_header(&mut header);
            disk.overwrite(path(), slot as u64 * 4096, &header).unwrap();
            let error = open(&disk).unwrap_err();
            assert_eq!(error.code(), Code::FileVersion);
            assert!(error.message().contains(name), "{error}");
            let error = crate::BlockFile::identity_of(&shared(&disk), path()).unwrap_err();
            assert_eq!(error.code(), Code::FileVersion);
            assert!(error.message().contains(name), "{error}");
        }
    }
    // Optional features are none of the reader's business.
    let (disk, bytes, slot) = sample();
    let mut header = bytes[slot * 4096..slot * 4096 + 4096].to_vec();
    header[24] = 1;
    seal_header(&mut header);
    disk.overwrite(path(), slot as u64 * 4096, &header).unwrap();
    assert!(open(&disk).unwrap().fallback().is_none());
}

/// Puts a changed translation table into the file, with all checksums right.
fn replace_table(disk: &SimDisk, bytes: &[u8], slot: usize, payload: &[u8]) {
    let mut header = bytes[slot * 4096..slot * 4096 + 4096].to_vec();
    let offset = u64_at(&header, 104);
    let mut block = bytes[offset as usize..offset as usize + 72].to_vec();
    block[56..64].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    block[64..68].copy_from_slice(&crc(payload).to_le_bytes());
    let sum = crc(&block[..68]);
    block[68..].copy_from_slice(&sum.to_le_bytes());
    let check = u64::from(crc(payload)) << 32 | u64::from(sum);
    block.extend(payload);
    header[112..120].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    header[120..128].copy_from_slice(&check.to_le_bytes());
    seal_header(&mut header);
    disk.overwrite(path(), offset, &block).unwrap();
    disk.overwrite(path(), slot as u64 * 4096, &header).unwrap();
}

#[test]
fn a_table_that_breaks_a_rule_is_refused() {
    let (disk, bytes, slot) = sample();
    let offset = u64_at(&bytes, slot * 4096 + 104) as usize + 72;
    let length = u64_at(&bytes, slot * 4096 + 112) as usize;
    let table = &bytes[offset..offset + length];
    let check = |payload: &[u8]| {
        let disk = disk.fork(1);
        replace_table(&disk, &bytes, slot, payload);
        open(&disk).unwrap().fallback().map(str::to_owned)
    };
    assert_eq!(check(table), None);
    let last = length - 40;
    let second_offset = u64_at(table, 24 + 40 + 8);
    let rules: [(&str, usize, u64); 9] = [
        ("breaks the rules", 0, u64_at(table, last)), // next number too low
        ("another checkpoint's", 8, 1 << 40),         // checkpoint number
        ("number of entries", 16, 1),                 // count
        ("breaks the rules", 24, 0),                  // block number 0
        ("breaks the rules", 24, u64_at(table, 24 + 40)), // the same number twice
        ("breaks the rules", 32, 61_440),             // inside the reserved part
        ("breaks the rules", 32, u64_at(table, 32) + 512), // not on a unit
        ("breaks the rules", 32, 1 << 60),            // outside the file
        ("overlaps", 32, second_offset),              // on another block
    ];
    for (message, at, value) in rules {
        let mut broken = table.to_vec();
        broken[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let reason = check(&broken).unwrap_or_default();
        assert!(reason.contains(message), "{message} at {at}: {reason}");
    }
    for (message, broken) in [
        ("is cut", &table[..23]),
        ("number of entries", &table[..last]),
        ("number of entries", &table[..length - 1]),
    ] {
        let reason = check(broken).unwrap_or_default();
        assert!(reason.contains(message), "{reason}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(400)))]

    #[test]
    fn no_header_makes_the_reader_panic(
        changes in prop::collection::vec((48..130_usize, any::<u8>()), 1..12), slot in 0..2_usize,
    ) {
        let (disk, bytes, _) = sample();
        let mut header = bytes[slot * 4096..slot * 4096 + 4096].to_vec();
        for (at, byte) in changes {
            header[at] = byte;
        }
        seal_header(&mut header);
        disk.overwrite(path(), slot as u64 * 4096, &header).unwrap();
        if let Ok(file) = open(&disk) {
            file.verify_all();
            file.statistics();
            file.check_space().unwrap();
        }
    }

    #[test]
    fn no_table_makes_the_reader_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (disk, bytes, slot) = sample();
        let offset = u64_at(&bytes, slot * 4096 + 104) as usize + 72;
        let length = u64_at(&bytes, slot * 4096 + 112) as usize;
        let mut table = bytes[offset..offset + length].to_vec();
        for (index, byte) in changes {
            let at = index.index(table.len());
            table[at] = byte;
        }
        table.truncate(cut.map_or(length, |cut| cut.index(length)));
        replace_table(&disk, &bytes, slot, &table);
        let file = open(&disk).unwrap();
        file.verify_all();
        file.check_space().unwrap();
    }
}
