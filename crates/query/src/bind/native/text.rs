//! Conditions of WHERE on one text column, which a scan tests once for each value of a dictionary.
//!
//! Taken are comparisons with texts, and what AND, OR and NOT make of them: they give neither
//! errors nor warnings, so it does not matter for which rows they are asked. `IS NULL` and `<=>`
//! are not taken, because a scan never asks for NULL, which fulfils nothing here.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::{and_kleene, not, or_kleene};
use pelorus_error::{Error, Result};
use pelorus_functions::{self as functions, Arg, Call, EvalContext, needs_key};
use pelorus_sql::literal::{Constant, constant};
use pelorus_sql::normalise;
use pelorus_sql::operator::function_of;
use pelorus_store::ValueTest;
use pelorus_types::WireType;
use sqlparser::ast::{Expr, UnaryOperator};

use crate::bind::condition::Of;
use crate::bind::literal;
use crate::context::QueryContext;

/// A condition on the values of one text column.
#[derive(Debug)]
struct TextTest {
    node: Node,
    context: Arc<EvalContext>,
}

#[derive(Debug)]
enum Node {
    /// A function of the column and constants that gives a truth value.
    Call(Call, Vec<Operand>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Not(Box<Node>),
}

#[derive(Debug)]
enum Operand {
    Column,
    /// An array of one value.
    Constant(ArrayRef),
}

/// A condition as a test of one column, by its position; `None` where it is something else.
pub(super) fn test(
    context: &QueryContext,
    expr: &Expr,
    of: Of<'_>,
) -> Option<(usize, Arc<dyn ValueTest>)> {
    let mut reader = Reader { context, of, column: None };
    let node = reader.node(expr)?;
    let test = TextTest { node, context: Arc::clone(&context.eval) };
    Some((reader.column?, Arc::new(test)))
}

struct Reader<'a> {
    context: &'a QueryContext,
    of: Of<'a>,
    /// The column that was found so far.
    column: Option<usize>,
}

impl Reader<'_> {
    fn node(&mut self, expr: &Expr) -> Option<Node> {
        let negated = |negated: bool, positive, negative| if negated { negative } else { positive };
        match normalise::unnested(expr) {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Some(Node::Not(Box::new(self.node(expr)?)))
            }
            Expr::BinaryOp { left, op, right } => match function_of(op, self.context.mode)? {
                "AND" => Some(Node::And(Box::new([self.node(left)?, self.node(right)?]))),
                "OR" => Some(Node::Or(Box::new([self.node(left)?, self.node(right)?]))),
                name @ ("=" | "<>" | "<" | "<=" | ">" | ">=") => self.call(name, &[left, right]),
                _ => None,
            },
            Expr::Between { expr, negated: not, low, high } => {
                self.call(negated(*not, "BETWEEN", "NOT BETWEEN"), &[expr, low, high])
            }
            Expr::InList { expr, list, negated: not } => {
                let mut args = vec![expr.as_ref()];
                args.extend(list);
                self.call(negated(*not, "IN", "NOT IN"), &args)
            }
            Expr::Like { negated: not, any: false, expr, pattern, escape_char: None } => {
                self.call(negated(*not, "LIKE", "NOT LIKE"), &[expr, pattern])
            }
            _ => None,
        }
    }

    fn call(&mut self, name: &str, exprs: &[&Expr]) -> Option<Node> {
        let mut operands = Vec::with_capacity(exprs.len());
        let mut args = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let (operand, arg) = self.operand(expr)?;
            operands.push(operand);
            args.push(arg);
        }
        let has_column = operands.iter().any(|it| matches!(it, Operand::Column));
        let call = functions::resolve(name, &args, &self.context.eval).ok();
        call.filter(|_| has_column).map(|call| Node::Call(call, operands))
    }

    fn operand(&mut self, expr: &Expr) -> Option<(Operand, Arg)> {
        if let Some(column) = self.of.column(expr) {
            let ty = self.of.table.columns[column].ty;
            let same = self.column.is_none_or(|known| known == column);
            if !needs_key(&ty) || ty.wire == WireType::Json || !same {
                return None;
            }
            self.column = Some(column);
            return Some((Operand::Column, Arg::column(ty, String::new())));
        }
        match constant(expr, self.context.mode)? {
            Constant::Text { charset: None, .. } => {}
            _ => return None,
        }
        let arg = literal::literal(expr, self.context).ok()?;
        let value = functions::array_of(arg.constant.as_ref()?, &arg.ty).ok()?;
        Some((Operand::Constant(value), arg))
    }
}

impl ValueTest for TextTest {
    fn keep(&self, values: &ArrayRef) -> Result<BooleanArray> {
        self.node.keep(values, &self.context)
    }
}

impl Node {
    fn keep(&self, values: &ArrayRef, context: &EvalContext) -> Result<BooleanArray> {
        let broken = |error| Error::internal("a test of texts").caused_by(error);
        match self {
            Self::Call(call, operands) => {
                let args: Vec<ArrayRef> = operands
                    .iter()
                    .map(|operand| match operand {
                        Operand::Column => Arc::clone(values),
                        Operand::Constant(value) => Arc::clone(value),
                    })
                    .collect();
                let found = call.evaluate(&args, values.len())?;
                functions::truth(&found, &call.return_type(), context)
            }
            Self::And(sides) => {
                let [left, right] = sides.as_ref();
                and_kleene(&left.keep(values, context)?, &right.keep(values, context)?)
                    .map_err(broken)
            }
            Self::Or(sides) => {
                let [left, right] = sides.as_ref();
                or_kleene(&left.keep(values, context)?, &right.keep(values, context)?)
                    .map_err(broken)
            }
            Self::Not(inner) => not(&inner.keep(values, context)?).map_err(broken),
        }
    }
}
