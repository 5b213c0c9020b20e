//! Damaged bytes: what is damaged is noticed and named, nothing panics, and whatever the store
//! refuses is complained about.

use pelorus_env::Disk as _;
use pelorus_fsck::{Kind, Severity, UsedBy, check, inspect, render};
use proptest::prelude::*;

use crate::harness::{Numbers, by_fsck, files, findings, folder};
use crate::hostile::{
    self, agree_on_a_block, agree_on_a_record, data_files, database, store_reads,
};
use crate::reseal::{bytes_of, reseal};

#[test]
fn every_flipped_bit_of_a_block_is_noticed_and_named() {
    let disk = database(3);
    let (rows, report) = by_fsck(&disk);
    assert_eq!(findings(&report, Severity::Warning), "");
    let mut numbers = Numbers(7);
    let mut kinds = std::collections::BTreeSet::new();
    for path in data_files(&disk) {
        for block in inspect(&disk, &path).blocks {
            kinds.insert(format!("{:?} {:?}", block.kind, block.used_by));
            for round in 0..12 {
                let at = match round {
                    0..4 => numbers.below(72),
                    _ => numbers.below(72 + block.payload),
                };
                let bit = u8::try_from(numbers.below(8)).unwrap();
                let damaged = disk.fork(1);
                damaged.flip_bit(&path, block.offset + at, bit).unwrap();
                let (found, report) = by_fsck(&damaged);
                let what = format!("{} {block:?} byte {at}", path.display());
                assert!(
                    report.findings.iter().any(|finding| {
                        let names_it = match block.number {
                            0 => finding.what.contains(&format!("offset {}", block.offset)),
                            _ => {
                                finding.block == Some(block.number)
                                    || finding.what.contains(&format!("block {}", block.number))
                            }
                        };
                        finding.severity >= Severity::Warning
                            && finding.file == path
                            && names_it
                            && !finding.advice.is_empty()
                    }),
                    "{what}: {}",
                    findings(&report, Severity::Note)
                );
                if block.used_by == UsedBy::Fallback {
                    assert!(found == rows, "{what}");
                }
            }
        }
    }
    assert!(kinds.len() >= 10, "{kinds:?}");
}

#[test]
fn every_flipped_bit_of_a_header_is_noticed_and_loses_nothing() {
    let disk = database(2);
    let (rows, _) = by_fsck(&disk);
    let mut numbers = Numbers(8);
    for path in data_files(&disk) {
        for round in 0..40 {
            let slot = numbers.below(2) * 4096;
            let at = if round < 20 { numbers.below(136) } else { numbers.below(4096) };
            let damaged = disk.fork(1);
            damaged.flip_bit(&path, slot + at, 3).unwrap();
            let (found, report) = by_fsck(&damaged);
            assert!(
                report.findings.iter().any(|finding| {
                    finding.severity == Severity::Warning
                        && finding.file == path
                        && finding.offset == Some(slot)
                }),
                "{} slot at {slot}, byte {at}",
                path.display()
            );
            assert!(report.is_sound() && found == rows);
        }
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
