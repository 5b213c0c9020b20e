//! `MIN`, `MAX` and `ANY_VALUE` of columns that are stored as 64-bit integers: integers, dates and
//! times.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{max, min};
use arrow::datatypes::Int64Type;
use pelorus_error::{Error, Result};

use super::Which;
use crate::aggregate::{Accumulator, Take, each};
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::value::Value;

#[derive(Clone, Debug)]
pub(super) struct NumberExtreme {
    which: Which,
    slot: Slot,
    ctx: Arc<EvalContext>,
    values: Vec<i64>,
    /// Whether a group has had a value.
    seen: Vec<bool>,
}

impl NumberExtreme {
    pub(super) fn new(which: Which, slot: Slot, ctx: Arc<EvalContext>) -> Self {
        Self { which, slot, ctx, values: Vec::new(), seen: Vec::new() }
    }

    fn put(&mut self, group: usize, new: i64) {
        let (value, seen) = (&mut self.values[group], &mut self.seen[group]);
        *value = match self.which {
            Which::Least => new.min(*value),
            Which::Greatest => new.max(*value),
            Which::Any if *seen => *value,
            Which::Any => new,
        };
        *seen = true;
    }

    /// A column that is stored plainly.
    fn plain(&mut self, array: &Int64Array, groups: &[usize], filter: Option<&BooleanArray>) {
        if self.values.len() == 1 && filter.is_none() {
            let found = match self.which {
                Which::Least => min(array),
                Which::Greatest => max(array),
                Which::Any => array.iter().flatten().next(),
            };
            if let Some(found) = found {
                self.put(0, found);
            }
            return;
        }
        if filter.is_none() && array.null_count() == 0 {
            for (group, value) in groups.iter().zip(array.values()) {
                self.put(*group, *value);
            }
            return;
        }
        let is_in = |row: usize| filter.is_none_or(|it| it.is_valid(row) && it.value(row));
        for (row, group) in groups.iter().enumerate() {
            if is_in(row) && array.is_valid(row) {
                self.put(*group, array.value(row));
            }
        }
    }
}

impl Accumulator for NumberExtreme {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let total = total.max(self.values.len());
        // Every value is at least as good.
        let worst = if self.which == Which::Greatest { i64::MIN } else { i64::MAX };
        self.values.resize(total, worst);
        self.seen.resize(total, false);
        let array = args.first().ok_or_else(|| Error::internal("MIN has an argument"))?;
        if let Some(array) = array.as_primitive_opt::<Int64Type>()
            && array.len() == groups.len()
        {
            self.plain(array, groups, filter);
            return Ok(());
        }
        let (slot, ctx) = (self.slot.clone(), Arc::clone(&self.ctx));
        let input = Input::new(array, &slot, &ctx)?;
        each(groups, filter, |row, group| {
            match input.value(row) {
                Value::Null => {}
                Value::Int(new) | Value::Date(new) | Value::Time(new) => self.put(group, new),
                _ => return Err(Error::internal("MIN and MAX compare values of one type")),
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update(states, groups, None, total)
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let (values, seen) = (take.from(&mut self.values), take.from(&mut self.seen));
        Ok(Arc::new(Int64Array::new(values.into(), Some(NullBuffer::from(seen)))))
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(take)?])
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<i64>() + self.seen.capacity()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}
