//! Damaged bytes: what is damaged is noticed and named, nothing panics, and whatever the store
//! refuses is complained about.

use std::path::PathBuf;

use pelorus_env::Disk as _;
use pelorus_fsck::{Finding, Kind, Severity, UsedBy, check, inspect, render};
use proptest::prelude::*;

use crate::harness::{by_fsck, files, findings, folder};
use crate::hostile::{
    self, agree_on_a_block, agree_on_a_record, data_files, database, store_reads,
};
use crate::referenced::{blocks, of_log, sample, slots};
use crate::reseal::{bytes_of, reseal};

#[test]
fn every_flipped_bit_of_a_block_is_noticed_and_named() {
    let disk = database(3);
    let (rows, report) = by_fsck(&disk);
    assert_eq!(findings(&report, Severity::Warning), "");
    let of_file = |path: &PathBuf| blocks(&disk, path);
    let (pieces, blocks): (Vec<_>, Vec<_>) = data_files(&disk).iter().flat_map(of_file).unzip();
    let mut kinds = std::collections::BTreeSet::new();
    for (number, at, bit) in sample(&pieces, 1500, 7) {
        let (block, path) = (&blocks[number], &pieces[number].0);
        kinds.insert(format!("{:?} {:?}", block.kind, block.used_by));
        let damaged = disk.fork(1);
        damaged.flip_bit(path, at, bit).unwrap();
        let (found, report) = by_fsck(&damaged);
        let what = format!("{} {block:?} byte {}", path.display(), at - block.offset);
        let is_told = report.findings.iter().any(|finding| {
            let names_it = match block.number {
                0 => finding.what.contains(&format!("offset {}", block.offset)),
                _ => {
                    finding.block == Some(block.number)
                        || finding.what.contains(&format!("block {}", block.number))
                }
            };
            let is_complete = finding.file == *path && !finding.advice.is_empty();
            finding.severity >= Severity::Warning && is_complete && names_it
        });
        assert!(is_told, "{what}: {}", findings(&report, Severity::Note));
        if block.used_by == UsedBy::Fallback {
            assert!(found == rows, "{what}");
        }
    }
    assert!(kinds.len() >= 10, "{kinds:?}");
}

#[test]
fn every_flipped_bit_of_a_header_is_noticed_and_loses_nothing() {
    let disk = database(2);
    let (rows, _) = by_fsck(&disk);
    let files = data_files(&disk);
    let pieces: Vec<_> = files.iter().flat_map(|path| slots(&disk, path)).collect();
    assert_eq!(pieces.len(), 2 * files.len());
    for (number, at, bit) in sample(&pieces, 500, 8) {
        let (path, slot) = &pieces[number];
        let damaged = disk.fork(1);
        damaged.flip_bit(path, at, bit).unwrap();
        let (found, report) = by_fsck(&damaged);
        assert!(
            report.findings.iter().any(|finding| {
                finding.severity == Severity::Warning
                    && finding.file == *path
                    && finding.offset == Some(slot.start)
            }),
            "{} slot at {}, byte {at}",
            path.display(),
            slot.start
        );
        assert!(report.is_sound() && found == rows);
    }
}

#[test]
fn every_flipped_bit_of_the_log_is_noticed_as_far_as_it_was_durable() {
    for seed in 0..4 {
        let disk = database(seed);
        let pieces = of_log(&disk, &folder());
        assert!(pieces.len() > 2, "{pieces:?}");
        for (number, at, bit) in sample(&pieces, 400, seed) {
            let path = &pieces[number].0;
            let damaged = disk.fork(1);
            damaged.flip_bit(path, at, bit).unwrap();
            let report = check(&damaged, &folder());
            let is_it = |it: &Finding| it.severity == Severity::Damage && it.file == *path;
            assert!(report.findings.iter().any(is_it), "{} byte {at}", path.display());
        }
    }
}

/// What no checkpoint refers to is of no account, whatever stands there.
#[test]
fn bytes_that_nothing_refers_to_may_change() {
    let disk = database(3);
    let (rows, _) = by_fsck(&disk);
    let mut pieces = Vec::new();
    for path in data_files(&disk) {
        let view = inspect(&disk, &path);
        let rests = view.blocks.iter().map(|it| {
            let end = (it.offset + it.taken).min(view.bytes);
            (it.offset + 72 + it.payload).min(end)..end
        });
        let holes = view.holes.iter().map(|it| it.offset..(it.offset + it.bytes).min(view.bytes));
        let all =
            rests.chain(holes).chain(std::iter::once(8192..65536)).filter(|it| it.start < it.end);
        pieces.extend(all.map(|piece| (path.clone(), piece)));
    }
    for (number, at, bit) in sample(&pieces, 200, 9) {
        let damaged = disk.fork(1);
        damaged.flip_bit(&pieces[number].0, at, bit).unwrap();
        let (found, report) = by_fsck(&damaged);
        assert_eq!(findings(&report, Severity::Warning), "", "{:?} byte {at}", pieces[number]);
        assert!(found == rows);
    }
}

#[test]
fn missing_files_are_named() {
    let disk = database(1);
    for (path, _) in files(&disk) {
        let damaged = disk.fork(1);
        damaged.remove(&path).unwrap();
        let report = check(&damaged, &folder());
        // Only segments that are not needed can be missed.
        let is_needed = store_reads(&damaged).is_err() || path.ends_with("catalog.blocks");
        assert_eq!(report.is_sound(), !is_needed, "{}", path.display());
    }
}

/// Some damage of a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(u32, u8),
    Sector(u32, u8),
    Cut(u32),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => any::<(u32, u8)>().prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => any::<(u32, u8)>().prop_map(|(at, byte)| Damage::Sector(at, byte)),
        1 => any::<u32>().prop_map(Damage::Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(600)))]

    /// Both decoders on damaged files: if the second one finds nothing wrong, the store opens the
    /// database and has the same rows; if the store fails, the second one finds damage.
    #[test]
    fn the_decoders_agree_on_damage(
        seed in 0_u64..4,
        of in any::<u16>(),
        damages in prop::collection::vec(damage(), 1..3),
    ) {
        let disk = database(seed);
        let all = files(&disk);
        let (path, length) = &all[usize::from(of) % all.len()];
        for damage in damages {
            match damage {
                Damage::Flip(at, bit) => disk.flip_bit(path, u64::from(at) % length, bit).unwrap(),
                Damage::Sector(at, byte) => {
                    let at = u64::from(at) % length / 512 * 512;
                    disk.overwrite(path, at, &[byte; 512]).unwrap();
                }
                Damage::Cut(at) => disk.truncate_raw(path, u64::from(at) % length).unwrap(),
            }
        }
        let (rows, report) = by_fsck(&disk);
        inspect(&disk, path);
        render(&report);
        let by_store = store_reads(&disk);
        if report.is_sound() {
            prop_assert!(by_store == Ok(rows), "{path:?}: {:?}", by_store.err());
        }
    }

    /// Damage under right checksums: nothing panics, and where nothing is complained about, the
    /// store has the same rows.
    #[test]
    fn the_decoders_agree_on_damage_under_right_checksums(
        seed in 0_u64..4,
        of in any::<u16>(),
        block in any::<u16>(),
        changes in prop::collection::vec((any::<u32>(), any::<u8>()), 1..4),
    ) {
        agree_on_a_block(seed, of, block, &changes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(600)))]

    /// The same of records of the log.
    #[test]
    fn the_decoders_agree_on_damaged_records(
        seed in 0_u64..4,
        record in any::<u16>(),
        at in any::<u32>(),
        byte in any::<u8>(),
    ) {
        agree_on_a_record(seed, record, at, byte);
    }

    /// What the fuzz target does, with inputs that nothing has chosen.
    #[test]
    fn hostile_bytes_do_no_harm(input in prop::collection::vec(any::<u8>(), 9..25)) {
        hostile::run(&input);
    }
}

/// Single bytes of the newest manifest of the wide table, of both catalogs, and of the deltas,
/// changed under right checksums: each rule is broken by some of them and said to be.
#[test]
fn broken_rules_are_told() {
    let disk = database(0);
    let mut told = std::collections::BTreeSet::new();
    for path in data_files(&disk) {
        let view = inspect(&disk, &path);
        for block in view.blocks.iter().filter(|it| it.used_by != UsedBy::Fallback) {
            let most = if block.kind == Kind::Manifest { 3000 } else { 150 };
            for at in 0..u32::try_from(block.payload).unwrap().min(most) {
                for bit in [0, 7] {
                    let damaged = disk.fork(1);
                    let before = bytes_of(&disk, &path)
                        [usize::try_from(block.offset).unwrap() + 72 + at as usize];
                    reseal(&damaged, &path, &view, block, &[(at << 1 | 1, before ^ 1 << bit)]);
                    let report = check(&damaged, &folder());
                    told.extend(report.findings.into_iter().map(|finding| finding.what));
                }
            }
        }
    }
    for rule in RULES {
        let words = rule.split(" .. ").collect::<Vec<_>>();
        let is_told = |what: &String| words.iter().all(|word| what.contains(word));
        assert!(told.iter().any(is_told), "nothing says {rule:?}");
    }
}

/// What is said of rules that are broken; ` .. ` stands for anything.
const RULES: &[&str] = &[
    "two live rows of partition .. have one primary key",
    "row .. of .. is marked dead",
    "is marked dead twice",
    "the marks of dead rows are not in the order",
    "partition .. is out of order",
    "the key of partition .. is another partition's",
    "a row died at version .. after the manifest's version",
    "the oldest version to be read",
    "it names block .. twice",
    "in the table of blocks",
    "its versions are .. the manifest says",
    "the manifest says .. of",
    "is out of order",
    "it has .. rows, its runs end at row",
    "a delta lies outside of it",
    "a part has layout",
    "it has unknown format",
    "breaks a rule",
    "overlap at offset",
    "no block can be at offset",
    "comes after a checkpoint of version",
    "its checksum is",
    "two schemas of the table differ",
];
