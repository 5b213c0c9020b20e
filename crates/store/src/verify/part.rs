//! Verifies one part: zone maps, order, versions and delete marks.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::ArrayRef;
use pelorus_error::Result;
use pelorus_index::hash_key;

use super::{Seen, Verifier};
use crate::partition::chunk::Chunk;
use crate::partition::delta::{Block, Delta};
use crate::partition::part::{Body, Part};

impl Verifier<'_> {
    /// Verifies one part.
    ///
    /// # Errors
    /// As [`crate::TableSnapshot::verify`].
    pub(super) fn verify_part(&mut self, part: &Part) -> Result<()> {
        self.go_on()?;
        let checked = match &part.body {
            Body::Delta(delta) => self.verify_delta(part, delta),
            Body::Chunk(chunk) => self.verify_chunk(part, chunk),
        };
        self.read_of(part, checked)?;
        let checked = self.verify_marks(part);
        self.read_of(part, checked)?;
        Ok(())
    }

    fn verify_chunk(&mut self, part: &Part, chunk: &Chunk) -> Result<()> {
        let rows = chunk.rows() as usize;
        let meta = chunk.meta()?;
        let stored =
            part.layout.schema.columns.len() + usize::from(chunk.at.version_column.is_some());
        if meta.columns.len() != stored {
            let found = meta.columns.len();
            self.add_of(part, format!("it has {found} columns where {stored} belong"));
        }
        for (at, column) in meta.columns.iter().enumerate() {
            self.go_on()?;
            // Reading compares the checksum.
            let values = chunk.column(at).and_then(|it| it.decode(0..rows));
            let Some(values) = self.read_of(part, values)? else { continue };
            if let Some(wrong) = column.misfit(&values)? {
                self.add_of(part, format!("column {at}: {wrong}"));
            }
        }
        self.go_on()?;
        if let Some(row) = first_in_disorder(part, chunk)? {
            self.add_of(part, format!("row {row} is not in the order of segment and key"));
        }
        let (least, greatest) = chunk.at.versions;
        let is_outside = |version: &u64| !(least..=greatest).contains(version);
        if let Some(row) = chunk.versions()?.iter().position(is_outside) {
            let text = format!("row {row} is not of versions {least} to {greatest}");
            self.add_of(part, text);
        }
        Ok(())
    }

    fn verify_delta(&mut self, part: &Part, delta: &Delta) -> Result<()> {
        let all = delta.all();
        let mut next = 0;
        for block in &all.blocks {
            self.go_on()?;
            if block.first as usize != next {
                self.add_of(part, format!("a block begins with row {}, not {next}", block.first));
            }
            next = block.first as usize + block.rows;
            let wrong = first_with_another_key(part, delta, block, self.table.table.seed())?;
            if let Some(row) = wrong {
                self.add_of(part, format!("row {row} is kept under another key than its own"));
            }
        }
        if next != all.rows as usize {
            self.add_of(part, format!("it has {next} rows where {} are known", all.rows));
        }
        Ok(())
    }

    /// Marks of deletion are of rows that are there, and counted as many as they are.
    fn verify_marks(&mut self, part: &Part) -> Result<()> {
        let version = self.table.version;
        let seen = Seen::of(part, version)?;
        let words = seen.dead.words();
        let marked: usize = words.iter().map(|word| word.count_ones() as usize).sum();
        let counted = part.deletes.count_at(version);
        if marked != seen.dead.count() || marked != counted {
            self.add_of(
                part,
                format!("{marked} rows are marked as dead where {counted} are counted"),
            );
        }
        let mut rows = 0_u32..u32::try_from(words.len() * 64).unwrap_or(u32::MAX);
        if let Some(row) = rows.find(|row| seen.dead.contains(*row) && !seen.was_written(*row)) {
            self.add_of(part, format!("row {row} is marked as dead and not there"));
        }
        let alive = (0..seen.rows).filter(|row| seen.is_live(*row)).count() as u64;
        let known = self.table.live(part)?;
        if alive != known {
            self.add_of(part, format!("{alive} rows are alive where {known} are counted"));
        }
        Ok(())
    }
}

/// The first row that does not come after the one before it.
fn first_in_disorder(part: &Part, chunk: &Chunk) -> Result<Option<usize>> {
    let (schema, rows) = (&part.layout.schema, chunk.rows() as usize);
    let segment = schema.segment.iter().map(|it| it.column);
    let positions: BTreeSet<usize> = segment.chain(schema.key.iter().copied()).collect();
    let mut columns: BTreeMap<usize, ArrayRef> = BTreeMap::new();
    for at in positions {
        columns.insert(at, chunk.column(at)?.decode(0..rows)?);
    }
    let parts = schema.segment.len() + schema.key.len();
    let keys = part.layout.first_sort_keys(parts, rows, |at| &columns[&at])?;
    Ok((1..rows).find(|&row| keys.get(row - 1) > keys.get(row)))
}

/// The first row of a block whose key, or the hash of it, is not kept as its values say.
fn first_with_another_key(
    part: &Part,
    delta: &Delta,
    block: &Block,
    seed: u64,
) -> Result<Option<usize>> {
    let first = block.first as usize;
    let keys = part.layout.keys_of_rows(&block.columns)?;
    if keys.len() != block.rows {
        return Ok(Some(first));
    }
    let wrong = delta.with_keys(|kept, hashes| {
        let is_kept = |(row, key): (usize, &[u8])| {
            let is_same = first + row < kept.len() && kept.get(first + row) == key;
            is_same && hashes.get(first + row) == Some(&hash_key(seed, key))
        };
        keys.iter().enumerate().position(|it| !is_kept(it))
    });
    Ok(wrong.map(|row| first + row))
}
