//! `STD`, `VARIANCE` and similar aggregates, by the running mean and sum of squared distances.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use super::{Accumulator, AggregateCall, Take, each};
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::registry::errors::out_of_range;
use crate::value::Arg;

/// Count, mean, and sum of squared distances from the mean.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: i64,
    mean: f64,
    squares: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let before = self.mean;
        self.mean += (value - before) / self.count as f64;
        self.squares += (value - before) * (value - self.mean);
    }

    /// Chan, Golub, LeVeque: "Updating formulae and a pairwise algorithm for computing sample
    /// variances".
    fn merge(&mut self, other: Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let distance = other.mean - self.mean;
        self.mean += distance * b / (a + b);
        self.squares += other.squares + distance * distance * a * b / (a + b);
        self.count += other.count;
    }

    fn variance(self, sample: bool) -> Option<f64> {
        let count = self.count - i64::from(sample);
        (count > 0).then(|| self.squares / count as f64)
    }
}

#[derive(Clone, Debug)]
struct Spread {
    sample: bool,
    root: bool,
    /// How MySQL prints the call in errors.
    text: String,
    slot: Slot,
    ctx: Arc<EvalContext>,
    groups: Vec<Moments>,
}

/// Binds one of them.
pub(super) fn resolve(name: &str, arg: &Arg, ctx: &Arc<EvalContext>) -> AggregateCall {
    let sample = name.ends_with("_SAMP");
    let root = name.starts_with("STD");
    let text = format!("{}({})", name.to_ascii_lowercase(), arg.text);
    let (slot, ctx) = (Slot::of(arg), Arc::clone(ctx));
    let make = move || -> Box<dyn Accumulator> {
        let (slot, ctx, text) = (slot.clone(), Arc::clone(&ctx), text.clone());
        Box::new(Spread { sample, root, text, slot, ctx, groups: Vec::new() })
    };
    let states = vec![DataType::Int64, DataType::Float64, DataType::Float64];
    let ty = ColumnType::double().nullable();
    AggregateCall::new(name, std::slice::from_ref(arg), ty, states, Box::new(make))
}

impl Accumulator for Spread {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups.resize(total.max(self.groups.len()), Moments::default());
        let array = args.first().ok_or_else(|| Error::internal("STD has an argument"))?;
        let input = Input::new(array, &self.slot, &self.ctx)?;
        let states = &mut self.groups;
        each(groups, filter, |row, group| {
            if let Some(value) = input.real(row) {
                states[group].add(value);
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups.resize(total.max(self.groups.len()), Moments::default());
        let [counts, means, squares] = states else {
            return Err(Error::internal("a partial STD has three parts"));
        };
        let (Some(counts), Some(means), Some(squares)) = (
            counts.as_primitive_opt::<Int64Type>(),
            means.as_primitive_opt::<Float64Type>(),
            squares.as_primitive_opt::<Float64Type>(),
        ) else {
            return Err(Error::internal("a partial STD has numbers"));
        };
        for (row, group) in groups.iter().enumerate() {
            if counts.is_valid(row) {
                self.groups[*group].merge(Moments {
                    count: counts.value(row),
                    mean: means.value(row),
                    squares: squares.value(row),
                });
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let (sample, root) = (self.sample, self.root);
        let of_group = |moments: Moments| match moments.variance(sample) {
            Some(variance) if !variance.is_finite() => Err(out_of_range("DOUBLE", &self.text)),
            Some(variance) if root => Ok(Some(variance.sqrt())),
            variance => Ok(variance),
        };
        let result = take.from(&mut self.groups).into_iter().map(of_group);
        Ok(Arc::new(result.collect::<Result<Float64Array>>()?))
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let groups = take.from(&mut self.groups);
        let counts: Int64Array = groups.iter().map(|moments| Some(moments.count)).collect();
        let means: Float64Array = groups.iter().map(|moments| Some(moments.mean)).collect();
        let squares: Float64Array = groups.iter().map(|moments| Some(moments.squares)).collect();
        Ok(vec![Arc::new(counts), Arc::new(means), Arc::new(squares)])
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Moments>()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_with_different_means_are_united() {
        let ctx = Arc::new(EvalContext::default());
        let call = resolve("VAR_POP", &Arg::column(ColumnType::double(), "c"), &ctx);
        let (mut one, mut other) = (call.accumulator(), call.accumulator());
        let numbers =
            |values: [f64; 2]| -> ArrayRef { Arc::new(Float64Array::from_iter_values(values)) };
        one.update(&[numbers([1.0, 2.0])], &[0, 0], None, 1).unwrap();
        other.update(&[numbers([10.0, 20.0])], &[0, 0], None, 1).unwrap();
        one.merge(&other.state(Take::All).unwrap(), &[0], 1).unwrap();
        let found = one.evaluate(Take::All).unwrap();
        assert!((found.as_primitive::<Float64Type>().value(0) - 58.1875).abs() < 1e-12);
    }
}
