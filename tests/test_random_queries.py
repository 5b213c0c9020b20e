"""Queries by chance, answered by a MySQL and over native tables: the rows are the same.

`PELORUS_RANDOM_QUERIES=1000:50` asks those of 50 seeds from 1000 on; what differs is not always wrong
here, see `SEEDS`.
"""

from __future__ import annotations

import os
import random
import re

import pytest
from pelorus_tools import rows
from pelorus_tools.random_queries import LARGE, TABLES, Queries, definitions

QUERIES = 300
# MySQL 9.7 errs in about one of 5,000: it takes constants of a derived table for constants where an
# outer join has no row for it (COALESCE(x, 1)), gives the constant for NULL in totals WITH ROLLUP over no
# rows, and loses NULL under LIMIT 1 over a table of WITH. These seeds have none of that.
SEEDS = (1, 2, 3, 4, 5, 6)
# Refused, or an error that depends on what is computed first.
LEFT_OUT = {1235, 1690, 3024}


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus with native tables alone."""
    return linked_maker(name="pelorus-by-chance")


def seeds() -> range | tuple[int, ...]:
    """The seeds that are asked for."""
    first, _, count = os.environ.get("PELORUS_RANDOM_QUERIES", "").partition(":")
    return range(int(first), int(first) + int(count or 1)) if first else SEEDS


def plain(answer: rows.Answer) -> rows.Answer:
    """Without zeros behind the point: of IF and CASE a MySQL shows the digits of a branch."""
    def value(text: bytes | None) -> bytes | None:
        if text is None or not re.fullmatch(rb"-?\d+\.\d+", text):
            return text
        text = text.rstrip(b"0").rstrip(b".")
        return b"0" if text == b"-0" else text
    answer.rows = [tuple(value(text) for text in row) for row in answer.rows]
    return answer


@pytest.mark.parametrize("seed", seeds())
def test_queries_by_chance(mysql, native, seed):
    chance, database = random.Random(seed), "by_chance"
    made = definitions(chance, seed % 2 == 1)
    connections = []
    for server in (mysql, native):
        server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
        server.run(*made, database=database)
        connections.append(rows.connect(server, database=database))
    if seed % 3 == 0:
        native.run(*(f"OPTIMIZE TABLE {table}" for table in (*TABLES, LARGE)), database=database)
    queries, answered, different = Queries(chance), 0, []
    for _ in range(QUERIES):
        query = queries.query()
        expected, given = (plain(rows.ask(connection, query)) for connection in connections)
        if LEFT_OUT & {answer.error[0] for answer in (expected, given) if answer.error}:
            continue
        answered += not expected.error
        found = rows.differences(expected, given, ordered=False)
        different += [f"{query}\n  {text}" for text in found if not text.startswith("column ")]
    for connection in connections:
        connection.close()
    assert not different, "\n".join([f"seed {seed}:", *different])
    assert answered > QUERIES // 2
