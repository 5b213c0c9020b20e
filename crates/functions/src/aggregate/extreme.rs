//! `MIN`, `MAX` and `ANY_VALUE`.

mod number;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType;
use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_types::{ColumnType, Flags, WireType};

use self::number::NumberExtreme;
use super::{Accumulator, AggregateCall, Take, each};
use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::output::{Output, storage};
use crate::value::{Arg, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Least,
    Greatest,
    Any,
}

/// Binds `MIN`, `MAX` or `ANY_VALUE`.
pub(super) fn resolve(name: &str, arg: &Arg, ctx: &Arc<EvalContext>) -> Result<AggregateCall> {
    let which = match name {
        "MIN" => Which::Least,
        "MAX" => Which::Greatest,
        _ => Which::Any,
    };
    if which != Which::Any && matches!(arg.ty.wire, WireType::Json) {
        return Err(Error::unsupported("MIN and MAX of JSON values"));
    }
    let mut ty = result_type(&arg.ty, which);
    if crate::types::result_type::blob_rank(ty.wire) > 0
        && arg.origin == crate::value::Origin::Column
    {
        // Long texts are reported with their bytes taken for characters.
        let width = crate::collation::charset::width(ty.collation);
        ty.length = ty.length.saturating_mul(width);
    }
    let storage = storage(&ty, arg.scale);
    let (slot, ctx) = (Slot::of(arg), Arc::clone(ctx));
    let rules = Rules::of(arg.ty.collation);
    let scale = arg.scale;
    let state = storage.clone();
    let is_year = which != Which::Any && arg.ty.wire == WireType::Year;
    let make = move || -> Box<dyn Accumulator> {
        if storage == DataType::Int64 {
            return Box::new(NumberExtreme::new(which, slot.clone(), Arc::clone(&ctx)));
        }
        Box::new(Extreme {
            which,
            slot: slot.clone(),
            rules,
            ctx: Arc::clone(&ctx),
            storage: storage.clone(),
            is_year,
            values: Vec::new(),
            keys: Vec::new(),
        })
    };
    let args = std::slice::from_ref(arg);
    Ok(AggregateCall::new(name, args, ty, vec![state], Box::new(make)).with_scale(scale))
}

fn result_type(arg: &ColumnType, which: Which) -> ColumnType {
    let kept = Flags::UNSIGNED.with(Flags::NOT_NULL);
    let mut ty = *arg;
    ty.flags = Flags(arg.flags.0 & kept.0);
    if ty.is_string() {
        ty.decimals = crate::types::result_type::NOT_FIXED;
        if ty.collation.is_binary_order() {
            ty.flags = ty.flags.with(Flags::BINARY);
        }
    } else if ty.wire != WireType::Bit {
        ty.flags = ty.flags.with(Flags::BINARY);
    }
    if which == Which::Any { ty } else { ty.nullable() }
}

#[derive(Clone, Debug)]
struct Extreme {
    which: Which,
    slot: Slot,
    rules: Rules,
    ctx: Arc<EvalContext>,
    storage: DataType,
    is_year: bool,
    values: Vec<Value>,
    /// Sort keys of the texts among the values.
    keys: Vec<Vec<u8>>,
}

impl Extreme {
    fn better(&self, new: &Value, old: &Value) -> Result<bool> {
        let order = match (new, old) {
            (_, Value::Null) => return Ok(true),
            _ if self.which == Which::Any => return Ok(false),
            (Value::Int(a), Value::Int(b))
            | (Value::Date(a), Value::Date(b))
            | (Value::Time(a), Value::Time(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Decimal(a), Value::Decimal(b)) => a.compare(*b),
            (Value::Double(a), Value::Double(b)) => crate::scalar::compare::total(*a, *b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => {
                self.rules.compare(a, b, &mut Default::default())?
            }
            _ => return Err(Error::internal("MIN and MAX compare values of one type")),
        };
        Ok(match self.which {
            Which::Least => order == Ordering::Less,
            Which::Greatest => order == Ordering::Greater,
            Which::Any => false,
        })
    }
}

impl Extreme {
    /// The values of groups, which are then forgotten.
    fn take(&mut self, take: Take) -> Vec<Value> {
        take.from(&mut self.keys);
        take.from(&mut self.values)
    }

    fn array_of(&self, values: Vec<Value>) -> Result<ArrayRef> {
        let mut output = Output::new(&self.storage, values.len(), &Account::unlimited())?;
        for value in values {
            output.push(value)?;
        }
        Ok(output.finish())
    }

    /// A column of text: keys are compared, and a text is kept only when it is better.
    fn texts(
        &mut self,
        array: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<bool> {
        let Some(array) = array.as_string_opt::<i32>() else { return Ok(false) };
        if array.len() != groups.len() || self.which == Which::Any {
            return Ok(false);
        }
        self.keys.resize(total.max(self.keys.len()), Vec::new());
        let wanted = if self.which == Which::Least { Ordering::Less } else { Ordering::Greater };
        let mut key = Vec::new();
        each(groups, filter, |row, group| {
            if array.is_null(row) {
                return Ok(());
            }
            let text = array.value(row);
            key.clear();
            self.rules.key(text, &mut key)?;
            if self.values[group].is_null() || key.cmp(&self.keys[group]) == wanted {
                self.keys[group].clone_from(&key);
                self.values[group] = Value::Text(text.to_owned());
            }
            Ok(())
        })?;
        Ok(true)
    }
}

impl Accumulator for Extreme {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.values.resize(total.max(self.values.len()), Value::Null);
        let array = args.first().ok_or_else(|| Error::internal("MIN has an argument"))?;
        if self.texts(array, groups, filter, total)? {
            return Ok(());
        }
        let (slot, ctx) = (self.slot.clone(), Arc::clone(&self.ctx));
        let input = Input::new(array, &slot, &ctx)?;
        each(groups, filter, |row, group| {
            if self.which == Which::Any && !self.values[group].is_null() {
                return Ok(());
            }
            let new = input.value(row);
            if !new.is_null() && self.better(&new, &self.values[group])? {
                self.values[group] = new;
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update(states, groups, None, total)
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let is_zero = |it: &Value| matches!(it, Value::Int(0) | Value::UInt(0));
        let values = self.take(take);
        if self.is_year && values.iter().any(is_zero) {
            // MySQL shows 0, and 0000 where groups go through a table.
            return Err(Error::unsupported("MIN and MAX of YEAR that are 0000"));
        }
        self.array_of(values)
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let values = self.take(take);
        Ok(vec![self.array_of(values)?])
    }

    fn size(&self) -> usize {
        let held: usize = self
            .values
            .iter()
            .map(|value| match value {
                Value::Text(text) => text.capacity(),
                Value::Bytes(bytes) => bytes.capacity(),
                _ => 0,
            })
            .sum();
        let keys: usize = self.keys.iter().map(Vec::capacity).sum();
        held + keys + self.values.capacity() * size_of::<Value>()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;
    use pelorus_types::collation;

    use super::*;

    #[test]
    fn texts_are_compared_under_their_collation() {
        let ctx = Arc::new(EvalContext::default());
        let found = |name: &str| {
            let arg = Arg::column(ColumnType::varchar(9, collation::UTF8MB4_0900_AI_CI), "c");
            let call = resolve(name, &arg, &ctx).unwrap();
            let (mut one, mut other) = (call.accumulator(), call.accumulator());
            let texts =
                |texts: &[&str]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
            one.update(&[texts(&["b", "A", "C"])], &[0, 0, 0], None, 1).unwrap();
            other.update(&[texts(&["B"])], &[0], None, 1).unwrap();
            one.merge(&other.state(Take::All).unwrap(), &[0], 1).unwrap();
            one.evaluate(Take::All).unwrap().as_string::<i32>().value(0).to_owned()
        };
        // By its bytes `b` would be the greatest.
        assert_eq!((found("MIN"), found("MAX")), ("A".to_owned(), "C".to_owned()));
    }
}
