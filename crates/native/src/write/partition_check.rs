//! Rows without a partition, rows outside the partitions that a statement names, and rows that
//! violate a CHECK: an error, or skipped under IGNORE.

use std::collections::HashSet;

use arrow::array::{ArrayRef, UInt32Array};
use pelorus_error::{Code, Error, Result};

use super::change::taken;
use super::insert::count;
use super::warnings::Warnings;
use crate::partition::explicit_selection::NamedPartitions;

/// Rows, and their positions in the statement if some were left out.
#[derive(Debug)]
pub(super) struct CheckedRows {
    pub(super) columns: Vec<ArrayRef>,
    pub(super) places: Option<UInt32Array>,
}

impl CheckedRows {
    /// Rows, with their places if some were left out already.
    pub(super) fn new(columns: Vec<ArrayRef>, places: Option<UInt32Array>) -> Self {
        Self { columns, places }
    }

    /// Looks at some rows, by their positions, and leaves out those that have no place, with a
    /// warning each.
    ///
    /// # Errors
    /// Without `ignore`, a row of another partition than those that are named (1748) or of none
    /// (1526).
    pub(super) fn sift(
        &mut self,
        only: &NamedPartitions,
        ignore: bool,
        is_checked: impl Fn(usize) -> bool,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let mut misfits = only.misfits(&self.columns)?;
        misfits.retain(|(row, _)| is_checked(*row));
        self.leave_out(misfits, ignore, warnings)
    }

    /// Leaves out some rows, in order, with a warning each.
    ///
    /// # Errors
    /// Without `ignore` the error of the first row; an unsupported feature is always an error.
    pub(super) fn leave_out(
        &mut self,
        misfits: Vec<(usize, Error)>,
        ignore: bool,
        warnings: &mut Warnings,
    ) -> Result<()> {
        if misfits.is_empty() {
            return Ok(());
        }
        let mut left_out = HashSet::new();
        for (row, error) in misfits {
            if !ignore || error.code() == Code::NotSupportedYet {
                return Err(error);
            }
            left_out.insert(row);
            warnings.push(self.place(row) + 1, error.errno(), error.message().to_owned());
        }
        let kept = (0..count(&self.columns)).filter(|row| !left_out.contains(row));
        let kept: UInt32Array = kept.filter_map(|row| u32::try_from(row).ok()).collect();
        self.columns = taken(&self.columns, &kept)?;
        self.places = Some(match &self.places {
            None => kept,
            Some(places) => kept.values().iter().map(|&at| places.value(at as usize)).collect(),
        });
        Ok(())
    }

    /// The position of a row in the statement, from 0.
    pub(super) fn place(&self, row: usize) -> u64 {
        self.places.as_ref().map_or(row as u64, |places| places.value(row).into())
    }
}
