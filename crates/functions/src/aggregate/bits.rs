//! `BIT_AND`, `BIT_OR` and `BIT_XOR`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::datatypes::{DataType, UInt64Type};
use pelorus_error::{Error, Result};

use super::{Accumulator, AggregateCall, Take, each};
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::types::result_type::bigint_type;
use crate::value::Arg;

#[derive(Clone, Debug)]
struct Bits {
    op: fn(u64, u64) -> u64,
    start: u64,
    slot: Slot,
    ctx: Arc<EvalContext>,
    values: Vec<u64>,
}

/// Binds one of the three.
pub(super) fn resolve(name: &str, arg: &Arg, ctx: &Arc<EvalContext>) -> Result<AggregateCall> {
    if arg.ty.is_binary_string() && !arg.is_hex() {
        return Err(Error::unsupported(format_args!("{name} of strings of bytes")));
    }
    let (op, start): (fn(u64, u64) -> u64, u64) = match name {
        "BIT_AND" => (|a, b| a & b, u64::MAX),
        "BIT_OR" => (|a, b| a | b, 0),
        _ => (|a, b| a ^ b, 0),
    };
    let (slot, ctx) = (Slot::of(arg), Arc::clone(ctx));
    let make = move || -> Box<dyn Accumulator> {
        let (slot, ctx) = (slot.clone(), Arc::clone(&ctx));
        Box::new(Bits { op, start, slot, ctx, values: Vec::new() })
    };
    let ty = bigint_type(21, true).not_null();
    let args = std::slice::from_ref(arg);
    Ok(AggregateCall::new(name, args, ty, vec![DataType::UInt64], Box::new(make)))
}

impl Accumulator for Bits {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.values.resize(total.max(self.values.len()), self.start);
        let array = args.first().ok_or_else(|| Error::internal("BIT_AND has an argument"))?;
        let input = Input::new(array, &self.slot, &self.ctx)?;
        let (op, values) = (self.op, &mut self.values);
        each(groups, filter, |row, group| {
            if let Some(bits) = input.bits(row) {
                values[group] = op(values[group], bits);
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.values.resize(total.max(self.values.len()), self.start);
        let partial = states
            .first()
            .and_then(|array| array.as_primitive_opt::<UInt64Type>())
            .ok_or_else(|| Error::internal("a partial BIT_AND is an unsigned integer"))?;
        for (row, group) in groups.iter().enumerate() {
            if partial.is_valid(row) {
                self.values[*group] = (self.op)(self.values[*group], partial.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        Ok(Arc::new(UInt64Array::from(take.from(&mut self.values))))
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(take)?])
    }

    fn size(&self) -> usize {
        self.values.capacity() * 8
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}
