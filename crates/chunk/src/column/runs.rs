//! Run-length encoding: runs of equal values, with an index that finds the run of a row.

use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use pelorus_error::Result;

use crate::VECTOR_ROWS;
use crate::format::damaged;

/// The runs of a column.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// The row after each run, rising.
    ends: Vec<u32>,
    /// The run of each vector's first row, and the number of runs at the end.
    first: Vec<u32>,
    /// The value of each run.
    pub(super) values: ArrayRef,
}

impl Runs {
    /// Checks the ends, of which there are as many as values, and builds the index.
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer runs than rows")]
    pub(super) fn new(ends: Vec<u32>, values: ArrayRef, rows: usize) -> Result<Self> {
        let rising = ends.first().is_some_and(|&end| end > 0)
            && ends.windows(2).all(|pair| pair[0] < pair[1])
            && ends.last().is_some_and(|&end| end as usize == rows)
            && ends.len() == values.len();
        if !rising {
            return Err(damaged(format!("the run ends of a column of {rows} rows")));
        }
        let mut first: Vec<u32> = (0..rows)
            .step_by(VECTOR_ROWS)
            .map(|row| ends.partition_point(|&end| end as usize <= row) as u32)
            .collect();
        first.push(ends.len() as u32);
        Ok(Self { ends, first, values })
    }

    /// The run of a row.
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer runs than rows")]
    pub(super) fn find(&self, row: usize) -> u32 {
        let vector = row / VECTOR_ROWS;
        // The last run of the vector may be the first of the next.
        let low = self.first[vector] as usize;
        let high = (self.first[vector + 1] as usize + 1).min(self.ends.len());
        (low + self.ends[low..high].partition_point(|&end| end as usize <= row)) as u32
    }

    /// The runs that a range of rows touches, each with its rows in the range.
    pub(super) fn within(&self, rows: Range<usize>) -> impl Iterator<Item = (u32, Range<usize>)> {
        let first = if rows.is_empty() { 0 } else { self.find(rows.start) };
        let mut start = rows.start;
        let ends = &self.ends[first as usize..];
        (first..).zip(ends).map_while(move |(run, &end)| {
            if start >= rows.end {
                return None;
            }
            let piece = start..rows.end.min(end as usize);
            start = piece.end;
            Some((run, piece))
        })
    }

    /// Appends the run of each row of a range.
    pub(super) fn codes(&self, rows: Range<usize>, out: &mut Vec<u32>) {
        out.reserve(rows.len());
        for (run, rows) in self.within(rows) {
            out.extend(std::iter::repeat_n(run, rows.len()));
        }
    }
}
