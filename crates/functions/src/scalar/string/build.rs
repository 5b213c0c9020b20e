//! Functions that build text: `CONCAT`, `REPEAT`, `LPAD`, `REPLACE`, `INSERT`, `REVERSE`, `UPPER`,
//! ...

use std::sync::Arc;

use pelorus_error::Result;

use super::part::hits;
use super::{Built, Str, agreed, longest, of_text, own_text, too_long, value_of};
use crate::call::Call;
use crate::collation::case;
use crate::collation::resolution::mix;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::types::result_type;
use crate::types::result_type::UNKNOWN;
use crate::value::{Arg, Value};

fn refs(args: &[Arg]) -> Vec<&Arg> {
    args.iter().collect()
}

/// Binds `CONCAT`.
pub(crate) fn concat(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.is_empty() {
        return Err(parameter_count(name));
    }
    let total =
        |binary: bool| args.iter().map(|arg| longest(arg, binary)).fold(0, u32::saturating_add);
    of_text(name, args, ctx, &refs(args), total, |batch, row, binary| {
        let mut out = Built::new(batch.ctx);
        for input in &batch.inputs {
            match Str::read(input, row, binary)? {
                Some(part) => out.push(part.as_bytes()),
                None => return Ok(Value::Null),
            }
            if out.is_over() {
                break;
            }
        }
        out.finish(binary, "concat", batch.ctx)
    })
}

/// Binds `CONCAT_WS`.
pub(crate) fn concat_ws(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [separator, parts @ ..] = args else { return Err(parameter_count(name)) };
    if parts.is_empty() {
        return Err(parameter_count(name));
    }
    let gaps = u32::try_from(parts.len() - 1).unwrap_or(u32::MAX);
    let total = |binary: bool| {
        let parts = parts.iter().map(|arg| longest(arg, binary)).fold(0, u32::saturating_add);
        parts.saturating_add(longest(separator, binary).saturating_mul(gaps))
    };
    of_text(name, args, ctx, &refs(args), total, |batch, row, binary| {
        let Some(separator) = Str::read(&batch.inputs[0], row, binary)? else {
            return Ok(Value::Null);
        };
        let mut out = Built::new(batch.ctx);
        let mut first = true;
        for input in &batch.inputs[1..] {
            if let Some(part) = Str::read(input, row, binary)? {
                if !first {
                    out.push(separator.as_bytes());
                }
                first = false;
                out.push(part.as_bytes());
            }
            if out.is_over() {
                break;
            }
        }
        out.finish(binary, "concat_ws", batch.ctx)
    })
}

/// Binds `UPPER` and `LOWER`.
pub(crate) fn letter_case(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let upper = matches!(name, "UPPER" | "UCASE");
    let collation = mix(&[arg], ctx, "upper")?.collation;
    of_text(
        name,
        args,
        ctx,
        &[arg],
        |binary| longest(arg, binary),
        move |batch, row, binary| {
            Ok(match Str::read(&batch.inputs[0], row, binary)? {
                None => Value::Null,
                Some(Str::Text(text)) => Value::Text(case::change(&text, upper, collation)?),
                Some(bytes) => bytes.into_value(),
            })
        },
    )
}

/// Binds `REVERSE`.
pub(crate) fn reverse(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    of_text(
        name,
        args,
        ctx,
        &[arg],
        |binary| longest(arg, binary),
        |batch, row, binary| {
            Ok(match Str::read(&batch.inputs[0], row, binary)? {
                None => Value::Null,
                Some(Str::Text(text)) => Value::Text(text.chars().rev().collect()),
                Some(Str::Bytes(bytes)) => Value::Bytes(bytes.iter().rev().copied().collect()),
            })
        },
    )
}

/// The value that MySQL takes for a negative length.
const NEGATIVE: u32 = 16_777_216;

/// A count that is constant and not NULL, as an unsigned number of characters.
pub(crate) fn constant_count(arg: &Arg) -> Option<i64> {
    match &arg.constant {
        Some(Value::Null) | None => None,
        Some(value) => constant_integer(value),
    }
}

/// A constant as an integer, rounded as MySQL rounds it.
pub(crate) fn constant_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::UInt(value) => Some(i64::try_from(*value).unwrap_or(i64::MAX)),
        Value::Decimal(value) => {
            value.round_to_integer().to_i128().and_then(|value| i64::try_from(value).ok())
        }
        Value::Double(value) => i64::try_from(crate::input::double_to_int(*value)).ok(),
        Value::Text(text) => {
            i64::try_from(crate::parse::integer_prefix(text.as_bytes()).value).ok()
        }
        _ => None,
    }
}

/// Binds `REPEAT`.
pub(crate) fn repeat(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg, count] = args else { return Err(parameter_count(name)) };
    let known = constant_count(count);
    let chars = |binary: bool| match known {
        Some(count) if count >= 0 => {
            longest(arg, binary).saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
        }
        Some(_) => NEGATIVE,
        None => UNKNOWN,
    };
    let limit = ctx.max_allowed_packet;
    of_text(name, args, ctx, &[arg], chars, move |batch, row, binary| {
        let text = Str::read(&batch.inputs[0], row, binary)?;
        let (Some(text), Some(count)) = (text, batch.inputs[1].int(row)) else {
            return Ok(Value::Null);
        };
        let count = u64::try_from(count.max(0)).unwrap_or(u64::MAX);
        let length = u64::try_from(text.as_bytes().len()).unwrap_or(u64::MAX);
        if length.saturating_mul(count) > limit {
            return Ok(too_long("repeat", limit, batch.ctx));
        }
        let count = usize::try_from(if length == 0 { 0 } else { count }).unwrap_or(0);
        batch.ctx.check_memory(text.as_bytes().len().saturating_mul(count))?;
        value_of(text.as_bytes().repeat(count), binary)
    })
}

/// Binds `SPACE`.
pub(crate) fn space(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [count] = args else { return Err(parameter_count(name)) };
    let chars = match (constant_count(count), &count.constant) {
        (Some(count), _) => u32::try_from(count.max(0)).unwrap_or(u32::MAX),
        (None, Some(_)) => 0,
        (None, None) => UNKNOWN,
    };
    let limit = ctx.max_allowed_packet;
    Ok(Call::rowwise(name, args, ctx, own_text(chars, ctx), move |batch, row| {
        let Some(count) = batch.inputs[0].int(row) else { return Ok(Value::Null) };
        let count = u64::try_from(count.max(0)).unwrap_or(u64::MAX);
        if count > limit {
            return Ok(too_long("space", limit, batch.ctx));
        }
        let count = usize::try_from(count).unwrap_or(0);
        batch.ctx.check_memory(count)?;
        Ok(Value::Text(" ".repeat(count)))
    }))
}

/// Binds `LPAD` and `RPAD`.
pub(crate) fn pad(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg, length, padding] = args else { return Err(parameter_count(name)) };
    let left = name == "LPAD";
    let known = constant_count(length).and_then(|length| u32::try_from(length).ok());
    let negative = constant_count(length).is_some();
    let chars = move |_: bool| known.unwrap_or(if negative { NEGATIVE } else { UNKNOWN });
    let limit = ctx.max_allowed_packet;
    let shown = name.to_ascii_lowercase();
    // So many bytes are what a character may take, whatever those take that are there.
    let width = u64::from(mix(&[arg], ctx, &shown)?.collation.bytes_per_char().max(1));
    of_text(name, args, ctx, &[arg, padding], chars, move |batch, row, binary| {
        let [text, length, padding] = batch.inputs.as_slice() else { return Ok(Value::Null) };
        let (Some(text), Some(length), Some(padding)) =
            (Str::read(text, row, binary)?, length.int(row), Str::read(padding, row, binary)?)
        else {
            return Ok(Value::Null);
        };
        let Ok(length) = u64::try_from(length) else { return Ok(Value::Null) };
        let have = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if length <= have {
            return Ok(text.slice(0, usize::try_from(length).unwrap_or(usize::MAX)));
        }
        if padding.len() == 0 {
            return Ok(text.into_value());
        }
        if length.saturating_mul(if binary { 1 } else { width }) > limit {
            return Ok(too_long(&shown, limit, batch.ctx));
        }
        let missing = usize::try_from(length - have).unwrap_or(0);
        batch.ctx.check_memory(missing)?;
        let whole = padding.as_bytes().repeat(missing / padding.len());
        let rest = padding.slice(0, missing % padding.len());
        let rest: &[u8] = match &rest {
            Value::Text(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            _ => &[],
        };
        let fill = [whole.as_slice(), rest].concat();
        let parts = if left { [&fill, text.as_bytes()] } else { [text.as_bytes(), &fill] };
        value_of(parts.concat(), binary)
    })
}

/// Binds `REPLACE`.
pub(crate) fn replace(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg, _, _] = args else { return Err(parameter_count(name)) };
    let chars = |binary: bool| longest(arg, binary);
    of_text(name, args, ctx, &refs(args), chars, |batch, row, binary| {
        let [text, from, to] = batch.inputs.as_slice() else { return Ok(Value::Null) };
        let (Some(text), Some(from), Some(to)) = (
            Str::read(text, row, binary)?,
            Str::read(from, row, binary)?,
            Str::read(to, row, binary)?,
        ) else {
            return Ok(Value::Null);
        };
        if from.as_bytes().is_empty() {
            return Ok(text.into_value());
        }
        let mut out = Built::new(batch.ctx);
        match (&text, &from) {
            (Str::Text(text), Str::Text(from)) => {
                let places = text.match_indices(&**from).map(|(at, _)| at);
                replace_at(text.as_bytes(), places, from.len(), to.as_bytes(), &mut out);
            }
            _ => {
                let (text, from) = (text.as_bytes(), from.as_bytes());
                replace_at(text, hits(text, from), from.len(), to.as_bytes(), &mut out);
            }
        }
        out.finish(binary, "replace", batch.ctx)
    })
}

/// Appends a text with another one in place of so many bytes at each of some places.
fn replace_at(
    text: &[u8],
    places: impl Iterator<Item = usize>,
    length: usize,
    to: &[u8],
    out: &mut Built,
) {
    let mut from = 0;
    for at in places {
        out.push(&text[from..at]);
        out.push(to);
        from = at + length;
        if out.is_over() {
            return;
        }
    }
    out.push(&text[from..]);
}

/// Binds `INSERT`.
pub(crate) fn insert(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg, _, _, new] = args else { return Err(parameter_count(name)) };
    let chars = |binary: bool| longest(arg, binary).saturating_add(longest(new, binary));
    of_text(name, args, ctx, &[arg, new], chars, |batch, row, binary| {
        let [text, position, count, new] = batch.inputs.as_slice() else { return Ok(Value::Null) };
        let (Some(text), Some(position), Some(count), Some(new)) = (
            Str::read(text, row, binary)?,
            position.int(row),
            count.int(row),
            Str::read(new, row, binary)?,
        ) else {
            return Ok(Value::Null);
        };
        let length = text.len();
        let Some(start) = usize::try_from(position - 1).ok().filter(|start| *start < length) else {
            return Ok(text.into_value());
        };
        let count = usize::try_from(count).unwrap_or(length).min(length - start);
        let bytes = |value: Value| match value {
            Value::Text(text) => text.into_bytes(),
            Value::Bytes(bytes) => bytes,
            _ => Vec::new(),
        };
        let before = bytes(text.slice(0, start));
        let after = bytes(text.slice(start + count, length));
        value_of([before.as_slice(), new.as_bytes(), after.as_slice()].concat(), binary)
    })
}

/// Whether `QUOTE` puts a backslash in front of it.
fn is_quoted(byte: u8) -> bool {
    matches!(byte, 0 | 0x1a | b'\'' | b'\\')
}

/// Binds `QUOTE`.
pub(crate) fn quote(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let (mixed, binary) = agreed(&[arg], ctx, "quote")?;
    if binary && !arg.is_null() {
        return Err(pelorus_error::Error::unsupported("QUOTE of bytes"));
    }
    let collation = if arg.is_null() { ctx.collation } else { mixed.collation };
    let chars = if arg.is_null() { 4 } else { longest(arg, false) * 2 + 2 };
    let ty = result_type::text_type(chars, collation).nullable();
    let call = Call::rowwise(name, args, ctx, ty, |batch, row| {
        let Some(text) = batch.inputs[0].text(row)? else {
            return Ok(Value::Text("NULL".to_owned()));
        };
        let mut out = Built::new(batch.ctx);
        out.push(b"'");
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|byte| is_quoted(*byte)) {
            out.push(&rest[..at]);
            out.push(match rest[at] {
                0 => b"\\0",
                0x1a => b"\\Z",
                b'\'' => b"\\'",
                _ => b"\\\\",
            });
            rest = &rest[at + 1..];
        }
        out.push(rest);
        out.push(b"'");
        out.finish(false, "quote", batch.ctx)
    });
    Ok(call.with_coercibility(mixed.coercibility))
}
