//! [`BoundExpr`]: an expression whose names and functions are resolved, and its evaluation over
//! arrays.
//!
//! An argument that can leave an error or a warning ([`Call::is_fallible`]) is evaluated only for
//! the rows that reach it, as in MySQL: the chosen branch of an IF, the part after a true condition
//! in AND. All other arguments are evaluated for all rows at once.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::compute::take;
use pelorus_error::{Error, Result};
use pelorus_functions::{Arg, Call, EvalContext, Value, array_of};
use pelorus_types::ColumnType;

use crate::form::Form;

/// A bound expression over values that are given by position: columns of a table, or the arguments
/// of a function.
#[derive(Clone, Debug)]
pub enum BoundExpr {
    /// The values at a position.
    Input(usize),
    /// The same value in every row.
    Constant(ArrayRef),
    /// A function or operator.
    Call(Arc<Call>, Vec<BoundExpr>),
    /// A change of form.
    Form(Arc<Form>, Arc<EvalContext>, Box<BoundExpr>),
    /// The opposite of a condition.
    Not(Box<BoundExpr>),
    /// AND or OR of two conditions, by the truth that decides it.
    Either(bool, Box<[BoundExpr; 2]>),
    /// Whether all conditions are true, each of which counts only for the rows that meet those
    /// before it.
    All(Vec<BoundExpr>),
}

/// An expression with what the resolution of functions needs to know of it.
#[derive(Clone, Debug)]
pub struct TypedValue {
    /// The expression.
    pub expr: BoundExpr,
    /// Its type, its value where it is constant, and the like.
    pub arg: Arg,
}

impl TypedValue {
    /// The column at a position.
    pub fn column(at: usize, ty: ColumnType) -> Self {
        Self { expr: BoundExpr::Input(at), arg: Arg::column(ty, "") }
    }

    /// A constant.
    ///
    /// # Errors
    /// A value that its type cannot hold.
    pub fn constant(arg: Arg) -> Result<Self> {
        let value = arg.constant.as_ref().unwrap_or(&Value::Null);
        Ok(Self { expr: BoundExpr::Constant(array_of(value, &arg.ty)?), arg })
    }

    /// The result of a call.
    pub fn of_call(call: Call, mut args: Vec<TypedValue>) -> Self {
        args.truncate(call.reads());
        let arg = Arg::of(&call, None);
        let args = args.into_iter().map(|arg| arg.expr).collect();
        Self { expr: BoundExpr::Call(Arc::new(call), args), arg }
    }
}

impl BoundExpr {
    /// The parts that it is made of.
    pub fn parts(&self) -> &[BoundExpr] {
        match self {
            Self::Input(_) | Self::Constant(_) => &[],
            Self::Call(_, parts) | Self::All(parts) => parts,
            Self::Form(_, _, inner) | Self::Not(inner) => std::slice::from_ref(inner),
            Self::Either(_, sides) => sides.as_slice(),
        }
    }

    /// Adds the positions that it reads to `inputs`, each once.
    pub fn inputs(&self, inputs: &mut Vec<usize>) {
        match self {
            Self::Input(at) if !inputs.contains(at) => inputs.push(*at),
            _ => self.parts().iter().for_each(|part| part.inputs(inputs)),
        }
    }

    /// The same expression with others in the place of its inputs.
    #[must_use]
    pub fn with_inputs(&self, inputs: &[BoundExpr]) -> Self {
        let replaced = |parts: &[Self]| parts.iter().map(|it| it.with_inputs(inputs)).collect();
        match self {
            Self::Input(at) => inputs[*at].clone(),
            Self::Constant(array) => Self::Constant(Arc::clone(array)),
            Self::Call(call, args) => Self::Call(Arc::clone(call), replaced(args)),
            Self::Form(form, context, inner) => {
                let inner = Box::new(inner.with_inputs(inputs));
                Self::Form(Arc::clone(form), Arc::clone(context), inner)
            }
            Self::Not(inner) => Self::Not(Box::new(inner.with_inputs(inputs))),
            Self::Either(decisive, sides) => {
                Self::Either(*decisive, Box::new(sides.each_ref().map(|it| it.with_inputs(inputs))))
            }
            Self::All(parts) => Self::All(replaced(parts)),
        }
    }

    /// The values for `rows` rows, whose inputs `input` gives by their positions: one value for each
    /// row, or one for all of them.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn evaluate(&self, rows: usize, input: &dyn Fn(usize) -> ArrayRef) -> Result<ArrayRef> {
        match self {
            Self::Input(at) => Ok(input(*at)),
            Self::Constant(array) => Ok(Arc::clone(array)),
            Self::Call(call, args) if call.is_lazy() => call
                .evaluate_lazily(rows, &mut |arg, chosen| args[arg].of_rows(rows, chosen, input)),
            Self::Call(call, args) => {
                let args = args.iter().map(|arg| arg.evaluate(rows, input));
                let args = args.collect::<Result<Vec<ArrayRef>>>()?;
                // A constant is computed once.
                let is_constant = args.iter().all(|arg| arg.len() == 1) && call.is_deterministic();
                call.evaluate(&args, if is_constant { 1 } else { rows })
            }
            Self::Form(form, context, inner) => form.apply(&inner.evaluate(rows, input)?, context),
            Self::Not(inner) => {
                let truth = inner.evaluate(rows, input)?;
                let opposite = arrow::compute::not(boolean(&truth)?).map_err(broken)?;
                Ok(Arc::new(opposite))
            }
            Self::Either(decisive, sides) => either_of(*decisive, sides, rows, input),
            Self::All(parts) => all_of(parts, rows, input),
        }
    }

    /// The values for some of the rows, by their numbers.
    fn of_rows(
        &self,
        rows: usize,
        chosen: &[usize],
        input: &dyn Fn(usize) -> ArrayRef,
    ) -> Result<ArrayRef> {
        if chosen.len() == rows {
            return self.evaluate(rows, input);
        }
        let mut read = Vec::new();
        self.inputs(&mut read);
        let numbers = UInt64Array::from_iter_values(chosen.iter().map(|row| *row as u64));
        let some = read.iter().map(|at| {
            let array = input(*at);
            if array.len() == 1 {
                return Ok(array);
            }
            take(array.as_ref(), &numbers, None).map_err(broken)
        });
        let some = some.collect::<Result<Vec<ArrayRef>>>()?;
        let place = |at: usize| read.iter().position(|it| *it == at).unwrap_or_default();
        self.evaluate(chosen.len(), &|at| Arc::clone(&some[place(at)]))
    }
}

fn either_of(
    decisive: bool,
    sides: &[BoundExpr; 2],
    rows: usize,
    input: &dyn Fn(usize) -> ArrayRef,
) -> Result<ArrayRef> {
    let [left, right] = sides;
    let left = left.evaluate(rows, input)?;
    let left = boolean(&left)?;
    let open: Vec<usize> = (0..rows).filter(|row| truth(left, *row) != Some(decisive)).collect();
    let mut result = vec![Some(decisive); rows];
    if !open.is_empty() {
        let right = right.of_rows(rows, &open, input)?;
        let right = boolean(&right)?;
        for (at, row) in open.into_iter().enumerate() {
            result[row] = match (truth(left, row), truth(right, at)) {
                (_, Some(it)) if it == decisive => Some(decisive),
                (Some(_), Some(_)) => Some(!decisive),
                _ => None,
            };
        }
    }
    Ok(Arc::new(BooleanArray::from(result)))
}

fn all_of(parts: &[BoundExpr], rows: usize, input: &dyn Fn(usize) -> ArrayRef) -> Result<ArrayRef> {
    let mut left: Vec<usize> = (0..rows).collect();
    for part in parts {
        if left.is_empty() {
            break;
        }
        let found = part.of_rows(rows, &left, input)?;
        let found = boolean(&found)?;
        let met = left.into_iter().enumerate().filter(|(at, _)| truth(found, *at) == Some(true));
        left = met.map(|(_, row)| row).collect();
    }
    let mut result = vec![false; rows];
    for row in left {
        result[row] = true;
    }
    Ok(Arc::new(BooleanArray::from(result)))
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("values of some of the rows").caused_by(error)
}

fn boolean(array: &ArrayRef) -> Result<&BooleanArray> {
    array.as_boolean_opt().ok_or_else(|| Error::internal("a condition without truth values"))
}

/// The truth in a row; an array of one value has the same in all rows.
fn truth(array: &BooleanArray, row: usize) -> Option<bool> {
    let row = if array.len() == 1 { 0 } else { row };
    array.is_valid(row).then(|| array.value(row))
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;
    use pelorus_functions::{Arg, CastTarget, EvalContext, literal, resolve};

    use super::*;

    fn truth_of(expr: BoundExpr) -> BoundExpr {
        let context = Arc::new(EvalContext::default());
        BoundExpr::Form(Arc::new(Form::Truth(ColumnType::bigint())), context, Box::new(expr))
    }

    /// `7 DIV input`, which warns where the input is zero.
    fn quotient(context: &Arc<EvalContext>) -> TypedValue {
        let seven = TypedValue::constant(literal::number("7").unwrap()).unwrap();
        let input = TypedValue::column(0, ColumnType::bigint());
        let call = resolve("DIV", &[seven.arg.clone(), input.arg.clone()], context).unwrap();
        TypedValue::of_call(call, vec![seven, input])
    }

    fn evaluated(expr: &BoundExpr, input: &[i64]) -> ArrayRef {
        let input: ArrayRef = Arc::new(Int64Array::from(input.to_vec()));
        expr.evaluate(input.len(), &|_| Arc::clone(&input)).unwrap()
    }

    #[test]
    fn a_part_is_evaluated_only_for_the_rows_that_reach_it() {
        let context = Arc::new(EvalContext::default());
        let quotient = truth_of(quotient(&context).expr);
        let nonzero = truth_of(BoundExpr::Input(0));
        let rows = [0, 1, 8, 0];
        for (expr, expected) in [
            (
                BoundExpr::Either(false, Box::new([nonzero.clone(), quotient.clone()])),
                [false, true, false, false],
            ),
            (BoundExpr::All(vec![nonzero.clone(), quotient.clone()]), [false, true, false, false]),
            (
                BoundExpr::Either(
                    true,
                    Box::new([BoundExpr::Not(Box::new(nonzero)), quotient.clone()]),
                ),
                [true, true, false, true],
            ),
        ] {
            let result = evaluated(&expr, &rows);
            assert_eq!(*result.as_boolean(), BooleanArray::from(expected.to_vec()), "{expr:?}");
            assert!(context.take_warnings().is_empty(), "{expr:?}");
        }
        let result = evaluated(&quotient, &rows);
        assert!(result.is_null(0) && result.is_valid(1));
        assert_eq!(context.take_warnings().len(), 2);
    }

    #[test]
    fn a_constant_is_computed_once() {
        let context = Arc::new(EvalContext::default());
        let one = TypedValue::constant(literal::number("1").unwrap()).unwrap();
        let call = resolve("+", &[one.arg.clone(), one.arg.clone()], &context).unwrap();
        let sum = TypedValue::of_call(call, vec![one.clone(), one]);
        assert_eq!(evaluated(&sum.expr, &[1, 2, 3]).len(), 1);
    }

    #[test]
    fn inputs_are_found_once_and_replaced() {
        let context = Arc::new(EvalContext::default());
        let expr = BoundExpr::All(vec![
            truth_of(BoundExpr::Input(3)),
            truth_of(quotient(&context).expr),
            truth_of(BoundExpr::Input(3)),
        ]);
        let mut inputs = Vec::new();
        expr.inputs(&mut inputs);
        assert_eq!(inputs, [3, 0]);
        let replaced = expr.with_inputs(&[1, 0, 0, 2].map(BoundExpr::Input));
        let mut inputs = Vec::new();
        replaced.inputs(&mut inputs);
        assert_eq!(inputs, [2, 1]);
    }

    #[test]
    fn a_call_keeps_only_the_arguments_that_it_reads() {
        let context = Arc::new(EvalContext::default());
        let value = TypedValue::column(0, ColumnType::bigint());
        let call = pelorus_functions::cast(CastTarget::Signed, &value.arg, &context).unwrap();
        let reads = call.reads();
        let cast = TypedValue::of_call(call, vec![value.clone(), value]);
        assert_eq!(cast.expr.parts().len(), reads);
        assert!(matches!(&cast.arg, Arg { constant: None, .. }));
    }
}
