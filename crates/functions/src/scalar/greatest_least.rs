//! `GREATEST` and `LEAST`.

use std::cmp::Ordering;
use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::temporal::{DateTime, write_date, write_datetime};
use pelorus_types::{ColumnType, WireType};

use crate::call::{Call, each_row};
use crate::collation::resolution::mix;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::scalar::compare;
use crate::scalar::compare::Kind;
use crate::scalar::datetime::read::Lenience;
use crate::scalar::datetime::{parse, read};
use crate::types::common_type::common;
use crate::types::convert::value_as;
use crate::types::result_type::null_if_any;
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
    let to = common.ty;
    if to.is_string() && args.iter().any(|arg| arg.ty.is_date()) {
        let call = dates(name, args, ctx, to, wanted)?;
        return Ok(call.with_coercibility(common.coercibility));
    }
    let kind = comparison(&refs, ctx, name, to.is_string())?;
    // Of texts that are equal but not the same a MySQL gives the last for GREATEST, else the first.
    let takes_equal = to.is_string() && wanted == Ordering::Greater && !ctx.of_mariadb;
    let storage = crate::output::storage(&common.ty, common.scale);
    let kernel = each_row(storage, move |batch, row| {
        let inputs = &batch.inputs;
        if inputs.iter().any(|input| input.is_null(row)) {
            return Ok(Value::Null);
        }
        let mut best = 0;
        for at in 1..inputs.len() {
            let order = compare::compare(&kind, &inputs[at], &inputs[best], row)?;
            if order == Some(wanted) || takes_equal && order == Some(Ordering::Equal) {
                best = at;
            }
        }
        value_as(&inputs[best], row, &to)
    });
    Ok(Call::new(name, args, ctx, common.ty, kernel)
        .with_scale(common.scale)
        .with_coercibility(common.coercibility))
}

/// The least or greatest of dates and of what becomes one: the text of a date with as many digits of a
/// second as the arguments have.
fn dates(
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    to: ColumnType,
    wanted: Ordering,
) -> Result<Call> {
    let has_time = |arg: &Arg| {
        matches!(arg.ty.wire, WireType::DateTime | WireType::Timestamp | WireType::Time)
    };
    let is_odd =
        |arg: &Arg| arg.is_hex() || arg.ty.wire == WireType::Year && arg.constant.is_some();
    if args.iter().any(is_odd) {
        return Err(Error::unsupported(format_args!(
            "{name} of dates and of bits or constant years"
        )));
    }
    let digits = args.iter().any(has_time).then(|| args.iter().map(digits).max()).flatten();
    let lenience = Lenience::FUZZY;
    let lenience = if digits.is_none() { lenience.of_date() } else { lenience };
    let name_of = name.to_owned();
    Ok(Call::rowwise(name, args, ctx, to, move |batch, row| {
        let mut best: Option<DateTime> = None;
        if batch.inputs.iter().any(|input| input.is_null(row)) {
            return Ok(Value::Null);
        }
        for input in &batch.inputs {
            // A MySQL makes a date of it that there is not, or shows the year 0 as it is.
            let date = read::datetime(input, row, lenience)?.filter(|date| {
                let is_zero = date.midnight() == DateTime::default()
                    || input.ty.wire == WireType::Year && date.year == 0;
                !is_zero || digits.is_none() || digits == Some(0) && input.ty.is_date()
            });
            let date = date.ok_or_else(|| {
                Error::unsupported(format_args!("{name_of} of a date and a value that is no date"))
            })?;
            let date = if digits.is_none() { date.midnight() } else { date };
            if best.is_none_or(|best| date.pack().cmp(&best.pack()) == wanted) {
                best = Some(date);
            }
        }
        let mut shown = String::new();
        match (best, digits) {
            (None, _) => return Ok(Value::Null),
            (Some(date), None) => write_date(&mut shown, date),
            (Some(date), Some(digits)) => write_datetime(&mut shown, date, digits),
        }
        Ok(Value::Text(shown))
    }))
}

/// Digits of a second that an argument brings.
fn digits(arg: &Arg) -> u8 {
    match arg.ty.wire {
        WireType::Null | WireType::Date => 0,
        _ if arg.constant_text().is_some() => {
            arg.constant_text().map_or(0, |text| parse::datetime(text).fraction)
        }
        _ => crate::types::result_type::decimals(&arg.ty).min(6),
    }
}

/// What the arguments are compared as: what is a text at the end is one.
fn comparison(args: &[&Arg], ctx: &EvalContext, name: &str, of_text: bool) -> Result<Kind> {
    let real: Vec<&Arg> = args.iter().copied().filter(|arg| !arg.is_null()).collect();
    if of_text && !real.is_empty() {
        // Collations that contradict each other are no error here.
        return Ok(Kind::under(mix(&real, ctx, &name.to_ascii_lowercase())?.collation));
    }
    compare::kind(args, ctx, &name.to_ascii_lowercase())
}
