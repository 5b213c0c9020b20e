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

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::{and_kleene, not, or_kleene};
use arrow::datatypes::DataType;
use datafusion::logical_expr::{BinaryExpr, Expr as Bound, Operator};
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::{Error, Result};
use pelorus_functions::{self as functions, Call, EvalContext, Operand as Given, Value, needs_key};
use pelorus_store::ValueTest;
use pelorus_types::WireType;

use crate::binder::scan_predicate::{
    Comparison, StoredColumns, by_collation_of_column, call_of, turned,
};

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
    Call(Arc<Call>, Vec<Operand>, Option<Predicate>),
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
pub(crate) fn tested(of: StoredColumns<'_>, condition: &Bound) -> Option<TestedText> {
    let mut reader = Reader { of, column: None, context: None };
    let node = reader.node(condition)?;
    let implied = node.implied();
    let test = TextTest { node, context: reader.context? };
    Some(TestedText { column: reader.column?, test: Arc::new(test), implied })
}

struct Reader<'a> {
    of: StoredColumns<'a>,
    /// The column that was found so far.
    column: Option<usize>,
    /// What the calls depend on.
    context: Option<Arc<EvalContext>>,
}

impl Reader<'_> {
    fn node(&mut self, condition: &Bound) -> Option<Node> {
        match condition {
            Bound::Not(inner) => Some(Node::Not(Box::new(self.node(inner)?))),
            Bound::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                Some(Node::And(Box::new([self.node(left)?, self.node(right)?])))
            }
            Bound::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                Some(Node::Or(Box::new([self.node(left)?, self.node(right)?])))
            }
            _ => self.call(condition),
        }
    }

    fn call(&mut self, condition: &Bound) -> Option<Node> {
        let Comparison { call, args } = call_of(condition)?;
        match (call.name(), args) {
            ("NOT", [inner]) => return Some(Node::Not(Box::new(self.node(inner)?))),
            ("AND", [left, right]) => {
                return Some(Node::And(Box::new([self.node(left)?, self.node(right)?])));
            }
            ("OR", [left, right]) => {
                return Some(Node::Or(Box::new([self.node(left)?, self.node(right)?])));
            }
            // A NULL among several items or bounds does not make the condition NULL.
            ("BETWEEN" | "NOT BETWEEN" | "IN" | "NOT IN", [_, rest @ ..])
                if rest.iter().any(|it| (self.of.position)(it).is_some()) =>
            {
                return None;
            }
            ("=" | "<>" | "!=" | "<" | "<=" | ">" | ">=", [_, _]) => {}
            ("BETWEEN" | "NOT BETWEEN" | "IN" | "NOT IN", _) => {}
            ("LIKE" | "NOT LIKE", [_, _]) => {}
            _ => return None,
        }
        let mut operands = Vec::with_capacity(args.len());
        for arg in args {
            operands.push(self.operand(arg)?);
        }
        // Constants that the call knows are no arguments of it.
        let is_text = |it: &Given| match &it.constant {
            Some(constant) => matches!(constant, Value::Text(_)),
            None => true,
        };
        if !call.operands().iter().all(is_text) || call.is_lazy() {
            return None;
        }
        let has_column = operands.iter().any(|it| matches!(it, Operand::Column));
        self.context = Some(Arc::clone(call.context()));
        let stored = self.column.map(|column| self.of.columns[column].ty.collation);
        let comparison = comparison(call, &operands).filter(|_| {
            // Under another collation, as of a UNION, it says nothing of the order of the table.
            let mut columns = call.operands().iter().filter(|it| it.constant.is_none());
            by_collation_of_column(call) && columns.all(|it| Some(it.ty.collation) == stored)
        });
        has_column.then(|| Node::Call(Arc::clone(call), operands, comparison))
    }

    fn operand(&mut self, arg: &Bound) -> Option<Operand> {
        if let Some(column) = (self.of.position)(arg) {
            let ty = self.of.columns[column].ty;
            let same = self.column.is_none_or(|known| known == column);
            if !needs_key(&ty) || ty.wire == WireType::Json || !same {
                return None;
            }
            self.column = Some(column);
            return Some(Operand::Column);
        }
        match arg {
            Bound::Literal(value, _) if value.data_type() == DataType::Utf8 => {
                Some(Operand::Constant(value.to_array_of_size(1).ok()?))
                    .filter(|_| !value.is_null())
            }
            _ => None,
        }
    }
}

/// The comparison to which a call is equivalent, if any.
fn comparison(call: &Call, operands: &[Operand]) -> Option<Predicate> {
    let text = |given: &Given| match &given.constant {
        Some(Value::Text(text)) => Some(Scalar::Bytes(text.clone().into_bytes())),
        _ => None,
    };
    Some(match (call.name(), call.operands(), operands) {
        ("BETWEEN", [_, low, high], [Operand::Column, ..]) => {
            Predicate::Between(text(low)?, text(high)?)
        }
        ("IN", [_, list @ ..], [Operand::Column, ..]) => {
            Predicate::In(list.iter().map(text).collect::<Option<_>>()?)
        }
        (name, [_, constant], [Operand::Column, _]) => {
            Predicate::Compare(operator(name)?, text(constant)?)
        }
        (name, [constant, _], [_, Operand::Column]) => {
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
    use pelorus_functions::{Arg, literal as make};
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
        let call = functions::resolve(name, &given, &context).unwrap();
        let comparison = comparison(&call, &operands);
        Node::Call(Arc::new(call), operands, comparison)
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
