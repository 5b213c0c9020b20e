//! Tests with random operations against a map, with reopening and crashes, and of the file's size.

use proptest::prelude::*;

use crate::BlockId;
use pelorus_env::{SimDisk, Tear};
use pelorus_error::Code;

use super::script::*;

#[derive(Clone, Debug)]
enum Op {
    Write(usize),
    Free(prop::sample::Index),
    Read(prop::sample::Index),
    Checkpoint,
    GiveUp,
    Relocate(u64),
    Crash(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..20_000_usize).prop_map(Op::Write),
        5 => any::<prop::sample::Index>().prop_map(Op::Free),
        3 => any::<prop::sample::Index>().prop_map(Op::Read),
        4 => Just(Op::Checkpoint),
        1 => Just(Op::GiveUp),
        1 => (0..50_000_u64).prop_map(Op::Relocate),
        1 => (0..6_usize).prop_map(Op::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(200)))]

    #[test]
    fn it_is_a_map_that_survives_crashes_at_its_checkpoints(
        ops in prop::collection::vec(op(), 1..60), seed: u64,
    ) {
        let disk = SimDisk::new(seed);
        let mut rng = Rng(seed);
        let mut file = create(&disk).unwrap();
        let mut model = Model::created();
        for op in ops {
            let ids: Vec<BlockId> = model.current.keys().copied().collect();
            match op {
                Op::Write(length) => {
                    let payload = rng.payload(length as u64);
                    model.write(&file, payload).unwrap();
                }
                Op::Free(index) if !ids.is_empty() => {
                    model.free(&file, ids[index.index(ids.len())]).unwrap();
                }
                Op::Read(index) if !ids.is_empty() => {
                    let id = ids[index.index(ids.len())];
                    let payload = &model.current[&id];
                    prop_assert_eq!(&file.read(id).unwrap(), payload);
                    let (start, end) = (payload.len() / 3, payload.len() / 2);
                    let part = file.read_part(id, start as u64..end as u64).unwrap();
                    prop_assert_eq!(&part[..], &payload[start..end]);
                }
                Op::Free(_) | Op::Read(_) => {}
                Op::Checkpoint => model.checkpoint(&file, |_| Ok(())).unwrap(),
                Op::GiveUp => drop(file.begin_checkpoint().unwrap()),
                Op::Relocate(bytes) => {
                    file.relocate_tail(bytes).unwrap();
                }
                Op::Crash(tear) => {
                    disk.crash_with(Tear::ALL[tear]);
                    file = open(&disk).unwrap();
                    model.assert_state(&file, &[model.acknowledged]);
                    model = model.recovered(model.acknowledged);
                }
            }
            file.check_space().unwrap();
        }
        for (id, payload) in &model.current {
            prop_assert_eq!(&file.read(*id).unwrap(), payload);
        }
        prop_assert_eq!(file.blocks().len(), model.current.len());
    }
}

#[test]
fn what_is_not_there_is_an_error_and_changes_nothing() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let id = file.write(1, b"abc", 1).unwrap();
    let code = |result: pelorus_error::Result<Vec<u8>>| result.unwrap_err().code();
    assert_eq!(code(file.read(BlockId::new(99))), Code::Internal);
    assert_eq!(code(file.read_part(id, 1..4)), Code::Internal);
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let reversed = 2..1;
    assert_eq!(code(file.read_part(id, reversed)), Code::Internal);
    assert_eq!(file.read_part(id, 3..3).unwrap(), b"");
    assert_eq!(file.write(0, b"", 1).unwrap_err().code(), Code::Internal);
    let begun = file.begin_checkpoint().unwrap();
    assert_eq!(file.begin_checkpoint().unwrap_err().code(), Code::Internal);
    let late = file.write(1, b"late", 2).unwrap();
    assert_eq!(begun.commit(late, 2, || Ok(())).unwrap_err().code(), Code::Internal);
    let refused = || Err(pelorus_error::Error::new(Code::FileWrite, "log"));
    assert_eq!(file.checkpoint(id, 2, refused).unwrap_err().message(), "log");
    assert_eq!(file.header().number, 1);
    assert_eq!(open(&disk).unwrap().header().number, 1, "the log comes first");
    file.checkpoint(id, 2, || Ok(())).unwrap();
    assert_eq!((file.header().lsn, file.header().root), (2, Some(id)));
    file.free(late).unwrap();
    assert_eq!(file.free(late).unwrap_err().code(), Code::Internal);
    file.check_space().unwrap();
}

#[test]
fn space_is_reused_after_two_checkpoints_and_not_before() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    let id = model.write(&file, vec![1; 50_000]).unwrap();
    let offset = file.blocks()[0].offset;
    // A block that no checkpoint has seen is reused at once.
    model.free(&file, id).unwrap();
    let id = model.write(&file, vec![1; 50_000]).unwrap();
    assert_eq!(file.blocks()[0].offset, offset);
    model.checkpoint(&file, |_| Ok(())).unwrap();
    model.free(&file, id).unwrap();
    for _ in 0..2 {
        let id = model.write(&file, vec![2; 50_000]).unwrap();
        let block =
            |file: &crate::BlockFile| *file.blocks().iter().find(|block| block.id == id).unwrap();
        assert_ne!(block(&file).offset, offset, "still referred to by a header");
        model.checkpoint(&file, |_| Ok(())).unwrap();
    }
    let id = model.write(&file, vec![2; 50_000]).unwrap();
    assert_eq!(file.blocks().iter().find(|block| block.id == id).unwrap().offset, offset);
}

#[test]
fn the_end_of_the_file_is_given_back() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    let ids: Vec<BlockId> =
        (0..200).map(|_| model.write(&file, vec![1; 30_000]).unwrap()).collect();
    model.checkpoint(&file, |_| Ok(())).unwrap();
    let full = file.statistics();
    assert!(full.file_length > 200 * 30_000 && full.blocks == 201 && full.largest_hole == 0);
    // The last block stays and would hold the file open.
    for id in &ids[..199] {
        model.free(&file, *id).unwrap();
    }
    assert!(file.usage().retired > 190 * 30_000, "{:?}", file.usage());
    for _ in 0..4 {
        model.checkpoint(&file, |_| Ok(())).unwrap();
    }
    let holey = file.statistics();
    let usage = file.usage();
    assert!(usage.live >= holey.live && usage.live < holey.live + 8 * 4096, "{usage:?} {holey:?}");
    assert!(usage.retired <= holey.retired && usage.length == holey.file_length, "{usage:?}");
    assert_eq!(holey.file_length, full.file_length);
    assert!(holey.largest_hole > 190 * 30_000, "{holey:?}");
    // The translation tables after it are freed by the checkpoints that follow.
    for _ in 0..6 {
        file.relocate_tail(1 << 20).unwrap();
        model.checkpoint(&file, |_| Ok(())).unwrap();
        // What was cut off belonged to neither header.
        let copy = disk.fork(1);
        copy.crash_with(Tear::Everything);
        let opened = open(&copy).unwrap();
        model.assert_state(&opened, &[model.acknowledged]);
        assert_eq!(opened.fallback(), None);
    }
    let small = file.statistics();
    assert!(small.file_length < 65_536 + 40 * 4096, "{small:?}");
    disk.crash();
    model.assert_state(&open(&disk).unwrap(), &[model.acknowledged]);
    assert_eq!(file_length(&disk), small.file_length);
}

#[test]
fn a_moved_block_is_kept_at_its_old_place_until_both_headers_know_the_new_one() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    let hole = model.write(&file, vec![1; 60_000]).unwrap();
    model.write(&file, vec![2; 20_000]).unwrap();
    model.checkpoint(&file, |_| Ok(())).unwrap();
    model.free(&file, hole).unwrap();
    for _ in 0..2 {
        model.checkpoint(&file, |_| Ok(())).unwrap();
    }
    assert!(file.relocate_tail(20_000).unwrap() >= 20_000);
    file.check_space().unwrap();
    let fill = |file: &crate::BlockFile| {
        for _ in 0..30 {
            file.write(1, &[3; 4000], 0).unwrap();
        }
    };
    let before = disk.fork(1);
    fill(&file);
    disk.crash_with(Tear::Everything);
    model.assert_state(&open(&disk).unwrap(), &[model.acknowledged]);
    before.crash_with(Tear::Everything);
    model.assert_state(&open(&before).unwrap(), &[model.acknowledged]);
}

fn file_length(disk: &SimDisk) -> u64 {
    open(disk).unwrap().statistics().file_length
}
