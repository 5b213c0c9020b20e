"""Which statements mirrors and splits may answer, and which the server must: whatever its session,
its settings or its rules would make of a statement, a client gets the server's answer."""

from __future__ import annotations

import time

import pytest
from pelorus_tools import rows
from pelorus_tools.mirrored import OF_PELORUS, OF_SERVER, Mirrored, is_of_mirrors, plan_of


def answers(server, database: str, *statements: str) -> list:
    """What the statements of one session give: rows, counts or the numbers of errors."""
    with rows.connect(server, database=database) as connection:
        given = [rows.ask(connection, statement) for statement in statements]
    return [answer.error[0] if answer.error else answer.rows or answer.affected for answer in given]


def alike(pair: Mirrored, database: str, *statements: str) -> None:
    """Asserts that a session has the same answers on the server and through Pelorus."""
    expected = answers(pair.server, database, *OF_SERVER, *statements)[len(OF_SERVER):]
    given = answers(pair.through, database, *OF_PELORUS, *statements)[len(OF_PELORUS):]
    assert given == expected, statements


def live(pair: Mirrored, database: str, *begin: str) -> None:
    """A database all of which is mirrored and live."""
    pair.begin(database, *begin)
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)


@pytest.fixture
def shop(pair):
    """A mirrored table `t`."""
    live(pair, "shop", "CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20))",
         "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')")
    yield pair
    pair.through.run("UNMIRROR DATABASE shop")
    pair.server.run("DROP DATABASE shop")


def test_the_past_of_a_table_is_the_servers(shop):
    later = "2031-01-01 00:00:00"
    alike(shop, "shop", f"SELECT COUNT(*) FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '{later}'",
          "SELECT COUNT(*) FROM t")


def test_system_versioned_tables(mariadb, pelorus_mariadb):
    pair = Mirrored(mariadb, pelorus_mariadb)
    live(pair, "past", "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
         "INSERT INTO t VALUES (1, 1), (2, 2)")
    time.sleep(0.1)
    (moment,), = mariadb.run("SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)")
    mariadb.run("UPDATE past.t SET v = 5 WHERE id = 1")
    pair.same("past", "SELECT * FROM t")
    expected = f"SELECT v FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '{moment}' WHERE id = 1"
    assert answers(pelorus_mariadb, "past", *OF_PELORUS, expected)[-1] == [(b"1",)]
    alike(pair, "past", expected, "SELECT v FROM t FOR SYSTEM_TIME ALL WHERE id = 1 ORDER BY v")
    pelorus_mariadb.run("UNMIRROR DATABASE past")
    mariadb.run("DROP DATABASE past")
