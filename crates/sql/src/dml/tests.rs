//! Tests of the syntax of DML statements.

use proptest::prelude::*;
use sqlparser::ast::Expr;

use super::*;
use crate::literal::{self, Constant};

fn insert(sql: &str) -> Insert<'_> {
    match parse(sql, Mode::default()) {
        Ok(Change::Insert(insert)) => *insert,
        other => panic!("{sql}: {other:?}"),
    }
}

fn rows<'a>(rows: &Rows<'a>) -> Result<Vec<Vec<Value<'a>>>> {
    let mut rows = rows.clone();
    let (mut out, mut row) = (Vec::new(), Vec::new());
    while rows.next_row(&mut row)? {
        out.push(row.clone());
    }
    assert_eq!((rows.read(), out.len()), (rows.count(), rows.count()));
    Ok(out)
}

/// A value as text with its kind.
fn show(value: &Value<'_>) -> String {
    match value {
        Value::Integer(text) => format!("i{text}"),
        Value::Decimal(text) => format!("d{text}"),
        Value::Float(text) => format!("f{text}"),
        Value::Text { text, charset: None } => format!("'{text}'"),
        Value::Text { text, charset: Some(charset) } => format!("{charset}'{text}'"),
        Value::Hex { digits, charset } => format!("x{digits}{}", charset.unwrap_or("")),
        Value::Bits { digits, charset } => format!("b{digits}{}", charset.unwrap_or("")),
        Value::Expression(expr) => format!("({expr})"),
        other => format!("{other:?}"),
    }
}

fn shown(sql: &str) -> Vec<String> {
    let insert = insert(sql);
    let InsertSource::Values(source) = &insert.source else { panic!("{sql}: {insert:?}") };
    let rows = rows(source).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.iter().map(|row| row.iter().map(show).collect::<Vec<_>>().join(" ")).collect()
}

fn tables(tables: &[sqlparser::ast::TableWithJoins]) -> String {
    tables.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn values_of_all_kinds() {
    for (values, expected) in [
        ("(1,-2,3.5,-.5,1e3,-1.5E-3)", vec!["i1 i-2 d3.5 d-.5 f1e3 f-1.5E-3"]),
        ("( 1 , 'a' ),\n(2,'b')", vec!["i1 'a'", "i2 'b'"]),
        (r"('it''s',  'a\'b\n', '\\', '')", vec!["'it's' 'a'b\n' '\\' ''"]),
        (
            r#"("x", "say ""hi"" 'you'", N'n', n'n')"#,
            vec![r#"'x' 'say "hi" 'you'' utf8mb3'n' utf8mb3'n'"#],
        ),
        (
            "(NULL,null,TRUE,false,DEFAULT,default)",
            vec!["Null Null Boolean(true) Boolean(false) Default Default"],
        ),
        ("(0x4D,x'4d',X'',0b01,b'1',B'')", vec!["x4D x4d x b01 b1 b"]),
        (
            r"(_binary'a\0', _utf8mb4 'b', _latin1 x'e9', _binary 0x41)",
            vec!["binary'a\0' utf8mb4'b' xe9latin1 x41binary"],
        ),
        ("(?,?),(?, ?+1)", vec!["Placeholder Placeholder", "Placeholder (? + 1)"]),
        ("(),()", vec!["", ""]),
        ("(1/* , */,/*!50100 2*/,3 -- )\n)#x\n,(4)", vec!["i1 i2 i3", "i4"]),
        (
            "(1+1,NOW(),(SELECT MAX(a) FROM u),'a' 'b')",
            vec!["(1 + 1) (NOW()) ((SELECT MAX(a) FROM u)) ('ab')"],
        ),
        (
            "(- 5,+5,--5,5 DIV 2,DEFAULT(a),DATE'2024-01-01')",
            vec!["(-5) (+5) (--5) (5 DIV 2) (DEFAULT(a)) (DATE '2024-01-01')"],
        ),
        ("(a,`)`,NULLIF(1,2),1a,x)", vec!["(a) (`)`) (NULLIF(1, 2)) (1a) (x)"]),
        ("('(', ')', ',', '/*', '--', '#')", vec!["'(' ')' ',' '/*' '--' '#'"]),
        ("('é','日本')", vec!["'é' '日本'"]),
        ("(4-1,4 / 2,4*-1)", vec!["(4 - 1) (4 / 2) (4 * -1)"]),
    ] {
        for verb in ["INSERT INTO t VALUES ", "replace t(a) value"] {
            assert_eq!(shown(&format!("{verb}{values}")), expected, "{values}");
        }
    }
    let ansi = Mode { ansi_quotes: true, no_backslash_escapes: true, ..Mode::default() };
    let sql = r#"INSERT INTO "t" VALUES ("a\", 'b\', '')"#;
    let Ok(Change::Insert(insert)) = parse(sql, ansi) else { panic!() };
    let InsertSource::Values(source) = &insert.source else { panic!() };
    let read = rows(source).unwrap();
    assert_eq!(read[0].iter().map(show).collect::<Vec<_>>(), [r"(`a\`)", r"'b\'", "''"]);
}

#[test]
fn all_parts_of_an_insert() {
    let sql = "INSERT /*+ x */ LOW_PRIORITY IGNORE INTO d.`t` PARTITION (p0, p1) (`a`, t.b, value) \
               VALUES (1, 2, 3) AS new (x, y, z) \
               ON DUPLICATE KEY UPDATE a = VALUES(a) + new.x, b = DEFAULT;";
    let insert = insert(sql);
    assert!(insert.ignore && !insert.replace);
    assert_eq!(insert.priority, Some(InsertPriority::Low));
    assert_eq!((insert.table.database.as_deref(), insert.table.name.as_str()), (Some("d"), "t"));
    assert_eq!(insert.partitions, ["p0", "p1"]);
    assert_eq!(insert.columns.as_deref().unwrap(), ["a", "b", "value"]);
    let alias = insert.row_alias.unwrap();
    assert_eq!((alias.name.as_str(), alias.columns.len()), ("new", 3));
    assert_eq!(insert.on_duplicate.len(), 2);
    assert_eq!(insert.on_duplicate[1].value, Assigned::Default);
    let Assigned::Expression(expr) = &insert.on_duplicate[0].value else { panic!() };
    assert_eq!(expr.to_string(), "VALUES(a) + new.x");
}

#[test]
fn sources_that_are_no_rows() {
    let set = insert("INSERT t SET a = 1, t.b = DEFAULT ON DUPLICATE KEY UPDATE a = 2");
    let InsertSource::Set(assignments) = &set.source else { panic!("{set:?}") };
    assert_eq!(assignments.len(), 2);
    assert_eq!(assignments[1].column, ["t", "b"]);
    assert_eq!(set.on_duplicate.len(), 1);
    for (sql, text, columns) in [
        ("INSERT INTO t SELECT 1 AS a ON DUPLICATE KEY UPDATE b = a", "SELECT 1 AS a", None),
        ("INSERT INTO t (a) (SELECT a FROM u);", "(SELECT a FROM u)", Some(1)),
        ("REPLACE INTO t (SELECT a FROM u)", "(SELECT a FROM u)", None),
        (
            "INSERT INTO t () WITH x AS (SELECT 1) SELECT * FROM x",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            Some(0),
        ),
        ("INSERT INTO t TABLE u", "TABLE u", None),
        ("INSERT INTO t VALUES ROW(1), ROW(2)", "VALUES ROW(1), ROW(2)", None),
        ("INSERT INTO value SELECT 1", "SELECT 1", None),
        (
            "INSERT INTO t SELECT * FROM u FOR SYSTEM_TIME AS OF VERSION 7",
            "SELECT * FROM u FOR SYSTEM_TIME AS OF VERSION 7",
            None,
        ),
    ] {
        let insert = insert(sql);
        let InsertSource::Query(found, parsed) = &insert.source else { panic!("{insert:?}") };
        assert_eq!(found, text);
        assert_eq!(insert.columns.as_ref().map(Vec::len), columns, "{sql}");
        assert!(!parsed.query.to_string().is_empty());
    }
    let table = insert("INSERT INTO value (a) VALUES (1)").table;
    assert_eq!(table.name, "value");
    let returning = insert("INSERT INTO t (a) VALUES (1) RETURNING *, a AS b");
    assert_eq!(returning.returning[1].1.as_deref(), Some("b"));
}

#[test]
fn updates() {
    for (sql, from, assigned, rest) in [
        ("UPDATE t SET a = 1", "t", 1, (false, 0, None)),
        (
            "UPDATE LOW_PRIORITY IGNORE d.t AS x SET a=a+1, x.b=DEFAULT WHERE c IN (1) ORDER BY a \
             DESC, b LIMIT 5;",
            "d.t AS x",
            2,
            (true, 2, Some("5")),
        ),
        ("UPDATE a, b SET a.x = b.x WHERE a.id = b.id", "a, b", 1, (true, 0, None)),
        (
            "UPDATE a JOIN b USING (id) LEFT JOIN c ON c.i = b.i SET a.x = ?, d.b.y = 2",
            "a JOIN b USING(id) LEFT JOIN c ON c.i = b.i",
            2,
            (false, 0, None),
        ),
        (
            "WITH q AS (SELECT 1 AS i) UPDATE t JOIN q ON t.i = q.i SET t.a = 1",
            "t JOIN q ON t.i = q.i",
            1,
            (false, 0, None),
        ),
    ] {
        let Ok(Change::Update(update)) = parse(sql, Mode::default()) else { panic!("{sql}") };
        assert_eq!(tables(&update.tables), from);
        assert_eq!(update.assignments.len(), assigned);
        let limit = update.limit.as_ref().map(ToString::to_string);
        assert_eq!((update.selection.is_some(), update.order_by.len(), limit.as_deref()), rest);
        assert_eq!(update.with.is_some(), sql.starts_with("WITH"));
    }
}

#[test]
fn deletes() {
    for (sql, targets, from, rest) in [
        ("DELETE FROM t", "", "t", (false, 0, None)),
        (
            "DELETE QUICK IGNORE FROM d.t PARTITION (p) AS x WHERE a ORDER BY b LIMIT ?",
            "",
            "d.t PARTITION (p) AS x",
            (true, 1, Some("?")),
        ),
        (
            "DELETE a, d.b.* FROM a JOIN b ON a.i = b.i WHERE a.x",
            "a d.b",
            "a JOIN b ON a.i = b.i",
            (true, 0, None),
        ),
        ("DELETE t.* FROM t", "t", "t", (false, 0, None)),
        ("DELETE FROM a.*, b USING a, b WHERE 1", "a b", "a, b", (true, 0, None)),
        (
            "WITH q AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM q)",
            "",
            "t",
            (true, 0, None),
        ),
    ] {
        let delete = match parse(sql, Mode::default()) {
            Ok(Change::Delete(delete)) => delete,
            other => panic!("{sql}: {other:?}"),
        };
        let names: Vec<String> = delete
            .targets
            .iter()
            .map(|name| {
                name.database.as_deref().map(|d| format!("{d}.")).unwrap_or_default() + &name.name
            })
            .collect();
        assert_eq!(names.join(" "), targets, "{sql}");
        assert_eq!(tables(&delete.from), from);
        let limit = delete.limit.as_ref().map(ToString::to_string);
        assert_eq!((delete.selection.is_some(), delete.order_by.len(), limit.as_deref()), rest);
    }
}

#[test]
fn load_data() {
    let sql = r#"LOAD DATA CONCURRENT LOCAL INFILE 'a\\b.csv' REPLACE INTO TABLE d.t PARTITION (p)
        CHARACTER SET Latin1 FIELDS TERMINATED BY 0x7c7c OPTIONALLY ENCLOSED BY '"' ESCAPED BY ''
        LINES STARTING BY '>' TERMINATED BY '\r\n' IGNORE 2 ROWS
        (a, @v, `b`) SET c = @v + 1, e = DEFAULT"#;
    let Ok(Change::Load(load)) = parse(sql, Mode::default()) else { panic!() };
    assert!(load.local && load.priority);
    assert_eq!(load.file, r"a\b.csv");
    assert_eq!(load.duplicates, Some(Duplicates::Replace));
    assert_eq!(load.charset.as_deref(), Some("latin1"));
    assert_eq!(
        load.format,
        fields::FileFormat {
            terminated: b"||".to_vec(),
            enclosed: b"\"".to_vec(),
            escaped: Vec::new(),
            lines_starting: b">".to_vec(),
            lines_terminated: b"\r\n".to_vec(),
            ignore_lines: 2,
        }
    );
    let column = |name: &str| LoadTarget::Column(name.to_owned());
    assert_eq!(load.targets, [column("a"), LoadTarget::Variable("v".to_owned()), column("b")]);
    assert_eq!(load.assignments.len(), 2);
    let Ok(Change::Load(load)) = parse("LOAD DATA INFILE 'x' INTO TABLE t", Mode::default()) else {
        panic!()
    };
    assert_eq!(load.format, fields::FileFormat::default());
    let raw = Mode { no_backslash_escapes: true, ..Mode::default() };
    let Ok(Change::Load(load)) = parse("LOAD DATA INFILE 'x' INTO TABLE t", raw) else { panic!() };
    assert_eq!(load.format.escaped, b"");
}

#[test]
fn errors_name_the_place() {
    for (sql, near) in [
        ("INSERT INTO t VALUES (1,2,)", "')' at line 1"),
        ("INSERT INTO t VALUES (1 2)", "'2)' at line 1"),
        ("INSERT INTO t VALUES (1),", "'' at line 1"),
        ("INSERT INTO t VALUES (1), 2", "'2' at line 1"),
        ("INSERT INTO t VALUES (1) (2)", "'(2)' at line 1"),
        ("INSERT INTO t VALUES (1", "'' at line 1"),
        ("INSERT INTO t VALUES\n('a)", "''a)' at line 2"),
        ("INSERT INTO t VALUES (1) ON DUPLICATE", "'ON DUPLICATE' at line 1"),
        ("INSERT INTO t VALUES (1,,2)", "',2)' at line 1"),
        ("INSERT INTO t VALUES (DEFAULT + 1)", "'+ 1)' at line 1"),
        ("INSERT INTO t", "'' at line 1"),
        ("INSERT t.* VALUES (1)", "'* VALUES (1)' at line 1"),
        ("REPLACE IGNORE INTO t VALUES (1)", "'IGNORE INTO t VALUES (1)' at line 1"),
        ("UPDATE t SET a = 1 LIMIT 1, 2", "', 2' at line 1"),
        ("UPDATE a, b SET a.x = 1 LIMIT 1", "'' at line 1"),
        ("UPDATE t", "'' at line 1"),
        ("DELETE t", "'' at line 1"),
        ("DELETE FROM t WHERE", "'' at line 1"),
        ("LOAD DATA INFILE 'x' INTO TABLE t FIELDS", "'' at line 1"),
        ("SELECT 1", "'SELECT 1' at line 1"),
        ("", "'' at line 1"),
    ] {
        let error = match parse(sql, Mode::default()) {
            Ok(Change::Insert(insert)) => match &insert.source {
                InsertSource::Values(source) => rows(source).unwrap_err(),
                other => panic!("{sql}: {other:?}"),
            },
            Ok(other) => panic!("{sql}: {other:?}"),
            Err(error) => error,
        };
        assert_eq!(error.errno(), 1064, "{sql}");
        assert!(error.message().ends_with(&format!("near {near}")), "{sql}: {error}");
    }
}

/// What a value of a row is as a literal.
fn constant(value: &Value<'_>) -> Option<Constant> {
    let owned = |charset: &Option<&str>| charset.map(str::to_ascii_lowercase);
    Some(match value {
        Value::Null => Constant::Null,
        Value::Boolean(truth) => Constant::Boolean(*truth),
        Value::Integer(text) => Constant::Integer((*text).to_owned()),
        Value::Decimal(text) => Constant::Decimal((*text).to_owned()),
        Value::Float(text) => Constant::Float((*text).to_owned()),
        Value::Text { text, charset } => {
            Constant::Text { text: text.to_string(), charset: owned(charset) }
        }
        Value::Hex { digits, charset } => {
            Constant::Hex { bytes: literal::hex_bytes(digits), charset: owned(charset) }
        }
        Value::Bits { digits, charset } => {
            Constant::Bits { bytes: literal::bit_bytes(digits), charset: owned(charset) }
        }
        Value::Placeholder => Constant::Placeholder,
        Value::Default | Value::Expression(_) => return None,
    })
}

/// A literal with the sign that the scanner takes into a number.
fn signed_constant(expr: &Expr, mode: Mode) -> Option<Constant> {
    let Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Minus, expr } = expr else {
        return literal::constant(expr, mode);
    };
    Some(match literal::constant(expr, mode)? {
        Constant::Integer(text) => Constant::Integer(format!("-{text}")),
        Constant::Decimal(text) => Constant::Decimal(format!("-{text}")),
        Constant::Float(text) => Constant::Float(format!("-{text}")),
        _ => return None,
    })
}

const PIECES: [&str; 34] = [
    "1",
    "-",
    "2.5",
    ".5",
    "1e3",
    "'a'",
    "'it''s'",
    r"'\''",
    "\"b\"",
    "N'x'",
    "x'4d'",
    "0x4",
    "b'1'",
    "0b1",
    "NULL",
    "TRUE",
    "_binary",
    "_latin1'x'",
    "?",
    "a",
    "`b`",
    "+",
    "*",
    "/",
    "(",
    ")",
    " ",
    " ",
    "/* x */",
    "/*!50100 ",
    "*/",
    "-- \n",
    "NOW()",
    "é",
];

fn closed_pieces() -> Vec<&'static str> {
    PIECES.into_iter().filter(|piece| !piece.contains(['(', ')', '/'])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn rows_are_read_as_expressions_are(
        values in prop::collection::vec(
            prop::collection::vec(prop::sample::select(&PIECES[..]), 1..5), 1..4),
        ansi_quotes: bool,
        no_backslash_escapes: bool,
    ) {
        let mode = Mode { ansi_quotes, no_backslash_escapes, ..Mode::default() };
        let values: Vec<String> = values.iter().map(|pieces| pieces.concat()).collect();
        let sql = format!("INSERT INTO t VALUES ({})", values.join(","));
        let list = format!("f({})", values.join(","));
        let expected = crate::parse_expression(&list, mode);
        let found = parse(&sql, mode).and_then(|change| match change {
            Change::Insert(insert) => match &insert.source {
                InsertSource::Values(source) => rows(source).map(|rows| {
                    // What follows the first row is another row, or a clause.
                    (rows.len() == 1).then(|| rows.into_iter().next().unwrap())
                }),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        let Ok(Expr::Function(function)) = expected else {
            // A malformed list may be a row with trailing text.
            return Ok(());
        };
        let found = found.unwrap_or_else(|error| panic!("{sql}: {error}")).unwrap();
        let sqlparser::ast::FunctionArguments::List(list) = &function.args else { panic!() };
        prop_assert_eq!(found.len(), list.args.len(), "{}", sql);
        for (found, expected) in found.iter().zip(&list.args) {
            use sqlparser::ast::{FunctionArg, FunctionArgExpr};
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expected)) =
                expected else { panic!() };
            match found {
                Value::Expression(expr) => prop_assert_eq!(expr.as_ref(), expected),
                value => prop_assert_eq!(constant(value), signed_constant(expected, mode)),
            }
        }
    }

    #[test]
    fn what_is_wrong_for_the_parser_is_wrong_for_the_reader(
        // Only what stays one value between its parentheses.
        pieces in prop::collection::vec(prop::sample::select(closed_pieces()), 1..6),
    ) {
        let text = pieces.concat();
        let open = crate::tokens(&text, Mode::default());
        let sql = format!("INSERT INTO t VALUES ({text}\n)");
        let expected = crate::parse_expression(&text, Mode::default()).is_ok();
        let found = parse(&sql, Mode::default()).and_then(|change| match change {
            Change::Insert(insert) => match &insert.source {
                InsertSource::Values(source) => rows(source),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        let empty = open.is_empty();
        prop_assert_eq!(found.is_ok(), expected || empty, "{}", sql);
    }

    #[test]
    fn no_text_panics(
        which in 0usize..STATEMENTS.len(),
        at in 0usize..400,
        length in 0usize..6,
        piece in "[(),'\"`/*!# a1.?=-]{0,4}|VALUES|SET|FROM|\\PC",
    ) {
        let mut text: Vec<char> = STATEMENTS[which].chars().collect();
        let at = at % (text.len() + 1);
        let end = (at + length).min(text.len());
        text.splice(at..end, piece.chars());
        let sql: String = text.into_iter().collect();
        if let Ok(Change::Insert(insert)) = parse(&sql, Mode::default())
            && let InsertSource::Values(source) = &insert.source
        {
            rows(source).ok();
        }
    }
}

const STATEMENTS: [&str; 6] = [
    "INSERT IGNORE INTO d.t (a, b) VALUES (1, 'x'), (-2.5, _binary'y''z\\'') AS n ON DUPLICATE KEY \
     UPDATE a = n.a, b = DEFAULT",
    "REPLACE INTO t /*!50100 VALUES (1, /* c */ 0x41), */ (NOW(), (SELECT 1)) RETURNING *",
    "INSERT INTO t SET a = 1, b = DEFAULT ON DUPLICATE KEY UPDATE a = VALUES(a)",
    "UPDATE IGNORE a AS x JOIN b USING (i) SET x.a = b.a + 1 WHERE b.c IN (1, 2) ",
    "DELETE QUICK FROM d.t PARTITION (p) AS a WHERE x = 'y' ORDER BY z LIMIT 3",
    "LOAD DATA LOCAL INFILE 'f' INTO TABLE t FIELDS TERMINATED BY ',' ENCLOSED BY '\"' LINES \
     TERMINATED BY '\\n' IGNORE 1 LINES (a, @b) SET c = @b",
];
