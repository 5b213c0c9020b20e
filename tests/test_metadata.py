"""How columns of results are described, to the number of the type: drivers read rows by it."""

from __future__ import annotations

import contextlib

import mysql.connector
import pytest
from pelorus_tools import pelorus, rows

TABLE = ("CREATE TABLE t (id INT PRIMARY KEY, i INT, u INT UNSIGNED, ti TINYINT, s SMALLINT, "
         "b BIGINT, dc DECIMAL(10,2), db DOUBLE, d DATE, tm TIME, dt DATETIME, y YEAR, v VARCHAR(20), "
         "tx TEXT)")
ROW = ("INSERT INTO t VALUES (1, 1, 2, 3, 4, 5, 3.25, 2.5, '2024-02-29', '10:11:12', "
       "'2024-02-29 10:11:12', 2024, 'v', 'text')")
# Computed from columns, so that a query that makes groups of them keeps them in a temporary table.
VALUES = [
    "YEAR(d)", "MONTH(d)", "HOUR(tm)", "DAYOFYEAR(d)", "YEARWEEK(d)", "WEEKDAY(d)", "TO_DAYS(d)",
    "DATEDIFF(d, dt)", "EXTRACT(YEAR FROM d)", "EXTRACT(DAY_MICROSECOND FROM dt)", "DATE(dt)",
    "i + 1", "i * b", "u / i", "i DIV 2", "-i", "ABS(i)", "ROUND(dc)", "FLOOR(db)", "SIGN(i)",
    "i = 1", "i IS NULL", "NOT i", "i AND u", "v LIKE 'a'", "i IN (1, 2)", "LENGTH(v)", "ASCII(v)",
    "CRC32(v)", "CONCAT(v, i)", "CONCAT(tx, v)", "UPPER(tx)", "REPEAT(v, i)", "LEFT(v, 2)",
    "CAST(v AS SIGNED)", "CAST(i AS YEAR)", "CAST(d AS CHAR)", "IF(i, 1, 2)", "IF(i, y, y)",
    "IF(i, y, i)", "IF(i, YEAR(d), YEAR(dt))", "IFNULL(y, y)", "IFNULL(y, 1)", "NULLIF(i, 1)",
    "COALESCE(y, i)", "COALESCE(ti, s)", "CASE WHEN i THEN y END", "GREATEST(y, y)", "y", "y + 0",
    "i", "ti", "tx", "dc", "d",
]
TEXTS = {"TINY_BLOB": "BLOB", "MEDIUM_BLOB": "BLOB", "LONG_BLOB": "BLOB"}
QUERIES = [
    "SELECT {} AS x FROM t",
    "SELECT x FROM (SELECT {} AS x FROM t) AS q",
    "SELECT {0} AS x FROM t UNION SELECT {0} FROM t",
    "SELECT DISTINCT {} AS x FROM t",
    "SELECT {} AS x, COUNT(*) FROM t GROUP BY x",
    "SELECT {} AS x, COUNT(*) FROM t GROUP BY x WITH ROLLUP",
    "SELECT x FROM (SELECT DISTINCT {} AS x FROM t) AS q",
    "SELECT x, COUNT(*) FROM (SELECT {} AS x, COUNT(*) FROM t GROUP BY x) AS q GROUP BY x",
    "SELECT MAX({}) AS x FROM t",
    "SELECT x FROM (SELECT MAX({}) AS x FROM t) AS q",
]


@pytest.fixture(scope="module")
def both(mysql, linked_maker):
    """MySQL, and a Pelorus with the same table of its own."""
    native = linked_maker(name="pelorus-metadata")
    for server in (mysql, native):
        server.run("DROP DATABASE IF EXISTS metadata", "CREATE DATABASE metadata", "USE metadata",
                   TABLE, ROW)
    return mysql, native


def test_types_are_those_of_mysql(both):
    """In each place that a value can have in a query."""
    found = []
    with contextlib.ExitStack() as stack:
        direct, own = (stack.enter_context(rows.connect(server, database="metadata"))
                       for server in both)
        for value in VALUES:
            for query in QUERIES:
                query = query.format(value)
                expected, given = rows.ask(direct, query), rows.ask(own, query)
                # TEXT of all lengths is one to drivers.
                one, two = ([(TEXTS.get(c.type, c.type), c.unsigned) for c in it.columns]
                            for it in (expected, given))
                if expected.error or one != two or expected.rows != given.rows:
                    found.append(f"{query}: {expected.error or one}, not {given.error or two}")
    assert not found, "\n".join(found)


def test_prepared_statements_of_a_driver_that_does_not_know_years(both):
    """mysql-connector-python cannot read values of the type YEAR from prepared statements."""
    _, native = both
    with contextlib.closing(mysql.connector.connect(
            host="127.0.0.1", port=native.port, user="root", password=pelorus.ROOT_PASSWORD,
            database="metadata", use_pure=True)) as connection:
        for query in ("SELECT YEAR(d) AS x FROM t GROUP BY x", "SELECT DISTINCT YEAR(d) FROM t",
                      "SELECT x FROM (SELECT MAX(YEAR(d)) AS x FROM t) AS q"):
            with contextlib.closing(connection.cursor(prepared=True)) as cursor:
                cursor.execute(query)
                assert cursor.fetchall() == [(2024,)], query
