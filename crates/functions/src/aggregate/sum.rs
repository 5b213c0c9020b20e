//! `SUM` and `AVG`, exact for integers and decimals.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, i256};
use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use super::{Accumulator, AggregateCall, Take, each};
use crate::context::EvalContext;
use crate::decimal::{Decimal, quotient_scale};
use crate::input::{Input, Slot};
use crate::kernels::fused_arithmetic::{Formula, Narrow};
use crate::output::{Output, storage};
use crate::registry::errors::out_of_range;
use crate::types::result_type;
use crate::types::result_type::{NOT_FIXED, Numeric};
use crate::value::{Arg, Value};

/// Digits that a sum has more than its argument.
const SUM_DIGITS: u32 = 22;

/// Binds `SUM`; `SUM_MERGE` keeps the type of the partial sums. What is given to the accumulators
/// is the argument, or the columns that the formula of it names.
pub(super) fn sum(
    name: &str,
    arg: &Arg,
    formula: Option<Formula>,
    ctx: &Arc<EvalContext>,
) -> AggregateCall {
    let merging = name == "SUM_MERGE";
    let kind = result_type::numeric(arg);
    let (ty, scale) =
        if merging { (arg.ty.nullable(), arg.scale) } else { (sum_type(arg, kind), arg.scale) };
    let args = std::slice::from_ref(arg);
    if kind == Numeric::Real {
        let slot = Slot::of(arg);
        let ctx = Arc::clone(ctx);
        let text = format!("sum({})", arg.text);
        let make = move || -> Box<dyn Accumulator> {
            Box::new(RealSum::new(slot.clone(), Arc::clone(&ctx), None, text.clone()))
        };
        return AggregateCall::new(
            name,
            args,
            ty,
            vec![DataType::Float64, DataType::Int64],
            Box::new(make),
        );
    }
    let scale = if ty.is_decimal() { scale.max(ty.decimals) } else { ty.decimals };
    let plan = Plan {
        formula: formula.map(Arc::new),
        slot: Slot::of(arg),
        ty,
        scale,
        average: None,
        merging: false,
    };
    exact(name, args, plan, ctx).with_scale(scale)
}

/// Binds `AVG`, as [`sum`] does, and `AVG_MERGE` of partial sums and counts.
pub(super) fn average(
    name: &str,
    args: &[Arg],
    formula: Option<Formula>,
    ctx: &Arc<EvalContext>,
) -> AggregateCall {
    let arg = &args[0];
    let merging = name == "AVG_MERGE";
    let kind = result_type::numeric(arg);
    let increment = ctx.div_precision_increment;
    if kind == Numeric::Real {
        let scale = result_type::decimals(&arg.ty);
        let scale = if scale >= NOT_FIXED { NOT_FIXED } else { scale.saturating_add(increment) };
        let scale = scale.min(NOT_FIXED);
        let ty = result_type::double_type(result_type::float_length(scale), scale);
        let slot = Slot::of(arg);
        let ctx = Arc::clone(ctx);
        let text = format!("avg({})", arg.text);
        let make = move || -> Box<dyn Accumulator> {
            let average = Some(if merging { Counts::Given } else { Counts::Rows });
            Box::new(RealSum::new(slot.clone(), Arc::clone(&ctx), average, text.clone()))
        };
        return AggregateCall::new(
            name,
            args,
            ty,
            vec![DataType::Float64, DataType::Int64],
            Box::new(make),
        );
    }
    let added = if merging { SUM_DIGITS } else { 0 };
    let precision = u32::from(result_type::precision(arg)).saturating_sub(added).max(1);
    let increment32 = u32::from(increment);
    let ty = result_type::decimal_type(
        precision + increment32,
        u32::from(result_type::decimals(&arg.ty)) + increment32,
        false,
    );
    let scale = quotient_scale(arg.scale, 0, increment).max(ty.decimals);
    let formula = formula.filter(|_| !merging).map(Arc::new);
    let plan = Plan { formula, slot: Slot::of(arg), ty, scale, average: Some(arg.scale), merging };
    exact(name, args, plan, ctx).with_scale(scale)
}

fn sum_type(arg: &Arg, kind: Numeric) -> ColumnType {
    if kind == Numeric::Real {
        let scale = if arg.is_null() { 0 } else { result_type::decimals(&arg.ty).min(NOT_FIXED) };
        return result_type::double_type(result_type::float_length(scale), scale);
    }
    let precision = u32::from(result_type::precision(arg)) + SUM_DIGITS;
    result_type::decimal_type(precision, u32::from(result_type::decimals(&arg.ty)), false)
}

#[derive(Clone, Debug)]
struct Plan {
    slot: Slot,
    /// How the argument is computed from columns, where it is exact.
    formula: Option<Arc<Formula>>,
    ty: ColumnType,
    scale: u8,
    /// Scale of the sums if their average is requested.
    average: Option<u8>,
    merging: bool,
}

fn exact(name: &str, args: &[Arg], plan: Plan, ctx: &Arc<EvalContext>) -> AggregateCall {
    let sum_scale = plan.average.unwrap_or(plan.scale);
    let scale_i8 = i8::try_from(sum_scale).unwrap_or(76);
    let states = vec![DataType::Decimal256(76, scale_i8), DataType::Int64];
    let ctx = Arc::clone(ctx);
    let text = format!("{}({})", name.to_ascii_lowercase(), args[0].text);
    let ty = plan.ty;
    let partial = match plan.formula.as_deref().filter(|_| !plan.merging) {
        Some(Formula::Column(at)) => Some(format!("sum of column {at}, scale {sum_scale}")),
        Some(Formula::Units(at, ty, _)) => {
            Some(format!("sum of units {at} of {ty}, scale {sum_scale}"))
        }
        _ => None,
    };
    let make = move || -> Box<dyn Accumulator> {
        Box::new(ExactSum {
            plan: plan.clone(),
            sum_scale,
            small: Vec::new(),
            large: None,
            counts: Vec::new(),
            ctx: Arc::clone(&ctx),
            text: text.clone(),
        })
    };
    AggregateCall::new(name, args, ty, states, Box::new(make)).with_partial(partial)
}

/// Sums in 128 bits, in 256 once one of them overflowed.
#[derive(Clone, Debug)]
struct ExactSum {
    plan: Plan,
    sum_scale: u8,
    small: Vec<i128>,
    large: Option<Vec<i256>>,
    counts: Vec<i64>,
    ctx: Arc<EvalContext>,
    text: String,
}

impl ExactSum {
    fn resize(&mut self, total: usize) {
        let total = total.max(self.counts.len());
        self.counts.resize(total, 0);
        match &mut self.large {
            Some(large) => large.resize(total, i256::ZERO),
            None => self.small.resize(total, 0),
        }
    }

    fn add_small(&mut self, group: usize, value: i128, count: i64) -> Result<()> {
        if self.large.is_none()
            && let Some(sum) = self.small[group].checked_add(value)
        {
            self.small[group] = sum;
            self.counts[group] += count;
            return Ok(());
        }
        self.add_large(group, i256::from_i128(value), count)
    }

    fn add_large(&mut self, group: usize, value: i256, count: i64) -> Result<()> {
        let small = &mut self.small;
        let large = self.large.get_or_insert_with(|| {
            std::mem::take(small).into_iter().map(i256::from_i128).collect()
        });
        large[group] =
            large[group].checked_add(value).ok_or_else(|| out_of_range("DECIMAL", &self.text))?;
        self.counts[group] += count;
        Ok(())
    }

    fn add(&mut self, group: usize, value: Decimal, count: i64) -> Result<()> {
        let value =
            value.rescale(self.sum_scale).ok_or_else(|| out_of_range("DECIMAL", &self.text))?;
        match value.units.to_i128() {
            Some(small) => self.add_small(group, small, count),
            None => self.add_large(group, value.units, count),
        }
    }

    /// Adds numbers of 64 bits. While there are few groups, a batch is summed in 64 bits as well.
    fn add_narrow(
        &mut self,
        narrow: &Narrow<'_>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
    ) -> Result<()> {
        /// The sums of more groups would not stay close to the processor.
        const FEW: usize = 512;
        let filter = filter.map(|filter| NullBuffer::new(truths(filter)));
        let kept = NullBuffer::union(filter.as_ref(), narrow.nulls.as_ref());
        let rows = || narrow.values.iter().zip(groups);
        if self.counts.len() > FEW || !narrow.bounds.fit(groups.len()) {
            for (row, (value, group)) in rows().enumerate() {
                if kept.as_ref().is_none_or(|kept| kept.is_valid(row)) {
                    self.add_small(*group, i128::from(*value), 1)?;
                }
            }
            return Ok(());
        }
        let mut sums = vec![(0_i64, 0_i64); self.counts.len()];
        match (sums.as_mut_slice(), &kept) {
            ([only], None) => {
                *only = (narrow.values.iter().sum(), groups.len().cast_signed() as i64)
            }
            (sums, None) => sums_of(&narrow.values, groups, sums),
            (sums, Some(kept)) => {
                for ((value, group), kept) in rows().zip(kept) {
                    let (sum, count) = &mut sums[*group];
                    *sum += if kept { *value } else { 0 };
                    *count += i64::from(kept);
                }
            }
        }
        for (group, (sum, count)) in sums.into_iter().enumerate() {
            self.add_small(group, i128::from(sum), count)?;
        }
        Ok(())
    }

    /// Decimals of more than 64 bits.
    fn add_wide(
        &mut self,
        array: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
    ) -> Result<bool> {
        let (DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)) = array.data_type()
        else {
            return Ok(false);
        };
        if u8::try_from(*scale).ok() != Some(self.sum_scale) || array.len() != groups.len() {
            return Ok(false);
        }
        if let Some(array) = array.as_primitive_opt::<Decimal256Type>() {
            each(groups, filter, |row, group| match array.value(row).to_i128() {
                _ if array.is_null(row) => Ok(()),
                Some(small) => self.add_small(group, small, 1),
                None => self.add_large(group, array.value(row), 1),
            })?;
            return Ok(true);
        }
        let Some(array) = array.as_primitive_opt::<Decimal128Type>() else { return Ok(false) };
        each(groups, filter, |row, group| match array.is_valid(row) {
            true => self.add_small(group, array.value(row), 1),
            false => Ok(()),
        })?;
        Ok(true)
    }

    /// Sums and counts of groups, which are then forgotten.
    fn take(&mut self, take: Take) -> Vec<(i256, i64)> {
        let counts = take.from(&mut self.counts);
        let sums = match &mut self.large {
            Some(large) => take.from(large),
            None => take.from(&mut self.small).into_iter().map(i256::from_i128).collect(),
        };
        sums.into_iter().zip(counts).collect()
    }
}

impl Accumulator for ExactSum {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        if self.plan.merging {
            return self.merge_columns(args, groups);
        }
        let formula = self.plan.formula.clone();
        if let Some(narrow) = formula.as_ref().and_then(|it| it.narrow(args))
            && narrow.scale == self.sum_scale
            && narrow.values.len() == groups.len()
        {
            return self.add_narrow(&narrow, groups, filter);
        }
        let array = match formula {
            Some(formula) => formula.careful(args, groups.len())?,
            None => Arc::clone(args.first().ok_or_else(|| Error::internal("SUM has an argument"))?),
        };
        if self.add_wide(&array, groups, filter)? {
            return Ok(());
        }
        let (slot, ctx) = (self.plan.slot.clone(), Arc::clone(&self.ctx));
        let input = Input::new(&array, &slot, &ctx)?;
        each(groups, filter, |row, group| match input.decimal(row) {
            Some(value) => self.add(group, value, 1),
            None => Ok(()),
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.resize(total);
        let (Some(sums), Some(counts)) = (
            states.first().and_then(|array| array.as_primitive_opt::<Decimal256Type>()),
            states.get(1).and_then(|array| array.as_primitive_opt::<Int64Type>()),
        ) else {
            return Err(Error::internal("a partial SUM is a decimal and a count"));
        };
        for (row, group) in groups.iter().enumerate() {
            let value = Decimal { units: sums.value(row), scale: self.sum_scale };
            self.add(*group, value, counts.value(row))?;
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let rows = self.take(take);
        let mut output = Output::new(
            &storage(&self.plan.ty, self.plan.scale),
            rows.len(),
            &Account::unlimited(),
        )?;
        for (units, count) in rows {
            let sum = Decimal { units, scale: self.sum_scale };
            if !sum.fits_column() {
                // MySQL cuts it to 65 digits where groups go through a table, and nowhere else.
                return Err(Error::unsupported("sums of more than 65 digits"));
            }
            let value = match (count, self.plan.average) {
                (0, _) => Value::Null,
                (_, None) => Value::Decimal(sum),
                (count, Some(_)) => {
                    let count = Decimal::from_i128(i128::from(count));
                    let value = sum.divide(count, self.plan.scale);
                    Value::Decimal(value.ok_or_else(|| out_of_range("DECIMAL", &self.text))?)
                }
            };
            output.push(value)?;
        }
        Ok(output.finish())
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let rows = self.take(take);
        let scale = i8::try_from(self.sum_scale).unwrap_or(76);
        let sums: arrow::array::Decimal256Array = rows.iter().map(|(sum, _)| Some(*sum)).collect();
        let sums = sums.with_data_type(DataType::Decimal256(76, scale));
        let counts: Int64Array = rows.iter().map(|(_, count)| Some(*count)).collect();
        Ok(vec![Arc::new(sums), Arc::new(counts)])
    }

    fn size(&self) -> usize {
        self.small.capacity() * 16
            + self.counts.capacity() * 8
            + self.large.as_ref().map_or(0, |large| large.capacity() * 32)
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}

impl ExactSum {
    /// Partial sums and counts that are ordinary columns.
    fn merge_columns(&mut self, args: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [sums, counts] = args else {
            return Err(Error::internal("the merge of averages has a sum and a count"));
        };
        let (slot, ctx) = (self.plan.slot.clone(), Arc::clone(&self.ctx));
        let sums = Input::new(sums, &slot, &ctx)?;
        let count_slot = Slot::of_type(ColumnType::bigint());
        let counts = Input::new(counts, &count_slot, &ctx)?;
        for (row, group) in groups.iter().enumerate() {
            if let Some(sum) = sums.decimal(row) {
                self.add(*group, sum, counts.int64(row).unwrap_or(0))?;
            }
        }
        Ok(())
    }
}

/// Sums and counts of values by group. Rows that follow each other add to different places, so
/// that one need not wait for the other where they are of the same group.
fn sums_of(values: &[i64], groups: &[usize], sums: &mut [(i64, i64)]) {
    const PLACES: usize = 4;
    let mut places = vec![[(0, 0); PLACES]; sums.len()];
    let (rows, last) = values.as_chunks::<PLACES>();
    let (of_rows, of_last) = groups.as_chunks::<PLACES>();
    for (values, groups) in rows.iter().zip(of_rows) {
        for place in 0..PLACES {
            let (sum, count) = &mut places[groups[place]][place];
            *sum += values[place];
            *count += 1;
        }
    }
    for (value, group) in last.iter().zip(of_last) {
        let (sum, count) = &mut sums[*group];
        *sum += value;
        *count += 1;
    }
    for ((sum, count), places) in sums.iter_mut().zip(places) {
        for (more, rows) in places {
            *sum += more;
            *count += rows;
        }
    }
}

/// The bits of the rows for which a filter is true.
fn truths(filter: &BooleanArray) -> BooleanBuffer {
    match filter.nulls() {
        Some(nulls) => filter.values() & nulls.inner(),
        None => filter.values().clone(),
    }
}

/// Where the counts of an average come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Rows,
    Given,
}

#[derive(Clone, Debug)]
struct RealSum {
    slot: Slot,
    ctx: Arc<EvalContext>,
    average: Option<Counts>,
    sums: Vec<(f64, i64)>,
    text: String,
}

impl RealSum {
    fn new(slot: Slot, ctx: Arc<EvalContext>, average: Option<Counts>, text: String) -> Self {
        Self { slot, ctx, average, sums: Vec::new(), text }
    }

    fn resize(&mut self, total: usize) {
        self.sums.resize(total.max(self.sums.len()), (0.0, 0));
    }
}

impl Accumulator for RealSum {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let array = args.first().ok_or_else(|| Error::internal("SUM has an argument"))?;
        let (slot, ctx) = (self.slot.clone(), Arc::clone(&self.ctx));
        let input = Input::new(array, &slot, &ctx)?;
        let count_slot = Slot::of_type(ColumnType::bigint());
        let counts = match (self.average, args.get(1)) {
            (Some(Counts::Given), Some(counts)) => Some(Input::new(counts, &count_slot, &ctx)?),
            _ => None,
        };
        each(groups, filter, |row, group| {
            if let Some(value) = input.real(row) {
                let count = counts.map_or(1, |counts| counts.int64(row).unwrap_or(0));
                self.sums[group].0 += value;
                self.sums[group].1 += count;
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.resize(total);
        let (Some(sums), Some(counts)) = (
            states.first().and_then(|array| array.as_primitive_opt::<Float64Type>()),
            states.get(1).and_then(|array| array.as_primitive_opt::<Int64Type>()),
        ) else {
            return Err(Error::internal("a partial SUM is a double and a count"));
        };
        for (row, group) in groups.iter().enumerate() {
            self.sums[*group].0 += sums.value(row);
            self.sums[*group].1 += counts.value(row);
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let rows = take.from(&mut self.sums);
        let mut output = Output::new(&DataType::Float64, rows.len(), &Account::unlimited())?;
        for (sum, count) in rows {
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            let value = match (count, self.average) {
                (0, _) => Value::Null,
                (count, Some(_)) => Value::Double(sum / count as f64),
                (_, None) => Value::Double(sum),
            };
            if let Value::Double(value) = value
                && !value.is_finite()
            {
                return Err(out_of_range("DOUBLE", &self.text));
            }
            output.push(value)?;
        }
        Ok(output.finish())
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let rows = take.from(&mut self.sums);
        let sums: arrow::array::Float64Array = rows.iter().map(|(sum, _)| Some(*sum)).collect();
        let counts: Int64Array = rows.iter().map(|(_, count)| Some(*count)).collect();
        Ok(vec![Arc::new(sums), Arc::new(counts)])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * 16
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}
