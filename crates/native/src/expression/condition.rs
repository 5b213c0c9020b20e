//! Conditions in expressions over one table: comparisons, logical operators, and functions with a
//! grammar of their own.

use pelorus_error::{Error, Result};
use pelorus_query::cast_target;
use pelorus_sql::ast_analysis;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, DataType, Expr, Interval, TrimWhereField, UnaryOperator,
};

use super::{Node, Scope, constant_node};

impl Scope<'_> {
    /// Parses expressions other than arithmetic, constants, columns and plain functions.
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
            Expr::UnaryOp { op: UnaryOperator::BangNot, expr } => self.call("NOT", &[expr]),
            Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr } => self.call("~", &[expr]),
            Expr::RLike { negated, expr, pattern, .. } => {
                self.negated(*negated, self.call("REGEXP", &[expr, pattern])?)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let (operand, otherwise) = (operand.as_deref(), else_result.as_deref());
                self.case(operand, conditions, otherwise, &|result| self.bind(result))
            }
            Expr::Cast { expr, data_type, .. } => self.cast(expr, data_type),
            Expr::Position { expr, r#in } => self.call("LOCATE", &[expr, r#in]),
            Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "TRIM",
                    Some(TrimWhereField::Leading) => "TRIM LEADING",
                    Some(TrimWhereField::Trailing) => "TRIM TRAILING",
                };
                let mut args = vec![expr.as_ref()];
                args.extend(trim_what.as_deref());
                self.call(name, &args)
            }
            Expr::Collate { expr, collation } => {
                let name = self.word(&ast_analysis::plain_name(collation))?;
                self.bound("COLLATE", vec![self.bind(expr)?, name])
            }
            other => Err(Error::unsupported(format_args!("{other} here"))),
        }
    }

    pub(super) fn case(
        &self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
        bind: &dyn Fn(&Expr) -> Result<Node>,
    ) -> Result<Node> {
        let mut args = Vec::new();
        for when in conditions {
            args.push(match operand {
                Some(operand) => self.call("CASE =", &[operand, &when.condition])?,
                None => self.bind(&when.condition)?,
            });
            args.push(bind(&when.result)?);
        }
        args.extend(otherwise.map(bind).transpose()?);
        self.bound("CASE", args)
    }

    fn cast(&self, expr: &Expr, to: &DataType) -> Result<Node> {
        let value = self.bind(expr)?;
        let target = cast_target(to, self.context.collation)?;
        let call = pelorus_functions::cast(target, &value.arg(), &self.context)?;
        Ok(Node::Call(call, vec![value]))
    }

    /// A function whose arguments may be intervals and units.
    pub(super) fn any_function(&self, name: &str, args: &[&Expr]) -> Result<Node> {
        let mut bound = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            match arg {
                Expr::Interval(interval) => bound.extend(self.interval(interval)?),
                // A unit parses as a name.
                Expr::Identifier(unit)
                    if at == 0 && matches!(name, "TIMESTAMPDIFF" | "TIMESTAMPADD") =>
                {
                    bound.push(self.word(&unit.value.to_ascii_uppercase())?);
                }
                arg => bound.push(self.bind(arg)?),
            }
        }
        self.bound(name, bound)
    }

    /// `date + INTERVAL 1 DAY`
    pub(super) fn interval_arithmetic(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<Option<Node>> {
        let (name, date, interval) = match (left, op, right) {
            (date, BinaryOperator::Plus, Expr::Interval(interval))
            | (Expr::Interval(interval), BinaryOperator::Plus, date) => {
                ("DATE_ADD", date, interval)
            }
            (date, BinaryOperator::Minus, Expr::Interval(interval)) => ("DATE_SUB", date, interval),
            _ => return Ok(None),
        };
        let mut args = vec![self.bind(date)?];
        args.extend(self.interval(interval)?);
        self.bound(name, args).map(Some)
    }

    fn interval(&self, interval: &Interval) -> Result<[Node; 2]> {
        let unit = match &interval.leading_field {
            Some(field) if interval.last_field.is_none() => field.to_string().to_ascii_uppercase(),
            _ => return Err(Error::unsupported(interval)),
        };
        Ok([self.bind(&interval.value)?, self.word(&unit)?])
    }

    fn word(&self, text: &str) -> Result<Node> {
        constant_node(pelorus_functions::literal::text(text, &self.context))
    }

    fn negated(&self, negated: bool, node: Node) -> Result<Node> {
        if negated { self.bound("NOT", vec![node]) } else { Ok(node) }
    }
}
