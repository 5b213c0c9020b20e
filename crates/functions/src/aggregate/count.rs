//! `COUNT`, also of several columns and of partial counts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::datatypes::{DataType, Int64Type};
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use super::{Accumulator, AggregateCall, Take, each};
use crate::value::Arg;

#[derive(Clone, Debug, Default)]
struct Count {
    counts: Vec<i64>,
    sum_arguments: bool,
}

/// Binds `COUNT(*)` (no arguments) and `COUNT(x, ...)`.
pub(super) fn count(name: &str, args: &[Arg]) -> AggregateCall {
    let ty = ColumnType::bigint().not_null();
    let make = || Box::<Count>::default() as Box<dyn Accumulator>;
    AggregateCall::new(name, args, ty, vec![DataType::Int64], Box::new(make))
}

/// Binds the merge of partial counts, which are an ordinary column.
pub(super) fn merge(name: &str, args: &[Arg]) -> AggregateCall {
    let ty = ColumnType::bigint().not_null();
    let make =
        || Box::new(Count { sum_arguments: true, ..Count::default() }) as Box<dyn Accumulator>;
    AggregateCall::new(name, args, ty, vec![DataType::Int64], Box::new(make))
}

/// Groups whose counts are kept several times.
const FEW: usize = 512;

/// Counts rows by group. Rows that follow each other are counted in different places, so that one
/// need not wait for the other where they are of the same group.
fn count_few(groups: &[usize], counts: &mut [i64]) {
    const PLACES: usize = 4;
    let mut places = vec![[0_i64; PLACES]; counts.len()];
    let (rows, last) = groups.as_chunks::<PLACES>();
    for groups in rows {
        for place in 0..PLACES {
            places[groups[place]][place] += 1;
        }
    }
    last.iter().for_each(|group| counts[*group] += 1);
    for (count, places) in counts.iter_mut().zip(places) {
        *count += places.into_iter().sum::<i64>();
    }
}

impl Accumulator for Count {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        if self.sum_arguments {
            return self.merge(args, groups, total);
        }
        self.counts.resize(total.max(self.counts.len()), 0);
        let args: Vec<&ArrayRef> = args.iter().filter(|arg| arg.logical_null_count() > 0).collect();
        let missing = |arg: &ArrayRef, row: usize| {
            let row = if arg.len() == 1 { 0 } else { row };
            arg.data_type() == &DataType::Null || arg.is_null(row)
        };
        if args.is_empty() && filter.is_none() {
            match self.counts.as_mut_slice() {
                [only] => *only += groups.len().cast_signed() as i64,
                counts if counts.len() <= FEW => count_few(groups, counts),
                counts => groups.iter().for_each(|group| counts[*group] += 1),
            }
            return Ok(());
        }
        if let ([arg], None) = (args.as_slice(), filter)
            && let Some(nulls) = arg.nulls().filter(|nulls| nulls.len() == groups.len())
        {
            for (group, valid) in groups.iter().zip(nulls.iter()) {
                self.counts[*group] += i64::from(valid);
            }
            return Ok(());
        }
        each(groups, filter, |row, group| {
            if !args.iter().any(|arg| missing(arg, row)) {
                self.counts[group] += 1;
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.counts.resize(total.max(self.counts.len()), 0);
        let partial = states
            .first()
            .and_then(|array| array.as_primitive_opt::<Int64Type>())
            .ok_or_else(|| Error::internal("a partial COUNT is an integer"))?;
        for (row, group) in groups.iter().enumerate() {
            if partial.is_valid(row) {
                self.counts[*group] += partial.value(row);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(take.from(&mut self.counts))))
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(take)?])
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}
