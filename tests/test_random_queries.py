"""Random queries, answered by a MySQL and over native tables: rows, their order where ORDER BY is total, names
and types of columns are the same.

`PELORUS_RANDOM_QUERIES=1000:50` asks those of 50 seeds from 1000 on; what differs is not always wrong
here: see what MySQL gets wrong, below.
"""

from __future__ import annotations

import random
import re

import pymysql
import pytest
from pelorus_tools import rows, seeds, sqlfile
from pelorus_tools.random_queries import LARGE, TABLES, Queries, definitions

QUERIES = 300
# MySQL 9.7 errs in about one of 4,000, and seeds with such a query are not recorded: it loses rows of a LEFT
# JOIN of a table of WITH under WHERE EXISTS, takes constants of a derived table for constants where an outer
# join has no row for it, and finds 18446744073709551615 IN (2.50, -1) true.
# Refused, or an error that depends on what is computed first.
LEFT_OUT = {1235, 1690, 3024}
# Differences that are known, by their names below.
REASONS = {
    "rollup": "MySQL has a constant instead of NULL in the total WITH ROLLUP over no rows",
    "stored": "a computed integer that MySQL stores in a temporary table is an INT or BIGINT there by its "
              "length; without a temporary table it is what the function returns. Pelorus has no such tables",
    "year": "YEAR() is a YEAR; MySQL stores it in a temporary table as an INT, and has a BIGINT of some extremes",
}
INTEGERS = {"LONG", "LONGLONG", "LONG unsigned", "LONGLONG unsigned"}
YEAR = "YEAR unsigned"
# Every query of the recorded seeds with such a difference: seed, the query's number, reason. The list is exact.
KNOWN: dict[int, dict[int, str]] = {
    1: {269: "year", 284: "year", 298: "year"},
    3: {16: "stored", 94: "stored", 145: "stored", 219: "stored", 237: "stored", 293: "year"},
    4: {51: "stored", 155: "stored", 204: "stored", 250: "stored"},
    5: {95: "year", 120: "stored", 204: "stored", 236: "stored"},
    6: {225: "stored", 261: "stored"},
    7: {9: "year", 38: "year", 125: "stored", 217: "stored", 256: "stored"},
    9: {113: "stored", 202: "stored", 209: "stored", 271: "stored"},
    10: {6: "year", 70: "stored", 190: "stored", 191: "stored", 199: "stored", 201: "stored"},
    11: {93: "year", 117: "year", 216: "stored"},
    12: {17: "stored", 24: "stored", 278: "stored"},
}


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus with native tables alone."""
    return linked_maker(name="pelorus-random-queries")


def plain(answer: rows.Answer) -> rows.Answer:
    """Without zeros behind the point: of IF and CASE a MySQL shows the digits of a branch."""
    def value(text: bytes | None) -> bytes | None:
        if text is None or not re.fullmatch(rb"-?\d+\.\d+", text):
            return text
        text = text.rstrip(b"0").rstrip(b".")
        return b"0" if text == b"-0" else text
    answer.rows = [tuple(value(text) for text in row) for row in answer.rows]
    return answer


def is_totally_ordered(query: str, columns: int) -> bool:
    """Whether the query's own ORDER BY leaves no choice: over all of its columns, or the primary key of
    every table."""
    if not sqlfile.has_outer_order_by(query):
        return False
    terms = re.split(r" LIMIT ", query.rpartition(" ORDER BY ")[2])[0].split(", ")
    terms = [term.removesuffix(" DESC") for term in terms]
    # The generator gives keys for all tables or none (`Queries._first`).
    return terms == [f"y{at}" for at in range(columns)] or all(term.endswith(".id") for term in terms)


def known_reason(query: str, text: str, expected: rows.Answer, given: rows.Answer) -> str | None:
    """The name of the reason for a difference of two answers, if it is a known one."""
    if not text.startswith("column "):
        # Over rows there is a group next to the total.
        is_total = len(expected.rows) <= 1 and len(given.rows) <= 1 and not expected.error and not given.error
        return "rollup" if is_total and " WITH ROLLUP" in query else None
    if text.startswith("column names"):
        return None
    pairs = [{one.kind(), two.kind()} for one, two in zip(expected.columns, given.columns)
             if one.kind() != two.kind()]
    if all(pair <= INTEGERS for pair in pairs):
        return "stored"
    return "year" if all(pair <= INTEGERS | {YEAR} for pair in pairs) else None


def test_what_is_totally_ordered():
    assert is_totally_ordered("SELECT 1 AS y0, 2 AS y1 FROM a ORDER BY y0 DESC, y1 LIMIT 2 OFFSET 1", 2)
    assert is_totally_ordered("SELECT 1 AS y0 FROM a AS x1 ORDER BY x1.id DESC LIMIT 3", 1)
    assert not is_totally_ordered("SELECT 1 AS y0, 2 AS y1 FROM a ORDER BY y0", 2)
    assert not is_totally_ordered("SELECT * FROM (SELECT i AS y0 FROM a ORDER BY y0) AS z", 1)


def opened(server, database: str, seed: int) -> pymysql.Connection:
    """A connection whose queries end, with 3024, after seconds: joins of new seeds can be of any size. Those of
    recorded seeds are short, and all of them count, also on a busy machine."""
    connection = rows.connect(server, database=database)
    seconds = 300 if seed in seeds.recorded("random_queries") else 10
    rows.ask(connection, f"SET max_execution_time = {seconds * 1000}")
    return connection


@pytest.mark.parametrize("seed", seeds.asked("random_queries"))
def test_random_queries(mysql, native, seed):
    chance, database = random.Random(seed), "random_queries"
    made = definitions(chance, seed % 2 == 1)
    connections = []
    for server in (mysql, native):
        server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
        server.run(*made, database=database)
        connections.append(opened(server, database, seed))
    # Its plans, and types by them, must not depend on when it collects statistics.
    mysql.run(f"ANALYZE TABLE {', '.join((*TABLES, LARGE))}", database=database)
    if seed % 3 == 0:
        native.run(*(f"OPTIMIZE TABLE {table}" for table in (*TABLES, LARGE)), database=database)
    queries, valid, answered, different, known = Queries(chance), 0, 0, [], {}
    for number in range(QUERIES):
        query = queries.query()
        expected = plain(rows.ask(connections[0], query))
        try:
            given = plain(rows.ask(connections[1], query))
        except pymysql.MySQLError as error:
            different.append(f"query {number}: {query}\n  the connection broke: {error}")
            connections[1] = opened(native, database, seed)
            continue
        valid += not expected.error
        if LEFT_OUT & {answer.error[0] for answer in (expected, given) if answer.error}:
            continue
        answered += not expected.error
        ordered = is_totally_ordered(query, len(expected.columns))
        for text in rows.differences(expected, given, ordered):
            reason = known_reason(query, text, expected, given)
            if reason:
                known[number] = reason
            else:
                different.append(f"query {number}: {query}\n  {text}")
    for connection in connections:
        connection.close()
    assert not different, "\n".join([f"seed {seed}:", *different])
    is_recorded = seed in seeds.recorded("random_queries")
    # Of new seeds now and then one has more that Pelorus refuses.
    assert answered >= (0.9 if is_recorded else 0.8) * valid, f"seed {seed}: {answered} of {valid} answered"
    if is_recorded:
        assert known == KNOWN.get(seed, {}), f"seed {seed}: other queries differ than KNOWN says"
    # About 1 % differ by the reasons above.
    assert len(known) <= 0.05 * valid, f"seed {seed}: {known}"
