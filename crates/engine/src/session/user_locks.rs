//! `GET_LOCK` and the other locking functions: calls are replaced by their results before a
//! statement is planned, because they wait and change the state of the session.
//!
//! A lock is taken on the server where the application's other clients take it: the server of the
//! current database, else the only linked server if no database is selected, else Pelorus
//! ([`crate::user_locks`]).

use std::time::Duration;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_link::Link;
use pelorus_result::scalar::{text_of, value_at};
use pelorus_sql::{Mode, Token, literal};

use super::context::{ReadContext, TransactionContext};
use super::statement_snapshot::View;
use super::{primary_connection, simple_expression};

/// The locking functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Get,
    Release,
    ReleaseAll,
    IsFree,
    IsUsed,
}

/// Their names and numbers of arguments.
const FUNCTIONS: [(&str, Function, usize); 5] = [
    ("GET_LOCK", Function::Get, 2),
    ("RELEASE_LOCK", Function::Release, 1),
    ("RELEASE_ALL_LOCKS", Function::ReleaseAll, 0),
    ("IS_FREE_LOCK", Function::IsFree, 1),
    ("IS_USED_LOCK", Function::IsUsed, 1),
];

/// Words of statements in which a call may be evaluated for other rows than one, or for none.
const CONDITIONAL: [&str; 12] = [
    "FROM", "CASE", "IF", "IFNULL", "NULLIF", "COALESCE", "AND", "OR", "XOR", "IN", "UNION", "WITH",
];

/// A call in a text of SQL.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    function: Function,
    name: &'static str,
    /// The tokens from the name to the closing parenthesis.
    tokens: std::ops::Range<usize>,
    /// The texts of the arguments.
    arguments: Vec<String>,
}

/// Makes the calls of locking functions in a query without tables, from left to right; the
/// query with their results in their places. `None` for a query that calls none.
///
/// # Errors
/// Calls under conditions, with tables or in one another (1235); errors of the calls.
pub(crate) async fn with_results(
    cx: &mut TransactionContext<'_>,
    view: &View,
    sql: &str,
) -> Result<Option<String>> {
    let tokens = tokens_with_calls(sql, cx.settings.mode());
    let calls = calls(sql, &tokens)?;
    if calls.is_empty() {
        return Ok(None);
    }
    let mut results = Vec::with_capacity(calls.len());
    for call in &calls {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (at, argument) in call.arguments.iter().enumerate() {
            let value = if at == 1 {
                // The seconds, as a number.
                constant(cx.reads(), view, &format!("0 + ({argument})")).await?
            } else {
                constant(cx.reads(), view, argument).await?
            };
            arguments.push(value);
        }
        results.push(evaluate_call(cx, call, &arguments).await?);
    }
    Ok(Some(replaced(sql, &tokens, &calls, &results)))
}

/// The same for a query that is only described: nothing is locked or released.
pub(crate) fn described(sql: &str, mode: Mode) -> Result<Option<String>> {
    let tokens = tokens_with_calls(sql, mode);
    let calls = calls(sql, &tokens)?;
    let results = vec![Some(0); calls.len()];
    Ok((!calls.is_empty()).then(|| replaced(sql, &tokens, &calls, &results)))
}

async fn evaluate_call(
    cx: &mut TransactionContext<'_>,
    call: &Call,
    arguments: &[Option<String>],
) -> Result<Option<u64>> {
    if call.function == Function::ReleaseAll {
        return release_all(cx).await.map(Some);
    }
    // An unnamed lock is refused by the name that it has as a text.
    let name = arguments.first().cloned().flatten().unwrap_or_else(|| "NULL".to_owned());
    if arguments.first().is_none_or(Option::is_none) {
        return Err(Error::new(
            Code::UserLockWrongName,
            format!("Incorrect user-level lock name '{name}'."),
        ));
    }
    let link = link_of(cx, &name);
    if let Some(link) = link {
        let sql = query_text(call, arguments, cx.settings.mode());
        return call_on_server(cx, &link, call.function, &name, &sql).await;
    }
    let (id, locks) = (cx.reads().id(), cx.engine.user_locks());
    Ok(match call.function {
        Function::Get => {
            let wait = wait_of(arguments.get(1).cloned().flatten().as_deref());
            Some(u64::from(locks.get(id, &name, wait).await?))
        }
        Function::Release => locks.release(id, &name)?.map(u64::from),
        Function::IsFree => Some(u64::from(locks.holder(&name)?.is_none())),
        Function::IsUsed => locks.holder(&name)?,
        Function::ReleaseAll => None,
    })
}

async fn call_on_server(
    cx: &mut TransactionContext<'_>,
    link: &Link,
    function: Function,
    name: &str,
    sql: &str,
) -> Result<Option<u64>> {
    if cx.identity.is_read_only() && function == Function::Get {
        return Err(Error::new(
            Code::SpecificAccessDenied,
            format!(
                "Access denied; account {} is READ ONLY, and locks of server '{}' keep its other \
                 clients waiting",
                cx.identity.account(),
                link.name()
            ),
        ));
    }
    primary_connection::join(cx, link).await?;
    let result = primary_connection::query_number(cx, link.name(), sql).await?;
    match (function, result) {
        (Function::Get, Some(1)) => {
            cx.locks.add_user_lock(name, link.name());
        }
        // Held no longer, or several times: then the next release finds it by asking again.
        (Function::Release, None) => {
            cx.locks.remove_user_lock(name);
        }
        _ => {}
    }
    Ok(result)
}

async fn release_all(cx: &mut TransactionContext<'_>) -> Result<u64> {
    let mut times = cx.engine.user_locks().release_all(cx.reads().id());
    for name in cx.locks.take_user_locks() {
        let Some(link) = cx.engine.links().get(&name) else { continue };
        let sql = "SELECT RELEASE_ALL_LOCKS()";
        let released = call_on_server(cx, &link, Function::ReleaseAll, "", sql).await?;
        times += released.unwrap_or(0);
    }
    Ok(times)
}

/// The linked server that a lock belongs to: where the session holds it, else where one is
/// looked for now.
fn link_of(cx: &TransactionContext<'_>, name: &str) -> Option<Link> {
    let links = cx.engine.links();
    if let Some(link) = cx.locks.link_of_user_lock(name) {
        return links.get(link);
    }
    cx.routing().current_link()
}

/// The text of a constant expression's value; `None` for NULL.
async fn constant(cx: ReadContext<'_>, view: &View, expression: &str) -> Result<Option<String>> {
    let (value, ty) = match simple_expression::value_of(cx.settings, view, expression)? {
        Some(value) => value,
        None => {
            let context = cx.query_context(&std::sync::Arc::new(view.clone()));
            let sql = format!("SELECT {expression}");
            let set = cx.run_query(&context, &sql, crate::api::RowFormat::Text).await?;
            let batches = pelorus_result::collect::batches(&set.columns, set.rows).await?;
            let [column] = set.columns.as_slice() else {
                return Err(Error::new(Code::OperandColumns, "Operand should contain 1 column(s)"));
            };
            let first = batches.iter().find(|batch| batch.num_rows() > 0);
            let value = first.map(|batch| value_at(batch.column(0), &column.ty, 0));
            (value.transpose()?.unwrap_or(Value::Null), column.ty)
        }
    };
    Ok((value != Value::Null).then(|| text_of(&value, &ty)))
}

/// The tokens of a text that may call locking functions; none of any other text.
fn tokens_with_calls(sql: &str, mode: Mode) -> Vec<Token> {
    let may = sql.as_bytes().windows(5).any(|bytes| bytes.eq_ignore_ascii_case(b"_LOCK"));
    if may { pelorus_sql::tokens(sql, mode) } else { Vec::new() }
}

/// The calls in a text, from left to right.
fn calls(sql: &str, tokens: &[Token]) -> Result<Vec<Call>> {
    let mut calls = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let known = FUNCTIONS.iter().find(|(name, _, _)| token.is_word(sql, name));
        let opens = tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, "("));
        let (Some((name, function, count)), true) = (known, opens) else {
            at += 1;
            continue;
        };
        let (arguments, end) = arguments(sql, tokens, at + 2)?;
        if arguments.len() != *count {
            return Err(Error::new(
                Code::WrongParameterCount,
                format!("Incorrect parameter count in the call to native function '{name}'"),
            ));
        }
        calls.push(Call { function: *function, name, tokens: at..end, arguments });
        at = end;
    }
    let inside = |at: usize| calls.iter().any(|call| call.tokens.contains(&at));
    let is_conditional = |(at, token): (usize, &Token)| {
        let is_subquery = at > 0 && token.is_word(sql, "SELECT");
        let is_word = CONDITIONAL.iter().any(|word| token.is_word(sql, word));
        let is_symbol = ["&&", "||", ":="].iter().any(|symbol| token.is_symbol(sql, symbol));
        let is_nested = inside(at)
            && FUNCTIONS.iter().any(|(name, _, _)| token.is_word(sql, name))
            && !calls.iter().any(|call| call.tokens.start == at);
        is_subquery || is_symbol || is_nested || is_word && !inside(at)
    };
    if !calls.is_empty() && tokens.iter().enumerate().any(is_conditional) {
        let name = calls.first().map_or("", |call| call.name);
        return Err(Error::unsupported(format_args!(
            "{name}() under conditions, in subqueries or in a query with tables"
        )));
    }
    Ok(calls)
}

/// The texts between the commas of a list, and the index after its closing parenthesis.
fn arguments(sql: &str, tokens: &[Token], first: usize) -> Result<(Vec<String>, usize)> {
    let mut arguments = Vec::new();
    let (mut depth, mut begin) = (0_usize, first);
    for (at, token) in tokens.iter().enumerate().skip(first) {
        let closes = depth == 0 && token.is_symbol(sql, ")");
        if closes || depth == 0 && token.is_symbol(sql, ",") {
            match (tokens.get(begin), tokens.get(at.wrapping_sub(1))) {
                (Some(from), Some(to)) if begin < at => {
                    let text = sql.get(from.span().start..to.span().end).unwrap_or_default();
                    arguments.push(text.to_owned());
                }
                _ if closes && arguments.is_empty() => {}
                _ => return Err(pelorus_sql::lexer::syntax_error(sql, token.span().start)),
            }
            begin = at + 1;
        }
        if closes {
            return Ok((arguments, at + 1));
        }
        if token.is_symbol(sql, "(") {
            depth += 1;
        } else if token.is_symbol(sql, ")") {
            depth -= 1;
        }
    }
    Err(pelorus_sql::lexer::syntax_error(sql, sql.len()))
}

/// The text with results in the places of calls. A select item keeps the name that it had.
fn replaced(sql: &str, tokens: &[Token], calls: &[Call], results: &[Option<u64>]) -> String {
    let mut out = String::new();
    let mut from = 0;
    for (call, result) in calls.iter().zip(results) {
        let (Some(first), Some(last)) =
            (tokens.get(call.tokens.start), tokens.get(call.tokens.end - 1))
        else {
            continue;
        };
        let (begin, end) = (first.span().start, last.span().end);
        out.push_str(sql.get(from..begin).unwrap_or_default());
        match result {
            Some(number) => out.push_str(&number.to_string()),
            None => out.push_str("NULL"),
        }
        // An item that is nothing but the call would be named after its result.
        let starts_item = call.tokens.start.checked_sub(1).and_then(|at| tokens.get(at));
        let starts_item = starts_item
            .is_some_and(|token| token.is_symbol(sql, ",") || token.is_word(sql, "SELECT"));
        let ends_item = tokens.get(call.tokens.end);
        let ends_item =
            ends_item.is_none_or(|token| token.is_symbol(sql, ",") || token.is_symbol(sql, ";"));
        if starts_item && ends_item {
            let written = sql.get(begin..end).unwrap_or_default();
            out.push_str(&format!(" AS {}", literal::name(written)));
        }
        from = end;
    }
    out.push_str(sql.get(from..).unwrap_or_default());
    out
}

/// The call as a query for a server.
fn query_text(call: &Call, arguments: &[Option<String>], mode: Mode) -> String {
    let texts: Vec<String> = arguments
        .iter()
        .map(|argument| match argument {
            Some(text) => literal::text(text, mode),
            None => "NULL".to_owned(),
        })
        .collect();
    format!("SELECT {}({})", call.name, texts.join(", "))
}

/// How long `GET_LOCK` waits: seconds, rounded; without a limit where they are negative.
fn wait_of(seconds: Option<&str>) -> Option<Duration> {
    let seconds = seconds.unwrap_or("0").parse::<f64>().unwrap_or(0.0).round();
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str) -> Result<String> {
        let tokens = tokens_with_calls(sql, Mode::default());
        let calls = calls(sql, &tokens)?;
        Ok(replaced(sql, &tokens, &calls, &vec![Some(1); calls.len()]))
    }

    #[test]
    fn calls_become_their_results_under_their_names() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SELECT GET_LOCK('a', 10)", "SELECT 1 AS `GET_LOCK('a', 10)`"),
            ("SELECT get_lock('a', 1 + 2) AS ok", "SELECT 1 AS ok"),
            ("SELECT RELEASE_LOCK('a,b)'), 2", "SELECT 1 AS `RELEASE_LOCK('a,b)')`, 2"),
            ("SELECT RELEASE_ALL_LOCKS() = 1", "SELECT 1 = 1"),
            (
                "SELECT GET_LOCK(CONCAT('a', 'b'), 0);",
                "SELECT 1 AS `GET_LOCK(CONCAT('a', 'b'), 0)`;",
            ),
            ("SELECT 'GET_LOCK(1)'", "SELECT 'GET_LOCK(1)'"),
            ("SELECT `is_free_lock`", "SELECT `is_free_lock`"),
        ] {
            assert_eq!(rewritten(sql).unwrap(), expected, "{sql}");
        }
    }

    #[test]
    fn calls_that_may_be_made_for_other_rows_are_refused() {
        for (sql, errno) in [
            ("SELECT GET_LOCK('a', 1) FROM t", 1235),
            ("SELECT IF(1, GET_LOCK('a', 1), 0)", 1235),
            ("SELECT 1 AND GET_LOCK('a', 1)", 1235),
            ("SELECT (SELECT GET_LOCK('a', 1))", 1235),
            ("SELECT GET_LOCK('a', RELEASE_LOCK('b'))", 1235),
            ("SELECT GET_LOCK('a')", 1582),
            ("SELECT RELEASE_LOCK(", 1064),
            ("SELECT GET_LOCK('a',)", 1064),
        ] {
            assert_eq!(rewritten(sql).unwrap_err().errno(), errno, "{sql}");
        }
    }

    #[test]
    fn negative_waits_have_no_limit() {
        assert_eq!(wait_of(Some("-1")), None);
        assert_eq!(wait_of(Some("2.6")), Some(Duration::from_secs(3)));
        assert_eq!(wait_of(None), Some(Duration::ZERO));
    }
}
