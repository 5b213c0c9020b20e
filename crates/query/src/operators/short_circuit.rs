//! Short-circuit evaluation: an argument that can fail or warn is evaluated only for the rows that
//! reach it.
//!
//! DataFusion evaluates the arguments of a function for all rows. If an argument can leave an error
//! or a warning ([`Call::is_fallible`]), MySQL evaluates it only for the rows that reach it: the
//! chosen branch of an IF, the part after a true condition in AND. Such an expression becomes one
//! function of its own. Its arguments are the subexpressions that cannot fail; the rest is a tree
//! inside the function, through which each row passes as in MySQL.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use pelorus_error::Result;
use pelorus_expression::BoundExpr;
#[cfg(doc)]
use pelorus_functions::Call;

use crate::datafusion_adapter::form::FormUdf;
use crate::datafusion_adapter::udf::{
    DfResult, as_call, by_identity, column_name, next_id, over_arrays, signature, text_length,
};

/// Whether computing an expression can leave an error or a warning.
pub(crate) fn is_fallible(expr: &Expr) -> bool {
    let found = expr.exists(|part| {
        let Expr::ScalarFunction(function) = part else { return Ok(false) };
        let form = function.func.inner().downcast_ref::<FormUdf>();
        Ok(as_call(function).is_some_and(|call| call.is_fallible())
            || form.is_some_and(|udf| udf.form.is_fallible())
            || function.func.inner().is::<ShortCircuitUdf>())
    });
    // What looks at the parts never fails.
    found.unwrap_or(true)
}

/// Whether an expression can be a part of a short-circuit one: not a subquery, which DataFusion
/// must find in the plan to make a join of it.
pub(crate) fn is_plain(expr: &Expr) -> bool {
    let is_query = |part: &Expr| {
        matches!(part, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_))
    };
    let found = expr.exists(|part| Ok(is_query(part)));
    !expr.contains_outer() && found.is_ok_and(|found| !found)
}

/// The call of a conditional whose arguments can complain, given as DataFusion would compute it.
pub(crate) fn conditional(name: &str, expr: &Expr, ty: DataType) -> Expr {
    function(name, ty, |leaves| node(expr, leaves))
}

/// `left AND right` or `left OR right`, where the right side counts only for rows that the left
/// side leaves open.
pub(crate) fn either(left: Expr, op: Operator, right: Expr) -> Expr {
    if is_fallible(&right) && is_plain(&left) && is_plain(&right) {
        let whole = Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
        let name = if op == Operator::And { "and" } else { "or" };
        return function(name, DataType::Boolean, |leaves| node(&whole, leaves));
    }
    if op == Operator::And { left.and(right) } else { left.or(right) }
}

/// Conditions that all have to be true, each of which counts only for rows that meet those before.
pub(crate) fn all(conditions: &[&Expr]) -> Expr {
    function("all", DataType::Boolean, |leaves| {
        BoundExpr::All(conditions.iter().map(|it| node(it, leaves)).collect())
    })
}

/// The value of a lazy expression of literals alone, or why it has none; `None` of any other.
pub(crate) fn of_literals(expr: &Expr) -> Option<Result<ArrayRef>> {
    let Expr::ScalarFunction(function) = expr else { return None };
    let lazy = function.func.inner().downcast_ref::<ShortCircuitUdf>()?;
    let leaves = function.args.iter().map(|leaf| match leaf {
        Expr::Literal(value, _) => value.to_array_of_size(1).ok(),
        _ => None,
    });
    let leaves = leaves.collect::<Option<Vec<_>>>()?;
    Some(lazy.root.evaluate(1, &|at| Arc::clone(&leaves[at])))
}

fn function(name: &str, ty: DataType, root: impl FnOnce(&mut Vec<Expr>) -> BoundExpr) -> Expr {
    let mut leaves = Vec::new();
    let root = root(&mut leaves);
    // Of constants alone DataFusion would compute it while it plans, whether or not a row comes.
    let is_constant = leaves.iter().all(|leaf| matches!(leaf, Expr::Literal(..)));
    let volatility = if is_constant { Volatility::Volatile } else { Volatility::Immutable };
    let udf = ShortCircuitUdf {
        name: name.to_ascii_lowercase(),
        id: next_id(),
        signature: signature(leaves.len(), volatility),
        ty,
        root,
    };
    ScalarUDF::new_from_impl(udf).call(leaves)
}

/// The tree of an expression, whose leaves are added to `leaves`.
fn node(expr: &Expr, leaves: &mut Vec<Expr>) -> BoundExpr {
    if !is_fallible(expr) {
        return leaf(expr, leaves);
    }
    match expr {
        Expr::Alias(alias) => node(&alias.expr, leaves),
        Expr::Not(inner) => BoundExpr::Not(Box::new(node(inner, leaves))),
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let sides = [node(left, leaves), node(right, leaves)];
            BoundExpr::Either(*op == Operator::Or, Box::new(sides))
        }
        Expr::ScalarFunction(function) => of_function(expr, function, leaves),
        other => leaf(other, leaves),
    }
}

fn of_function(expr: &Expr, function: &ScalarFunction, leaves: &mut Vec<Expr>) -> BoundExpr {
    let inner = function.func.inner();
    if let Some(call) = as_call(function) {
        let args = function.args.iter().map(|arg| node(arg, leaves)).collect();
        return BoundExpr::Call(Arc::clone(call), args);
    }
    if let Some(lazy) = inner.downcast_ref::<ShortCircuitUdf>() {
        let args: Vec<BoundExpr> = function.args.iter().map(|arg| node(arg, leaves)).collect();
        return lazy.root.with_inputs(&args);
    }
    match function.args.as_slice() {
        [arg] if let Some(udf) = inner.downcast_ref::<FormUdf>() => {
            let (form, context) = (Arc::clone(&udf.form), Arc::clone(&udf.context));
            BoundExpr::Form(form, context, Box::new(node(arg, leaves)))
        }
        _ => leaf(expr, leaves),
    }
}

fn leaf(expr: &Expr, leaves: &mut Vec<Expr>) -> BoundExpr {
    BoundExpr::Input(leaves.iter().position(|it| it == expr).unwrap_or_else(|| {
        leaves.push(expr.clone());
        leaves.len() - 1
    }))
}

/// Bytes of the longest text that a call in it may give.
fn longest(root: &BoundExpr) -> usize {
    let own = if let BoundExpr::Call(call, _) = root { text_length(call) } else { 0 };
    root.parts().iter().map(longest).fold(own, usize::max)
}

/// Bytes of the longest text that the calls in a lazy function may give for a row; 0 of others.
pub(crate) fn length(function: &ScalarUDF) -> usize {
    function.inner().downcast_ref::<ShortCircuitUdf>().map_or(0, |lazy| longest(&lazy.root))
}

/// A lazy expression as a function of its leaves.
struct ShortCircuitUdf {
    name: String,
    id: u64,
    signature: Signature,
    ty: DataType,
    root: BoundExpr,
}

by_identity!(ShortCircuitUdf);

impl ScalarUDFImpl for ShortCircuitUdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(self.ty.clone())
    }

    fn schema_name(&self, args: &[Expr]) -> DfResult<String> {
        Ok(column_name(&self.name, self.id, args))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        over_arrays(&args, true, |leaves, rows| {
            self.root.evaluate(rows, &|at| Arc::clone(&leaves[at]))
        })
    }
}
