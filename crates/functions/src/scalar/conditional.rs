//! Conditional functions: `IF`, `IFNULL`, `NULLIF`, `COALESCE`, `CASE`.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray, Scalar};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType, Int64Type};
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use crate::call::{Batch, Call, each_row};
use crate::context::EvalContext;
use crate::input::Input;
use crate::kernels::vector;
use crate::registry::errors::parameter_count;
use crate::scalar::compare;
use crate::scalar::compare::{Kind, Taken};
use crate::types::common_type::{Common, common};
use crate::types::convert::value_as;
use crate::value::{Arg, Value};

fn bind(
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    common: Common,
    row: impl Fn(&Batch<'_>, usize) -> Result<Value> + Send + Sync + 'static,
) -> Call {
    let storage = crate::output::storage(&common.ty, common.scale);
    Call::new(name, args, ctx, common.ty, each_row(storage, row))
        .with_scale(common.scale)
        .with_coercibility(common.coercibility)
}

/// Binds `IF`.
pub(crate) fn if_else(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, yes, no] = args else { return Err(parameter_count(name)) };
    let common = common(&[yes, no], ctx, "if")?;
    let to = common.ty;
    let storage = crate::output::storage(&common.ty, common.scale);
    let wanted = storage.clone();
    let slow = each_row(storage, move |batch, row| {
        let branch = if batch.inputs[0].truth(row) == Some(true) { 1 } else { 2 };
        value_as(&batch.inputs[branch], row, &to)
    });
    let kernel = move |batch: &Batch<'_>| match chosen(batch, &to, &wanted)? {
        Some(result) => Ok(result),
        None => slow(batch),
    };
    Ok(Call::new(name, args, ctx, to, Box::new(kernel))
        .with_scale(common.scale)
        .with_coercibility(common.coercibility))
}

/// Constants that take more bytes in all rows of a batch are not spread by whole arrays.
const SPREAD: usize = 16 << 20;

/// Whole arrays of the result's own type, chosen from by a mask.
fn chosen(batch: &Batch<'_>, to: &ColumnType, storage: &DataType) -> Result<Option<ArrayRef>> {
    let [condition, yes, no] = batch.inputs.as_slice() else { return Ok(None) };
    let fits = |input: &Input<'_>| {
        input.array.data_type() == storage
            && input.ty.is_temporal() == to.is_temporal()
            && (!to.is_temporal() || input.ty.wire == to.wire)
    };
    // A long constant in each row takes memory that has to be counted.
    let is_long = |input: &Input<'_>| {
        let bytes = input.array.get_array_memory_size().saturating_mul(batch.rows);
        input.is_one() && bytes > SPREAD
    };
    if batch.rows < 2 || !fits(yes) || !fits(no) || is_long(yes) || is_long(no) {
        return Ok(None);
    }
    let mask = mask(condition, batch.rows);
    let result = match (yes.is_one(), no.is_one()) {
        (false, false) => zip(&mask, yes.array, no.array),
        (true, false) => zip(&mask, &Scalar::new(yes.array), no.array),
        (false, true) => zip(&mask, yes.array, &Scalar::new(no.array)),
        (true, true) => zip(&mask, &Scalar::new(yes.array), &Scalar::new(no.array)),
    };
    result.map(Some).map_err(|error| {
        Error::internal("two arrays of one type can be chosen from").caused_by(error)
    })
}

/// Where a condition is true, which it is not where it is NULL.
fn mask(condition: &Input<'_>, rows: usize) -> BooleanArray {
    let bits = match vector::primitive::<Int64Type>(condition) {
        Some(values) if values.len() == rows => {
            let bits = BooleanBuffer::collect_bool(rows, |row| values.values()[row] != 0);
            match values.nulls() {
                Some(nulls) => &bits & nulls.inner(),
                None => bits,
            }
        }
        _ => BooleanBuffer::collect_bool(rows, |row| condition.truth(row) == Some(true)),
    };
    BooleanArray::new(bits, None)
}

/// Binds `COALESCE` and `IFNULL`.
pub(crate) fn coalesce(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.is_empty() || (name == "IFNULL" && args.len() != 2) {
        return Err(parameter_count(name));
    }
    let refs: Vec<&Arg> = args.iter().collect();
    let mut common = common(&refs, ctx, &name.to_ascii_lowercase())?;
    let nullable = args.iter().all(|arg| arg.ty.is_nullable());
    common.ty = if nullable { common.ty.nullable() } else { common.ty.not_null() };
    let to = common.ty;
    Ok(bind(name, args, ctx, common, move |batch, row| {
        match batch.inputs.iter().find(|input| !input.is_null(row)) {
            Some(input) => value_as(input, row, &to),
            None => Ok(Value::Null),
        }
    }))
}

/// Binds `NULLIF`.
pub(crate) fn null_if(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [first, second] = args else { return Err(parameter_count(name)) };
    let [a, b] = compare::taken_pair(first, second, ctx);
    let class = |arg: &Arg| (arg.ty.is_string(), arg.ty.is_temporal());
    let is_changed = first.constant.is_some()
        && !first.is_null()
        && second.constant.is_none()
        && !ctx.of_mariadb
        && class(first) != class(second);
    if a.is_some() || is_changed {
        return Err(Error::unsupported("NULLIF of a constant and a column of another type"));
    }
    let kind = compare::pair_kind(first, b.as_ref().unwrap_or(second), ctx, "nullif")?;
    let taken = Taken::of(&[None, b])?.with(compare::pair_complaints(first, second, ctx)?);
    let mut common = common(&[first], ctx, "nullif")?;
    if first.ty.is_float() {
        (common.ty.wire, common.ty.length) = (first.ty.wire, first.ty.length);
    }
    common.ty = common.ty.nullable();
    let to = common.ty;
    Ok(bind(name, args, ctx, common, move |batch, row| {
        let (a, b) = (&batch.inputs[0], &taken.at(batch, 1)?);
        if compare::compare(&kind, a, b, row)?.is_some_and(std::cmp::Ordering::is_eq) {
            return Ok(Value::Null);
        }
        value_as(a, row, &to)
    }))
}

/// Binds `CASE`: conditions and results alternately, then the result of ELSE if there is one.
pub(crate) fn searched_case(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.len() < 2 {
        return Err(parameter_count(name));
    }
    let common = case_type(args, ctx)?;
    let to = common.ty;
    Ok(bind(name, args, ctx, common, move |batch, row| {
        let inputs = &batch.inputs;
        for pair in inputs.chunks(2) {
            match pair {
                [condition, result] if condition.truth(row) == Some(true) => {
                    return value_as(result, row, &to);
                }
                [default] => return value_as(default, row, &to),
                _ => {}
            }
        }
        Ok(Value::Null)
    }))
}

/// Binds `CASE value WHEN ...`: the value, then values and results alternately, then ELSE.
pub(crate) fn simple_case(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [value, rest @ ..] = args else { return Err(parameter_count(name)) };
    if rest.len() < 2 {
        return Err(parameter_count(name));
    }
    let kinds = rest
        .chunks_exact(2)
        .map(|pair| compare::case_kind(value, &pair[0], ctx))
        .collect::<Result<Vec<Kind>>>()?;
    let common = case_type(rest, ctx)?;
    let to = common.ty;
    Ok(bind(name, args, ctx, common, move |batch, row| {
        let [value, rest @ ..] = batch.inputs.as_slice() else { return Ok(Value::Null) };
        for (pair, kind) in rest.chunks_exact(2).zip(&kinds) {
            let order = compare::compare(kind, value, &pair[0], row)?;
            if order.is_some_and(std::cmp::Ordering::is_eq) {
                return value_as(&pair[1], row, &to);
            }
        }
        match rest.chunks_exact(2).remainder() {
            [default] => value_as(default, row, &to),
            _ => Ok(Value::Null),
        }
    }))
}

/// The common type of the results; without ELSE the result can be NULL.
fn case_type(args: &[Arg], ctx: &EvalContext) -> Result<Common> {
    let mut results: Vec<&Arg> = args.chunks_exact(2).map(|pair| &pair[1]).collect();
    let has_else = args.len() % 2 == 1;
    results.extend(args.last().filter(|_| has_else));
    let mut common = common(&results, ctx, "case")?;
    if !has_else {
        common.ty = common.ty.nullable();
    }
    Ok(common)
}
