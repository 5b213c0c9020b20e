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


def _items(count: int) -> str:
    return "SELECT " + ", ".join(str(at) for at in range(count))


def _tables(count: int) -> str:
    return "SELECT COUNT(*) FROM " + ", ".join(f"a t{at}" for at in range(count))


def _keys(count: int) -> str:
    return ", ".join(f"id + {at}" for at in range(count))


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
    (_tables(61) + " WHERE " + " AND ".join(f"t{at}.id = 1" for at in range(61)), 1),
    (f"SELECT id FROM a ORDER BY {_keys(100)} DESC LIMIT 1", 0),
    (f"SELECT id FROM a ORDER BY {_keys(40).replace(',', ' DESC,')} DESC LIMIT 1", 2),
    (f"SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY {_keys(40)}) n FROM a) x", 3),
    (f"SELECT MAX(n) FROM (SELECT SUM(id) OVER (ORDER BY {_keys(40)}) n FROM a) x", 3),
    ("SELECT COUNT(*) FROM (" + " UNION ALL ".join(["SELECT id, v FROM a"] * 100) + ") x", 300),
    ("SELECT COUNT(*) FROM (" + " UNION ".join(["SELECT id, v FROM a"] * 100) + ") x", 3),
    ("SELECT COUNT(*) FROM (SELECT id FROM a UNION ALL SELECT id FROM a UNION SELECT id FROM a "
     "UNION ALL SELECT id FROM a) x", 6),
    ("SELECT COUNT(*) FROM a WHERE id IN (" + _items(100_000)[len("SELECT "):] + ")", 3),
    ("SELECT COUNT(*) FROM a WHERE id + 1 IN (" + _items(100_000)[len("SELECT "):] + ")", 3),
    ("SELECT COUNT(*) FROM a WHERE id NOT IN (" + _items(100_000)[len("SELECT 0, "):] + ")", 1),
])
def test_answered(native, sql, expected):
    assert native.run(sql, database="large") == ((expected,),)


@pytest.mark.parametrize(("sql", "errno"), [
    (_chain(200, "SELECT * FROM @"), 1235),
    (_chain(20, TWICE), 1235),
    (_tables(62), 1116),
    (_tables(300), 1116),
    ("SELECT COUNT(*) FROM (a t0" + "".join(f" JOIN a t{at}" for at in range(1, 62)) + ")", 1116),
    ("SELECT COUNT(*) FROM a WHERE " + _conditions("id > -@", 5000), 1235),
    ("VALUES " + ", ".join(f"ROW({at})" for at in range(4000)), 1235),
    (_items(4097), 1117),
    ("SELECT " + "id, " * 4096 + "v FROM a", 1117),
    ("SELECT " + "a.*, " * 2048 + "id FROM a", 1117),
    ("VALUES ROW(" + _items(4097)[len("SELECT "):] + ")", 1117),
    ("WITH " + ", ".join(f"c{at} AS (SELECT 1)" for at in range(1025)) + " SELECT * FROM c0", 1235),
    ("SELECT " + "(SELECT " * 17 + "1" + ")" * 17, 1235),
    ("SELECT " + ", ".join(f"SUM(id) OVER (ORDER BY id + {at})" for at in range(65)) + " FROM a",
     1235),
    ("ANALYZE " * 60_000 + "SELECT 1", 1064),
    ("EXPLAIN " * 60_000 + "SELECT 1", 1064),
    ("EXPLAIN ANALYZE " * 30_000 + "SELECT 1", 1064),
])
def test_refused(native, sql, errno):
    with pytest.raises(pymysql.err.MySQLError) as error:
        native.run(sql, database="large")
    assert error.value.args[0] == errno
    assert native.run("SELECT 7") == ((7,),)
