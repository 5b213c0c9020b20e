//! Differences of dates and times: `DATEDIFF`, `TIMEDIFF`, `TIMESTAMPDIFF`, `PERIOD_ADD`,
//! `PERIOD_DIFF`.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::WireType;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS, write_time};

use super::make::time_decimals;
use super::read::{self, Lenience, Moment};
use super::week;
use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::types::common_type::temporal_type;
use crate::types::result_type::{bigint_type, null_if_any};
use crate::value::{Arg, Value};

/// Binds `DATEDIFF`.
pub(crate) fn dates(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, _] = args else { return Err(parameter_count(name)) };
    let ty = bigint_type(9, false).nullable();
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let a = read::datetime(&batch.inputs[0], row, Lenience::COUNTED)?;
        let b = read::datetime(&batch.inputs[1], row, Lenience::COUNTED)?;
        Ok(match (a, b) {
            (Some(a), Some(b)) => Value::Int(week::day_number(a) - week::day_number(b)),
            _ => Value::Null,
        })
    }))
}

/// Microseconds since year 0.
fn total(date: DateTime) -> i64 {
    week::day_number(date) * 86_400_000_000 + date.time_micros()
}

/// A time within the range of TIME; values beyond are clamped with a warning.
pub(crate) fn clamp_time(micros: i64, ctx: &EvalContext) -> i64 {
    if micros.abs() <= TIME_MAX_MICROS {
        return micros;
    }
    let mut shown = String::new();
    write_time(&mut shown, micros, 0);
    ctx.warn(1292, format!("Truncated incorrect time value: '{shown}'"));
    TIME_MAX_MICROS * micros.signum()
}

/// Binds `TIMEDIFF`.
pub(crate) fn times(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [a, b] = args else { return Err(parameter_count(name)) };
    let decimals = time_decimals(a).max(time_decimals(b));
    let ty = temporal_type(WireType::Time, decimals);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let a = read::moment(&batch.inputs[0], row, Lenience::ANY)?;
        let b = read::moment(&batch.inputs[1], row, Lenience::ANY)?;
        let difference = match (a, b) {
            (Some(Moment::Date(a)), Some(Moment::Date(b))) => total(a) - total(b),
            (Some(Moment::Time(a)), Some(Moment::Time(b))) => a - b,
            _ => return Ok(Value::Null),
        };
        Ok(Value::Time(clamp_time(difference, batch.ctx)))
    }))
}

/// Binds `TIMESTAMPDIFF`: the unit's name as a constant, from, to.
pub(crate) fn timestamps(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [unit, from, to] = args else { return Err(parameter_count(name)) };
    let unit = unit.constant_text().unwrap_or_default().to_ascii_uppercase();
    let unit = unit.strip_prefix("SQL_TSI_").unwrap_or(&unit).to_owned();
    let single: Option<i64> = match unit.as_str() {
        "YEAR" | "QUARTER" | "MONTH" => None,
        "WEEK" => Some(7 * 86_400),
        "DAY" => Some(86_400),
        "HOUR" => Some(3600),
        "MINUTE" => Some(60),
        "SECOND" => Some(1),
        "MICROSECOND" => Some(0),
        _ => return Err(Error::unsupported(format_args!("TIMESTAMPDIFF({unit}, ...)"))),
    };
    let text = format!("timestampdiff({unit},{},{})", from.text, to.text);
    let ty = bigint_type(21, false).nullable();
    let call = Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let from = read::datetime(&batch.inputs[1], row, Lenience::STRICT)?;
        let to = read::datetime(&batch.inputs[2], row, Lenience::STRICT)?;
        let (Some(from), Some(to)) = (from, to) else { return Ok(Value::Null) };
        let micros = total(to) - total(from);
        Ok(Value::Int(match single {
            Some(0) => micros,
            Some(seconds) => micros / 1_000_000 / seconds,
            None => {
                let months =
                    if micros < 0 { -whole_months(to, from) } else { whole_months(from, to) };
                match unit.as_str() {
                    "YEAR" => months / 12,
                    "QUARTER" => months / 3,
                    _ => months,
                }
            }
        }))
    });
    Ok(call.with_text(text))
}

/// Months that have passed in full; `to` is not before `from`.
fn whole_months(from: DateTime, to: DateTime) -> i64 {
    let months = (i64::from(to.year) - i64::from(from.year)) * 12 + i64::from(to.month)
        - i64::from(from.month);
    let incomplete = (to.day, to.time_micros()) < (from.day, from.time_micros());
    months - i64::from(incomplete)
}

/// `YYYYMM` of a number of months, as MySQL makes it of 64 bits without a sign.
fn period_of(months: u64) -> u64 {
    if months == 0 {
        return 0;
    }
    let year = match months / 12 {
        year @ ..70 => year + 2000,
        year @ 70..100 => year + 1900,
        year => year,
    };
    year.wrapping_mul(100).wrapping_add(months % 12 + 1)
}

/// `YYMM` or `YYYYMM` as a number of months.
fn period(value: i64) -> i64 {
    if value == 0 {
        return 0;
    }
    let mut year = value / 100;
    if year < 70 {
        year += 2000;
    } else if year < 100 {
        year += 1900;
    }
    year * 12 + value % 100 - 1
}

fn valid_period(value: i64) -> bool {
    value > 0 && (1..=12).contains(&(value % 100))
}

/// Binds `PERIOD_ADD` and `PERIOD_DIFF`.
pub(crate) fn periods(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, _] = args else { return Err(parameter_count(name)) };
    let add = name == "PERIOD_ADD";
    let shown = name.to_ascii_lowercase();
    let ty = null_if_any(bigint_type(21, false), args);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (Some(a), Some(b)) = (batch.inputs[0].int64(row), batch.inputs[1].int64(row)) else {
            return Ok(Value::Null);
        };
        if !valid_period(a) || (!add && !valid_period(b)) {
            return Err(crate::scalar::string::wrong_arguments(&shown));
        }
        if !add {
            return Ok(Value::Int(period(a) - period(b)));
        }
        let months = period(a).wrapping_add(b);
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "two's complement")]
        let added = period_of(months as u64) as i64;
        Ok(Value::Int(added))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 9.7 says.
    #[test]
    fn periods_of_few_months() {
        assert_eq!(period_of(24_002), 200_003);
        assert_eq!(period_of(1000), 198_305);
        assert_eq!(period_of(0), 0);
        assert_eq!(period_of(1000_u64.wrapping_neg()), 6_148_914_691_236_508_873);
    }
}
