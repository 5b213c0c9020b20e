"""Native tables against a real MySQL: every statement of `tests/native` gives the same on both:
rows, columns, counts of affected rows, warnings, error numbers. And what only Pelorus has:
durability, restarts, history."""

from __future__ import annotations

import threading

import pymysql
import pytest
from pelorus_tools import machine, rows, sqlfile

NATIVE = machine.ROOT / "tests" / "native"


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus without links."""
    return linked_maker(name="pelorus-native")


def _open(server, database: str):
    connection = rows.connect(server, read_timeout=120)
    for statement in (
            "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci", "SET time_zone = '+00:00'",
            "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
            "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
            f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}", f"USE {database}"):
        answer = rows.ask(connection, statement)
        assert answer.error is None, (server, statement, answer.error)
    return connection


# Warnings about syntax that MySQL wants to be rid of; Pelorus says nothing of it.
DEPRECATIONS = {b"1287", b"1681"}


def _warnings(connection, failed: bool) -> list[tuple]:
    """Level and number of each warning; of a statement that failed, only the error itself."""
    found = [row[:2] for row in rows.ask(connection, "SHOW WARNINGS").rows]
    found = [row for row in found if row[1] not in DEPRECATIONS]
    return found[-1:] if failed else found


def _found(statement, expected, given) -> list[str]:
    """What differs between two answers."""
    found = rows.differences(expected, given, statement.ordered)
    if statement.values_only:
        found = [text for text in found if not text.startswith("column types")]
    if not found and not expected.error and not expected.columns \
            and expected.affected != given.affected:
        found.append(f"{expected.affected} rows affected, got {given.affected}")
    return found


FILES = [(path, False) for path in sorted(NATIVE.glob("*.sql"))]
# Read again from chunks: what was just written is in memory otherwise.
FILES += [(path, True) for path, _ in FILES if path.stem in ("decimals", "groups", "queries")]


def _store_rows(connection) -> None:
    """Turns the rows of all tables into chunks."""
    for (table,) in rows.ask(connection, "SHOW TABLES").rows:
        answer = rows.ask(connection, f"OPTIMIZE TABLE `{table.decode()}`")
        assert answer.rows[-1][-1] == b"OK", answer


@pytest.mark.parametrize(("path", "stored"), FILES, ids=lambda it: getattr(it, "stem", str(it)))
def test_same_as_mysql(path, stored, mysql, native):
    parsed = sqlfile.parse(path)
    database = f"native_{path.stem}"
    oracle, ours = _open(mysql, database), _open(native, database)
    failures, open_ = [], False
    for statement in parsed.statements:
        expected = rows.ask(oracle, statement.text)
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
                one, two = _warnings(oracle, failed), _warnings(ours, failed)
                if one != two:
                    found.append(f"warnings: expected {one}, got {two}")
        if found:
            shown = " ".join(statement.text.split())[:300]
            failures.append(f"{path.name}:{statement.line}: {shown}\n    " + "\n    ".join(found))
    oracle.close()
    ours.close()
    assert not failures, f"{len(failures)} of {len(parsed.statements)} differ\n" + "\n".join(failures)


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
            while len(acknowledged) < 20:
                pass
            server.process.kill()
            stop.set()
            thread.join()
            server.start()
            ((count, most),) = server.run("SELECT COUNT(*), MAX(a) FROM d.t")
            assert count >= acknowledged[-1]
            assert count == most + 1, "a batch is there in part"
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
