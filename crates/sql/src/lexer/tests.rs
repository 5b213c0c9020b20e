//! Tests of the lexer.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

/// Every token with its kind.
fn lex(sql: &str, mode: Mode) -> Vec<(TokenKind, &str)> {
    tokens(sql, mode).into_iter().map(|token| (token.kind, token.text(sql))).collect()
}

#[test]
fn all_kinds_of_tokens() {
    use TokenKind::*;
    let mode = Mode::default();
    for (sql, expected) in [
        (
            "select a1 _x $y 1a é",
            vec![
                (Word, "select"),
                (Word, "a1"),
                (Word, "_x"),
                (Word, "$y"),
                (Word, "1a"),
                (Word, "é"),
            ],
        ),
        (
            "1 1.5 .5 1. 1e3 1.5E-3 1e",
            vec![
                (Integer, "1"),
                (Decimal, "1.5"),
                (Decimal, ".5"),
                (Decimal, "1."),
                (Float, "1e3"),
                (Float, "1.5E-3"),
                (Word, "1e"),
            ],
        ),
        (
            "0x4d 0b01 x'4D' B'1' 0xg 0x",
            vec![
                (Hex, "0x4d"),
                (Bits, "0b01"),
                (Hex, "x'4D'"),
                (Bits, "B'1'"),
                (Word, "0xg"),
                (Word, "0x"),
            ],
        ),
        (
            "'a\\'b' \"c\"\"d\" `e``f` n'x' _utf8mb4'x' _foo",
            vec![
                (Text, "'a\\'b'"),
                (Text, "\"c\"\"d\""),
                (Quoted, "`e``f`"),
                (National, "n'x'"),
                (Introducer, "_utf8mb4"),
                (Text, "'x'"),
                (Word, "_foo"),
            ],
        ),
        (
            "t.1a.`b` . x",
            vec![
                (Word, "t"),
                (Symbol, "."),
                (Word, "1a"),
                (Symbol, "."),
                (Quoted, "`b`"),
                (Symbol, "."),
                (Word, "x"),
            ],
        ),
        (
            "@a @'b c' @`d` @@e @@session.f 'u'@'h' u@localhost",
            vec![
                (UserVariable, "@a"),
                (UserVariable, "@'b c'"),
                (UserVariable, "@`d`"),
                (SystemVariable, "@@e"),
                (SystemVariable, "@@session.f"),
                (Text, "'u'"),
                (UserVariable, "@'h'"),
                (Word, "u"),
                (UserVariable, "@localhost"),
            ],
        ),
        (
            "a<=>b->>'x':=?",
            vec![
                (Word, "a"),
                (Symbol, "<=>"),
                (Word, "b"),
                (Symbol, "->>"),
                (Text, "'x'"),
                (Symbol, ":="),
                (Placeholder, "?"),
            ],
        ),
        (
            "a--b -- c\nd#e\n/* f */ g --",
            vec![(Word, "a"), (Symbol, "-"), (Symbol, "-"), (Word, "b"), (Word, "d"), (Word, "g")],
        ),
        (
            "select /*+ h */ a /*+ i */ /*!50000 b /* c */ d */ /*!99999 e */ /*! f */ /*M! g */",
            vec![
                (Word, "select"),
                (Hint, "/*+ h */"),
                (Word, "a"),
                (Word, "b"),
                (Word, "d"),
                (Word, "f"),
            ],
        ),
        ("a 'b", vec![(Word, "a"), (Invalid, "'b")]),
        ("a /* b", vec![(Word, "a"), (Invalid, "/* b")]),
        ("a /*! b", vec![(Word, "a"), (Word, "b"), (Invalid, "")]),
        ("x'4'", vec![(Invalid, "x'4'")]),
    ] {
        assert_eq!(lex(sql, mode), expected, "{sql}");
    }
    let raw = Mode { no_backslash_escapes: true, ansi_quotes: true, ..mode };
    assert_eq!(lex(r#"'a\' "b""#, raw), [(Text, r"'a\'"), (Quoted, "\"b\"")]);
}

#[test]
fn statements_are_split_at_semicolons() {
    let split = |sql: &str| {
        let mut out = Vec::new();
        let mut rest = sql.to_owned();
        while !rest.trim().is_empty() {
            let (first, behind) = next_statement(&rest, Mode::default());
            out.push(first.trim().to_owned());
            rest = behind.to_owned();
        }
        out
    };
    assert_eq!(
        split("select ';' ; select `;` /* ; */; -- ;\n x"),
        ["select ';'", "select `;` /* ; */", "-- ;\n x",]
    );
    let program = "CREATE PROCEDURE p() BEGIN IF a THEN SELECT 1; END IF; \
                   WHILE b DO SET c = CASE WHEN 1 THEN 2 END; END WHILE; END";
    assert_eq!(split(&format!("{program}; SELECT 2")), [program, "SELECT 2"]);
    let trigger = "CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW IF a THEN SET b = 1; END IF";
    assert_eq!(split(&format!("{trigger};SELECT IF(1, 2, 3);")), [trigger, "SELECT IF(1, 2, 3)"]);
    assert_eq!(split("BEGIN; SELECT 1; COMMIT"), ["BEGIN", "SELECT 1", "COMMIT"]);
    let function = "CREATE FUNCTION f() RETURNS INT RETURN IF(1, 2, 3)";
    assert_eq!(split(&format!("{function}; SELECT 1")), [function, "SELECT 1"]);
}

#[test]
fn placeholders_are_bound() {
    let mode = Mode::default();
    let sql = "select ?, '?', -? from `?` where a=?and b -- ?";
    assert_eq!(placeholders(sql, mode).len(), 3);
    assert_eq!(
        bind(sql, mode, &["'x'", "-1", "NULL"]).unwrap(),
        "select 'x', '?', - -1 from `?` where a= NULL and b -- ?"
    );
    assert!(bind(sql, mode, &["1"]).is_err());
}

#[test]
fn parameters_are_no_numbers_of_columns() {
    let bound = |sql: &str| {
        let count = placeholders(sql, Mode::default()).len();
        bind(sql, Mode::default(), &vec!["2"; count]).unwrap()
    };
    for term in [
        "SELECT a FROM t ORDER BY ?",
        "SELECT a FROM t ORDER BY b, ? DESC LIMIT 2, 2",
        "SELECT a FROM t GROUP BY ((?)), a HAVING a ORDER BY +?, a",
        "SELECT a, 2 FROM t GROUP BY a, f(2, 2), ? WITH ROLLUP",
        "(SELECT a FROM t ORDER BY (SELECT 2 ORDER BY ? LIMIT 2), ?) UNION SELECT 2, 2",
        "SELECT SUM(a) OVER (PARTITION BY ? ORDER BY ? ROWS 2 PRECEDING), 2 FROM t",
        "SELECT GROUP_CONCAT(a, 2 ORDER BY ? SEPARATOR ', '), 2 FROM t ORDER BY a; ",
        "INSERT INTO t SELECT a, 2 FROM u ORDER BY ? ON DUPLICATE KEY UPDATE a = 2, b = 2",
    ] {
        let sql = term.replace('2', "?");
        assert_eq!(bound(&sql), term.replace('?', "NULL").replace("+NULL", "+ NULL"), "{term}");
    }
    for other in [
        "SELECT a FROM t ORDER BY ? + 1",
        "SELECT a FROM t ORDER BY (?) = a, ? IN (a), -a * ?",
        "SELECT a FROM t ORDER BY f(?), (?, ?), CASE a WHEN ? THEN 1 END",
        "SELECT a FROM t ORDER BY a LIMIT ?, ?",
        "SELECT ?, ? FROM t WHERE a IN (?, ?)",
    ] {
        assert_eq!(bound(other).replace('2', "?").replace(' ', ""), other.replace(' ', ""));
    }
}

/// The text for a server, which must be made of the same tokens.
fn for_server(sql: &str, mode: Mode) -> String {
    let text = server_text(sql, mode).unwrap().into_owned();
    let words = |sql: &str| -> Vec<(TokenKind, String)> {
        tokens(sql, mode).iter().map(|token| (token.kind, token.text(sql).to_owned())).collect()
    };
    assert_eq!(words(&text), words(sql), "{sql:?} became {text:?}");
    let again = server_text(&text, mode).unwrap();
    assert!(matches!(again, Cow::Borrowed(_)), "{text:?} has comments that servers read otherwise");
    text
}

#[test]
fn only_plain_comments_go_to_a_server() {
    let mode = Mode::default();
    for (sql, text) in [
        ("SELECT 1 /*!50000 + 1 */ /*!99999 + 2 */ /*M! + 3 */ -- x", "SELECT 1  + 1    "),
        (
            "/*!90000 DELETE FROM shop.t # */ SHOW TABLES FROM shop /*\n*/",
            " SHOW TABLES FROM shop /*\n*/",
        ),
        ("SELECT/*! */COUNT/*! */(/*! */*/*! */)", "SELECT COUNT ( * )"),
        ("SELECT/*!*/COUNT/*!*/(/*!*/*/*!*/)", "SELECT COUNT (*)"),
        ("SELECT a/*!99999 b */+/*M! c */1e/*!*/-5", "SELECT a+1e -5"),
        ("SELECT 1--/*!*/ 2", "SELECT 1- - 2"),
        ("SELECT 1 /* a */ + -- b\n 1", "SELECT 1 /* a */ + -- b\n 1"),
        ("SELECT 1--/*a*/2 /*!*/", "SELECT 1--/*a*/2 "),
        ("SELECT 5--3", "SELECT 5--3"),
        ("SELECT '/*!', `#`, \"-- \"", "SELECT '/*!', `#`, \"-- \""),
        ("SELECT /*+ NO_ICP(t) */ 1", "SELECT /*+ NO_ICP(t) */ 1"),
        ("SELECT /*+ QB_NAME(`a*/ 1", "SELECT  1"),
        ("/*!99999 a /* b */ c */ SELECT 1", " SELECT 1"),
        ("SELECT /*!99999\n*/ # a\n 1", "SELECT \n # a\n 1"),
        ("SELECT 1 /*! , 2*/, 3", "SELECT 1  , 2, 3"),
        ("SELECT 1---#\0", "SELECT 1- - -"),
        ("SELECT 1--/*!1*/2", "SELECT 1- -1 2"),
    ] {
        assert_eq!(for_server(sql, mode), text, "{sql}");
    }
    for sql in ["SELECT 'a", "SELECT 1 /* a", "SELECT /*!50000 1", "SELECT \0", "SELECT \u{7f}"] {
        assert_eq!(server_text(sql, mode).unwrap_err().errno(), 1064, "{sql}");
    }
}

#[test]
fn programs_keep_what_people_read() {
    let text = |sql| server_text(sql, Mode::default()).unwrap().into_owned();
    let kept = "CREATE PROCEDURE p() BEGIN /* why */ SELECT 1; -- so\n # and so\n END";
    assert_eq!(text(kept), kept);
    assert_eq!(text("CREATE /*!50020 DEFINER=a */ VIEW v -- end"), "CREATE  DEFINER=a  VIEW v ");
    let sql = "ALTER EVENT /* /* */ B /*M! C */ D /*+ E */ F";
    assert_eq!(text(sql), "ALTER EVENT  B  D  F");
    let other = "CREATE FUNCTION f() AS $js$ if (a) { /* ' */ } // $js$";
    assert_eq!(text(other), other);
}

#[test]
fn names_in_double_quotes_have_no_escapes() {
    use TokenKind::{Text, UserVariable, Word};
    let mode = Mode { ansi_quotes: true, ..Mode::default() };
    let sql = r#"SELECT @"a\" INTO OUTFILE 'x' # ""#;
    let kinds: Vec<TokenKind> = tokens(sql, mode).iter().map(|token| token.kind).collect();
    assert_eq!(kinds, [Word, UserVariable, Word, Word, Text]);
}

#[test]
fn errors_quote_the_text() {
    let error = syntax_error("SELECT\n\n x y", 9);
    assert!(error.message().ends_with("near 'x y' at line 3"), "{error}");
}

proptest! {
    #[test]
    fn tokens_lie_in_order_within_the_text(
        sql in "[ -~\\n\u{e9}\u{4e2d}]{0,40}",
        ansi_quotes: bool,
        no_backslash_escapes: bool,
    ) {
        let mode = Mode { ansi_quotes, no_backslash_escapes, ..Mode::default() };
        let mut last = 0;
        for token in tokens(&sql, mode) {
            prop_assert!(last <= token.start && token.start <= token.end && token.end <= sql.len());
            prop_assert!(sql.get(token.start..token.end).is_some());
            last = token.end;
        }
        let (first, rest) = next_statement(&sql, mode);
        prop_assert!(first.len() + rest.len() <= sql.len());
        let count = placeholders(&sql, mode).len();
        prop_assert!(bind(&sql, mode, &vec!["NULL"; count]).is_ok());
        let _ = server_text(&sql, mode);
    }

    #[test]
    fn texts_for_servers_are_the_tokens_of_the_text(
        pieces in proptest::collection::vec(prop::sample::select(vec![
            "SELECT", "a", "1", "1e", "-", "+", "*", "/", "(", ")", ".", "@", "'x'", "\"y\\\"", "`z`",
            " ", "\n", "/* c */", "/*", "*/", "/*!", "/*!50000 ", "/*!100000", "/*M!", "/*+", "--", "-- ", "#",
            "$$", ";", "\\", "'", "\"", "`", "!", "M", "\u{e9}", "\0",
        ]), 0..14),
        ansi_quotes: bool,
        no_backslash_escapes: bool,
    ) {
        let mode = Mode { ansi_quotes, no_backslash_escapes, ..Mode::default() };
        let sql = pieces.concat();
        if server_text(&sql, mode).is_ok() {
            for_server(&sql, mode);
        }
    }

    #[test]
    fn quotes_and_comments_never_panic(sql in "['\"`\\\\/*!#@xXbBnN0-9.;+-]{0,30}") {
        let _ = tokens(&sql, Mode::default());
    }
}
