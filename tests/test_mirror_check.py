"""`CHECK MIRROR`, XA transactions, mirrors of the configuration, and what is refused."""

from __future__ import annotations

import threading
import time

import pymysql
import pytest
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import wait_for

MANY = ("INSERT INTO words SELECT CONCAT('k', a.n + 100 * b.n), a.n FROM numbers a, numbers b "
        "WHERE a.n < 100 AND b.n < 50")
TABLES = (
    "CREATE TABLE numbers (n INT PRIMARY KEY, f FLOAT, d DOUBLE, t TIMESTAMP NULL)",
    "CREATE TABLE words (word VARCHAR(20) PRIMARY KEY, n BIGINT)",
    *(f"INSERT INTO numbers VALUES ({n}, {n} / 7, {n} / 3e10, '2026-01-01 00:00:00')"
      for n in range(100)),
    MANY,
)


def messages(found: tuple) -> dict[str, list[tuple[str, str]]]:
    """What `CHECK MIRROR` says of each table: kinds and texts."""
    said: dict[str, list[tuple[str, str]]] = {}
    for table, _, kind, text in found:
        said.setdefault(table.partition(".")[2], []).append((kind, text))
    return said


def test_differences_are_found_and_mended_while_rows_change(pair):
    """Rows that changed past the binlog are named, rows that change all the time are not."""
    pair.begin("checked", *TABLES)
    pair.through.run("MIRROR DATABASE checked")
    pair.wait_live("checked", "numbers", "words")
    stop = threading.Event()

    def write() -> None:
        with pair.server.connect(database="checked") as connection, connection.cursor() as cursor:
            n = 0
            while not stop.is_set():
                n += 1
                cursor.execute(f"UPDATE words SET n = n + 1 WHERE word = 'k{n % 40}'")
                cursor.execute(f"UPDATE numbers SET f = f + 1 WHERE n = {50 + n % 40}")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for table, said in messages(pair.through.run("CHECK MIRROR DATABASE checked")).items():
            assert said[-1] == ("status", "OK"), (table, said)
        pair.server.run("SET sql_log_bin = 0", "UPDATE checked.numbers SET d = 7 WHERE n IN (3, 4)",
                        "DELETE FROM checked.words WHERE word = 'k77'")
        said = messages(pair.through.run("CHECK MIRROR checked.numbers, checked.words REPAIR"))
    finally:
        stop.set()
        writer.join()
    assert [text for kind, text in said["numbers"] if kind == "warning"] == [
        "the row (3) differs", "the row (4) differs"], said
    assert [text for kind, text in said["words"] if kind == "warning"] == [
        "the copy has the row (k77), which the table has not"], said
    assert said["numbers"][-1][1].startswith("repaired: 0 rows missing, 0 surplus, 2 with other values")
    pair.wait_live("checked", "numbers", "words")
    for table, said in messages(pair.through.run("CHECK MIRROR DATABASE checked")).items():
        assert said[-1] == ("status", "OK"), (table, said)
    pair.same_tables("checked", "numbers", "words")
    assert [row["Loads"] for row in pair.of_database("checked").values()] == [1, 1]


def test_xa_transactions_count_when_they_are_committed(pair):
    """Rows are in the binlog when a transaction is prepared, and seen when it is committed; a
    table that was mirrored in between is read anew."""
    pair.begin("xa", "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
               "CREATE TABLE late (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    pair.through.run("MIRROR TABLE xa.t")
    pair.wait_live("xa", "t")

    def prepare(name: str, *statements: str) -> pymysql.Connection:
        connection = pair.server.connect(database="xa")
        with connection.cursor() as cursor:
            for statement in (f"XA START '{name}'", *statements, f"XA END '{name}'",
                              f"XA PREPARE '{name}'"):
                cursor.execute(statement)
        return connection
    first = prepare("one", "UPDATE t SET b = 10 WHERE a = 1", "INSERT INTO t VALUES (3, 3)",
                    "INSERT INTO late VALUES (1)")
    pair.server.run("INSERT INTO xa.t VALUES (4, 4)")
    pair.same_tables("xa", "t")
    assert pair.through.run("SELECT COUNT(*) FROM xa.t") == ((3,),)
    pair.through.run("MIRROR TABLE xa.late")
    pair.wait_live("xa", "late")
    with first.cursor() as cursor:
        cursor.execute("XA COMMIT 'one'")
    pair.wait_live("xa", "t", "late")
    pair.same_tables("xa", "t", "late")
    second = prepare("two", "DELETE FROM t WHERE a = 2")
    with second.cursor() as cursor:
        cursor.execute("XA ROLLBACK 'two'")
        cursor.execute("XA START 'three'")
        cursor.execute("DELETE FROM t WHERE a = 4")
        cursor.execute("XA END 'three'")
        cursor.execute("XA COMMIT 'three' ONE PHASE")
    pair.same_tables("xa", "t", "late")
    first.close()
    second.close()


def prepare(pair: Mirrored, database: str, name: str, *statements: str) -> pymysql.Connection:
    """A session with an XA transaction that is prepared."""
    connection = pair.server.connect(database=database)
    with connection.cursor() as cursor:
        for statement in (f"XA START '{name}'", *statements, f"XA END '{name}'",
                          f"XA PREPARE '{name}'"):
            cursor.execute(statement)
    return connection


def loads(pair: Mirrored, database: str) -> dict[str, int]:
    """How often each table of a database was read."""
    return {name: row["Loads"] for name, row in pair.of_database(database).items()}


def test_xa_transactions_of_before_a_mirror_went_on(pair):
    """The stream comes by them again; the others have them."""
    pair.begin("xa_again", "CREATE TABLE t (a INT PRIMARY KEY)", "CREATE TABLE u (a INT PRIMARY KEY)")
    pair.through.run("MIRROR DATABASE xa_again")
    pair.wait_live("xa_again", "t", "u")
    pair.through.run("ALTER MIRROR xa_again.t PAUSE")
    with prepare(pair, "xa_again", "again", "INSERT INTO t VALUES (1)",
                 "INSERT INTO u VALUES (1)") as session, session.cursor() as cursor:
        cursor.execute("XA COMMIT 'again'")
    pair.server.run("INSERT INTO xa_again.u VALUES (2)")
    pair.same_tables("xa_again", "u")
    pair.through.run("ALTER MIRROR xa_again.t RESUME")
    pair.wait_live("xa_again", "t", "u")
    pair.same_tables("xa_again", "t", "u")
    assert loads(pair, "xa_again") == {"t": 1, "u": 1}


def test_xa_transactions_that_outlive_the_stream(linked, linked_maker):
    """Of one that is committed later, its tables are read anew, and no others."""
    server, _ = linked
    through = linked_maker(server.url(), name=f"pelorus-xa-{server.kind}")
    pair = Mirrored(server, through)
    pair.begin("xa_later", *(f"CREATE TABLE {name} (a INT PRIMARY KEY)" for name in "tuv"))
    through.run("MIRROR DATABASE xa_later")
    pair.wait_live("xa_later", "t", "u", "v")
    sessions = [prepare(pair, "xa_later", "later", "INSERT INTO t VALUES (1)"),
                prepare(pair, "xa_later", "never", "INSERT INTO u VALUES (1)")]
    try:
        server.run("INSERT INTO xa_later.v VALUES (2)")
        pair.same_tables("xa_later", "t", "u", "v")
        # Commits of the stream are on the disk a tenth of a second later, on a busy machine later than that.
        time.sleep(5)
        through.kill()
        through.start()
        pair.wait_for_database("xa_later")
        pair.wait_live("xa_later", "t", "u", "v")
        for session, end in zip(sessions, ("COMMIT 'later'", "ROLLBACK 'never'"), strict=True):
            with session.cursor() as cursor:
                cursor.execute(f"XA {end}")
        wait_for("another load", lambda: loads(pair, "xa_later")["t"] == 2)
        pair.wait_live("xa_later", "t", "u", "v")
        pair.same_tables("xa_later", "t", "u", "v")
        assert loads(pair, "xa_later") == {"t": 2, "u": 1, "v": 1}
    finally:
        for session in sessions:
            session.close()
        through.run("UNMIRROR DATABASE xa_later")
        through.stop()


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_mirrors_of_the_configuration(kind, request, linked_maker):
    """`--mirror` makes mirrors at the start; SHOW MIRRORS and pelorus.mirrors list them."""
    server = request.getfixturevalue(kind)
    server.run("DROP DATABASE IF EXISTS given", "CREATE DATABASE given",
               "CREATE TABLE given.a (a INT PRIMARY KEY)", "CREATE TABLE given.b (a INT PRIMARY KEY)",
               "INSERT INTO given.a VALUES (1)")
    through = linked_maker(server.url(), name="configured", options=["--mirror", "given.a"])
    pair = Mirrored(server, through)
    pair.wait_for_database("given")
    pair.wait_live("given", "a")
    pair.same_tables("given", "a")
    assert through.run("SELECT table_name, state FROM pelorus.mirrors WHERE table_schema = 'given'"
                       ) == (("a", "live"),)
    link = through.run("SELECT link FROM pelorus.mirrors LIMIT 1")[0][0]
    with pytest.raises(pymysql.err.MySQLError, match="mirror|configuration"):
        through.run(f"DROP SERVER `{link}`")
    through.run("UNMIRROR TABLE given.a")
    assert through.run("SHOW MIRRORS FROM given") == ()
    server.run("DROP DATABASE given")


@pytest.mark.parametrize("statement, reason", [
    ("MIRROR TABLE refused.none", "doesn't exist"),
    ("MIRROR TABLE refused.v", "which is a view"),
    ("MIRROR TABLE refused.keyless", "no primary key"),
    ("MIRROR TABLE nowhere.t", "Unknown database"),
    ("MIRROR DATABASE nowhere", "Unknown database"),
    ("ALTER MIRROR refused.t RESYNC", "is not mirrored"),
    ("CHECK MIRROR refused.t", "is not mirrored"),
    ("UNMIRROR TABLE refused.t", "is not mirrored"),
    ("UNMIRROR DATABASE refused", "is not mirrored"),
    ("MIRROR TABLE refused.t PARTITION BY", "syntax"),
])
def test_refusals_say_why(pair, statement, reason):
    """What cannot be mirrored is refused at once."""
    pair.begin("refused", "CREATE TABLE t (a INT PRIMARY KEY)", "CREATE VIEW v AS SELECT * FROM t",
               "CREATE TABLE keyless (a INT)")
    with pytest.raises(pymysql.err.MySQLError, match=reason):
        pair.through.run(statement)
    assert pair.of_database("refused") == {}


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_definitions_change_once_whatever_happens(kind, request, linked_maker):
    """Changes of a definition that could be made again, and would swap columns, are not made again
    after a crash."""
    server = request.getfixturevalue(kind)
    server.run("DROP DATABASE IF EXISTS once", "CREATE DATABASE once",
               "CREATE TABLE once.t (a INT PRIMARY KEY, x INT, y INT)",
               "INSERT INTO once.t VALUES (1, 10, 20)")
    pair = Mirrored(server, linked_maker(server.url(), name="once", options=["--mirror", "once.t"]))
    pair.wait_for_database("once")
    pair.wait_live("once", "t")
    server.run("ALTER TABLE once.t RENAME COLUMN x TO held",
               "ALTER TABLE once.t RENAME COLUMN y TO x",
               "ALTER TABLE once.t RENAME COLUMN held TO y",
               "ALTER TABLE once.t ADD COLUMN z INT")
    pair.same_tables("once", "t")
    pair.through.kill()
    server.run("INSERT INTO once.t VALUES (2, 100, 200, 300)")
    pair.through.start()
    pair.wait_live("once", "t")
    pair.same_tables("once", "t")
    assert pair.state("once", "t")["Loads"] == 1
    pair.through.run("UNMIRROR TABLE once.t")
    server.run("DROP DATABASE once")
