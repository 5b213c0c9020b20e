//! Default names of result columns.
//!
//! MySQL names a column after the text of its expression, from the first token to the last,
//! including comments inside. Strings are named after their value, columns after their last part,
//! `NULL` is always upper case, and parentheses and plus signs around one of these are removed.

use sqlparser::ast::{Expr, UnaryOperator, Value};

use crate::lexer::Token;
use crate::{Mode, literal};

/// How many bytes of a name are kept.
const MAX_BYTES: usize = 255;

/// The text of tokens that follow one another, without the marks of executable comments.
pub(crate) fn source(sql: &str, tokens: &[Token]) -> String {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return String::new() };
    let text = sql.get(first.start..last.end).unwrap_or_default();
    if !text.contains("/*!") && !text.contains("*/") {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut from = first.start;
    for token in tokens {
        out.push_str(&without_marks(sql.get(from..token.start).unwrap_or_default()));
        out.push_str(token.text(sql));
        from = token.end;
    }
    out
}

/// Takes the marks of executable comments out of the text between two tokens.
fn without_marks(gap: &str) -> String {
    let mut out = String::new();
    let mut rest = gap;
    loop {
        if let Some(at) = rest.find("/*") {
            let (before, comment) = rest.split_at(at);
            // A mark that closes an executable comment which began further ahead.
            out.push_str(&before.replacen("*/", "", 1));
            match comment.find("*/") {
                // A whole comment stays.
                Some(end) if !comment.starts_with("/*!") || comment[..end].len() > 9 => {
                    out.push_str(&comment[..end + 2]);
                    rest = &comment[end + 2..];
                }
                _ if comment.starts_with("/*!") => {
                    let inner = &comment[3..];
                    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
                    rest = &inner[if digits < 5 { 0 } else { digits.min(6) }..];
                }
                _ => {
                    out.push_str(comment);
                    return out;
                }
            }
        } else {
            out.push_str(&rest.replacen("*/", "", 1));
            return out;
        }
    }
}

/// The name of a column with an alias.
pub(crate) fn of_alias(alias: &str) -> String {
    trimmed(alias)
}

/// The name of a column without an alias. `first_string` is the first string in its source.
pub(crate) fn of_expression(
    expr: &Expr,
    source: &str,
    first_string: Option<&str>,
    mode: Mode,
) -> String {
    let mut inner = expr;
    let mut text = source;
    while let Expr::Nested(next) | Expr::UnaryOp { op: UnaryOperator::Plus, expr: next } = inner {
        inner = next;
        text = match next_text(text, inner) {
            Some(text) => text,
            None => return trimmed(source),
        };
    }
    match inner {
        Expr::Identifier(name) if !is_variable(name) => trimmed(&name.value),
        Expr::CompoundIdentifier(parts) => {
            parts.last().map(|name| trimmed(&name.value)).unwrap_or_default()
        }
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(_) | Value::NationalStringLiteral(_) => {
                // Of several strings side by side only the first one counts.
                trimmed(&literal::text_of_token(first_string.unwrap_or_default(), mode))
            }
            Value::Null => "NULL".to_owned(),
            Value::Boolean(_) => trimmed(source),
            _ => trimmed(text),
        },
        Expr::Prefixed { value, .. } if is_text(value) => {
            trimmed(&literal::text_of_token(first_string.unwrap_or_default(), mode))
        }
        _ => trimmed(source),
    }
}

/// Whether an unquoted name is that of a variable.
fn is_variable(name: &sqlparser::ast::Ident) -> bool {
    name.quote_style.is_none() && name.value.starts_with('@')
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
}

/// The text in parentheses or after a plus sign.
fn next_text<'a>(text: &'a str, inner: &Expr) -> Option<&'a str> {
    // Only for what can be named after itself the way goes on.
    let named = matches!(
        inner,
        Expr::Nested(_)
            | Expr::UnaryOp { op: UnaryOperator::Plus, .. }
            | Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Value(_)
            | Expr::Prefixed { .. }
    );
    if !named {
        return None;
    }
    let text = match text.strip_prefix('(') {
        Some(rest) => rest.strip_suffix(')')?,
        None => text.strip_prefix('+')?,
    };
    Some(text.trim())
}

/// Cuts a name as MySQL does: nothing invisible in front, at most 255 bytes of whole characters.
fn trimmed(name: &str) -> String {
    let invisible = |char: char| char.is_ascii_whitespace() || char.is_ascii_control();
    let name = name.trim_start_matches(invisible);
    // A NUL ends a name.
    let name = name.split('\0').next().unwrap_or_default();
    let mut end = name.len().min(MAX_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_query;
    use sqlparser::ast::SetExpr;

    fn names(sql: &str) -> Vec<Option<String>> {
        let parsed = parse_query(sql, Mode::default()).unwrap();
        let SetExpr::Select(select) = parsed.query.body.as_ref() else { panic!("not a select") };
        parsed.names(select).unwrap().to_vec()
    }

    /// All as MySQL 9 shows them.
    #[test]
    fn columns_are_named_as_mysql_names_them() {
        for (sql, expected) in [
            ("1 +  2", "1 +  2"),
            ("1 /* c */ + 2 /* d */", "1 /* c */ + 2"),
            ("/* x */ 1+1", "1+1"),
            ("'a' 'b'", "a"),
            ("'it''s'", "it's"),
            ("\"d\"\"q\"", "d\"q"),
            (r"'\tlead'", "lead"),
            ("''", ""),
            ("_latin1 'int'", "int"),
            ("N'nat'", "nat"),
            ("x'41'", "x'41'"),
            ("(  1 )", "1"),
            ("('a')", "a"),
            ("null", "NULL"),
            ("(null)", "NULL"),
            ("true", "true"),
            ("(true)", "(true)"),
            ("@a", "@a"),
            ("@@session.autocommit", "@@session.autocommit"),
            ("- 1", "- 1"),
            ("-(1)", "-(1)"),
            ("+ (1)", "1"),
            ("((+1))", "1"),
            ("+'a'", "a"),
            ("count( * )", "count( * )"),
            ("(SELECT   1   )", "(SELECT   1   )"),
            ("(1 + 1 ) ", "(1 + 1 )"),
            ("'a' 'b' 'c' COLLATE utf8mb4_bin", "'a' 'b' 'c' COLLATE utf8mb4_bin"),
            ("/*!50000 1 + */ 1", "1 +  1"),
            ("/*!50000 1 + 1 */", "1 + 1"),
            ("1 as ' x'", "x"),
            ("1 as 'x '", "x "),
            ("'tail  '", "tail  "),
            ("1+\n2", "1+\n2"),
            ("{d '2020-01-01'}", "{d '2020-01-01'}"),
            ("`d` . `X`", "X"),
            ("+d.x", "x"),
            ("`d`.`x`+1", "`d`.`x`+1"),
            ("@x:=1", "@x:=1"),
        ] {
            assert_eq!(names(&format!("SELECT {sql}")), [Some(expected.to_owned())], "{sql}");
        }
    }

    #[test]
    fn long_names_are_cut_at_a_character() {
        let long = "é".repeat(300);
        let name = |sql: String| names(&sql).pop().flatten().unwrap();
        assert_eq!(name(format!("SELECT '{long}'")).chars().count(), 127);
        assert_eq!(name(format!("SELECT 1+'{long}'")).chars().count(), 129);
    }

    #[test]
    fn every_select_has_its_names() {
        let sql = "SELECT *, (SELECT 7 x), t.* FROM (SELECT 1+1) t UNION SELECT 'b', 2, 3";
        let parsed = parse_query(sql, Mode::default()).unwrap();
        let SetExpr::SetOperation { left, right, .. } = parsed.query.body.as_ref() else {
            panic!("not a union")
        };
        let of = |body: &SetExpr| match body {
            SetExpr::Select(select) => parsed.names(select).unwrap().to_vec(),
            _ => panic!("not a select"),
        };
        assert_eq!(of(left), [None, Some("(SELECT 7 x)".to_owned()), None]);
        assert_eq!(of(right)[0].as_deref(), Some("b"));
    }
}
