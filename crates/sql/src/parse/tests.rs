//! Tests of the parser: trees and round trips.

use proptest::prelude::*;

use super::*;
use sqlparser::ast::{BinaryOperator, CastKind, UnaryOperator};

/// An expression with every operator's operands in brackets.
fn shape(expr: &Expr) -> String {
    match expr {
        Expr::BinaryOp { left, op, right } => format!("[{} {op} {}]", shape(left), shape(right)),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => format!("[NOT {}]", shape(expr)),
        Expr::UnaryOp { op, expr } => format!("[{op}{}]", shape(expr)),
        Expr::IsNull(expr) => format!("[{} IS NULL]", shape(expr)),
        Expr::IsTrue(expr) => format!("[{} IS TRUE]", shape(expr)),
        Expr::Like { expr, pattern, .. } => format!("[{} LIKE {}]", shape(expr), shape(pattern)),
        Expr::InList { expr, list, .. } => format!("[{} IN {}]", shape(expr), shape(&list[0])),
        Expr::Between { expr, low, high, .. } => {
            format!("[{} BETWEEN {} AND {}]", shape(expr), shape(low), shape(high))
        }
        Expr::Collate { expr, collation } => format!("[{} COLLATE {collation}]", shape(expr)),
        Expr::Cast { kind: CastKind::Cast, expr, data_type, .. } => {
            format!("[{data_type} {}]", shape(expr))
        }
        Expr::Interval(interval) => format!("[INTERVAL {}]", shape(&interval.value)),
        Expr::Nested(expr) => format!("({})", shape(expr)),
        other => other.to_string(),
    }
}

fn check(mode: Mode, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        let expr = parse_expression(sql, mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(shape(&expr), *expected, "{sql}");
        let again = parse_expression(&expr.to_string(), mode).unwrap();
        assert_eq!(again, expr, "{sql} prints as {expr}");
    }
}

#[test]
fn operators_bind_as_in_mysql() {
    check(
        Mode::default(),
        &[
            ("10 DIV 3 + 1", "[[10 DIV 3] + 1]"),
            ("10 MOD 3 + 1", "[[10 % 3] + 1]"),
            ("a OR b XOR c AND d", "[a OR [b XOR [c AND d]]]"),
            ("a XOR b OR c", "[[a XOR b] OR c]"),
            ("a AND b XOR c", "[[a AND b] XOR c]"),
            ("a || b && c", "[a OR [b AND c]]"),
            ("NOT a XOR b", "[[NOT a] XOR b]"),
            ("NOT a = b", "[NOT [a = b]]"),
            ("NOT a IS TRUE", "[NOT [a IS TRUE]]"),
            ("NOT NOT a", "[NOT [NOT a]]"),
            ("!a + 1", "[[!a] + 1]"),
            ("! a COLLATE x", "[![a COLLATE x]]"),
            ("-a ^ b", "[[-a] ^ b]"),
            ("a * b ^ c", "[a * [b ^ c]]"),
            ("BINARY a = b", "[[BINARY a] = b]"),
            ("BINARY a COLLATE x + 1", "[[BINARY [a COLLATE x]] + 1]"),
            ("a = b COLLATE x", "[a = [b COLLATE x]]"),
            ("1 | 2 & 3 << 4 + 5 * 6 ^ 7", "[1 | [2 & [3 << [4 + [5 * [6 ^ 7]]]]]]"),
            ("a - b - c", "[[a - b] - c]"),
            ("a = b = c", "[[a = b] = c]"),
            ("a = b IS NULL", "[[a = b] IS NULL]"),
            ("a IS NULL = b", "[[a IS NULL] = b]"),
            ("a = b LIKE c", "[a = [b LIKE c]]"),
            ("a LIKE b = c", "[[a LIKE b] = c]"),
            ("a + b LIKE c", "[[a + b] LIKE c]"),
            ("a BETWEEN b AND c AND d", "[[a BETWEEN b AND c] AND d]"),
            ("a BETWEEN b + 1 AND c LIKE d", "[a BETWEEN [b + 1] AND [c LIKE d]]"),
            ("a IN (1) = b", "[[a IN 1] = b]"),
            ("a + INTERVAL 1 + 1 DAY + b", "[[a + [INTERVAL [1 + 1]]] + b]"),
            ("INTERVAL 1 DAY + a + b", "[[[INTERVAL 1] + a] + b]"),
            ("INTERVAL(a, b) + c", "[INTERVAL(a, b) + c]"),
            ("1 + @x := 2 OR 3", "[1 + [@x := [2 OR 3]]]"),
        ],
    );
}

#[test]
fn modes_change_the_tree() {
    let pipes = Mode { pipes_as_concat: true, ..Mode::default() };
    check(pipes, &[("-a || b ^ c", "[[[-a] || b] ^ c]"), ("a * b || c", "[a * [b || c]]")]);
    let high = Mode { high_not_precedence: true, ..Mode::default() };
    check(high, &[("NOT a = b", "[[NOT a] = b]"), ("NOT a + 1", "[[NOT a] + 1]")]);
    let ansi = Mode { ansi_quotes: true, ..Mode::default() };
    let expr = parse_expression("\"a\" = 'b'", ansi).unwrap();
    assert_eq!(expr.to_string(), "`a` = 'b'");
}

#[test]
fn what_only_one_server_reads_is_not_read() {
    for sql in [
        "a LIKE b LIKE c",
        "a IN (b) + 1",
        "a IS TRUE IS TRUE",
        "a = NOT b",
        "a + NOT b",
        "COUNT (*)",
        "a IN ()",
        "1 1",
        "INTERVAL 1 DAY",
        "ROW(1)",
        "a IS b",
        "x'4'",
        "`a",
        "a <=> ANY (SELECT 1)",
    ] {
        assert!(parse_expression(sql, Mode::default()).is_err(), "{sql}");
    }
}

#[test]
fn strings_survive_printing() {
    for (sql, printed) in [
        (r"'a\\'", r"'a\\'"),
        (r"'a\'b'", r"'a\'b'"),
        (r"'\\''x'", r"'\\''x'"),
        ("'it''s'", "'it''s'"),
        (r#""it's ""x"" \" y""#, r#"'it''s "x" \" y'"#),
        ("'a' 'b' \"'\"", "'ab'''"),
        ("N'x'", "N'x'"),
        ("_utf8mb4'x'", "_utf8mb4 'x'"),
        ("_latin1 x'e9'", "_latin1 X'e9'"),
        ("0xFf", "0xFf"),
        ("x'ff'", "X'ff'"),
        ("0b101", "0b101"),
        ("b'101'", "B'101'"),
        ("'a\nb'", "'a\nb'"),
    ] {
        let expr = parse_expression(sql, Mode::default()).unwrap();
        assert_eq!(expr.to_string(), printed);
        let again = parse_expression(printed, Mode::default()).unwrap();
        assert_eq!(
            crate::literal::constant(&expr, Mode::default()),
            crate::literal::constant(&again, Mode::default())
        );
    }
    let raw = Mode { no_backslash_escapes: true, ..Mode::default() };
    for (sql, printed) in [(r"'\'", r"'\'"), (r#""\'""#, r"'\'''"), (r"'\'''", r"'\'''")] {
        assert_eq!(parse_expression(sql, raw).unwrap().to_string(), printed);
    }
}

fn reprint(sql: &str) -> String {
    let mode = Mode::default();
    let parsed = parse_query(sql, mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = parsed.query.to_string();
    let again = parse_query(&text, mode).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(again.query, parsed.query, "{sql}");
    text
}

#[test]
fn joins_print_as_they_are_read() {
    for (sql, printed) in [
        ("a LEFT JOIN (b, c) ON x", "a LEFT JOIN (b CROSS JOIN c) ON x"),
        ("a JOIN b JOIN c ON x ON y", "a JOIN (b JOIN c ON x) ON y"),
        ("a JOIN b JOIN c ON x", "a JOIN b JOIN c ON x"),
        ("a JOIN b RIGHT JOIN c ON x", "a JOIN b RIGHT JOIN c ON x"),
        ("a LEFT JOIN b JOIN c ON x ON y", "a LEFT JOIN (b JOIN c ON x) ON y"),
        ("(a, (b, c))", "(a CROSS JOIN (b CROSS JOIN c))"),
        ("a NATURAL JOIN b", "a NATURAL JOIN b"),
        ("a STRAIGHT_JOIN b ON x", "a STRAIGHT_JOIN b ON x"),
        ("a PARTITION (p0) AS x USE INDEX (k)", "a PARTITION (p0) AS x USE INDEX (k)"),
        ("((SELECT 1) UNION (SELECT 2)) AS x", "((SELECT 1) UNION (SELECT 2)) AS x"),
        ("((SELECT 1) AS x JOIN b)", "((SELECT 1) AS x JOIN b)"),
        ("{oj a LEFT JOIN b ON x}", "(a LEFT JOIN b ON x)"),
    ] {
        let text = reprint(&format!("SELECT * FROM {sql}"));
        assert_eq!(text, format!("SELECT * FROM {printed}"));
    }
}

#[test]
fn queries_print_as_they_are_read() {
    for (sql, printed) in [
        ("TABLE d.t LIMIT 1", "SELECT * FROM d.t LIMIT 1"),
        ("SELECT 1 FROM DUAL", "SELECT 1"),
        ("SELECT 1 LOCK IN SHARE MODE", "SELECT 1 FOR SHARE"),
        ("SELECT 1 LIMIT 2, 3", "SELECT 1 LIMIT 2, 3"),
        ("SELECT 1 'x y', 2 AS ` z`", "SELECT 1 AS `x y`, 2 AS `z`"),
        ("VALUES ROW(1, 2), ROW(3, 4)", "VALUES ROW(1, 2), ROW(3, 4)"),
        ("SELECT /*+ BKA(t) */ a FROM t;", "SELECT /*+ BKA(t) */ a FROM t"),
        ("SELECT text 'x' FROM t", "SELECT text AS `x` FROM t"),
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", "SELECT a FROM t GROUP BY a WITH ROLLUP"),
        (
            "SELECT POSITION('a' IN b), SUBSTRING(a FROM 2 FOR 3), CONVERT(a, CHAR)",
            "SELECT LOCATE('a', b), SUBSTRING(a, 2, 3), CAST(a AS CHAR)",
        ),
        (
            "SELECT CAST(a AS CHAR(3) CHARACTER SET latin1), EXTRACT(DAY_HOUR FROM a)",
            "SELECT CAST(a AS CHAR(3) CHARACTER SET latin1), EXTRACT(DAY_HOUR FROM a)",
        ),
        (
            "SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 ORDER BY 1",
            "SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 ORDER BY 1",
        ),
    ] {
        assert_eq!(reprint(sql), printed);
    }
    let Expr::BinaryOp { op, .. } = parse_expression("a->>'$.b'", Mode::default()).unwrap() else {
        panic!("not an operator");
    };
    assert_eq!(op, BinaryOperator::LongArrow);
}

#[test]
fn errors_name_the_place() {
    let error = parse_query("SELECT 1\nFROM t WHERE ,", Mode::default()).unwrap_err();
    assert_eq!(error.error.errno(), 1064);
    assert!(error.to_string().ends_with("near ',' at line 2"), "{error}");
    assert_eq!(parse_query("SELECT 1 INTO @a", Mode::default()).unwrap_err().error.errno(), 1235);
}

#[test]
fn depth_is_bounded() {
    let mode = Mode::default();
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("NOT ", "1", ""),
        ("- ", "1", ""),
        ("(SELECT ", "1", ")"),
        ("f(", "1", ")"),
        ("CASE WHEN ", "1", " THEN 1 END"),
        ("@a := ", "1", ""),
        ("INTERVAL ", "1", " DAY"),
    ] {
        let sql = format!("{}{middle}{}", open.repeat(100_000), close.repeat(100_000));
        assert!(parse_expression(&sql, mode).is_err());
    }
    let chain = |operator: &str, count| format!("1{}", format!(" {operator} 1").repeat(count));
    assert!(parse_expression(&chain("+", 100_000), mode).is_err());
    assert!(parse_expression(&chain("+", 120), mode).is_ok());
    // Long filters are real, and their trees are flat.
    let filter = parse_expression(&chain("OR", 100_000), mode).unwrap();
    assert_eq!(filter.to_string().len(), 1 + 5 * 100_000);
    let from = format!("SELECT 1 FROM {}t{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(parse_query(&from, mode).is_err());
    let union = format!("SELECT 1{}", " UNION SELECT 1".repeat(100_000));
    assert!(parse_query(&union, mode).is_err());
    let joins = format!("SELECT 1 FROM a{}", " JOIN a".repeat(100_000));
    assert!(parse_query(&joins, mode).is_err());
    let left = format!("SELECT 1 FROM a{}", " LEFT JOIN a ON 1".repeat(10_000));
    assert!(parse_query(&left, mode).is_ok());
}

/// Words and symbols that make up queries, for texts that are nearly right.
const PIECES: [&str; 60] = [
    "SELECT", "FROM", "WHERE", "a", "b", "t", "1", "2.5", "'x'", "\"y\"", "`q`", "(", ")", ",",
    ".", "*", "+", "-", "AND", "OR", "XOR", "NOT", "IN", "LIKE", "BETWEEN", "IS", "NULL", "=",
    "<=>", "JOIN", "LEFT", "ON", "USING", "GROUP", "BY", "ORDER", "LIMIT", "UNION", "ALL", "AS",
    "CASE", "WHEN", "THEN", "END", "INTERVAL", "DAY", "COUNT", "SUM", "OVER", "CAST", "SIGNED",
    "EXISTS", "@v", ":=", "?", "||", "COLLATE", "WITH", "ROW", "VALUES",
];

proptest! {
    #[test]
    fn nothing_panics_and_what_is_read_prints(
        pieces in proptest::collection::vec(0..PIECES.len(), 0..24),
        pipes: bool,
    ) {
        let mode = Mode { pipes_as_concat: pipes, ..Mode::default() };
        let text: Vec<&str> = pieces.iter().map(|&piece| PIECES[piece]).collect();
        let text = text.join(" ");
        for sql in [format!("SELECT {text}"), format!("SELECT a FROM t WHERE {text}")] {
            if let Ok(parsed) = parse_query(&sql, mode) {
                let printed = parsed.query.to_string();
                match parse_query(&printed, mode) {
                    Ok(again) => prop_assert_eq!(again.query, parsed.query),
                    Err(error) => prop_assert!(false, "{} prints as {}: {}", sql, printed, error),
                }
            }
        }
    }

    #[test]
    fn no_text_panics(sql in "\\PC*") {
        let mode = Mode::default();
        let _ = parse_query(&sql, mode).is_ok();
        let _ = crate::classify(&sql, mode).is_ok();
        let _ = crate::statement::references(&sql, mode);
    }
}

/// The deepest texts that are read fit into half of a usual stack, and so does what is done
/// with their trees.
#[test]
fn the_deepest_trees_need_little_stack() {
    let deepest = |open: &str, close: &str| {
        let text = |depth| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let depth = (1..=MAX_DEPTH)
            .rev()
            .find(|&depth| parse_expression(&text(depth), Mode::default()).is_ok());
        text(depth.unwrap_or(0))
    };
    let work = move || {
        for (open, close) in [
            ("(", ")"),
            ("(SELECT ", ")"),
            ("CASE WHEN ", " THEN 1 END"),
            ("f(", ")"),
            ("a IN (", ")"),
            ("(SELECT 1 FROM (t) JOIN t ON ", ")"),
            ("NOT ", ""),
            ("1 + ", ""),
            ("GROUP_CONCAT(", ")"),
            ("CAST(", " AS CHAR)"),
        ] {
            let text = deepest(open, close);
            let tree = parse_expression(&text, Mode::default()).unwrap();
            assert!(text.len() > 10 * open.len(), "{open} nests {} deep", text.len());
            assert_eq!(parse_expression(&tree.to_string(), Mode::default()).unwrap(), tree.clone());
            let _ = crate::ast_analysis::expression_dependence(&tree, Mode::default());
        }
    };
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn aggregates_take_distinct_and_all_as_in_mysql() {
    for (sql, is_read) in [
        ("SUM(DISTINCT a)", true),
        ("COUNT(DISTINCT a, b)", true),
        ("GROUP_CONCAT(DISTINCT a ORDER BY b)", true),
        ("STD(ALL a)", true),
        ("STD(DISTINCT a)", false),
        ("BIT_OR(DISTINCT a)", false),
        ("ANY_VALUE(a)", true),
        ("ANY_VALUE(ALL a)", false),
        ("ANY_VALUE(DISTINCT a)", false),
        ("GROUP_CONCAT(ALL a)", false),
        ("MEDIAN(a) OVER ()", true),
    ] {
        assert_eq!(parse_expression(sql, Mode::default()).is_ok(), is_read, "{sql}");
    }
}

#[test]
fn versions_of_tables_are_read_when_asked_for() {
    let mode = Mode::default();
    for (sql, printed) in [
        (
            "SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01' AS a JOIN u",
            "SELECT * FROM t AS a FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01' JOIN u",
        ),
        (
            "SELECT 1 FROM d.t PARTITION (p) FOR SYSTEM_TIME AS OF NOW() - INTERVAL 1 HOUR a",
            "SELECT 1 FROM d.t PARTITION (p) a FOR SYSTEM_TIME AS OF NOW() - INTERVAL 1 HOUR",
        ),
        (
            "SELECT 1 FROM t FOR SYSTEM_TIME AS OF TIMESTAMP @x",
            "SELECT 1 FROM t FOR SYSTEM_TIME AS OF @x",
        ),
        (
            "SELECT 1 FROM t FOR SYSTEM_TIME AS OF VERSION 5 WHERE a",
            "SELECT 1 FROM t VERSION AS OF 5 WHERE a",
        ),
        (
            "SELECT 1 FROM t a USE INDEX (i) FOR SYSTEM_TIME AS OF VERSION ?, u",
            "SELECT 1 FROM t a USE INDEX (i) VERSION AS OF ?, u",
        ),
        ("SELECT 1 FROM version FOR UPDATE", "SELECT 1 FROM version FOR UPDATE"),
        ("SELECT 1 FROM t version", "SELECT 1 FROM t version"),
    ] {
        let parsed =
            parse_versioned_query(sql, mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(parsed.query.to_string(), printed);
        let again = parse_versioned_query(printed, mode).unwrap();
        assert_eq!(again.query, parsed.query, "{printed}");
        // Texts for linked servers are not read, and go there as they are.
        assert_eq!(parse_query(sql, mode).is_err(), sql.contains("AS OF"), "{sql}");
    }
    assert_eq!(
        parse_query("SELECT 1 FROM t FOR SYSTEM_TIME ALL", mode).unwrap_err().error.errno(),
        1235
    );
    assert!(parse_versioned_query("SELECT 1 FROM t FOR SYSTEM_TIME ALL", mode).is_err());
    assert!(parse_query("SELECT 1 FROM t VERSION AS OF 5", mode).is_err());
}
