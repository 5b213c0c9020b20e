//! Functions of text and bytes.

pub(crate) mod build;
pub(crate) mod codes;
pub(crate) mod like;
pub(crate) mod list;
pub(crate) mod measure;
pub(crate) mod part;
pub(crate) mod search;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_types::{ColumnType, collation};

use crate::call::{Batch, Call};
use crate::collation::resolution::{Mixed, mix, mix_to_compare};
use crate::context::EvalContext;
use crate::input::Input;
use crate::scalar::cast::text_length;
use crate::types::result_type;
use crate::value::{Arg, Value};

/// Text by characters or bytes without a charset.
#[derive(Clone, Debug)]
pub(crate) enum Str<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Str<'a> {
    /// Reads an argument as text, or as bytes where the operation is on bytes.
    pub(crate) fn read(input: &Input<'a>, row: usize, binary: bool) -> Result<Option<Str<'a>>> {
        Ok(if binary { input.bytes(row)?.map(Str::Bytes) } else { input.text(row)?.map(Str::Text) })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Str::Text(text) => text.as_bytes(),
            Str::Bytes(bytes) => bytes,
        }
    }

    /// Characters, or bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Str::Text(text) if text.is_ascii() => text.len(),
            Str::Text(text) => text.chars().count(),
            Str::Bytes(bytes) => bytes.len(),
        }
    }

    /// `count` characters from number `start`, counted from 0, as far as there are any.
    pub(crate) fn slice(&self, start: usize, count: usize) -> Value {
        match self {
            Str::Text(text) if text.is_ascii() => {
                let start = start.min(text.len());
                let end = start.saturating_add(count).min(text.len());
                Value::Text(text[start..end].to_owned())
            }
            Str::Text(text) => Value::Text(text.chars().skip(start).take(count).collect()),
            Str::Bytes(bytes) => {
                let start = start.min(bytes.len());
                let end = start.saturating_add(count).min(bytes.len());
                Value::Bytes(bytes[start..end].to_vec())
            }
        }
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            Str::Text(text) => Value::Text(text.into_owned()),
            Str::Bytes(bytes) => Value::Bytes(bytes.into_owned()),
        }
    }
}

/// A value from bytes that are whole characters when they are text.
pub(crate) fn value_of(bytes: Vec<u8>, binary: bool) -> Result<Value> {
    if binary {
        return Ok(Value::Bytes(bytes));
    }
    String::from_utf8(bytes)
        .map(Value::Text)
        .map_err(|_| Error::internal("a text function cut a character in two"))
}

/// Text that is put together, no longer than a packet may be: a longer text is not stored.
pub(crate) struct Built {
    bytes: Vec<u8>,
    limit: u64,
    is_over: bool,
}

impl Built {
    pub(crate) fn new(ctx: &EvalContext) -> Self {
        Self { bytes: Vec::new(), limit: ctx.max_allowed_packet, is_over: false }
    }

    pub(crate) fn push(&mut self, part: &[u8]) {
        let length = self.bytes.len().saturating_add(part.len());
        self.is_over |= u64::try_from(length).unwrap_or(u64::MAX) > self.limit;
        if self.is_over {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(part);
        }
    }

    /// Whether it has become too long, and nothing that follows matters.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The value, or NULL with a warning.
    pub(crate) fn finish(self, binary: bool, name: &str, ctx: &EvalContext) -> Result<Value> {
        if self.is_over {
            return Ok(too_long(name, self.limit, ctx));
        }
        value_of(self.bytes, binary)
    }
}

/// Binds a function whose result has the collation that some of its arguments agree on. `chars` is
/// its longest result in characters, or bytes when it is bytes.
pub(crate) fn of_text(
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    deciding: &[&Arg],
    chars: impl Fn(bool) -> u32,
    row: impl Fn(&Batch<'_>, usize, bool) -> Result<Value> + Send + Sync + 'static,
) -> Result<Call> {
    // These take the collation of what they change, and a bare NULL has none.
    let changes = matches!(
        name,
        "REPLACE"
            | "INSERT"
            | "LPAD"
            | "RPAD"
            | "SUBSTRING_INDEX"
            | "TRIM"
            | "TRIM LEADING"
            | "TRIM TRAILING"
    );
    let deciding = if changes { deciding.get(..1).unwrap_or(deciding) } else { deciding };
    let mut mixed = mix(deciding, ctx, &name.to_ascii_lowercase())?;
    if changes && deciding.first().is_some_and(|arg| arg.is_null()) {
        mixed.collation = collation::BINARY;
    }
    let binary = mixed.collation == collation::BINARY;
    let ty = result_type::text_type(chars(binary), mixed.collation).nullable();
    let limit = ctx.max_allowed_packet;
    let shown = name.to_ascii_lowercase();
    let call = Call::rowwise(name, args, ctx, ty, move |batch, at| {
        let value = row(batch, at, binary)?;
        Ok(limited(value, limit, &shown, batch.ctx))
    });
    Ok(call.with_coercibility(mixed.coercibility))
}

/// NULL and a warning for a text that is longer than a packet may be.
fn limited(value: Value, limit: u64, name: &str, ctx: &EvalContext) -> Value {
    let length = match &value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    if u64::try_from(length).unwrap_or(u64::MAX) <= limit {
        return value;
    }
    too_long(name, limit, ctx)
}

/// Warning 1301 and NULL.
pub(crate) fn too_long(name: &str, limit: u64, ctx: &EvalContext) -> Value {
    ctx.warn(
        1301,
        format!("Result of {name}() was larger than max_allowed_packet ({limit}) - truncated"),
    );
    Value::Null
}

/// Longest text of an argument in characters, or in bytes for an operation on bytes.
pub(crate) fn longest(arg: &Arg, binary: bool) -> u32 {
    if binary && arg.ty.is_string() { arg.ty.length } else { text_length(arg) }
}

/// The type of text made by the function itself, in the connection's collation.
pub(crate) fn own_text(chars: u32, ctx: &EvalContext) -> ColumnType {
    result_type::text_type(chars, ctx.collation).nullable()
}

/// The collation that the arguments agree on, and whether that is of bytes.
pub(crate) fn agreed(args: &[&Arg], ctx: &EvalContext, name: &str) -> Result<(Mixed, bool)> {
    let mixed = mix(args, ctx, name)?;
    Ok((mixed, mixed.collation == collation::BINARY))
}

/// The collation that arguments are compared under, and whether that is of bytes.
pub(crate) fn compared(args: &[&Arg], ctx: &EvalContext, name: &str) -> Result<(Mixed, bool)> {
    let mixed = mix_to_compare(args, ctx, name)?;
    Ok((mixed, mixed.collation == collation::BINARY))
}

/// Error 1210.
pub(crate) fn wrong_arguments(what: &str) -> Error {
    Error::new(Code::WrongArguments, format!("Incorrect arguments to {what}"))
}
