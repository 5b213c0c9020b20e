//! Tests of `ALTER TABLE` and the other statements; errors; mutations.

use super::*;

fn actions(sql: &str) -> Vec<AlterAction> {
    match read(&format!("ALTER TABLE d.t {sql}")) {
        TableStatement::Alter(alter) => alter.actions,
        other => panic!("{other:?}"),
    }
}

/// The actions by the names of their variants.
fn kinds(sql: &str) -> String {
    let name = |action: &AlterAction| {
        let text = format!("{action:?}");
        text.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    actions(sql).iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn alter_reads_every_action() {
    for (sql, expected) in [
        ("", ""),
        ("ADD c INT FIRST, ADD COLUMN IF NOT EXISTS d INT AFTER c", "AddColumn AddColumn"),
        ("ADD (c INT, d INT, KEY (c))", "AddColumn AddColumn AddKey"),
        ("ADD PRIMARY KEY (a), ADD UNIQUE u (b), ADD INDEX (c)", "AddKey AddKey AddKey"),
        (
            "ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES p (a), ADD CHECK (a > 0)",
            "AddForeignKey AddCheck",
        ),
        (
            "DROP c, DROP COLUMN IF EXISTS d, DROP KEY k, DROP INDEX i",
            "DropColumn DropColumn DropKey DropKey",
        ),
        (
            "DROP PRIMARY KEY, DROP FOREIGN KEY f, DROP CHECK c, DROP CONSTRAINT x",
            "DropPrimaryKey DropForeignKey DropCheck DropConstraint",
        ),
        (
            "MODIFY c BIGINT NOT NULL AFTER b, CHANGE COLUMN a b INT FIRST",
            "ModifyColumn ChangeColumn",
        ),
        (
            "RENAME COLUMN a TO b, RENAME KEY k TO l, RENAME INDEX m TO n",
            "RenameColumn RenameKey RenameKey",
        ),
        ("RENAME TO x", "Rename"),
        ("RENAME AS d.x", "Rename"),
        ("RENAME x", "Rename"),
        (
            "ALTER c SET DEFAULT 5, ALTER COLUMN c DROP DEFAULT, ALTER c SET DEFAULT (1+1)",
            "ColumnDefault ColumnDefault ColumnDefault",
        ),
        (
            "ALTER c SET INVISIBLE, ALTER INDEX k VISIBLE, ALTER CHECK x NOT ENFORCED",
            "ColumnVisible KeyVisible AlterCheck",
        ),
        ("ENGINE=InnoDB ROW_FORMAT=DYNAMIC, COMMENT 'x'", "Option Option Option"),
        ("CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "Convert"),
        ("CONVERT TO CHARSET DEFAULT", "Convert"),
        ("ORDER BY a DESC, b", "OrderBy"),
        ("ENABLE KEYS, DISABLE KEYS, FORCE", "EnableKeys EnableKeys Force"),
        ("ADD KEY (a), ALGORITHM=INPLACE, LOCK NONE", "AddKey Algorithm Lock"),
        (
            "ADD PARTITION (PARTITION p VALUES LESS THAN (5), PARTITION q VALUES LESS THAN \
             MAXVALUE)",
            "AddPartitions",
        ),
        ("ADD PARTITION PARTITIONS 4", "AddPartitionCount"),
        ("DROP PARTITION p, q", "DropPartitions"),
        ("DROP PARTITION IF EXISTS p", "DropPartitions"),
        ("TRUNCATE PARTITION ALL", "TruncatePartitions"),
        ("TRUNCATE PARTITION p, q", "TruncatePartitions"),
        ("REORGANIZE PARTITION a, b INTO (PARTITION c VALUES IN (1, 2))", "ReorganizePartitions"),
        ("REORGANIZE PARTITION", "ReorganizePartitions"),
        ("COALESCE PARTITION 2", "CoalescePartitions"),
        ("EXCHANGE PARTITION p WITH TABLE d.x WITHOUT VALIDATION", "ExchangePartition"),
        ("REBUILD PARTITION p", "MaintainPartitions"),
        ("CHECK PARTITION ALL FOR UPGRADE", "MaintainPartitions"),
        ("REMOVE PARTITIONING", "RemovePartitioning"),
        ("PARTITION BY HASH (a) PARTITIONS 2", "PartitionBy"),
        ("ADD c INT PARTITION BY (a) SEGMENT BY (b)", "AddColumn PartitionBy SegmentBy"),
        ("HISTORY = '1 HOUR'", "Option"),
        ("ADD value INT, ADD rank INT;", "AddColumn AddColumn"),
    ] {
        assert_eq!(kinds(sql), expected, "{sql}");
    }
}

#[test]
fn alter_keeps_what_was_said() {
    let name = |name: &str| name.to_owned();
    assert_eq!(
        actions("RENAME COLUMN `a b` TO c"),
        [AlterAction::RenameColumn(name("a b"), name("c"))]
    );
    assert_eq!(
        actions("DROP PARTITION IF EXISTS p,q"),
        [AlterAction::DropPartitions { if_exists: true, names: vec![name("p"), name("q")] }]
    );
    assert!(matches!(&actions("CHANGE a b INT FIRST")[0],
        AlterAction::ChangeColumn { from, column, place: Some(Place::First), .. }
            if from == "a" && column.name == "b"));
    assert!(matches!(&actions("ADD c INT AFTER `x y`")[0],
        AlterAction::AddColumn { place: Some(Place::After(after)), .. } if after == "x y"));
    assert_eq!(
        actions("OPTIMIZE PARTITION p"),
        [AlterAction::MaintainPartitions(name("OPTIMIZE"), PartitionList::Names(vec![name("p")]))]
    );
    assert!(matches!(
        &actions("EXCHANGE PARTITION p WITH TABLE x")[0],
        AlterAction::ExchangePartition { validation: true, .. }
    ));
}

#[test]
fn what_mariadb_has_of_its_own() {
    assert_eq!(
        actions("ALTER INDEX k IGNORED, ALTER KEY k NOT IGNORED"),
        [
            AlterAction::KeyVisible("k".to_owned(), false),
            AlterAction::KeyVisible("k".to_owned(), true)
        ]
    );
    assert_eq!(kinds("NOWAIT ADD c INT"), "AddColumn");
    assert_eq!(kinds("WAIT 5 ADD c INT, DROP d"), "AddColumn DropColumn");
    let added = |sql: &str| match &actions(sql)[0] {
        AlterAction::AddKey(key) => key.if_not_exists,
        AlterAction::AddForeignKey(key) => key.if_not_exists,
        AlterAction::AddCheck(check) => check.if_not_exists,
        other => panic!("{other:?}"),
    };
    for what in ["UNIQUE (a)", "CHECK (a > 0)", "FOREIGN KEY (a) REFERENCES u (a)"] {
        assert!(added(&format!("ADD CONSTRAINT IF NOT EXISTS c {what}")), "{what}");
        assert!(!added(&format!("ADD CONSTRAINT c {what}")), "{what}");
    }
    assert!(added("ADD KEY IF NOT EXISTS k (a)") && !added("ADD KEY k (a)"));
    assert!(added("ADD FOREIGN KEY IF NOT EXISTS f (a) REFERENCES u (a)"));
    for (sql, expected) in [
        ("MODIFY COLUMN IF EXISTS c INT", true),
        ("CHANGE IF EXISTS a c INT", true),
        ("MODIFY c INT", false),
        ("CHANGE a c INT", false),
    ] {
        let found = actions(sql);
        let (AlterAction::ModifyColumn { if_exists, .. }
        | AlterAction::ChangeColumn { if_exists, .. }) = &found[0]
        else {
            panic!("{sql}")
        };
        assert_eq!(*if_exists, expected, "{sql}");
    }
    let if_exists = |sql: &str| match read(sql) {
        TableStatement::Alter(alter) => alter.if_exists,
        other => panic!("{other:?}"),
    };
    assert!(if_exists("ALTER TABLE IF EXISTS t FORCE") && !if_exists("ALTER TABLE t FORCE"));
    let table = TableName { database: None, name: "t".to_owned() };
    assert_eq!(read("TRUNCATE TABLE t WAIT 5"), TableStatement::Truncate(table));
    assert!(matches!(read("DROP TABLE t NOWAIT"), TableStatement::Drop(_)));
    assert!(matches!(read("DROP INDEX i ON t WAIT 1"), TableStatement::DropIndex(_)));
    assert!(matches!(read("CREATE INDEX i ON t (a) NOWAIT"), TableStatement::CreateIndex(_)));
}

#[test]
fn the_other_statements() {
    let table = |name: &str| TableName { database: None, name: name.to_owned() };
    assert_eq!(
        read("DROP TEMPORARY TABLE IF EXISTS a, b CASCADE;"),
        TableStatement::Drop(DropTables {
            temporary: true,
            if_exists: true,
            tables: vec![table("a"), table("b")],
            cascade: Some(true),
        })
    );
    assert_eq!(read("TRUNCATE a"), TableStatement::Truncate(table("a")));
    assert_eq!(read("truncate table a"), TableStatement::Truncate(table("a")));
    let pairs = vec![(table("a"), table("b")), (table("c"), table("d"))];
    for (sql, if_exists) in [
        ("RENAME TABLE a TO b, c TO d", false),
        ("RENAME TABLES a NOWAIT TO b, c WAIT 7 TO d", false),
        ("RENAME TABLE IF EXISTS a TO b, c WAIT 0 TO d", true),
    ] {
        let pairs = pairs.clone();
        assert_eq!(read(sql), TableStatement::Rename(RenameTables { if_exists, pairs }), "{sql}");
    }
    let TableStatement::CreateIndex(index) = read(
        "CREATE UNIQUE INDEX i USING BTREE ON t (a(3), (b + 1) DESC) COMMENT 'x' \
         ALGORITHM=INPLACE LOCK = NONE",
    ) else {
        panic!()
    };
    assert_eq!((index.key.kind, index.key.parts.len()), (KeyKind::Unique, 2));
    assert_eq!(kinds_of(&index.into_alter()), 1);
    let TableStatement::DropIndex(index) = read("DROP INDEX `PRIMARY` ON d.t") else { panic!() };
    assert_eq!(index.into_alter().actions, [AlterAction::DropPrimaryKey]);
    for sql in [
        "CREATE DATABASE IF NOT EXISTS d DEFAULT CHARACTER SET utf8mb4 COLLATE = utf8mb4_bin \
         ENCRYPTION='N'",
        "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 \
         COLLATE utf8mb4_bin */ /*!80016 DEFAULT ENCRYPTION='N' */",
    ] {
        let TableStatement::CreateDatabase(database) = read(sql) else { panic!() };
        assert!(database.if_not_exists);
        assert_eq!(database.name.as_deref(), Some("d"));
        assert_eq!(option_value(&database.options, "COLLATE"), Some("utf8mb4_bin"));
        assert_eq!(option_value(&database.options, "ENCRYPTION"), Some("N"));
    }
    let TableStatement::AlterDatabase(database) = read("ALTER SCHEMA CHARSET latin1 READ ONLY = 1")
    else {
        panic!()
    };
    assert_eq!((database.name, database.options.len()), (None, 2));
    let TableStatement::AlterDatabase(database) = read("ALTER DATABASE d COLLATE x") else {
        panic!()
    };
    assert_eq!(database.name.as_deref(), Some("d"));
    assert_eq!(
        read("DROP SCHEMA IF EXISTS `d`"),
        TableStatement::DropDatabase(DropDatabase { if_exists: true, name: "d".to_owned() })
    );
}

fn kinds_of(alter: &AlterTable) -> usize {
    alter.actions.len()
}

#[test]
fn errors_name_the_place() {
    for (sql, errno, near) in [
        ("CREATE TABLE t", 1064, "near '' at line 1"),
        ("CREATE TABLE t ()", 1064, "near ')' at line 1"),
        ("CREATE TABLE t (a)", 1064, "near ')' at line 1"),
        ("CREATE TABLE t (a INT,)", 1064, "near ')' at line 1"),
        ("CREATE TABLE t (a VARCHAR)", 1064, "near ')' at line 1"),
        ("CREATE TABLE t (a INT\nDEFAULT f)", 1064, "near 'f)' at line 2"),
        ("CREATE TABLE t (a INT) WHAT", 1064, "near 'WHAT' at line 1"),
        ("CREATE TABLE t (a INT) WHAT WHAT", 1064, "near 'WHAT WHAT' at line 1"),
        ("CREATE TABLE t (a INT) DEFAULT x=1", 1064, "near 'DEFAULT x=1' at line 1"),
        ("CREATE TABLE t (a INT) DEFAULT DEFAULT=1", 1064, "near 'DEFAULT DEFAULT=1' at line 1"),
        ("CREATE TABLE t (a INT) KEY=1", 1064, "near 'KEY=1' at line 1"),
        ("CREATE TABLE t (a FLOAT(60))", 1063, "Incorrect column specifier for column 'a'"),
        ("CREATE TABLE t (a INT) PARTITION BY", 1064, "near '' at line 1"),
        ("CREATE TABLE t (PRIMARY KEY (a))", 1064, "near '' at line 1"),
        ("CREATE TABLE select (a INT)", 1064, "near 'select (a INT)' at line 1"),
        ("CREATE TABLE t (a INT(99999999999))", 1064, "near '99999999999))' at line 1"),
        ("CREATE TABLE t (a INT) x; SELECT 1", 1064, "near 'x; SELECT 1' at line 1"),
        ("ALTER TABLE t ADD", 1064, "near '' at line 1"),
        ("ALTER TABLE t DROP a b", 1064, "near 'b' at line 1"),
        ("ALTER TABLE t DROP a,", 1064, "near '' at line 1"),
        ("ALTER TABLE t ALGORITHM=FAST", 1064, "near 'FAST' at line 1"),
        ("DROP TABLE", 1064, "near '' at line 1"),
        ("DROP VIEW v", 1064, "near 'VIEW v' at line 1"),
        ("CREATE VIEW v AS SELECT 1", 1064, "near 'VIEW v AS SELECT 1' at line 1"),
        ("CREATE DATABASE d ENGINE=x", 1064, "near '' at line 1"),
        ("SELECT 1", 1064, "near 'SELECT 1' at line 1"),
        ("CREATE OR REPLACE TABLE t (a INT)", 1235, "CREATE OR REPLACE TABLE"),
    ] {
        let error = parse(sql, Mode::default()).expect_err(sql);
        assert_eq!(error.errno(), errno, "{sql}: {error}");
        assert!(error.message().contains(near), "{sql}: {error}");
    }
}

const STATEMENTS: [&str; 5] = [
    "CREATE TEMPORARY TABLE IF NOT EXISTS `d`.t (a BIGINT(20) UNSIGNED NOT NULL AUTO_INCREMENT, b \
     VARCHAR(9) CHARACTER SET latin1 DEFAULT 'x' COMMENT 'y', g INT GENERATED ALWAYS AS (a + 1) \
     STORED, PRIMARY KEY (a, b(3) DESC) USING BTREE, CONSTRAINT f FOREIGN KEY (a) REFERENCES p (x) \
     ON DELETE SET NULL, CHECK (a > 0) NOT ENFORCED) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    "CREATE TABLE t (a INT) /*!50100 PARTITION BY RANGE (a) SUBPARTITION BY KEY (a) SUBPARTITIONS \
     2 \
     (PARTITION p VALUES LESS THAN (1) ENGINE = InnoDB, PARTITION q VALUES LESS THAN MAXVALUE) */",
    "CREATE TABLE t (a INT) PARTITION BY (LEFT(c, 2), TIME_SLICE(d, INTERVAL 6 DAY)) SEGMENT BY \
     (a) \
     AS SELECT 1 AS a",
    "ALTER TABLE t ADD (a INT, b SET('x','y')), DROP KEY k, CHANGE a b INT AFTER c, ALTER x SET \
     DEFAULT (1), REORGANIZE PARTITION a INTO (PARTITION b VALUES IN ((1, 2), (3, 4)))",
    "CREATE DATABASE IF NOT EXISTS d DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn no_text_panics(
        which in 0usize..STATEMENTS.len(),
        at in 0usize..600,
        length in 0usize..8,
        piece in "[(),'\"`/*!# a1.=-]{0,4}|NULL|DEFAULT|KEY|VALUES|INT|\\PC",
    ) {
        let mut text: Vec<char> = STATEMENTS[which].chars().collect();
        let at = at % (text.len() + 1);
        let end = (at + length).min(text.len());
        text.splice(at..end, piece.chars());
        let sql: String = text.into_iter().collect();
        if let Ok(TableStatement::Create(mut table)) = parse(&sql, Mode::default()) {
            table.normalise();
            if table.like.is_none() && !table.columns.is_empty() {
                let text = shown(&table);
                prop_assert!(parse(&text, Mode::default()).is_ok(), "{}\n{}", sql, text);
            }
        }
    }
}
