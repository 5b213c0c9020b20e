//! The text that a column stores for an exact number. COALESCE, IFNULL, IF and CASE keep the digits
//! of the value that they choose; a product that is zero has no digits after the point.

use pelorus_error::{Error, Result};
use pelorus_functions::CastTarget;
use pelorus_functions::assignment::Target;
use pelorus_sql::ast::Expr;
use pelorus_sql::ast_analysis;
use pelorus_types::WireType;
use sqlparser::ast::BinaryOperator;

use super::{Node, Scope, arguments, constant_node};

impl Scope<'_> {
    /// Binds an expression whose values a column stores.
    pub(super) fn stored(&self, tree: &Expr, target: &Target) -> Result<Node> {
        let bound = self.bind(tree)?;
        let is_text = target.ty.is_string() && target.ty.wire != WireType::Json;
        if is_text && bound.ty().is_decimal() { self.digits(tree) } else { Ok(bound) }
    }

    fn digits(&self, tree: &Expr) -> Result<Node> {
        match tree {
            Expr::Nested(inner) => self.digits(inner),
            Expr::Case { operand, conditions, else_result, .. } => {
                let (operand, otherwise) = (operand.as_deref(), else_result.as_deref());
                self.case(operand, conditions, otherwise, &|result| self.digits(result))
            }
            Expr::BinaryOp { op: BinaryOperator::Multiply, .. } => {
                let text =
                    |text| constant_node(pelorus_functions::literal::text(text, &self.context));
                let zero = constant_node(pelorus_functions::literal::number("0")?)?;
                let is_zero = self.bound("=", vec![self.bind(tree)?, zero])?;
                self.bound("IF", vec![is_zero, text("0")?, self.text(tree)?])
            }
            Expr::Function(function) => {
                let name = ast_analysis::function_name(&function.name);
                let args = arguments(function).unwrap_or_default();
                match (name.as_str(), args.as_slice()) {
                    ("COALESCE" | "IFNULL", args) => {
                        let args =
                            args.iter().map(|arg| self.digits(arg)).collect::<Result<_>>()?;
                        self.bound(&name, args)
                    }
                    ("IF", [condition, yes, no]) => {
                        let args = vec![self.bind(condition)?, self.digits(yes)?, self.digits(no)?];
                        self.bound("IF", args)
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
        let decimals = args.iter().map(|arg| Ok(self.bind(arg)?.ty().decimals));
        let decimals = decimals.collect::<Result<Vec<u8>>>()?;
        if decimals.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(Error::unsupported(format_args!(
                "the text of {name} of numbers with different digits after the point"
            )));
        }
        Ok(())
    }

    fn text(&self, tree: &Expr) -> Result<Node> {
        let value = self.bind(tree)?;
        let target = CastTarget::Char(None, self.context.collation);
        let call = pelorus_functions::cast(target, &value.arg(), &self.context)?;
        Ok(Node::Call(call, vec![value]))
    }
}
