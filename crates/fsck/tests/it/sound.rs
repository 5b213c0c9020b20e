//! After random work, and after crashes at any moment of it, both decoders find the same rows and
//! nothing is complained about.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, UInt64Array};
use pelorus_env::{SimDisk, Tear};
use pelorus_fsck::Severity;
use pelorus_store::{Database, Snapshot, StoredColumn, TableId, Write};
use pelorus_types::ColumnType;
use proptest::prelude::*;

use crate::harness::{
    Machine, by_fsck, by_store, commit, findings, narrow_schema, put, wide_columns, wide_schema,
};

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Vec<i64>, u64),
    PutNarrow(u8, Vec<u64>),
    Remove(u8, Vec<i64>),
    Maintain,
    Checkpoint,
    Hold,
    Release,
    Pass(u64),
    DropPartition(u8),
    Truncate,
    AddColumn,
    Recreate,
    Value(u8, bool),
    Reopen,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::vec(0_i64..150, 1..40);
    prop_oneof![
        12 => (0_u8..3, keys(), any::<u64>()).prop_map(|(p, keys, style)| Step::Put(p, keys, style)),
        5 => (0_u8..2, prop::collection::vec(0_u64..200, 1..80))
            .prop_map(|(p, keys)| Step::PutNarrow(p, keys)),
        5 => (0_u8..3, keys()).prop_map(|(p, keys)| Step::Remove(p, keys)),
        4 => Just(Step::Maintain),
        3 => Just(Step::Checkpoint),
        2 => Just(Step::Hold),
        1 => Just(Step::Release),
        2 => (0_u64..2000).prop_map(Step::Pass),
        1 => (0_u8..3).prop_map(Step::DropPartition),
        1 => Just(Step::Truncate),
        1 => Just(Step::AddColumn),
        1 => Just(Step::Recreate),
        1 => (0_u8..4, any::<bool>()).prop_map(|(key, set)| Step::Value(key, set)),
        1 => Just(Step::Reopen),
        2 => Just(Step::Crash),
    ]
}

struct World {
    machine: Machine,
    database: Arc<Database>,
    wide: TableId,
    narrow: TableId,
    held: Vec<Snapshot>,
    /// The work was interrupted at least once.
    crashed: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let machine = Machine::new(SimDisk::new(seed), seed);
        let database = machine.open();
        let wide = database.create_table(wide_schema(), b"wide").unwrap();
        let narrow = database.create_table(narrow_schema(), b"").unwrap();
        Self { machine, database, wide, narrow, held: Vec::new(), crashed: false }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Put(p, keys, style) => self.put(p, &keys, style),
            Step::PutNarrow(p, keys) => {
                let columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(keys))];
                commit(&self.database, vec![put(self.narrow, p, columns)]);
            }
            Step::Remove(p, keys) => {
                let names = keys.iter().map(|key| format!("k\0{key}"));
                let names = BinaryArray::from_iter_values(names);
                let columns: Vec<ArrayRef> =
                    vec![Arc::new(Int64Array::from(keys)), Arc::new(names)];
                let write = Write::Remove { table: self.wide, partition: vec![p], columns };
                commit(&self.database, vec![write]);
            }
            Step::Maintain => while self.database.maintain().unwrap() {},
            Step::Checkpoint => self.database.checkpoint().unwrap(),
            Step::Hold => self.held.push(self.database.snapshot()),
            Step::Release => drop(self.held.pop()),
            Step::Pass(micros) => {
                self.machine.clock.0.fetch_add(micros, Ordering::Relaxed);
            }
            Step::DropPartition(p) => {
                self.database.drop_partitions(self.wide, &[vec![p]]).unwrap();
            }
            Step::Truncate => self.database.truncate_table(self.wide).unwrap(),
            Step::AddColumn => self.add_column(),
            Step::Recreate => {
                let again = self.database.create_table(narrow_schema(), b"again").unwrap();
                if again.0.is_multiple_of(2) {
                    self.database.drop_table(self.narrow).unwrap();
                } else {
                    let values = vec![(b"again".to_vec(), Some(vec![1]))];
                    self.database.replace_table(self.narrow, again, b"again", values).unwrap();
                }
                self.narrow = again;
            }
            Step::Value(key, set) => {
                let values = vec![(vec![key], set.then(|| vec![key; 9]))];
                let change = pelorus_store::Commit { values, ..Default::default() };
                self.database.commit(&change).unwrap();
            }
            Step::Reopen => {
                self.held.clear();
                self.database.close().unwrap();
                self.database = self.machine.open();
            }
            Step::Crash => {
                self.held.clear();
                self.machine.disk.crash();
                self.crashed = true;
                self.database = self.machine.open();
            }
        }
    }

    fn put(&mut self, p: u8, keys: &[i64], style: u64) {
        let mut columns = wide_columns(keys, style, style);
        // Columns that were added since.
        let count = self.database.table(self.wide).unwrap().schema().columns.len();
        while columns.len() < count {
            columns.push(Arc::new(Int64Array::from(vec![Some(5); keys.len()])));
        }
        commit(&self.database, vec![put(self.wide, p, columns)]);
    }

    fn add_column(&self) {
        let mut schema = self.database.table(self.wide).unwrap().schema();
        let id = schema.next_column_id();
        // One row of one column of integers: -3.
        let mut filler = vec![1, 0, 0, 0, 1, 0, 0, 0, 1, 0];
        filler.extend((-3_i64).to_le_bytes());
        let filler = id.is_multiple_of(2).then_some(filler);
        schema.columns.push(StoredColumn { id, ty: ColumnType::bigint(), filler });
        self.database.alter_table(self.wide, schema, b"wider").unwrap();
    }

    /// Both decoders on a copy of the disk: as it is, and after a crash.
    fn check(&self, seed: u64) {
        let calm = self.machine.disk.fork(seed);
        self.compare(&calm, if self.crashed { Severity::Damage } else { Severity::Warning });
        for tear in Tear::ALL {
            let crashed = self.machine.disk.fork(seed);
            crashed.crash_with(tear);
            self.compare(&crashed, Severity::Damage);
        }
    }

    fn compare(&self, disk: &SimDisk, from: Severity) {
        let (found, report) = by_fsck(disk);
        assert_eq!(findings(&report, from), "");
        assert_eq!(report.not_checked, [""; 0]);
        let live: u64 = report.tables.iter().map(|table| table.live_rows.unwrap()).sum();
        assert_eq!(live, found.values().map(|count| *count as u64).sum::<u64>());
        let database = Machine::new(disk.clone(), 1).open();
        assert_eq!(report.version, database.version());
        assert!(found == by_store(&database), "the decoders disagree: {report:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(100)))]

    #[test]
    fn both_decoders_agree(seed: u64, steps in prop::collection::vec(step(), 1..40)) {
        let mut world = World::new(seed);
        for (at, step) in steps.into_iter().enumerate() {
            world.step(step);
            if at % 7 == 3 {
                world.check(seed);
            }
        }
        world.check(seed);
    }
}

#[test]
fn large_chunks_of_every_codec_are_decoded() {
    let machine = Machine::new(SimDisk::new(9), 9);
    let database = machine.open();
    for style in 0..40 {
        let table = database.create_table(wide_schema(), b"wide").unwrap();
        let keys: Vec<i64> = (0..7000).map(|key| key * 3).collect();
        commit(&database, vec![put(table, 1, wide_columns(&keys, style, style))]);
        // A few rows again, so that versions stand in the chunk.
        commit(&database, vec![put(table, 1, wide_columns(&keys[..50], style, style + 1))]);
        while database.maintain().unwrap() {}
    }
    database.checkpoint().unwrap();
    let (found, report) = by_fsck(&machine.disk);
    assert_eq!(findings(&report, Severity::Note), "");
    assert!(report.tables.iter().all(|table| table.chunks > 0 && table.columns >= 10));
    assert!(found == by_store(&database));
}

#[test]
fn a_few_dead_rows_of_a_large_chunk_are_found_dead() {
    let machine = Machine::new(SimDisk::new(10), 10);
    let database = machine.open();
    let table = database.create_table(narrow_schema(), b"").unwrap();
    let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..20_000));
    commit(&database, vec![put(table, 1, vec![keys])]);
    while database.maintain().unwrap() {}
    let few: ArrayRef = Arc::new(UInt64Array::from(vec![9, 19_999]));
    commit(&database, vec![Write::Remove { table, partition: vec![1], columns: vec![few] }]);
    // Nobody reads what was before that any more.
    machine.clock.0.fetch_add(60_000_000, Ordering::Relaxed);
    while database.maintain().unwrap() {}
    database.checkpoint().unwrap();
    let (found, report) = by_fsck(&machine.disk);
    assert_eq!(findings(&report, Severity::Note), "");
    assert_eq!(found.len(), 19_998);
    assert!(found == by_store(&database));
    assert!(found == by_store(&Machine::new(machine.disk.snapshot(), 1).open()));
}
