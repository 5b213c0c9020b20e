//! Functions that take a part of a text: `SUBSTRING`, `LEFT`, `RIGHT`, `TRIM`, `SUBSTRING_INDEX`.

use std::sync::Arc;

use pelorus_error::Result;

use super::build::constant_count;
use super::{Str, longest, of_text, value_of};
use crate::call::Call;
use crate::collation::resolution::mix;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::value::{Arg, Value};

/// Binds `SUBSTRING`, `SUBSTR` and `MID`.
pub(crate) fn substring(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let (arg, start, count) = match args {
        [arg, start] => (arg, start, None),
        [arg, start, count] => (arg, start, Some(count)),
        _ => return Err(parameter_count(name)),
    };
    let (start, count) = (constant_count(start), count.and_then(constant_count));
    let chars = |binary: bool| {
        let mut chars = i64::from(longest(arg, binary));
        if let Some(start) = start {
            chars = if start < 0 {
                if -start > chars { 0 } else { -start }
            } else if start == 0 {
                0
            } else {
                (chars - (start - 1)).max(0)
            };
        }
        if let Some(count) = count {
            chars = chars.min(count.max(0));
        }
        u32::try_from(chars).unwrap_or(u32::MAX)
    };
    of_text(name, args, ctx, &[arg], chars, |batch, row, binary| {
        let (Some(text), Some(start)) =
            (Str::read(&batch.inputs[0], row, binary)?, batch.inputs[1].int(row))
        else {
            return Ok(Value::Null);
        };
        let count = match batch.inputs.get(2) {
            None => i128::MAX,
            Some(count) => match count.int(row) {
                Some(count) => count,
                None => return Ok(Value::Null),
            },
        };
        let length = i128::try_from(text.len()).unwrap_or(i128::MAX);
        let from = if start < 0 { length + start } else { start - 1 };
        if from < 0 || from >= length || count <= 0 {
            return Ok(text.slice(0, 0));
        }
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(text.slice(from, usize::try_from(count).unwrap_or(usize::MAX)))
    })
}

/// Binds `LEFT` and `RIGHT`.
pub(crate) fn side(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg, count] = args else { return Err(parameter_count(name)) };
    let left = name == "LEFT";
    let known = constant_count(count);
    let chars = |binary: bool| {
        let longest = longest(arg, binary);
        known.map_or(longest, |count| longest.min(u32::try_from(count.max(0)).unwrap_or(u32::MAX)))
    };
    of_text(name, args, ctx, &[arg], chars, move |batch, row, binary| {
        let (Some(text), Some(count)) =
            (Str::read(&batch.inputs[0], row, binary)?, batch.inputs[1].int(row))
        else {
            return Ok(Value::Null);
        };
        let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
        if left {
            return Ok(text.slice(0, count));
        }
        let length = text.len();
        Ok(text.slice(length.saturating_sub(count), length))
    })
}

/// Binds `TRIM` in its three forms, `LTRIM` and `RTRIM`. The second argument is the text to trim.
pub(crate) fn trim(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let (leading, trailing) = match name {
        "TRIM" => (true, true),
        "TRIM LEADING" | "LTRIM" => (true, false),
        _ => (false, true),
    };
    let most = if name == "LTRIM" || name == "RTRIM" { 1 } else { 2 };
    if args.is_empty() || args.len() > most {
        return Err(parameter_count(name));
    }
    let arg = &args[0];
    let all: Vec<&Arg> = args.iter().collect();
    of_text(
        name,
        args,
        ctx,
        &all,
        |binary| longest(arg, binary),
        move |batch, row, binary| {
            let Some(text) = Str::read(&batch.inputs[0], row, binary)? else {
                return Ok(Value::Null);
            };
            let cut = match batch.inputs.get(1) {
                None => None,
                Some(cut) => match Str::read(cut, row, binary)? {
                    None => return Ok(Value::Null),
                    some => some,
                },
            };
            let cut = cut.as_ref().map_or(b" ".as_slice(), Str::as_bytes);
            let mut rest = text.as_bytes();
            if !cut.is_empty() {
                while leading && let Some(shorter) = rest.strip_prefix(cut) {
                    rest = shorter;
                }
                while trailing && let Some(shorter) = rest.strip_suffix(cut) {
                    rest = shorter;
                }
            }
            value_of(rest.to_vec(), binary)
        },
    )
}

/// Binds `SUBSTRING_INDEX`.
pub(crate) fn substring_index(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg, delimiter, _] = args else { return Err(parameter_count(name)) };
    let chars = |binary: bool| longest(arg, binary);
    let single = mix(&[arg], ctx, "substring_index")?.collation.bytes_per_char() <= 1;
    of_text(name, args, ctx, &[arg, delimiter], chars, move |batch, row, binary| {
        let [text, delimiter, count] = batch.inputs.as_slice() else { return Ok(Value::Null) };
        let (Some(text), Some(delimiter), Some(count)) =
            (Str::read(text, row, binary)?, Str::read(delimiter, row, binary)?, count.int(row))
        else {
            return Ok(Value::Null);
        };
        let (bytes, cut) = (text.as_bytes(), delimiter.as_bytes());
        if cut.is_empty() || count == 0 || bytes.is_empty() {
            return Ok(text.slice(0, 0));
        }
        let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let part = if count > 0 {
            hits(bytes, cut).nth(wanted - 1).map_or(bytes, |at| &bytes[..at])
        } else {
            let found = if binary || single {
                find_backward(bytes, cut, wanted)
            } else {
                // Where characters may take several bytes, hits are counted from the start.
                let place = hits(bytes, cut).count().checked_sub(wanted);
                place.and_then(|at| hits(bytes, cut).nth(at))
            };
            found.map_or(bytes, |at| &bytes[at + cut.len()..])
        };
        value_of(part.to_vec(), binary)
    })
}

/// The positions of some bytes in others, one after the other.
pub(crate) fn hits<'a>(bytes: &'a [u8], cut: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        while !cut.is_empty() && at + cut.len() <= bytes.len() {
            if bytes[at..].starts_with(cut) {
                at += cut.len();
                return Some(at - cut.len());
            }
            at += 1;
        }
        None
    })
}

fn find_backward(bytes: &[u8], cut: &[u8], mut wanted: usize) -> Option<usize> {
    let mut end = bytes.len();
    while end >= cut.len() {
        if bytes[..end].ends_with(cut) {
            wanted -= 1;
            if wanted == 0 {
                return Some(end - cut.len());
            }
            end -= cut.len();
        } else {
            end -= 1;
        }
    }
    None
}
