//! Checks one part of a partition: its rows as columns, against all its redundant data.

use crate::blocks::{BlockFile, Entry, Generation};
use crate::bytes::{Decoded, long, size};
use crate::chunk::Description;
use crate::manifest::{Body, ChunkAt, DeltaAt, Image, Manifest, Part};
use crate::report::{Findings, Place, TableReport};
use crate::schema::Schema;
use crate::values::{Column, Type, Value, Values};

/// Kinds of blocks.
pub(crate) const CHUNK: u8 = 1;
pub(crate) const DELTAS: u8 = 2;
pub(crate) const MANIFEST: u8 = 3;
pub(crate) const CATALOG: u8 = 4;

/// The rows of a part: columns by position in its layout, in one or more batches.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Columns of each batch; `None` where they are not wanted any more.
    pub(crate) batches: Vec<Vec<Option<Column>>>,
    /// Which rows are dead.
    pub(crate) dead: Vec<bool>,
}

/// Reads the parts of one checkpoint.
#[derive(Debug)]
pub(crate) struct PartReader<'a> {
    pub(crate) file: &'a BlockFile,
    pub(crate) generation: &'a Generation,
    pub(crate) manifest: &'a Manifest,
    pub(crate) advice: &'static str,
    pub(crate) findings: &'a mut Findings,
    pub(crate) report: &'a mut TableReport,
    /// The last block of delta images, by its number.
    pub(crate) images: Option<(u64, Vec<u8>)>,
}

impl PartReader<'_> {
    /// Reads a part and reports its problems; `None` if its rows are unknown. Columns are returned
    /// if `wanted` says so, by position in the layout.
    pub(crate) fn read(&mut self, part: &Part, wanted: &[bool]) -> Option<Rows> {
        let layout = self.manifest.layouts.get(part.layout)?;
        let root = self.generation.header.root;
        let rows = match part.body {
            Body::Chunk(at) => self.chunk(at, layout, wanted),
            Body::Delta(at) => self.delta(at, layout),
        };
        let checked = part.deletes.check_versions(self.manifest.version);
        if let Err(why) = checked {
            self.damage(root, &why);
        }
        let (batches, count) = rows?;
        match part.deletes.dead(count) {
            Ok(dead) => Some(Rows { batches, dead }),
            Err(why) => {
                self.damage(root, &why);
                None
            }
        }
    }

    /// Reports damage of a block.
    pub(crate) fn damage(&mut self, block: u64, what: &str) {
        let mut place = Place::file(&self.file.path).block(block);
        if let Some(entry) = self.generation.entries.get(&block) {
            place = place.at(entry.offset);
        }
        self.findings.damage(place, what, self.advice);
    }

    /// Reads a block that the manifest names.
    pub(crate) fn block(&mut self, number: u64, kind: u8) -> Option<Vec<u8>> {
        let found = match self.generation.entries.get(&number) {
            None => Err("the manifest names it, but it is not in the table of blocks".into()),
            Some(entry) if entry.kind != kind => {
                Err(format!("it has kind {} instead of {kind}", entry.kind))
            }
            Some(entry) => self.verified(entry),
        };
        found.map_err(|why| self.damage(number, &why)).ok()
    }

    /// Reads a block and counts it.
    pub(crate) fn verified(&mut self, entry: &Entry) -> Decoded<Vec<u8>> {
        let payload = self.file.read(&self.generation.header, entry)?;
        self.report.blocks += 1;
        self.report.bytes += crate::blocks::taken(entry);
        Ok(payload)
    }

    fn chunk(
        &mut self,
        at: ChunkAt,
        layout: &Schema,
        wanted: &[bool],
    ) -> Option<(Vec<Vec<Option<Column>>>, usize)> {
        let payload = self.block(at.block, CHUNK)?;
        let version = self.manifest.version;
        let described = split(at, &payload).and_then(|(chunk, description)| {
            describe(at, layout, long(payload.len()), &description, version)?;
            Ok((chunk, description))
        });
        let (chunk, description) = described.map_err(|why| self.damage(at.block, &why)).ok()?;
        let mut columns = Vec::new();
        let mut is_whole = true;
        for number in 0..description.columns.len() {
            self.report.columns += 1;
            let is_version = at.version_column == Some(number);
            let decoded = description.decode(number, chunk).and_then(|decoded| {
                if is_version {
                    check_version_column(&decoded.column, at.versions)?;
                } else {
                    check_type(&decoded.column, decoded.decimals, layout, number)?;
                }
                Ok(decoded)
            });
            match decoded {
                Ok(decoded) => {
                    if let Err(why) = decoded.zone {
                        self.damage(at.block, &name(layout, number, &why));
                    }
                    let is_wanted = wanted.get(number).copied().unwrap_or(false);
                    columns.push(is_wanted.then_some(decoded.column));
                }
                Err(why) => {
                    self.damage(at.block, &name(layout, number, &why));
                    is_whole = false;
                }
            }
        }
        is_whole.then(|| (vec![columns], at.rows))
    }

    fn delta(&mut self, at: DeltaAt, layout: &Schema) -> Option<(Vec<Vec<Option<Column>>>, usize)> {
        let number = *self.manifest.delta_blocks.get(at.block)?;
        if self.images.as_ref().is_none_or(|(loaded, _)| *loaded != number) {
            // The blocks of deltas are verified, counted and reported once, before their images.
            let entry = self.generation.entries.get(&number)?;
            let bytes = self.file.read(&self.generation.header, entry).ok()?;
            self.images = Some((number, bytes));
        }
        let bytes = self.images.as_ref().map(|(_, bytes)| &bytes[..]);
        let begin = usize::try_from(at.at).ok();
        let end = at.at.checked_add(at.length).and_then(|end| usize::try_from(end).ok());
        let image = begin.zip(end).and_then(|(begin, end)| bytes?.get(begin..end));
        let parsed = match image {
            Some(image) => Image::parse(image, &layout.types(), self.manifest.version),
            None => Err("a delta lies outside of it".into()),
        };
        let parsed = parsed
            .map_err(|why| format!("the delta at byte {} of its payload is damaged: {why}", at.at));
        match parsed {
            Ok(image) => {
                let kept = |columns: Vec<Column>| columns.into_iter().map(Some).collect();
                Some((image.batches.into_iter().map(kept).collect(), image.rows))
            }
            Err(why) => {
                self.damage(number, &why);
                None
            }
        }
    }
}

/// Says which column is meant.
fn name(layout: &Schema, number: usize, why: &str) -> String {
    match layout.columns.get(number) {
        Some(column) => format!("column {number} (number {} of the table): {why}", column.id),
        None => format!("column {number} (versions): {why}"),
    }
}

/// The chunk and its description.
fn split(at: ChunkAt, payload: &[u8]) -> Decoded<(&[u8], Description)> {
    let split = usize::try_from(at.meta_at).ok().and_then(|at| payload.split_at_checked(at));
    let (chunk, description) = split.ok_or("its description lies outside of the block")?;
    let length = usize::try_from(at.meta_length).ok();
    let split = length.and_then(|length| description.split_at_checked(length));
    let (description, rest) = split.ok_or("its description reaches beyond the block")?;
    if rest.iter().any(|byte| *byte != 0) {
        return Err("the bytes behind the description of the chunk are not zeros".into());
    }
    let description = parse_description(at, description)?;
    description.check_places(chunk)?;
    Ok((chunk, description))
}

/// Reads a description whose checksum the manifest knows.
pub(crate) fn parse_description(at: ChunkAt, bytes: &[u8]) -> Decoded<Description> {
    let found = crc32c::crc32c(bytes);
    if found != at.meta_check {
        return Err(format!(
            "the checksum of its description is {found:08x}, the manifest says {:08x}",
            at.meta_check
        ));
    }
    Description::parse(bytes)
}

/// Checks the description of a chunk against the manifest of `version`.
pub(crate) fn describe(
    at: ChunkAt,
    layout: &Schema,
    payload: u64,
    description: &Description,
    version: u64,
) -> Decoded<()> {
    let end = at.meta_at.checked_add(u64::from(at.meta_length));
    if end.is_none_or(|end| end > payload) {
        return Err("the description of the chunk does not end inside the block".into());
    }
    let columns = layout.columns.len() + usize::from(at.version_column.is_some());
    if description.rows != at.rows || description.columns.len() != columns {
        return Err(format!(
            "it has {} rows of {} columns, the manifest says {} of {columns}",
            description.rows,
            description.columns.len(),
            at.rows
        ));
    }
    if at.version_column.is_some_and(|at| at != layout.columns.len()) {
        return Err("its column of versions is not the last one".into());
    }
    if at.versions.0 > at.versions.1 || at.versions.1 > version {
        return Err(format!(
            "its versions are {} to {}, in a manifest of version {version}",
            at.versions.0, at.versions.1
        ));
    }
    Ok(())
}

fn check_type(column: &Column, decimals: (u8, i8), layout: &Schema, number: usize) -> Decoded<()> {
    let expected = layout.columns.get(number).ok_or("the layout does not have it")?;
    let found = column.values.ty();
    if found != expected.ty || decimals != expected.decimals {
        return Err(format!(
            "it is a column of {}{decimals:?} instead of {}{:?}",
            found.name(),
            expected.ty.name(),
            expected.decimals
        ));
    }
    Ok(())
}

fn check_version_column(column: &Column, said: (u64, u64)) -> Decoded<()> {
    let Values::UInt(versions) = &column.values else {
        return Err(format!("versions are a column of {}", Type::name(column.values.ty())));
    };
    if column.null_count() > 0 {
        return Err("a row has no version".into());
    }
    let ends = versions.iter().copied().min().zip(versions.iter().copied().max());
    match ends {
        Some(ends) if ends == said => Ok(()),
        _ => Err(format!("its versions are {ends:?}, the manifest says {said:?}")),
    }
}

impl Rows {
    /// Batch and row within it of all rows that are not dead, each with its number in the part.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u32, &[Option<Column>], usize)> {
        let places = self.batches.iter().flat_map(|columns| {
            let rows = columns.iter().flatten().next().map_or(0, Column::rows);
            (0..rows).map(move |row| (&columns[..], row))
        });
        let dead = |row: u32| self.dead.get(size(row)).copied().unwrap_or(true);
        (0_u32..)
            .zip(places)
            .filter(move |(number, _)| !dead(*number))
            .map(|(number, (columns, row))| (number, columns, row))
    }
}

/// A value of a row, NULL if the column was not requested.
pub(crate) fn value(columns: &[Option<Column>], at: usize, row: usize) -> Value<'_> {
    columns.get(at).and_then(Option::as_ref).map_or(Value::Null, |column| column.get(row))
}
