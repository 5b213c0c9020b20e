//! Functions that search for one text in others: `LOCATE`, `INSTR`, `FIELD`, `FIND_IN_SET`.

use std::cmp::Ordering;
use std::sync::Arc;

use pelorus_error::Result;

use super::{Str, compared};
use crate::call::Call;
use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::scalar::compare;
use crate::scalar::compare::Kind;
use crate::types::result_type::{bigint_type, null_if_any};
use crate::value::{Arg, Value};

/// Binds `LOCATE(needle, text[, from])` and `INSTR(text, needle)`.
pub(crate) fn locate(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let swapped = name == "INSTR";
    if args.len() < 2 || args.len() > if swapped { 2 } else { 3 } {
        return Err(parameter_count(name));
    }
    let (needle, text) = if swapped { (1, 0) } else { (0, 1) };
    // The text that is searched decides, whatever the needle insists on.
    let (mixed, binary) = compared(&[&args[text]], ctx, &name.to_ascii_lowercase())?;
    let rules = Rules::of(mixed.collation);
    let ty = null_if_any(bigint_type(11, false), args);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (Some(needle), Some(text)) = (
            Str::read(&batch.inputs[needle], row, binary)?,
            Str::read(&batch.inputs[text], row, binary)?,
        ) else {
            return Ok(Value::Null);
        };
        let from = match batch.inputs.get(2) {
            None => 1,
            Some(from) => match from.int(row) {
                Some(from) => from,
                None => return Ok(Value::Null),
            },
        };
        let Ok(from) = usize::try_from(from - 1) else { return Ok(Value::Int(0)) };
        let found = find(&needle, &text, from, &rules)?;
        Ok(Value::Int(found.map_or(0, |at| i64::try_from(at + 1).unwrap_or(i64::MAX))))
    }))
}

/// Number of the character where the needle begins, at or after `from`.
fn find(needle: &Str<'_>, text: &Str<'_>, from: usize, rules: &Rules) -> Result<Option<usize>> {
    let (Str::Text(needle), Str::Text(text)) = (needle, text) else {
        let (needle, text) = (needle.as_bytes(), text.as_bytes());
        let found = (from..=text.len().saturating_sub(needle.len()))
            .find(|at| text.len() >= needle.len() && text[*at..].starts_with(needle));
        return Ok(found);
    };
    // The needle is found where the weights go on with its own: `s` is found in `ß`.
    rules.check_search(needle)?;
    rules.check_search(text)?;
    let (mut wanted, mut weights, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    rules.weights(needle, &mut wanted)?;
    let mut buffer = [0; 4];
    for c in text.chars() {
        starts.push(weights.len());
        rules.weights(c.encode_utf8(&mut buffer), &mut weights)?;
    }
    starts.push(weights.len());
    let found = |at: &usize| weights[*at..].starts_with(&wanted);
    Ok(starts.iter().skip(from).position(found).map(|at| at + from))
}

/// Binds `FIELD`.
pub(crate) fn field(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.len() < 2 {
        return Err(parameter_count(name));
    }
    let real: Vec<&Arg> = args.iter().filter(|arg| !arg.is_null()).collect();
    let all = |test: fn(&Arg) -> bool| real.iter().all(|arg| test(arg));
    // Dates and times are texts here.
    let kind = if all(|arg| arg.ty.is_string() || arg.ty.is_temporal()) {
        // What is looked for decides, whatever the list insists on.
        let first = real.first().map_or(&[][..], std::slice::from_ref);
        compare::text_kind(first, ctx, "field")?
    } else if all(|arg| arg.ty.is_integer()) {
        Kind::Int
    } else if all(|arg| arg.ty.is_integer() || arg.ty.is_decimal()) {
        Kind::Decimal
    } else {
        Kind::Real
    };
    let ty = bigint_type(11, false).not_null();
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let [wanted, list @ ..] = batch.inputs.as_slice() else { return Ok(Value::Int(0)) };
        for (at, item) in (1_i64..).zip(list) {
            if compare::compare(&kind, wanted, item, row)? == Some(Ordering::Equal) {
                return Ok(Value::Int(at));
            }
        }
        Ok(Value::Int(0))
    }))
}

/// Binds `FIND_IN_SET`.
pub(crate) fn find_in_set(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [a, b] = args else { return Err(parameter_count(name)) };
    let (mixed, binary) = compared(&[a, b], ctx, "find_in_set")?;
    let rules = Rules::of(mixed.collation);
    let ty = null_if_any(bigint_type(11, false), args);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (Some(wanted), Some(set)) =
            (Str::read(&batch.inputs[0], row, binary)?, Str::read(&batch.inputs[1], row, binary)?)
        else {
            return Ok(Value::Null);
        };
        if set.as_bytes().is_empty() {
            return Ok(Value::Int(0));
        }
        // Spaces at the end count, under whatever collation: weights are compared as they are.
        let (mut own, mut other) = (Vec::new(), Vec::new());
        if let Str::Text(wanted) = &wanted {
            rules.weights(wanted, &mut own)?;
        }
        for (at, item) in (1_i64..).zip(set.as_bytes().split(|byte| *byte == b',')) {
            let same = match (&wanted, std::str::from_utf8(item)) {
                (Str::Text(_), Ok(item)) => {
                    other.clear();
                    rules.weights(item, &mut other)?;
                    own == other
                }
                _ => wanted.as_bytes() == item,
            };
            if same && !wanted.as_bytes().contains(&b',') {
                return Ok(Value::Int(at));
            }
        }
        Ok(Value::Int(0))
    }))
}
