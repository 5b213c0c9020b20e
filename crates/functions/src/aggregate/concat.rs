//! `GROUP_CONCAT`. Its last argument is the separator, a constant; the order of the rows is the
//! caller's.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray};
use arrow::datatypes::DataType;
use pelorus_error::{Error, Result};
use pelorus_types::{WireType, collation};

use super::{Accumulator, AggregateCall, Take, each};
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::output::Output;
use crate::shape;
use crate::string::{Str, agreed, value_of};
use crate::value::{Arg, Value};

#[derive(Clone, Debug)]
struct Plan {
    slots: Vec<Slot>,
    separator: Vec<u8>,
    binary: bool,
    limit: usize,
    storage: DataType,
    ctx: Arc<EvalContext>,
}

#[derive(Clone, Debug)]
struct Concat {
    plan: Plan,
    texts: Vec<Option<Vec<u8>>>,
    cut: usize,
}

/// Binds `GROUP_CONCAT`.
pub(super) fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<AggregateCall> {
    let [values @ .., separator] = args else {
        return Err(crate::errors::parameter_count(name));
    };
    let separator = match &separator.constant {
        Some(Value::Text(text)) => text.clone().into_bytes(),
        Some(Value::Bytes(bytes)) => bytes.clone(),
        _ => return Err(Error::internal("the separator of GROUP_CONCAT is a constant text")),
    };
    if values.is_empty() {
        return Err(crate::errors::parameter_count(name));
    }
    let refs: Vec<&Arg> = values.iter().collect();
    let (mixed, _) = agreed(&refs, ctx, "group_concat")?;
    let binary = mixed.collation == collation::BINARY;
    let limit = usize::try_from(ctx.group_concat_max_len).unwrap_or(usize::MAX);
    let chars = u32::try_from(limit).unwrap_or(u32::MAX / 64);
    // MySQL multiplies the bytes of a character in twice more.
    let width = crate::collate::charset::width(mixed.collation);
    let length = chars.saturating_mul(width.pow(3));
    let mut ty = shape::string_type(length, mixed.collation);
    ty.length = length;
    ty.wire = WireType::LongBlob;
    let storage = ty.arrow();
    let plan = Plan {
        slots: values.iter().map(Slot::of).collect(),
        separator,
        binary,
        limit,
        storage,
        ctx: Arc::clone(ctx),
    };
    let make = move || -> Box<dyn Accumulator> {
        Box::new(Concat { plan: plan.clone(), texts: Vec::new(), cut: 0 })
    };
    Ok(AggregateCall::new(name, args, ty.nullable(), vec![DataType::Binary], Box::new(make)))
}

impl Concat {
    fn resize(&mut self, total: usize) {
        self.texts.resize(total.max(self.texts.len()), None);
    }

    fn push(&mut self, group: usize, part: &[u8]) {
        let text = &mut self.texts[group];
        match text {
            None => *text = Some(part.to_vec()),
            Some(text) => {
                if text.len() > self.plan.limit {
                    return;
                }
                text.extend_from_slice(&self.plan.separator);
                text.extend_from_slice(part);
            }
        }
    }

    /// The text cut to the limit at the end of a character.
    fn limited(&mut self, mut text: Vec<u8>) -> Vec<u8> {
        if text.len() <= self.plan.limit {
            return text;
        }
        self.cut += 1;
        let mut end = self.plan.limit;
        while !self.plan.binary && end > 0 && text[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        text.truncate(end);
        self.plan.ctx.warn(1260, format!("Row {} was cut by GROUP_CONCAT()", self.cut));
        text
    }
}

impl Accumulator for Concat {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let plan = self.plan.clone();
        let inputs = args
            .iter()
            .zip(&plan.slots)
            .map(|(array, slot)| Input::new(array, slot, &plan.ctx))
            .collect::<Result<Vec<_>>>()?;
        let mut part = Vec::new();
        each(groups, filter, |row, group| {
            part.clear();
            for input in &inputs {
                match Str::read(input, row, plan.binary)? {
                    Some(text) => part.extend_from_slice(text.as_bytes()),
                    None => return Ok(()),
                }
            }
            self.push(group, &part);
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.resize(total);
        let partial = states
            .first()
            .and_then(|array| array.as_binary_opt::<i32>())
            .ok_or_else(|| Error::internal("a partial GROUP_CONCAT is bytes"))?;
        for (row, group) in groups.iter().enumerate() {
            if partial.is_valid(row) {
                self.push(*group, partial.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let texts = take.from(&mut self.texts);
        let mut output = Output::new(&self.plan.storage, texts.len())?;
        for text in texts {
            output.push(match text {
                None => Value::Null,
                Some(text) => value_of(self.limited(text), self.plan.binary)?,
            })?;
        }
        Ok(output.finish())
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let texts = take.from(&mut self.texts);
        let states: BinaryArray = texts.iter().map(|text| text.as_deref()).collect();
        Ok(vec![Arc::new(states)])
    }

    fn size(&self) -> usize {
        self.texts.iter().flatten().map(Vec::capacity).sum::<usize>()
            + self.texts.capacity() * size_of::<Option<Vec<u8>>>()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}
