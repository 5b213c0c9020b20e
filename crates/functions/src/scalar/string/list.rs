//! Functions that choose among texts: `ELT`, `MAKE_SET`, `EXPORT_SET`.

use std::sync::Arc;

use pelorus_error::Result;

use super::{Built, Str, longest, of_text, too_long};
use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::value::{Arg, Value};

/// Binds `ELT`.
pub(crate) fn elt(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, list @ ..] = args else { return Err(parameter_count(name)) };
    if list.is_empty() {
        return Err(parameter_count(name));
    }
    let all: Vec<&Arg> = list.iter().collect();
    let chars = |binary: bool| list.iter().map(|arg| longest(arg, binary)).max().unwrap_or(0);
    of_text(name, args, ctx, &all, chars, |batch, row, binary| {
        let chosen = batch.inputs[0].int(row).and_then(|at| usize::try_from(at).ok());
        match chosen.filter(|at| *at >= 1).and_then(|at| batch.inputs.get(at)) {
            Some(input) => Ok(Str::read(input, row, binary)?.map_or(Value::Null, Str::into_value)),
            None => Ok(Value::Null),
        }
    })
}

/// Binds `MAKE_SET`.
pub(crate) fn make_set(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, list @ ..] = args else { return Err(parameter_count(name)) };
    if list.is_empty() {
        return Err(parameter_count(name));
    }
    let all: Vec<&Arg> = list.iter().collect();
    let commas = u32::try_from(list.len() - 1).unwrap_or(u32::MAX);
    let chars = |binary: bool| {
        list.iter().map(|arg| longest(arg, binary)).fold(commas, u32::saturating_add)
    };
    let call = of_text(name, args, ctx, &all, chars, |batch, row, binary| {
        let Some(bits) = batch.inputs[0].bits(row) else { return Ok(Value::Null) };
        let mut out = Built::new(batch.ctx);
        let mut first = true;
        for (at, input) in batch.inputs[1..].iter().enumerate().take(64) {
            if bits >> at & 1 == 1
                && let Some(text) = Str::read(input, row, binary)?
            {
                if !first {
                    out.push(b",");
                }
                first = false;
                out.push(text.as_bytes());
            }
            if out.is_over() {
                break;
            }
        }
        out.finish(binary, "make_set", batch.ctx)
    })?;
    Ok(call.null_with(args))
}

/// Binds `EXPORT_SET`.
pub(crate) fn export_set(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if !(3..=5).contains(&args.len()) {
        return Err(parameter_count(name));
    }
    let texts: Vec<&Arg> = args[1..].iter().take(3).collect();
    let chars = |binary: bool| {
        let word = longest(&args[1], binary).max(longest(&args[2], binary));
        let separator = args.get(3).map_or(1, |arg| longest(arg, binary));
        word.saturating_mul(64).saturating_add(separator.saturating_mul(63))
    };
    of_text(name, args, ctx, &texts, chars, |batch, row, binary| {
        let Some(bits) = batch.inputs[0].bits(row) else { return Ok(Value::Null) };
        let (Some(on), Some(off)) =
            (Str::read(&batch.inputs[1], row, binary)?, Str::read(&batch.inputs[2], row, binary)?)
        else {
            return Ok(Value::Null);
        };
        let separator = match batch.inputs.get(3) {
            None => b",".to_vec(),
            Some(separator) => match Str::read(separator, row, binary)? {
                Some(separator) => separator.as_bytes().to_vec(),
                None => return Ok(Value::Null),
            },
        };
        let count = match batch.inputs.get(4) {
            None => 64,
            Some(count) => match count.int(row) {
                Some(count) => usize::try_from(count).map_or(64, |count| count.min(64)),
                None => return Ok(Value::Null),
            },
        };
        // The longest that it could be is looked at.
        let (on, off) = (on.as_bytes(), off.as_bytes());
        let words = on.len().max(off.len()).saturating_mul(count);
        let gaps = separator.len().saturating_mul(count.saturating_sub(1));
        let limit = batch.ctx.max_allowed_packet;
        if u64::try_from(words.saturating_add(gaps)).unwrap_or(u64::MAX) > limit {
            return Ok(too_long("export_set", limit, batch.ctx));
        }
        let mut out = Built::new(batch.ctx);
        for at in 0..count {
            if at > 0 {
                out.push(&separator);
            }
            out.push(if bits >> at & 1 == 1 { on } else { off });
        }
        out.finish(binary, "export_set", batch.ctx)
    })
}
