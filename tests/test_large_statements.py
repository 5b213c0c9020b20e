"""Statements whose plans are deep or large: they are answered or refused, and harm nobody else."""

from __future__ import annotations

import pymysql
import pytest


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus with a table of three rows."""
    server = linked_maker(name="pelorus-large")
    server.run("CREATE DATABASE large", "CREATE TABLE large.a (id INT PRIMARY KEY, v VARCHAR(40))",
               "INSERT INTO large.a VALUES (0, 'row0'), (1, 'row1'), (2, 'row2')")
    return server


def _chain(count: int, following: str) -> str:
    """Common table expressions each of which reads the one before."""
    rest = "".join(f", c{at} AS ({following.replace('@', f'c{at - 1}')})" for at in range(1, count))
    return f"WITH c0 AS (SELECT id, v FROM a){rest} SELECT COUNT(*) FROM c{count - 1}"


TWICE = "SELECT x.id FROM @ x JOIN @ y ON x.id = y.id"
GROUPED = "SELECT id, MAX(v) v FROM @ GROUP BY id ORDER BY id LIMIT 5"


def _conditions(part: str, count: int) -> str:
    return " AND ".join(part.replace("@", str(at)) for at in range(count))


def _rows(count: int) -> str:
    return ", ".join(f"({at}, 'row{at}')" for at in range(1, count))


@pytest.mark.parametrize(("sql", "expected"), [
    (_chain(60, "SELECT * FROM @"), 3),
    (_chain(60, GROUPED), 3),
    (_chain(60, "SELECT " + "ABS(1 - " * 5 + "id" + ")" * 5 + " AS id FROM @"), 3),
    (_chain(8, TWICE), 3),
    ("SELECT COUNT(*) FROM a WHERE " + _conditions("id + @ > 0", 2000), 2),
    ("SELECT COUNT(*) FROM a WHERE " + _conditions("id > -@", 2000), 2),
    ("SELECT COUNT(*) FROM a x JOIN a y ON " + _conditions("x.id = y.id", 300), 3),
    ("SELECT COUNT(*) FROM a x LEFT JOIN a y ON " + _conditions("x.id + @ > y.id", 2000), 4),
    (f"SELECT COUNT(*) FROM a WHERE (id, v) IN ({_rows(2000)})", 2),
    (f"SELECT COUNT(*) FROM a WHERE (id, v) NOT IN ({_rows(2000)})", 1),
])
def test_answered(native, sql, expected):
    assert native.run(sql, database="large") == ((expected,),)


@pytest.mark.parametrize("sql", [
    _chain(200, "SELECT * FROM @"),
    _chain(20, TWICE),
    "SELECT COUNT(*) FROM a" + "".join(f", a t{at}" for at in range(300)),
    "SELECT COUNT(*) FROM a WHERE " + _conditions("id > -@", 5000),
    "VALUES " + ", ".join(f"ROW({at})" for at in range(4000)),
])
def test_refused(native, sql):
    with pytest.raises(pymysql.err.MySQLError) as error:
        native.run(sql, database="large")
    assert error.value.args[0] == 1235
    assert native.run("SELECT 7") == ((7,),)
