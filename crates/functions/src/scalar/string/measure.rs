//! Functions that return a number for a text: `LENGTH`, `CHAR_LENGTH`, `ASCII`, `ORD`, `CRC32`.

use std::sync::Arc;

use pelorus_error::Result;

use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::types::result_type::{bigint_type, null_if_any};
use crate::value::{Arg, Value};

fn number(length: usize) -> Value {
    Value::Int(i64::try_from(length).unwrap_or(i64::MAX))
}

/// Binds `LENGTH`, `OCTET_LENGTH`, `BIT_LENGTH`, `CHAR_LENGTH` and `CHARACTER_LENGTH`.
pub(crate) fn length(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let ty = null_if_any(bigint_type(11, false), args);
    let chars = matches!(name, "CHAR_LENGTH" | "CHARACTER_LENGTH");
    let factor = if name == "BIT_LENGTH" { 8 } else { 1 };
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let input = &batch.inputs[0];
        if chars && !input.ty.is_binary_string() {
            return Ok(input.text(row)?.map_or(Value::Null, |text| number(text.chars().count())));
        }
        Ok(input.bytes(row)?.map_or(Value::Null, |bytes| number(bytes.len() * factor)))
    }))
}

/// Binds `ASCII` and `ORD`.
pub(crate) fn code(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let whole = name == "ORD";
    let ty = null_if_any(bigint_type(if whole { 21 } else { 4 }, false), args);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let input = &batch.inputs[0];
        let Some(bytes) = input.bytes(row)? else { return Ok(Value::Null) };
        if !whole || input.ty.is_binary_string() || !input.ty.is_string() {
            return Ok(Value::Int(bytes.first().map_or(0, |byte| i64::from(*byte))));
        }
        let Some(text) = input.text(row)? else { return Ok(Value::Null) };
        let first: String = text.chars().take(1).collect();
        let bytes = crate::collation::charset::encode(&first, input.ty.collation)?;
        Ok(Value::Int(bytes.iter().fold(0, |code, byte| code << 8 | i64::from(*byte))))
    }))
}

/// Binds `CRC32`.
pub(crate) fn crc32(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let ty = null_if_any(bigint_type(10, true), args);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let Some(bytes) = batch.inputs[0].bytes(row)? else { return Ok(Value::Null) };
        Ok(Value::UInt(u64::from(crc32_of(&bytes))))
    }))
}

/// The checksum of Ethernet and zlib (polynomial 0xEDB88320).
fn crc32_of(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
