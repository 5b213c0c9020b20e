//! Dictionary predicates: conditions of WHERE on one text column, which a scan tests once for each
//! value of a dictionary.
//!
//! Comparisons with texts qualify, and AND, OR and NOT of them: they give neither errors nor
//! warnings, so the rows for which they are evaluated do not matter. `IS NULL` and `<=>` do not
//! qualify, because a scan never tests NULL, which fails every condition here.
//!
//! A literal has a weaker coercibility than a column, so all comparisons use the column's
//! collation, as keys and partitions do. Comparisons of the column alone are also passed to the
//! scan, which prunes partitions, and chunks and vectors of sorted rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{and_kleene, not, or_kleene};
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::{Error, Result};
use pelorus_functions::{self as functions, Arg, Call, EvalContext, needs_key};
use pelorus_sql::ast_analysis;
use pelorus_sql::literal::{Constant, constant};
use pelorus_sql::operator::function_of;
use pelorus_store::ValueTest;
use pelorus_types::WireType;
use sqlparser::ast::{Expr, UnaryOperator};

use crate::binder::scan_predicate::{Of, turned};
use crate::context::QueryContext;

/// A condition on the values of one text column.
#[derive(Debug)]
struct TextTest {
    node: Node,
    context: Arc<EvalContext>,
}

#[derive(Debug)]
enum Node {
    /// A function of the column and constants that returns a truth value, and the comparison under
    /// the column's collation that it implies.
    Call(Box<Call>, Vec<Operand>, Option<Predicate>),
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

/// A condition on one text column.
pub(crate) struct TestedText {
    /// The position of the column.
    pub(crate) column: usize,
    /// The condition.
    pub(crate) test: Arc<dyn ValueTest>,
    /// Predicates that every text which passes the test meets, under the column's collation.
    pub(crate) implied: Vec<Predicate>,
}

/// A condition as a test of one column; `None` where it is something else.
pub(crate) fn tested(context: &QueryContext, expr: &Expr, of: Of<'_>) -> Option<TestedText> {
    let mut reader = Reader { context, of, column: None };
    let node = reader.node(expr)?;
    let implied = node.implied();
    let test = TextTest { node, context: Arc::clone(&context.eval) };
    Some(TestedText { column: reader.column?, test: Arc::new(test), implied })
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
        match ast_analysis::unnested(expr) {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Some(Node::Not(Box::new(self.node(expr)?)))
            }
            Expr::BinaryOp { left, op, right } => match function_of(op, self.context.mode)? {
                "AND" => Some(Node::And(Box::new([self.node(left)?, self.node(right)?]))),
                "OR" => Some(Node::Or(Box::new([self.node(left)?, self.node(right)?]))),
                name @ ("=" | "<>" | "<" | "<=" | ">" | ">=") => self.call(name, &[left, right]),
                _ => None,
            },
            // A NULL among several items or bounds does not make the condition NULL.
            Expr::Between { low, high, .. } if self.is_column(low) || self.is_column(high) => None,
            Expr::InList { list, .. } if list.iter().any(|item| self.is_column(item)) => None,
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

    fn is_column(&self, expr: &Expr) -> bool {
        self.of.column(expr).is_some()
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
        let comparison = comparison(name, &operands);
        call.filter(|_| has_column).map(|call| Node::Call(Box::new(call), operands, comparison))
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
        let arg = pelorus_expression::literal(expr, self.context.mode, &self.context.eval).ok()?;
        let value = functions::array_of(arg.constant.as_ref()?, &arg.ty).ok()?;
        Some((Operand::Constant(value), arg))
    }
}

/// The comparison to which a function of the column and constants is equivalent, if any.
fn comparison(name: &str, operands: &[Operand]) -> Option<Predicate> {
    Some(match (name, operands) {
        ("BETWEEN", [Operand::Column, low, high]) => Predicate::Between(text(low)?, text(high)?),
        ("IN", [Operand::Column, list @ ..]) => {
            Predicate::In(list.iter().map(text).collect::<Option<_>>()?)
        }
        (_, [Operand::Column, constant]) => Predicate::Compare(operator(name)?, text(constant)?),
        (_, [constant, Operand::Column]) => {
            Predicate::Compare(turned(operator(name)?), text(constant)?)
        }
        _ => return None,
    })
}

fn operator(name: &str) -> Option<Op> {
    Some(match name {
        "=" => Op::Eq,
        "<" => Op::Lt,
        "<=" => Op::Le,
        ">" => Op::Gt,
        ">=" => Op::Ge,
        _ => return None,
    })
}

/// A constant as a text; `None` for the column, and where the connection's literals are bytes.
fn text(operand: &Operand) -> Option<Scalar> {
    let Operand::Constant(value) = operand else { return None };
    let texts = value.as_string_opt::<i32>().filter(|it| it.len() == 1 && it.is_valid(0))?;
    Some(Scalar::Bytes(texts.value(0).as_bytes().to_vec()))
}

impl ValueTest for TextTest {
    fn keep(&self, values: &ArrayRef) -> Result<BooleanArray> {
        self.node.keep(values, &self.context)
    }
}

impl Node {
    /// Comparisons under the column's collation that follow from this condition.
    fn implied(&self) -> Vec<Predicate> {
        match self {
            Self::Call(_, _, comparison) => comparison.iter().cloned().collect(),
            Self::And(sides) => sides.iter().flat_map(Self::implied).collect(),
            Self::Or(_) => {
                self.one_of().map(|list| Predicate::In(list.into())).into_iter().collect()
            }
            Self::Not(_) => Vec::new(),
        }
    }

    /// The texts one of which every text equals that fulfils this; `None` where there are others.
    fn one_of(&self) -> Option<Vec<Scalar>> {
        match self {
            Self::Call(_, _, Some(Predicate::Compare(Op::Eq, text))) => Some(vec![text.clone()]),
            Self::Call(_, _, Some(Predicate::In(list))) => Some(list.to_vec()),
            Self::And(sides) => sides.iter().find_map(Self::one_of),
            Self::Or(sides) => {
                let [left, right] = sides.as_ref();
                Some([left.one_of()?, right.one_of()?].concat())
            }
            Self::Call(..) | Self::Not(_) => None,
        }
    }

    fn keep(&self, values: &ArrayRef, context: &EvalContext) -> Result<BooleanArray> {
        let broken = |error| Error::internal("a test of texts").caused_by(error);
        match self {
            Self::Call(call, operands, _) => {
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

#[cfg(test)]
mod tests {
    use pelorus_functions::literal as make;
    use pelorus_types::{ColumnType, collation};

    use super::*;

    /// A function of the column and texts; `?` is the column.
    fn call(name: &str, args: &[&str]) -> Node {
        let context = Arc::new(EvalContext::default());
        let ty = ColumnType::varchar(9, collation::UTF8MB4_BIN);
        let (mut operands, mut given) = (Vec::new(), Vec::new());
        for text in args {
            let arg = match *text {
                "?" => Arg::column(ty, "c"),
                text => make::text(text, &context),
            };
            operands.push(match &arg.constant {
                None => Operand::Column,
                Some(value) => Operand::Constant(functions::array_of(value, &arg.ty).unwrap()),
            });
            given.push(arg);
        }
        let comparison = comparison(name, &operands);
        Node::Call(
            Box::new(functions::resolve(name, &given, &context).unwrap()),
            operands,
            comparison,
        )
    }

    fn texts(list: &[&str]) -> Vec<Scalar> {
        list.iter().map(|text| Scalar::Bytes(text.as_bytes().to_vec())).collect()
    }

    fn compare(op: Op, text: &str) -> Predicate {
        Predicate::Compare(op, Scalar::Bytes(text.as_bytes().to_vec()))
    }

    fn and(left: Node, right: Node) -> Node {
        Node::And(Box::new([left, right]))
    }

    fn or(left: Node, right: Node) -> Node {
        Node::Or(Box::new([left, right]))
    }

    #[test]
    fn comparisons_say_what_they_are() {
        assert_eq!(call("=", &["?", "a"]).implied(), [compare(Op::Eq, "a")]);
        assert_eq!(call("<", &["?", "a"]).implied(), [compare(Op::Lt, "a")]);
        assert_eq!(call("<", &["a", "?"]).implied(), [compare(Op::Gt, "a")]);
        let between = Predicate::Between(texts(&["a"])[0].clone(), texts(&["b"])[0].clone());
        assert_eq!(call("BETWEEN", &["?", "a", "b"]).implied(), [between]);
        assert_eq!(
            call("IN", &["?", "a", "b"]).implied(),
            [Predicate::In(texts(&["a", "b"]).into())]
        );
        for (name, args) in [
            ("<>", &["?", "a"][..]),
            ("LIKE", &["?", "a"][..]),
            ("NOT IN", &["?", "a", "b"][..]),
            ("NOT BETWEEN", &["?", "a", "b"][..]),
            ("BETWEEN", &["a", "?", "b"][..]),
            ("IN", &["a", "?"][..]),
            ("=", &["?", "?"][..]),
        ] {
            assert!(call(name, args).implied().is_empty(), "{name} {args:?}");
        }
    }

    #[test]
    fn all_of_and_or_is_listed_or_nothing() {
        let is = |text: &str| call("=", &["?", text]);
        let below = |text: &str| call("<", &["?", text]);
        let listed = |list: &[&str]| [Predicate::In(texts(list).into())];
        assert_eq!(
            and(is("a"), below("b")).implied(),
            [compare(Op::Eq, "a"), compare(Op::Lt, "b")]
        );
        assert_eq!(or(is("a"), call("IN", &["?", "b", "c"])).implied(), listed(&["a", "b", "c"]));
        assert_eq!(or(is("a"), and(below("x"), is("b"))).implied(), listed(&["a", "b"]));
        assert!(or(is("a"), below("b")).implied().is_empty());
        assert!(Node::Not(Box::new(is("a"))).implied().is_empty());
        assert!(or(is("a"), Node::Not(Box::new(is("b")))).implied().is_empty());
    }
}
