//! Tests of damaged files: an error that names the place, or the right answer by the other header;
//! never a wrong payload, never a panic.

use std::path::Path;

use crate::{BlockFile, Identity, UNIT};
use pelorus_env::{Disk as _, SimDisk};
use pelorus_error::{Code, Result};

use super::script::*;

/// A file after some checkpoints, nothing pending.
fn sample(rounds: u64) -> (SimDisk, Model) {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    work(&file, &mut model, 21, rounds, &mut stop).unwrap();
    (disk.snapshot(), model)
}

fn field(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The slots of the newest and of the older header.
fn slots(disk: &SimDisk) -> (usize, usize) {
    let bytes = disk.durable_bytes(path()).unwrap();
    if field(&bytes, 56) > field(&bytes, 4096 + 56) { (0, 1) } else { (1, 0) }
}

/// Everything that can be read is right, and the rest says which block it is.
fn assert_no_wrong_payload(disk: &SimDisk, model: &Model) -> Result<usize> {
    let file = open(disk)?;
    let (_, contents) = &model.checkpoints[&file.header().number];
    let mut damaged = 0;
    assert_eq!(file.blocks().len(), contents.len());
    for block in file.blocks() {
        match file.read(block.id) {
            Ok(payload) => assert!(payload == contents[&block.id], "block {}", block.id),
            Err(error) => {
                let place = format!("file table: block {} at offset {}", block.id, block.offset);
                assert!(error.message().starts_with(&place), "{error}");
                assert_eq!(error.code(), Code::FileDamaged, "{error}");
                damaged += 1;
            }
        }
    }
    let found = file.verify_all();
    assert_eq!(found.iter().filter(|damage| damage.block.is_some()).count(), damaged);
    Ok(damaged)
}

#[test]
fn every_bit_of_both_headers_is_guarded() {
    let (disk, model) = sample(6);
    let (newest, older) = slots(&disk);
    let last = model.acknowledged;
    for (slot, number) in [(newest, last - 1), (older, last)] {
        for at in (slot * 4096) as u64..(slot * 4096 + 4096) as u64 {
            for bit in 0..8 {
                disk.flip_bit(path(), at, bit).unwrap();
                let file = open(&disk).unwrap();
                assert_eq!(file.header().number, number, "bit {bit} of byte {at}");
                assert!(file.fallback().unwrap().contains(&format!("header slot {slot}")));
                disk.flip_bit(path(), at, bit).unwrap();
            }
        }
        disk.flip_bit(path(), (slot * 4096 + 99) as u64, 0).unwrap();
        model.assert_state(&open(&disk).unwrap(), &[number]);
        disk.flip_bit(path(), (slot * 4096 + 99) as u64, 0).unwrap();
    }
    disk.flip_bit(path(), 10, 0).unwrap();
    disk.flip_bit(path(), 5000, 0).unwrap();
    let error = open(&disk).unwrap_err();
    assert_eq!(error.code(), Code::FileDamaged);
    assert!(error.message().starts_with("file table: no header is usable"), "{error}");
}

#[test]
fn every_bit_of_the_translation_tables_is_guarded() {
    let (disk, model) = sample(6);
    let (newest, older) = slots(&disk);
    let bytes = disk.durable_bytes(path()).unwrap();
    let last = model.acknowledged;
    for (slot, number) in [(newest, last - 1), (older, last)] {
        let offset = field(&bytes, slot * 4096 + 104);
        let length = 72 + field(&bytes, slot * 4096 + 112);
        for at in offset..offset + length {
            for bit in 0..8 {
                disk.flip_bit(path(), at, bit).unwrap();
                let file = open(&disk).unwrap();
                assert_eq!(file.header().number, number, "bit {bit} of byte {at}");
                assert!(file.fallback().is_some());
                disk.flip_bit(path(), at, bit).unwrap();
            }
        }
    }
}

#[test]
fn a_damaged_root_makes_the_file_fall_back() {
    let (disk, model) = sample(6);
    let file = open(&disk).unwrap();
    let root = file.header().root.unwrap();
    let block = *file.blocks().iter().find(|block| block.id == root).unwrap();
    disk.flip_bit(path(), block.offset + 75, 0).unwrap();
    let file = open(&disk).unwrap();
    model.assert_state(&file, &[model.acknowledged - 1]);
    assert!(file.fallback().unwrap().contains("checksum mismatch"), "{:?}", file.fallback());
}

#[test]
fn every_bit_of_every_block_is_guarded() {
    let (disk, model) = sample(6);
    let file = open(&disk).unwrap();
    let mut bits = 0;
    for block in file.blocks() {
        let contents = &model.checkpoints[&model.acknowledged].1[&block.id];
        for at in 0..72 + u64::from(block.length).min(200) {
            for bit in 0..8 {
                disk.flip_bit(path(), block.offset + at, bit).unwrap();
                let error = file.read(block.id).unwrap_err();
                assert_eq!(error.code(), Code::FileDamaged);
                let place = format!("file table: block {} at offset {}", block.id, block.offset);
                assert!(error.message().starts_with(&place), "{error}");
                disk.flip_bit(path(), block.offset + at, bit).unwrap();
                bits += 1;
            }
        }
        assert_eq!(file.read(block.id).unwrap(), *contents);
    }
    assert!(bits > 10_000, "{bits}");
}

#[test]
fn blocks_in_the_wrong_place_are_found_out() {
    let (disk, model) = sample(6);
    let file = open(&disk).unwrap();
    let bytes = disk.durable_bytes(path()).unwrap();
    let unit = UNIT as usize;
    let blocks: Vec<_> = file.blocks().into_iter().filter(|block| block.kind == 1).collect();
    for (a, b) in blocks.iter().zip(blocks.iter().skip(1)) {
        let image = |offset: u64| &bytes[offset as usize..][..unit];
        let swapped = disk.fork(1);
        swapped.overwrite(path(), a.offset, image(b.offset)).unwrap();
        swapped.overwrite(path(), b.offset, image(a.offset)).unwrap();
        assert_eq!(assert_no_wrong_payload(&swapped, &model).unwrap(), 2);
        let error = open(&swapped).unwrap().read(a.id).unwrap_err();
        assert!(error.message().contains(&format!("block {} is there", b.id)), "{error}");
    }
    // A header in the other slot.
    let (newest, older) = slots(&disk);
    disk.overwrite(path(), older as u64 * 4096, &bytes[newest * 4096..][..4096]).unwrap();
    let file = open(&disk).unwrap();
    model.assert_state(&file, &[model.acknowledged]);
    assert!(file.fallback().unwrap().contains(&format!("written for slot {newest}")));
}

#[test]
fn an_intact_block_of_a_history_that_was_lost_is_found_out() {
    let (disk, _) = sample(3);
    // Twice the same number, generation and place.
    let [(lost, _), (disk, id)] = [1, 2].map(|byte| {
        let disk = disk.fork(1);
        let file = open(&disk).unwrap();
        let id = file.write(1, &[byte; 100], 1).unwrap();
        file.checkpoint(id, 1, || Ok(())).unwrap();
        (disk, id)
    });
    let file = open(&disk).unwrap();
    assert_eq!(file.read(id).unwrap(), [2; 100]);
    let offset = file.blocks().iter().find(|block| block.id == id).unwrap().offset;
    let bytes = lost.durable_bytes(path()).unwrap();
    disk.overwrite(path(), offset, &bytes[offset as usize..][..172]).unwrap();
    let error = file.read(id).unwrap_err();
    assert!(error.message().contains("not the one that is referred to"), "{error}");
}

#[test]
fn blocks_and_headers_of_the_past_are_found_out() {
    let (old, _) = sample(5);
    let (new, model) = sample(8);
    let bytes = old.durable_bytes(path()).unwrap();
    let mut replayed = 0;
    // A block of the past where there is another now.
    for offset in (65_536..bytes.len()).step_by(4096) {
        let disk = new.fork(1);
        disk.overwrite(path(), offset as u64, &bytes[offset..(offset + 4096).min(bytes.len())])
            .unwrap();
        replayed += assert_no_wrong_payload(&disk, &model).unwrap();
    }
    assert!(replayed > 0);
    // Headers of the past.
    for slot in [0, 1] {
        let disk = new.fork(1);
        disk.overwrite(path(), slot * 4096, &bytes[slot as usize * 4096..][..4096]).unwrap();
        let file = open(&disk).unwrap();
        assert!(file.fallback().is_some());
        model.assert_state(&file, &[model.acknowledged, model.acknowledged - 1]);
    }
    // The past of a block that has moved since.
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    let first = model.write(&file, vec![1; 50_000]).unwrap();
    let moved = model.write(&file, vec![2; 100]).unwrap();
    let block = |file: &BlockFile| *file.blocks().iter().find(|block| block.id == moved).unwrap();
    let old = block(&file).offset;
    model.checkpoint(&file, |_| Ok(())).unwrap();
    model.free(&file, first).unwrap();
    for _ in 0..2 {
        model.checkpoint(&file, |_| Ok(())).unwrap();
    }
    let before = disk.durable_bytes(path()).unwrap();
    file.relocate_tail(50_000).unwrap();
    model.checkpoint(&file, |_| Ok(())).unwrap();
    let new = block(&file).offset;
    assert!(new < old && file.read(moved).unwrap() == [2; 100]);
    disk.overwrite(path(), new, &before[old as usize..][..200]).unwrap();
    let error = file.read(moved).unwrap_err();
    assert!(error.message().contains("generation"), "{error}");
}

/// A header that is older than the one before the newest has lost its claim to its blocks, even if
/// its translation table is still there.
#[test]
fn a_header_that_is_no_longer_the_one_before_is_no_fallback() {
    let mut refused = 0;
    for rounds in 4..12 {
        let (past, _) = sample(rounds - 3);
        let (disk, model) = sample(rounds);
        let (slot, _) = slots(&past);
        assert_eq!(slot, slots(&disk).1, "headers alternate");
        let bytes = past.durable_bytes(path()).unwrap();
        let table = field(&bytes, slot * 4096 + 104) as usize;
        let units = (72 + field(&bytes, slot * 4096 + 112)).div_ceil(UNIT) as usize;
        let image = &bytes[table..(table + units * UNIT as usize).min(bytes.len())];
        disk.overwrite(path(), table as u64, image).unwrap();
        disk.overwrite(path(), slot as u64 * 4096, &bytes[slot * 4096..][..4096]).unwrap();
        // Where the table's place has been used again, nothing is proven.
        let Ok(file) = open(&disk) else { continue };
        if file.header().number != model.acknowledged || !file.verify_all().is_empty() {
            continue;
        }
        model.assert_state(&file, &[model.acknowledged]);
        let reason = file.fallback().unwrap();
        assert!(reason.contains("it is not checkpoint"), "{reason}");
        refused += 1;
    }
    assert!(refused > 0);
}

#[test]
fn a_file_of_another_table_is_refused() {
    let (disk, _) = sample(3);
    let refused = |identity| BlockFile::open(&shared(&disk), path(), identity).unwrap_err();
    let error = refused(Identity { table: 8, ..IDENTITY });
    assert_eq!(error.code(), Code::FileDamaged);
    assert!(error.message().contains("it belongs to table 7"), "{error}");
    assert_eq!(refused(Identity { database: [9; 16], ..IDENTITY }).code(), Code::FileDamaged);

    // One block of another table's file, at the same place with the same number.
    let other = Identity { table: 8, ..IDENTITY };
    let files = [(IDENTITY, "a"), (other, "b")].map(|(identity, name)| {
        let file = BlockFile::create(&shared(&disk), Path::new(name), identity).unwrap();
        let id = file.write(1, b"same", 1).unwrap();
        file.checkpoint(id, 1, || Ok(())).unwrap();
        (file, id)
    });
    disk.sync_folder(Path::new("")).unwrap();
    let bytes = disk.durable_bytes(Path::new("b")).unwrap();
    disk.overwrite(Path::new("a"), 65_536, &bytes[65_536..65_700]).unwrap();
    let (file, id) = &files[0];
    let error = file.read(*id).unwrap_err();
    assert!(error.message().contains("another table's block"), "{error}");
}

#[test]
fn a_cut_file_loses_no_more_than_what_was_cut() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    // Roots and tables go into the hole, so that the end of the file holds a block only.
    let hole = model.write(&file, vec![1; 60_000]).unwrap();
    model.write(&file, vec![2; 20_000]).unwrap();
    model.checkpoint(&file, |_| Ok(())).unwrap();
    model.free(&file, hole).unwrap();
    for _ in 0..4 {
        model.checkpoint(&file, |_| Ok(())).unwrap();
    }
    let length = disk.durable_bytes(path()).unwrap().len() as u64;
    let mut outcomes = std::collections::BTreeSet::new();
    for length in (0..length).step_by(512) {
        let cut = disk.fork(1);
        cut.truncate_raw(path(), length).unwrap();
        outcomes.insert(match assert_no_wrong_payload(&cut, &model) {
            Ok(damaged) => damaged > 0,
            Err(error) => {
                assert_eq!(error.code(), Code::FileDamaged, "{error}");
                continue;
            }
        });
    }
    assert_eq!(outcomes.len(), 2, "some cuts hit blocks, some only slack");
}

#[test]
fn zeroed_and_doubled_sectors_are_found_out() {
    let (disk, model) = sample(6);
    let bytes = disk.durable_bytes(path()).unwrap();
    for at in (0..bytes.len()).step_by(512).filter(|at| !(8192..65_536).contains(at)) {
        let other = (at + 4096) % bytes.len() / 512 * 512;
        let doubled = bytes[other..(other + 512).min(bytes.len())].to_vec();
        for sector in [vec![0; 512], doubled] {
            let damaged = disk.fork(1);
            damaged.overwrite(path(), at as u64, &sector).unwrap();
            assert_no_wrong_payload(&damaged, &model).unwrap();
        }
    }
}
