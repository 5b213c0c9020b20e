//! Text for a terminal of 100 columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array};
use pelorus_env::{Disk as _, Open, SimDisk};
use pelorus_fsck::{FileView, Kind, UsedBy, check, inspect, render};

use crate::harness::{
    Machine, commit, files, folder, narrow_schema, put, wide_columns, wide_schema,
};

fn disk() -> SimDisk {
    let machine = Machine::new(SimDisk::new(1), 1);
    let database = machine.open();
    let table = database.create_table(wide_schema(), b"").unwrap();
    let narrow = database.create_table(narrow_schema(), b"").unwrap();
    for round in 0..6 {
        let keys: Vec<i64> = (round * 900..round * 900 + 3000).collect();
        let columns = wide_columns(&keys, round.unsigned_abs(), 7);
        let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![round.unsigned_abs(); 1]));
        commit(&database, vec![put(table, 1, columns), put(narrow, 0, vec![numbers])]);
        if round % 2 == 0 {
            while database.maintain().unwrap() {}
        }
        database.checkpoint().unwrap();
    }
    machine.disk
}

fn fits(text: &str) {
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{} characters: {line}", line.chars().count());
    }
}

/// Blocks and holes of the newest checkpoint and the header cover the file once.
fn is_covered(view: &FileView) {
    let mut end = 65536;
    let blocks = view.blocks.iter().map(|block| (block.offset, block.taken));
    let mut places: Vec<(u64, u64)> =
        blocks.chain(view.holes.iter().map(|hole| (hole.offset, hole.bytes))).collect();
    places.sort_unstable();
    for (offset, bytes) in places {
        assert_eq!(offset, end);
        end += bytes;
    }
    let newest = view.headers.iter().find(|header| header.state == "newest").unwrap();
    assert!(end >= newest.length);
}

#[test]
fn reports_and_views_fit_a_terminal() {
    let disk = disk();
    let report = check(&disk, &folder());
    let text = render(&report);
    fits(&text);
    assert!(text.ends_with("sound\n"), "{text}");
    for name in ["catalog", "table-1", "table-2"] {
        let view = inspect(&disk, &folder().join(format!("{name}.blocks")));
        assert_eq!(view.findings, []);
        is_covered(&view);
        let text = render(&view);
        fits(&text);
        assert!(text.ends_with("\nsound\n"), "{text}");
    }
    let path = folder().join("table-1.blocks");
    let view = inspect(&disk, &path);
    let chunk = view.blocks.iter().find(|it| it.kind == Kind::Chunk).unwrap();
    disk.flip_bit(&path, chunk.offset + 100, 1).unwrap();
    let text = render(&check(&disk, &folder()));
    fits(&text);
    let name = format!("block {}, offset {}", chunk.number, chunk.offset);
    assert!(text.contains(&name) && text.contains("what to do:"), "{text}");
    assert!(text.contains("DAMAGED"), "{text}");
    let view = inspect(&disk, &path);
    assert_eq!(view.damage().unwrap().block, Some(chunk.number));
    let text = render(&view);
    fits(&text);
    assert!(text.contains("\nDAMAGED: the block is damaged: the checksum"), "{text}");
}

#[test]
fn tables_have_their_names() {
    let machine = Machine::new(SimDisk::new(3), 3);
    let database = machine.open();
    database.create_table(narrow_schema(), b"shop\0sale\0\0CREATE TABLE sale").unwrap();
    let later = database.create_table(narrow_schema(), b"shop\0old\0\0").unwrap();
    database.checkpoint().unwrap();
    // The log knows better than the checkpoint.
    database.define_tables(vec![(later, b"shop\0new\0\0".to_vec())]).unwrap();
    drop(database);
    let text = render(&check(&machine.disk, &folder()));
    assert!(text.contains("table 1 (shop.sale): ") && text.contains("table 2 (shop.new): "));
}

#[test]
fn the_map_shows_every_kind_in_its_place() {
    let view = inspect(&disk(), &folder().join("table-1.blocks"));
    let text = render(&view);
    let cells: Vec<char> = text
        .lines()
        .filter_map(|line| Some(line.split_once(" K |")?.1.trim_end_matches('|')))
        .flat_map(str::chars)
        .collect();
    assert!(cells[..16].iter().all(|cell| *cell == 'H'));
    for block in &view.blocks {
        let letter = match block.kind {
            Kind::Table => 'T',
            Kind::Chunk => 'C',
            Kind::Deltas => 'D',
            Kind::Manifest => 'M',
            _ => panic!("{block:?}"),
        };
        let is_spare = block.used_by == UsedBy::Fallback;
        let letter = if is_spare { letter.to_ascii_lowercase() } else { letter };
        let at = usize::try_from(block.offset / 4096).unwrap();
        let count = usize::try_from(block.taken / 4096).unwrap();
        assert!(cells[at..at + count].iter().all(|cell| *cell == letter), "{block:?}\n{text}");
    }
    for hole in &view.holes {
        assert_eq!(cells[usize::try_from(hole.offset / 4096).unwrap()], '.');
    }
    assert!(!view.holes.is_empty());
}

#[test]
fn a_file_that_is_none_is_told() {
    let disk = disk();
    let view = inspect(&disk, &folder().join("nothing"));
    let text = render(&view);
    assert_eq!(text.lines().next(), Some("/data/nothing"));
    assert!(text.ends_with("DAMAGED: the file is missing\n"), "{text}");
    let (segment, _) = files(&disk).into_iter().next_back().unwrap();
    let view = inspect(&disk, &segment);
    assert_eq!(view.findings.iter().filter(|it| it.what.contains("not valid")).count(), 2);
    assert!(!view.is_usable() && view.damage().is_some());
    let path = folder().join("empty");
    drop(disk.open(&path, Open::Create).unwrap());
    let text = render(&inspect(&disk, &path));
    assert!(text.ends_with("too short for it\n"), "{text}");
}
