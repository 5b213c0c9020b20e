"""Native tables against a real MySQL: every statement of `tests/native` gives the same on both:
rows, columns, counts of affected rows, warnings, error numbers. And what only Pelorus has:
durability, restarts, history."""

from __future__ import annotations

import concurrent.futures
import json
import subprocess
import threading
import time

import pymysql
import pytest
from pelorus_tools import machine, pelorus, processes, recorded, rows, sqlfile

NATIVE = machine.ROOT / "tests" / "native"


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus without links."""
    return linked_maker(name="pelorus-native")


def _open(server, database: str):
    connection = rows.connect(server)
    for statement in (
            "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci", "SET time_zone = '+00:00'",
            # Recorded results must be the same tomorrow.
            "SET timestamp = 1767323045",
            "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
            "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
            f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}", f"USE {database}"):
        answer = rows.ask(connection, statement)
        assert answer.error is None, (server, statement, answer.error)
    return connection


# Warnings about syntax that MySQL wants to be rid of; Pelorus says nothing of it.
DEPRECATIONS = {b"1287", b"1681", b"3135"}


def _warnings(connection, failed: bool) -> list[tuple]:
    """Level and number of each warning; of a statement that failed, only the error itself."""
    found = [row[:2] for row in rows.ask(connection, "SHOW WARNINGS").rows]
    found = [row for row in found if row[1] not in DEPRECATIONS]
    return found[-1:] if failed else found


def _found(statement, expected, given) -> list[str]:
    """What differs between two answers."""
    found = rows.differences(expected, given, statement.ordered)
    if statement.values_only:
        found = rows.without_types(found)
    if not found and not expected.error and not expected.columns \
            and expected.affected != given.affected:
        found.append(f"{expected.affected} rows affected, got {given.affected}")
    return found


FILES = [(path, False) for path in sorted(NATIVE.glob("*.sql"))]
# Read again from chunks: what was just written is in memory otherwise.
FILES += [(path, True) for path, _ in FILES if path.stem in (
    "decimals", "distinct", "extremes", "group_concat", "groups", "joins", "listed", "queries",
    "small_groups", "text_keys")]


def _store_rows(connection) -> None:
    """Turns the rows of all tables into chunks."""
    for (table,) in rows.ask(connection, "SHOW TABLES").rows:
        answer = rows.ask(connection, f"OPTIMIZE TABLE `{table.decode()}`")
        assert answer.rows[-1][-1] == b"OK", answer


@pytest.fixture(scope="module")
def recorded_mysql(request):
    """A MySQL; none where its recorded results answer."""
    return None if recorded.without_servers() else request.getfixturevalue("mysql")


@pytest.mark.parametrize(("path", "stored"), FILES, ids=lambda it: getattr(it, "stem", str(it)))
def test_same_as_mysql(path, stored, recorded_mysql, native):
    parsed = sqlfile.parse(path)
    database = f"native_{path.stem}"
    oracle = recorded_mysql and _open(recorded_mysql, database)
    ours, recording = _open(native, database), recorded.Recording(f"native/{path.stem}")
    failures, open_ = [], False
    for statement in parsed.statements:
        def ask(text=statement.text) -> recorded.Result:
            answer = rows.ask(oracle, text)
            # SHOW WARNINGS does not change what the next statement sees of it.
            with_warnings = not answer.columns and statement.refused is None
            return recorded.Result(answer, _warnings(oracle, answer.error is not None) if with_warnings else [])
        result = recording.result(statement.text, statement.ordered, ask)
        expected = result.answer
        # OPTIMIZE would end a transaction.
        open_ = statement.text == "BEGIN" or open_ and statement.text != "ROLLBACK"
        if stored and not open_ and statement.text.startswith(("SELECT", "WITH")):
            _store_rows(ours)
        given = rows.ask(ours, statement.text)
        if statement.refused is not None:
            found = [] if given.error and given.error[0] == statement.refused else [
                f"should be refused with {statement.refused}, got {rows._outcome(given)}"]
        else:
            found = _found(statement, expected, given)
            if not found and not expected.columns:
                failed = expected.error is not None
                one, two = result.warnings, _warnings(ours, failed)
                if one != two:
                    found.append(f"warnings: expected {one}, got {two}")
        if found:
            shown = " ".join(statement.text.split())[:300]
            failures.append(f"{path.name}:{statement.line}: {shown}\n    " + "\n    ".join(found))
    ours.close()
    if oracle:
        oracle.close()
    stale = recording.close()
    assert not failures, f"{len(failures)} of {len(parsed.statements)} differ\n" + "\n".join(failures)
    assert not stale, "\n".join(stale)


def test_files_into_partitions(mysql, native, tmp_path):
    """`LOAD DATA` of rows that have no partition, or not the one that is named."""
    path, wrong = tmp_path / "rows.tsv", tmp_path / "wrong.tsv"
    path.write_text("".join(f"{a}\t{a * 10}\n" for a in (1, 12, 5, 30, 1, 19)))
    wrong.write_text("2\tx\n3\t1\n")
    found = []
    for server in (mysql, native):
        server.run("SET GLOBAL local_infile = ON", "DROP DATABASE IF EXISTS load_p",
                   "CREATE DATABASE load_p",
                   "CREATE TABLE load_p.t (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) "
                   "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))")
        connection = server.connect(local_infile=True)
        steps = []
        with connection.cursor() as cursor:
            for file, words in ((path, "INTO TABLE load_p.t PARTITION (p0)"),
                                (path, "REPLACE INTO TABLE load_p.t PARTITION (p1, P0)"),
                                (path, "IGNORE INTO TABLE load_p.t"),
                                (path, "INTO TABLE load_p.t PARTITION (nope)"),
                                (wrong, "REPLACE INTO TABLE load_p.t"),
                                (wrong, "INTO TABLE load_p.t")):
                try:
                    affected = cursor.execute(f"LOAD DATA LOCAL INFILE '{file}' {words}")
                except pymysql.MySQLError as error:
                    steps.append(error.args[0])
                    continue
                cursor.execute("SHOW WARNINGS")
                warnings = [row[:2] for row in cursor.fetchall()]
                cursor.execute("SELECT * FROM load_p.t ORDER BY a")
                steps.append((affected, warnings, cursor.fetchall()))
        connection.close()
        found.append(steps)
    assert found[0] == found[1]
    assert found[0][0][2] == ((1, 10), (5, 50)) and found[0][3] == 1735


def test_files_that_are_not_read(mysql, native, tmp_path):
    """`LOAD DATA` of the server's own files, which both are told not to read, and what comes before."""
    path = tmp_path / "rows.tsv"
    path.write_text("1\n")
    found = []
    for server in (mysql, native):
        server.run("SET GLOBAL local_infile = ON", "DROP DATABASE IF EXISTS load_n",
                   "CREATE DATABASE load_n", "CREATE TABLE load_n.t (a INT PRIMARY KEY)")
        assert server.run("SHOW VARIABLES LIKE 'secure_file_priv'") == (("secure_file_priv", "NULL"),)
        steps = [server.run("SELECT @@secure_file_priv")]
        connection = server.connect(local_infile=True)
        with connection.cursor() as cursor:
            for words in (f"INFILE '{path}' INTO TABLE load_n.t", f"INFILE '{path}' INTO TABLE load_n.u",
                          f"INFILE '{path}' INTO TABLE load_n.t FIELDS ENCLOSED BY 'ab'",
                          f"INFILE '{path}' INTO TABLE load_n.t FIELDS ESCAPED BY 'ab'",
                          f"INFILE '{path}' INTO TABLE load_n.t CHARACTER SET klingon",
                          f"LOCAL INFILE '{path}' INTO TABLE load_n.t CHARACTER SET klingon",
                          f"LOCAL INFILE '{path}' INTO TABLE load_n.t FIELDS ENCLOSED BY 'ab'"):
                with pytest.raises(pymysql.MySQLError) as error:
                    cursor.execute(f"LOAD DATA {words}")
                steps.append(error.value.args[0])
                if error.value.args[0] == 1290 and server is native:
                    assert "LOCAL" in error.value.args[1]
        connection.close()
        found.append(steps)
    assert found[0] == found[1]
    assert found[1][1:] == [1290, 1146, 1083, 1083, 1115, 1115, 1083]


def test_files_with_assignments(mysql, native, tmp_path):
    """`LOAD DATA ... SET` of columns that have no default, or a computed one."""
    path = tmp_path / "rows.tsv"
    path.write_text("1\t31.12.2023\n2\t29.02.2024\n")
    found = []
    for server in (mysql, native):
        server.run("SET GLOBAL local_infile = ON", "DROP DATABASE IF EXISTS load_s",
                   "CREATE DATABASE load_s",
                   "CREATE TABLE load_s.t (id INT PRIMARY KEY, d DATE NOT NULL, "
                   "u VARCHAR(36) DEFAULT (UUID()), n INT DEFAULT (id + 1))")
        connection = server.connect(local_infile=True)
        steps = []
        with connection.cursor() as cursor:
            for words in ("REPLACE INTO TABLE load_s.t (id, @d) SET d = STR_TO_DATE(@d, '%d.%m.%Y'), u = @d",
                          "INTO TABLE load_s.t (id, @d) SET d = STR_TO_DATE(@d, '%d.%m.%Y'), u = 'x'"):
                affected = cursor.execute(f"LOAD DATA LOCAL INFILE '{path}' {words}")
                cursor.execute("SHOW WARNINGS")
                warnings = [row[:2] for row in cursor.fetchall()]
                cursor.execute("SELECT * FROM load_s.t ORDER BY id")
                steps.append((affected, warnings, cursor.fetchall()))
        connection.close()
        found.append(steps)
    assert found[0] == found[1]


def test_files_of_bytes(mysql, native, tmp_path):
    """Fields in variables that are no text: as they are, or refused."""
    path = tmp_path / "rows.bin"
    path.write_bytes(b"1\t\xff\xfe\n2\tabc\n")
    found = []
    for server in (mysql, native):
        server.run("SET GLOBAL local_infile = ON", "DROP DATABASE IF EXISTS load_b",
                   "CREATE DATABASE load_b",
                   "CREATE TABLE load_b.t (id INT PRIMARY KEY, b VARBINARY(10), h VARCHAR(20))")
        connection = server.connect(local_infile=True)
        with connection.cursor() as cursor:
            cursor.execute(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE load_b.t CHARACTER SET binary "
                           "(id, @b) SET b = @b, h = HEX(@b)")
            cursor.execute("SELECT id, b, h FROM load_b.t ORDER BY id")
            found.append(cursor.fetchall())
            if server is native:
                with pytest.raises(pymysql.MySQLError, match="CHARACTER SET binary") as refused:
                    cursor.execute(f"LOAD DATA LOCAL INFILE '{path}' REPLACE INTO TABLE load_b.t "
                                   "CHARACTER SET utf8mb4 (id, @b) SET b = @b")
                assert refused.value.args[0] == 1300
        connection.close()
    assert found[0] == found[1] == ((1, b"\xff\xfe", "FFFE"), (2, b"abc", "616263"))


def test_bytes_in_statements(mysql, native):
    """Strings and comments of statements that are no text, as drivers send them. (MySQL also warns of
    each such string, 1300; only numbers of errors, rows and counts are compared.)"""
    statements = [
        b"INSERT INTO bytes_b.t (id, b) VALUES (1, _binary'\xff'), (2, _binary '\xff\xfe'), (3, 'plain')",
        b"INSERT INTO bytes_b.t (id, b, k, l) VALUES (4, '\xff\xfe', '\xf0', '\x00\xff\\'\\\\')",
        b"INSERT INTO bytes_b.t (id, b) VALUES (5, CONCAT(_binary '\xff', 'a')), (6, '\xc3\xa9')",
        b"INSERT INTO bytes_b.t (id, b) SELECT 7, _binary '\xfd'",
        b"INSERT INTO bytes_b.t (id, b) SELECT 8, '\xfc'",
        b"INSERT INTO bytes_b.t (id, b) VALUES (8, '\xff') ON DUPLICATE KEY UPDATE b = '\xfb'",
        b"INSERT INTO bytes_b.t (id, a) VALUES (9, '\xff')",
        b"INSERT INTO bytes_b.t (id, a) VALUES (9, _binary '\xff')",
        b"INSERT INTO bytes_b.t (id, n) VALUES (9, '\xff')",
        b"INSERT INTO bytes_b.t (id, a, n) VALUES (9, _latin1'\xe9', _binary x'3132')",
        b"SELECT id, HEX(b), HEX(k), HEX(l), HEX(a), n FROM bytes_b.t ORDER BY id",
        b"SELECT id FROM bytes_b.t WHERE b = '\xff' ORDER BY id",
        b"SELECT id FROM bytes_b.t WHERE b = _binary '\xff\xfe' ORDER BY id",
        b"SELECT id FROM bytes_b.t WHERE b IN ('\xff', 'plain', _binary '\xfd') ORDER BY id",
        b"SELECT id FROM bytes_b.t WHERE b LIKE '\xff%' ORDER BY id",
        b"SELECT id FROM bytes_b.t WHERE b BETWEEN '\xf0' AND '\xfd' ORDER BY id",
        b"SELECT HEX('\xff'), LENGTH('\xff\xfe'), '\xff' IS NULL, HEX(CONCAT(b, '\xff')), "
        b"CASE b WHEN '\xff' THEN 1 END FROM bytes_b.t WHERE id = 1",
        b"SELECT HEX(_latin1'\xe9'), CHARSET(_latin1'\xe9'), HEX(_utf8mb4 x'c3a9'), _utf8mb4 x'c3a9' = 'E', "
        b"HEX(CONCAT(_latin1'\xe9', 'a')), COERCIBILITY(_binary '\xff'), CHARSET(_binary'\xff')",
        b"SELECT _binary '12' + 1, _binary x'3132' + 1, x'3132' + 1",
        b"SELECT 1 /* \xe9 '\xff */ + 1 -- \xff",
        b"UPDATE bytes_b.t SET b = '\xfa' WHERE b = '\xff'",
        b"UPDATE bytes_b.t SET b = _binary '\xf9' WHERE id = 2",
        b"UPDATE bytes_b.t SET a = '\xff' WHERE id = 2",
        b"DELETE FROM bytes_b.t WHERE b = '\xfd'",
        b"SELECT id, HEX(b) FROM bytes_b.t ORDER BY id",
        b"CREATE TABLE bytes_b.d (id INT PRIMARY KEY, b VARBINARY(4) DEFAULT '\xff')",
        b"INSERT INTO bytes_b.d (id) VALUES (1)",
        b"SELECT HEX(b) FROM bytes_b.d",
        b"CREATE TABLE bytes_b.e (id INT PRIMARY KEY, b VARCHAR(4) DEFAULT '\xff')",
        b"SET NAMES binary",
        b"SELECT HEX('\xff') AS a, CHARSET('\xff') AS b",
        b"SET NAMES latin1",
        b"SELECT HEX('\xff') AS a, HEX(_binary'\xff') AS b, HEX(_utf8mb4'\xc3\xa9') AS c",
    ]
    found = []
    for server in (mysql, native):
        server.run("DROP DATABASE IF EXISTS bytes_b", "CREATE DATABASE bytes_b",
                   "CREATE TABLE bytes_b.t (id INT PRIMARY KEY, b VARBINARY(20), k BINARY(3), l BLOB, "
                   "a VARCHAR(20), n INT)")
        steps = []
        with server.connect(use_unicode=False) as connection, connection.cursor() as cursor:
            for statement in statements:
                try:
                    steps.append((statement, cursor.execute(statement), cursor.fetchall()))
                except pymysql.MySQLError as error:
                    steps.append((statement, error.args[0]))
            if server is native:
                for statement in (b"SELECT UPPER('\xff')", b"SELECT CONCAT('\xff', 'a')",
                                  b"SELECT id FROM bytes_b.t WHERE a = _utf8mb4'\xff'"):
                    cursor.execute("SET NAMES utf8mb4")
                    with pytest.raises(pymysql.MySQLError) as refused:
                        cursor.execute(statement)
                    assert refused.value.args[0] == 1300, statement
        found.append(steps)
    for expected, given in zip(*found, strict=True):
        assert given == expected


class TestBeside:
    """Statements of a session beside definitions of another: they wait or are done again."""

    def _beside(self, server, writes: list[str], definitions: list[str], least: int, seconds: float = 4) -> None:
        """Runs writes in sessions of their own until the definitions have been given again and
        again for some seconds, and so often at least."""
        failures, stop = [], threading.Event()

        def work(sql: str) -> None:
            with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
                try:
                    while not stop.is_set():
                        cursor.execute(sql)
                except pymysql.MySQLError as error:
                    failures.append((sql, error))
        threads = [threading.Thread(target=work, args=(sql,)) for sql in writes]
        for thread in threads:
            thread.start()
        times, end = 0, time.monotonic() + seconds
        try:
            while (time.monotonic() < end or times < least) and not failures:
                assert time.monotonic() < end + 180, f"given {times} times"
                server.run(*definitions)
                times += 1
                time.sleep(0.02)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not failures, failures

    def test_columns_come_and_go(self, native):
        native.run("CREATE DATABASE beside", "CREATE TABLE beside.t (id BIGINT PRIMARY KEY, a INT, b INT)",
                   "INSERT INTO beside.t VALUES (1, 100, 0), (2, 200, 0), (3, 300, 0)")
        self._beside(
            native,
            ["INSERT INTO beside.t (id, b) VALUES (1, 0) ON DUPLICATE KEY UPDATE b = b + 1",
             "REPLACE INTO beside.t (id, a, b) VALUES (2, 200, 7)",
             "UPDATE beside.t SET b = b + 1 WHERE id = 3"],
            ["ALTER TABLE beside.t ADD COLUMN x INT DEFAULT 3 FIRST",
             "ALTER TABLE beside.t DROP COLUMN x"], 2)
        assert native.run("SELECT id, a FROM beside.t ORDER BY id") == ((1, 100), (2, 200), (3, 300))

    def test_numbers_begin_again(self, native):
        native.run("CREATE DATABASE anew", "CREATE TABLE anew.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
        self._beside(native, ["INSERT INTO anew.t (v) VALUES (1), (2)"] * 3, ["TRUNCATE TABLE anew.t"], 6)
        native.run("TRUNCATE TABLE anew.t", "INSERT INTO anew.t (v) VALUES (1), (2)")
        assert native.run("SELECT id FROM anew.t ORDER BY id") == ((1,), (2,))


class TestOwn:
    """What a real MySQL does not have, or not at the press of a button."""

    def test_acknowledged_rows_survive_a_kill(self, linked_maker):
        server = linked_maker(name="pelorus-kill")
        server.run("CREATE DATABASE d", "CREATE TABLE d.t (a BIGINT PRIMARY KEY, b VARCHAR(20))")
        acknowledged: list[int] = []
        stop = threading.Event()

        def write() -> None:
            connection = server.connect()
            number = 0
            try:
                while not stop.is_set():
                    values = ", ".join(f"({number + at}, 'x{number + at}')" for at in range(50))
                    with connection.cursor() as cursor:
                        cursor.execute(f"INSERT INTO d.t VALUES {values}")
                    connection.commit()
                    number += 50
                    acknowledged.append(number)
            except pymysql.MySQLError:
                pass
        for _ in range(5):
            acknowledged.clear()
            server.run("TRUNCATE TABLE d.t")
            stop.clear()
            thread = threading.Thread(target=write)
            thread.start()
            processes.wait_for("some to be acknowledged", lambda: len(acknowledged) >= 20, pause=0.001)
            server.process.kill()
            stop.set()
            thread.join()
            server.start()
            ((count, most),) = server.run("SELECT COUNT(*), MAX(a) FROM d.t")
            assert count >= acknowledged[-1]
            assert count == most + 1, "a batch is there in part"
        # Those that TRUNCATE dropped are no cause for alarm.
        assert "a native table cannot be used" not in server.log()
        server.stop()

    def test_a_damaged_table_stops_alone(self, linked_maker):
        server = linked_maker(name="pelorus-damage")
        server.run("CREATE DATABASE d", "CREATE TABLE d.bad (a INT PRIMARY KEY AUTO_INCREMENT, b INT)",
                   "CREATE TABLE d.good (a INT PRIMARY KEY, b INT)",
                   "INSERT INTO d.bad (b) VALUES (1), (2)", "INSERT INTO d.good VALUES (1, 1)")
        server.stop()
        path = server.folder / "data" / "native" / "table-1.blocks"
        whole = path.read_bytes()
        path.write_bytes(b"\xa5" * 8192 + whole[8192:])
        server.start()
        for statement in ("SELECT * FROM d.bad", "INSERT INTO d.bad (b) VALUES (3)", "DELETE FROM d.bad",
                          "ALTER TABLE d.bad ADD COLUMN c INT", "SHOW CREATE TABLE d.bad",
                          "TRUNCATE TABLE d.bad", "RENAME TABLE d.bad TO d.worse"):
            with pytest.raises(pymysql.MySQLError) as error:
                server.run(statement)
            assert error.value.args[0] == 1034, statement
            assert path.name in error.value.args[1] and "drop the table" in error.value.args[1]
        assert "a native table cannot be used" in server.log()
        with pytest.raises(pymysql.MySQLError) as error:
            server.run("CREATE TABLE d.bad (a INT PRIMARY KEY)")
        assert error.value.args[0] == 1050
        server.run("INSERT INTO d.good VALUES (2, 2)")
        assert server.run("SELECT COUNT(*) FROM d.good") == ((2,),)
        assert server.run("SHOW TABLES FROM d") == (("bad",), ("good",))
        assert path.name in server.run("SHOW TABLE STATUS FROM d LIKE 'bad'")[0][17]
        ((comment,),) = server.run("SELECT TABLE_COMMENT FROM information_schema.TABLES "
                                   "WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 'bad'")
        assert path.name in comment
        assert server.run("CHECK TABLE d.bad")[-1][3] == "Operation failed"
        server.stop()
        path.write_bytes(whole)
        server.start()
        server.run("INSERT INTO d.bad (b) VALUES (3)")
        assert server.run("SELECT * FROM d.bad ORDER BY a") == ((1, 1), (2, 2), (3, 3))
        server.stop()
        path.unlink()
        server.start()
        server.run("DROP TABLE d.bad", "CREATE TABLE d.bad (a INT PRIMARY KEY)", "DROP DATABASE d")
        server.stop()

    def test_the_past_can_be_read(self, native):
        native.run("CREATE DATABASE past", "CREATE TABLE past.t (a INT PRIMARY KEY, b INT)",
                   "INSERT INTO past.t VALUES (1, 10), (2, 20)")
        ((moment,),) = native.run("SELECT NOW(6)")
        native.run("UPDATE past.t SET b = b + 1", "DELETE FROM past.t WHERE a = 2")
        assert native.run("SELECT * FROM past.t ORDER BY a") == ((1, 11),)
        then = native.run(f"SELECT * FROM past.t FOR SYSTEM_TIME AS OF TIMESTAMP '{moment}' ORDER BY a")
        assert then == ((1, 10), (2, 20))
        with pytest.raises(pymysql.MySQLError) as error:
            native.run("SELECT * FROM past.t FOR SYSTEM_TIME AS OF TIMESTAMP '2001-01-01 00:00:00'")
        assert error.value.args[0] == 9006
        for then in ("@then", "TIMESTAMP @then", "@then + INTERVAL 0 SECOND"):
            found = native.run(f"SET @then = '{moment}'",
                               f"SELECT * FROM past.t FOR SYSTEM_TIME AS OF {then} ORDER BY a")
            assert found == ((1, 10), (2, 20)), then
        now = native.run("SELECT * FROM past.t FOR SYSTEM_TIME AS OF NOW(6) - INTERVAL 0 SECOND")
        assert now == ((1, 11),)
        ((version,),) = native.run("SELECT @@pelorus_version")
        for words, expected in ((f"VERSION {version + 1000}", 1210), ("TIMESTAMP '2037-01-01'", 1210),
                                ("TIMESTAMP '2050-01-01'", 1210), ("NOW() + INTERVAL 1 MINUTE", 1210),
                                ("NOW() - INTERVAL 1 YEAR", 9006)):
            with pytest.raises(pymysql.MySQLError) as error:
                native.run(f"SELECT * FROM past.t FOR SYSTEM_TIME AS OF {words}")
            assert error.value.args[0] == expected, words

    def test_how_long_the_past_can_be_read(self, native):
        """`HISTORY` when a table is made, and changed."""
        def optimise():
            time.sleep(2.5)
            for table in ("short", "usual"):
                assert native.run(f"OPTIMIZE TABLE past_of.{table}")[0][3] == "OK"

        def past(table, version):
            try:
                return native.run(f"SELECT v FROM past_of.{table} FOR SYSTEM_TIME AS OF VERSION {version}")
            except pymysql.MySQLError as error:
                return error.args[0]

        native.run("DROP DATABASE IF EXISTS past_of", "CREATE DATABASE past_of",
                   "CREATE TABLE past_of.short (id INT PRIMARY KEY, v INT) HISTORY=1",
                   "CREATE TABLE past_of.usual (id INT PRIMARY KEY, v INT)",
                   "INSERT INTO past_of.short VALUES (1, 1)", "INSERT INTO past_of.usual VALUES (1, 1)")
        ((first,),) = native.run("SELECT @@pelorus_version")
        native.run("UPDATE past_of.short SET v = 2", "UPDATE past_of.usual SET v = 2")
        assert past("usual", first) == ((1,),)
        optimise()
        assert (past("short", first), past("usual", first)) == (9006, ((1,),))
        native.run("ALTER TABLE past_of.short HISTORY='1 HOUR'", "ALTER TABLE past_of.usual HISTORY=1")
        ((second,),) = native.run("SELECT @@pelorus_version")
        native.run("UPDATE past_of.short SET v = 3", "UPDATE past_of.usual SET v = 3")
        optimise()
        assert (past("short", second), past("usual", second)) == (((2,),), 9006)

    def test_partition_by_values(self, native):
        native.run(
            "CREATE DATABASE taxi",
            "CREATE TABLE taxi.trips (medallion CHAR(4) NOT NULL, t DATETIME NOT NULL, n INT, "
            "PRIMARY KEY (medallion, t)) PARTITION BY (LEFT(medallion, 2)) "
            "SEGMENT BY (TIME_SLICE(t, INTERVAL 6 DAY))",
            "INSERT INTO taxi.trips VALUES ('AB01', '2013-01-01 00:00:00', 1), "
            "('ab01', '2013-01-02 00:00:00', 2), ('CD01', '2013-01-01 00:00:00', 3)")
        assert native.run("SELECT SUM(n) FROM taxi.trips WHERE medallion = 'AB01'") == ((3,),)
        native.run("REPLACE INTO taxi.trips VALUES ('ab01', '2013-01-01 00:00:00', 10)")
        assert native.run("SELECT COUNT(*), SUM(n) FROM taxi.trips") == ((3, 15),)
        (first,), (_,) = native.run("SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE "
                                    "TABLE_SCHEMA = 'taxi' AND TABLE_NAME = 'trips'")
        native.run(f"ALTER TABLE taxi.trips DROP PARTITION `{first}`")
        assert native.run("SELECT COUNT(DISTINCT LEFT(medallion, 2)) FROM taxi.trips") == ((1,),)

    def test_partitions_by_value_go_by_their_names(self, native):
        native.run("DROP DATABASE IF EXISTS days", "CREATE DATABASE days",
                   "CREATE TABLE days.t (t DATETIME, n INT, PRIMARY KEY (t, n)) "
                   "PARTITION BY (TIME_SLICE(t, INTERVAL 1 DAY), n)",
                   "INSERT INTO days.t VALUES ('2024-01-01 01:00:00', 1), ('2024-01-01 02:00:00', 1), "
                   "('2024-01-02 01:00:00', 1), ('2024-01-03 01:00:00', 2)")
        shown = {name for (name,) in native.run(
            "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'days'")}
        one, two, three = (f"'2024-01-0{day} 00:00:00',{n}" for day, n in ((1, 1), (2, 1), (3, 2)))
        assert shown == {one, two, three}
        native.run(f"ALTER TABLE days.t DROP PARTITION `{one}`")
        assert native.run("SELECT COUNT(*) FROM days.t") == ((2,),)
        native.run(f"ALTER TABLE days.t TRUNCATE PARTITION `{two}`")
        assert native.run("SELECT n FROM days.t") == ((2,),)
        for words, expected in (("DROP PARTITION nope", 1507), (f"DROP PARTITION `{three}`, `nope`", 1507),
                                ("TRUNCATE PARTITION nope", 1735), ("ADD PARTITION (PARTITION p)", 1235)):
            with pytest.raises(pymysql.MySQLError) as error:
                native.run(f"ALTER TABLE days.t {words}")
            assert error.value.args[0] == expected, words
        native.run("ALTER TABLE days.t DROP PARTITION IF EXISTS nope",
                   "INSERT INTO days.t VALUES ('2024-01-01 01:00:00', 1)",
                   f"ALTER TABLE days.t DROP PARTITION IF EXISTS `{three}`, nope")
        assert native.run("SELECT n FROM days.t") == ((1,),)

    def test_slices_of_dates_that_are_none(self, native):
        """Such a date is a slice of its own, which lies within one of real dates."""
        native.run(
            "CREATE DATABASE slices",
            "CREATE TABLE slices.y (d DATE NOT NULL, id INT NOT NULL, PRIMARY KEY (d, id)) "
            "PARTITION BY (TIME_SLICE(d, INTERVAL 1 YEAR))",
            "CREATE TABLE slices.w (d DATE NOT NULL, id INT NOT NULL, PRIMARY KEY (d, id)) "
            "PARTITION BY (TIME_SLICE(d, INTERVAL 7 DAY))")
        for table in ("y", "w"):
            def found(condition: str, table=table) -> list[int]:
                query = f"SELECT id FROM slices.{table} WHERE {condition} ORDER BY id"
                return [row[0] for row in native.run("SET sql_mode = ''", query)]
            native.run(f"INSERT INTO slices.{table} VALUES ('2024-02-10', 1), ('2024-08-01', 2)")
            assert found("d >= '2024-02-00'") == [1, 2]
            assert found("d BETWEEN '2024-02-00' AND '2024-03-00'") == [1]
            native.run("SET sql_mode = 'ALLOW_INVALID_DATES'", f"INSERT INTO slices.{table} "
                       "VALUES ('2024-02-00', 3), ('2024-02-31', 4), ('0000-00-00', 5)")
            assert found("d < '2024-02-05'") == [3, 5]
            assert found("d > '2024-02-10'") == [2, 4]
            assert found("d = '2024-02-00'") == [3]
            assert found("d IN ('0000-00-00', '2024-08-01')") == [2, 5]
            assert found("d BETWEEN '2024-01-31' AND '2024-03-01'") == [1, 3, 4]

    def test_named_partitions_are_a_part(self, native):
        native.run("CREATE DATABASE named",
                   "CREATE TABLE named.t (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
                   "(PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN MAXVALUE)",
                   "INSERT INTO named.t VALUES (1), (2), (3), (4)")
        assert _scans(native, "SELECT id FROM named.t") == ["4 rows"]
        assert _scans(native, "SELECT id FROM named.t PARTITION (p0)") == ["about 1 rows"]

    def test_loading_again_changes_nothing(self, native):
        native.run("CREATE DATABASE again",
                   "CREATE TABLE again.t (a INT, b INT, c VARCHAR(10), PRIMARY KEY (a, b))")
        values = ", ".join(f"({at % 100}, {at}, 'v{at}')" for at in range(5000))
        for _ in range(3):
            native.run(f"INSERT IGNORE INTO again.t VALUES {values}")
        ((count, total),) = native.run("SELECT COUNT(*), SUM(b) FROM again.t")
        assert (count, int(total)) == (5000, sum(range(5000)))

    def test_two_that_write_one_row(self, native):
        native.run("CREATE DATABASE two", "CREATE TABLE two.t (a INT PRIMARY KEY, b INT)",
                   "INSERT INTO two.t VALUES (1, 0)")
        first, second = native.connect(), native.connect()
        with first.cursor() as one, second.cursor() as other:
            one.execute("BEGIN")
            other.execute("BEGIN")
            one.execute("UPDATE two.t SET b = b + 1 WHERE a = 1")
            other.execute("UPDATE two.t SET b = b + 1 WHERE a = 1")
            one.execute("COMMIT")
            with pytest.raises(pymysql.MySQLError) as error:
                other.execute("COMMIT")
            assert error.value.args[0] == 1213
        assert native.run("SELECT b FROM two.t") == ((1,),)

    @pytest.mark.parametrize("change", [
        "UPDATE held.t SET b = b + 1 WHERE a = 1", "DELETE FROM held.t WHERE a = 1",
        "REPLACE INTO held.t VALUES (1, 7)"])
    @pytest.mark.parametrize(("query", "fails"), [
        ("SELECT b FROM held.t WHERE a = 1 FOR UPDATE", True),
        ("SELECT b FROM held.t WHERE a = 1 FOR SHARE", True),
        ("SELECT b FROM held.t ORDER BY b LIMIT 1 LOCK IN SHARE MODE", True),
        ("SELECT SUM(b) FROM held.t FOR UPDATE NOWAIT", True),
        ("SELECT t.b FROM held.t JOIN held.u ON u.a = t.a FOR UPDATE", True),
        ("SELECT t.b FROM held.t JOIN held.u ON u.a = t.a FOR UPDATE OF u", False),
        ("SELECT b FROM held.t ORDER BY a DESC LIMIT 1 FOR UPDATE", False),
        ("SELECT b FROM held.t WHERE a = 2 FOR UPDATE SKIP LOCKED", False),
        ("SELECT b FROM held.t WHERE a = 1", False)])
    def test_rows_that_are_read_for_update(self, native, query, fails, change):
        """A row that somebody else changes meanwhile ends the transaction that has read it."""
        native.run("DROP DATABASE IF EXISTS held", "CREATE DATABASE held",
                   "CREATE TABLE held.t (a INT PRIMARY KEY, b INT)",
                   "CREATE TABLE held.u (a INT PRIMARY KEY, b INT)",
                   "INSERT INTO held.t VALUES (1, 0), (2, 5)", "INSERT INTO held.u VALUES (1, 0)")
        with native.connect() as reader, reader.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(query)
            native.run(change)
            cursor.execute("UPDATE held.u SET b = 9 WHERE a = 1")
            if fails:
                with pytest.raises(pymysql.MySQLError) as error:
                    cursor.execute("COMMIT")
                assert error.value.args[0] == 1213
            else:
                cursor.execute("COMMIT")
        assert native.run("SELECT b FROM held.u") == ((0 if fails else 9,),)

    def test_a_lock_alone_is_found_out_by_the_commit(self, native):
        native.run("CREATE DATABASE alone", "CREATE TABLE alone.t (a INT PRIMARY KEY, b INT)",
                   "INSERT INTO alone.t VALUES (1, 0)")
        first, second = native.connect(), native.connect()
        with first.cursor() as one, second.cursor() as other:
            for cursor in (one, other):
                cursor.execute("BEGIN")
                cursor.execute("SELECT b FROM alone.t WHERE a = 1 FOR UPDATE")
            one.execute("COMMIT")
            with pytest.raises(pymysql.MySQLError) as error:
                other.execute("COMMIT")
            assert error.value.args[0] == 1213
            # Outside of a transaction nothing is held.
            one.execute("SELECT b FROM alone.t WHERE a = 1 FOR UPDATE")
            other.execute("UPDATE alone.t SET b = 1")
        for union in ("SELECT a FROM alone.t UNION SELECT 1 FOR UPDATE",
                      "SELECT a FROM alone.t WHERE a IN (SELECT a FROM alone.t FOR UPDATE)"):
            with native.connect() as connection, connection.cursor() as cursor:
                cursor.execute("BEGIN")
                with pytest.raises(pymysql.MySQLError) as error:
                    cursor.execute(union)
                assert error.value.args[0] == 1235

    def test_many_small_statements_in_one_transaction(self, native):
        """Each row of 200 columns once counted as 1.6 MiB, and 768 MiB is the most."""
        columns = ", ".join(f"c{at} INT" for at in range(200))
        native.run("CREATE DATABASE statements",
                   f"CREATE TABLE statements.t (id INT AUTO_INCREMENT PRIMARY KEY, {columns})")
        connection = native.connect()
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            for at in range(1000):
                cursor.execute(f"INSERT INTO statements.t (id, c0) VALUES ({at + 1}, {at})")
                if at % 100 == 99:
                    cursor.execute(f"REPLACE INTO statements.t (id, c0) VALUES ({at}, 0), ({at + 1}, 0)")
                if at == 500:
                    cursor.execute("SAVEPOINT half")
            cursor.execute("SELECT COUNT(*), SUM(c0) FROM statements.t")
            ((count, total),) = cursor.fetchall()
            replaced = [n for at in range(99, 1000, 100) for n in (at - 1, at)]
            assert (count, int(total)) == (1000, sum(range(1000)) - sum(replaced))
            cursor.execute("ROLLBACK TO SAVEPOINT half")
            cursor.execute("INSERT INTO statements.t (c0) VALUES (7)")
            cursor.execute("COMMIT")
        connection.close()
        ((count, total),) = native.run("SELECT COUNT(*), SUM(c0) FROM statements.t")
        kept = sum(range(501)) - sum(n for n in replaced if n < 501) + 7
        assert (count, int(total)) == (502, kept)

    def test_what_failed_does_not_count(self, native):
        """Seven statements of 120 MB each that fail leave room for another one."""
        native.run("CREATE DATABASE undone", "CREATE TABLE undone.four (id INT PRIMARY KEY)",
                   "INSERT INTO undone.four VALUES (1), (2), (3), (4)",
                   "CREATE TABLE undone.t (id INT PRIMARY KEY, s LONGTEXT)")
        connection = native.connect()
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO undone.t VALUES (4, 'x')")
            for _ in range(7):
                with pytest.raises(pymysql.MySQLError) as error:
                    cursor.execute("INSERT INTO undone.t SELECT id, REPEAT('x', 30000000) FROM undone.four")
                assert error.value.args[0] == 1062
            cursor.execute("INSERT INTO undone.t VALUES (5, 'y')")
            cursor.execute("COMMIT")
        connection.close()
        assert native.run("SELECT * FROM undone.t ORDER BY id") == ((4, "x"), (5, "y"))

    def test_the_past_cannot_be_changed(self, native):
        native.run("CREATE DATABASE unchanged", "CREATE TABLE unchanged.t (id INT PRIMARY KEY, a INT)",
                   "INSERT INTO unchanged.t VALUES (1, 1), (2, 2)", "DELETE FROM unchanged.t WHERE id = 2")
        past = "unchanged.t FOR SYSTEM_TIME AS OF VERSION 1"
        for statement in (f"UPDATE {past} SET a = a + 1", f"DELETE FROM {past} WHERE a > 0",
                          f"UPDATE {past} JOIN unchanged.t AS u ON u.id = t.id SET t.a = 5"):
            with pytest.raises(pymysql.MySQLError) as error:
                native.run(statement)
            assert error.value.args[0] == 1064, statement
        assert native.run("SELECT * FROM unchanged.t") == ((1, 1),)

    def test_replaced_by_what_it_was_computed_from(self, native):
        native.run("CREATE DATABASE counted", "CREATE TABLE counted.c (id INT PRIMARY KEY, n INT)",
                   "INSERT INTO counted.c VALUES (1, 0), (2, 0)")
        statements = ("REPLACE INTO counted.c SELECT id, n + 1 FROM counted.c WHERE id = 1",
                      "REPLACE INTO counted.c VALUES (2, (SELECT n + 1 FROM counted.c AS o WHERE id = 2))")

        def count(_: int) -> int:
            connection, done = native.connect(autocommit=True), 0
            with connection.cursor() as cursor:
                for statement in statements * 50:
                    try:
                        cursor.execute(statement)
                        done += statement is statements[0]
                    except pymysql.MySQLError as error:
                        assert error.args[0] == 1213
            connection.close()
            return done
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = sum(pool.map(count, range(4)))
        ((_, first), (_, _)) = native.run("SELECT * FROM counted.c ORDER BY id")
        assert first == done > 0

    def test_more_rows_than_a_batch_takes(self, native):
        native.run("CREATE DATABASE numerous", "CREATE TABLE numerous.t (id INT PRIMARY KEY)",
                   "INSERT INTO numerous.t VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
        for power in range(5):
            native.run(f"INSERT INTO numerous.t SELECT a.id + (b.id + 1) * {10 ** (power + 1)} FROM numerous.t a, "
                       "numerous.t b WHERE b.id < 9")
        native.run("INSERT INTO numerous.t SELECT id + 1000000 FROM numerous.t WHERE id < 200000")
        assert native.run("SELECT COUNT(*) FROM numerous.t") == ((1_200_000,),)
        native.run("UPDATE numerous.t SET id = id + 5000000 WHERE id < 1100000")
        assert native.run("SELECT COUNT(*), MIN(id), MAX(id) FROM numerous.t") == (
            (1_200_000, 1_100_000, 6_099_999),)
        native.run("DELETE FROM numerous.t")
        assert native.run("SELECT COUNT(*) FROM numerous.t") == ((0,),)

    def test_counters_from_many_sessions(self, native):
        native.run("CREATE DATABASE many", "CREATE TABLE many.t (a INT PRIMARY KEY, b INT)",
                   "INSERT INTO many.t VALUES (1, 0)")
        failures = []

        def work() -> None:
            try:
                for _ in range(25):
                    native.run("UPDATE many.t SET b = b + 1 WHERE a = 1")
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(error)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]
        assert native.run("SELECT b FROM many.t") == ((100,),)


class TestRewriting:
    """`ALTER TABLE` that writes rows anew."""

    def test_a_kill_leaves_the_old_table_or_the_new_one(self, linked_maker):
        server = linked_maker(name="pelorus-alter")
        server.run("CREATE DATABASE d", "CREATE TABLE d.t (a INT AUTO_INCREMENT PRIMARY KEY, b INT)",
                   "INSERT INTO d.t (b) VALUES " + ", ".join(f"({at})" for at in range(50000)))
        for _ in range(3):
            server.run("INSERT INTO d.t (b) SELECT b FROM d.t")
        files = server.folder / "data" / "native"
        for number, delay in enumerate((0.05, 0.15, 0.3, 0.6)):
            before, after = (("int", "varchar(20)") if number % 2 == 0 else ("varchar(20)", "int"))
            connection = server.connect()

            def alter(connection=connection, after=after) -> None:
                try:
                    with connection.cursor() as cursor:
                        cursor.execute(f"ALTER TABLE d.t MODIFY b {after}")
                except pymysql.MySQLError:
                    pass
            thread = threading.Thread(target=alter)
            thread.start()
            time.sleep(delay)
            server.process.kill()
            thread.join()
            server.start()
            (column,) = [row for row in server.run("DESCRIBE d.t") if row[0] == "b"]
            assert column[1] in (before, after)
            assert server.run("SELECT COUNT(*), SUM(b) FROM d.t")[0] == (
                400000, 8 * sum(range(50000)))
            assert len(list(files.glob("table-*.blocks"))) == 1, "a table was left over"
            server.run(f"ALTER TABLE d.t MODIFY b {after}", "INSERT INTO d.t (b) VALUES (1)")
            ((most, last),) = server.run("SELECT MAX(a), COUNT(*) FROM d.t")
            assert most >= last
            server.run("DELETE FROM d.t WHERE a = (SELECT m FROM (SELECT MAX(a) AS m FROM d.t) x)")
        server.stop()

    @pytest.mark.parametrize("change", [
        "ALTER TABLE shape.t MODIFY b INT AFTER c",
        "ALTER TABLE shape.t DROP COLUMN b, ADD COLUMN d INT AFTER a",
        "ALTER TABLE shape.t DROP PARTITION p1",
        "ALTER TABLE shape.t RENAME COLUMN b TO x, RENAME COLUMN c TO b",
    ])
    def test_a_transaction_does_not_write_to_a_table_that_has_changed(self, native, change):
        """Not even where the columns have the same number and types."""
        native.run("DROP DATABASE IF EXISTS shape", "CREATE DATABASE shape",
                   "CREATE TABLE shape.t (a INT PRIMARY KEY, b INT, c INT) PARTITION BY RANGE (a) "
                   "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
                   "INSERT INTO shape.t VALUES (1, 2, 3)")
        connection = native.connect()
        with connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO shape.t VALUES (5, 6, 7), (15, 16, 17)")
            native.run(change)
            with pytest.raises(pymysql.MySQLError) as error:
                cursor.execute("COMMIT")
            assert error.value.args[0] == 1412
            cursor.execute("INSERT INTO shape.t (a) VALUES (2)")
            cursor.execute("COMMIT")
        assert native.run("SELECT a FROM shape.t ORDER BY a") == ((1,), (2,))
        ((answer,),) = [row[3:] for row in native.run("CHECK TABLE shape.t")]
        assert answer == "OK"

    def test_a_transaction_that_goes_on_with_a_changed_table(self, native):
        native.run("CREATE DATABASE changed",
                   "CREATE TABLE changed.t (a INT PRIMARY KEY, b INT, c INT)")
        connection = native.connect(database="changed")
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO t VALUES (1, 1, 1)")
            native.run("ALTER TABLE changed.t DROP COLUMN c")
            for statement in ("INSERT INTO t VALUES (2, 2)", "SELECT * FROM t", "COMMIT"):
                with pytest.raises(pymysql.MySQLError) as error:
                    cursor.execute(statement)
                assert error.value.args[0] == 1412, statement
            cursor.execute("SELECT * FROM t")
            assert cursor.fetchall() == ()
        connection.close()

    def test_a_transaction_does_not_miss_the_rows_of_a_dropped_partition(self, native):
        """One that reads the table for the first time afterwards, at its own moment."""
        native.run("CREATE DATABASE gone", "CREATE TABLE gone.u (a INT PRIMARY KEY)",
                   "CREATE TABLE gone.t (a INT PRIMARY KEY) PARTITION BY RANGE (a) "
                   "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
                   "INSERT INTO gone.t VALUES (1), (11)")
        connection = native.connect(database="gone")
        with connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT * FROM u")
            native.run("ALTER TABLE gone.t DROP PARTITION p0")
            for statement in ("SELECT COUNT(*) FROM t", "SELECT * FROM t WHERE a = 1",
                              "INSERT INTO u SELECT a FROM t WHERE a IN (1, 11)"):
                with pytest.raises(pymysql.MySQLError) as error:
                    cursor.execute(statement)
                assert error.value.args[0] == 1412, statement
        assert native.run("SELECT * FROM gone.t") == ((11,),)

    def test_writers_wait_and_lose_nothing(self, native):
        native.run("CREATE DATABASE busy", "CREATE TABLE busy.t (a INT PRIMARY KEY, b INT)",
                   "INSERT INTO busy.t VALUES " + ", ".join(f"({at}, 0)" for at in range(20000)))
        stop, failures, written = threading.Event(), [], [0]

        def write() -> None:
            connection = native.connect()
            try:
                while not stop.is_set():
                    with connection.cursor() as cursor:
                        cursor.execute(f"INSERT INTO busy.t (a, b) VALUES ({20000 + written[0]}, 1)")
                        cursor.execute("UPDATE busy.t SET b = b + 1 WHERE a = 7")
                    written[0] += 1
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(error)
        thread = threading.Thread(target=write)
        thread.start()
        for kind in ("VARCHAR(30)", "BIGINT", "DECIMAL(20,2)", "INT"):
            native.run(f"ALTER TABLE busy.t MODIFY b {kind}")
        stop.set()
        thread.join()
        assert not failures, failures[0]
        assert native.run("SELECT COUNT(*) FROM busy.t") == ((20000 + written[0],),)
        assert native.run("SELECT b FROM busy.t WHERE a = 7") == ((written[0],),)

    def test_a_large_table_names_the_row(self, native, mysql):
        """Rows lie in many batches, not in the order of the key."""
        values = [", ".join(f"({(at * 7919) % 200003}, {at})" for at in range(begin, begin + 20000))
                  for begin in range(0, 180000, 20000)]
        messages = []
        for server in (mysql, native):
            server.run("DROP DATABASE IF EXISTS rownum", "CREATE DATABASE rownum",
                       "CREATE TABLE rownum.t (a INT PRIMARY KEY, b INT)",
                       *(f"INSERT INTO rownum.t VALUES {some}" for some in values))
            with pytest.raises(pymysql.MySQLError) as error:
                server.run("ALTER TABLE rownum.t MODIFY b SMALLINT")
            messages.append(error.value.args)
        assert messages[0] == messages[1]

    def test_what_stays(self, linked_maker):
        """Statistics, AUTO_INCREMENT, the bound of the past; readers of the past are told."""
        server = linked_maker(name="pelorus-stays")
        server.run("CREATE DATABASE d", "CREATE TABLE d.t (a INT AUTO_INCREMENT PRIMARY KEY, b INT, "
                   "c INT) HISTORY='1 HOUR' HISTORY_BYTES=1000000",
                   "INSERT INTO d.t (b, c) VALUES (1, 1), (2, 1), (3, 2)", "ANALYZE TABLE d.t")
        ((moment,),) = server.run("SELECT NOW(6)")
        reader = server.connect()
        with reader.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT COUNT(*) FROM d.t")
            server.run("ALTER TABLE d.t MODIFY b VARCHAR(9)")
            with pytest.raises(pymysql.MySQLError) as error:
                cursor.execute("SELECT COUNT(*) FROM d.t")
            assert error.value.args[0] == 1412
        for _ in range(2):
            found = _statistics(server, "d")
            assert found["t", "c"][2] == 2 and ("t", "b") not in found
            text = server.run("SHOW CREATE TABLE d.t")[0][1]
            assert "HISTORY='1 HOUR' HISTORY_BYTES=1000000" in text
            with pytest.raises(pymysql.MySQLError) as error:
                server.run(f"SELECT * FROM d.t FOR SYSTEM_TIME AS OF TIMESTAMP '{moment}'")
            assert error.value.args[0] == 9006
            server.stop()
            server.start()
        server.run("INSERT INTO d.t (b) VALUES ('x')")
        assert server.run("SELECT MAX(a) FROM d.t") == ((4,),)
        server.stop()


class TestSessions:
    """What one session sees of another."""

    def test_a_snapshot_that_is_asked_for_is_taken_at_once(self, mysql, native):
        for server in (mysql, native):
            server.run("DROP DATABASE IF EXISTS snapshots", "CREATE DATABASE snapshots",
                       "CREATE TABLE snapshots.t (a INT PRIMARY KEY)")
            connection = server.connect(database="snapshots")
            with connection, connection.cursor() as cursor:
                cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
                server.run("INSERT INTO snapshots.t VALUES (1)")
                cursor.execute("SELECT COUNT(*) FROM t")
                assert cursor.fetchall() == ((0,),), server
                # The next transaction does not ask for one.
                cursor.execute("COMMIT AND CHAIN")
                server.run("INSERT INTO snapshots.t VALUES (2)")
                cursor.execute("SELECT COUNT(*) FROM t")
                assert cursor.fetchall() == ((2,),), server
                cursor.execute("COMMIT")

    @pytest.mark.parametrize("first", ["SET @n = (SELECT COUNT(*) FROM t)",
                                       "DO (SELECT COUNT(*) FROM t)"])
    def test_what_an_expression_reads_begins_a_transaction(self, native, first):
        """InnoDB locks the rows that it reads; here the transaction reads their version."""
        native.run("DROP DATABASE IF EXISTS expressions", "CREATE DATABASE expressions",
                   "CREATE TABLE expressions.t (a INT PRIMARY KEY)")
        connection = native.connect(database="expressions")
        with connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(first)
            native.run("INSERT INTO expressions.t VALUES (1)")
            cursor.execute("SELECT COUNT(*) FROM t")
            assert cursor.fetchall() == ((0,),)
            cursor.execute("COMMIT")

    def test_lock_tables_ends_a_transaction(self, mysql, native):
        for server in (mysql, native):
            server.run("DROP DATABASE IF EXISTS locks", "CREATE DATABASE locks",
                       "CREATE TABLE locks.t (a INT PRIMARY KEY)")
            connection = server.connect(database="locks", autocommit=False)
            with connection, connection.cursor() as cursor:
                for statement in ("INSERT INTO t VALUES (1)", "LOCK TABLES t WRITE",
                                  "UNLOCK TABLES", "ROLLBACK"):
                    cursor.execute(statement)
            assert server.run("SELECT COUNT(*) FROM locks.t") == ((1,),), server

    def test_unlock_tables_ends_a_transaction(self, mysql, native):
        """If something was locked, and no transaction was begun since."""
        for server in (mysql, native):
            server.run("DROP DATABASE IF EXISTS unlocked", "CREATE DATABASE unlocked",
                       "CREATE TABLE unlocked.t (a INT PRIMARY KEY)")
            connection = server.connect(database="unlocked", autocommit=False)
            with connection, connection.cursor() as cursor:
                for statement in ("LOCK TABLES t WRITE", "INSERT INTO t VALUES (1)",
                                  "UNLOCK TABLES", "ROLLBACK", "INSERT INTO t VALUES (2)",
                                  "UNLOCK TABLES", "ROLLBACK", "LOCK TABLES t WRITE", "BEGIN",
                                  "INSERT INTO t VALUES (3)", "UNLOCK TABLES", "ROLLBACK"):
                    cursor.execute(statement)
            assert server.run("SELECT a FROM unlocked.t") == ((1,),), server

    def test_tables_that_change_places_are_always_there(self, native):
        native.run("CREATE DATABASE places", "CREATE TABLE places.one (v INT PRIMARY KEY)",
                   "CREATE TABLE places.two LIKE places.one", "INSERT INTO places.one VALUES (1)",
                   "INSERT INTO places.two VALUES (2)")
        stop, failures, seen = threading.Event(), [], set()

        def read() -> None:
            try:
                with native.connect() as connection, connection.cursor() as cursor:
                    while not stop.is_set():
                        cursor.execute("SELECT v FROM places.one")
                        seen.update(cursor.fetchall())
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(error)
        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            times, end = 0, time.monotonic() + 180
            # On a busy machine the readers log in late.
            while (times < 60 or len(seen) < 2) and not failures and time.monotonic() < end:
                native.run("RENAME TABLE places.one TO places.away, places.two TO places.one, "
                           "places.away TO places.two")
                times += 1
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not failures, failures[0]
        assert seen == {(1,), (2,)}

    def test_statements_wait_while_a_table_is_altered(self, native):
        native.run("CREATE DATABASE altered", "CREATE TABLE altered.t (id INT PRIMARY KEY, v INT)",
                   "INSERT INTO altered.t VALUES (1, 0)")
        statements = ("SELECT id, v FROM altered.t", "UPDATE altered.t SET v = v + 1",
                      "INSERT IGNORE INTO altered.t (id, v) VALUES (1, 7)",
                      "INSERT IGNORE INTO altered.t (id, v) SELECT id, v FROM altered.t")
        stop, failures, done = threading.Event(), [], dict.fromkeys(statements, 0)

        def work(statement: str) -> None:
            connection = native.connect()
            try:
                with connection, connection.cursor() as cursor:
                    while not stop.is_set():
                        cursor.execute(statement)
                        done[statement] += 1
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append((statement, error))
        threads = [threading.Thread(target=work, args=(statement,)) for statement in statements]
        for thread in threads:
            thread.start()
        try:
            # The key moves with each new column.
            for number in range(12):
                native.run(f"ALTER TABLE altered.t ADD COLUMN c{number} INT FIRST")
            native.run("ALTER TABLE altered.t MODIFY v VARCHAR(30)")
            processes.wait_for("every statement to be done", lambda: failures or all(done.values()))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not failures, failures[0]
        assert all(done.values()), done
        assert native.run("SELECT id, v + 0 FROM altered.t") == ((1, done[statements[1]]),)

    def test_reorganised_partitions_have_no_past(self, native):
        """Rows of the past lie in partitions whose bounds are other ones now."""
        native.run("CREATE DATABASE cut",
                   "CREATE TABLE cut.t (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
                   "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
                   "INSERT INTO cut.t VALUES (7)")
        ((moment,),) = native.run("SELECT NOW(6)")
        native.run("DELETE FROM cut.t WHERE id = 7",
                   "ALTER TABLE cut.t REORGANIZE PARTITION p0 INTO (PARTITION p0 VALUES LESS THAN (5), "
                   "PARTITION pa VALUES LESS THAN (10))")
        with pytest.raises(pymysql.MySQLError) as error:
            native.run(f"SELECT * FROM cut.t FOR SYSTEM_TIME AS OF TIMESTAMP '{moment}' WHERE id = 7")
        assert error.value.args[0] == 9006
        native.run("INSERT INTO cut.t VALUES (7)")
        assert native.run("SELECT * FROM cut.t WHERE id = 7") == ((7,),)


KINDS = """CREATE TABLE kinds (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'it''s the key',
  ti TINYINT(1) NOT NULL DEFAULT '0', si SMALLINT UNSIGNED, mi MEDIUMINT, i INT ZEROFILL,
  bi BIGINT DEFAULT -5, de DECIMAL(20,6) NOT NULL DEFAULT '1.500000', fl FLOAT, db DOUBLE,
  bt BIT(12) DEFAULT b'101', c CHAR(10) CHARACTER SET latin1,
  vc VARCHAR(200) COLLATE utf8mb4_bin DEFAULT 'quote '' back\\\\slash', tt TINYTEXT, tx TEXT,
  mt MEDIUMTEXT, lt LONGTEXT, bn BINARY(4), vb VARBINARY(100), bl BLOB, lb LONGBLOB, da DATE,
  dt DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, tm TIME(3), ye YEAR,
  en ENUM('a','b','it''s') NOT NULL DEFAULT 'b', st SET('p','q','r'), js JSON,
  PRIMARY KEY (id), KEY k_vc (vc(50)), KEY two (si, mi), FULLTEXT KEY ft (tx)
) COMMENT='all; kinds' ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4"""
SHOP = (
    KINDS,
    "CREATE TABLE customers (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL, "
    "UNIQUE KEY own (id, name)) CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci",
    "CREATE TABLE orders (id INT NOT NULL AUTO_INCREMENT, customer INT NOT NULL, made DATE NOT NULL, "
    "total DECIMAL(12,2), PRIMARY KEY (id), KEY c (customer), CONSTRAINT fk_c FOREIGN KEY (customer) "
    "REFERENCES customers (id) ON DELETE CASCADE)",
    "CREATE TABLE parts (d DATE NOT NULL, n INT NOT NULL, v VARCHAR(20), PRIMARY KEY (d, n)) "
    "PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (TO_DAYS('2024-01-01')) "
    "COMMENT = 'old', PARTITION p1 VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE cols (a INT, b VARCHAR(10), PRIMARY KEY (a, b)) PARTITION BY LIST COLUMNS (b) "
    "(PARTITION x VALUES IN ('a','b'), PARTITION y VALUES IN ('c'))",
    "CREATE TABLE hk (a INT PRIMARY KEY) PARTITION BY KEY (a) PARTITIONS 3",
    "CREATE TABLE hh (a INT PRIMARY KEY) PARTITION BY LINEAR HASH (a) PARTITIONS 3",
    "INSERT INTO customers (name) VALUES ('n1'), ('ü2'), ('it''s')",
    "INSERT INTO orders (customer, made, total) VALUES (1, '2024-01-01', 1.5), (3, '2024-02-29', NULL)",
    "INSERT INTO parts VALUES ('2023-12-31', 1, 'x'), ('2024-01-01', 2, NULL)",
    "INSERT INTO cols VALUES (1, 'a'), (2, 'c')",
    "INSERT INTO hk VALUES (1), (2), (3), (4), (5)",
    "INSERT INTO hh VALUES (1), (2), (3), (4), (-5)",
    # Rules of rows; the dump leaves the values of generated columns out.
    """CREATE TABLE priced (id INT NOT NULL PRIMARY KEY, net DECIMAL(10,2), kind VARCHAR(9),
       gross DECIMAL(12,2) GENERATED ALWAYS AS (net * 1.19) STORED,
       label VARCHAR(30) AS (CONCAT(UPPER(kind), '-', id)) VIRTUAL COMMENT 'shown',
       KEY by_label (label), CONSTRAINT positive CHECK (net > 0 AND kind <> ''),
       CONSTRAINT listed CHECK (kind IN ('a', 'b') OR kind LIKE 'x%'))""",
    "INSERT INTO priced (id, net, kind) VALUES (1, 10, 'a'), (2, 0.99, 'xyz'), (3, NULL, NULL)",
)


class TestShowCreateTable:
    """`SHOW CREATE TABLE` says what MySQL says, and makes the same table again."""

    SOURCE = (
        "CREATE TABLE src (id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, n INT, m INT NOT NULL, "
        "d INT NOT NULL DEFAULT 5, v VARCHAR(10) NOT NULL, l VARCHAR(5) CHARACTER SET latin1 NOT NULL, "
        "dt DATETIME NOT NULL, f FLOAT NOT NULL DEFAULT 1.5, t TEXT NOT NULL, x DECIMAL(5,2), "
        "g INT AS (n + 1), de INT DEFAULT (n + 1), c CHAR(3), b BINARY(3), y YEAR NOT NULL)",
        "INSERT INTO src (n, m, v, l, dt, t, y) VALUES (1, 1, 'x', 'y', '2024-01-01', 't', 2020)")
    TABLES = (
        # Expressions.
        "(id INT PRIMARY KEY, a INT, b INT AS (a + 1), d VARCHAR(20) DEFAULT (concat(a, '-foo')), "
        "CHECK (a > 0), CONSTRAINT cc CHECK (d <> 'it''s' AND a IS NOT NULL), KEY ((a + 1)), "
        "KEY fk ((UPPER(d))))",
        "(id INT PRIMARY KEY, a INT, s VARCHAR(9), dt DATETIME, e INT AS (a * (id - 2) DIV 3), "
        "f INT AS (IF(a > 1, -a, COALESCE(a, 0))), h VARCHAR(20) AS (CASE WHEN a > 1 THEN 'x' ELSE s END), "
        "i INT AS (a BETWEEN 1 AND 5 OR a IN (7, 8) OR s LIKE 'x%'), j DATETIME AS (dt + INTERVAL 1 DAY), "
        "k INT AS (YEAR(dt)), l VARCHAR(9) AS (SUBSTRING(s, 1, 2)), m INT AS (NOT a), n INT AS (NOT (a > 1)), "
        "o INT AS (CAST(s AS SIGNED)), p INT AS (a AND id), q INT AS (MOD(a, 2)), r INT AS (s REGEXP 'a'), "
        "u INT AS (a IS NULL), v VARCHAR(9) AS (TRIM(s)), w INT AS (LENGTH(s)))",
        # Defaults.
        "(id INT PRIMARY KEY, a FLOAT DEFAULT 1.23, b FLOAT(7,4) DEFAULT 1.23, c DOUBLE DEFAULT 1.23, "
        "d DOUBLE(9,3) DEFAULT 1.2, e FLOAT DEFAULT 1e10, f FLOAT DEFAULT '0.1', g DOUBLE DEFAULT 1e300, "
        "h DECIMAL(5,2) DEFAULT 1, i INT DEFAULT '5', j FLOAT DEFAULT 123456789, l FLOAT DEFAULT -0.5)",
        "(id INT PRIMARY KEY, a VARCHAR(5) CHARACTER SET latin1 DEFAULT x'e9')",
        # Charsets.
        "(id INT PRIMARY KEY, v VARCHAR(10), e ENUM('a'), u VARCHAR(5) CHARACTER SET utf8mb4, "
        "b VARCHAR(5) COLLATE latin1_bin) DEFAULT CHARSET=latin1",
        "(id INT PRIMARY KEY, v VARCHAR(10), e ENUM('a'), t TEXT, j JSON, bb BLOB, "
        "x VARCHAR(5) COLLATE utf8mb4_0900_ai_ci) COLLATE=utf8mb4_general_ci",
        "(id INT PRIMARY KEY, v VARCHAR(10)) COLLATE=latin1_bin",
        # Columns of queries.
        "(PRIMARY KEY (id)) AS SELECT id, n, m, d, v, l, dt, f, t, x, g, de, c, b, y FROM src",
        "(PRIMARY KEY (i)) AS SELECT 'abc' AS a, CAST(1.5 AS DECIMAL(3,1)) AS d, NULL AS n, 1 AS i, "
        "1 + 1 AS s, 10000000000 AS big, 1.25 AS dec1, 1e3 AS dbl, '' AS emp, CURDATE() AS cd, "
        "CAST('10:00' AS TIME(3)) AS ct, 1234567890 AS i10",
        "(PRIMARY KEY (cnt)) AS SELECT COUNT(*) AS cnt, SUM(n) AS sm, AVG(n) AS av FROM src",
        "(PRIMARY KEY (a)) AS SELECT 1 AS a UNION SELECT 2",
    )

    def test_as_mysql_says_it(self, mysql, native):
        cursors = []
        for server in (mysql, native):
            server.run("DROP DATABASE IF EXISTS shown", "CREATE DATABASE shown")
            server.run(*self.SOURCE, database="shown")
            cursors.append(server.connect(database="shown").cursor())
        theirs, ours = cursors

        def shown(cursor, name: str) -> str:
            cursor.execute(f"SHOW CREATE TABLE {name}")
            return cursor.fetchone()[1].replace("ENGINE=Pelorus", "ENGINE=InnoDB")
        for number, text in enumerate(self.TABLES):
            for cursor in cursors:
                cursor.execute(f"CREATE TABLE t{number} {text}")
            said = shown(ours, f"t{number}")
            assert said == shown(theirs, f"t{number}"), text
            # Made from that text, columns have a charset that was named.
            for cursor in cursors:
                cursor.execute(f"DROP TABLE t{number}")
                cursor.execute(said.replace("ENGINE=Pelorus", "ENGINE=InnoDB"))
            assert shown(ours, f"t{number}") == shown(theirs, f"t{number}"), text
        for cursor in cursors:
            cursor.connection.close()


class TestDumps:
    """A dump of a server is loaded by its client."""

    @pytest.mark.parametrize("kind", ["mysql", "mariadb"])
    def test_a_dump_loads(self, kind, request, mysql, native):
        server = request.getfixturevalue(kind)
        connection = server.connect()
        with connection.cursor() as cursor:
            for statement in ("DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", "USE shop",
                              "SET time_zone = '+00:00'", *SHOP):
                cursor.execute(statement)
            for at in range(60):
                cursor.execute(
                    "INSERT INTO kinds (ti, si, mi, i, de, fl, db, bt, c, vc, tt, tx, mt, lt, bn, vb, "
                    "bl, da, tm, ye, en, st, js) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, "
                    "%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                    (at % 2, at, -at, at, at / 7, at / 3, at * 1e10, at * 60, f"ü{at}",
                     f"x'{at}\\\n\t\0\"ü😀", "t", "line\nnew", "m" * 100, None if at % 3 else "l",
                     b"\0\1", bytes([at, 0, 39, 92, 255]), bytes(range(256)), "2024-02-29",
                     "-12:30:00.5", 2000 + at, "it's", "p,r", '{"a": [1, 2.5, "x\\"y"], "b": null}'))
        dump = mysql.dump(server, "shop")
        assert b"_binary" in dump
        assert (b"GTID_PURGED=" in dump) == (kind == "mysql")
        native.run("DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop")
        client = [machine.find("mariadb"), "--no-defaults", "-h127.0.0.1", f"-P{native.port}", "-uroot",
                  f"-p{pelorus.ROOT_PASSWORD}", "shop"]
        done = subprocess.run(client, input=dump, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]
        ours = native.connect(database="shop")
        for one in (connection, ours):
            with one.cursor() as cursor:
                cursor.execute("SET time_zone = '+00:00'")
        with connection.cursor() as theirs, ours.cursor() as cursor:
            theirs.execute("SHOW TABLES")
            names = [name for (name,) in theirs.fetchall()]
            cursor.execute("SHOW TABLES")
            assert [name for (name,) in cursor.fetchall()] == names and len(names) == 8
            for name in names:
                theirs.execute(f"SELECT * FROM {name}")
                cursor.execute(f"SELECT * FROM {name}")
                assert sorted(map(repr, cursor.fetchall())) == sorted(map(repr, theirs.fetchall())), name
                if kind == "mysql":
                    theirs.execute(f"SHOW CREATE TABLE {name}")
                    cursor.execute(f"SHOW CREATE TABLE {name}")
                    shown = cursor.fetchone()[1].replace("ENGINE=Pelorus", "ENGINE=InnoDB")
                    # The dump names the charset of every column with another collation than its default.
                    said = theirs.fetchone()[1]
                    assert shown.replace(" CHARACTER SET utf8mb4", "") == said.replace(
                        " CHARACTER SET utf8mb4", "")
        connection.close()


    def test_what_dumps_set_and_drop(self, native):
        """The lines of dumps beside tables: of `mysqldump` of MySQL 9.7, also `--all-databases`."""
        native.run("DROP DATABASE IF EXISTS dump_lines", "CREATE DATABASE dump_lines")
        connection = rows.connect(native)
        for statement, expected in (
                ("SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN", []),
                ("SET @@SESSION.SQL_LOG_BIN= 0", []),
                ("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '1eccd6d9-e8b1-11f1-8441-02fc00000001:1-30,\n"
                 "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5'", [(b"Warning", b"1235")]),
                ("/*!50606 SET @OLD_INNODB_STATS_AUTO_RECALC=@@INNODB_STATS_AUTO_RECALC */", []),
                ("/*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF */", []),
                ("USE `dump_lines`", []),
                ("DROP TABLE IF EXISTS `v`", [(b"Note", b"1051")]),
                ("/*!50001 DROP VIEW IF EXISTS `v`*/", [(b"Note", b"1051")]),
                ("/*!50106 DROP EVENT IF EXISTS `ev` */", [(b"Note", b"1305")]),
                ("/*!50003 DROP FUNCTION IF EXISTS `fn` */", [(b"Note", b"1305")]),
                ("/*!50003 DROP PROCEDURE IF EXISTS `pr` */", [(b"Note", b"1305")]),
                ("/*!50032 DROP TRIGGER IF EXISTS tr */", [(b"Note", b"1360")]),
                ("/*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=@OLD_INNODB_STATS_AUTO_RECALC */", []),
                ("SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN", [])):
            answer = rows.ask(connection, statement)
            assert answer.error is None, (statement, answer.error)
            found = [tuple(row[:2]) for row in rows.ask(connection, "SHOW WARNINGS").rows]
            assert found == expected, (statement, found)
        assert rows.ask(connection, "SELECT @@GLOBAL.GTID_PURGED").rows == [(b"",)]
        for statement, advice in (
                ("/*!50001 CREATE VIEW `v` AS SELECT \n 1 AS `id`*/", "--ignore-table"),
                ("/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`a`@`%` SQL SECURITY DEFINER */\n"
                 "/*!50001 VIEW `v` AS select 1 AS `id` */", "--ignore-table"),
                ("/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`%`*/ /*!50003 TRIGGER `tr` BEFORE INSERT ON `t` "
                 "FOR EACH ROW SET NEW.v = 1 */", "--skip-triggers"),
                ("/*!50106 CREATE*/ /*!50117 DEFINER=`a`@`%`*/ /*!50106 EVENT `ev` ON SCHEDULE EVERY 1 DAY "
                 "DO SELECT 1 */", "--events"),
                ("CREATE DEFINER=`a`@`%` PROCEDURE `pr`()\nSELECT 1", "--routines")):
            number, text = rows.ask(connection, statement).error
            assert number == 1235 and advice in text, (statement, number, text)
        connection.close()


class TestAsynchronous:
    """Commits that are acknowledged before they are durable."""

    def test_a_kill_leaves_a_beginning(self, linked_maker):
        server = linked_maker(name="pelorus-async")
        server.run("CREATE DATABASE d", "CREATE TABLE d.t (a BIGINT PRIMARY KEY) COMMIT=ASYNC",
                   "CREATE TABLE d.u (a BIGINT PRIMARY KEY)")
        assert server.run("SHOW CREATE TABLE d.t")[0][1].endswith(" COMMIT=ASYNC")
        for table, setting in (("t", "TABLE"), ("u", "ASYNC"), ("t", "SYNC")):
            server.run(f"TRUNCATE TABLE d.{table}")
            connection = server.connect()
            with connection.cursor() as cursor:
                cursor.execute(f"SET pelorus_durability = {setting}")
                for at in range(300):
                    cursor.execute(f"INSERT INTO d.{table} VALUES ({at})")
                cursor.execute(f"SELECT COUNT(*) FROM d.{table}")
                assert cursor.fetchone() == (300,)
                if setting == "ASYNC":
                    # All of it is durable a tenth of a second later, on a busy machine later than that.
                    time.sleep(5)
            server.process.kill()
            server.start()
            ((count, most),) = server.run(f"SELECT COUNT(*), MAX(a) FROM d.{table}")
            assert count == (-1 if most is None else most) + 1
            assert setting == "TABLE" or count == 300
        with pytest.raises(pymysql.MySQLError) as error:
            server.run("ALTER TABLE d.t COMMIT=NEVER")
        assert error.value.args[0] == 1064
        with pytest.raises(pymysql.MySQLError) as error:
            server.run("SET pelorus_durability = 'perhaps'")
        assert error.value.args[0] == 1231
        server.stop()


class TestSizes:
    """As many columns and as large rows as there may be."""

    def test_the_most_columns(self, linked_maker, tmp_path):
        server = linked_maker(name="pelorus-wide")
        columns = ", ".join(f"c{at} {'INT' if at % 2 else 'VARCHAR(10)'}" for at in range(1, 4096))
        server.run("SET GLOBAL local_infile = ON", "CREATE DATABASE d",
                   f"CREATE TABLE d.t (id INT PRIMARY KEY, {columns})")
        with pytest.raises(pymysql.MySQLError) as error:
            server.run(f"CREATE TABLE d.u (id INT PRIMARY KEY, {columns}, c4096 INT)")
        assert error.value.args[0] == 1117
        with pytest.raises(pymysql.MySQLError) as error:
            server.run("ALTER TABLE d.t ADD COLUMN c4096 INT")
        assert error.value.args[0] == 1117
        values = ", ".join(str(at) if at % 2 else f"'{at}'" for at in range(1, 4096))
        path = tmp_path / "wide.tsv"
        path.write_text("".join("\t".join([str(row), *map(str, range(1, 4096))]) + "\n"
                                for row in range(20, 40)))
        connection = server.connect(local_infile=True)
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO d.t VALUES " + ", ".join(f"({row}, {values})" for row in range(20)))
            assert cursor.execute(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE d.t") == 20
        for statement in ("SELECT 1", "OPTIMIZE TABLE d.t", "ALTER TABLE d.t MODIFY c2 INT"):
            server.run(statement)
            assert server.run("SELECT COUNT(*), SUM(c4095), MAX(c4094) FROM d.t") == (
                (40, 40 * 4095, "4094"),)
            row = server.run("SELECT * FROM d.t WHERE id = 25")[0]
            assert row == (25, *(at if at % 2 or at == 2 and "MODIFY" in statement else str(at)
                                 for at in range(1, 4096)))
        server.stop()

    def test_large_rows(self, linked_maker, tmp_path):
        server = linked_maker(name="pelorus-large")
        size = 16 << 20
        server.run("SET GLOBAL local_infile = ON", "CREATE DATABASE d",
                   "CREATE TABLE d.t (id INT PRIMARY KEY, b LONGTEXT, c LONGBLOB)")
        connection = server.connect(local_infile=True, max_allowed_packet=1 << 30)
        path = tmp_path / "large.tsv"
        path.write_bytes(b"".join(b"%d\t%s\t\\N\n" % (row, bytes([97 + row]) * size)
                                  for row in range(10, 13)))
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO d.t VALUES (1, %s, NULL)", ("x" * size,))
            cursor.execute("INSERT INTO d.t VALUES (2, NULL, %s)", (b"\xff" * (size // 2),))
            assert cursor.execute(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE d.t") == 3
            for maintained in (False, True):
                if maintained:
                    cursor.execute("OPTIMIZE TABLE d.t")
                # A sort would hold the rows in memory.
                cursor.execute("SELECT id, LENGTH(b), LENGTH(c), LEFT(b, 2) FROM d.t")
                assert tuple(sorted(cursor.fetchall())) == ((1, size, None, "xx"), (2, None, size // 2, None), *(
                    (row, size, None, chr(97 + row) * 2) for row in range(10, 13)))
                cursor.execute("SELECT * FROM d.t WHERE id IN (1, 2)")
                found = {row[0]: row[1:] for row in cursor.fetchall()}
                assert found == {1: ("x" * size, None), 2: (None, b"\xff" * (size // 2))}
        with pytest.raises(pymysql.MySQLError) as error, connection.cursor() as cursor:
            cursor.execute("INSERT INTO d.t VALUES (3, %s, NULL)", ("x" * (65 << 20),))
        assert error.value.args[0] in (1153, 2006, 2013)
        assert server.run("SELECT COUNT(*) FROM d.t") == ((5,),)
        server.stop()


def _partitions(server, statement: str) -> tuple[int, int]:
    """How many partitions of how many a query reads, by EXPLAIN."""
    (how,) = [row[2] for row in server.run(f"EXPLAIN {statement}") if row[2].startswith("scan: ")]
    left, all_ = how.removeprefix("scan: ").removesuffix(" partitions").split(" of ")
    return int(left), int(all_)


def test_rows_that_are_kept_are_planned_once(native):
    native.run("DROP DATABASE IF EXISTS shared", "CREATE DATABASE shared",
               "CREATE TABLE shared.t (id INT PRIMARY KEY)", "INSERT INTO shared.t VALUES (1), (2), (3)")
    for limit, expected, count in (("", 3, 3), (" LIMIT 2", 1, 2)):
        query = (f"WITH c AS (SELECT id, id * 2 AS n FROM shared.t{limit}) SELECT COUNT(*) FROM c a "
                 "JOIN c b USING (id) JOIN c d ON d.n = a.n AND d.n = b.n")
        scans = [row for row in native.run(f"EXPLAIN {query}") if row[2].startswith("scan: ")]
        assert len(scans) == expected, query
        assert native.run(query) == ((count,),)


@pytest.mark.parametrize(("query", "is_kept"), [
    ("SELECT g, SUM(d) AS v FROM shared.t GROUP BY g", True),
    ("SELECT id AS g, AVG(d) OVER (ORDER BY id) AS v FROM shared.t", True),
    ("SELECT g, MAX(d) AS v, MIN(d) AS w FROM shared.t GROUP BY g", False),
    ("SELECT d AS g, COUNT(*) AS v FROM shared.t GROUP BY d", False),
    ("SELECT id AS g, LAG(d) OVER (ORDER BY id) AS v FROM shared.t", False),
    ("SELECT id AS g, FIRST_VALUE(d) OVER (ORDER BY id) AS v FROM shared.t", False)])
def test_doubles_that_are_not_added_are_not_kept(native, query, is_kept):
    native.run("DROP DATABASE IF EXISTS shared", "CREATE DATABASE shared",
               "CREATE TABLE shared.t (id INT PRIMARY KEY, g INT, d DOUBLE)",
               "INSERT INTO shared.t VALUES (1, 1, 0.5), (2, 1, 1.5), (3, 2, 2.5)")
    statement = f"WITH c AS ({query}) SELECT COUNT(a.v), COUNT(b.v) FROM c a JOIN c b USING (g)"
    steps = [row[2] for row in native.run(f"EXPLAIN {statement}")]
    assert any("CteScanExec" in step for step in steps) == is_kept, steps


class TestTextKeys:
    """Conditions on texts of the primary key leave out partitions, chunks and vectors."""

    def _make(self, server, ty: str, partitioning: str) -> None:
        server.run("DROP DATABASE IF EXISTS texts", "CREATE DATABASE texts",
                   f"CREATE TABLE texts.m (t DATETIME, medallion {ty}, n INT, "
                   f"PRIMARY KEY (medallion, t)) PARTITION BY {partitioning}",
                   "INSERT INTO texts.m VALUES ('2024-01-01', 'AB1', 1), ('2024-01-02', 'AB2', 2), "
                   "('2024-01-03', 'CD3', 3), ('2024-01-04', 'EF4', 4)")

    @pytest.mark.parametrize("ty", [
        "VARCHAR(32)", "CHAR(32)", "VARCHAR(32) CHARACTER SET ascii", "VARCHAR(32) CHARACTER SET latin1",
        "VARCHAR(32) COLLATE utf8mb4_bin", "VARCHAR(32) COLLATE utf8mb4_0900_bin",
        "VARCHAR(32) COLLATE utf8mb4_general_ci", "VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin"])
    @pytest.mark.parametrize(("partitioning", "all_", "one", "below"), [
        ("(LEFT(medallion, 2))", 3, 1, 2), ("(medallion)", 4, 1, 2),
        ("(LEFT(medallion, 1), t)", 4, 2, 3)])
    def test_partitions_by_value(self, native, ty, partitioning, all_, one, below):
        self._make(native, ty, partitioning)

        def left(where: str) -> tuple[int, int]:
            return _partitions(native, f"SELECT n FROM texts.m WHERE {where}")
        assert left("n > 0") == (all_, all_)
        assert left("medallion = 'AB1'") == (one, all_)
        assert left("'CD3' = medallion") == (1, all_)
        assert left("medallion IN ('CD3', 'EF4')") == (2, all_)
        assert left("medallion = 'CD3' OR medallion = 'EF4' OR medallion = 'XX'") == (2, all_)
        assert left("medallion = 'XX1'") == (0, all_)
        assert left("medallion = 'CD3' AND t = '2024-01-03'") == (1, all_)
        is_bin = "_bin" in ty
        assert left("medallion = 'cd3'") == (0 if is_bin else 1, all_)
        assert native.run("SELECT n FROM texts.m WHERE medallion = 'cd3'") == (() if is_bin else ((3,),))
        if "COLLATE utf8mb4_bin" not in ty:
            assert left("medallion >= 'EF'") == (1, all_)
            assert left("medallion < 'CD'") == (below, all_)
        for where in ("medallion LIKE 'AB%'", "medallion <> 'AB1'", "UPPER(medallion) = 'AB1'",
                      "medallion = 'AB1' OR n = 4"):
            assert left(where) == (all_, all_), where
        assert native.run("SELECT n FROM texts.m WHERE medallion = 'AB2'") == ((2,),)

    @pytest.mark.parametrize("partitioning", [
        "KEY (medallion) PARTITIONS 16", "LINEAR KEY (medallion) PARTITIONS 16", "(HASH(medallion, 16))",
        "LIST COLUMNS (medallion) (PARTITION a VALUES IN ('AB1', 'AB2'), PARTITION c VALUES IN ('CD3'), "
        "PARTITION e VALUES IN ('EF4'))",
        "RANGE COLUMNS (medallion) (PARTITION a VALUES LESS THAN ('C'), PARTITION c VALUES LESS THAN "
        "('E'), PARTITION e VALUES LESS THAN (MAXVALUE))"])
    def test_other_partitions(self, native, partitioning):
        self._make(native, "VARCHAR(32)", partitioning)
        _, all_ = _partitions(native, "SELECT n FROM texts.m")
        assert all_ > 1
        for medallion, number in (("AB1", 1), ("ab2", 2), ("Cd3", 3), ("EF4", 4)):
            where = f"SELECT n FROM texts.m WHERE medallion = '{medallion}'"
            assert _partitions(native, where) == (1, all_)
            assert native.run(where) == ((number,),)
        if partitioning.startswith("RANGE"):
            assert _partitions(native, "SELECT n FROM texts.m WHERE medallion >= 'e'") == (1, all_)
            assert _partitions(native, "SELECT n FROM texts.m WHERE medallion BETWEEN 'a' AND 'b'") == (
                1, all_)

    def test_equal_texts_that_begin_otherwise(self, native):
        self._make(native, "VARCHAR(32)", "(LEFT(medallion, 1))")
        native.run("INSERT INTO texts.m VALUES ('2024-02-01', 'Æ', 5), ('2024-02-01', 'ß', 6)")
        for medallion, number in (("ae", 5), ("AE", 5), ("æ", 5), ("SS", 6), ("ß", 6)):
            where = f"SELECT n FROM texts.m WHERE medallion = '{medallion}'"
            assert _partitions(native, where)[0] == 1
            assert native.run(where) == ((number,),)

    @pytest.mark.parametrize(("collation", "key"), [
        ("utf8mb4_0900_ai_ci", "m, n"), ("utf8mb4_0900_ai_ci", "g, m"), ("utf8mb4_bin", "m"),
        ("utf8mb4_0900_bin", "m, n"), ("utf8mb4_general_ci", "m")])
    def test_many_rows(self, linked_maker, collation, key):
        """Rows of many vectors, some chunks and of memory are found, before and after a restart."""
        server = linked_maker(name="pelorus-text-keys")
        server.run("DROP DATABASE IF EXISTS d", "CREATE DATABASE d",
                   f"CREATE TABLE d.t (m VARCHAR(20) COLLATE {collation}, n INT, g INT, v INT, "
                   f"PRIMARY KEY ({key}))")
        texts = [f"{number * 7919 % 40000:010}" for number in range(40000)]
        for begin in range(0, 40000, 10000):
            values = ", ".join(f"('{texts[at]}', {at}, {at % 3}, {at})" for at in range(begin, begin + 10000))
            server.run(f"INSERT INTO d.t VALUES {values}")
            if begin == 10000:
                server.run("OPTIMIZE TABLE d.t")

        def check() -> None:
            run = server.run
            for at in (0, 1, 777, 19999, 20000, 39999):
                assert run(f"SELECT n, v FROM d.t WHERE m = '{texts[at]}'") == ((at, at),)
                assert run(f"SELECT v FROM d.t WHERE m = '{texts[at]}' AND n = {at} AND g = {at % 3}") == ((at,),)
                assert run(f"SELECT v FROM d.t WHERE m = '{texts[at]}' AND n = {at + 1}") == ()
            three = ", ".join(f"'{texts[at]}'" for at in (5, 30000, 17))
            assert run(f"SELECT n FROM d.t WHERE m IN ({three}) ORDER BY n") == ((5,), (17,), (30000,))
            assert run("SELECT COUNT(*) FROM d.t WHERE m >= '0000001000' AND m < '0000003000'") == ((2000,),)
            assert run("SELECT COUNT(*) FROM d.t WHERE m BETWEEN '0000039990' AND 'x'") == ((10,),)
            assert run("SELECT COUNT(*) FROM d.t WHERE m < '0000000010' AND g = 1")[0][0] == sum(
                text < "0000000010" and at % 3 == 1 for at, text in enumerate(texts))
            assert run("SELECT n FROM d.t WHERE m = 'none'") == ()

        check()
        server.run("OPTIMIZE TABLE d.t")
        check()
        check()
        server.process.kill()
        server.start()
        check()
        connection = server.connect()
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            assert cursor.execute(f"UPDATE d.t SET v = -1 WHERE m = '{texts[777]}'") == 1
            assert cursor.execute(f"DELETE FROM d.t WHERE m = '{texts[5]}'") == 1
            cursor.execute("INSERT INTO d.t VALUES ('own', 50000, 0, 1)")
            cursor.execute(f"SELECT v FROM d.t WHERE m IN ('{texts[777]}', '{texts[5]}', 'own') ORDER BY v")
            assert cursor.fetchall() == ((-1,), (1,))
            cursor.execute("ROLLBACK")
        check()
        server.stop()


def _statistics(server, database: str) -> dict:
    """What `pelorus.column_statistics` shows: rows, share of NULLs, distinct values, the most
    common values, by table and column."""
    found = server.run(
        "SELECT table_name, column_name, table_rows, null_share, distinct_values, "
        f"most_common_values FROM pelorus.column_statistics WHERE table_schema = '{database}'")
    return {(table, column): (count, nulls, distinct, json.loads(common))
            for table, column, count, nulls, distinct, common in found}


def _histograms(server, database: str) -> dict:
    """The histograms of the information schema by column."""
    found = server.run("SELECT COLUMN_NAME, HISTOGRAM FROM information_schema.COLUMN_STATISTICS "
                       f"WHERE SCHEMA_NAME = '{database}'")
    return {column: json.loads(histogram) for column, histogram in found}


def _scans(server, statement: str) -> list[str]:
    """The scans of native tables in a plan with their rows, the side that is built first."""
    return [row[4].partition("; ")[0] for row in server.run(f"EXPLAIN {statement}")
            if row[2].strip() == "NativeExec"]


def _tested(server, statement: str) -> set[str]:
    """The columns that the scans of a plan test conditions on."""
    scans = [row[4] for row in server.run(f"EXPLAIN {statement}") if row[2].strip() == "NativeExec"]
    return {name for scan in scans if "tested while scanning: " in scan
            for name in scan.partition("tested while scanning: ")[2].split(", ")}


def test_conditions_that_scans_test(native):
    """Conditions reach the scans however columns are named and constants are written; those that would change
    the result do not."""
    run = native.run
    run("CREATE DATABASE scans",
        "CREATE TABLE scans.o (o_id INT PRIMARY KEY, o_day DATE, o_note VARCHAR(9), o_sum DECIMAL(9,2), "
        "o_at TIMESTAMP NULL)",
        "CREATE TABLE scans.i (i_order INT, i_line INT, i_mode VARCHAR(9), PRIMARY KEY (i_order, i_line))",
        "INSERT INTO scans.o VALUES (1, '1994-05-05', 'a', 1, NOW()), (2, NULL, 'b', 2, NULL)",
        "INSERT INTO scans.i VALUES (1, 1, 'MAIL'), (1, 2, NULL)")
    join = "SELECT COUNT(*) FROM scans.o JOIN scans.i ON o_id = i_order"
    left = "SELECT COUNT(*) FROM scans.o LEFT JOIN scans.i ON o_id = i_order"
    for query, tested in (
            (f"{join} WHERE o_day >= '1994-01-01' AND i_mode = 'mail'", {"o_day", "i_mode"}),
            (f"{join} AND o_sum BETWEEN 2 - 1 AND 2 + 1", {"o_sum"}),
            (f"{join} WHERE o_day < DATE '1994-01-01' + INTERVAL 1 YEAR", {"o_day"}),
            (f"{join} WHERE o_at < NOW() - INTERVAL 7 DAY", {"o_at"}),
            (f"{join} WHERE o_note = 'a' OR o_note = 'b'", {"o_note"}),
            (f"{join} WHERE o_note LIKE 'a%' AND o_id + 1 = 2", {"o_note"}),
            (f"{left} AND i_mode = 'MAIL' WHERE o_note = 'a'", {"i_mode", "o_note"}),
            (f"{left} WHERE i_mode = 'MAIL'", {"i_mode"}),
            (f"{left} WHERE i_mode IS NULL", set()),
            (f"{left} AND o_note = 'a'", set()),
            ("SELECT * FROM (SELECT o_id AS k, o_sum AS s FROM scans.o) AS d WHERE k = 1 + 1 AND s > 1",
             {"o_id", "o_sum"}),
            ("SELECT k FROM (SELECT o_id AS k, COUNT(*) AS n FROM scans.o GROUP BY o_id) AS d "
             "WHERE k < 2 AND n > 0", {"o_id"}),
            ("SELECT o_id FROM scans.o WHERE o_day < '1994-01-01' + INTERVAL 1 YEAR", {"o_day"})):
        assert _tested(native, query) == tested, query


class TestStatistics:
    """`ANALYZE TABLE` of native tables."""

    ROWS = 3000

    def _make(self, server, database: str) -> None:
        # `kind` is 'a' or 'A' for half of the rows, `few` is NULL in a tenth, `many` is even.
        values = ", ".join(
            f"({at}, {'NULL' if at % 10 == 0 else at % 7}, {at * 2}, "
            f"'{('a', 'b', 'A', 'c')[at % 4]}', '2024-01-{at % 28 + 1:02d}', {at % 5}.50)"
            for at in range(self.ROWS))
        server.run(
            f"CREATE DATABASE {database}",
            f"CREATE TABLE {database}.t (id INT, few INT, many BIGINT, kind VARCHAR(9), d DATE, "
            "m DECIMAL(5,2), PRIMARY KEY (id), KEY two (few, d))",
            f"INSERT INTO {database}.t VALUES {values}")

    def test_what_is_found(self, native):
        self._make(native, "found")
        assert _statistics(native, "found") == {}
        assert native.run("ANALYZE TABLE found.t") == (("found.t", "analyze", "status", "OK"),)
        found = _statistics(native, "found")
        assert {column: it[2] for (_, column), it in found.items()} == {
            "id": 3000, "few": 7, "many": 3000, "kind": 3, "d": 28, "m": 5}
        assert all(it[0] == self.ROWS for it in found.values())
        assert found["t", "few"][1] == pytest.approx(0.1)
        assert found["t", "kind"][3][0][0] in ("a", "A") and found["t", "kind"][3][0][1] == 0.5
        assert sorted(found["t", "m"][3]) == [[at + 0.5, 0.2] for at in range(5)]
        assert found["t", "many"][3] == []

    def test_histograms_as_mysql_shows_them(self, native):
        self._make(native, "hist")
        run = native.run
        made = "Histogram statistics created for column '{}'."
        assert run("ANALYZE TABLE hist.t UPDATE HISTOGRAM ON many, Few WITH 10 BUCKETS") == tuple(
            ("hist.t", "histogram", "status", made.format(name)) for name in ("few", "many"))
        found = _histograms(native, "hist")
        assert set(found) == {"few", "many"}
        few, many = found["few"], found["many"]
        assert list(few) == ["buckets", "data-type", "null-values", "collation-id", "last-updated",
                             "sampling-rate", "histogram-type", "number-of-buckets-specified"]
        assert (few["histogram-type"], few["data-type"], few["sampling-rate"]) == ("singleton", "int", 1)
        assert few["null-values"] == pytest.approx(0.1) and len(few["buckets"]) == 7
        assert few["buckets"][-1][1] == pytest.approx(0.9)
        assert (many["histogram-type"], many["number-of-buckets-specified"]) == ("equi-height", 10)
        assert many["buckets"][0] == [0, 598, pytest.approx(0.1), 300]
        assert many["buckets"][-1] == [5400, 5998, pytest.approx(1), 300]
        run("ANALYZE TABLE hist.t UPDATE HISTOGRAM ON kind, d, m")
        found = _histograms(native, "hist")
        assert found["kind"]["buckets"][1] == ["base64:type254:Yg==", 0.75]
        assert found["d"]["buckets"][0][0] == "2024-01-01" and found["d"]["data-type"] == "date"
        assert found["m"]["buckets"][0] == [0.5, 0.2]
        assert [row[2:] for row in run("ANALYZE TABLE hist.t UPDATE HISTOGRAM ON id, nothing, few")] == [
            ("status", made.format("few")),
            ("Error", "The column 'id' is covered by a single-part unique index."),
            ("Error", "The column 'nothing' does not exist.")]
        assert [row[2:] for row in run("ANALYZE TABLE hist.t DROP HISTOGRAM ON few, id")] == [
            ("status", "Histogram statistics removed for column 'few'."),
            ("Error", "No histogram statistics found for column 'id'.")]
        assert "few" not in _histograms(native, "hist")
        for statement, number in (("UPDATE HISTOGRAM ON few WITH 0 BUCKETS", 1690),
                                  ("UPDATE HISTOGRAM ON few WITH 1025 BUCKETS", 1690),
                                  ("UPDATE HISTOGRAM ON few, few", 1060),
                                  ("UPDATE HISTOGRAM ON few USING DATA '{}'", 1235)):
            with pytest.raises(pymysql.MySQLError) as error:
                run(f"ANALYZE TABLE hist.t {statement}")
            assert error.value.args[0] == number, statement

    def test_cardinality(self, native):
        self._make(native, "card")
        expected = "SELECT INDEX_NAME, SEQ_IN_INDEX, CARDINALITY FROM information_schema.STATISTICS " \
                   "WHERE TABLE_SCHEMA = 'card' ORDER BY 1, 2"
        assert native.run(expected) == (("PRIMARY", 1, 3000), ("two", 1, None), ("two", 2, None))
        native.run("ANALYZE TABLE card.t")
        # Seven values and NULL; every day of the month with each at most.
        assert native.run(expected) == (("PRIMARY", 1, 3000), ("two", 1, 8), ("two", 2, 224))
        assert [(row[2], row[3], row[6]) for row in native.run("SHOW INDEX FROM card.t")] == [
            ("PRIMARY", 1, 3000), ("two", 1, 8), ("two", 2, 224)]

    def test_what_changes_and_what_stays(self, linked_maker):
        server = linked_maker(name="pelorus-statistics")
        self._make(server, "d")
        server.run("ANALYZE TABLE d.t")
        before, histograms = _statistics(server, "d"), _histograms(server, "d")
        server.stop()
        server.start()
        assert (_statistics(server, "d"), _histograms(server, "d")) == (before, histograms)
        server.process.kill()
        server.start()
        assert (_statistics(server, "d"), _histograms(server, "d")) == (before, histograms)
        server.run("ALTER TABLE d.t RENAME COLUMN few TO little", "ALTER TABLE d.t DROP COLUMN m",
                   "ALTER TABLE d.t ADD COLUMN m DECIMAL(5,2) FIRST", "RENAME TABLE d.t TO d.u",
                   "ALTER TABLE d.u MODIFY kind VARCHAR(20)")
        after = _statistics(server, "d")
        assert set(after) == {("u", name) for name in ("id", "little", "many", "kind", "d")}
        assert after["u", "little"] == before["t", "few"]
        assert after["u", "kind"] == before["t", "kind"]
        server.stop()
        server.start()
        assert _statistics(server, "d") == after
        server.run("TRUNCATE TABLE d.u")
        assert _statistics(server, "d") == {}
        server.run("INSERT INTO d.u (id, many) VALUES (1, 1)", "ANALYZE TABLE d.u", "DROP TABLE d.u",
                   "CREATE TABLE d.u (id INT PRIMARY KEY)")
        assert _statistics(server, "d") == {} and _histograms(server, "d") == {}
        server.stop()

    def test_rows_come_in_the_order_of_the_key(self, native):
        """Chunks are sorted; where none overlaps another, ORDER BY of the key sorts nothing."""
        run = native.run
        run("CREATE DATABASE sorted",
            "CREATE TABLE sorted.t (id INT PRIMARY KEY, n INT) PARTITION BY RANGE (id) "
            "(PARTITION a VALUES LESS THAN (1000), PARTITION b VALUES LESS THAN (2000), "
            "PARTITION c VALUES LESS THAN MAXVALUE)",
            "INSERT INTO sorted.t VALUES " + ", ".join(
                f"({at * 7919 % 3000}, {at % 5})" for at in range(3000)))
        query = "SELECT id FROM sorted.t ORDER BY id"
        assert _scans(native, query) == ["3000 rows"], "what is in memory is not sorted"
        run("OPTIMIZE TABLE sorted.t")
        assert _scans(native, query) == ["3000 rows, in order"]
        assert _scans(native, query + ", n") == ["3000 rows, in order"]
        assert run(query) == tuple((at,) for at in range(3000))
        assert run(query + " LIMIT 3 OFFSET 1500") == ((1500,), (1501,), (1502,))
        assert _scans(native, query + " LIMIT 3") == ["3000 rows, in order, at most 3 each"]
        assert run(query + " LIMIT 3") == ((0,), (1,), (2,))
        assert len(run("SELECT id FROM sorted.t LIMIT 2500")) == 2500
        assert run("SELECT COUNT(*) FROM (SELECT id FROM sorted.t LIMIT 2500) AS x") == ((2500,),)
        assert run("SELECT COUNT(*) FROM (SELECT id FROM sorted.t ORDER BY id LIMIT 1700) AS x "
                   "JOIN sorted.t ON t.id = x.id WHERE t.n < 5") == ((1700,),)
        for other in ("SELECT id FROM sorted.t ORDER BY n, id", query + " DESC"):
            assert _scans(native, other) == ["3000 rows"]
            assert _scans(native, other + " LIMIT 2") == ["3000 rows, dynamic filter"]
        assert run(query + " DESC LIMIT 2") == ((2999,), (2998,))
        run("DELETE FROM sorted.t WHERE id % 2 = 1", "INSERT INTO sorted.t VALUES (1, 0)")
        assert _scans(native, query) == ["1501 rows"]
        assert run(query + " LIMIT 3") == ((0,), (1,), (2,))

    def test_ends_of_tables_are_read_where_they_are(self, native):
        """Of chunks of which every row counts, only one that holds the end is read."""
        run = native.run
        run("CREATE DATABASE ends",
            "CREATE TABLE ends.t (id INT PRIMARY KEY, n INT, nothing INT) PARTITION BY RANGE (id) "
            "(PARTITION a VALUES LESS THAN (1000), PARTITION b VALUES LESS THAN (2000), "
            "PARTITION c VALUES LESS THAN MAXVALUE)",
            "INSERT INTO ends.t VALUES " + ", ".join(
                f"({at}, {at * 7919 % 3000}, NULL)" for at in range(3000)),
            "OPTIMIZE TABLE ends.t")
        ends = "SELECT MIN(id), MAX(id), MIN(n), MAX(n), MIN(nothing) FROM ends.t"
        assert run(ends) == ((0, 2999, 0, 2999, None),)
        assert _scans(native, "SELECT MAX(id) FROM ends.t") == ["about 1000 rows"]
        assert _scans(native, "SELECT MIN(id) FROM ends.t") == ["about 1000 rows"]
        # The ends of the first and the last partition are no longer those of rows.
        run("DELETE FROM ends.t WHERE id IN (0, 2999)")
        assert run("SELECT MIN(id), MAX(id) FROM ends.t") == ((1, 2998),)
        assert _scans(native, "SELECT MAX(id) FROM ends.t") == ["about 2000 rows"]
        # Rows in memory count, too, also those of a transaction, and not those that it removed.
        run("INSERT INTO ends.t VALUES (4000, -1, NULL)")
        assert run(ends) == ((1, 4000, -1, 2999, None),)
        with native.connect() as connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO ends.t VALUES (5000, 7000, NULL)")
            cursor.execute("DELETE FROM ends.t WHERE id = 1")
            cursor.execute(ends)
            assert cursor.fetchall() == ((2, 5000, -1, 7000, None),)
            cursor.execute("ROLLBACK")
        assert run(ends) == ((1, 4000, -1, 2999, None),)

    def test_plans_follow_them(self, native):
        """Two tables of one size: the one that a condition leaves little of is built first."""
        run = native.run
        run("CREATE DATABASE plans")
        for name in ("one", "two"):
            values = ", ".join(f"({at}, {at}, {at % 2})" for at in range(2000))
            run(f"CREATE TABLE plans.{name} (id INT PRIMARY KEY, many INT, few INT)",
                f"INSERT INTO plans.{name} VALUES {values}")

        def query(rare: str, common: str) -> str:
            return (f"SELECT COUNT(*) FROM plans.one, plans.two WHERE one.id = two.id "
                    f"AND {rare}.many < 20 AND {common}.few = 1")
        assert _scans(native, query("one", "two")) == _scans(native, query("two", "one")) \
            == ["about 400 rows", "about 400 rows, dynamic filter"]
        run("ANALYZE TABLE plans.one, plans.two")
        for rare, common in (("one", "two"), ("two", "one")):
            assert _scans(native, query(rare, common)) == ["about 20 rows", "about 1000 rows, dynamic filter"]
            assert run(query(rare, common)) == ((10,),)

        def about(condition: str) -> int:
            (scan,) = _scans(native, f"SELECT SUM(many) FROM plans.one WHERE {condition}")
            return int(scan.split()[1])
        assert about("many >= 500 AND many < 600") == pytest.approx(100, rel=0.1)
        assert about("many BETWEEN 500 AND 599 AND few = 0") == pytest.approx(50, rel=0.1)
        assert about("few IN (0, 1)") == 2000
        assert about("few IS NULL") == about("few = 7") == 1
        assert about("few <> 1") == 1000


def _answer(connection, statement: str) -> list[tuple]:
    answer = rows.ask(connection, statement)
    assert answer.error is None, (statement, answer.error)
    return answer.rows


def test_more_than_memory(linked_maker):
    """Sorts, windows, groups, joins and DISTINCT over ten times the memory that a query may hold
    give every row, in order; nothing of what they spill is left."""
    server = linked_maker(name="pelorus-spill")
    connection = _open(server, "spill")
    count, prime = 80_000, 1_000_003
    _answer(connection, "CREATE TABLE n (i INT PRIMARY KEY)")
    _answer(connection, "INSERT INTO n VALUES " + ",".join(f"({i})" for i in range(1000)))
    _answer(connection, "CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(4000), k INT)")
    for first in range(0, count // 1000, 40):
        _answer(connection,
                "INSERT INTO big SELECT a.i * 1000 + b.i, CONCAT(LPAD((a.i * 1000 + b.i) * 7919 % "
                f"{prime}, 7, '0'), REPEAT('x', 800)), a.i FROM n a, n b "
                f"WHERE a.i >= {first} AND a.i < {first + 40}")
    _answer(connection, "SET pelorus_query_memory = 16777216")
    in_order = sorted(range(count), key=lambda id: id * 7919 % prime)
    total = str(sum(range(count))).encode()
    number = str(count).encode()
    content = _answer(connection, "SELECT SUM(CRC32(v)), SUM(id) FROM big")
    for stored in (False, True):
        if stored:
            _answer(connection, "OPTIMIZE TABLE big")
        assert [int(id) for id, in _answer(connection, "SELECT id FROM big ORDER BY v")] == in_order
        assert [int(id) for id, in _answer(
            connection, "SELECT id FROM big ORDER BY v DESC LIMIT 3 OFFSET 50000")
        ] == in_order[::-1][50_000:50_003]
        window = "SELECT id, v, k, ROW_NUMBER() OVER (ORDER BY v) AS r FROM big"
        assert _answer(connection, f"SELECT SUM(CRC32(v)), SUM(id) FROM ({window}) x") == content
        assert _answer(connection, f"SELECT id FROM ({window}) x WHERE r = 5") == [
            (str(in_order[4]).encode(),)]
    assert _answer(connection, "SELECT COUNT(*), SUM(c), SUM(m) FROM (SELECT v, COUNT(*) AS c, "
                               "SUM(id) AS m FROM big GROUP BY v) g") == [(number, number, total)]
    assert _answer(connection, "SELECT COUNT(*), SUM(a.id), SUM(b.id) FROM big a JOIN big b "
                               "ON a.v = b.v") == [(number, total, total)]
    assert _answer(connection, "SELECT SUM(CRC32(v)) FROM (SELECT DISTINCT v FROM big) d") == [
        content[0][:1]]
    # Each of three columns has few values, and together they make many groups.
    _answer(connection, "CREATE TABLE many (id INT PRIMARY KEY, a CHAR(4), b CHAR(4), c CHAR(4)) AS "
                        "SELECT x.i * 1000 + y.i AS id, CONCAT('a', y.i % 50) AS a, CONCAT('b', y.i DIV 20) "
                        "AS b, CONCAT('c', x.i) AS c FROM n x, n y WHERE x.i < 60")
    _answer(connection, "OPTIMIZE TABLE many")
    groups = "SELECT a, b, c, COUNT(*) AS n, SUM(id) AS s FROM many GROUP BY a, b, c"
    found = _answer(connection, f"SELECT COUNT(*), SUM(n), SUM(s) FROM ({groups}) g")
    assert [int(value) for value in found[0]] == [60_000, 60_000, sum(range(60_000))]
    # What cannot be done in so little memory says so in our words.
    answer = rows.ask(connection, "SELECT COUNT(DISTINCT v) FROM big")
    assert answer.rows == [(number,)] or answer.error[0] == 1041, answer.error
    assert not answer.error or "pelorus_query_memory" in answer.error[1], answer.error
    assert not answer.error or "atafusion" not in answer.error[1], answer.error
    folder = server.folder / "data" / "tmp"

    def is_empty() -> bool:
        return not any(path.is_file() for path in folder.rglob("*"))
    processes.wait_for("what was spilled to be removed", is_empty, process=server.process)
    (folder / "datafusion-left").mkdir()
    (folder / "datafusion-left" / "file").write_text("of a process that was killed")
    connection.close()
    server.kill()
    server.start()
    assert len(list(folder.iterdir())) == 1 and is_empty()


def test_few_wide_rows(native):
    """Rows of many MiB are sorted, and the first of them found."""
    connection = _open(native, "wide_rows")
    _answer(connection, "CREATE TABLE w (id INT PRIMARY KEY, b LONGBLOB)")
    for id in range(12):
        _answer(connection, f"INSERT INTO w VALUES ({id}, REPEAT('{chr(97 + id * 7 % 12)}', 16777216))")
    in_order = sorted(range(12), key=lambda id: id * 7 % 12)
    found = _answer(connection, "SELECT id, LENGTH(b) FROM w ORDER BY b LIMIT 1")
    assert found == [(str(in_order[0]).encode(), b"16777216")]
    # All of them are held while they are sorted.
    _answer(connection, "SET pelorus_query_memory = 1073741824")
    found = _answer(connection, "SELECT id FROM w ORDER BY b DESC")
    assert [int(id) for id, in found] == in_order[::-1]


def test_full_text_search_is_refused_by_name(linked_maker):
    server = linked_maker(name="pelorus-full-text")
    server.run("CREATE DATABASE words", "CREATE TABLE words.w (id INT PRIMARY KEY, s VARCHAR(20))")
    connection = rows.connect(server, database="words")
    for statement in ("SELECT id FROM w WHERE MATCH(s) AGAINST('a')", "SELECT MATCH(w.s, s) AGAINST('a') FROM w"):
        number, text = rows.ask(connection, statement).error
        assert number == 1235 and "MATCH" in text, (statement, number, text)
    connection.close()
