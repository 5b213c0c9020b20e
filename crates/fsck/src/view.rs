//! The view of one data file: headers, blocks, holes, chunks, columns.
//!
//! All blocks are read, and their checksums compared. A check, not a view, verifies whether their
//! contents are consistent with each other and with the rest of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pelorus_env::Disk;

use crate::blocks::{
    BlockFile, Entry, Expected, FIRST_BLOCK, Generation, Header, Slot, extent_end,
};
use crate::bytes::{Decoded, long};
use crate::catalog::Catalog;
use crate::chunk::codec_name;
use crate::manifest::{ChunkAt, Manifest, Part, Partition};
use crate::part::{CATALOG, CHUNK, DELTAS, MANIFEST, describe, parse_description};
use crate::report::{Finding, Findings, Place, Severity, advice};
use crate::schema::Schema;
use crate::table::read_manifest;

/// A header slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderView {
    /// 0 or 1.
    pub slot: u64,
    /// `newest`, `fallback`, or why it is neither.
    pub state: String,
    /// The checkpoint number; 0 if it is unknown.
    pub checkpoint: u64,
    /// The log position up to which the file holds everything then.
    pub lsn: u64,
    /// The block number of the root; 0 without one.
    pub root: u64,
    /// Bytes that the checkpoint speaks of.
    pub length: u64,
}

/// Which checkpoints refer to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedBy {
    /// Both.
    Both,
    /// The newest only.
    Newest,
    /// The fallback only.
    Fallback,
}

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A translation table.
    Table,
    /// A chunk.
    Chunk,
    /// Rows of deltas.
    Deltas,
    /// The manifest of a table.
    Manifest,
    /// The catalog.
    Catalog,
    /// Something that is not known here.
    Other(u8),
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// Its number; 0 for a translation table.
    pub number: u64,
    /// Its content.
    pub kind: Kind,
    /// Its offset in the file.
    pub offset: u64,
    /// Bytes that it takes in the file, whole units.
    pub taken: u64,
    /// Bytes of its payload.
    pub payload: u64,
    /// The first checkpoint that it can be part of.
    pub checkpoint: u64,
    /// The headers that refer to it.
    pub used_by: UsedBy,
}

/// A place that no checkpoint refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Its offset in the file.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A chunk of the newest checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkView {
    /// Its block.
    pub block: u64,
    /// The number of its partition.
    pub partition: u32,
    /// Rows, dead ones included.
    pub rows: u64,
    /// Rows that are dead.
    pub dead: u64,
    /// The smallest and the largest version of a row.
    pub versions: (u64, u64),
    /// Its columns, or the reason for which they are unknown.
    pub columns: Result<Vec<ColumnView>, String>,
}

/// A column of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnView {
    /// The number of the column in its table; `None` for the versions of rows.
    pub id: Option<u32>,
    /// How its values are stored.
    pub ty: &'static str,
    /// How they are encoded.
    pub codec: &'static str,
    /// Bytes of a code; 0 without codes.
    pub width: u8,
    /// Encoded bytes.
    pub bytes: u64,
    /// Rows that are NULL.
    pub nulls: u32,
    /// The smallest and the largest value.
    pub zone: String,
    /// Whether single vectors can be passed over.
    pub has_vectors: bool,
}

/// A data file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileView {
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// The database that it belongs to.
    pub database: [u8; 16],
    /// The number of the table; 0 for the catalog.
    pub table: u64,
    /// Both slots.
    pub headers: Vec<HeaderView>,
    /// Blocks of both checkpoints, by offset.
    pub blocks: Vec<BlockView>,
    /// Places of the newest checkpoint that can be written to, by offset.
    pub holes: Vec<Hole>,
    /// Lines about the manifest or the catalog.
    pub facts: Vec<String>,
    /// Chunks, by partition.
    pub chunks: Vec<ChunkView>,
    /// The problems.
    pub findings: Vec<Finding>,
}

impl FileView {
    /// Whether a checkpoint was found by which the file can be opened. Without one only
    /// `findings` say anything.
    pub fn is_usable(&self) -> bool {
        self.headers.iter().any(|header| header.state == NEWEST)
    }

    /// The first damage that was found; warnings and notes may be there without.
    pub fn damage(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.severity == Severity::Damage)
    }
}

/// What is said of the header by which a file is opened.
const NEWEST: &str = "newest";

/// Looks at a file.
pub(crate) fn inspect(disk: &dyn Disk, path: &Path) -> FileView {
    let mut findings = Findings::default();
    let expected = Expected { database: None, table: None };
    let mut view = FileView { path: path.to_owned(), ..FileView::default() };
    if let Some(file) = BlockFile::open(disk, path, expected, &mut findings) {
        look(&file, &mut view, &mut findings);
    }
    view.findings = findings.list;
    view
}

fn look(file: &BlockFile, view: &mut FileView, findings: &mut Findings) {
    view.bytes = file.bytes;
    let chosen = file.chosen.as_ref();
    view.headers = (0..).zip(&file.slots).map(|(at, slot)| header(file, at, slot)).collect();
    let Some(chosen) = chosen else { return };
    view.database = chosen.header.database;
    view.table = chosen.header.table;
    view.blocks = blocks(chosen, file.fallback.as_ref());
    view.holes = holes(&view.blocks, chosen.header.length);
    verify(file, findings);
    let Some(root) = chosen.entries.get(&chosen.header.root) else { return };
    match root.kind {
        CATALOG => {
            let place = Place::file(&file.path).block(root.number).at(root.offset);
            let payload = file.read(&chosen.header, root);
            match payload.and_then(|payload| Catalog::parse(&payload)) {
                Ok(catalog) => view.facts = of_catalog(&catalog),
                Err(why) => findings.damage(place, why, advice::RESTORE),
            }
        }
        _ => {
            if let Some(manifest) = read_manifest(file, chosen, findings, advice::REWRITE) {
                view.facts = of_manifest(&manifest);
                let one = |(partition, part, layout, at)| {
                    chunk(file, chosen, &manifest, (partition, part, layout, at))
                };
                view.chunks = manifest.chunks().map(one).collect();
                for (block, why) in unknown_columns(&view.chunks) {
                    let place = Place::file(&file.path).block(block);
                    let what = format!("the columns of its chunk cannot be told: {why}");
                    findings.damage(place, what, advice::REWRITE);
                }
            }
        }
    }
}

/// Verifies the checksums of all blocks that a checkpoint refers to.
fn verify(file: &BlockFile, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    let generations = [(&file.chosen, advice::REWRITE), (&file.fallback, advice::SPARE)];
    for (generation, advice) in generations {
        let Some(generation) = generation else { continue };
        for entry in generation.entries.values() {
            if seen.insert((entry.number, entry.offset))
                && let Err(why) = file.read(&generation.header, entry)
            {
                let place = Place::file(&file.path).block(entry.number).at(entry.offset);
                findings.damage(place, format!("the block is damaged: {why}"), advice);
            }
        }
    }
}

/// The blocks of chunks whose descriptions cannot be read, and why.
fn unknown_columns(chunks: &[ChunkView]) -> impl Iterator<Item = (u64, &String)> {
    chunks.iter().filter_map(|chunk| Some((chunk.block, chunk.columns.as_ref().err()?)))
}

fn header(file: &BlockFile, at: u64, slot: &Slot) -> HeaderView {
    let empty =
        HeaderView { slot: at, state: String::new(), checkpoint: 0, lsn: 0, root: 0, length: 0 };
    let header = match slot {
        Slot::Valid(header) => header,
        Slot::Later(why) | Slot::Invalid(why) => {
            return HeaderView { state: format!("not valid: {why}"), ..empty };
        }
    };
    let is = |of: &Option<Generation>| of.as_ref().is_some_and(|it| it.header == *header);
    let state = match (is(&file.chosen), is(&file.fallback)) {
        (true, _) => NEWEST,
        (_, true) => "fallback",
        _ => "not usable",
    };
    let &Header { checkpoint, lsn, root, length, .. } = header;
    HeaderView { slot: at, state: state.to_owned(), checkpoint, lsn, root, length }
}

fn blocks(chosen: &Generation, fallback: Option<&Generation>) -> Vec<BlockView> {
    let mut all: BTreeMap<(u64, u64), BlockView> = BTreeMap::new();
    for (generation, used_by) in [(Some(chosen), UsedBy::Newest), (fallback, UsedBy::Fallback)] {
        let Some(generation) = generation else { continue };
        let header = &generation.header;
        let (offset, payload, _) = header.map;
        let table = (offset != 0).then_some((0, Kind::Table, offset, payload, header.checkpoint));
        let entries = generation.entries.values().map(|entry| {
            let kind = kind(entry);
            (entry.number, kind, entry.offset, u64::from(entry.length), entry.generation)
        });
        for (number, kind, offset, payload, checkpoint) in entries.chain(table) {
            let taken = extent_end(offset, payload) - offset;
            let view = BlockView { number, kind, offset, taken, payload, checkpoint, used_by };
            all.entry((offset, number)).and_modify(|it| it.used_by = UsedBy::Both).or_insert(view);
        }
    }
    all.into_values().collect()
}

fn kind(entry: &Entry) -> Kind {
    match entry.kind {
        CHUNK => Kind::Chunk,
        DELTAS => Kind::Deltas,
        MANIFEST => Kind::Manifest,
        CATALOG => Kind::Catalog,
        other => Kind::Other(other),
    }
}

fn holes(blocks: &[BlockView], length: u64) -> Vec<Hole> {
    let mut holes = Vec::new();
    let mut end = FIRST_BLOCK;
    let places = blocks.iter().map(|block| (block.offset, block.offset + block.taken));
    for (begin, next) in places.chain([(length, length)]) {
        if begin > end {
            holes.push(Hole { offset: end, bytes: begin - end });
        }
        end = end.max(next);
    }
    holes
}

fn of_catalog(catalog: &Catalog) -> Vec<String> {
    let mut facts = vec![
        format!(
            "catalog of version {}: {} tables, {} values; the log is needed from {} on",
            catalog.version,
            catalog.tables.len(),
            catalog.values,
            catalog.log_start
        ),
        format!("the next table gets number {}", catalog.next_table),
    ];
    for (number, entry) in &catalog.tables {
        let name = entry.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        facts.push(format!("table {number}{name}: {}", of_schema(&entry.schema)));
    }
    facts
}

fn of_manifest(manifest: &Manifest) -> Vec<String> {
    let mut facts = vec![format!(
        "manifest of version {}, readable from version {} on: {} partitions, {} blocks of deltas",
        manifest.version,
        manifest.floor,
        manifest.partitions.len(),
        manifest.delta_blocks.len()
    )];
    for (number, schema) in manifest.layouts.iter().enumerate() {
        facts.push(format!("layout {number}: {}", of_schema(schema)));
    }
    facts
}

fn of_schema(schema: &Schema) -> String {
    let columns: Vec<String> =
        schema.columns.iter().map(|it| format!("{} {}", it.id, it.ty.name())).collect();
    let key: Vec<String> = schema.key_columns().map(|it| it.id.to_string()).collect();
    format!("columns {}; key {}", columns.join(", "), key.join(", "))
}

fn chunk(
    file: &BlockFile,
    chosen: &Generation,
    manifest: &Manifest,
    (partition, part, layout, at): (&Partition, &Part, &Schema, ChunkAt),
) -> ChunkView {
    let dead = part.deletes.dead(at.rows).unwrap_or_default();
    ChunkView {
        block: at.block,
        partition: partition.id,
        rows: long(at.rows),
        dead: long(dead.iter().filter(|it| **it).count()),
        versions: at.versions,
        columns: columns(file, chosen, manifest, layout, at),
    }
}

fn columns(
    file: &BlockFile,
    chosen: &Generation,
    manifest: &Manifest,
    layout: &Schema,
    at: ChunkAt,
) -> Decoded<Vec<ColumnView>> {
    let entry = chosen.entries.get(&at.block).ok_or("its block is not in the file")?;
    let bytes = file.read_part(entry, at.meta_at, u64::from(at.meta_length))?;
    let description = parse_description(at, &bytes)?;
    describe(at, layout, u64::from(entry.length), &description, manifest.version)?;
    let view = |(number, column): (usize, &crate::chunk::ColumnAt)| {
        let known = layout.columns.get(number);
        ColumnView {
            id: known.map(|it| it.id),
            ty: known.map_or("unsigned", |it| it.ty.name()),
            codec: codec_name(column.codec),
            width: column.width,
            bytes: column.length,
            nulls: column.nulls,
            zone: column.zone.to_string(),
            has_vectors: !column.vectors.is_empty(),
        }
    };
    Ok(description.columns.iter().enumerate().map(view).collect())
}
