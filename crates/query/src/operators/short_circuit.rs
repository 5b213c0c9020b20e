//! Short-circuit evaluation: an argument that can fail or warn is evaluated only for the rows that
//! reach it.
//!
//! DataFusion evaluates the arguments of a function for all rows. If an argument can leave an error
//! or a warning ([`Call::is_fallible`]), MySQL evaluates it only for the rows that reach it: the
//! chosen branch of an IF, the part after a true condition in AND. Such an expression becomes one
//! function of its own. Its arguments are the subexpressions that cannot fail; the rest is a tree
//! inside the function, through which each row passes as in MySQL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use pelorus_error::{Error, Result};
use pelorus_functions::Call;

use crate::binder::typed_expression::FormUdf;
use crate::datafusion_adapter::udf::{
    DfResult, as_call, by_identity, column_name, next_id, over_arrays, signature, text_length,
};

/// Whether computing an expression can leave an error or a warning.
pub(crate) fn is_fallible(expr: &Expr) -> bool {
    let found = expr.exists(|part| {
        let Expr::ScalarFunction(function) = part else { return Ok(false) };
        let form = function.func.inner().downcast_ref::<FormUdf>();
        Ok(as_call(function).is_some_and(|call| call.is_fallible())
            || form.is_some_and(FormUdf::is_fallible)
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
        Node::All(conditions.iter().map(|it| node(it, leaves)).collect())
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
    Some(lazy.root.evaluate(&leaves.collect::<Option<Vec<_>>>()?, 1))
}

fn function(name: &str, ty: DataType, root: impl FnOnce(&mut Vec<Expr>) -> Node) -> Expr {
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

/// An expression within a lazy one.
#[derive(Clone)]
enum Node {
    /// An argument of the function.
    Leaf(usize),
    Call(Arc<Call>, Vec<Node>),
    /// A change of form.
    Form(Arc<ScalarUDF>, Box<Node>),
    Not(Box<Node>),
    /// AND or OR, by the truth that decides it.
    Either(bool, Box<[Node; 2]>),
    All(Vec<Node>),
}

/// The tree of an expression, whose leaves are added to `leaves`.
fn node(expr: &Expr, leaves: &mut Vec<Expr>) -> Node {
    if !is_fallible(expr) {
        return leaf(expr, leaves);
    }
    match expr {
        Expr::Alias(alias) => node(&alias.expr, leaves),
        Expr::Not(inner) => Node::Not(Box::new(node(inner, leaves))),
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let sides = [node(left, leaves), node(right, leaves)];
            Node::Either(*op == Operator::Or, Box::new(sides))
        }
        Expr::ScalarFunction(function) => of_function(expr, function, leaves),
        other => leaf(other, leaves),
    }
}

fn of_function(expr: &Expr, function: &ScalarFunction, leaves: &mut Vec<Expr>) -> Node {
    let inner = function.func.inner();
    if let Some(call) = as_call(function) {
        let args = function.args.iter().map(|arg| node(arg, leaves)).collect();
        return Node::Call(Arc::clone(call), args);
    }
    if let Some(lazy) = inner.downcast_ref::<ShortCircuitUdf>() {
        let args: Vec<Node> = function.args.iter().map(|arg| node(arg, leaves)).collect();
        return lazy.root.with_leaves(&args);
    }
    match function.args.as_slice() {
        [arg] if inner.is::<FormUdf>() => {
            Node::Form(Arc::clone(&function.func), Box::new(node(arg, leaves)))
        }
        _ => leaf(expr, leaves),
    }
}

fn leaf(expr: &Expr, leaves: &mut Vec<Expr>) -> Node {
    Node::Leaf(leaves.iter().position(|it| it == expr).unwrap_or_else(|| {
        leaves.push(expr.clone());
        leaves.len() - 1
    }))
}

impl Node {
    /// The same tree with others in the place of its leaves.
    fn with_leaves(&self, leaves: &[Node]) -> Node {
        match self {
            Self::Leaf(at) => leaves[*at].clone(),
            Self::Call(call, args) => Self::Call(Arc::clone(call), with_leaves(args, leaves)),
            Self::Form(form, inner) => {
                Self::Form(Arc::clone(form), Box::new(inner.with_leaves(leaves)))
            }
            Self::Not(inner) => Self::Not(Box::new(inner.with_leaves(leaves))),
            Self::Either(decisive, sides) => {
                let [left, right] = sides.as_ref();
                let sides = [left.with_leaves(leaves), right.with_leaves(leaves)];
                Self::Either(*decisive, Box::new(sides))
            }
            Self::All(parts) => Self::All(with_leaves(parts, leaves)),
        }
    }

    /// The values for rows of which `leaves` has the arguments: one value for each row, or one for
    /// all of them.
    fn evaluate(&self, leaves: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Leaf(at) => Ok(Arc::clone(&leaves[*at])),
            Self::Call(call, args) if call.is_lazy() => call
                .evaluate_lazily(rows, &mut |arg, chosen| args[arg].of_rows(leaves, rows, chosen)),
            Self::Call(call, args) => {
                let args = args.iter().map(|arg| arg.evaluate(leaves, rows));
                let args = args.collect::<Result<Vec<ArrayRef>>>()?;
                // A constant is computed once.
                let is_constant = args.iter().all(|arg| arg.len() == 1) && call.is_deterministic();
                call.evaluate(&args, if is_constant { 1 } else { rows })
            }
            Self::Form(form, inner) => {
                let form = form.inner().downcast_ref::<FormUdf>();
                let form = form.ok_or_else(|| Error::internal("a form that is none"))?;
                form.apply(&inner.evaluate(leaves, rows)?)
            }
            Self::Not(inner) => {
                let truth = inner.evaluate(leaves, rows)?;
                let opposite = arrow::compute::not(boolean(&truth)?).map_err(broken)?;
                Ok(Arc::new(opposite))
            }
            Self::Either(decisive, sides) => either_of(*decisive, sides, leaves, rows),
            Self::All(parts) => all_of(parts, leaves, rows),
        }
    }

    /// The values for some of the rows, by their numbers.
    fn of_rows(&self, leaves: &[ArrayRef], rows: usize, chosen: &[usize]) -> Result<ArrayRef> {
        if chosen.len() == rows {
            return self.evaluate(leaves, rows);
        }
        let mut is_used = vec![false; leaves.len()];
        self.mark(&mut is_used);
        let numbers = UInt64Array::from_iter_values(chosen.iter().map(|row| *row as u64));
        let some = leaves.iter().zip(is_used).map(|(leaf, is_used)| {
            if is_used && leaf.len() != 1 {
                take(leaf.as_ref(), &numbers, None).map_err(broken)
            } else {
                Ok(Arc::clone(leaf))
            }
        });
        self.evaluate(&some.collect::<Result<Vec<_>>>()?, chosen.len())
    }

    /// Bytes of the longest text that a call in it may give.
    fn length(&self) -> usize {
        let longest = |parts: &[Node]| parts.iter().map(Node::length).max().unwrap_or(0);
        match self {
            Self::Leaf(_) => 0,
            Self::Call(call, parts) => text_length(call).max(longest(parts)),
            Self::All(parts) => longest(parts),
            Self::Form(_, inner) | Self::Not(inner) => inner.length(),
            Self::Either(_, sides) => longest(sides.as_slice()),
        }
    }

    fn mark(&self, is_used: &mut [bool]) {
        match self {
            Self::Leaf(at) => is_used[*at] = true,
            Self::Call(_, parts) | Self::All(parts) => {
                parts.iter().for_each(|part| part.mark(is_used));
            }
            Self::Form(_, inner) | Self::Not(inner) => inner.mark(is_used),
            Self::Either(_, sides) => sides.iter().for_each(|side| side.mark(is_used)),
        }
    }
}

/// Bytes of the longest text that the calls in a lazy function may give for a row; 0 of others.
pub(crate) fn length(function: &ScalarUDF) -> usize {
    function.inner().downcast_ref::<ShortCircuitUdf>().map_or(0, |lazy| lazy.root.length())
}

fn with_leaves(nodes: &[Node], leaves: &[Node]) -> Vec<Node> {
    nodes.iter().map(|node| node.with_leaves(leaves)).collect()
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("values of rows that were chosen").caused_by(error)
}

fn boolean(array: &ArrayRef) -> Result<&BooleanArray> {
    array.as_boolean_opt().ok_or_else(|| Error::internal("a condition that is none"))
}

/// The truth in a row; an array of one value has the same in all rows.
fn truth(array: &BooleanArray, row: usize) -> Option<bool> {
    let row = if array.len() == 1 { 0 } else { row };
    array.is_valid(row).then(|| array.value(row))
}

fn either_of(
    decisive: bool,
    sides: &[Node; 2],
    leaves: &[ArrayRef],
    rows: usize,
) -> Result<ArrayRef> {
    let [left, right] = sides;
    let left = left.evaluate(leaves, rows)?;
    let left = boolean(&left)?;
    let open: Vec<usize> = (0..rows).filter(|row| truth(left, *row) != Some(decisive)).collect();
    let mut result = vec![Some(decisive); rows];
    if !open.is_empty() {
        let right = right.of_rows(leaves, rows, &open)?;
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

fn all_of(parts: &[Node], leaves: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let mut left: Vec<usize> = (0..rows).collect();
    for part in parts {
        if left.is_empty() {
            break;
        }
        let found = part.of_rows(leaves, rows, &left)?;
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

/// A lazy expression as a function of its leaves.
struct ShortCircuitUdf {
    name: String,
    id: u64,
    signature: Signature,
    ty: DataType,
    root: Node,
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
        over_arrays(&args, true, |leaves, rows| self.root.evaluate(leaves, rows))
    }
}
