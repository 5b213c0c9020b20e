//! The text that a column stores for an exact number. COALESCE, IFNULL, IF and CASE keep the digits
//! of the value that they choose; a product that is zero has no digits after the point.

use pelorus_error::{Error, Result};
use pelorus_expression::syntax::{bind, bind_case};
use pelorus_expression::{Binder as _, TypedValue};
use pelorus_functions::assignment::Target;
use pelorus_functions::{CastTarget, literal};
use pelorus_sql::ast::Expr;
use pelorus_sql::ast_analysis;
use pelorus_types::WireType;
use sqlparser::ast::BinaryOperator;

use super::{Scope, arguments};

impl Scope<'_> {
    /// Binds an expression whose values a column stores.
    pub(super) fn stored(&self, tree: &Expr, target: &Target) -> Result<TypedValue> {
        let bound = bind(self, tree)?;
        let is_text = target.ty.is_string() && target.ty.wire != WireType::Json;
        if is_text && bound.arg.ty.is_decimal() { self.digits(tree) } else { Ok(bound) }
    }

    fn digits(&self, tree: &Expr) -> Result<TypedValue> {
        match tree {
            Expr::Nested(inner) => self.digits(inner),
            Expr::Case { operand, conditions, else_result, .. } => {
                let (operand, otherwise) = (operand.as_deref(), else_result.as_deref());
                bind_case(self, operand, conditions, otherwise, &Self::digits)
            }
            Expr::BinaryOp { op: BinaryOperator::Multiply, .. } => {
                let zero = self.constant(literal::number("0")?)?;
                let is_zero = self.call("=", vec![bind(self, tree)?, zero])?;
                let text = self.constant(literal::text("0", &self.context))?;
                self.call("IF", vec![is_zero, text, self.text(tree)?])
            }
            Expr::Function(function) => {
                let name = ast_analysis::function_name(&function.name);
                let args = arguments(function).unwrap_or_default();
                match (name.as_str(), args.as_slice()) {
                    ("COALESCE" | "IFNULL", args) => {
                        let args =
                            args.iter().map(|arg| self.digits(arg)).collect::<Result<_>>()?;
                        self.call(&name, args)
                    }
                    ("IF", [condition, yes, no]) => {
                        let args =
                            vec![bind(self, condition)?, self.digits(yes)?, self.digits(no)?];
                        self.call("IF", args)
                    }
                    ("GREATEST" | "LEAST", args) => {
                        self.check_extreme(&name, args)?;
                        self.text(tree)
                    }
                    _ => self.text(tree),
                }
            }
            _ => self.text(tree),
        }
    }

    /// Error 1235 where the digits of the greatest or least value are those of one argument.
    fn check_extreme(&self, name: &str, args: &[&Expr]) -> Result<()> {
        let decimals = args.iter().map(|arg| Ok(bind(self, arg)?.arg.ty.decimals));
        let decimals = decimals.collect::<Result<Vec<u8>>>()?;
        if decimals.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(Error::unsupported(format_args!(
                "the text of {name} of numbers with different digits after the point"
            )));
        }
        Ok(())
    }

    fn text(&self, tree: &Expr) -> Result<TypedValue> {
        let value = bind(self, tree)?;
        let target = CastTarget::Char(None, self.context.collation);
        self.cast(value, target)
    }
}
