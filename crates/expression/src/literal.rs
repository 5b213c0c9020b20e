//! Literals of the syntax tree as arguments of functions.

use pelorus_error::{Error, Result};
use pelorus_functions::{Arg, EvalContext, literal as make};
use pelorus_mysql_wire::charset::decode;
use pelorus_sql::Mode;
use pelorus_sql::literal::{self, Constant};
use pelorus_types::Collation;
use pelorus_types::charset::Table;
use sqlparser::ast;

/// The value of a literal: a number, a text, NULL, `DATE '2026-01-01'`. A placeholder is NULL.
///
/// # Errors
/// Error 1235 for what is no literal, and those of its type.
pub fn literal(expr: &ast::Expr, mode: Mode, context: &EvalContext) -> Result<Arg> {
    if let ast::Expr::TypedString(typed) = expr {
        return typed_string(typed, mode, context);
    }
    let constant = literal::constant(expr, mode);
    match constant.ok_or_else(|| Error::unsupported(expr))? {
        Constant::Null => Ok(make::null()),
        Constant::Boolean(truth) => Ok(make::boolean(truth)),
        Constant::Integer(text) | Constant::Decimal(text) | Constant::Float(text) => {
            make::number(&text)
        }
        Constant::Text { text, charset: None } => Ok(make::text(text, context)),
        Constant::Text { text, charset: Some(charset) } => introduced(text.into_bytes(), &charset),
        Constant::Hex { bytes, charset: None } => Ok(make::hex(bytes)),
        Constant::Bits { bytes, charset: None } => Ok(make::bits(bytes)),
        Constant::Hex { bytes, charset: Some(charset) }
        | Constant::Bits { bytes, charset: Some(charset) } => introduced(bytes, &charset),
        // A parameter whose value is not known yet, as when a statement is prepared.
        Constant::Placeholder => Ok(make::null()),
    }
}

/// `_charset'...'`: bytes as text of a charset. (Strings in charsets other than UTF-8 arrive as
/// hexadecimal literals.)
///
/// # Errors
/// Error 1300 for bytes that are not ASCII, 1235 for unsupported charsets.
pub fn introduced(bytes: Vec<u8>, charset: &str) -> Result<Arg> {
    let unsupported = || Error::unsupported(format_args!("text in charset {charset}"));
    let collation = Collation::default_of(charset).ok_or_else(unsupported)?;
    match collation.charset() {
        "binary" => Ok(make::bytes(bytes)),
        "utf8mb4" | "utf8mb3" => Ok(match String::from_utf8(bytes) {
            Ok(text) => make::text_of(text, collation),
            Err(error) => make::broken(error.into_bytes()),
        }),
        "latin1" | "ascii" => Ok(make::text_of(decode(collation, &bytes)?, collation)),
        name => {
            let table = Table::of(name).ok_or_else(unsupported)?;
            let mut text = Vec::new();
            let text = table.decode(&bytes, &mut text).then_some(text);
            let text = text.and_then(|text| String::from_utf8(text).ok());
            Ok(make::text_of(text.ok_or_else(unsupported)?, collation))
        }
    }
}

/// Whether it is a placeholder, whose value is not known yet.
pub fn is_placeholder(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(value) => matches!(value.value, ast::Value::Placeholder(_)),
        _ => false,
    }
}

fn typed_string(typed: &ast::TypedString, mode: Mode, context: &EvalContext) -> Result<Arg> {
    let value = ast::Expr::Value(typed.value.clone());
    let Some(Constant::Text { text, .. }) = literal::constant(&value, mode) else {
        return Err(Error::unsupported(typed));
    };
    let is_long = text.rsplit_once('.').is_some_and(|(_, digits)| digits.len() > 6);
    if is_long && context.of_mariadb {
        return Err(Error::unsupported("more than six digits of a second as MariaDB has them"));
    }
    match typed.data_type.to_string().to_ascii_uppercase().as_str() {
        "DATE" => make::date(&text, context),
        "TIME" => make::time(&text),
        "TIMESTAMP" | "DATETIME" => make::timestamp(&text, context),
        _ => Err(Error::unsupported(typed)),
    }
}
