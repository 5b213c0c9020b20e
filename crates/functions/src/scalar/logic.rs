//! `AND`, `OR`, `XOR`, `NOT`, `IS NULL`, `IS TRUE` and similar operators.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use crate::call::{Batch, Call};
use crate::context::EvalContext;
use crate::kernels::vector;
use crate::kernels::vector::truths;
use crate::registry::errors::parameter_count;
use crate::types::result_type::null_if_any;
use crate::value::Arg;

/// Binds one of the logical operators.
pub(crate) fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let unary = !matches!(name, "AND" | "OR" | "XOR");
    if (unary && args.len() != 1) || (!unary && args.len() < 2) {
        return Err(parameter_count(name));
    }
    let ty = null_if_any(ColumnType::boolean(), args);
    let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
    let call = |ty: ColumnType, text: String, kernel: fn(&Batch<'_>, usize) -> Option<bool>| {
        let both: Option<fn(bool, bool) -> bool> = match name {
            "AND" if args.len() == 2 => Some(|a, b| a && b),
            "OR" if args.len() == 2 => Some(|a, b| a || b),
            _ => None,
        };
        let negates = matches!(name, "NOT" | "!");
        let kernel = move |batch: &Batch<'_>| {
            let fast = match negates {
                true => negated(batch),
                false => both.and_then(|both| without_nulls(batch, both)),
            };
            if let Some(result) = fast {
                return Ok(Arc::new(result) as ArrayRef);
            }
            let result = truths(batch.rows, |row| Ok(kernel(batch, row)))?;
            Ok(Arc::new(result) as ArrayRef)
        };
        Call::new(name, args, ctx, ty, Box::new(kernel)).with_text(text)
    };
    let joined = |word: &str| format!("({})", texts.join(&format!(" {word} ")));
    let is = |word: &str| format!("({} is {word})", texts[0]);
    let never_null = ColumnType::boolean().not_null();
    Ok(match name {
        "AND" => call(ty, joined("and"), and),
        "OR" => call(ty, joined("or"), or),
        "XOR" => call(ty, joined("xor"), xor),
        "NOT" | "!" => {
            call(ty, format!("(0 = {})", texts[0]), |batch, row| Some(!batch.inputs[0].truth(row)?))
        }
        "IS NULL" | "ISNULL" => {
            let text =
                if name == "ISNULL" { format!("({} is null)", texts[0]) } else { is("null") };
            call(never_null, text, |batch, row| Some(batch.inputs[0].is_null(row)))
        }
        "IS NOT NULL" => {
            call(never_null, is("not null"), |batch, row| Some(!batch.inputs[0].is_null(row)))
        }
        "IS UNKNOWN" => {
            call(never_null, is("null"), |batch, row| Some(batch.inputs[0].is_null(row)))
        }
        "IS NOT UNKNOWN" => {
            call(never_null, is("not null"), |batch, row| Some(!batch.inputs[0].is_null(row)))
        }
        "IS TRUE" => call(never_null, is("true"), |batch, row| {
            Some(batch.inputs[0].truth(row) == Some(true))
        }),
        "IS FALSE" => call(never_null, is("false"), |batch, row| {
            Some(batch.inputs[0].truth(row) == Some(false))
        }),
        "IS NOT TRUE" => call(never_null, is("not true"), |batch, row| {
            Some(batch.inputs[0].truth(row) != Some(true))
        }),
        "IS NOT FALSE" => call(never_null, is("not false"), |batch, row| {
            Some(batch.inputs[0].truth(row) != Some(false))
        }),
        _ => return Err(Error::internal(format!("{name} is no logical operator"))),
    })
}

/// Two arrays of integers without NULL.
fn without_nulls(batch: &Batch<'_>, op: fn(bool, bool) -> bool) -> Option<Int64Array> {
    let [a, b] = batch.inputs.as_slice() else { return None };
    let (a, b) = (vector::primitive::<Int64Type>(a)?, vector::primitive::<Int64Type>(b)?);
    if a.null_count() + b.null_count() > 0 {
        return None;
    }
    Some(vector::zip(a, b, batch.rows, |a, b| i64::from(op(a != 0, b != 0))))
}

/// An array of integers, one for each row, of which zeros become ones and all else zeros.
fn negated(batch: &Batch<'_>) -> Option<Int64Array> {
    let values = vector::primitive::<Int64Type>(batch.inputs.first()?)?;
    (values.len() == batch.rows).then(|| values.unary(|value| i64::from(value == 0)))
}

fn and(batch: &Batch<'_>, row: usize) -> Option<bool> {
    let mut unknown = false;
    for input in &batch.inputs {
        match input.truth(row) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => unknown = true,
        }
    }
    (!unknown).then_some(true)
}

fn or(batch: &Batch<'_>, row: usize) -> Option<bool> {
    let mut unknown = false;
    for input in &batch.inputs {
        match input.truth(row) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unknown = true,
        }
    }
    (!unknown).then_some(false)
}

fn xor(batch: &Batch<'_>, row: usize) -> Option<bool> {
    let mut result = false;
    for input in &batch.inputs {
        result ^= input.truth(row)?;
    }
    Some(result)
}

/// The truth of every value: NULL stays NULL, everything but zero is true. For filters.
pub fn truth(
    array: &ArrayRef,
    ty: &ColumnType,
    ctx: &EvalContext,
) -> Result<arrow::array::BooleanArray> {
    use arrow::array::AsArray;
    if !ty.is_temporal()
        && let Some(integers) = array.as_primitive_opt::<Int64Type>()
    {
        let values = integers.values();
        let truths =
            arrow::buffer::BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0);
        return Ok(arrow::array::BooleanArray::new(truths, integers.nulls().cloned()));
    }
    if crate::types::result_type::is_listed(ty) || ty.wire == pelorus_types::WireType::Json {
        return Err(Error::unsupported("ENUM, SET and JSON values as conditions"));
    }
    let slot = crate::input::Slot::of_type(*ty);
    let input = crate::input::Input::new(array, &slot, ctx)?;
    Ok((0..array.len()).map(|row| input.truth(row)).collect())
}
