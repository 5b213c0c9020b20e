"""Mirrors follow definitions that change, or are read anew, or say why they cannot: they never
show anything else than their server."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from pelorus_tools import servers
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import wait_for

BEGIN = ("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c DATETIME NULL)",
         "INSERT INTO t VALUES (1, 10, 'one', '2026-01-01 00:00:00'), (2, NULL, NULL, NULL), "
         "(3, 30, 'three', '2026-03-03 03:03:03')")
ROW = "INSERT INTO t (id, b) VALUES ({0}, 'r{0}')"


@dataclass
class Case:
    """What is done to a database."""

    steps: list[str]
    # Whether copies follow it without being read anew, where that is known.
    kept: bool | None = None
    begin: tuple[str, ...] = BEGIN
    tables: tuple[str, ...] = ("t",)
    # The kind of server that has such statements; both without it.
    only: str | None = None


def live_again(pair: Mirrored, database: str, tables) -> None:
    """Waits until what was done has come through the stream, and tables are live after it."""
    pair.server.run("CREATE TABLE last_of_all (id INT PRIMARY KEY)", database=database)
    pair.wait_live(database, "last_of_all", *tables)


CHANGES = {
    "add": Case(["ALTER TABLE t ADD COLUMN d INT NOT NULL DEFAULT 7", ROW.format(4),
             "ALTER TABLE t ADD e VARCHAR(5) DEFAULT 'x' FIRST, ADD f BIGINT AFTER a",
             ROW.format(5), "UPDATE t SET e = 'y', f = 5 WHERE id < 3"], True),
    "drop": Case([ROW.format(4), "ALTER TABLE t DROP COLUMN a", ROW.format(5),
              "ALTER TABLE t DROP c", "DELETE FROM t WHERE id = 2", ROW.format(6)], True),
    "rename_column": Case(["ALTER TABLE t RENAME COLUMN a TO z", ROW.format(4),
                       "ALTER TABLE t CHANGE z y BIGINT", ROW.format(5),
                       "UPDATE t SET y = 1 << 40 WHERE id = 1"]),
    "swap_columns": Case(["ALTER TABLE t ADD d INT", "UPDATE t SET d = id * 100",
                      "ALTER TABLE t RENAME COLUMN a TO d, RENAME COLUMN d TO a",
                      "INSERT INTO t (id, a, d) VALUES (4, 44, 55)",
                      "UPDATE t SET a = 1 WHERE id = 1"], None),
    "reorder": Case(["ALTER TABLE t ADD d INT", "UPDATE t SET d = id * 100", ROW.format(4),
                 "ALTER TABLE t MODIFY d INT AFTER id", "UPDATE t SET d = -1, a = 1 WHERE id = 1",
                 "ALTER TABLE t MODIFY d INT FIRST", "UPDATE t SET d = -2, a = 2 WHERE id = 2"],
                True),
    "modify": Case(["ALTER TABLE t MODIFY a BIGINT UNSIGNED", ROW.format(4),
                "UPDATE t SET a = 18446744073709551615 WHERE id = 1",
                "ALTER TABLE t MODIFY b VARCHAR(200) NOT NULL DEFAULT ''", ROW.format(5),
                "ALTER TABLE t MODIFY a TINYINT", "UPDATE t SET a = 5 WHERE id = 2",
                "ALTER TABLE t MODIFY b TEXT", "UPDATE t SET b = REPEAT('x', 5000) WHERE id = 3"],
               None),
    "to_text": Case(["ALTER TABLE t MODIFY c DATE", "UPDATE t SET c = '2026-05-05' WHERE id = 1",
                 "ALTER TABLE t MODIFY a VARCHAR(30)", "UPDATE t SET a = 'aé' WHERE id = 2",
                 "ALTER TABLE t MODIFY c VARCHAR(30)", ROW.format(4)], None),
    "truncate": Case([ROW.format(4), "TRUNCATE TABLE t", ROW.format(5), "TRUNCATE t", ROW.format(6),
                  ROW.format(7)], True),
    "index": Case(["CREATE INDEX i ON t (a)", ROW.format(4), "CREATE UNIQUE INDEX u ON t (b)",
               "ALTER TABLE t ADD KEY k (a, b), DROP INDEX i", "DROP INDEX u ON t", ROW.format(5),
               "ALTER TABLE t COMMENT 'x', AUTO_INCREMENT 100", ROW.format(6)], True),
    "primary_key": Case(["ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, b)", ROW.format(4),
                     "INSERT INTO t (id, b) VALUES (4, 'other')",
                     "DELETE FROM t WHERE b = 'one'"], False),
    "generated": Case(["ALTER TABLE t ADD g INT AS (a * 2) STORED, ADD v INT AS (a + 1) VIRTUAL",
                   "INSERT INTO t (id, a) VALUES (4, 44)", "UPDATE t SET a = 5 WHERE id = 2",
                   "ALTER TABLE t DROP COLUMN v"], False),
    "number": Case(["ALTER TABLE t ADD n BIGINT AUTO_INCREMENT UNIQUE", ROW.format(4)], False),
    "now": Case(["ALTER TABLE t ADD n DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP", ROW.format(4),
             "ALTER TABLE t ADD o DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) "
             "ON UPDATE CURRENT_TIMESTAMP(6)", "UPDATE t SET a = 9 WHERE id = 3"], None),
    "charset": Case(["UPDATE t SET b = 'é' WHERE id = 1", "ALTER TABLE t CONVERT TO CHARACTER SET latin1",
                 "UPDATE t SET b = 'ü' WHERE id = 2",
                 "ALTER TABLE t MODIFY b VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                 "UPDATE t SET b = '🙂' WHERE id = 3", "ALTER TABLE t DEFAULT CHARSET utf8mb4",
                 "ALTER TABLE t ADD n VARCHAR(9) DEFAULT 'ñ'"], None),
    "enum": Case(["ALTER TABLE t ADD e ENUM('x','y') DEFAULT 'y', ADD s SET('a','b')",
              "UPDATE t SET e = 'x', s = 'a,b' WHERE id = 1",
              "ALTER TABLE t MODIFY e ENUM('x','y','z')", "UPDATE t SET e = 'z' WHERE id = 2",
              "ALTER TABLE t MODIFY e ENUM('w','z','y','x')", "UPDATE t SET e = 'w' WHERE id = 3",
              "ALTER TABLE t MODIFY s SET('a','b','c')", "UPDATE t SET s = 'c' WHERE id = 2"], None),
    "zones": Case(["ALTER TABLE t ADD m TIMESTAMP NULL", "SET time_zone = '+05:30'",
               "UPDATE t SET m = '2026-06-01 12:00:00'", "ALTER TABLE t MODIFY m DATETIME",
               "UPDATE t SET m = '2026-06-02 12:00:00' WHERE id = 1", "SET time_zone = '-03:00'",
               "ALTER TABLE t MODIFY c TIMESTAMP NULL",
               "UPDATE t SET c = '2026-06-03 12:00:00' WHERE id = 2",
               "ALTER TABLE t MODIFY m TIMESTAMP NULL"], None),
    "clocks": Case(["SET time_zone = '+05:30'",
                    "ALTER TABLE t ADD d DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP",
                    "ALTER TABLE t ADD e TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP",
                    "ALTER TABLE t ADD f TIMESTAMP NOT NULL DEFAULT '2026-01-01 00:00:00'",
                    "ALTER TABLE t ADD g DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)", ROW.format(4)]),
    "not_null": Case(["ALTER TABLE t MODIFY a INT NOT NULL DEFAULT 3", ROW.format(4),
                  "ALTER TABLE t MODIFY a INT NULL", "INSERT INTO t VALUES (5, NULL, NULL, NULL)",
                  "ALTER TABLE t ALTER a SET DEFAULT 12", ROW.format(6),
                  "ALTER TABLE t ALTER a DROP DEFAULT"], None),
    "again": Case(["DROP TABLE t", "CREATE TABLE t (k VARCHAR(9) PRIMARY KEY, n INT)",
               "INSERT INTO t VALUES ('a', 1)", "DROP TABLE t",
               "CREATE TABLE t (id INT PRIMARY KEY, q DECIMAL(9,3))", "INSERT INTO t VALUES (1, 2.5)"],
              False),
    "rename": Case(["RENAME TABLE t TO other", "CREATE TABLE t LIKE other", "INSERT INTO t "
                "SELECT * FROM other WHERE id > 1", "ALTER TABLE other RENAME TO third",
                "INSERT INTO third (id) VALUES (9)", "RENAME TABLE third TO x, t TO third, x TO t",
                ROW.format(11), "INSERT INTO third (id) VALUES (12)"], None),
    "ghost": Case(["CREATE TABLE _t_gho LIKE t", "ALTER TABLE _t_gho ADD COLUMN d INT DEFAULT 4",
               "INSERT INTO _t_gho (id, a, b, c) SELECT id, a, b, c FROM t", ROW.format(4),
               "REPLACE INTO _t_gho (id, b) VALUES (4, 'r4')",
               "RENAME TABLE t TO _t_del, _t_gho TO t", ROW.format(5), "DROP TABLE _t_del",
               "UPDATE t SET d = 6 WHERE id = 1"], None),
    "pt_osc": Case(["CREATE TABLE _t_new LIKE t", "ALTER TABLE _t_new MODIFY a BIGINT, DROP COLUMN c",
                "CREATE TRIGGER i AFTER INSERT ON t FOR EACH ROW "
                "REPLACE INTO _t_new (id, a, b) VALUES (NEW.id, NEW.a, NEW.b)",
                "CREATE TRIGGER u AFTER UPDATE ON t FOR EACH ROW "
                "REPLACE INTO _t_new (id, a, b) VALUES (NEW.id, NEW.a, NEW.b)",
                "CREATE TRIGGER d AFTER DELETE ON t FOR EACH ROW "
                "DELETE IGNORE FROM _t_new WHERE id <=> OLD.id",
                "INSERT LOW_PRIORITY IGNORE INTO _t_new (id, a, b) SELECT id, a, b FROM t",
                ROW.format(4), "UPDATE t SET a = 77 WHERE id = 3", "DELETE FROM t WHERE id = 1",
                "RENAME TABLE t TO _t_old, _t_new TO t", "DROP TABLE IF EXISTS _t_old",
                "DROP TRIGGER IF EXISTS i", ROW.format(5)], None),
    # A zero becomes a number when its column begins to number rows.
    "numbers": Case(["ALTER TABLE t MODIFY id INT NOT NULL AUTO_INCREMENT", "INSERT INTO t (a) VALUES (9)"],
                    begin=(BEGIN[0], "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
                           "INSERT INTO t (id, a) VALUES (0, 1), (5, 2)")),
    "computed_from": Case(["ALTER TABLE t MODIFY a DECIMAL(6,0)", "INSERT INTO t (id, a) VALUES (2, 3)"],
                          begin=("CREATE TABLE t (id INT PRIMARY KEY, a DECIMAL(6,2), "
                                 "g DECIMAL(8,2) AS (a * 2) VIRTUAL)",
                                 "INSERT INTO t (id, a) VALUES (1, 1.50)")),
    "converted_from": Case(["ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4"],
                           begin=("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET latin1, "
                                  "h VARCHAR(40) CHARACTER SET latin1 AS (HEX(s)) STORED)",
                                  "INSERT INTO t (id, s) VALUES (1, 'é')")),
    "implicit_timestamp": Case(["SET explicit_defaults_for_timestamp = OFF",
                                "SET time_zone = '+00:00', timestamp = 1700000000",
                                "ALTER TABLE t ADD COLUMN ts TIMESTAMP", ROW.format(4)]),
    "two_phases": Case(["SET @a = 1 /*M! , binlog_alter_two_phase = ON */", "ALTER TABLE t ADD d INT",
                        "INSERT INTO t (id, d) VALUES (4, 4)"], True),
    "quoted": Case(["ALTER TABLE `t` /* why */ ADD `odd ``name` INT DEFAULT 1 -- so",
                "SET sql_mode = 'ANSI_QUOTES'", "ALTER TABLE \"t\" ADD \"group\" INT DEFAULT 2",
                "INSERT INTO t (id) VALUES (4)"]),
}


PARTITIONED = (
    "CREATE TABLE t (id INT, d DATE, v INT, PRIMARY KEY (id, d)) PARTITION BY RANGE "
    "COLUMNS (d) (PARTITION p1 VALUES LESS THAN ('2026-02-01'), PARTITION p2 VALUES LESS "
    "THAN ('2026-03-01'), PARTITION p3 VALUES LESS THAN (MAXVALUE))",
    "INSERT INTO t VALUES (1, '2026-01-05', 1), (2, '2026-02-05', 2), (3, '2026-03-05', 3)")
CHANGES |= {
    "partitions": Case([
        "ALTER TABLE t DROP PARTITION p1", "INSERT INTO t VALUES (4, '2026-01-05', 4)",
        "ALTER TABLE t TRUNCATE PARTITION p2", "INSERT INTO t VALUES (5, '2026-02-05', 5)",
        "ALTER TABLE t REORGANIZE PARTITION p3 INTO (PARTITION p3 VALUES LESS THAN "
        "('2026-04-01'), PARTITION p4 VALUES LESS THAN MAXVALUE)",
        "INSERT INTO t VALUES (6, '2026-07-07', 6)", "ALTER TABLE t DROP PARTITION p4",
        "ALTER TABLE t ADD PARTITION (PARTITION p5 VALUES LESS THAN ('2026-12-31'))",
        "INSERT INTO t VALUES (7, '2026-07-07', 7)"], begin=PARTITIONED),
    "exchange": Case([
        "CREATE TABLE x (id INT, d DATE, v INT, PRIMARY KEY (id, d))",
        "INSERT INTO x VALUES (8, '2026-02-06', 8)",
        "ALTER TABLE t EXCHANGE PARTITION p2 WITH TABLE x",
        "INSERT INTO t VALUES (9, '2026-02-07', 9)"], False, PARTITIONED, ("t", "x")),
    "hash": Case([
        "ALTER TABLE t REMOVE PARTITIONING", "INSERT INTO t VALUES (4, '2026-01-05', 4)",
        "ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 3",
        "INSERT INTO t VALUES (5, '2026-01-05', 4)", "ALTER TABLE t COALESCE PARTITION 1",
        "ALTER TABLE t TRUNCATE PARTITION p0", "INSERT INTO t VALUES (6, '2026-01-05', 4)"],
        begin=PARTITIONED),
    "come": Case([
        "CREATE TABLE alike LIKE t", "INSERT INTO alike SELECT * FROM t",
        "CREATE TABLE selected (id INT PRIMARY KEY, n BIGINT) SELECT id, a * 2 AS n FROM t",
        "INSERT INTO selected VALUES (100, 1)", "CREATE TABLE IF NOT EXISTS alike LIKE t",
        "CREATE TEMPORARY TABLE passing (id INT PRIMARY KEY)", "INSERT INTO passing VALUES (1)",
        "CREATE VIEW seen AS SELECT * FROM t"], tables=("t", "alike", "selected")),
}

PARTED = (*BEGIN, "CREATE TABLE parted (id INT PRIMARY KEY, a INT, b VARCHAR(20), c DATETIME NULL) "
          "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN "
          "MAXVALUE)", "INSERT INTO parted (id, a) VALUES (7, 70), (107, 1)")
# Values of one family under a type of another: what servers make of them is their own.
RETYPED = (("FLOAT", "0.3", "VARCHAR(30)"), ("FLOAT", "16777217", "DECIMAL(20,4)"),
           ("VARBINARY(12)", "'12'", "BIGINT"), ("TEXT", "'12'", "BIT(20)"),
           ("CHAR(8)", "'12'", "BINARY(8)"), ("ENUM('b','5')", "'5'", "TIME"),
           ("SET('a','1')", "'1'", "TIME"), ("DOUBLE", "1.5", "BIT(8)"), ("DOUBLE", "70", "YEAR"),
           ("VARCHAR(40)", "'-3.7'", "TINYINT UNSIGNED"), ("BIT(16)", "65", "VARCHAR(9)"),
           ("DATETIME(3)", "'2024-01-05 23:59:59.987'", "TIME"))
# What a second look at what mirrors follow has found.
CHANGES |= {
    "retyped": Case(
        [f"ALTER TABLE r{at} MODIFY v {to}" for at, (_, _, to) in enumerate(RETYPED)],
        begin=tuple(text for at, (ty, value, _) in enumerate(RETYPED) for text in (
            f"CREATE TABLE r{at} (id INT PRIMARY KEY, v {ty} NULL)",
            f"INSERT INTO r{at} VALUES (1, {value}), (2, NULL)")),
        tables=tuple(f"r{at}" for at in range(len(RETYPED)))),
    "rename_if_exists": Case([
        "RENAME TABLE IF EXISTS nothing TO something, t NOWAIT TO other, other WAIT 5 TO third",
        "INSERT INTO third (id) VALUES (9)", "RENAME TABLES IF EXISTS nothing TO something"],
        True, tables=("third",), only="mariadb"),
    # A MySQL rounds what a default has too much, a MariaDB cuts it off; its JSON is a text.
    "filled": Case([
        "ALTER TABLE t ADD d DATETIME(1) DEFAULT '2024-01-02 03:04:05.67'", ROW.format(4),
        "ALTER TABLE t ADD e TIME(2) DEFAULT '1:2:3.456', ADD f TIMESTAMP NULL DEFAULT "
        "'2024-01-02 03:04:05.6'", ROW.format(5), "ALTER TABLE t ADD j JSON NOT NULL"]),
    # A session that logs statements has a table of its own under the name.
    "temporary": Case([
        "SET binlog_format = 'STATEMENT'", "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, a INT)",
        "INSERT INTO t VALUES (9, 9)", "TRUNCATE TABLE t", "ALTER TABLE t ADD z INT, DROP COLUMN a",
        "ALTER TABLE t RENAME TO passing", "DROP TEMPORARY TABLE passing", "SET binlog_format = 'ROW'",
        ROW.format(4)]),
    # Each has one meaning everywhere, so that the copy carries it out.
    "kept_types": Case([
        "ALTER TABLE t MODIFY a DECIMAL(9,2)", "ALTER TABLE t MODIFY a BIGINT COMMENT 'more'",
        "ALTER TABLE t MODIFY b TEXT", "ALTER TABLE t MODIFY b VARCHAR(30) DEFAULT 'x'", ROW.format(4),
        "ALTER TABLE t ADD e ENUM('x') DEFAULT 'x'", "ALTER TABLE t MODIFY e ENUM('x','y')", ROW.format(5)],
        True),
    # Servers leave the rows in the binlog that were undone, where a temporary table was made.
    "undone_in_part": Case([
        "BEGIN", "CREATE TEMPORARY TABLE passing (a INT)", ROW.format(4), "SAVEPOINT a", ROW.format(5),
        "DELETE FROM t WHERE id = 1", "ROLLBACK TO a", ROW.format(6), "COMMIT"]),
    "exchange_with_a_mirror": Case([
        ROW.format(4), "ALTER TABLE parted EXCHANGE PARTITION p0 WITH TABLE t", ROW.format(5)],
        begin=PARTED, tables=("t", "parted")),
    "partition_to_table": Case([
        "ALTER TABLE parted CONVERT PARTITION p0 TO TABLE made", "INSERT INTO made (id) VALUES (8)"],
        begin=PARTED, tables=("made", "parted"), only="mariadb"),
    # Which rows a partition by hash has is the server's own; the copy has none of that name.
    "ranges_to_hash": Case([
        "ALTER TABLE parted PARTITION BY KEY (id) PARTITIONS 4",
        "ALTER TABLE parted TRUNCATE PARTITION p1",
        "INSERT INTO parted (id) VALUES (11), (12), (13), (14), (15), (16)",
        "ALTER TABLE parted PARTITION BY LINEAR HASH (id) PARTITIONS 3",
        "ALTER TABLE parted TRUNCATE PARTITION p1", "INSERT INTO parted (id) VALUES (200)"],
        begin=(*PARTED, "INSERT INTO parted (id) VALUES (1), (2), (3), (4), (5), (6)"),
        tables=("parted",)),
    "set_statement": Case([
        "SET STATEMENT lock_wait_timeout = 5, max_statement_time = 0 FOR TRUNCATE TABLE t", ROW.format(4),
        "SET STATEMENT sql_mode = (SELECT '') FOR ALTER TABLE t ADD e ENUM('a', 'b') DEFAULT 'b'",
        "SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE t MODIFY e ENUM('b', 'a')", ROW.format(5),
        "SET STATEMENT lock_wait_timeout = 5 FOR RENAME TABLE t TO other"],
        tables=("other",), only="mariadb"),
    "fractions": Case(["ALTER TABLE t MODIFY d DATETIME", "ALTER TABLE t MODIFY e TIME(1)"],
                      begin=("CREATE TABLE t (id INT PRIMARY KEY, d DATETIME(3), e TIME(3))",
                             "INSERT INTO t VALUES (1, '2026-01-01 23:59:59.900', '01:02:03.987')")),
    "bytes_to_text": Case(["ALTER TABLE t MODIFY b VARCHAR(20) CHARACTER SET latin1"],
                          begin=("CREATE TABLE t (id INT PRIMARY KEY, b VARBINARY(20))",
                                 "INSERT INTO t VALUES (1, X'C3A9'), (2, 'plain')")),
    "longer_text": Case(["ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4"],
                        begin=("CREATE TABLE t (id INT PRIMARY KEY, s TEXT) CHARSET latin1",
                               "INSERT INTO t VALUES (1, REPEAT('é', 60000))")),
    "sent_as_bytes": Case(["SET NAMES binary", "ALTER TABLE t ADD s VARCHAR(9) CHARACTER SET latin1 "
                           "DEFAULT 'é'", ROW.format(4)]),
    "of_later_versions": Case(["/*!90000 ALTER TABLE t DROP COLUMN a */", "/*!90100 TRUNCATE TABLE t */"],
                              only="mysql"),
    "of_mariadb": Case(["/*!100203 ALTER TABLE t DROP COLUMN a */", "/*M!100203 TRUNCATE TABLE t */",
                        "INSERT INTO t (id) VALUES (9)"], only="mariadb"),
    # Only MariaDB has literals for defaults of these.
    "large_defaults": Case([
        "INSERT INTO t (id) VALUES (2)", "ALTER TABLE t ADD x TEXT DEFAULT 'none', ADD y JSON DEFAULT '{}'",
        "INSERT INTO t (id) VALUES (3)", "ALTER TABLE t MODIFY b LONGTEXT NOT NULL DEFAULT 'long'",
        "SET binlog_row_image = MINIMAL", "INSERT INTO t (id) VALUES (4)", "UPDATE t SET x = 'y' WHERE id = 1",
        "ALTER TABLE t ALTER n SET DEFAULT 'other'", "INSERT INTO t (id) VALUES (5)"],
        begin=("CREATE TABLE t (id INT PRIMARY KEY, n TEXT DEFAULT 'none', b VARCHAR(9) NOT NULL DEFAULT 'b')",
               "INSERT INTO t (id) VALUES (1)"), only="mariadb"),
    # How it is done is the server's own affair.
    "ways": Case([
        "ALTER TABLE t ADD d INT DEFAULT 1, ALGORITHM=INSTANT", ROW.format(4),
        "ALTER TABLE t ADD INDEX i (a), ALGORITHM=INPLACE, LOCK=NONE", ROW.format(5),
        "ALTER TABLE t ALGORITHM=COPY, ADD e BIGINT AFTER a", "UPDATE t SET e = id WHERE id < 3",
        "ALTER TABLE t DROP COLUMN d, ALGORITHM=COPY, LOCK=SHARED", ROW.format(6),
        "CREATE INDEX j ON t (b) ALGORITHM=INPLACE LOCK=NONE", "DROP INDEX j ON t",
        "ALTER TABLE t LOCK=EXCLUSIVE, MODIFY e BIGINT COMMENT 'e'", ROW.format(7)], True),
    "options": Case([
        "ALTER TABLE t FORCE", ROW.format(4), "ALTER TABLE t ROW_FORMAT=DYNAMIC, COMMENT='why', "
        "AUTO_INCREMENT=1000", ROW.format(5), "ALTER TABLE t ENGINE=InnoDB, STATS_PERSISTENT=1, "
        "STATS_AUTO_RECALC=DEFAULT", "ALTER TABLE t MAX_ROWS=5000 MIN_ROWS=1", ROW.format(6),
        "ALTER TABLE t ORDER BY b", "ANALYZE TABLE t", "OPTIMIZE TABLE t", ROW.format(7),
        "ALTER TABLE t DISABLE KEYS", "ALTER TABLE t ENABLE KEYS", ROW.format(8)], True),
    "keys": Case([
        "ALTER TABLE t ADD KEY i (a), ADD UNIQUE KEY u (b)", ROW.format(4), "ALTER TABLE t RENAME INDEX i TO j, "
        "RENAME KEY u TO v", ROW.format(5), "ALTER TABLE t DROP INDEX j, DROP KEY v", ROW.format(6)], True),
    "checks": Case([
        "ALTER TABLE t ADD CHECK (id > 0)", "ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)", ROW.format(4),
        "ALTER TABLE t ADD CONSTRAINT one UNIQUE (b)", "ALTER TABLE t DROP CONSTRAINT positive", ROW.format(5),
        "UPDATE t SET a = -5 WHERE id = 1", "ALTER TABLE t DROP CONSTRAINT one", ROW.format(6)], True),
    "checks_of_mysql": Case([
        "ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)", ROW.format(4),
        "ALTER TABLE t ALTER CHECK positive NOT ENFORCED", "UPDATE t SET a = -5 WHERE id = 1",
        "ALTER TABLE t DROP CHECK positive", ROW.format(5)], True, only="mysql"),
    "unseen_keys": Case([
        "ALTER TABLE t ADD KEY i (a) INVISIBLE", ROW.format(4), "ALTER TABLE t ALTER INDEX i VISIBLE", ROW.format(5),
        "ALTER TABLE t ALTER INDEX i INVISIBLE", "CREATE INDEX j ON t ((a + 1))", ROW.format(6),
        "ALTER TABLE t DROP INDEX j"], True, only="mysql"),
    "if_exists": Case([
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS d INT DEFAULT 5, ADD COLUMN IF NOT EXISTS a INT", ROW.format(4),
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS d INT DEFAULT 7", ROW.format(5),
        "ALTER TABLE t DROP COLUMN IF EXISTS nothing, DROP COLUMN IF EXISTS a", ROW.format(6),
        "ALTER TABLE IF EXISTS nothing ADD z INT", "CREATE INDEX IF NOT EXISTS i ON t (d)",
        "DROP INDEX IF EXISTS nothing ON t", "DROP INDEX IF EXISTS i ON t", "ALTER TABLE t ADD KEY i (d) IGNORED",
        "ALTER TABLE t DROP CONSTRAINT IF EXISTS c", ROW.format(7)], True, only="mariadb"),
    "if_exists_more": Case([
        "ALTER TABLE t ADD KEY i (a)", "ALTER TABLE t ALTER INDEX i IGNORED", ROW.format(4),
        "ALTER TABLE IF EXISTS t ADD KEY IF NOT EXISTS j (a)", ROW.format(5),
        "ALTER TABLE t MODIFY COLUMN IF EXISTS nothing INT, DROP INDEX IF EXISTS i", ROW.format(6),
        "ALTER TABLE t ADD CONSTRAINT IF NOT EXISTS c CHECK (id > 0)", ROW.format(7),
        "ALTER TABLE t WAIT 5 ADD f INT", ROW.format(8), "ALTER TABLE IF EXISTS t NOWAIT CHANGE COLUMN IF EXISTS "
        "f g BIGINT, CHANGE COLUMN IF EXISTS nothing h INT", ROW.format(9),
        "ALTER TABLE IF EXISTS nothing RENAME TO something"], True, only="mariadb"),
    "converted": Case([
        "UPDATE t SET b = 'é' WHERE id = 1", "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4",
        "UPDATE t SET b = 'ü' WHERE id = 2", "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE "
        "utf8mb4_unicode_ci", "UPDATE t SET b = 'Ü' WHERE id = 3", "ALTER TABLE t DEFAULT CHARACTER SET = "
        "utf8mb4 COLLATE = utf8mb4_general_ci, ADD n VARCHAR(9) DEFAULT 'ñ'", ROW.format(4)]),
    "json": Case(["ALTER TABLE t ADD j JSON", "UPDATE t SET j = '{\"b\": 1, \"a\":2}' WHERE id = 1",
                  "ALTER TABLE t MODIFY j JSON COMMENT 'text'", ROW.format(4)], True, only="mariadb"),
    # The copy has no partitions, so rows that go with one make it begin anew.
    "rest": Case([
        "INSERT INTO t VALUES (3, 3)", "ALTER TABLE t DROP PARTITION a", "INSERT INTO t VALUES (1, 5)",
        "ALTER TABLE t REORGANIZE PARTITION rest INTO (PARTITION b VALUES IN (1), PARTITION rest DEFAULT)",
        "INSERT INTO t VALUES (1, 6)", "ALTER TABLE plain PARTITION BY LIST (id) (PARTITION a VALUES IN (1), "
        "PARTITION rest DEFAULT)", "INSERT INTO plain VALUES (2)"],
        begin=("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k, v)) PARTITION BY LIST (k) "
               "(PARTITION a VALUES IN (1, 2), PARTITION rest DEFAULT)", "INSERT INTO t VALUES (1, 1), (7, 2)",
               "CREATE TABLE plain (id INT PRIMARY KEY)", "INSERT INTO plain VALUES (1)"),
        tables=("t", "plain"), only="mariadb"),
    "engine": Case(["ALTER TABLE t ENGINE = MyISAM", ROW.format(4), "ALTER TABLE t ENGINE = InnoDB",
                    ROW.format(5)], False),
}


@pytest.mark.parametrize("stopped", [False, True], ids=["at_once", "after_a_stop"])
def test_definitions_change(pair, stopped):
    """While Pelorus looks on, and while it does not run, so that it finds everything later."""
    cases = {name: case for name, case in CHANGES.items() if case.only in (None, pair.server.kind)}
    for name, case in cases.items():
        pair.begin(f"ddl_{name}", *case.begin)
        pair.through.run(f"MIRROR DATABASE ddl_{name}")
    for name in cases:
        pair.wait_live(f"ddl_{name}")
    if stopped:
        pair.through.process.kill()
    for name, case in cases.items():
        pair.server.run("SET sql_mode = ''", *case.steps, database=f"ddl_{name}")
    if stopped:
        pair.through.start()
        pair.wait_for_database("ddl_come")
    failures = []
    for name, case in cases.items():
        try:
            live_again(pair, f"ddl_{name}", case.tables)
            pair.same_tables(f"ddl_{name}", *case.tables)
            loads = pair.state(f"ddl_{name}", case.tables[0])["Loads"]
            assert not case.kept or loads == 1, "it was read anew"
        except (AssertionError, TimeoutError) as error:
            failures.append(f"{name}: {str(error)[:600]}")
    assert not failures, "\n".join(failures)
    for name in cases:
        pair.through.run(f"UNMIRROR DATABASE ddl_{name}")


class TestWholeDatabases:
    """Tables that come to a mirrored database, and those that go."""

    def test_tables_that_cannot_be_mirrored_are_the_servers(self, pair):
        pair.begin("ddl_keyless", *BEGIN, "CREATE TABLE keyless (a INT)",
                   "INSERT INTO keyless VALUES (1), (1)")
        pair.through.run("MIRROR DATABASE ddl_keyless")
        pair.wait_live("ddl_keyless", "t")
        found = pair.wait_state("ddl_keyless", "keyless", "failed")
        assert "no primary key" in found["Reason"]
        assert pair.through.run("SELECT COUNT(*) FROM ddl_keyless.keyless") == ((2,),)
        # With a key it is mirrored after all.
        pair.server.run("ALTER TABLE ddl_keyless.keyless ADD id INT AUTO_INCREMENT PRIMARY KEY")
        pair.through.run("ALTER MIRROR TABLE ddl_keyless.keyless RESYNC")
        pair.wait_live("ddl_keyless")
        pair.same_tables("ddl_keyless", "keyless")

    def test_dropped_databases(self, pair):
        pair.begin("ddl_gone", *BEGIN)
        pair.through.run("MIRROR DATABASE ddl_gone")
        pair.wait_live("ddl_gone")
        pair.server.run("DROP DATABASE ddl_gone", "CREATE DATABASE ddl_gone", "USE ddl_gone", *BEGIN)
        live_again(pair, "ddl_gone", ("t",))
        pair.same_tables("ddl_gone", "t")

    def test_tables_that_come_before_they_are_seen(self, pair):
        """The binlog has a new table a moment before the server shows it: as long as a primary
        waits for its semisynchronous replicas."""
        pair.begin("ddl_unseen", *BEGIN)
        pair.through.run("MIRROR DATABASE ddl_unseen")
        pair.wait_live("ddl_unseen")
        with semisynchronous(pair.server):
            pair.server.run("CREATE TABLE come (id INT PRIMARY KEY)", database="ddl_unseen")
        pair.server.run("INSERT INTO come VALUES (1)", database="ddl_unseen")
        pair.wait_live("ddl_unseen", "come")
        pair.same_tables("ddl_unseen", "come")


@contextmanager
def semisynchronous(server: servers.Server):
    """The server's next commit is in the binlog two seconds before anybody sees what it did."""
    prefix, replica = "rpl_semi_sync_master", "slave"
    if isinstance(server, servers.MySql):
        prefix, replica = "rpl_semi_sync_source", "replica"
        server.run("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
    server.run(f"SET GLOBAL {prefix}_wait_point = 'AFTER_SYNC'",
               f"SET GLOBAL {prefix}_wait_no_{replica} = ON",
               f"SET GLOBAL {prefix}_timeout = 2000", f"SET GLOBAL {prefix}_enabled = ON")
    try:
        yield
    finally:
        server.run(f"SET GLOBAL {prefix}_enabled = OFF")
        if isinstance(server, servers.MySql):
            server.run("UNINSTALL PLUGIN rpl_semi_sync_source")


class TestBacklogs:
    """Definitions change while much is waiting to be read, and the stream is stopped or sent back in
    the middle of it: what was read and thrown away then is read again, before what changes tables."""

    TABLES = 24

    @staticmethod
    def change(pair: Mirrored, numbers: range) -> None:
        """Rows, and behind them another definition or another name."""
        for i in numbers:
            rows = ", ".join(f"({k}, {k}, {k * 10})" for k in range(5))
            pair.server.run(f"INSERT INTO t{i} VALUES {rows}", f"UPDATE t{i} SET a = a + 1",
                            f"RENAME TABLE t{i} TO r{i}" if i % 2 else
                            f"ALTER TABLE t{i} RENAME COLUMN a TO b, RENAME COLUMN b TO a",
                            database="ddl_backlog")

    @pytest.mark.parametrize("kind", ["mariadb", "mysql", "plain_mysql"])
    def test_stopped_and_sent_back(self, kind, request, linked_maker):
        server = request.getfixturevalue(kind)
        pair = Mirrored(server, linked_maker(server.url(), name=f"backlog-{kind}"))
        pair.begin("ddl_backlog", "CREATE TABLE u (id INT PRIMARY KEY)", *(
            f"CREATE TABLE t{i} (id INT PRIMARY KEY, a INT, b INT)" for i in range(self.TABLES)))
        pair.through.run("MIRROR DATABASE ddl_backlog")
        pair.wait_live("ddl_backlog")
        for at, pause in zip(range(0, self.TABLES, 6), (0.0, 0.02, 0.05, 0.1), strict=True):
            sent_back = at % 12 == 0
            if sent_back:
                pair.through.run("ALTER MIRROR ddl_backlog.u PAUSE")
            pair.through.freeze()
            self.change(pair, range(at, at + 6))
            pair.through.thaw()
            time.sleep(pause)
            if sent_back:
                pair.through.run("ALTER MIRROR ddl_backlog.u RESUME")
            else:
                pair.through.process.stop()
                pair.through.start()
        names = [f"{'r' if i % 2 else 't'}{i}" for i in range(self.TABLES)]
        live_again(pair, "ddl_backlog", names)
        pair.same_tables("ddl_backlog", *names)
        assert set(pair.of_database("ddl_backlog")) == {*names, "u", "last_of_all"}
        pair.through.run("UNMIRROR DATABASE ddl_backlog")
        server.run("DROP DATABASE ddl_backlog")


class TestSentBack:
    """The stream meets again what defined tables, for the sake of one that was paused."""

    def test_tables_that_have_other_names_since(self, pair):
        pair.begin("ddl_back", *BEGIN, *(f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in "ux"))
        pair.through.run("MIRROR DATABASE ddl_back")
        pair.wait_live("ddl_back")
        pair.through.run("ALTER MIRROR ddl_back.u PAUSE")
        pair.server.run(
            "INSERT INTO u VALUES (1)", "RENAME TABLE t TO second", ROW.format(4).replace(" t ", " second "),
            "RENAME TABLE second TO third", "CREATE TABLE passing LIKE third",
            "RENAME TABLE passing TO kept", "INSERT INTO kept (id) VALUES (5)", "DROP TABLE x",
            "ALTER TABLE third ADD d INT DEFAULT 7", database="ddl_back")
        live_again(pair, "ddl_back", ("third", "kept"))
        pair.through.run("ALTER MIRROR ddl_back.u RESUME")
        names = ("third", "kept", "u")
        pair.wait_live("ddl_back", *names)
        pair.same_tables("ddl_back", *names)
        # What comes behind is new.
        pair.server.run("CREATE TABLE second (id INT PRIMARY KEY)", "RENAME TABLE second TO x",
                        "INSERT INTO x VALUES (1)", "DROP TABLE last_of_all", database="ddl_back")
        live_again(pair, "ddl_back", (*names, "x"))
        pair.same_tables("ddl_back", *names, "x")
        assert set(pair.of_database("ddl_back")) == {*names, "x", "last_of_all"}
        assert pair.state("ddl_back", "third")["Loads"] == 1
        pair.through.run("UNMIRROR DATABASE ddl_back")


    def test_a_table_that_was_dropped_and_made_anew(self, pair):
        pair.begin("ddl_anew", *BEGIN, "CREATE TABLE u (id INT PRIMARY KEY)")
        pair.through.run("MIRROR DATABASE ddl_anew")
        pair.wait_live("ddl_anew")
        pair.through.run("ALTER MIRROR ddl_anew.u PAUSE")
        # The new one has no key, and so no position that it begins with.
        pair.server.run("INSERT INTO u VALUES (1)", "DROP TABLE t", "CREATE TABLE t (a INT)",
                        database="ddl_anew")
        pair.wait_state("ddl_anew", "t", "failed")
        pair.through.run("ALTER MIRROR ddl_anew.u RESUME")
        pair.wait_live("ddl_anew", "u")
        pair.same_tables("ddl_anew", "u")
        pair.wait_state("ddl_anew", "t", "failed")
        pair.server.run("ALTER TABLE t ADD PRIMARY KEY (a)", "INSERT INTO t VALUES (1)",
                        database="ddl_anew")
        live_again(pair, "ddl_anew", ("t", "u"))
        pair.same_tables("ddl_anew", "t", "u")
        pair.through.run("UNMIRROR DATABASE ddl_anew")

    def test_a_paused_table_that_is_renamed(self, pair):
        pair.begin("ddl_paused", *BEGIN)
        pair.through.run("MIRROR DATABASE ddl_paused")
        pair.wait_live("ddl_paused")
        pair.through.run("ALTER MIRROR ddl_paused.t PAUSE")
        pair.server.run(ROW.format(4), "RENAME TABLE t TO other",
                        "INSERT INTO other (id) VALUES (5)", database="ddl_paused")
        live_again(pair, "ddl_paused", ())
        assert set(pair.of_database("ddl_paused")) == {"other", "last_of_all"}
        assert pair.state("ddl_paused", "other")["State"] == "paused"
        pair.through.run("ALTER MIRROR ddl_paused.other RESUME")
        pair.wait_live("ddl_paused", "other")
        pair.same_tables("ddl_paused", "other")
        pair.through.run("UNMIRROR DATABASE ddl_paused")


class TestNamed:
    """A mirror that was made by its name stays with the name."""

    def test_drop_and_rename(self, pair):
        pair.begin("ddl_named", *BEGIN)
        pair.through.run("MIRROR TABLE ddl_named.t")
        pair.wait_live("ddl_named", "t")
        pair.server.run("RENAME TABLE t TO away", database="ddl_named")
        found = pair.wait_state("ddl_named", "t", "failed")
        assert "RENAME TABLE" in found["Reason"]
        pair.server.run("CREATE TABLE t (k CHAR(3) PRIMARY KEY)", "INSERT INTO t VALUES ('abc')",
                        database="ddl_named")
        pair.wait_live("ddl_named", "t")
        pair.same_tables("ddl_named", "t")
        loads = pair.state("ddl_named", "t")["Loads"]
        pair.server.run("DROP TABLE t", "ALTER TABLE away RENAME t", database="ddl_named")
        wait_for("another load", lambda: pair.state("ddl_named", "t")["Loads"] > loads)
        pair.wait_live("ddl_named", "t")
        pair.same_tables("ddl_named", "t")
        pair.server.run("DROP TABLE t", database="ddl_named")
        pair.wait_state("ddl_named", "t", "failed")


class TestForeignKeys:
    """Rows that go with others."""

    BEGIN = ("CREATE TABLE parents (id INT PRIMARY KEY, v INT)",
             "CREATE TABLE children (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) "
             "REFERENCES parents (id) ON DELETE CASCADE ON UPDATE CASCADE)",
             "INSERT INTO parents VALUES (1, 1), (2, 2), (3, 3)",
             "INSERT INTO children VALUES (10, 1), (11, 1), (20, 2), (30, 3)")

    def test_cascade(self, pair):
        pair.begin("ddl_cascade", *self.BEGIN)
        pair.through.run("MIRROR DATABASE ddl_cascade")
        pair.wait_live("ddl_cascade")
        pair.server.run("DELETE FROM parents WHERE id = 1", "UPDATE parents SET id = 22 WHERE id = 2",
                        database="ddl_cascade")
        pair.same_tables("ddl_cascade", "parents", "children")
        assert pair.through.run("SELECT COUNT(*) FROM ddl_cascade.children") == ((2,),)


class TestNames:
    """Which table a name means."""

    def test_renamed_into_the_current_database(self, pair):
        pair.begin("ddl_from", *BEGIN)
        pair.begin("ddl_into", "CREATE TABLE other (id INT PRIMARY KEY)")
        for database in ("ddl_from", "ddl_into"):
            pair.through.run(f"MIRROR DATABASE {database}")
            pair.wait_live(database)
        pair.server.run("ALTER TABLE ddl_from.t RENAME moved", "INSERT INTO moved (id) VALUES (9)",
                        database="ddl_into")
        live_again(pair, "ddl_into", ("moved",))
        pair.same_tables("ddl_into", "moved")
        assert not pair.of_database("ddl_from")

    def test_in_any_case(self, linked_maker):
        server = servers.MariaDb("names", 64, options=("--lower-case-table-names=1",))
        pair = Mirrored(server, linked_maker(server.url(), name="pelorus-names"))
        try:
            pair.begin("ddl_case", *BEGIN)
            pair.through.run("MIRROR DATABASE DDL_Case")
            pair.wait_live("ddl_case", "t")
            pair.server.run("TRUNCATE TABLE T", "INSERT INTO T (id) VALUES (7)",
                            "ALTER TABLE DDL_CASE.T ADD COLUMN d INT DEFAULT 5",
                            "CREATE TABLE Second LIKE T", "INSERT INTO SECOND SELECT * FROM T",
                            "RENAME TABLE SECOND TO Third, T TO Fourth", database="ddl_case")
            live_again(pair, "ddl_case", ("third", "fourth"))
            assert set(pair.of_database("ddl_case")) == {"third", "fourth", "last_of_all"}
            pair.same("ddl_case", "SELECT * FROM third", "SELECT * FROM Third",
                      "SELECT F.id, x.d FROM DDL_CASE.FOURTH F JOIN Third x ON x.id <= F.id")
            pair.through.run("UNMIRROR TABLE DDL_case.THIRD")
            assert set(pair.of_database("ddl_case")) == {"fourth", "last_of_all"}
        finally:
            pair.through.stop()
            server.stop()
