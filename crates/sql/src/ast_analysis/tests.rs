//! Tests of the analysis of syntax trees.

use super::*;
use crate::{parse_expression, parse_query};

fn query(sql: &str) -> Query {
    *parse_query(sql, Mode::default()).unwrap().query
}

fn expr(sql: &str) -> Expr {
    parse_expression(sql, Mode::default()).unwrap()
}

fn tables(sql: &str) -> String {
    let tables = table_references(&query(sql));
    let text = tables.iter().map(|reference| {
        let database = reference.table.database.as_ref().map(|name| format!("{name}."));
        let alias = reference.alias.as_ref().map(|name| format!(" {name}"));
        format!(
            "{}{}{}",
            database.unwrap_or_default(),
            reference.table.name,
            alias.unwrap_or_default()
        )
    });
    text.collect::<Vec<_>>().join(", ")
}

#[test]
fn tables_are_found_wherever_they_stand() {
    assert_eq!(
        tables(
            "SELECT (SELECT 1 FROM a) FROM d.b x LEFT JOIN (c, e) ON x.i IN (SELECT 1 FROM f) \
             WHERE EXISTS (SELECT * FROM g UNION SELECT * FROM h) ORDER BY (SELECT 1 FROM i)"
        ),
        "a, d.b x, c, e, f, g, h, i"
    );
}

#[test]
fn names_of_with_hide_tables_only_where_they_can_be_seen() {
    assert_eq!(tables("WITH a AS (SELECT * FROM a) SELECT * FROM a, d.a, b"), "a, d.a, b");
    assert_eq!(tables("WITH RECURSIVE a AS (SELECT 1 FROM a) SELECT * FROM A"), "");
    assert_eq!(tables("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b"), "b");
    assert_eq!(tables("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) s, a"), "a");
    assert_eq!(tables("WITH a AS (SELECT 1) SELECT * FROM t WHERE i IN (SELECT * FROM a)"), "t");
}

#[test]
fn databases_are_renamed_with_their_columns() {
    let mut query = query(
        "WITH t AS (SELECT 1) SELECT d.u.a, d.u.*, u.b FROM d.u, t WHERE d.u.c = (SELECT 1 FROM v)",
    );
    rename_tables(&mut query, |table| {
        let database = match table.database.as_deref() {
            Some("d") => "remote",
            None => "home",
            _ => return None,
        };
        Some(TableName { database: Some(database.to_owned()), name: table.name.clone() })
    });
    assert_eq!(
        query.to_string(),
        "WITH t AS (SELECT 1) SELECT `remote`.`u`.a, `remote`.`u`.*, u.b FROM `remote`.`u`, t \
         WHERE `remote`.`u`.c = (SELECT 1 FROM `home`.`v`)"
    );
}

#[test]
fn conjunctions_come_apart_and_together() {
    let filter = expr("a = 1 AND (b = 2 AND (c OR d)) AND NOT e");
    let parts = conjuncts(&filter);
    let text: Vec<String> = parts.iter().map(ToString::to_string).collect();
    assert_eq!(text, ["a = 1", "b = 2", "(c OR d)", "NOT e"]);
    let again = conjunction(parts.into_iter().cloned()).unwrap();
    assert_eq!(again.to_string(), "(a = 1) AND (b = 2) AND (c OR d) AND (NOT e)");
    assert_eq!(conjunction([]), None);
}

#[test]
fn columns_are_told_from_variables_and_subqueries() {
    let filter = expr("a + t.b > @x AND d.t.c IN (SELECT z FROM u) AND @@autocommit");
    let text = |columns: Vec<Vec<Ident>>| {
        let parts = columns
            .into_iter()
            .map(|parts| parts.into_iter().map(|part| part.value).collect::<Vec<_>>().join("."));
        parts.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(text(columns(&filter)), "a t.b d.t.c");
    assert_eq!(text(all_columns(&filter)), "a t.b d.t.c z");
}

#[test]
fn aggregates_and_windows_are_seen() {
    assert!(has_aggregate(&expr("1 + sum(a)")) && !has_window(&expr("1 + sum(a)")));
    assert!(!has_aggregate(&expr("sum(a) OVER ()")) && has_window(&expr("sum(a) OVER ()")));
    assert!(has_aggregate(&expr("sum(count(*)) OVER ()")));
    assert!(!has_aggregate(&expr("(SELECT sum(a) FROM t)")));
    assert!(AGGREGATES.is_sorted());
}

#[test]
fn dependences_are_seen() {
    let found = dependence(
        &query(
            "SELECT rand(), NOW(), CURRENT_DATE, user(), @`X`, @y := 1, @@session.sql_mode, d.f(1), \
             last_insert_id(5), (SELECT get_lock('a', 1)), unix_timestamp(), unix_timestamp(a)",
        ),
        Mode::default(),
    );
    let called = |name: &str, arguments| found.calls(|it, count| it == name && count == arguments);
    assert!(called("RAND", 0) && called("NOW", 0) && called("CURRENT_DATE", 0));
    assert!(called("UNIX_TIMESTAMP", 0) && called("UNIX_TIMESTAMP", 1) && called("GET_LOCK", 2));
    assert!(called("LAST_INSERT_ID", 1) && !called("LAST_INSERT_ID", 0));
    assert_eq!(found.stored, ["D.F"]);
    assert_eq!(found.user_variables, ["x", "y"]);
    assert_eq!(found.system_variables, [(Some(Scope::Session), "sql_mode".to_owned())]);
    assert!(found.assigns);
    assert!(dependence(&query("SELECT a FROM t"), Mode::default()) == Dependence::default());
}
