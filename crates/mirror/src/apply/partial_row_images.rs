//! Partial row images (`binlog_row_image` MINIMAL and NOBLOB, changes of JSON documents): computes
//! the complete rows.
//!
//! The last image of a row has some of its columns. Each other column is that of the image before
//! it, and so on, back to where the row begins in the batch: a new row has defaults in the columns
//! that its image lacks; a row that existed before is read from the copy.

mod awaited;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, StringArray, UInt32Array};
use bytes::Bytes;
use pelorus_binlog::{Images, apply_changes};
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Database, Keys, bytes_of, taken};

pub(crate) use self::awaited::Awaited;
use crate::apply::unsettled_rows::UnsettledRows;
use crate::model::copies::CopyTable;

/// Rows that are read from the copy at a time, at first and at most, and bytes that these should
/// have.
const FIRST_ROWS: usize = 256;
const PIECE_ROWS: usize = 8192;
const PIECE_BYTES: usize = 16 << 20;

/// The state of a row before one of its images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// That of an image before, by its number.
    Image(u32),
    /// There was none: it is new, or takes the place of another.
    New,
    /// That of the copy, with the key of an image of before, by its number.
    Stored(u32),
    /// It existed, but had been removed: the copy differs from the server.
    Lost,
}

/// Where the value of a column comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Image(u32),
    Default,
    Stored(u32),
    Lost,
}

/// Images of after of one table, many of which have some columns only.
pub(crate) struct PartialRowImages<'a> {
    pub(crate) copy: &'a dyn CopyTable,
    /// The images; key images are complete.
    pub(crate) after: &'a Images,
    /// By image.
    pub(crate) earlier: &'a [Earlier],
    pub(crate) after_keys: &'a Keys,
    pub(crate) before_keys: &'a Keys,
    /// All columns of the images of before, of which only those of the key matter.
    pub(crate) of_before: &'a [ArrayRef],
    /// Rows for which the copy may have newer values than the images, or none yet.
    pub(crate) doubts: &'a UnsettledRows,
    /// Images that change documents: column and row to the change.
    pub(crate) changes: HashMap<(usize, u32), Bytes>,
    /// Bytes that may be read from the copy.
    pub(crate) most: usize,
}

/// The result of completing partial images.
#[derive(Debug)]
pub(crate) struct Folded {
    /// The complete rows.
    pub(crate) columns: Vec<ArrayRef>,
    /// The last images of rows that the copy does not have yet.
    pub(crate) missed: Vec<u32>,
    /// The last images of rows that must be requested again: their earlier state is not known.
    pub(crate) again: Vec<u32>,
}

/// The values that the images of a row need to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Nothing,
    /// The copy's row with the key of an image of before.
    Stored(u32),
    /// The row in the copy is unknown.
    Again,
}

/// Rows of the copy.
#[derive(Default)]
struct Stored {
    /// Batch and row by the number of the before-image that requested it.
    places: HashMap<u32, (usize, usize)>,
    /// By batch: all columns; those that were not requested are empty.
    batches: Vec<Vec<ArrayRef>>,
}

/// Changes of documents by column and row.
pub(crate) fn changes_of(images: &Images) -> HashMap<(usize, u32), Bytes> {
    let of = |it: &pelorus_binlog::DocumentChange| {
        ((it.target, u32::try_from(it.row).unwrap_or(u32::MAX)), it.bytes.clone())
    };
    images.changes.iter().map(of).collect()
}

/// A copy that differs from its table.
fn lost() -> Error {
    let text = "the binlog has a change of a row that the copy does not have";
    Error::new(Code::TableChanged, text)
}

impl PartialRowImages<'_> {
    /// Completes rows, given the numbers of their last images.
    ///
    /// # Errors
    /// A copy without the rows on which the images are based (1412), and errors of reading it.
    pub(crate) fn fold(&self, rows: &[u32], store: &Arc<Database>) -> Result<Folded> {
        let mut wanted = vec![false; self.columns()];
        // Rows and the images of before that have the keys of their beginnings.
        let mut asked: Vec<(u32, u32)> = Vec::new();
        let mut again = Vec::new();
        for &row in rows {
            match self.need(row, &mut wanted)? {
                Need::Nothing => {}
                Need::Stored(before) => asked.push((row, before)),
                Need::Again => again.push(row),
            }
        }
        let stored = self.look_up(&asked, &wanted, store)?;
        let mut missed: Vec<u32> = Vec::new();
        for (row, before) in &asked {
            if !stored.places.contains_key(before) {
                if !self.is_doubtful(*before) {
                    return Err(lost());
                }
                // What is noted of rows that have yet to be read are values, not changes of them.
                let list = if self.has_changes(*row) { &mut again } else { &mut missed };
                list.push(*row);
            }
        }
        let left_out: HashSet<u32> = missed.iter().chain(&again).copied().collect();
        let kept: Vec<u32> = rows.iter().copied().filter(|row| !left_out.contains(row)).collect();
        let columns =
            (0..self.columns()).map(|at| self.column(at, &kept, &stored)).collect::<Result<_>>()?;
        Ok(Folded { columns, missed, again })
    }

    /// All images of a row up to its last, the oldest first.
    pub(crate) fn images_of(&self, row: u32) -> Vec<u32> {
        let mut images = vec![row];
        let mut at = row;
        while let Earlier::Image(earlier) = self.earlier[at as usize] {
            images.push(earlier);
            at = earlier;
        }
        images.reverse();
        images
    }

    /// Whether an image of a row tells the change of a document.
    fn has_changes(&self, row: u32) -> bool {
        let tells = |image| (0..self.columns()).any(|at| self.changes.contains_key(&(at, image)));
        !self.changes.is_empty() && self.images_of(row).into_iter().any(tells)
    }

    fn columns(&self) -> usize {
        self.after.arrays.len()
    }

    fn has(&self, column: usize, row: u32) -> bool {
        self.after.present[column].as_ref().is_none_or(|bits| bits.value(row as usize))
    }

    /// Where a column of a row comes from, and the images that change its document since, the
    /// latest first.
    fn source(&self, column: usize, row: u32) -> (Source, Vec<u32>) {
        let (mut at, mut changed) = (row, Vec::new());
        loop {
            if self.has(column, at) {
                if self.changes.is_empty() || !self.changes.contains_key(&(column, at)) {
                    return (Source::Image(at), changed);
                }
                changed.push(at);
            }
            at = match self.earlier[at as usize] {
                Earlier::Image(earlier) => earlier,
                Earlier::New => return (Source::Default, changed),
                Earlier::Stored(before) => return (Source::Stored(before), changed),
                Earlier::Lost => return (Source::Lost, changed),
            };
        }
    }

    /// The values that a row's images need to be complete; notes the columns of the copy that they
    /// need.
    fn need(&self, row: u32, wanted: &mut [bool]) -> Result<Need> {
        let mut found = None;
        for (column, wanted) in wanted.iter_mut().enumerate() {
            let (source, changed) = self.source(column, row);
            match source {
                Source::Image(_) | Source::Default => continue,
                Source::Lost => return Err(lost()),
                Source::Stored(before) => {
                    *wanted = true;
                    found = Some(before);
                }
            }
            // The copy's document can have the change already.
            if !changed.is_empty() && found.is_some_and(|before| self.is_doubtful(before)) {
                return Ok(Need::Again);
            }
        }
        let Some(before) = found else { return Ok(Need::Nothing) };
        // The row that had the key before can be elsewhere already, and another one have its key; and
        // one that goes away and comes back can be missed by all ranges: by its own while it was away,
        // by the other one when it was back.
        let key = self.before_keys.get(before as usize);
        let stays = self.images_of(row).iter().all(|it| self.after_keys.get(*it as usize) == key);
        let is_known = stays || !self.is_doubtful(before);
        Ok(if is_known { Need::Stored(before) } else { Need::Again })
    }

    fn is_doubtful(&self, before: u32) -> bool {
        self.doubts.has(self.before_keys.get(before as usize))
    }

    fn look_up(
        &self,
        asked: &[(u32, u32)],
        wanted: &[bool],
        store: &Arc<Database>,
    ) -> Result<Stored> {
        let mut stored = Stored::default();
        if asked.is_empty() {
            return Ok(stored);
        }
        // A copy that was dropped a moment ago has no flaw that another one would have too.
        let unread = |error: Error| match error.code() {
            Code::TableChanged => error,
            _ => Error::internal("the copy cannot be read").caused_by(error),
        };
        let table = store.snapshot().table(self.copy.id()).map_err(unread)?;
        let columns: Vec<usize> = (0..wanted.len()).filter(|&at| wanted[at]).collect();
        let rows = UInt32Array::from_iter_values(asked.iter().map(|it| it.1));
        let key = self.copy.key();
        let mut keys: Vec<ArrayRef> = Vec::with_capacity(self.of_before.len());
        for (at, column) in self.of_before.iter().enumerate() {
            keys.push(match key.contains(&at) {
                true => taken(std::slice::from_ref(column), &rows)?.swap_remove(0),
                false => arrow::array::new_null_array(column.data_type(), rows.len()),
            });
        }
        let parts: Vec<ArrayRef> = key.iter().map(|&at| Arc::clone(&keys[at])).collect();
        let (mut rows, mut bytes) = (0, 0);
        for (partition, places) in self.copy.split(&keys)? {
            let mut left = places.values().as_ref();
            while !left.is_empty() {
                // How wide rows are is known from those before.
                let some = match rows {
                    0 => FIRST_ROWS,
                    _ => (PIECE_BYTES / (bytes / rows).max(1)).clamp(1, PIECE_ROWS),
                };
                let (piece, rest) = left.split_at(some.min(left.len()));
                left = rest;
                let asks = taken(&parts, &UInt32Array::from(piece.to_vec()))?;
                let found = table.get(&partition, &asks, &columns).map_err(unread)?;
                let there = piece.iter().zip(&found.found).filter(|(_, there)| **there);
                let batch = stored.batches.len();
                for (row, (place, _)) in there.enumerate() {
                    stored.places.insert(asked[*place as usize].1, (batch, row));
                }
                rows += piece.len();
                bytes += bytes_of(&found.columns);
                if bytes > self.most {
                    return Err(too_large());
                }
                let mut all: Vec<ArrayRef> =
                    self.after.arrays.iter().map(|it| it.slice(0, 0)).collect();
                for (array, &at) in found.columns.into_iter().zip(&columns) {
                    all[at] = array;
                }
                stored.batches.push(all);
            }
        }
        Ok(stored)
    }

    /// A column of whole rows.
    fn column(&self, column: usize, rows: &[u32], stored: &Stored) -> Result<ArrayRef> {
        let images = &self.after.arrays[column];
        let is_changed = self.changes.keys().any(|(at, _)| *at == column);
        if self.after.present[column].is_none() && !is_changed {
            let rows = UInt32Array::from(rows.to_vec());
            return Ok(taken(std::slice::from_ref(images), &rows)?.swap_remove(0));
        }
        let default = self.copy.columns()[column].absent.value();
        let default = default.map_or_else(|| images.slice(0, 0), Arc::clone);
        let mut arrays: Vec<ArrayRef> = vec![Arc::clone(images), default];
        arrays.extend(stored.batches.iter().map(|batch| Arc::clone(&batch[column])));
        let mut documents: Vec<String> = Vec::new();
        let mut places: Vec<(usize, usize)> = Vec::with_capacity(rows.len());
        for &row in rows {
            let (source, changed) = self.source(column, row);
            let place = match source {
                Source::Image(image) => (0, image as usize),
                Source::Default => (1, 0),
                Source::Stored(before) => {
                    let (batch, row) = stored.places.get(&before).copied().ok_or_else(lost)?;
                    (batch + 2, row)
                }
                Source::Lost => return Err(lost()),
            };
            if place.1 >= arrays[place.0].len() {
                return Err(Error::internal("a row in part is not checked before it is folded"));
            }
            if changed.is_empty() {
                places.push(place);
                continue;
            }
            places.push((arrays.len(), documents.len()));
            documents.push(self.document(column, &arrays[place.0], place.1, &changed)?);
        }
        if !documents.is_empty() {
            let texts: ArrayRef = Arc::new(StringArray::from(documents));
            arrays.push(arrow::compute::cast(&texts, images.data_type()).map_err(cannot)?);
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        arrow::compute::interleave(&arrays, &places).map_err(cannot)
    }

    /// A document after changes, the latest of which is the first.
    fn document(
        &self,
        column: usize,
        texts: &ArrayRef,
        row: usize,
        changed: &[u32],
    ) -> Result<String> {
        let texts = texts.as_string_opt::<i32>().ok_or_else(|| {
            Error::internal("a column of documents whose changes are told is no text")
        })?;
        if texts.is_null(row) {
            return Err(lost());
        }
        let mut text = texts.value(row).to_owned();
        for image in changed.iter().rev() {
            let change = self.changes.get(&(column, *image)).map(|it| it.as_ref());
            text = apply_changes(&text, change.unwrap_or_default()).map_err(|error| {
                let what = "the binlog changes a JSON document in a way that does not fit the copy";
                Error::new(Code::TableChanged, what).caused_by(error)
            })?;
        }
        Ok(text)
    }
}

fn cannot(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows cannot be put together").caused_by(error)
}

/// A table that a transaction has changed more than may be.
pub(crate) fn too_large() -> Error {
    let text = "a transaction changed more than pelorus_mirror_transaction_size";
    Error::new(Code::TableChanged, text)
}
