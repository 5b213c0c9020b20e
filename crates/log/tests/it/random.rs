//! Random calls, crashes and restarts against the oracle.

use pelorus_env::{SimDisk, Tear};
use pelorus_log::Options;
use proptest::prelude::*;

use crate::decoder::decode;
use crate::support::*;

#[derive(Clone, Debug)]
enum Op {
    Append(usize),
    Sync,
    WaitForSome(usize),
    Idle,
    Checkpoint,
    Discard,
    Restart,
    Crash(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0_usize..6000).prop_map(Op::Append),
        1 => (20_000_usize..50_000).prop_map(Op::Append),
        4 => Just(Op::Sync),
        2 => any::<usize>().prop_map(Op::WaitForSome),
        2 => Just(Op::Idle),
        1 => Just(Op::Checkpoint),
        1 => Just(Op::Discard),
        1 => Just(Op::Restart),
        2 => (0..Tear::ALL.len()).prop_map(Op::Crash),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let ranges = (1_u64..8, 0_u64..4, 1_usize..8, 0_usize..4);
    ranges.prop_map(|(segment, reserve, buffer, spare_segments)| Options {
        segment_bytes: segment * 4096,
        reserve_bytes: reserve * 4096,
        buffer_bytes: buffer * 8192,
        spare_segments,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(400)))]

    #[test]
    fn replay_is_a_prefix_of_what_was_issued_with_all_that_was_acknowledged(
        seed: u64,
        options in options(),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let disk = SimDisk::new(seed);
        disk.set_allocates(seed.is_multiple_of(2));
        let mut oracle = Oracle::created();
        let mut log = create(&disk, options).unwrap();
        for op in ops {
            match op {
                Op::Append(length) => {
                    oracle.append(&log, length).unwrap();
                }
                Op::Sync => oracle.sync(&log).unwrap(),
                Op::WaitForSome(choice) => {
                    if !oracle.issued.is_empty() {
                        let lsn = oracle.issued[choice % oracle.issued.len()].0;
                        oracle.wait(&log, lsn).unwrap();
                    }
                }
                Op::Idle => log.mark_idle().unwrap(),
                Op::Checkpoint => oracle.checkpoint(&log),
                Op::Discard => log.discard_before(oracle.checkpoint.lsn).unwrap(),
                Op::Restart => log = oracle.reopen(&disk, options).unwrap().unwrap(),
                Op::Crash(tear) => {
                    disk.crash_with(Tear::ALL[tear]);
                    log = oracle.reopen(&disk, options).unwrap().unwrap();
                }
            }
        }
        log = oracle.reopen(&disk, options).unwrap().unwrap();
        // The second decoder agrees about what is left.
        let records = decode(&disk);
        let old = oracle.issued.len().checked_sub(records.len());
        prop_assert_eq!(old.map(|old| &oracle.issued[old..]), Some(&records[..]));
        drop(log);
    }
}
