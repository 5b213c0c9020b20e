//! `GREATEST` and `LEAST`.

use std::cmp::Ordering;
use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::WireType;
use pelorus_types::temporal::write_date;

use crate::call::{Call, each_row};
use crate::collate::mix::mix;
use crate::common::{common, temporal_type};
use crate::compare::{self, Kind};
use crate::context::EvalContext;
use crate::convert::value_as;
use crate::datetime::parse;
use crate::errors::parameter_count;
use crate::shape::null_if_any;
use crate::value::{Arg, Value};

/// Binds `GREATEST` or `LEAST`.
pub(crate) fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.len() < 2 {
        return Err(parameter_count(name));
    }
    let wanted = if name == "GREATEST" { Ordering::Greater } else { Ordering::Less };
    let refs: Vec<&Arg> = args.iter().collect();
    let mut common = common(&refs, ctx, &name.to_ascii_lowercase())?;
    common.ty = null_if_any(common.ty, args);
    let kind = comparison(&refs, ctx, name)?;
    let to = common.ty;
    // Dates beside text compare as dates; the text of the chosen one is given as a date is shown.
    let as_date = matches!(kind, Kind::Date) && to.is_string();
    let date_type = temporal_type(
        if args.iter().any(|arg| matches!(arg.ty.wire, WireType::DateTime | WireType::Timestamp)) {
            WireType::DateTime
        } else {
            WireType::Date
        },
        0,
    );
    if as_date && date_type.wire != WireType::Date {
        return Err(Error::unsupported(format_args!("{name} of dates with times and text")));
    }
    let storage = crate::output::storage(&common.ty, common.scale);
    let kernel = each_row(storage, move |batch, row| {
        let inputs = &batch.inputs;
        if inputs.iter().any(|input| input.is_null(row)) {
            return Ok(Value::Null);
        }
        let mut best = 0;
        for at in 1..inputs.len() {
            if compare::compare(&kind, &inputs[at], &inputs[best], row)? == Some(wanted) {
                best = at;
            }
        }
        let chosen = &inputs[best];
        if as_date
            && !chosen.ty.is_date()
            && let Some(text) = chosen.text(row)?
        {
            let read = parse::datetime(&text);
            if let Some(date) = read.value {
                let mut shown = String::new();
                write_date(&mut shown, date);
                return Ok(Value::Text(shown));
            }
        }
        value_as(chosen, row, &to)
    });
    Ok(Call::new(name, args, ctx, common.ty, kernel)
        .with_scale(common.scale)
        .with_coercibility(common.coercibility))
}

/// What the arguments are compared as: text beside numbers makes all of them text.
fn comparison(args: &[&Arg], ctx: &EvalContext, name: &str) -> Result<Kind> {
    let real: Vec<&Arg> = args.iter().copied().filter(|arg| !arg.is_null()).collect();
    let strings = real.iter().any(|arg| arg.ty.is_string());
    if strings && !real.iter().any(|arg| arg.ty.is_date()) {
        // Collations that contradict each other are no error here.
        return Ok(Kind::under(mix(&real, ctx, &name.to_ascii_lowercase())?.collation));
    }
    compare::kind(args, ctx, &name.to_ascii_lowercase()).map(Kind::as_given)
}
