//! `DISTINCT` in front of any aggregate: the different rows of each group are kept, and given to
//! the plain aggregate at the end.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray};
use arrow::datatypes::{DataType, i256};
use pelorus_error::{Error, Result};

use super::{Accumulator, AggregateCall, Take, each};
use crate::collate::weight::Rules;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::{Input, Slot};
use crate::output::{Output, check_room, storage};
use crate::value::{Arg, Value};

/// The rows of one group by their keys, in the order in which they came.
#[derive(Clone, Debug, Default)]
struct Rows {
    known: HashMap<Vec<u8>, ()>,
    rows: Vec<Vec<Value>>,
}

#[derive(Clone)]
struct Distinct {
    /// The arguments.
    slots: Vec<Slot>,
    /// What is kept of them: of texts that are added up their numbers.
    kept: Vec<Slot>,
    /// How many of them, the first, tell rows apart.
    values: usize,
    ctx: Arc<EvalContext>,
    inner: Arc<AggregateCall>,
    groups: Vec<Rows>,
}

impl std::fmt::Debug for Distinct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Distinct").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// Wraps an aggregate, which takes `inner_args` and may take constants behind them. Only the first
/// `values` arguments tell rows apart.
pub(super) fn wrap(
    inner: AggregateCall,
    (args, inner_args): (&[Arg], &[Arg]),
    values: usize,
    ctx: &Arc<EvalContext>,
) -> AggregateCall {
    let slots = |args: &[Arg]| -> Vec<Slot> { args.iter().map(Slot::of).collect() };
    let (slots, kept) = (slots(args), slots(inner_args));
    let inner = Arc::new(inner);
    let (ty, scale, name) = (inner.return_type(), inner.scale, inner.name().to_owned());
    let ctx = Arc::clone(ctx);
    let make = move || -> Box<dyn Accumulator> {
        Box::new(Distinct {
            slots: slots.clone(),
            kept: kept.clone(),
            values,
            ctx: Arc::clone(&ctx),
            inner: Arc::clone(&inner),
            groups: Vec::new(),
        })
    };
    AggregateCall::new(&name, args, ty, vec![DataType::Binary], Box::new(make)).with_scale(scale)
}

/// The value of a row in the form in which it is kept.
fn kept_of(input: &Input<'_>, kept: &Slot, row: usize) -> Value {
    if input.ty.is_string() && kept.ty.is_float() {
        return input.real(row).map_or(Value::Null, Value::Double);
    }
    input.value(row)
}

/// Appends what two equal values have in common.
fn key(value: &Value, slot: &Slot, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    match value {
        Value::Null => {}
        Value::Text(text) => Rules::of(slot.ty.collation).key(text, out)?,
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::Int(value) | Value::Date(value) | Value::Time(value) => {
            out.extend_from_slice(&value.to_be_bytes());
        }
        Value::UInt(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Decimal(value) => {
            let scaled = value.rescale(slot.scale.max(slot.ty.decimals)).unwrap_or(*value);
            out.extend_from_slice(&scaled.units.to_be_bytes());
        }
        Value::Double(value) => {
            let value = if *value == 0.0 { 0.0 } else { *value };
            out.extend_from_slice(&value.to_bits().to_be_bytes());
        }
    }
    // The length behind keeps the keys of several values apart.
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    Ok(())
}

fn encode(value: &Value, out: &mut Vec<u8>) {
    let mut put = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Null => put(0, &[]),
        Value::Int(value) => put(1, &value.to_be_bytes()),
        Value::UInt(value) => put(2, &value.to_be_bytes()),
        Value::Decimal(value) => {
            let mut bytes = value.units.to_be_bytes().to_vec();
            bytes.push(value.scale);
            put(3, &bytes);
        }
        Value::Double(value) => put(4, &value.to_bits().to_be_bytes()),
        Value::Text(text) => put(5, text.as_bytes()),
        Value::Bytes(bytes) => put(6, bytes),
        Value::Date(value) => put(7, &value.to_be_bytes()),
        Value::Time(value) => put(8, &value.to_be_bytes()),
    }
}

fn decode(bytes: &mut &[u8]) -> Option<Value> {
    let (tag, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (body, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    let signed = || Some(i64::from_be_bytes(body.try_into().ok()?));
    Some(match tag {
        0 => Value::Null,
        1 => Value::Int(signed()?),
        2 => Value::UInt(u64::from_be_bytes(body.try_into().ok()?)),
        3 => {
            let (units, scale) = body.split_first_chunk::<32>()?;
            Value::Decimal(Decimal { units: i256::from_be_bytes(*units), scale: *scale.first()? })
        }
        4 => Value::Double(f64::from_bits(u64::from_be_bytes(body.try_into().ok()?))),
        5 => Value::Text(String::from_utf8(body.to_vec()).ok()?),
        6 => Value::Bytes(body.to_vec()),
        7 => Value::Date(signed()?),
        8 => Value::Time(signed()?),
        _ => return None,
    })
}

impl Distinct {
    fn resize(&mut self, total: usize) {
        self.groups.resize(total.max(self.groups.len()), Rows::default());
    }

    fn add(&mut self, group: usize, row: Vec<Value>) -> Result<()> {
        let mut bytes = Vec::new();
        for (value, slot) in row.iter().zip(&self.kept).take(self.values) {
            key(value, slot, &mut bytes)?;
        }
        let rows = &mut self.groups[group];
        if let Entry::Vacant(entry) = rows.known.entry(bytes) {
            entry.insert(());
            rows.rows.push(row);
        }
        Ok(())
    }
}

impl Accumulator for Distinct {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let (slots, kept) = (self.slots.clone(), self.kept.clone());
        let ctx = Arc::clone(&self.ctx);
        let inputs = args
            .iter()
            .zip(&slots)
            .map(|(array, slot)| Input::new(array, slot, &ctx))
            .collect::<Result<Vec<_>>>()?;
        each(groups, filter, |row, group| {
            let values: Vec<Value> =
                inputs.iter().zip(&kept).map(|(input, kept)| kept_of(input, kept, row)).collect();
            if values.iter().any(Value::is_null) { Ok(()) } else { self.add(group, values) }
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.resize(total);
        let partial = states
            .first()
            .and_then(|array| array.as_binary_opt::<i32>())
            .ok_or_else(|| Error::internal("partial distinct rows are bytes"))?;
        for (row, group) in groups.iter().enumerate() {
            let mut bytes = if partial.is_valid(row) { partial.value(row) } else { &[] };
            while !bytes.is_empty() {
                let values: Option<Vec<Value>> =
                    (0..self.kept.len()).map(|_| decode(&mut bytes)).collect();
                let values =
                    values.ok_or_else(|| Error::internal("partial distinct rows are cut off"))?;
                self.add(*group, values)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let groups = take.from(&mut self.groups);
        let mut inner = self.inner.accumulator();
        let mut numbers = Vec::new();
        for (number, rows) in groups.iter().enumerate() {
            numbers.extend(std::iter::repeat_n(number, rows.rows.len()));
        }
        let mut arrays = Vec::new();
        for (at, slot) in self.kept.iter().enumerate() {
            let mut output = Output::new(&storage(&slot.ty, slot.scale), numbers.len())?;
            for row in groups.iter().flat_map(|rows| &rows.rows) {
                output.push(row[at].clone())?;
            }
            arrays.push(output.finish());
        }
        inner.update(&arrays, &numbers, None, groups.len())?;
        inner.evaluate(Take::All)
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let groups = take.from(&mut self.groups);
        let states: Vec<Vec<u8>> = groups
            .iter()
            .map(|rows| {
                let mut out = Vec::new();
                rows.rows.iter().flatten().for_each(|value| encode(value, &mut out));
                out
            })
            .collect();
        check_room(states.iter().map(Vec::len).sum(), 0)?;
        let states: BinaryArray = states.iter().map(|state| Some(state.as_slice())).collect();
        Ok(vec![Arc::new(states)])
    }

    fn size(&self) -> usize {
        // Keys and values take about this much each.
        self.groups.iter().map(|rows| rows.rows.len() * (self.slots.len() * 64 + 64)).sum()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}
