//! Tests of verification: each test breaks one thing, which must be found.

use pelorus_chunk::{ChunkMeta, Zone, encode};
use pelorus_index::hash_key;
use pelorus_types::Collation;

use super::*;
use crate::SortKeyEncoder;
use crate::format::data_file::kind;
use crate::snapshot::TableSnapshot;

fn ints(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

impl World {
    fn seen(&self) -> Arc<TableSnapshot> {
        self.database.snapshot().table(self.table.id()).unwrap()
    }

    fn problems(&self) -> Vec<String> {
        self.seen().verify(&|| false).unwrap().iter().map(ToString::to_string).collect()
    }

    /// Adds a part by hand, of which the key index knows nothing.
    fn enter(&self, part: Part) -> Arc<Part> {
        let part = Arc::new(part);
        self.partition().replace(&[], vec![Arc::clone(&part)], Vec::new());
        part
    }

    /// Rows in memory, whatever keys there are.
    fn add_rows(&self, columns: Vec<ArrayRef>) -> Arc<Part> {
        let keys = self.table.layout().keys_of_rows(&columns).unwrap();
        let slot = self.partition().free_slots(1).unwrap()[0];
        let part = Table::begin_delta(self.table.layout(), slot);
        let pairs = keys.iter().map(|key| (key, hash_key(self.table.seed(), key)));
        let delta = part.delta().unwrap();
        delta.append(self.database.version(), columns, keys.len(), pairs).unwrap();
        self.enter(part)
    }

    /// A chunk whose description is changed before it is written.
    fn add_chunk(&self, columns: &[ArrayRef], change: impl FnOnce(&mut ChunkMeta)) -> Arc<Part> {
        let encoded = encode(columns).unwrap();
        let (mut payload, mut meta) = (encoded.bytes, encoded.meta);
        change(&mut meta);
        let (bytes, meta_at) = (meta.to_bytes(), payload.len() as u64);
        payload.extend_from_slice(&bytes);
        let version = self.database.version();
        let at = ChunkRef {
            block: self.table.file.blocks.write(kind::CHUNK, &payload, 0).unwrap(),
            rows: u32::try_from(columns[0].len()).unwrap(),
            meta_at,
            meta_length: u32::try_from(bytes.len()).unwrap(),
            meta_check: crc32c::crc32c(&bytes),
            raw_bytes: 1,
            versions: (version, version),
            version_column: None,
        };
        let slot = self.partition().free_slots(1).unwrap()[0];
        let body = Body::Chunk(Chunk::new(Arc::clone(&self.table.file), at));
        let (layout, deletes) = (self.table.layout(), Deletes::default());
        self.enter(Part { slot, layout, deletes, body })
    }

    /// Makes the key index again from the rows that there are.
    fn index_again(&self) {
        self.partition().forget_index();
        self.partition().build_index(self.table.seed()).unwrap();
    }

    fn part(&self) -> Arc<Part> {
        Arc::clone(&self.partition().parts()[0])
    }
}

#[test]
fn a_table_that_is_whole_has_no_problems() {
    let mut world = World::new(31);
    world.put(0..5000).unwrap();
    world.remove(100..200);
    let held = world.database.snapshot();
    let seen = held.table(world.table.id()).unwrap();
    assert_eq!(world.problems(), [""; 0]);
    world.flush();
    world.put(150..300).unwrap();
    world.remove(4000..5000);
    world.database.optimize(world.table.id()).unwrap();
    world.put(0..10).unwrap();
    assert_eq!(world.problems(), [""; 0]);
    assert_eq!(seen.verify(&|| false).unwrap(), [], "an older version");
    drop((seen, held));
    world.database.close().unwrap();
    world.reopen();
    assert_eq!(world.problems(), [""; 0], "without an index");
    world.put(0..10).unwrap();
    assert_eq!(world.problems(), [""; 0]);
}

#[test]
fn two_live_rows_of_one_key_are_found() {
    for flushed in [false, true] {
        let world = World::new(32);
        world.put(0..100).unwrap();
        if flushed {
            world.flush();
        }
        world.add_rows(vec![ints(40..45), ints(40..45)]);
        world.index_again();
        let found = world.problems();
        assert_eq!(found.len(), 5, "{found:?}");
        let is_meant = |text: &String| text.contains("primary key 0x80") && text.contains("row ");
        assert!(found.iter().all(is_meant), "{found:?}");
        let one_by_one = world.seen().verify_in_passes(7, &|| false).unwrap();
        assert_eq!(one_by_one, world.seen().verify(&|| false).unwrap());
    }
}

/// A collation that takes small letters for large ones.
#[derive(Debug)]
struct Folding;

impl SortKeyEncoder for Folding {
    fn weigh(&self, _: Collation, text: &str, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(text.to_uppercase().as_bytes());
        Ok(())
    }
}

#[test]
fn texts_are_one_key_where_their_collation_says_so() {
    let mut world = World::new(33);
    let folder = Path::new("/texts");
    world.database =
        Database::open(world.env.clone(), folder, options(), Arc::new(Folding)).unwrap();
    let ty = ColumnType::varchar(20, collation::UTF8MB4_0900_AI_CI).not_null();
    let columns = vec![StoredColumn { id: 0, ty, filler: None }];
    let id = world.database.create_table(TableSchema { columns, ..schema() }, b"").unwrap();
    world.table = world.database.table(id).unwrap();
    let texts = |all: &[&str]| vec![Arc::new(StringArray::from(all.to_vec())) as ArrayRef];
    let columns = texts(&["abc", "abd"]);
    let write = Write::Put { table: id, partition: vec![1], columns, mode: Mode::Insert };
    world.database.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    assert_eq!(world.problems(), [""; 0]);
    world.add_rows(texts(&["ABC", "xyz"]));
    world.index_again();
    let found = world.problems();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("primary key 0x414243: two live rows"), "{found:?}");
}

#[test]
fn a_key_index_that_leads_elsewhere_is_found() {
    for flushed in [false, true] {
        let world = World::new(34);
        world.put(0..100).unwrap();
        if flushed {
            world.flush();
        }
        let part = world.part();
        let key = part.keys().unwrap().get(7).to_vec();
        let hash = hash_key(world.table.seed(), &key);
        let (own, next) = (row_ref(part.slot, 7), row_ref(part.slot, 8));
        world.partition().repoint(&[(hash, own, next)], &[]);
        let found = world.problems();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("row 7 is not where the key index leads to for its key"));
        world.partition().repoint(&[(hash, next, own)], &[]);
        assert_eq!(world.problems(), [""; 0]);
        // A row that died without the index's knowledge.
        part.deletes.mark(world.database.version(), &[3]);
        let found = world.problems();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("100 entries for 99 live rows"), "{found:?}");
        assert!(found[1].ends_with("row 3 is dead and yet in the key index"), "{found:?}");
    }
}

#[test]
fn rows_that_the_key_index_does_not_have_are_found() {
    let world = World::new(35);
    world.put(0..10).unwrap();
    world.add_rows(vec![ints(20..23), ints(20..23)]);
    let found = world.problems();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].contains("10 entries for 13 live rows"), "{found:?}");
    let many = World::new(36);
    many.put(0..10).unwrap();
    many.add_rows(vec![ints(100..900), ints(100..900)]);
    assert_eq!(many.problems().len(), crate::PROBLEMS_MAX);
}

#[test]
fn marks_of_rows_that_are_not_there_are_found() {
    for flushed in [false, true] {
        let world = World::new(37);
        world.put(0..100).unwrap();
        if flushed {
            world.flush();
        }
        world.part().deletes.mark(world.database.version(), &[500]);
        let found = world.problems();
        let has = |text: &str| found.iter().any(|it| it.ends_with(text));
        assert!(has(": row 500 is marked as dead and not there"), "{found:?}");
        assert!(has(": 100 rows are alive where 99 are counted"), "{found:?}");
    }
}

#[test]
fn what_a_chunk_says_wrongly_of_its_rows_is_found() {
    let columns = [ints(1000..1100), ints(0..100)];
    let told = |columns: &[ArrayRef], change: &dyn Fn(&mut ChunkMeta)| {
        let world = World::new(38);
        world.put(0..10).unwrap();
        world.add_chunk(columns, change);
        world.index_again();
        world.problems()
    };
    assert_eq!(told(&columns, &|_| {}), [""; 0]);
    let wrong = Zone::Int { min: 0, max: 98 };
    let found = told(&columns, &|meta| meta.columns[1].zone = wrong.clone());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("block ") && found[0].contains("column 1: its least"));
    let found = told(&columns, &|meta| meta.columns[1].nulls = 1);
    assert!(found.iter().any(|it| it.contains("NULL")), "{found:?}");
    let turned = [ints((1000..1100).rev()), ints(0..100)];
    let found = told(&turned, &|_| {});
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("row 1 is not in the order of segment and key"), "{found:?}");
}

#[test]
fn rows_in_memory_whose_keys_are_not_their_own_are_found() {
    let world = World::new(39);
    world.put(0..10).unwrap();
    let keys = world.table.layout().keys_of_rows(&[ints(20..23), ints(20..23)]).unwrap();
    let slot = world.partition().free_slots(1).unwrap()[0];
    let part = Table::begin_delta(world.table.layout(), slot);
    let pairs = keys.iter().map(|key| (key, hash_key(world.table.seed(), key)));
    let columns = vec![ints([20, 99, 22].into_iter()), ints(20..23)];
    part.delta().unwrap().append(world.database.version(), columns, 3, pairs).unwrap();
    world.enter(part);
    world.index_again();
    let found = world.problems();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("row 1 is kept under another key than its own"), "{found:?}");
}

#[test]
fn damage_is_a_problem_and_a_stop_is_an_error() {
    let world = World::new(40);
    world.put(0..100).unwrap();
    let columns = [ints(1000..1100), ints(0..100)];
    world.add_chunk(&columns, |meta| meta.columns[1].checksum ^= 1);
    world.index_again();
    let found = world.problems();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("is damaged"), "{found:?}");
    let stopped = world.seen().verify(&|| true).unwrap_err();
    assert_eq!(stopped.code(), Code::QueryInterrupted);
}
