//! The text of a `SHOW` for a linked server, written from the parsed statement, never the client's
//! own text.

use pelorus_error::{Error, Result};
use pelorus_functions::{Volatility, names};
use pelorus_sql::ast_analysis::{self, Node};
use pelorus_sql::lexer::server_text;
use pelorus_sql::statement::{Show, ShowKind};
use pelorus_sql::{Mode, literal, parse_expression};

use crate::links::LinkedDatabase;

/// A `SHOW` about one database or an object in it.
///
/// # Errors
/// Conditions that more than the rows of the `SHOW` decide (1235).
pub(super) fn in_database(show: &Show, database: &LinkedDatabase, mode: Mode) -> Result<String> {
    let words = match show.kind {
        ShowKind::Tables => "TABLES",
        ShowKind::TableStatus => "TABLE STATUS",
        ShowKind::Columns => "COLUMNS",
        ShowKind::Index => "INDEX",
        ShowKind::Triggers => "TRIGGERS",
        ShowKind::Events => "EVENTS",
        ShowKind::OpenTables => "OPEN TABLES",
        ShowKind::CreateTable => "CREATE TABLE",
        ShowKind::CreateView => "CREATE VIEW",
        ShowKind::CreateTrigger => "CREATE TRIGGER",
        ShowKind::CreateEvent => "CREATE EVENT",
        ShowKind::CreateFunction => "CREATE FUNCTION",
        ShowKind::CreateProcedure => "CREATE PROCEDURE",
        ShowKind::FunctionCode => "FUNCTION CODE",
        ShowKind::ProcedureCode => "PROCEDURE CODE",
        other => return Err(Error::unsupported(format_args!("SHOW {other:?}"))),
    };
    let is_object = words.starts_with("CREATE") || words.ends_with("CODE");
    let remote = literal::name(&database.remote);
    let table = show.table.as_ref().map(|table| literal::name(&table.name));
    let mut sql = String::from("SHOW ");
    if show.extended {
        sql.push_str("EXTENDED ");
    }
    if show.full {
        sql.push_str("FULL ");
    }
    sql.push_str(words);
    match table {
        Some(table) if is_object => sql.push_str(&format!(" {remote}.{table}")),
        Some(table) => sql.push_str(&format!(" FROM {table} FROM {remote}")),
        None => sql.push_str(&format!(" FROM {remote}")),
    }
    if let Some(pattern) = &show.like {
        sql.push_str(&format!(" LIKE {}", literal::text(pattern, mode)));
    }
    if let Some(condition) = &show.filter {
        sql.push_str(&format!(" WHERE {}", of_rows(condition, mode)?));
    }
    Ok(sql)
}

/// `SHOW CREATE DATABASE`.
pub(super) fn create_database(show: &Show, name: &str) -> String {
    let exists = if show.if_not_exists { "IF NOT EXISTS " } else { "" };
    format!("SHOW CREATE DATABASE {exists}{}", literal::name(name))
}

/// `SHOW WARNINGS` and `SHOW ERRORS`.
pub(super) fn conditions(show: &Show) -> String {
    let what = if show.kind == ShowKind::Errors { "ERRORS" } else { "WARNINGS" };
    let limit = show.limit.map(|(offset, rows)| format!(" LIMIT {offset}, {rows}"));
    format!("SHOW {what}{}", limit.unwrap_or_default())
}

/// A condition on the rows of a `SHOW`: nothing in it can read a table, or ask or change what belongs
/// to the server or to the session that it has there.
fn of_rows(condition: &str, mode: Mode) -> Result<String> {
    let expr = parse_expression(condition, mode)?;
    let refused = |what: &str| {
        Err(Error::unsupported(format_args!("{what} in SHOW ... WHERE about a linked server")))
    };
    let mut has_query = false;
    ast_analysis::walk_expr(&expr, &mut |node| has_query |= matches!(node, Node::Query(_)));
    if has_query {
        return refused("a subquery");
    }
    let on = ast_analysis::expression_dependence(&expr, mode);
    if on.assigns || !on.user_variables.is_empty() || !on.system_variables.is_empty() {
        return refused("a variable");
    }
    let is_refused = |(name, arguments): &&(String, usize)| {
        let volatility = names::volatility(name, *arguments);
        !names::is_function(name) || !matches!(volatility, Volatility::Immutable | Volatility::Time)
    };
    if let Some((function, _)) = on.functions.iter().find(is_refused) {
        return refused(function);
    }
    Ok(server_text(condition, mode)?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str) -> Result<String> {
        let statement = pelorus_sql::classify(sql, Mode::default()).unwrap();
        let pelorus_sql::Statement::Show(show) = statement else { panic!("{statement:?}") };
        show.filter.as_deref().map_or_else(|| Ok(String::new()), |it| of_rows(it, Mode::default()))
    }

    #[test]
    fn conditions_are_about_the_rows_alone() {
        let sql = "SHOW TABLES WHERE Tables_in_d LIKE 'a%' AND /*! NOT */ CHAR_LENGTH(x) > 1 -- b";
        assert_eq!(text(sql).unwrap(), "Tables_in_d LIKE 'a%' AND  NOT  CHAR_LENGTH(x) > 1");
        for condition in [
            "(SELECT 1 FROM secret.t)",
            "EXISTS (TABLE secret.t)",
            "1 IN (SELECT 1)",
            "f()",
            "secret.f(1)",
            "@a",
            "@@version = 'a'",
            "USER() = 'a'",
            "SLEEP(1)",
            "GET_LOCK('a', 1)",
            "LOAD_FILE('a')",
            "CASE WHEN 1 THEN f(2) END",
        ] {
            let error = text(&format!("SHOW TABLES WHERE {condition}")).unwrap_err();
            assert!(matches!(error.errno(), 1235 | 1064), "{condition}: {error}");
        }
    }
}
