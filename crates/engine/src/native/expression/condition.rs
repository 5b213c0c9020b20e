//! Conditions: comparisons, what joins them, and functions that have a grammar of their own.

use pelorus_error::{Error, Result};
use sqlparser::ast::{Expr, UnaryOperator};

use super::{Node, Scope};

impl Scope<'_> {
    /// What is no arithmetic, constant, column or plain function.
    pub(super) fn condition(&self, tree: &Expr) -> Result<Node> {
        match tree {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.call("NOT", &[expr.as_ref()]),
            Expr::IsNull(expr) | Expr::IsUnknown(expr) => self.call("IS NULL", &[expr.as_ref()]),
            Expr::IsNotNull(expr) | Expr::IsNotUnknown(expr) => {
                self.call("IS NOT NULL", &[expr.as_ref()])
            }
            Expr::IsTrue(expr) => self.call("IS TRUE", &[expr.as_ref()]),
            Expr::IsNotTrue(expr) => self.call("IS NOT TRUE", &[expr.as_ref()]),
            Expr::IsFalse(expr) => self.call("IS FALSE", &[expr.as_ref()]),
            Expr::IsNotFalse(expr) => self.call("IS NOT FALSE", &[expr.as_ref()]),
            Expr::Between { expr, negated, low, high } => {
                self.negated(*negated, self.call("BETWEEN", &[expr, low, high])?)
            }
            Expr::InList { expr, list, negated } => {
                let mut args = vec![expr.as_ref()];
                args.extend(list);
                self.negated(*negated, self.call("IN", &args)?)
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                let mut args = vec![expr.as_ref(), pattern.as_ref()];
                args.extend(escape_char.as_deref());
                self.negated(*negated, self.call("LIKE", &args)?)
            }
            Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                let mut args = vec![expr.as_ref(), from.as_ref()];
                args.extend(substring_for.as_deref());
                self.call("SUBSTRING", &args)
            }
            other => Err(Error::unsupported(format_args!("{other} here"))),
        }
    }

    fn negated(&self, negated: bool, node: Node) -> Result<Node> {
        if negated { self.bound("NOT", vec![node]) } else { Ok(node) }
    }
}
