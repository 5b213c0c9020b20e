//! Tests of table definitions: parsing, rendering, and that both agree.

use proptest::prelude::*;

use super::*;
use crate::statement::TableName;

mod dumps;
mod statements;

/// A statement that must be read.
fn read(sql: &str) -> TableStatement {
    parse(sql, Mode::default()).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn create(sql: &str) -> TableDefinition {
    match read(sql) {
        TableStatement::Create(table) => *table,
        other => panic!("{sql}: {other:?}"),
    }
}

/// Reads a column of this type and these attributes.
fn column(text: &str) -> ColumnDefinition {
    let mut table = create(&format!("CREATE TABLE t (c {text})"));
    assert_eq!(table.columns.len(), 1, "{text}");
    table.columns.remove(0)
}

fn shown(table: &TableDefinition) -> String {
    let shown = Shown {
        engine: "Pelorus",
        auto_increment: Some(7),
        charset: "utf8mb4",
        collation: Some("utf8mb4_0900_ai_ci"),
        mode: Mode::default(),
        kept: false,
    };
    show_create_table(table, shown)
}

/// What `SHOW CREATE TABLE` adds in front of the other options.
fn with_shown_options(table: &mut TableDefinition) {
    let added = ["ENGINE", "AUTO_INCREMENT", "CHARSET", "COLLATE"];
    table.options.retain(|option| !added.contains(&option.name.as_str()));
    let values = ["Pelorus", "7", "utf8mb4", "utf8mb4_0900_ai_ci"];
    let options = added.into_iter().zip(values).map(|(name, value)| TableOption {
        name: name.to_owned(),
        value: value.to_owned(),
        quoted: false,
    });
    table.options.splice(0..0, options);
}

/// Writes a definition, reads it again and compares.
fn round_trip(sql: &str) -> String {
    let mut table = create(sql);
    table.normalise();
    let text = shown(&table);
    let mut again = create(&text);
    again.normalise();
    table.name.database = None;
    table.if_not_exists = false;
    table.query = None;
    with_shown_options(&mut table);
    assert_eq!(again, table, "{sql}\n{text}");
    again.normalise();
    assert_eq!(again, table, "normal form of {text}");
    assert_eq!(shown(&again), text);
    text
}

/// A type in a short form: base, length, scale and attributes.
fn type_of(text: &str) -> String {
    let data_type = column(text).data_type;
    let mut out = data_type.base.name().to_owned();
    for part in [data_type.length, data_type.scale].into_iter().flatten() {
        out += &format!(" {part}");
    }
    for (flag, word) in
        [(data_type.unsigned, " u"), (data_type.zerofill, " z"), (data_type.binary, " bin")]
    {
        out += if flag { word } else { "" };
    }
    for name in [data_type.charset, data_type.collation].into_iter().flatten() {
        out += &format!(" {name}");
    }
    if data_type.values.is_empty() { out } else { format!("{out} {:?}", data_type.values) }
}

#[test]
fn types_with_all_their_synonyms() {
    for (text, expected) in [
        ("INT", "int"),
        ("int(11) unsigned", "int 11 u"),
        ("INTEGER ZEROFILL", "int u z"),
        ("bigint(20) UNSIGNED zerofill", "bigint 20 u z"),
        ("INT1", "tinyint"),
        ("INT8 SIGNED", "bigint"),
        ("middleint", "mediumint"),
        ("BOOL", "tinyint 1"),
        ("BOOLEAN NOT NULL", "tinyint 1"),
        ("DECIMAL", "decimal"),
        ("NUMERIC(10)", "decimal 10"),
        ("DEC(10,2) UNSIGNED", "decimal 10 2 u"),
        ("FIXED(3,1)", "decimal 3 1"),
        ("FLOAT", "float"),
        ("FLOAT(24)", "float"),
        ("FLOAT(25)", "double"),
        ("FLOAT(7,3)", "float 7 3"),
        ("DOUBLE PRECISION", "double"),
        ("DOUBLE(8,2)", "double 8 2"),
        ("REAL UNSIGNED", "double u"),
        ("FLOAT8", "double"),
        ("BIT", "bit"),
        ("BIT(8)", "bit 8"),
        ("DATE", "date"),
        ("TIME(3)", "time 3"),
        ("DATETIME(6)", "datetime 6"),
        ("TIMESTAMP", "timestamp"),
        ("YEAR(4)", "year 4"),
        ("CHAR", "char"),
        ("CHAR(3) CHARACTER SET Latin1 COLLATE latin1_bin", "char 3 latin1 latin1_bin"),
        ("CHARACTER(3) CHARSET utf8mb4", "char 3 utf8mb4"),
        ("CHAR(3) BYTE", "binary 3"),
        ("CHAR(3) ASCII", "char 3 latin1"),
        ("CHAR(3) UNICODE BINARY", "char 3 bin ucs2"),
        ("NATIONAL CHAR(2)", "char 2 utf8mb3"),
        ("NCHAR VARYING(2)", "varchar 2 utf8mb3"),
        ("NATIONAL VARCHAR(2)", "varchar 2 utf8mb3"),
        ("NVARCHAR(2)", "varchar 2 utf8mb3"),
        ("CHARACTER VARYING(9)", "varchar 9"),
        ("VARCHAR(9) BINARY", "varchar 9 bin"),
        ("VARCHAR(9) CHARACTER SET binary", "varbinary 9"),
        ("BINARY(16)", "binary 16"),
        ("VARBINARY(16)", "varbinary 16"),
        ("TINYBLOB", "tinyblob"),
        ("BLOB(200)", "tinyblob"),
        ("BLOB(70000)", "mediumblob"),
        ("LONG VARBINARY", "mediumblob"),
        ("LONG VARCHAR", "mediumtext"),
        ("LONG", "mediumtext"),
        ("TEXT(100)", "text 100"),
        ("LONGTEXT CHARSET 'latin1'", "longtext latin1"),
        ("TEXT CHARACTER SET binary", "blob"),
        ("ENUM('a','it''s')", "enum [\"a\", \"it's\"]"),
        ("SET('x') CHARACTER SET latin1", "set latin1 [\"x\"]"),
        ("JSON", "json"),
        ("GEOMETRY", "geometry"),
        ("POINT SRID 4326", "point"),
        ("GEOMETRYCOLLECTION", "geomcollection"),
        ("VECTOR(3)", "vector 3"),
        ("UUID", "uuid"),
        ("INET6", "inet6"),
    ] {
        assert_eq!(type_of(text), expected, "{text}");
    }
}

#[test]
fn attributes_of_columns() {
    let text = |default: Option<ColumnDefault>| match default {
        Some(ColumnDefault::Literal(literal)) => literal.text,
        Some(ColumnDefault::Expression(expression)) => format!("({})", expression.text),
        Some(ColumnDefault::CurrentTimestamp(digits)) => format!("now {digits}"),
        Some(ColumnDefault::Dropped) => "dropped".to_owned(),
        None => String::new(),
    };
    for (sql, expected) in [
        ("INT DEFAULT 5", "5"),
        ("INT DEFAULT -5 COMMENT 'x'", "-5"),
        ("INT DEFAULT +1.5e3", "+1.5e3"),
        ("INT DEFAULT NULL", "NULL"),
        ("BIT(2) DEFAULT b'10'", "b'10'"),
        ("BINARY(1) DEFAULT 0x00", "0x00"),
        ("VARCHAR(9) DEFAULT 'a' COLLATE utf8mb4_bin", "'a'"),
        ("VARCHAR(9) DEFAULT _utf8mb4'a' NOT NULL", "_utf8mb4'a'"),
        ("BOOL DEFAULT TRUE", "TRUE"),
        ("DATE DEFAULT DATE'2024-01-01'", "DATE'2024-01-01'"),
        ("JSON DEFAULT (JSON_ARRAY( ))", "(JSON_ARRAY( ))"),
        ("INT DEFAULT (1 /* x */ +\n 2)", "(1 + 2)"),
        ("DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE NOW(6)", "now 6"),
        ("TIMESTAMP DEFAULT current_timestamp() ON UPDATE current_timestamp()", "now 0"),
        ("TIMESTAMP DEFAULT NOW()", "now 0"),
        ("TIMESTAMP DEFAULT LOCALTIMESTAMP", "now 0"),
        ("INT NO DEFAULT COMMENT 'x'", "dropped"),
    ] {
        assert_eq!(text(column(sql).default), expected, "{sql}");
    }
    let secondary = column("INT NOT SECONDARY DEFAULT 7");
    assert_eq!((secondary.nullable, text(secondary.default)), (None, "7".to_owned()));
    let all = column(
        "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE KEY PRIMARY KEY COMMENT 'it''s' \
         COLUMN_FORMAT FIXED STORAGE DISK /*!80023 INVISIBLE */ CHECK (c > 0) NOT ENFORCED \
         CONSTRAINT x CHECK (c < 9) REFERENCES p (i) MATCH FULL ON DELETE \
         SET NULL ON UPDATE NO ACTION",
    );
    assert!(all.auto_increment && all.unique && all.primary && all.invisible);
    assert_eq!(all.nullable, Some(false));
    assert_eq!(all.comment.as_deref(), Some("it's"));
    assert_eq!(all.options.len(), 2);
    assert_eq!(all.checks.len(), 2);
    assert!(!all.checks[0].enforced && all.checks[1].enforced);
    assert_eq!(all.checks[1].name.as_deref(), Some("x"));
    let reference = all.references.unwrap();
    assert_eq!(reference.on_delete, Some(ReferenceAction::SetNull));
    assert_eq!(reference.on_update, Some(ReferenceAction::NoAction));
    let generated = column("INT GENERATED ALWAYS AS (a + b) STORED NOT NULL").generated.unwrap();
    assert_eq!((generated.expression.text.as_str(), generated.stored), ("a + b", true));
    assert!(!column("INT AS (a->>'$.x')").generated.unwrap().stored);
    assert_eq!(column("TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3) NULL").on_update, Some(3));
    let serial = column("SERIAL");
    assert!(serial.auto_increment && serial.unique && serial.data_type.unsigned);
    assert!(column("INT SERIAL DEFAULT VALUE").auto_increment);
}

#[test]
fn keys_and_constraints() {
    let table = create(
        "CREATE TABLE t (a INT, b INT, s VARCHAR(9), g POINT NOT NULL SRID 0,
           CONSTRAINT pk PRIMARY KEY USING HASH (a, b DESC), UNIQUE (s(3)), UNIQUE INDEX u (b),
           CONSTRAINT q UNIQUE KEY (a) USING BTREE COMMENT 'c' KEY_BLOCK_SIZE = 4,
           KEY `k` ((a + b) DESC, s ASC) INVISIBLE, INDEX (b) VISIBLE,
           FULLTEXT KEY f (s) WITH PARSER ngram, SPATIAL INDEX sp (g),
           CONSTRAINT fk FOREIGN KEY ix (a, b) REFERENCES d.p (x, y) ON UPDATE CASCADE ON DELETE
             RESTRICT, FOREIGN KEY (a) REFERENCES p (x), CHECK (a > 0), CONSTRAINT ch CHECK (a <
             b) NOT ENFORCED)",
    );
    let keys: Vec<_> =
        table.keys.iter().map(|key| (key.kind, key.name.as_deref(), key.parts.len())).collect();
    assert_eq!(
        keys,
        [
            (KeyKind::Primary, None, 2),
            (KeyKind::Unique, None, 1),
            (KeyKind::Unique, Some("u"), 1),
            (KeyKind::Unique, Some("q"), 1),
            (KeyKind::Index, Some("k"), 2),
            (KeyKind::Index, None, 1),
            (KeyKind::FullText, Some("f"), 1),
            (KeyKind::Spatial, Some("sp"), 1),
        ]
    );
    assert!(table.keys[0].parts[1].descending && table.keys[4].invisible);
    assert_eq!(table.keys[1].parts[0].length, Some(3));
    assert!(
        matches!(&table.keys[4].parts[0].target, KeyTarget::Expression(e) if e.text == "a + b")
    );
    assert_eq!(table.keys[6].parser.as_deref(), Some("ngram"));
    assert_eq!(table.foreign_keys[0].references.table.database.as_deref(), Some("d"));
    assert_eq!(table.foreign_keys[0].references.on_update, Some(ReferenceAction::Cascade));
    assert_eq!(table.checks[1].expression.text, "a < b");
}

#[test]
fn checks_are_numbered_in_the_order_of_the_text() {
    let mut table = create(
        "CREATE TABLE t (CHECK (a <> b), a INT CHECK (a > 10), b INT CONSTRAINT p CHECK (b > 0), \
         c INT CHECK (c < 100), CHECK (a > c))",
    );
    table.normalise();
    let names = |table: &TableDefinition| {
        let checks = table.checks.iter();
        checks
            .map(|it| format!("{} {}", it.name.as_deref().unwrap_or(""), it.expression.text))
            .collect::<Vec<_>>()
    };
    let expected = ["t_chk_1 a <> b", "t_chk_2 a > 10", "p b > 0", "t_chk_3 c < 100"];
    assert_eq!(names(&table)[..4], expected);
    assert_eq!(names(&table)[4..], ["t_chk_4 a > c"]);
    // Added ones follow, also when the one at a column comes into the definition later.
    let TableStatement::Alter(alter) =
        read("ALTER TABLE t ADD COLUMN d INT CHECK (d > 1), ADD CHECK (a > 1)")
    else {
        panic!("another statement")
    };
    for action in alter.actions {
        match action {
            AlterAction::AddColumn { column, .. } => table.columns.push(*column),
            AlterAction::AddCheck(check) => table.checks.push(*check),
            other => panic!("{other:?}"),
        }
    }
    table.normalise();
    assert_eq!(names(&table)[4..], ["t_chk_4 a > c", "t_chk_5 d > 1", "t_chk_6 a > 1"]);
}

#[test]
fn references_become_foreign_keys() {
    let mut table = create(
        "CREATE TABLE t (id INT PRIMARY KEY REFERENCES p (id), a INT REFERENCES p ON DELETE CASCADE, b \
         INT, c INT, KEY (b, c), CONSTRAINT f FOREIGN KEY (c) REFERENCES p (id), FOREIGN KEY (b) \
         REFERENCES p (id))",
    );
    table.complete_foreign_keys();
    table.normalise();
    let keys: Vec<_> =
        table.foreign_keys.iter().map(|it| (it.name.as_deref(), it.columns.join(","))).collect();
    let expected = [("t_ibfk_1", "id"), ("t_ibfk_2", "a"), ("f", "c"), ("t_ibfk_3", "b")];
    assert_eq!(keys, expected.map(|(name, column)| (Some(name), column.to_owned())));
    assert_eq!(table.foreign_keys[1].references.on_delete, Some(ReferenceAction::Cascade));
    let names: Vec<_> = table.keys.iter().map(|key| key.name.as_deref()).collect();
    assert_eq!(names, [None, Some("b"), Some("a"), Some("f")]);
    assert!(table.columns.iter().all(|column| column.references.is_none()));
}

#[test]
fn options_of_tables() {
    let table = create(
        "CREATE TABLE t (a INT) ENGINE InnoDB, AUTO_INCREMENT=5 DEFAULT CHARACTER SET = utf8mb4 \
         COLLATE utf8mb4_bin COMMENT 'it''s' ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE 8 STATS_PERSISTENT \
         = DEFAULT, AVG_ROW_LENGTH=10 MAX_ROWS=100 COMPRESSION='zlib' ENCRYPTION='N' TABLESPACE \
         `ts` DATA DIRECTORY='/d' INDEX DIRECTORY = '/i' UNION = (a, d.b) HISTORY = '15 MINUTE' \
         HISTORY_BYTES = 1000 COMMIT = 'ASYNC' SOMETHING = new",
    );
    for (name, value) in [
        ("ENGINE", "InnoDB"),
        ("AUTO_INCREMENT", "5"),
        ("CHARSET", "utf8mb4"),
        ("COLLATE", "utf8mb4_bin"),
        ("COMMENT", "it's"),
        ("STATS_PERSISTENT", "DEFAULT"),
        ("TABLESPACE", "ts"),
        ("DATA DIRECTORY", "/d"),
        ("UNION", "(a, d.b)"),
        ("HISTORY", "15 MINUTE"),
        ("HISTORY_BYTES", "1000"),
        ("COMMIT", "ASYNC"),
        ("SOMETHING", "new"),
    ] {
        assert_eq!(table.option(name), Some(value), "{name}");
    }
    assert_eq!((table.options.len(), table.option("NOTHING")), (20, None));
    let shown = round_trip("CREATE TABLE t (a INT) OTHER = `` COMMENT = '' START TRANSACTION");
    assert!(shown.contains("OTHER=''") && shown.ends_with("START TRANSACTION"), "{shown}");
}

#[test]
fn ways_to_distribute_rows() {
    let by = |text: &str| create(&format!("CREATE TABLE t (a INT) {text}")).partitioning.unwrap();
    let texts =
        |list: &[Expression]| list.iter().map(|e| e.text.clone()).collect::<Vec<_>>().join("; ");
    assert!(matches!(
        by("PARTITION BY HASH (a + 1) PARTITIONS 4"),
        Partitioning { method: PartitionMethod::Hash { linear: false, .. }, count: Some(4), .. }
    ));
    assert!(matches!(by("PARTITION BY LINEAR KEY ALGORITHM=2 (a, b)").method,
        PartitionMethod::Key { linear: true, algorithm: Some(2), columns }
            if columns == ["a", "b"]));
    assert!(matches!(by("PARTITION BY KEY \
         ()").method, PartitionMethod::Key { columns, .. } if columns.is_empty()));
    let range = by("PARTITION BY RANGE (TO_DAYS(d)) SUBPARTITION BY HASH (a) SUBPARTITIONS 2 (
        PARTITION p0 VALUES LESS THAN (TO_DAYS('2024-01-01')) ENGINE=InnoDB COMMENT = 'x'
        (SUBPARTITION s0 DATA DIRECTORY = '/x', SUBPARTITION s1),
        PARTITION p1 VALUES LESS THAN MAXVALUE
        STORAGE ENGINE InnoDB)");
    assert_eq!(range.subpartitioning.unwrap().count, Some(2));
    assert_eq!(range.partitions[0].options.len(), 2);
    assert_eq!(range.partitions[0].subpartitions[1].0, "s1");
    assert_eq!(
        range.partitions[1].values,
        Some(PartitionValues::LessThan(vec![PartitionBound::Maximum]))
    );
    let columns =
        by("PARTITION BY RANGE COLUMNS (a, b) (PARTITION p VALUES LESS THAN (5, MAXVALUE))");
    assert!(matches!(&columns.partitions[0].values,
        Some(PartitionValues::LessThan(bounds))
            if bounds.len() == 2 && bounds[1] == PartitionBound::Maximum));
    let list = by(
        "PARTITION BY LIST COLUMNS(a,b) (PARTITION p VALUES IN ((1,'x'), (2, NULL)), PARTITION q \
         VALUES IN ((3,4)))",
    );
    assert!(matches!(&list.partitions[0].values, Some(PartitionValues::In(values))
        if values.iter().all(|value| value.len() == 2) && values.len() == 2));
    let list = by("PARTITION BY LIST (a) (PARTITION p VALUES IN (1, (2), (1) + 2, -3))");
    assert!(
        matches!(&list.partitions[0].values, Some(PartitionValues::In(values)) if values.len() == 4)
    );
    let list = by("PARTITION BY LIST (a) (PARTITION p VALUES IN (1), PARTITION d DEFAULT)");
    assert_eq!(list.partitions[1].values, Some(PartitionValues::Default));
    let table = create("CREATE TABLE t (a INT) HISTORY '1 DAY' SEGMENT BY (ROUND_DOWN(a, 100), b)");
    assert_eq!(texts(&table.segment_by), "ROUND_DOWN(a, 100); b");
    let table = create(
        "CREATE TABLE t (a INT) ENGINE=x PARTITION BY (LEFT(c, 2), TIME_SLICE(d, INTERVAL 6 DAY), \
         HASH(a, 8), ROUND_DOWN(a, 10)) SEGMENT BY (TIME_SLICE(d, INTERVAL 1 HOUR))",
    );
    assert_eq!(texts(&table.segment_by), "TIME_SLICE(d, INTERVAL 1 HOUR)");
    let Some(Partitioning { method: PartitionMethod::Value(by), .. }) = &table.partitioning else {
        panic!("{table:?}")
    };
    assert_eq!(
        texts(by),
        "LEFT(c, 2); TIME_SLICE(d, INTERVAL 6 DAY); HASH(a, 8); ROUND_DOWN(a, 10)"
    );
    round_trip("CREATE TABLE t (a INT, d DATE) PARTITION BY (HASH(a, 8), d) SEGMENT BY (a)");
}

#[test]
fn tables_of_queries_and_of_tables() {
    for (sql, text, duplicates) in [
        ("CREATE TABLE t AS SELECT 1 AS a", "SELECT 1 AS a", None),
        ("CREATE TEMPORARY TABLE IF NOT EXISTS t SELECT * FROM u", "SELECT * FROM u", None),
        ("CREATE TABLE t (a INT) ENGINE=x IGNORE AS (SELECT 1)", "(SELECT 1)", Some(false)),
        ("CREATE TABLE t (SELECT 1)", "(SELECT 1)", None),
        (
            "CREATE TABLE t REPLACE WITH q AS (SELECT 1) SELECT * FROM q;",
            "WITH q AS (SELECT 1) SELECT * FROM q",
            Some(true),
        ),
        ("CREATE TABLE t PARTITION BY (a) SEGMENT BY (b) TABLE u", "TABLE u", None),
    ] {
        let query = create(sql).query.unwrap();
        assert_eq!((query.text.as_str(), query.duplicates), (text, duplicates), "{sql}");
    }
    let name = |name: &str| TableName { database: Some("d".to_owned()), name: name.to_owned() };
    for sql in ["CREATE TABLE d.a LIKE d.b", "CREATE TABLE IF NOT EXISTS d.a (LIKE d.b);"] {
        let table = create(sql);
        assert_eq!((table.name, table.like), (name("a"), Some(name("b"))));
    }
}

const TYPES: [&str; 24] = [
    "INT",
    "INT(5) UNSIGNED ZEROFILL",
    "BOOL",
    "BIGINT",
    "DECIMAL",
    "DECIMAL(10,2)",
    "FLOAT(7,3)",
    "DOUBLE",
    "BIT",
    "CHAR",
    "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin",
    "VARCHAR(3) CHARACTER SET binary",
    "TEXT(9)",
    "BLOB",
    "LONGTEXT BINARY",
    "ENUM('a','b\\'\\\\c')",
    "SET('x')",
    "JSON",
    "DATETIME(3)",
    "TIMESTAMP",
    "YEAR(4)",
    "DATE",
    "SERIAL",
    "VECTOR",
];

const ATTRIBUTES: [&str; 16] = [
    "NULL",
    "NOT NULL",
    "DEFAULT NULL",
    "DEFAULT -1",
    "DEFAULT 'it''s'",
    "DEFAULT (1 + f(2))",
    "DEFAULT CURRENT_TIMESTAMP(3)",
    "ON UPDATE NOW()",
    "AUTO_INCREMENT",
    "UNIQUE",
    "PRIMARY KEY",
    "COMMENT 'a\\n\\'b'",
    "INVISIBLE",
    "AS (`a b` + 1) STORED",
    "CHECK (x IN (1, 2))",
    "STORAGE DISK",
];

const ELEMENTS: [&str; 10] = [
    "PRIMARY KEY (c0)",
    "UNIQUE (c1)",
    "KEY (c0)",
    "KEY c0 (c1(3) DESC) USING HASH COMMENT 'x'",
    "FULLTEXT f (c1) WITH PARSER p",
    "KEY ((c0 + 1)) INVISIBLE KEY_BLOCK_SIZE 4",
    "CHECK (c0 > 1)",
    "CONSTRAINT t_chk_1 CHECK (c0 <> 'x') NOT ENFORCED",
    "FOREIGN KEY (c0, c1) REFERENCES d.p (a, b) ON DELETE SET NULL ON UPDATE CASCADE",
    "CONSTRAINT `f``k` FOREIGN KEY i (c0) REFERENCES p (a) MATCH FULL",
];

const DISTRIBUTIONS: [&str; 9] = [
    "",
    "PARTITION BY HASH (c0) PARTITIONS 4",
    "PARTITION BY LINEAR KEY ALGORITHM = 2 (c0)",
    "PARTITION BY RANGE (c0) (PARTITION p0 VALUES LESS THAN (10) COMMENT 'x', PARTITION `p 1` \
     VALUES LESS THAN MAXVALUE)",
    "PARTITION BY RANGE COLUMNS (c0, c1) SUBPARTITION BY KEY (c1) SUBPARTITIONS 2 (PARTITION a \
     VALUES LESS THAN (1, MAXVALUE) (SUBPARTITION s0, SUBPARTITION s1 ENGINE x))",
    "PARTITION BY LIST (c0) (PARTITION p0 VALUES IN (1, -2, NULL))",
    "PARTITION BY LIST COLUMNS (c0, c1) (PARTITION p0 VALUES IN ((1, 'a'), (2, 'b')))",
    "PARTITION BY (LEFT(c1, 2), TIME_SLICE(c0, INTERVAL 6 DAY)) SEGMENT BY (c0, HASH(c1, 3))",
    "SEGMENT BY (ROUND_DOWN(c0, 10))",
];

const OPTIONS: [&str; 9] = [
    "ENGINE=InnoDB",
    "COMMENT 'x''y'",
    "HISTORY = '15 MINUTE'",
    "HISTORY_BYTES 5",
    "ROW_FORMAT DYNAMIC",
    "TABLESPACE `a b`",
    "UNION=(a,b)",
    "ENCRYPTION='N'",
    "OTHER = `a``b`",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn definitions_read_back(
        columns in prop::collection::vec(
            (prop::sample::select(&TYPES[..]),
             prop::sample::subsequence(&ATTRIBUTES[..], 0..4)), 1..5),
        elements in prop::sample::subsequence(&ELEMENTS[..], 0..5),
        options in prop::sample::subsequence(&OPTIONS[..], 0..4),
        distribution in prop::sample::select(&DISTRIBUTIONS[..]),
    ) {
        let mut parts: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(at, (name, attributes))| format!("c{at} {name} {}", attributes.join(" ")))
            .collect();
        parts.extend(elements.iter().map(|element| (*element).to_owned()));
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS d.t ({}) {} {distribution}",
            parts.join(", "),
            options.join(" "),
        );
        round_trip(&sql);
    }
}
