//! Constants and type names of the syntax tree.

use pelorus_error::{Error, Result};
use pelorus_functions::{Arg, literal as make};
use pelorus_sql::literal::{self, Constant};
use pelorus_types::Collation;
use sqlparser::ast;

use crate::context::QueryContext;

/// Reads a literal.
pub(crate) fn literal(expr: &ast::Expr, context: &QueryContext) -> Result<Arg> {
    if let ast::Expr::TypedString(typed) = expr {
        return typed_string(typed, context);
    }
    let constant = literal::constant(expr, context.mode);
    match constant.ok_or_else(|| Error::unsupported(expr))? {
        Constant::Null => Ok(make::null()),
        Constant::Boolean(truth) => Ok(make::boolean(truth)),
        Constant::Integer(text) | Constant::Decimal(text) | Constant::Float(text) => {
            make::number(&text)
        }
        Constant::Text { text, charset: None } => Ok(make::text(text, &context.eval)),
        Constant::Text { text, charset: Some(charset) } => {
            // Only where the bytes of the text are the same in both charsets.
            let same = text.is_ascii() || charset.starts_with("utf8");
            let collation = Collation::default_of(&charset).filter(|_| same);
            let collation = collation
                .ok_or_else(|| Error::unsupported(format_args!("text in charset {charset}")))?;
            Ok(make::text_of(text, collation))
        }
        Constant::Hex { bytes, charset: None } => Ok(make::hex(bytes)),
        Constant::Bits { bytes, charset: None } => Ok(make::bits(bytes)),
        Constant::Hex { charset: Some(charset), .. }
        | Constant::Bits { charset: Some(charset), .. } => {
            Err(Error::unsupported(format_args!("bytes in charset {charset}")))
        }
        // A parameter whose value is not known yet, as when a statement is prepared.
        Constant::Placeholder => Ok(make::null()),
    }
}

/// Whether it stands for a value that is not known yet.
pub(crate) fn is_open(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(value) => matches!(value.value, ast::Value::Placeholder(_)),
        _ => false,
    }
}

fn typed_string(typed: &ast::TypedString, context: &QueryContext) -> Result<Arg> {
    let value = ast::Expr::Value(typed.value.clone());
    let Some(Constant::Text { text, .. }) = literal::constant(&value, context.mode) else {
        return Err(Error::unsupported(typed));
    };
    match typed.data_type.to_string().to_ascii_uppercase().as_str() {
        "DATE" => make::date(&text, &context.eval),
        "TIME" => make::time(&text),
        "TIMESTAMP" | "DATETIME" => make::timestamp(&text, &context.eval),
        _ => Err(Error::unsupported(typed)),
    }
}
