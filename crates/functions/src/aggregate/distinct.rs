//! `DISTINCT` before any aggregate: the distinct rows of each group are collected, and passed to
//! the plain aggregate at the end.

use std::collections::HashSet;
use std::mem::discriminant;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray};
use arrow::datatypes::{DataType, i256};
use pelorus_env::Account;
use pelorus_error::{Error, Result};

use super::{Accumulator, AggregateCall, Take, each};
use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::{Input, Slot};
use crate::output::{Output, check_room, storage};
use crate::value::{Arg, Value};

/// The rows of one group, in the order in which they came.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// Rows of one value of 64 bits.
    numbers: Vec<u64>,
    /// The same to look in, where they are many.
    known: Option<HashSet<u64>>,
    /// All other rows.
    others: Option<Box<Others>>,
}

/// Rows of texts, decimals or several values.
#[derive(Clone, Debug, Default)]
struct Others {
    /// Their keys.
    known: HashSet<Box<[u8]>>,
    key_bytes: usize,
    /// The rows themselves, one after another.
    encoded: Vec<u8>,
}

/// About what a set of so much room takes.
fn bytes_of_set(capacity: usize, width: usize) -> usize {
    capacity * 8 / 7 * (width + 1)
}

impl Rows {
    /// Adds a number unless it is there. Two zeros of a float are one value.
    fn add_number(&mut self, bits: u64, is_float: bool) {
        /// So many are looked through one by one.
        const FEW: usize = 16;
        let key = |bits: u64| if is_float && bits == 1 << 63 { 0 } else { bits };
        let is_new = match &mut self.known {
            Some(known) => known.insert(key(bits)),
            None => self.numbers.iter().all(|it| key(*it) != key(bits)),
        };
        if !is_new {
            return;
        }
        self.numbers.push(bits);
        if self.known.is_none() && self.numbers.len() > FEW {
            let known = self.numbers.iter().map(|it| key(*it)).collect();
            self.known = Some(known);
        }
    }

    fn add_other(&mut self, key: Vec<u8>, row: &[Value]) {
        let others = self.others.get_or_insert_default();
        let bytes = key.len();
        if others.known.insert(key.into_boxed_slice()) {
            others.key_bytes += bytes;
            row.iter().for_each(|value| encode(value, &mut others.encoded));
        }
    }

    /// The rows of several values, or of values that are no numbers.
    fn encoded(&self) -> &[u8] {
        self.others.as_ref().map_or(&[][..], |others| others.encoded.as_slice())
    }

    fn size(&self) -> usize {
        /// The overhead of an allocation.
        const ALLOCATION: usize = 16;
        let known = self.known.as_ref().map_or(0, |known| bytes_of_set(known.capacity(), 8));
        let others = self.others.as_ref().map_or(0, |others| {
            let keys = others.key_bytes + others.known.len() * ALLOCATION;
            let set = bytes_of_set(others.known.capacity(), size_of::<Box<[u8]>>());
            size_of::<Others>() + keys + set + others.encoded.capacity()
        });
        size_of::<Self>() + self.numbers.capacity() * size_of::<u64>() + known + others
    }
}

/// A value of 64 bits as these; `None` of any other.
fn bits_of(value: &Value) -> Option<u64> {
    match value {
        Value::Int(it) | Value::Date(it) | Value::Time(it) => Some(it.cast_unsigned()),
        Value::UInt(it) => Some(*it),
        Value::Double(it) => Some(it.to_bits()),
        Value::Null | Value::Decimal(_) | Value::Text(_) | Value::Bytes(_) => None,
    }
}

/// The value of some bits, of the kind of another one.
fn with_bits(like: &Value, bits: u64) -> Value {
    match like {
        Value::Date(_) => Value::Date(bits.cast_signed()),
        Value::Time(_) => Value::Time(bits.cast_signed()),
        Value::UInt(_) => Value::UInt(bits),
        Value::Double(_) => Value::Double(f64::from_bits(bits)),
        _ => Value::Int(bits.cast_signed()),
    }
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
    /// A value of the kind of the groups' numbers.
    like: Value,
    groups: Vec<Rows>,
}

impl std::fmt::Debug for Distinct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Distinct").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// Wraps an aggregate, which takes `inner_args` and may take constants after them. Only the first
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
            like: Value::Null,
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
    // The length after each key separates the keys of several values.
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

    fn add(&mut self, group: usize, row: &[Value]) -> Result<()> {
        if let ([value], 1) = (row, self.values)
            && let Some(bits) = bits_of(value)
        {
            if self.like.is_null() {
                self.like = value.clone();
            }
            if discriminant(&self.like) != discriminant(value) {
                return Err(Error::internal("distinct numbers of several kinds"));
            }
            let is_float = matches!(value, Value::Double(_));
            self.groups[group].add_number(bits, is_float);
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (value, slot) in row.iter().zip(&self.kept).take(self.values) {
            key(value, slot, &mut bytes)?;
        }
        self.groups[group].add_other(bytes, row);
        Ok(())
    }

    /// Takes the next of encoded rows.
    fn next(&self, encoded: &mut &[u8]) -> Result<Option<Vec<Value>>> {
        if encoded.is_empty() {
            return Ok(None);
        }
        let values: Option<Vec<Value>> = (0..self.kept.len()).map(|_| decode(encoded)).collect();
        values.map(Some).ok_or_else(|| Error::internal("partial distinct rows are cut off"))
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
            if values.iter().any(Value::is_null) { Ok(()) } else { self.add(group, &values) }
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
            while let Some(values) = self.next(&mut bytes)? {
                self.add(*group, &values)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let groups = take.from(&mut self.groups);
        let mut inner = self.inner.accumulator();
        let mut outputs = Vec::new();
        for slot in &self.kept {
            outputs.push(Output::new(&storage(&slot.ty, slot.scale), 0, &Account::unlimited())?);
        }
        let mut numbers = Vec::new();
        for (number, rows) in groups.iter().enumerate() {
            if let [output] = outputs.as_mut_slice() {
                for bits in &rows.numbers {
                    output.push(with_bits(&self.like, *bits))?;
                    numbers.push(number);
                }
            }
            let mut encoded = rows.encoded();
            while let Some(values) = self.next(&mut encoded)? {
                for (output, value) in outputs.iter_mut().zip(values) {
                    output.push(value)?;
                }
                numbers.push(number);
            }
        }
        let arrays: Vec<ArrayRef> = outputs.into_iter().map(Output::finish).collect();
        inner.update(&arrays, &numbers, None, groups.len())?;
        inner.evaluate(Take::All)
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let groups = take.from(&mut self.groups);
        let states: Vec<Vec<u8>> = groups
            .into_iter()
            .map(|rows| {
                let mut out = rows.others.map_or_else(Vec::new, |others| others.encoded);
                for bits in rows.numbers {
                    encode(&with_bits(&self.like, bits), &mut out);
                }
                out
            })
            .collect();
        check_room(states.iter().map(Vec::len).sum(), 0)?;
        let states: BinaryArray = states.iter().map(|state| Some(state.as_slice())).collect();
        Ok(vec![Arc::new(states)])
    }

    fn size(&self) -> usize {
        self.groups.iter().map(Rows::size).sum()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringArray};
    use arrow::datatypes::Int64Type;
    use pelorus_types::{ColumnType, collation};

    use super::*;
    use crate::aggregate;

    fn counter(ty: ColumnType) -> Box<dyn Accumulator> {
        let ctx = Arc::new(EvalContext::default());
        let args = [Arg::column(ty, "c")];
        aggregate::resolve("COUNT", true, &args, &ctx).unwrap().accumulator()
    }

    /// The counts of two groups, added up in two parts that are united.
    fn counts(ty: ColumnType, array: &ArrayRef) -> Vec<i64> {
        let (mut one, mut other) = (counter(ty), counter(ty));
        let groups: Vec<usize> = (0..array.len()).map(|row| row % 2).collect();
        let half = array.len() / 2;
        one.update(&[array.slice(0, half)], &groups[..half], None, 2).unwrap();
        let rest = array.slice(half, array.len() - half);
        other.update(&[rest], &groups[half..], None, 2).unwrap();
        let state = other.state(Take::All).unwrap();
        one.merge(&state, &[0, 1], 2).unwrap();
        let counts = one.evaluate(Take::All).unwrap();
        counts.as_primitive::<Int64Type>().values().to_vec()
    }

    #[test]
    fn different_values_are_counted_in_parts_that_overlap() {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter((0..200).map(|at| Some(at % 50))));
        assert_eq!(counts(ColumnType::bigint(), &ints), [25, 25]);
        let few: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(1), Some(2)]));
        assert_eq!(counts(ColumnType::bigint(), &few), [1, 1]);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0, -0.0, 1.5]));
        assert_eq!(counts(ColumnType::double(), &floats), [1, 2]);
        let text = ColumnType::varchar(9, collation::UTF8MB4_0900_AI_CI);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "A", "c", "\u{e1}", "B"]));
        assert_eq!(counts(text, &texts), [1, 2]);
    }

    #[test]
    fn numbers_take_little() {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
        let mut distinct = counter(ColumnType::bigint());
        distinct.update(&[ints], &[0; 100_000], None, 1).unwrap();
        let bytes = distinct.size();
        assert!((1_600_000..4_000_000).contains(&bytes), "{bytes}");
    }
}
