//! Tests of the store's internals: slots, blocks, memory, and moments between two steps.

mod limits;
mod verify;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use pelorus_env::{Env, Fault, Open, SimDisk, Tear};
use pelorus_error::{Code, Error, Result};
use pelorus_index::RowRef;
use pelorus_types::{ColumnType, collation};

use crate::compaction::rewrite;
use crate::format::manifest;
use crate::format::manifest::{Frozen, FrozenPartition};
use crate::partition::chunk::{Chunk, ChunkRef};
use crate::partition::delete_marks::Deletes;
use crate::partition::part::{Body, Part};
use crate::partition::{GONE, Partition, SLOTS_MAX, row_ref};
use crate::table::Table;
use crate::{
    ByteWeigher, Commit, Database, History, Mode, Options, StoredColumn, TableId, TableSchema,
    Write,
};

struct World {
    env: Env,
    disk: SimDisk,
    database: Arc<Database>,
    table: Arc<Table>,
}

fn options() -> Options {
    let log = pelorus_log::Options {
        segment_bytes: 16 << 10,
        reserve_bytes: 8 << 10,
        buffer_bytes: 1 << 20,
        spare_segments: 2,
    };
    Options { checkpoint_log_bytes: 64 << 10, log, ..Options::default() }
}

fn open(env: &Env) -> Arc<Database> {
    Database::open(env.clone(), Path::new("/data"), options(), Arc::new(ByteWeigher)).unwrap()
}

fn schema() -> TableSchema {
    let column = |id| StoredColumn { id, ty: ColumnType::bigint().not_null(), filler: None };
    TableSchema {
        columns: vec![column(0), column(1)],
        key: vec![0],
        segment: Vec::new(),
        history: History { micros: 0, bytes: 1 << 30 },
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        let mut env = Env::in_memory(seed);
        env.disk = Arc::new(disk.clone());
        let database = open(&env);
        let id = database.create_table(schema(), b"").unwrap();
        let table = database.table(id).unwrap();
        Self { env, disk, database, table }
    }

    fn reopen(&mut self) {
        let id = self.table.id();
        self.database = open(&self.env);
        self.table = self.database.table(id).unwrap();
    }

    fn put(&self, keys: impl Iterator<Item = i64> + Clone) -> Result<u64> {
        put(&self.database, self.table.id(), keys)
    }

    fn remove(&self, keys: impl Iterator<Item = i64>) -> u64 {
        let columns = vec![Arc::new(Int64Array::from_iter_values(keys)) as ArrayRef];
        let write = Write::Remove { table: self.table.id(), partition: vec![1], columns };
        let commit = Commit { writes: vec![write], ..Commit::default() };
        self.database.commit(&commit).unwrap().version
    }

    fn partition(&self) -> Arc<Partition> {
        self.table.partition(&[1]).unwrap()
    }

    /// Puts a thousand rows into each of some parts.
    fn partition_of_parts(&self, parts: i64) -> Arc<Partition> {
        for part in 0..parts {
            self.put(part * 1000..(part + 1) * 1000).unwrap();
            self.partition().seal();
        }
        self.partition()
    }

    fn flush(&self) {
        let horizon = self.database.horizon(&self.table);
        self.database.flush(&self.table, &self.partition(), horizon).unwrap();
    }

    /// Blocks of the file that neither a chunk nor the manifest needs.
    fn strangers(&self) -> usize {
        let state = self.database.checkpointing.lock();
        let own = state.manifests.get(&self.table.id()).map_or(0, |it| it.blocks.len());
        let partitions = self.table.partitions();
        let parts = partitions.iter().flat_map(|it| it.parts().to_vec());
        let chunks = parts.filter(|part| part.chunk().is_some()).count();
        self.table.file.blocks.blocks().len() - own - chunks
    }

    /// A chunk of which only the marks of deletion are there.
    fn chunk_of(&self, slot: u16, rows: u32, raw_bytes: u64) -> Part {
        let at = ChunkRef {
            block: pelorus_blockfile::BlockId::new(u64::from(slot) + 1000),
            rows,
            meta_at: 0,
            meta_length: 0,
            meta_check: 0,
            raw_bytes,
            versions: (1, 1),
            version_column: None,
        };
        let body = Body::Chunk(Chunk::new(Arc::clone(&self.table.file), at));
        Part { slot, layout: self.table.layout(), deletes: Deletes::default(), body }
    }

    fn rows(&self) -> u64 {
        self.database.snapshot().table(self.table.id()).unwrap().count_rows().unwrap()
    }
}

fn put(
    database: &Database,
    table: TableId,
    keys: impl Iterator<Item = i64> + Clone,
) -> Result<u64> {
    let column = || Arc::new(Int64Array::from_iter_values(keys.clone())) as ArrayRef;
    let columns = vec![column(), column()];
    let write = Write::Put { table, partition: vec![1], columns, mode: Mode::Replace };
    let commit = Commit { writes: vec![write], ..Commit::default() };
    database.commit(&commit).map(|receipt| receipt.version)
}

/// Ends the other thread, also when the test has failed.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_sealed_delta_and_those_before_it_never_grow() {
    let world = World::new(1);
    world.put(0..10).unwrap();
    let partition = world.partition();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                world.put(round % 50..round % 50 + 3).unwrap();
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let _stop = Stop(&stop);
        for round in 0..3000 {
            let parts = partition.seal();
            let rows = || parts.iter().map(|part| part.rows()).sum::<u32>();
            let before = rows();
            // The other thread may be anywhere; this one surely writes after the seal.
            match round % 20 {
                0 => drop(world.put(60..63).unwrap()),
                _ => std::thread::yield_now(),
            }
            assert_eq!(rows(), before);
            if parts.len() > 100 {
                world.flush();
            }
        }
    });
}

#[test]
fn memory_is_given_back_once_when_a_partition_is_dropped_while_it_is_flushed() {
    let world = World::new(2);
    world.put(0..1000).unwrap();
    let partition = world.partition();
    let parts = partition.seal();
    assert!(world.database.delta_bytes() > 1000);
    world.database.drop_partitions(world.table.id(), &[vec![1]]).unwrap();
    rewrite(&world.table, &partition, &parts, 0, 0).unwrap();
    assert_eq!(world.database.delta_bytes(), 0);
}

/// The memory of all tables is one sum, which a table leaves with what it has.
#[test]
fn memory_is_given_back_when_a_table_is_dropped_and_counted_again_after_a_start() {
    let mut world = World::new(14);
    world.put(0..1000).unwrap();
    let before = world.database.delta_bytes();
    let other = world.database.create_table(schema(), b"").unwrap();
    put(&world.database, other, 0..500).unwrap();
    assert!(world.database.delta_bytes() > before);
    let snapshot = world.database.snapshot();
    let held = snapshot.table(other).unwrap();
    world.database.drop_table(other).unwrap();
    assert_eq!(world.database.delta_bytes(), before);
    drop((held, snapshot));
    assert_eq!(world.database.delta_bytes(), before);
    world.disk.crash();
    world.reopen();
    assert!(world.database.delta_bytes() > before / 2, "from the log");
    world.database.checkpoint().unwrap();
    world.disk.crash();
    world.reopen();
    assert!(world.database.delta_bytes() > before / 2, "from the manifest");
    world.flush();
    assert_eq!(world.database.delta_bytes(), 0);
}

#[test]
fn slots_are_taken_all_or_none_and_a_commit_without_one_is_refused_before_it_is_logged() {
    assert_ne!(row_ref(u16::try_from(SLOTS_MAX - 1).unwrap(), (1 << 17) - 1).0, GONE);
    let world = World::new(3);
    let version = world.put(0..10).unwrap();
    let partition = world.partition();
    partition.seal();
    assert_eq!(partition.free_slots(SLOTS_MAX).unwrap_err().code(), Code::TableFull);
    let slots = partition.free_slots(SLOTS_MAX - 1).unwrap();
    assert_eq!(world.put(0..20).unwrap_err().code(), Code::TableFull);
    assert_eq!(world.database.failure(), None);
    assert_eq!(world.database.version(), version);
    partition.give_back(&slots);
    // The last ones are not for commits: a start may need more than there were.
    let slots = partition.free_slots(SLOTS_MAX - 1000).unwrap();
    assert_eq!(world.put(0..20).unwrap_err().code(), Code::TableFull);
    partition.give_back(&slots);
    world.put(0..20).unwrap();
    assert_eq!(world.rows(), 20);
}

#[test]
fn a_flush_that_fails_leaves_no_slots_or_blocks_behind() {
    let world = World::new(4);
    world.put(0..10).unwrap();
    for at in 0..4 {
        world.disk.fail_after(at, Fault::DiskFull);
        let horizon = world.database.horizon(&world.table);
        let result = world.database.flush(&world.table, &world.partition(), horizon);
        world.disk.clear_faults();
        if result.is_err() {
            assert_eq!(world.strangers(), 0, "failed at {at}");
        }
    }
    // With a slot that leaks, the index could not be given up, and this many would not be there.
    assert!(world.partition().free_slots(SLOTS_MAX - 1).is_ok());
    assert_eq!(world.rows(), 10);
}

#[test]
fn damage_names_the_table_and_says_what_to_do() {
    let world = World::new(12);
    let file = &world.table.file;
    let explain = |code| file.explain(Error::new(code, "block 5 is damaged")).message().to_owned();
    file.call(b"shop\0sale\0ANSI\0CREATE TABLE sale");
    assert!(explain(Code::FileDamaged).starts_with("table shop.sale: block 5 is damaged; "));
    assert!(explain(Code::FileDamaged).contains("restore the data folder"));
    assert_eq!(explain(Code::DiskFull), "block 5 is damaged");
    for nameless in [&b""[..], b"shop", b"\0sale\0", b"\xff\0sale\0"] {
        file.call(nameless);
        assert!(explain(Code::FileDamaged).starts_with("block 5 is damaged; "));
    }
}

#[test]
fn the_partition_that_was_written_last_has_its_index_soon_after_a_start() {
    let mut world = World::new(13);
    let other = world.database.create_table(schema(), b"").unwrap();
    put(&world.database, other, 0..10).unwrap();
    world.put(0..1000).unwrap();
    world.remove(0..10);
    world.flush();
    world.database.close().unwrap();
    world.reopen();
    let other = world.database.table(other).unwrap().partition(&[1]).unwrap();
    let partition = world.partition();
    assert_eq!((partition.index_memory(), other.index_memory()), (0, 0));
    let newest = [&partition, &other].map(Arc::as_ptr);
    assert_eq!(world.database.written_last().iter().map(Arc::as_ptr).collect::<Vec<_>>(), newest);
    // A stopped preparation does not begin.
    partition.prepare_until(0, &|| true).unwrap();
    assert_eq!(partition.index_memory(), 0);
    world.database.warm_indexes();
    assert!(partition.index_memory() > 0 && other.index_memory() > 0);
    world.put(5..1005).unwrap();
    assert_eq!(world.rows(), 1000);
}

#[test]
fn an_index_is_built_of_many_parts_in_the_room_that_it_needs() {
    let world = World::new(33);
    let partition = world.partition_of_parts(20);
    world.remove(0..500);
    partition.forget_index();
    assert_eq!(partition.index_memory(), 0);
    partition.prepare_until(world.table.seed(), &|| false).unwrap();
    let mut index = pelorus_index::KeyIndex::new();
    index.reserve(20_000 - 500);
    assert_eq!(partition.index_memory(), index.memory_bytes());
    assert_eq!(world.replaced(0..20_000), 20_000 - 500);
}

#[test]
fn removed_keys_are_known_as_long_as_somebody_may_write_what_they_read_before() {
    let world = World::new(17);
    world.put(0..5000).unwrap();
    let before = world.database.snapshot();
    world.remove(0..4000);
    world.database.maintain().unwrap();
    let partition = world.partition();
    assert!(partition.removed_memory() > 0);
    let columns = [7, 7].map(|value| Arc::new(Int64Array::from(vec![value])) as ArrayRef);
    let (table, columns) = (world.table.id(), columns.to_vec());
    let write = Write::Put { table, partition: vec![1], columns, mode: Mode::Replace };
    let snapshot = Some(before.version());
    let late = Commit { writes: vec![write], snapshot, ..Commit::default() };
    assert_eq!(world.database.commit(&late).unwrap_err().code(), Code::Deadlock);
    drop(before);
    world.database.maintain().unwrap();
    assert_eq!(partition.removed_memory(), 0);
    assert_eq!(world.database.commit(&late).unwrap_err().code(), Code::Deadlock);
}

#[test]
fn a_file_is_a_tables_only_if_a_table_can_have_its_name() {
    let mut world = World::new(18);
    world.database.close().unwrap();
    let path = |name: &str| Path::new("/data").join(name);
    // The first was about to be made, or is left of a drop.
    let unmade = "table-7.blocks";
    let others = [
        "table-+5.blocks",
        "table-05.blocks",
        "table-18446744073709551614.blocks",
        "table-18446744073709551615.blocks",
    ];
    for name in others.iter().chain([&unmade]) {
        world.env.disk.open(&path(name), Open::Create).unwrap();
    }
    world.reopen();
    let names = world.env.disk.list(Path::new("/data")).unwrap();
    let is_there = |name: &&str| names.iter().any(|it| it == name);
    assert!(others.iter().all(is_there) && !is_there(&unmade), "{names:?}");
    let next = world.database.create_table(schema(), b"").unwrap();
    assert_eq!(next, TableId(8));
    world.database.committing.lock().catalog.next_table = u64::MAX;
    let error = world.database.create_table(schema(), b"").unwrap_err();
    assert_eq!(error.code(), Code::TableFull);
}

#[test]
fn a_database_in_folders_that_were_not_there_outlives_a_crash() {
    let disk = SimDisk::new(36);
    let mut env = Env::in_memory(36);
    env.disk = Arc::new(disk.clone());
    let open = || {
        let folder = Path::new("/srv/of/pelorus/native");
        Database::open(env.clone(), folder, options(), Arc::new(ByteWeigher)).unwrap()
    };
    let database = open();
    let id = database.create_table(schema(), b"").unwrap();
    put(&database, id, 0..10).unwrap();
    drop(database);
    disk.crash_with(Tear::Nothing);
    let rows = open().snapshot().table(id).unwrap().count_rows().unwrap();
    assert_eq!(rows, 10);
}

#[test]
fn a_table_and_its_values_are_one_commit() {
    let mut world = World::new(19);
    let before = world.database.version();
    let value = |id: TableId| vec![(id.0.to_le_bytes().to_vec(), Some(b"first".to_vec()))];
    let id = world.database.create_table_with(schema(), b"", value).unwrap();
    assert_eq!(world.database.version(), before + 1);
    for _ in 0..2 {
        let found = world.database.value(&id.0.to_le_bytes());
        assert_eq!(found.as_deref(), Some(&b"first"[..]));
        assert!(world.database.table(id).is_some());
        // The second time it is read from the log.
        world.disk.crash();
        world.reopen();
    }
}

#[test]
fn a_checkpoint_that_fails_leaves_no_blocks_behind() {
    let world = World::new(5);
    for at in 0..20 {
        world.put(at..at + 10).unwrap();
        world.disk.fail_after(u64::try_from(at).unwrap() % 8, Fault::DiskFull);
        let result = world.database.checkpoint();
        world.disk.clear_faults();
        if let Err(error) = result {
            assert_eq!(error.code(), Code::DiskFull);
        }
        assert_eq!(world.strangers(), 0, "failed at {at}");
    }
}

#[test]
fn blocks_that_were_still_read_at_a_checkpoint_are_free_after_a_restart() {
    let mut world = World::new(6);
    for round in 0..5 {
        world.put(0..500).unwrap();
        world.flush();
        let snapshot = world.database.snapshot();
        let table = snapshot.table(world.table.id()).unwrap();
        assert_eq!(table.count_rows().unwrap(), 500);
        world.put(0..500).unwrap();
        world.flush();
        while world.database.maintain().unwrap() {}
        world.database.checkpoint().unwrap();
        world.disk.crash();
        drop(table);
        drop(snapshot);
        world.reopen();
        assert_eq!(world.strangers(), 0, "round {round}");
        assert_eq!(world.rows(), 500);
        world.table.file.blocks.check_space().unwrap();
    }
}

#[test]
fn a_delta_of_every_checkpoint_does_not_fill_a_partition() {
    let world = World::new(7);
    for key in 0..100 {
        world.put(key..=key).unwrap();
        world.database.checkpoint().unwrap();
        while world.database.maintain().unwrap() {}
        assert!(world.partition().parts().len() < crate::maintenance::DELTAS_MANY + 8);
    }
    assert_eq!(world.rows(), 100);
}

#[test]
fn nothing_is_written_down_after_a_commit_that_failed_halfway() {
    let world = World::new(8);
    world.put(0..10).unwrap();
    world.database.fail(&Error::internal("half of a commit is in memory"));
    assert_eq!(world.database.checkpoint().unwrap_err().code(), Code::TableFailed);
    assert_eq!(world.table.file.blocks.header().root, None);
    // What was there can be read.
    assert_eq!(world.rows(), 10);
}

#[test]
fn the_floor_of_a_manifest_is_not_below_marks_that_lost_their_versions_meanwhile() {
    let world = World::new(9);
    let old = world.put(0..100).unwrap();
    world.flush();
    let partition = world.partition();
    let frozen = Frozen {
        version: old,
        last_drop: 0,
        history_marks: usize::MAX,
        length_max: usize::MAX,
        next_partition: 1,
        partitions: vec![FrozenPartition {
            id: partition.id,
            key: partition.key.clone(),
            parts: partition.parts(),
        }],
    };
    // While the checkpoint is being written, rows die, and no snapshot reads older versions.
    let died = world.remove(0..10);
    while world.database.horizon(&world.table) < died {}
    partition.parts()[0].deletes.fold(died);
    let file = &world.table.file;
    let (root, _) = manifest::write(&frozen, || world.table.floor(), (file, 0), None).unwrap();
    let weigher = Arc::clone(&world.table.weigher);
    let copy = Table::new(
        world.table.id(),
        (schema(), b""),
        Arc::clone(file),
        weigher,
        0,
        pelorus_env::Account::unlimited(),
    );
    // What is read back must not give the blocks of the table back.
    file.close();
    let (base, base_version, _) = partition.parts()[0].deletes.image(old);
    assert_eq!((base.count(), base_version), (10, died));
    manifest::read(&copy, root).unwrap();
    assert!(copy.floor() >= died, "{} is below {died}", copy.floor());
}

#[test]
fn what_is_in_memory_of_chunks_is_so_of_those_that_take_their_place() {
    let world = World::new(12);
    world.put(0..5000).unwrap();
    world.flush();
    assert_eq!(in_memory_of(&world, 1), 0, "nobody has read it");
    let parts = world.partition().parts();
    parts[0].chunk().unwrap().column(1).unwrap();
    drop(parts);
    world.put(2000..9000).unwrap();
    world.database.optimize(world.table.id()).unwrap();
    assert_eq!((in_memory_of(&world, 1), world.rows()), (1, 9000));
    let mut world = world;
    world.database.close().unwrap();
    world.reopen();
    world.put(9000..9001).unwrap();
    world.flush();
    assert_eq!(in_memory_of(&world, 1), 0, "nobody has read them since the start");
}

#[test]
fn an_index_that_is_used_is_kept_above_the_budget() {
    let partition = Partition::new(crate::PartitionId(1), Vec::new(), Vec::new()).unwrap();
    assert_eq!(partition.index_idle(5), 0, "it is new");
    assert_eq!(partition.index_idle(9), 4);
    drop(partition.write(0).unwrap());
    assert_eq!(partition.index_idle(20), 0);
    assert_eq!(partition.index_idle(25), 5);

    // What indexes take after maintenance.
    let left = |folder: &str, index_bytes, index_idle_micros| {
        let limits = Options { index_bytes, index_idle_micros, ..options() };
        let env = Env::in_memory(13);
        let database =
            Database::open(env, Path::new(folder), limits, Arc::new(ByteWeigher)).unwrap();
        let id = database.create_table(schema(), b"").unwrap();
        put(&database, id, 0..100).unwrap();
        database.maintain().unwrap();
        let left = database.table(id).unwrap().partition(&[1]).unwrap().index_memory();
        put(&database, id, 50..150).unwrap();
        let rows = database.snapshot().table(id).unwrap().count_rows().unwrap();
        assert_eq!(rows, 150);
        left
    };
    let whole = left("/within", usize::MAX, 0);
    assert!(whole > 0);
    assert_eq!(left("/used", whole - 1, u64::MAX), whole);
    assert_eq!(left("/idle", whole - 1, 0), 0);
    assert_eq!(left("/far-above", whole / 2 - 1, u64::MAX), 0);
}

/// Of rows that are older than a column, the filler for all of them together would be gigabytes.
#[test]
fn rows_that_a_long_filler_stands_for_are_flushed_and_merged() {
    let world = World::new(15);
    world.put(0..4000).unwrap();
    let text = ColumnType::varchar(600_000, collation::UTF8MB4_0900_AI_CI);
    let add = |schema: &TableSchema, id: u32, letter: &str| {
        let value: ArrayRef = Arc::new(StringArray::from(vec![letter.repeat(600_000)]));
        let mut wider = schema.clone();
        // In front, where no column says how many rows there are.
        let filler = Some(crate::encode_filler(&value));
        wider.columns.insert(0, StoredColumn { id, ty: text, filler });
        wider.key = vec![schema.key[0] + 1];
        world.database.alter_table(world.table.id(), wider.clone(), b"").unwrap();
        wider
    };
    let wider = add(&schema(), 2, "a");
    world.remove(10..4000);
    world.flush();
    assert_eq!(world.rows(), 10);
    add(&wider, 3, "b");
    world.remove(5..10);
    world.database.optimize(world.table.id()).unwrap();
    let parts = world.partition().parts();
    assert_eq!(parts.iter().map(|part| part.rows()).sum::<u32>(), 5);
    let snapshot = world.database.snapshot();
    let table = snapshot.table(world.table.id()).unwrap();
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![0, 4, 7]));
    let rows = table.get(&[1], &[keys], &[0, 1, 2]).unwrap();
    assert_eq!(rows.found, [true, true, false]);
    for (column, letter) in [(0, "b"), (1, "a")] {
        let texts = rows.columns[column].as_string::<i32>();
        assert!(texts.iter().all(|it| it == Some(letter.repeat(600_000).as_str())));
    }
    assert_eq!(rows.columns[2].as_primitive::<Int64Type>().values(), &[0, 4]);
}

/// How many chunks have a column in memory.
fn in_memory_of(world: &World, column: usize) -> usize {
    let parts = world.partition().parts();
    parts.iter().filter_map(|part| part.chunk()).filter(|it| it.has_in_memory(column)).count()
}

#[test]
fn chunks_of_long_rows_are_not_merged_for_ever() {
    let world = World::new(10);
    world.table.file.close();
    let chunks = |of: &[(u32, u64)]| {
        let chunk = |(slot, it): (u16, &(u32, u64))| Arc::new(world.chunk_of(slot, it.0, it.1));
        (0..).zip(of).map(chunk).collect::<Vec<_>>()
    };
    assert_eq!(crate::maintenance::choose(&chunks(&[(1000, 200 << 20); 9]), 0, 250).len(), 0);
    assert_eq!(crate::maintenance::choose(&chunks(&[(1000, 1 << 20); 3]), 0, 250).len(), 0);
    assert_eq!(crate::maintenance::choose(&chunks(&[(1000, 1 << 20); 9]), 0, 250).len(), 8);
    // No more at once than can be joined.
    let garbage = chunks(&[(1000, 200 << 20); 9]);
    for part in &garbage {
        part.deletes.mark(1, &(0..500).collect::<Vec<_>>());
    }
    assert_eq!(crate::maintenance::choose(&garbage, 1, 250).len(), 2);
}

/// A merge of one part, step by step.
struct Merge {
    old: Vec<Arc<Part>>,
    new: Arc<Part>,
    map: Vec<u32>,
    moves: Vec<(u64, RowRef, RowRef)>,
}

impl Merge {
    /// Puts 100 rows into a part, and makes another one with the same rows backwards.
    fn begin(world: &World) -> Self {
        world.put(0..100).unwrap();
        let partition = world.partition();
        let old = partition.seal().to_vec();
        let slots = partition.free_slots(1).unwrap();
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100).rev()));
        let columns = vec![column.clone(), column];
        let keys = world.table.layout().keys_of_rows(&columns).unwrap();
        let hash = |key: &[u8]| pelorus_index::hash_key(world.table.seed(), key);
        let new = Arc::new(Table::begin_delta(world.table.layout(), slots[0]));
        let pairs = keys.iter().map(|key| (key, hash(key)));
        new.delta().unwrap().append(2, columns, 100, pairs).unwrap();
        let map = (0..100).rev().map(|row| row_ref(slots[0], row).0).collect();
        let moves = (0..100)
            .map(|row| {
                let key = hash(keys.get(99 - row as usize));
                (key, row_ref(old[0].slot, row), row_ref(slots[0], 99 - row))
            })
            .collect();
        Self { old, new, map, moves }
    }

    fn replace(&self, world: &World) {
        let (new, maps) = (vec![Arc::clone(&self.new)], vec![self.map.clone()]);
        world.partition().replace(&self.old, new, maps);
    }

    fn repoint(&self, world: &World) {
        world.partition().repoint(&self.moves, &self.old);
    }
}

impl World {
    /// Writes keys; gives how many of them were there.
    fn replaced(&self, keys: std::ops::Range<i64>) -> u64 {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(keys));
        let columns = vec![column.clone(), column];
        let table = self.table.id();
        let write = Write::Put { table, partition: vec![1], columns, mode: Mode::Replace };
        let commit = Commit { writes: vec![write], ..Commit::default() };
        self.database.commit(&commit).unwrap().outcomes[0].replaced
    }
}

#[test]
fn keys_are_found_between_the_exchange_of_parts_and_the_change_of_the_index() {
    let world = World::new(11);
    let merge = Merge::begin(&world);
    merge.replace(&world);
    assert_eq!(world.replaced(0..10), 10);
    world.remove(10..20);
    assert_eq!(world.rows(), 90);
    merge.repoint(&world);
    assert_eq!(world.replaced(0..110), 90);
    assert_eq!(world.rows(), 110);
}

/// Rows that are replaced or removed after a merge has read them, and before its part is there.
#[test]
fn a_row_that_dies_while_it_is_merged_stays_dead() {
    let world = World::new(12);
    let merge = Merge::begin(&world);
    world.remove(0..10);
    let before = world.database.snapshot();
    assert_eq!(world.replaced(10..30), 20);
    world.remove(30..31);
    merge.replace(&world);
    assert_eq!(world.rows(), 89);
    merge.repoint(&world);
    assert_eq!(world.rows(), 89);
    // Each mark has moved with its version.
    assert_eq!(before.table(world.table.id()).unwrap().count_rows().unwrap(), 90);
    assert_eq!(world.replaced(0..100), 89);
    assert_eq!(world.rows(), 100);
}

#[test]
fn a_commit_that_is_stopped_has_changed_nothing() {
    let mut world = World::new(1);
    world.put(0..10).unwrap();
    let column =
        |keys: std::ops::Range<i64>| Arc::new(Int64Array::from_iter_values(keys)) as ArrayRef;
    let put = |partition: u8, keys: std::ops::Range<i64>| Write::Put {
        table: world.table.id(),
        partition: vec![partition],
        columns: vec![column(keys.clone()), column(keys)],
        mode: Mode::Replace,
    };
    let remove =
        Write::Remove { table: world.table.id(), partition: vec![1], columns: vec![column(0..5)] };
    let writes = vec![remove, put(1, 100..120), put(2, 0..20)];
    let commit = Commit { writes, ..Commit::default() };
    // Stopped wherever it asks, until it asks no more.
    let mut stopped = 0;
    loop {
        let asked = std::cell::Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) >= stopped;
        match world.database.commit_unless(&commit, &stop) {
            Err(error) => assert_eq!(error.errno(), 1317),
            Ok(_) => break,
        }
        assert_eq!(world.rows(), 10, "stopped at {stopped}");
        stopped += 1;
    }
    assert!(stopped >= 8, "it asks {stopped} times");
    assert_eq!(world.rows(), 45);
    world.reopen();
    assert_eq!(world.rows(), 45);
}

#[test]
fn tables_are_dropped_together_with_values_in_one_commit() {
    let mut world = World::new(1);
    let other = world.database.create_table(schema(), b"").unwrap();
    let (key, id) = (b"counter".to_vec(), world.table.id());
    let values = vec![(key.clone(), Some(b"7".to_vec()))];
    let before = world.database.commit(&Commit { values, ..Commit::default() }).unwrap().version;
    let error = world.database.drop_tables(&[other, TableId(99)], vec![key.clone()]).unwrap_err();
    assert_eq!(error.code(), Code::TableChanged);
    assert!(world.database.table(other).is_some() && world.database.value(&key).is_some());
    world.database.drop_tables(&[other, id], vec![key.clone()]).unwrap();
    assert_eq!(world.database.snapshot().version(), before + 1);
    world.database = open(&world.env);
    assert!(world.database.tables().is_empty());
    assert_eq!(world.database.value(&key), None);
}
