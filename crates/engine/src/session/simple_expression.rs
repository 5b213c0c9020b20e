//! Simple expressions: single literals and variables, whose values are known without a query.

use pelorus_error::Result;
use pelorus_functions::Value;
use pelorus_result::scalar::Typed;
use pelorus_sql::{Mode, TokenKind, literal};
use pelorus_types::ColumnType;

use super::state::client_settings::ClientSettings;
use super::state::user_variables::user_variable;
use super::statement_snapshot::View;

/// The value of a single literal or variable, which most expressions of `SET` are; anything
/// else gives `None` and is planned as a query.
pub(crate) fn value_of(
    settings: &ClientSettings,
    view: &View,
    expression: &str,
) -> Result<Option<Typed>> {
    let tokens = pelorus_sql::tokens(expression, settings.mode());
    let (negative, token) = match tokens.as_slice() {
        [token] => (false, token),
        [minus, token] if minus.is_symbol(expression, "-") => (true, token),
        _ => return Ok(None),
    };
    let text = token.text(expression);
    Ok(match token.kind {
        TokenKind::Integer => integer(text, negative),
        _ if negative => None,
        TokenKind::Text => {
            let value = literal::text_of_token(text, settings.mode());
            let collation = settings.connection_collation();
            let chars = u32::try_from(value.chars().count()).unwrap_or(u32::MAX);
            Some((Value::Text(value), ColumnType::varchar(chars, collation)))
        }
        TokenKind::Word if text.eq_ignore_ascii_case("NULL") => {
            Some((Value::Null, ColumnType::null()))
        }
        TokenKind::UserVariable => {
            Some(user_variable(&view.user_variables, &variable_name(text, settings.mode())))
        }
        TokenKind::SystemVariable => {
            let (global, name) = system_name(text);
            let (value, ty) = view.read_variable(&name, global)?;
            Some((value.to_value(), ty))
        }
        _ => None,
    })
}

/// Scope and name of `@@name`, `@@global.name`.
fn system_name(text: &str) -> (bool, String) {
    let name = text.trim_start_matches('@').replace('`', "");
    match name.split_once('.') {
        Some((scope, rest)) if scope.eq_ignore_ascii_case("global") => (true, rest.to_owned()),
        Some((scope, rest))
            if scope.eq_ignore_ascii_case("session") || scope.eq_ignore_ascii_case("local") =>
        {
            (false, rest.to_owned())
        }
        _ => (false, name),
    }
}

fn integer(text: &str, negative: bool) -> Option<Typed> {
    if negative {
        let value = format!("-{text}").parse().ok()?;
        return Some((Value::Int(value), ColumnType::bigint()));
    }
    match text.parse::<i64>() {
        Ok(value) => Some((Value::Int(value), ColumnType::bigint())),
        Err(_) => Some((Value::UInt(text.parse().ok()?), ColumnType::bigint_unsigned())),
    }
}

/// The name in `@name`, `` @`name` ``, `@'name'`.
pub(crate) fn variable_name(text: &str, mode: Mode) -> String {
    let text = text.strip_prefix('@').unwrap_or(text);
    match text.chars().next() {
        Some('`') => text.trim_matches('`').replace("``", "`"),
        Some('\'' | '"') => literal::text_of_token(text, mode),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_system_variables_are_read() {
        assert_eq!(system_name("@@autocommit"), (false, "autocommit".to_owned()));
        assert_eq!(system_name("@@GLOBAL.`x`"), (true, "x".to_owned()));
        assert_eq!(system_name("@@session.x"), (false, "x".to_owned()));
    }

    #[test]
    fn integers_are_signed_until_they_do_not_fit() {
        assert_eq!(integer("5", true).unwrap().0, Value::Int(-5));
        assert_eq!(integer("18446744073709551615", false).unwrap().0, Value::UInt(u64::MAX));
        assert!(integer("99999999999999999999", false).is_none());
    }

    #[test]
    fn names_of_user_variables_lose_their_quotes() {
        let mode = Mode::default();
        for text in ["@a", "@`a`", "@'a'", "@\"a\""] {
            assert_eq!(variable_name(text, mode), "a");
        }
    }
}
