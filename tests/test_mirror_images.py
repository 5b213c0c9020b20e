"""Mirrors of servers whose binlog has rows in part: `binlog_row_image` MINIMAL and NOBLOB, and
changes of JSON documents. Every session may choose, so each test sets it in its own."""

from __future__ import annotations

import os
import random
import threading
import time

import pymysql
import pytest
from pelorus_tools import seeds
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import wait_for
from test_mirror_types import NUMBERS, TEXTS, table_of

LOOSE = "SET sql_mode = 'ALLOW_INVALID_DATES'"
# What a session may set; MariaDB's documents are text, which it logs as a whole.
SETTINGS = {
    "minimal": ("SET binlog_row_image = 'MINIMAL'",),
    "noblob": ("SET binlog_row_image = 'NOBLOB'",),
    # MariaDB from 11.4 on: whole rows of before, and what changed.
    "nodup": ("SET binlog_row_image = 'FULL_NODUP'",),
    "json": ("SET binlog_row_value_options = 'PARTIAL_JSON'",),
    "minimal json": ("SET binlog_row_image = 'MINIMAL'",
                     "SET binlog_row_value_options = 'PARTIAL_JSON'"),
}
FULL = ("SET binlog_row_image = 'FULL'",)
LONG = pytest.mark.skipif("PELORUS_LONG" not in os.environ, reason="takes long; PELORUS_LONG=1")


def has_nodup(server) -> bool:
    """Whether a server has `binlog_row_image = FULL_NODUP`."""
    version = server.run("SELECT VERSION()")[0][0].split(".")
    return server.kind == "mariadb" and (int(version[0]), int(version[1])) >= (11, 4)


@pytest.fixture(params=SETTINGS)
def setting(request, pair):
    if "json" in request.param and pair.server.kind == "mariadb":
        pytest.skip("MariaDB logs documents as a whole")
    if request.param == "nodup" and not has_nodup(pair.server):
        pytest.skip("no FULL_NODUP")
    return SETTINGS[request.param]


def mirrored(pair: Mirrored, database: str, *begin: str) -> None:
    """A database all of which is mirrored and live."""
    pair.begin(database, LOOSE, *begin)
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)


def loads(pair: Mirrored, database: str, table: str) -> int:
    return pair.state(database, table)["Loads"]


def check(pair: Mirrored, database: str, *tables: str) -> None:
    """Compares tables, by queries and by CHECK MIRROR."""
    pair.wait_live(database, *tables)
    pair.same_tables(database, *tables)
    for table in tables:
        found = pair.through.run(f"CHECK MIRROR TABLE {database}.{table}")
        assert "OK" in str(found), found


@pytest.mark.parametrize("types", [NUMBERS, TEXTS], ids=["numbers", "texts"])
def test_every_type(pair, setting, types):
    create, made = table_of("t", types)
    pair.begin("parts", LOOSE, create, *(f"INSERT IGNORE INTO t VALUES {row}" for row in made))
    pair.through.run("MIRROR TABLE parts.t")
    pair.wait_live("parts", "t")
    columns = [f"c{at}" for at in range(len(types))]
    others = ", ".join(columns)
    last = len(made) - 2
    pair.server.run(
        LOOSE, *setting,
        # Rows of a column each, from every value.
        *(f"INSERT INTO t (id, {name}) SELECT {2000 + 50 * at} + id, {name} FROM t WHERE id <= {last}"
          for at, name in enumerate(columns)),
        # Columns one by one, to other values and to NULL; several changes of a row.
        *(f"UPDATE t AS a JOIN t AS b ON b.id = a.id % {last} + 1 SET a.{name} = b.{name} "
          f"WHERE a.id <= {last}" for name in columns),
        *(f"UPDATE t SET {name} = NULL WHERE id = 3" for name in columns),
        f"INSERT INTO t (id, {others}) SELECT id + 20000, {others} FROM t WHERE id <= {last}",
        "UPDATE t SET id = id + 500 WHERE id IN (2, 4)",
        "UPDATE t SET id = id + 1 WHERE id BETWEEN 2000 AND 4000 ORDER BY id DESC",
        "DELETE FROM t WHERE id = 1", database="parts")
    pair.same("parts", *(f"SELECT id, {name} FROM t" for name in columns))
    assert loads(pair, "parts", "t") == 1
    pair.through.run("UNMIRROR TABLE parts.t")


DEFAULTS = (
    "i INT DEFAULT -7", "u BIGINT UNSIGNED DEFAULT 18446744073709551615", "v VARCHAR(9) DEFAULT 'é x'",
    "c CHAR(4) DEFAULT 'q'", "e ENUM('p','q') DEFAULT 'q'", "s SET('p','q') DEFAULT 'p,q'",
    "b BIT(3) DEFAULT b'101'", "x VARBINARY(5) DEFAULT 'ab'", "f BINARY(3) DEFAULT 'z'",
    "d DATE DEFAULT '2020-02-03'", "dt DATETIME(3) DEFAULT '2020-02-03 04:05:06.789'",
    "tm TIME DEFAULT '-10:20:30'", "y YEAR DEFAULT 1999", "n DECIMAL(10,3) DEFAULT -1.5",
    "r DOUBLE DEFAULT 1e10", "ts TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00'",
    "now TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
    "at DATETIME DEFAULT CURRENT_TIMESTAMP", "ex INT DEFAULT (3 * 4)",
    "st INT AS (i * 2) STORED", "nu INT", "bl BLOB", "l VARCHAR(9) CHARACTER SET latin1 DEFAULT 'ä'",
    "no INT NOT NULL", "ne ENUM('m','o') NOT NULL", "nv VARCHAR(3) NOT NULL", "nb BINARY(2) NOT NULL",
    "nd DATETIME NOT NULL", "nt TEXT NOT NULL", "nc DECIMAL(5,2) NOT NULL", "ny YEAR NOT NULL",
)


def test_columns_that_inserts_leave_out(pair, setting):
    # New versions of MariaDB leave STORED ones out: `test_stored_columns_that_are_left_out`.
    columns = [it for it in DEFAULTS if "STORED" not in it or not has_nodup(pair.server)]
    mirrored(pair, "parts",
             f"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, {', '.join(columns)})",
             "CREATE TABLE k (a INT NOT NULL DEFAULT 5, b INT NOT NULL, v INT DEFAULT 1, "
             "PRIMARY KEY (b, a))")
    pair.server.run(
        LOOSE, *setting, "SET time_zone = '+05:00'", "INSERT INTO t () VALUES ()",
        "INSERT INTO t (i) VALUES (1), (2), (NULL)", "INSERT INTO t (id, v, no) VALUES (50, DEFAULT, 3)",
        "INSERT INTO t (u) SELECT id FROM t", "INSERT IGNORE INTO t (no, nv) VALUES (NULL, 'long text')",
        "UPDATE t SET bl = 'x' WHERE id = 2", "UPDATE t SET i = 9 WHERE id < 3",
        "INSERT INTO k (b) VALUES (1), (2)", "INSERT INTO k (v) VALUES (7)",
        "UPDATE k SET a = a + 1", "UPDATE k SET v = v + 1 WHERE b = 2", database="parts")
    check(pair, "parts", "t", "k")
    # Defaults that change, also in another time zone.
    pair.server.run(
        *setting, LOOSE, "SET time_zone = '+05:00'", "ALTER TABLE t ALTER COLUMN i SET DEFAULT 11",
        "INSERT INTO t (v) VALUES ('a')",
        "ALTER TABLE t ADD COLUMN added TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00', ALTER i DROP DEFAULT",
        "INSERT INTO t (v, i) VALUES ('b', 4)", database="parts")
    check(pair, "parts", "t")
    assert loads(pair, "parts", "k") == 1
    pair.through.run("UNMIRROR DATABASE parts")


def test_statements_that_change_what_is_there(pair, setting, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("1\t5\n2\t6\n77\t7\n")
    mirrored(
        pair, "parts",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 3, b INT DEFAULT 4, u INT NULL UNIQUE, "
        "bl BLOB, tx TEXT)",
        "CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, what INT, text VARCHAR(20) DEFAULT 'd')",
        "CREATE TABLE one (id TINYINT PRIMARY KEY DEFAULT 1, a INT DEFAULT 2, b INT DEFAULT 3)",
        "CREATE TABLE total (id INT PRIMARY KEY, n INT DEFAULT 0, b INT DEFAULT 3)",
        "INSERT INTO total VALUES (1, 1, 1)",
        "INSERT INTO t (id, a, b, u, bl, tx) SELECT d.n, d.n + 100, d.n + 200, d.n + 300, 'blob', 'text' "
        "FROM (SELECT 1 n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 "
        "UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) d",
        "INSERT INTO one VALUES (1, 8, 9)")
    connection = pair.server.connect(database="parts", local_infile=True)
    with connection, connection.cursor() as cursor:
        for statement in (
                LOOSE, *setting, "REPLACE INTO t (id) VALUES (1)", "REPLACE t (id, a) VALUES (2, 6), (9, 9)",
                "REPLACE INTO t SET id = 10, u = 303", "REPLACE INTO t (id, a) SELECT id, 1 FROM t WHERE id = 4",
                "INSERT INTO t (id) VALUES (5) ON DUPLICATE KEY UPDATE a = 5",
                "INSERT INTO t (id, u) VALUES (99, 306) ON DUPLICATE KEY UPDATE id = 66, b = 1",
                f"LOAD DATA LOCAL INFILE '{file}' REPLACE INTO TABLE t (id, b)",
                "UPDATE t SET bl = NULL WHERE id = 7", "UPDATE t SET tx = 'other' WHERE id = 7",
                "UPDATE t SET id = 70 WHERE id = 7", "UPDATE t SET id = 70, a = 1 WHERE id = 70",
                "UPDATE t SET id = id + 1000 ORDER BY id DESC", "REPLACE INTO one (a) VALUES (5)",
                "UPDATE one SET b = 7", "INSERT INTO one (id) VALUES (1) ON DUPLICATE KEY UPDATE a = 6",
                "DELETE FROM t WHERE id = 1008"):
            cursor.execute(statement)
    check(pair, "parts", "t", "one")
    assert loads(pair, "parts", "t") == 1 and loads(pair, "parts", "one") == 1
    # What triggers do comes with the statement of somebody else.
    pair.server.run(
        *setting,
        "CREATE TRIGGER after_t AFTER UPDATE ON t FOR EACH ROW INSERT INTO log (what) VALUES (NEW.id)",
        "CREATE TRIGGER before_t BEFORE UPDATE ON t FOR EACH ROW SET NEW.b = OLD.b + 1",
        "CREATE TRIGGER of_log AFTER INSERT ON log FOR EACH ROW UPDATE total SET n = n + 1",
        "UPDATE t SET a = a + 1 WHERE id < 1005", "INSERT INTO log (what) VALUES (1)", database="parts")
    check(pair, "parts", "t", "log", "one", "total")
    assert loads(pair, "parts", "t") == 1 and loads(pair, "parts", "total") == 1
    # Of a MariaDB's key with a default it is not clear, then, whether a REPLACE left it out.
    pair.server.run(*setting, "CREATE TRIGGER of_total AFTER UPDATE ON total FOR EACH ROW UPDATE one SET "
                    "a = a + 1", "UPDATE total SET n = 5", database="parts")
    check(pair, "parts", "one")
    pair.through.run("UNMIRROR DATABASE parts")


def test_transactions_that_change_rows_often(pair, setting):
    mirrored(pair, "parts",
             "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c TEXT, d INT DEFAULT 4)",
             "INSERT INTO t VALUES (1, 1, 1, 'c', 1), (2, 2, 2, 'c', 2), (3, 3, 3, 'c', 3)")
    pair.server.run(
        *setting, "BEGIN", "UPDATE t SET a = 10 WHERE id = 1", "UPDATE t SET b = 10 WHERE id = 1",
        "UPDATE t SET id = 11 WHERE id = 1", "UPDATE t SET c = 'x' WHERE id = 11",
        "INSERT INTO t (id, a) VALUES (1, 7)", "UPDATE t SET b = 8 WHERE id = 1",
        "UPDATE t SET id = 12 WHERE id = 2", "DELETE FROM t WHERE id = 12",
        "UPDATE t SET id = 2 WHERE id = 3", "UPDATE t SET d = NULL WHERE id = 2",
        "UPDATE t SET id = 3 WHERE id = 2", "UPDATE t SET a = 5", "COMMIT", database="parts")
    check(pair, "parts", "t")
    assert loads(pair, "parts", "t") == 1
    pair.through.run("UNMIRROR DATABASE parts")


def test_documents(pair, setting):
    mirrored(pair, "parts", "CREATE TABLE t (id INT PRIMARY KEY, a INT, j JSON, k JSON)")
    document = ('{"a": [1, 2.5, "x"], "b": {"c": null, "long": "' + "y" * 200 + '"}, "n": 1}')
    pair.server.run(
        *setting, *(f"INSERT INTO t VALUES ({at}, {at}, '{document}', '{document}')" for at in range(6)),
        "UPDATE t SET j = JSON_SET(j, '$.n', 2) WHERE id = 1",
        "UPDATE t SET j = JSON_REPLACE(j, '$.a[1]', 'z', '$.b.c', 1.25), a = 9 WHERE id < 3",
        "UPDATE t SET j = JSON_REMOVE(j, '$.b.c'), k = JSON_SET(k, '$.new', CAST('[]' AS CHAR)) WHERE id = 2",
        "BEGIN", "UPDATE t SET j = JSON_SET(j, '$.n', 3) WHERE id = 3",
        "UPDATE t SET j = JSON_SET(j, '$.n', 4), id = 33 WHERE id = 3",
        "UPDATE t SET a = 1 WHERE id = 33", "UPDATE t SET j = JSON_INSERT(j, '$.m', 4) WHERE id = 33",
        "COMMIT", "UPDATE t SET j = NULL WHERE id = 4", "UPDATE t SET k = JSON_SET(k, '$.n', j) WHERE id = 5",
        "UPDATE t SET j = '[1]' WHERE id = 5", database="parts")
    check(pair, "parts", "t")
    assert loads(pair, "parts", "t") == 1
    pair.through.run("UNMIRROR DATABASE parts")


def test_compressed_transactions_are_not_met_twice(plain_mysql, linked_maker):
    """Without GTIDs a position is a place in a file, which is behind a compressed transaction, too,
    when that has been applied: what is taken out of a document would be taken out again."""
    pair = Mirrored(plain_mysql, linked_maker(plain_mysql.url(), name="compressed"))
    mirrored(pair, "packed", "CREATE TABLE t (id INT PRIMARY KEY, j JSON)",
             *(f"INSERT INTO t VALUES ({at}, '[1, 2, 3, \"{'x' * 200}\"]')" for at in range(6)))
    for at in range(6):
        pair.server.run("SET binlog_transaction_compression = ON", *SETTINGS["minimal json"],
                        f"UPDATE t SET j = JSON_REMOVE(j, '$[0]') WHERE id = {at}", database="packed")
        pair.same_tables("packed", "t")
        if at < 4:
            pair.through.run("ALTER MIRROR TABLE packed.t PAUSE", "ALTER MIRROR TABLE packed.t RESUME")
        else:
            pair.through.process.stop()
            pair.through.start()
        pair.wait_live("packed", "t")
    check(pair, "packed", "t")
    assert loads(pair, "packed", "t") == 1
    pair.through.run("UNMIRROR DATABASE packed")


def test_generated_columns(pair):
    mirrored(pair, "parts", "CREATE TABLE t (id INT PRIMARY KEY, a INT, v INT AS (a + 1) VIRTUAL, "
             "s INT AS (a + 2) STORED, n INT DEFAULT 4)", "INSERT INTO t (id, a) VALUES (1, 1), (2, 2)")
    minimal = SETTINGS["minimal"]
    statements = (*minimal, "UPDATE t SET n = 5", "INSERT INTO t (id, a) VALUES (3, 3)",
                  "UPDATE t SET a = 7 WHERE id = 2", "UPDATE t SET id = 9 WHERE id = 1")
    pair.server.run(*statements, database="parts")
    if pair.server.kind == "mysql":
        check(pair, "parts", "t")
        assert loads(pair, "parts", "t") == 1
    else:
        found = pair.wait_state("parts", "t", "failed")
        assert "'v'" in found["Reason"] and "binlog_row_image = FULL" in found["Reason"], found
        pair.through.run("ALTER MIRROR TABLE parts.t RESYNC")
        pair.wait_live("parts", "t")
        check(pair, "parts", "t")
        pair.server.run("SET GLOBAL binlog_row_image = 'MINIMAL'")
        try:
            pair.through.run("UNMIRROR DATABASE parts")
            with pytest.raises(pymysql.MySQLError, match="generated"):
                pair.through.run("MIRROR TABLE parts.t")
        finally:
            pair.server.run("SET GLOBAL binlog_row_image = 'FULL'")
    pair.through.run("UNMIRROR DATABASE IF EXISTS parts")


def test_stored_columns_that_are_left_out(pair, setting):
    """A MariaDB 11.8 does not log them with updates; the mirror says so instead of guessing."""
    if not has_nodup(pair.server):
        pytest.skip("this server logs them")
    mirrored(pair, "parts", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT DEFAULT 5, "
             "s INT AS (a + 2) STORED)")
    pair.server.run(*setting, "INSERT INTO t () VALUES ()", "UPDATE t SET a = 6", database="parts")
    found = pair.wait_state("parts", "t", "failed")
    assert "'s'" in found["Reason"] and "binlog_row_image = FULL" in found["Reason"], found
    pair.through.run("ALTER MIRROR TABLE parts.t RESYNC")
    pair.wait_live("parts", "t")
    check(pair, "parts", "t")
    pair.through.run("UNMIRROR DATABASE parts")


def test_rows_that_the_copy_does_not_have(pair):
    mirrored(pair, "parts", "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",
             "INSERT INTO t VALUES (1, 1, 1)")
    pair.server.run("SET sql_log_bin = 0", "INSERT INTO t VALUES (2, 2, 2)", "SET sql_log_bin = 1",
                    *SETTINGS["minimal"], "UPDATE t SET a = 5", database="parts")
    wait_for("another load", lambda: loads(pair, "parts", "t") > 1)
    pair.wait_live("parts")
    check(pair, "parts", "t")
    assert "does not have" in pair.through.log()
    pair.through.run("UNMIRROR DATABASE parts")


class Writers:
    """Sessions that change a large table, each statement with rows in another form."""

    def __init__(self, pair: Mirrored, seed: int, rows: int, keys: bool):
        self.pair, self.rows, self.keys = pair, rows, keys
        self.stop, self.errors = threading.Event(), []
        self.threads = [threading.Thread(target=self.run, args=(random.Random(f"{seed}/{at}"),))
                        for at in range(3)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.errors, self.errors

    def run(self, roll: random.Random) -> None:
        try:
            with self.pair.server.connect(database="parts") as connection, connection.cursor() as cursor:
                while not self.stop.is_set():
                    self.step(roll, cursor)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.errors.append(error)

    def step(self, roll: random.Random, cursor) -> None:
        images = ["MINIMAL", "MINIMAL", "NOBLOB", "FULL"] + ["FULL_NODUP"] * has_nodup(self.pair.server)
        cursor.execute(f"SET binlog_row_image = '{roll.choice(images)}'")
        if self.pair.server.kind == "mysql":
            cursor.execute(f"SET binlog_row_value_options = '{roll.choice(('', 'PARTIAL_JSON'))}'")
        key, other, value = roll.randint(1, self.rows), roll.randint(1, self.rows * 2), roll.randint(0, 999)
        statements = [
            f"UPDATE big SET a = {value} WHERE id = {key}",
            f"UPDATE big SET b = {value}, note = 'n{value}' WHERE id BETWEEN {key} AND {key + 5}",
            f"UPDATE big SET note = NULL WHERE id = {key}",
            f"INSERT IGNORE INTO big (id, a) VALUES ({other}, {value})",
            f"INSERT INTO big (id, b) VALUES ({key}, 1) ON DUPLICATE KEY UPDATE b = b + 1",
            f"REPLACE INTO big (id, a) VALUES ({key}, {value})",
            f"DELETE FROM big WHERE id = {other}",
            f"UPDATE big SET j = JSON_SET(j, '$.n', {value}) WHERE id = {key}",
            f"UPDATE big SET j = JSON_ARRAY_INSERT(j, '$.a[0]', {value}), a = 3 WHERE id = {key}",
        ]
        if self.keys:
            statements.append(f"UPDATE IGNORE big SET id = {other} WHERE id = {key}")
        try:
            cursor.execute(roll.choice(statements))
        except pymysql.MySQLError as error:
            # A deadlock.
            if error.args[0] not in (1213, 1205):
                raise


@pytest.mark.parametrize("keys", [pytest.param(False, marks=LONG), True], ids=["rows", "keys"])
@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
@pytest.mark.parametrize("seed", seeds.asked("mirror_images"))
def test_while_a_table_is_read(request, linked_maker, kind, keys, seed):
    server = request.getfixturevalue(kind)
    through = linked_maker(server.url(), name=f"pelorus-parts-{kind}-{keys}")
    pair, rows = Mirrored(server, through), 300_000
    pair.begin(
        "parts", "CREATE TABLE digits (d INT PRIMARY KEY)",
        "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "CREATE TABLE big (id INT PRIMARY KEY, a INT DEFAULT 1, b INT DEFAULT 2, note TEXT, "
        "pad VARCHAR(90) DEFAULT 'p', j JSON)",
        *(f"INSERT INTO big SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 1 + {part}, "
          "0, 0, 'first', REPEAT('x', 80), "
          "CONCAT('{\"a\": [1], \"n\": 1, \"t\": \"', REPEAT('y', 80), '\"}') "
          "FROM digits a, digits b, digits c, digits e, digits f"
          for part in range(0, rows, 100_000)), "ANALYZE TABLE big")
    with Writers(pair, seed, rows, keys):
        through.run("MIRROR TABLE parts.big")
        for _ in range(2):
            time.sleep(0.7)
            through.process.kill()
            through.start()
            pair.wait_for_database("parts")
        if not keys:
            pair.wait_live("parts", "big")
            print(pair.state("parts", "big"))
        time.sleep(2)
    pair.wait_live("parts", "big")
    print(pair.state("parts", "big"))
    check(pair, "parts", "big")
    through.stop()
