//! Short-circuit evaluation of conditionals: an argument that can fail or warn is evaluated only
//! for the rows that reach it, so that other rows leave no errors and warnings.
//!
//! If no argument can fail or warn ([`crate::registry::fallibility`]), evaluating whole arrays is
//! cheaper, and the kernels of `conditional` and `logic` do it.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::output::Output;
use crate::types::convert::value_as;
use crate::value::{Arg, Value};

/// Gives the values of an argument, by its place, for some rows, by their numbers in ascending
/// order: one value for each, or one for all of them.
pub type Ask<'a> = dyn FnMut(usize, &[usize]) -> Result<ArrayRef> + 'a;

/// In which order a conditional looks at its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flow {
    /// A condition and two results.
    If,
    /// Conditions and results alternately, then the result of ELSE if there is one.
    Case,
    /// The first that is not NULL.
    Coalesce,
    /// The first that is false, or none.
    And,
    /// The first that is true, or none.
    Or,
    /// The first, and all others where it is not NULL: MySQL ends such a call at a first argument that
    /// is NULL.
    First,
}

impl Flow {
    /// The order, if the arguments of a call require that it is kept: one after the first can fail.
    pub(crate) fn of(self, args: &[Arg]) -> Option<Self> {
        let is_required = match self {
            // (Sums, products and remainders look at both sides.) Constants are computed once in any
            // case.
            Self::First => {
                args.first().is_some_and(|first| first.ty.is_nullable())
                    && args.iter().skip(1).any(|arg| arg.is_fallible && arg.constant.is_none())
            }
            _ => args.iter().skip(1).any(|arg| arg.is_fallible),
        };
        is_required.then_some(self)
    }
}

/// The properties of a call's arguments and result.
pub(crate) struct Frame<'c> {
    pub(crate) slots: &'c [Slot],
    pub(crate) ty: ColumnType,
    pub(crate) storage: &'c DataType,
    pub(crate) ctx: &'c EvalContext,
}

impl Frame<'_> {
    /// Runs a conditional on `rows` rows.
    pub(crate) fn run(&self, flow: Flow, rows: usize, ask: &mut Ask<'_>) -> Result<ArrayRef> {
        let left = (0..rows).collect();
        let mut run = Run { frame: self, ask, left, values: vec![Value::Null; rows] };
        match flow {
            Flow::If => run.branches(2)?,
            Flow::Case => run.branches(self.slots.len() / 2 * 2)?,
            Flow::Coalesce => run.first_value()?,
            Flow::And => run.first_truth(false)?,
            Flow::Or => run.first_truth(true)?,
            Flow::First => return Err(Error::internal("a call that is no conditional")),
        }
        let mut output = Output::new(self.storage, rows, &self.ctx.counting(self.ty.length))?;
        for value in run.values {
            output.push(value)?;
        }
        Ok(output.finish())
    }
}

/// A conditional on its way through its arguments.
struct Run<'r, 'c, 'a> {
    frame: &'r Frame<'c>,
    ask: &'r mut Ask<'a>,
    /// The rows that have no value yet.
    left: Vec<usize>,
    values: Vec<Value>,
}

impl<'c> Run<'_, 'c, '_> {
    /// Conditions and results alternately up to a place, where the result of all others may be.
    fn branches(&mut self, end: usize) -> Result<()> {
        for condition in (0..end).step_by(2) {
            let chosen = self.split(condition)?;
            self.take(condition + 1, &chosen)?;
        }
        if end < self.frame.slots.len() {
            let others = std::mem::take(&mut self.left);
            self.take(end, &others)?;
        }
        Ok(())
    }

    /// The rows that meet a condition, which are left no longer.
    fn split(&mut self, condition: usize) -> Result<Vec<usize>> {
        let rows = std::mem::take(&mut self.left);
        if rows.is_empty() {
            return Ok(rows);
        }
        let array = self.ask(condition, &rows)?;
        let input = self.input(condition, &array)?;
        let mut chosen = Vec::new();
        for (at, row) in rows.into_iter().enumerate() {
            if input.truth(at) == Some(true) { chosen.push(row) } else { self.left.push(row) }
        }
        Ok(chosen)
    }

    /// Some rows have the value of an argument.
    fn take(&mut self, result: usize, rows: &[usize]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let array = self.ask(result, rows)?;
        let input = self.input(result, &array)?;
        for (at, row) in rows.iter().enumerate() {
            self.values[*row] = value_as(&input, at, &self.frame.ty)?;
        }
        Ok(())
    }

    fn first_value(&mut self) -> Result<()> {
        for arg in 0..self.frame.slots.len() {
            let rows = std::mem::take(&mut self.left);
            if rows.is_empty() {
                break;
            }
            let array = self.ask(arg, &rows)?;
            let input = self.input(arg, &array)?;
            for (at, row) in rows.into_iter().enumerate() {
                if input.is_null(at) {
                    self.left.push(row);
                } else {
                    self.values[row] = value_as(&input, at, &self.frame.ty)?;
                }
            }
        }
        Ok(())
    }

    /// `decisive` where an argument is that, else NULL where one is NULL.
    fn first_truth(&mut self, decisive: bool) -> Result<()> {
        self.values.fill(Value::Int(i64::from(!decisive)));
        for arg in 0..self.frame.slots.len() {
            let rows = std::mem::take(&mut self.left);
            if rows.is_empty() {
                break;
            }
            let array = self.ask(arg, &rows)?;
            let input = self.input(arg, &array)?;
            for (at, row) in rows.into_iter().enumerate() {
                let truth = input.truth(at);
                if truth == Some(decisive) {
                    self.values[row] = Value::Int(i64::from(decisive));
                    continue;
                }
                if truth.is_none() {
                    self.values[row] = Value::Null;
                }
                self.left.push(row);
            }
        }
        Ok(())
    }

    fn ask(&mut self, arg: usize, rows: &[usize]) -> Result<ArrayRef> {
        let array = (self.ask)(arg, rows)?;
        if array.len() == rows.len() || array.len() == 1 {
            return Ok(array);
        }
        Err(Error::internal(format!("{} values for {} rows", array.len(), rows.len())))
    }

    fn input<'i>(&self, arg: usize, array: &'i ArrayRef) -> Result<Input<'i>>
    where
        'c: 'i,
    {
        Input::new(array, &self.frame.slots[arg], self.frame.ctx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array, UInt64Array};
    use arrow::compute::take;
    use arrow::datatypes::Int64Type;

    use super::*;
    use crate::registry::resolve::resolve;
    use crate::{Call, literal};

    fn column(name: &str) -> Arg {
        Arg::column(ColumnType::bigint(), name)
    }

    fn some(array: &ArrayRef, rows: &[usize]) -> ArrayRef {
        let rows = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
        take(array.as_ref(), &rows, None).unwrap()
    }

    #[test]
    fn a_division_is_spared_the_rows_that_do_not_reach_it() {
        let ctx = Arc::new(EvalContext::default());
        let divide = resolve("DIV", &[column("a"), column("b")], &ctx).unwrap();
        let zero = literal::number("0").unwrap();
        let is_zero = resolve("=", &[column("b"), zero.clone()], &ctx).unwrap();
        assert!(divide.is_fallible() && !is_zero.is_fallible());
        let args = [Arg::of(&is_zero, None), zero, Arg::of(&divide, None)];
        let call = resolve("IF", &args, &ctx).unwrap();
        assert!(call.is_lazy() && call.is_fallible());

        let a: ArrayRef = Arc::new(Int64Array::from(vec![6, 7, 8]));
        let b: ArrayRef = Arc::new(Int64Array::from(vec![2, 0, 4]));
        let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0]));
        let mut asked = Vec::new();
        let result = call.evaluate_lazily(3, &mut |arg, rows| {
            asked.push((arg, rows.to_vec()));
            let (a, b) = (some(&a, rows), some(&b, rows));
            match arg {
                0 => is_zero.evaluate(&[b, Arc::clone(&zeros)], rows.len()),
                1 => Ok(Arc::clone(&zeros)),
                _ => divide.evaluate(&[a, b], rows.len()),
            }
        });
        let result = result.unwrap();
        assert_eq!(result.as_primitive::<Int64Type>().values(), &[3, 0, 2]);
        assert_eq!(asked, [(0, vec![0, 1, 2]), (1, vec![1]), (2, vec![0, 2])]);
        assert!(ctx.take_warnings().is_empty());
    }

    #[test]
    fn and_ends_with_the_first_that_is_false() {
        let ctx = Arc::new(EvalContext::default());
        let divide = resolve("/", &[column("a"), column("b")], &ctx).unwrap();
        let call: Call = resolve("AND", &[column("a"), Arg::of(&divide, None)], &ctx).unwrap();
        let a: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), Some(1), None]));
        let quotient: ArrayRef = Arc::new(arrow::array::Decimal128Array::from(vec![5, 7, 0]));
        let result = call.evaluate_lazily(3, &mut |arg, rows| {
            Ok(some(if arg == 0 { &a } else { &quotient }, rows))
        });
        let result = result.unwrap();
        let expected = Int64Array::from(vec![Some(0), Some(1), Some(0)]);
        assert_eq!(result.as_primitive::<Int64Type>(), &expected);
    }

    #[test]
    fn a_first_argument_that_is_null_ends_a_comparison() {
        let ctx = Arc::new(EvalContext::default());
        let product = resolve("*", &[column("b"), column("b")], &ctx).unwrap();
        let args = [column("a"), Arg::of(&product, None)];
        let call = resolve("=", &args, &ctx).unwrap();
        assert!(call.is_lazy());
        // MySQL looks at both sides of a sum.
        assert!(!resolve("+", &args, &ctx).unwrap().is_lazy());
        let never_null = Arg::column(ColumnType::bigint().not_null(), "a");
        assert!(!resolve("=", &[never_null, args[1].clone()], &ctx).unwrap().is_lazy());

        let a: ArrayRef = Arc::new(Int64Array::from(vec![Some(4), None, Some(5)]));
        let b: ArrayRef = Arc::new(Int64Array::from(vec![2, i64::MAX, 3]));
        let mut asked = Vec::new();
        let result = call.evaluate_lazily(3, &mut |arg, rows| {
            asked.push((arg, rows.to_vec()));
            let b = some(&b, rows);
            match arg {
                0 => Ok(some(&a, rows)),
                _ => product.evaluate(&[Arc::clone(&b), b], rows.len()),
            }
        });
        let result = result.unwrap();
        let expected = Int64Array::from(vec![Some(1), None, Some(0)]);
        assert_eq!(result.as_primitive::<Int64Type>(), &expected);
        assert_eq!(asked, [(0, vec![0, 1, 2]), (1, vec![0, 2])]);
    }

    #[test]
    fn arguments_that_are_quiet_are_computed_as_a_whole() {
        let ctx = Arc::new(EvalContext::default());
        let int =
            Arg::column(ColumnType::new(pelorus_types::WireType::Long, collation(), 11, 0), "a");
        let sum = resolve("+", &[int.clone(), int], &ctx).unwrap();
        let call = resolve("COALESCE", &[column("a"), Arg::of(&sum, None)], &ctx).unwrap();
        assert!(!sum.is_fallible() && !call.is_lazy());
    }

    fn collation() -> pelorus_types::Collation {
        pelorus_types::collation::BINARY
    }
}
