//! Row images to Arrow arrays, column by column.
//!
//! An [`ImageBuilder`] is made for the columns that are wanted and takes any number of rows events.
//! An image is: a bitmap of NULLs over the columns that it has, and their values in order; the
//! values are those that the server packs for its replicas (MySQL's `pack_row`, `Field::pack`). The
//! arrays have the forms of `ColumnType::arrow`. What to know of them:
//!
//! - A TIMESTAMP is logged as seconds since 1970 UTC and comes out packed like any date, **in
//!   UTC**, which is what a session with `time_zone = '+00:00'` selects. 0 is the zero date.
//! - BINARY gets the zero bytes back that the server strips; CHAR has no trailing spaces, as in
//!   SELECT.
//! - ENUM and SET become their members' texts; the empty ENUM (number 0) becomes an empty string.
//! - Text becomes UTF-8 ([`crate::charset`]).
//! - MySQL's JSON becomes the text that `CAST(j AS CHAR)` gives. MariaDB's is text already.
//! - Changes of documents (`binlog_row_value_options = PARTIAL_JSON`) are applied to the image of
//!   before. Where that is not in the log (MINIMAL), the value is NULL and the change is one of
//!   [`Images::changes`], for [`apply_changes`](crate::apply_changes).
//!
//! Values of columns that an image leaves out (`binlog_row_image` MINIMAL and NOBLOB) are NULL, and
//! [`Images::present`] tells them from real NULLs. [`Image::Completed`] takes them from the image of
//! before where that has them (key columns; all of them under MariaDB's FULL_NODUP).

mod decimal;
mod plan;
mod target;
mod temporal;
mod value;

use std::sync::Arc;

use arrow::array::{Array as _, BooleanBufferBuilder};
use bytes::Bytes;
use pelorus_error::{Error, Result};
use pelorus_types::builder::Builder;

use crate::reader::{Reader, malformed};
use crate::rows::{Present, RowsEvent, RowsKind};
use crate::table_map::TableMap;
use plan::Step;

pub use target::{DocumentChange, Form, Image, Images, Target};

pub(crate) use decimal::opaque as opaque_decimal;
pub(crate) use temporal::packed_time;

/// Collects row images into arrays.
#[derive(Debug)]
pub struct ImageBuilder {
    targets: Arc<[Target]>,
    builders: Vec<Builder>,
    presence: Vec<Option<BooleanBufferBuilder>>,
    rows: usize,
    changes: Vec<DocumentChange>,
    bound: Option<(Arc<TableMap>, Vec<Step>)>,
    /// The before-image's value in each column of the table, for the current row; empty if it is
    /// not needed.
    old: Vec<Old>,
}

/// What an image of before has in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Old {
    Absent,
    Null,
    /// From where to where its bytes go in those of the event.
    Bytes(usize, usize),
}

impl ImageBuilder {
    /// A builder of arrays for these columns.
    ///
    /// # Errors
    /// When a type cannot be held.
    pub fn new(targets: impl Into<Arc<[Target]>>) -> Result<Self> {
        let targets = targets.into();
        let builders =
            targets.iter().map(|t| Builder::new(t.ty.arrow())).collect::<Result<Vec<_>>>()?;
        let presence = targets.iter().map(|_| None).collect();
        Ok(Self {
            targets,
            builders,
            presence,
            rows: 0,
            changes: Vec::new(),
            bound: None,
            old: Vec::new(),
        })
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes that the values take so far.
    pub fn bytes(&self) -> usize {
        self.builders.iter().map(Builder::bytes).sum()
    }

    /// Checks that the values of a table can be read as the targets.
    ///
    /// # Errors
    /// When a column is not there (1235), has another type, or text that cannot be read here.
    pub fn bind(&mut self, table: &Arc<TableMap>) -> Result<()> {
        if let Some((bound, _)) = &self.bound
            && (Arc::ptr_eq(bound, table) || bound.columns == table.columns)
        {
            return Ok(());
        }
        let steps = plan::steps(table, &self.targets)?;
        self.bound = Some((Arc::clone(table), steps));
        Ok(())
    }

    /// Appends the images of before or after of an event; one row for each, none if it has no such
    /// images. Returns the number of rows.
    ///
    /// # Errors
    /// When the bytes are no such images or a value cannot be held. Nothing is appended in this
    /// case.
    pub fn append(&mut self, event: &RowsEvent, image: Image) -> Result<usize> {
        let wanted = match image {
            Image::Before => event.kind.has_before(),
            Image::After | Image::Completed => event.kind.has_after(),
        };
        if !wanted {
            return Ok(0);
        }
        self.bind(&event.table)?;
        let Some((table, steps)) = self.bound.take() else { return Ok(0) };
        let result = self.append_bound(event, image, &steps);
        self.bound = Some((table, steps));
        if result.is_err() {
            self.changes.retain(|change| change.row < self.rows);
            for builder in &mut self.builders {
                builder.truncate(self.rows);
            }
        }
        let count = result?;
        let present = event.present(image != Image::Before);
        let completed =
            (image == Image::Completed && event.kind.has_before()).then(|| event.present(false));
        for (target, bits) in self.targets.iter().zip(&mut self.presence) {
            let has = present.has(target.source)
                || completed.is_some_and(|before| before.has(target.source));
            note_presence(bits, has, self.rows, count);
        }
        self.rows += count;
        Ok(count)
    }

    fn append_bound(&mut self, event: &RowsEvent, image: Image, steps: &[Step]) -> Result<usize> {
        let bytes: &[u8] = &event.images;
        let mut reader = Reader::new(bytes);
        let (before, after) = (event.kind.has_before(), event.kind.has_after());
        let partial = event.kind == RowsKind::PartialUpdate;
        let completes =
            image == Image::Completed && before && event.present(true).count < steps.len();
        let mut count = 0;
        // A row without any column takes no byte; the server logs one at a time.
        while !reader.is_empty() || (count == 0 && bytes.is_empty()) {
            let left = reader.remaining();
            self.old.clear();
            if before {
                let present = event.present(false);
                if image == Image::Before {
                    self.read_image(steps, present, &mut reader)?;
                    self.fill(steps, present, bytes, false)?;
                } else if partial || completes {
                    self.find_old(steps, present, &mut reader, bytes)?;
                } else {
                    skip_image(steps, present, &mut reader)?;
                }
            }
            if after {
                let present = event.present(true);
                let changes = if partial { read_partial_bits(steps, &mut reader)? } else { None };
                match (image, changes) {
                    (Image::Before, _) => skip_image(steps, present, &mut reader)?,
                    (_, None) => self.read_image(steps, present, &mut reader)?,
                    (_, Some(changes)) => {
                        self.read_changes(steps, present, &mut reader, &event.images, changes)?;
                    }
                }
                if image != Image::Before && present.count < steps.len() {
                    self.fill(steps, present, bytes, completes)?;
                }
            }
            if reader.remaining() == left && !bytes.is_empty() {
                return Err(malformed("a row takes no bytes"));
            }
            count += 1;
        }
        Ok(count)
    }

    /// Appends the columns that an image leaves out: of the image of before if wanted and if it has
    /// them, else NULL.
    fn fill(&mut self, steps: &[Step], present: &Present, all: &[u8], old: bool) -> Result<()> {
        if present.count == steps.len() {
            return Ok(());
        }
        for (at, step) in steps.iter().enumerate() {
            let Some(target) = step.target.filter(|_| !present.has(at)) else { continue };
            let builder = &mut self.builders[target];
            match self.old.get(at) {
                Some(Old::Bytes(from, to)) if old => {
                    value::push(step, &all[*from..*to], builder)
                        .map_err(|error| in_column(error, &self.targets[target]))?;
                }
                _ => builder.push_null(),
            }
        }
        Ok(())
    }

    /// Reads the columns that an image has into the builders.
    fn read_image(
        &mut self,
        steps: &[Step],
        present: &Present,
        reader: &mut Reader<'_>,
    ) -> Result<()> {
        let nulls = reader.bytes(present.count.div_ceil(8))?;
        let full = present.count == steps.len();
        let mut bit = 0;
        for (at, step) in steps.iter().enumerate() {
            if !full && !present.has(at) {
                continue;
            }
            let null = nulls[bit / 8] >> (bit % 8) & 1 == 1;
            bit += 1;
            match step.target {
                Some(target) if null => self.builders[target].push_null(),
                None if null => {}
                Some(target) => {
                    let bytes = step.width.take(reader)?;
                    value::push(step, bytes, &mut self.builders[target])
                        .map_err(|error| in_column(error, &self.targets[target]))?;
                }
                None => drop(step.width.take(reader)?),
            }
        }
        Ok(())
    }

    /// Notes where the values of an image are.
    fn find_old(
        &mut self,
        steps: &[Step],
        present: &Present,
        reader: &mut Reader<'_>,
        all: &[u8],
    ) -> Result<()> {
        self.old.resize(steps.len(), Old::Absent);
        let old = &mut self.old;
        walk(steps, present, reader, |at, bytes, rest| {
            old[at] = match bytes {
                Some(bytes) => {
                    let end = all.len() - rest;
                    Old::Bytes(end - bytes.len(), end)
                }
                None => Old::Null,
            };
            Ok(())
        })
    }

    /// Reads an image in which some documents are partial updates.
    fn read_changes(
        &mut self,
        steps: &[Step],
        present: &Present,
        reader: &mut Reader<'_>,
        all: &Bytes,
        changes: &[u8],
    ) -> Result<()> {
        let mut document = 0;
        let changed: Vec<bool> = steps
            .iter()
            .map(|step| {
                let bit = step.is_document && changes[document / 8] >> (document % 8) & 1 == 1;
                document += usize::from(step.is_document);
                bit
            })
            .collect();
        let (builders, old, targets) = (&mut self.builders, &self.old, &self.targets);
        let told = &mut self.changes;
        walk(steps, present, reader, |at, bytes, _| {
            let Some(target) = steps[at].target else { return Ok(()) };
            let builder = &mut builders[target];
            let pushed = match bytes {
                None => {
                    builder.push_null();
                    Ok(())
                }
                Some(bytes) if changed[at] => match old.get(at) {
                    Some(Old::Bytes(from, to)) => crate::json::patched(&all[*from..*to], bytes)
                        .and_then(|text| builder.push_bytes(text.as_bytes())),
                    _ => {
                        let (row, bytes) = (builder.len(), all.slice_ref(bytes));
                        told.push(DocumentChange { target, row, bytes });
                        builder.push_null();
                        Ok(())
                    }
                },
                Some(bytes) => value::push(&steps[at], bytes, builder),
            };
            pushed.map_err(|error| in_column(error, &targets[target]))
        })
    }

    /// Takes the arrays; the builder is then empty.
    ///
    /// # Errors
    /// When text is not UTF-8.
    pub fn finish(&mut self) -> Result<Images> {
        let rows = std::mem::take(&mut self.rows);
        let changes = std::mem::take(&mut self.changes);
        let arrays = self
            .builders
            .iter_mut()
            .zip(self.targets.iter())
            .map(|(builder, target)| builder.finish(&target.name))
            .collect::<Result<Vec<_>>>();
        let present = self
            .presence
            .iter_mut()
            .map(|bits| bits.take().map(|mut bits| bits.finish()))
            .collect();
        let arrays = arrays?;
        debug_assert!(arrays.iter().all(|array| array.len() == rows));
        Ok(Images { arrays, present, changes, rows })
    }
}

/// Notes for `count` rows whether they have a column; costs nothing while all have it.
fn note_presence(bits: &mut Option<BooleanBufferBuilder>, has: bool, rows: usize, count: usize) {
    if let Some(bits) = bits {
        bits.append_n(count, has);
    } else if !has {
        let mut fresh = BooleanBufferBuilder::new(rows + count);
        fresh.append_n(rows, true);
        fresh.append_n(count, false);
        *bits = Some(fresh);
    }
}

/// Visits the values of an image: column, bytes (`None` for NULL), bytes left after the value.
fn walk<'a>(
    steps: &[Step],
    present: &Present,
    reader: &mut Reader<'a>,
    mut visit: impl FnMut(usize, Option<&'a [u8]>, usize) -> Result<()>,
) -> Result<()> {
    let nulls = reader.bytes(present.count.div_ceil(8))?;
    let there = steps.iter().enumerate().filter(|(at, _)| present.has(*at));
    for (bit, (at, step)) in there.enumerate() {
        let null = nulls[bit / 8] >> (bit % 8) & 1 == 1;
        let bytes = if null { None } else { Some(step.width.take(reader)?) };
        visit(at, bytes, reader.remaining())?;
    }
    Ok(())
}

fn skip_image(steps: &[Step], present: &Present, reader: &mut Reader<'_>) -> Result<()> {
    walk(steps, present, reader, |_, _, _| Ok(()))
}

/// In front of an image of after that may tell changes: options, and if their lowest bit is set one
/// bit for each JSON column of the table.
fn read_partial_bits<'a>(steps: &[Step], reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>> {
    let options = reader.lenenc()?;
    if options & !1 != 0 {
        return Err(Error::unsupported(format_args!("binlog row value options {options}")));
    }
    if options == 0 {
        return Ok(None);
    }
    let documents = steps.iter().filter(|step| step.is_document).count();
    reader.bytes(documents.div_ceil(8)).map(Some)
}

fn in_column(error: Error, target: &Target) -> Error {
    Error::new(error.code(), format!("{} (column '{}')", error.message(), target.name))
}
