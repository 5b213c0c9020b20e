//! Tests of tables near the largest size of their files.

use super::*;
use crate::PartitionId;

/// Writes a manifest of parts and reads it back; gives its length, too.
fn written_and_read(
    world: &World,
    parts: &[Arc<Part>],
    version: u64,
    history_marks: usize,
) -> (u64, Vec<Arc<Part>>) {
    let (id, key) = (PartitionId(1), vec![1]);
    let frozen = Frozen {
        version,
        last_drop: 0,
        history_marks,
        length_max: usize::MAX,
        next_partition: 2,
        partitions: vec![FrozenPartition { id, key, parts: Arc::new(parts.to_vec()) }],
    };
    let file = &world.table.file;
    // No snapshot reads below any version that is folded here.
    let (root, written) = manifest::write(&frozen, || 12, (file, 0), None).unwrap();
    let weigher = Arc::clone(&world.table.weigher);
    let named = (schema(), &b""[..]);
    let copy = Table::new(
        world.table.id(),
        named,
        Arc::clone(file),
        weigher,
        0,
        pelorus_env::Account::unlimited(),
    );
    manifest::read(&copy, root).unwrap();
    let read = copy.partitions()[0].parts().to_vec();
    (written.length, read)
}

#[test]
fn a_few_dead_rows_take_little_of_a_manifest_and_are_read_back_as_they_were() {
    const PARTS: u16 = 50;
    const ROWS: u32 = 100_000;
    let world = World::new(30);
    world.table.file.close();
    let parts: Vec<Arc<Part>> = (0..PARTS)
        .map(|slot| {
            let part = world.chunk_of(slot, ROWS, 0);
            part.deletes.mark(5, &[ROWS - 1]);
            // Some are folded up to a version after the moment of a checkpoint.
            part.deletes.fold(if slot % 2 == 0 { 7 } else { 12 });
            part.deletes.mark(13, &[3]);
            Arc::new(part)
        })
        .collect();
    for (version, history_marks) in [(10, usize::MAX), (14, usize::MAX), (14, 0)] {
        let (length, read) = written_and_read(&world, &parts, version, history_marks);
        assert!(length < 500 + 150 * u64::from(PARTS), "{length} bytes");
        let without_history = history_marks == 0;
        for (part, read) in parts.iter().zip(&read) {
            assert_eq!(read.deletes.at(version), part.deletes.at(version));
            // What was known of when they died is known again.
            let base = if without_history { 2 } else { 1 };
            assert_eq!(read.deletes.base().count(), base);
            let history = usize::from(version > 12 && !without_history);
            assert_eq!(read.deletes.history_at(20), history);
        }
    }
    // The log goes on where the manifest ends, which may be below the version of a base.
    let (_, read) = written_and_read(&world, &parts, 10, usize::MAX);
    for part in &read {
        part.deletes.mark(11, &[7]);
    }
    let (_, again) = written_and_read(&world, &read, 12, usize::MAX);
    for (part, read) in read.iter().zip(&again) {
        assert_eq!(read.deletes.at(12), part.deletes.at(12));
        assert_eq!(read.deletes.count(), 2);
    }
}

#[test]
fn many_dead_rows_stay_a_bitmap() {
    let world = World::new(32);
    world.table.file.close();
    let part = world.chunk_of(0, 100_000, 0);
    part.deletes.mark(5, &(0..50_000).collect::<Vec<_>>());
    part.deletes.fold(7);
    let parts = [Arc::new(part)];
    let (length, read) = written_and_read(&world, &parts, 10, usize::MAX);
    assert!(length < 500 + 50_000 / 8, "{length} bytes");
    assert_eq!(read[0].deletes.at(10), parts[0].deletes.at(10));
}

#[test]
fn a_table_too_large_for_its_file_stops_nothing_else() {
    let mut world = World::new(31);
    let other = world.database.create_table(schema(), b"").unwrap();
    put(&world.database, other, 0..10).unwrap();
    world.put(0..10).unwrap();
    world.database.checkpoint().unwrap();
    // Many partitions stand for very many chunks.
    for partition in 2..40_u8 {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let (table, columns) = (world.table.id(), vec![column.clone(), column]);
        let mode = Mode::Replace;
        let write = Write::Put { table, partition: vec![partition], columns, mode };
        world.database.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    }
    put(&world.database, other, 10..20).unwrap();
    let limit = world.table.file.manifest_bytes() + 300;
    world.database.checkpointing.lock().manifest_max = usize::try_from(limit).unwrap();
    world.table.file.call(b"shop\0sale\0");
    for _ in 0..2 {
        let error = world.database.checkpoint().unwrap_err();
        assert_eq!(error.code(), Code::TableFull);
        assert!(error.message().starts_with("table shop.sale has too many"), "{error}");
        assert_eq!(world.database.failure(), None);
        assert_eq!(world.strangers(), 0);
    }
    let holds = |id| {
        let table = world.database.table(id).unwrap();
        table.checkpoint.load(Ordering::Acquire) >= table.changed.load(Ordering::Acquire)
    };
    assert!(!holds(world.table.id()) && holds(other));
    world.database.optimize(other).unwrap();
    assert_eq!(world.database.optimize(world.table.id()).unwrap_err().code(), Code::TableFull);
    // Both take rows, and the log has what the file did not take.
    put(&world.database, other, 20..30).unwrap();
    world.put(10..20).unwrap();
    world.disk.crash();
    world.reopen();
    assert_eq!(world.rows(), 20 + 38);
    let snapshot = world.database.snapshot();
    assert_eq!(snapshot.table(other).unwrap().count_rows().unwrap(), 30);
    world.database.checkpoint().unwrap();
}

#[test]
fn very_many_partitions_are_dropped_in_one_step() {
    const PARTITIONS: u32 = 30_000;
    let world = World::new(34);
    let partition = |id: u32, key: u32| {
        Arc::new(Partition::new(PartitionId(id), key.to_be_bytes().to_vec(), Vec::new()).unwrap())
    };
    let table = &world.table;
    for key in 0..PARTITIONS {
        table.add_partition(partition(key, key)).unwrap();
    }
    let ids =
        |partitions: &[Arc<Partition>]| partitions.iter().map(|it| it.id.0).collect::<Vec<_>>();
    let odd: Vec<PartitionId> = (1..PARTITIONS).step_by(2).map(PartitionId).collect();
    // What is not there is passed over.
    table.drop_partitions(&[PartitionId(PARTITIONS)], 4);
    assert_eq!((table.last_drop(), table.partitions().len()), (0, PARTITIONS as usize));
    table.drop_partitions(&odd, 5);
    assert_eq!(table.last_drop(), 5);
    let even: Vec<u32> = (0..PARTITIONS).step_by(2).collect();
    assert_eq!(ids(&table.partitions()), even);
    assert!(table.partition(&1_u32.to_be_bytes()).is_none());
    // Their keys come back under other numbers.
    for key in (1..PARTITIONS).step_by(2) {
        table.add_partition(partition(PARTITIONS + key, key)).unwrap();
    }
    let mut before = ids(&table.partitions_at(4));
    before.sort_unstable();
    assert_eq!(before, (0..PARTITIONS).collect::<Vec<_>>());
    assert!(ids(&table.partitions_at(5)).iter().all(|id| id % 2 == 0 || *id > PARTITIONS));
    assert_eq!(table.forget_dropped(5).len(), odd.len());
    assert_eq!(table.floor(), 5);
}

#[test]
fn partitions_that_were_dropped_together_are_gone_after_a_start() {
    let mut world = World::new(35);
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let table = world.table.id();
    let put = |partition: u8| Write::Put {
        table,
        partition: vec![partition],
        columns: vec![column.clone(), column.clone()],
        mode: Mode::Replace,
    };
    let writes = (0..100).map(&put).collect();
    world.database.commit(&Commit { writes, ..Commit::default() }).unwrap();
    let keys: Vec<Vec<u8>> = (0..100).step_by(3).map(|key| vec![key]).collect();
    assert_eq!(world.database.drop_partitions(table, &keys).unwrap(), 34);
    world.database.commit(&Commit { writes: vec![put(3)], ..Commit::default() }).unwrap();
    for _ in 0..2 {
        world.disk.crash();
        world.reopen();
        assert_eq!(world.rows(), 67);
        assert_eq!(world.table.partitions().len(), 67);
        world.database.checkpoint().unwrap();
    }
}
