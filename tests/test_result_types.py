"""How the columns of results are described to clients: native tables, linked tables and mirrors describe them as
a MySQL does, in the text protocol and when prepared statements are executed, or refuse the query (1235).

A part of all queries by default; `PELORUS_RESULT_TYPES=0/1` asks all, `3/20` a part.
"""

from __future__ import annotations

import os
import re

import pytest
from pelorus_tools import result_types, rows
from pelorus_tools.mirrored import Mirrored

DATABASE = "result_types"
# What differs and stays so: a pattern of the place and the column or function, and why.
KNOWN: dict[str, str] = {
    r"\| ([es]|j)$": "ENUM, SET and JSON values have types and flags of their own in some places",
    r"\| (tt|tb)$": "a TINYTEXT is a VARCHAR in a MySQL's temporary tables",
    r"\| @[nd]$": "user variables: a MySQL gives all of them the most digits",
    r"SELECT MAX.*q \| ": "extremes of a derived table keep the flags of their column",
    r"(UNION|GROUP BY|DISTINCT).*\| (dn|btn)$": "flags of columns that cannot be NULL",
    r"OVER \(": "numbers of window functions are not marked as bytes",
    r"\| (-?1|1\.5|1e0|'abc'|NULL|TRUE|X'41'|DATE'2024-01-01')$": "constants in temporary tables",
    r"(UNION|COALESCE) \| .*\bd2\b": "lengths of DOUBLE(M,D) as text",
    r"UNION \| (vb|bn|vbn|bt|btn) (vb|bn|vbn|bt|btn)$": "bytes and texts of more than 512 bytes are a BLOB",
    r"(ANY_VALUE|LAG).*\| (f|db)$": "lengths of floating-point numbers",
    r"(ROLLUP|\(SELECT).*\| (b1|iz|tx|mt|txn)$": "lengths of subqueries and of what is rolled up",
    r"(NULLIF|ANY_VALUE).*\| du$": "unsigned decimals",
    r"CONCAT.*\| lb$": "the length of the longest bytes",
}


def part(of: int) -> tuple[int, int]:
    """The part of the queries that is asked for; one of so many by default."""
    at, _, parts = os.environ.get("PELORUS_RESULT_TYPES", f"1/{of}").partition("/")
    return int(at), int(parts or 1)


def described(oracle, ours, at: int, parts: int) -> tuple[list[str], int]:
    """What differs, and how much was refused."""
    different, refused = [], 0
    for number, (about, query) in enumerate(result_types.queries()):
        if number % parts != at or any(re.search(pattern, about) for pattern in KNOWN):
            continue
        for ask in (result_types.text, result_types.executed):
            expected, given = ask(oracle, query), ask(ours, query)
            if given == 1235:
                refused += 1
            elif expected != given:
                different.append(f"{query} ({ask.__name__})\n    server  {expected}\n    pelorus {given}")
    return different, refused


def opened(server, *statements: str):
    """A connection with user variables that the queries name."""
    connection = rows.connect(server, database=DATABASE)
    for statement in ("SET @n = 5, @d = 1.5", *statements):
        assert rows.ask(connection, statement).error is None
    return connection


def check(mysql, ours, parts: int) -> None:
    """Compares a part of the queries."""
    at, parts = part(parts)
    with opened(mysql) as oracle, ours:
        different, refused = described(oracle, ours, at, parts)
    assert not different, f"{len(different)} differ:\n" + "\n".join(different[:40])
    assert refused < len(list(result_types.queries())) // parts // 4


@pytest.fixture(scope="module")
def table(mysql):
    """The table on the MySQL."""
    mysql.run(*result_types.definitions(DATABASE))
    return mysql


def test_native_tables(table, linked_maker):
    native = linked_maker(name="pelorus-result-types")
    native.run(*result_types.definitions(DATABASE))
    check(table, opened(native), 8)


def test_linked_tables(table, pelorus_mysql):
    check(table, opened(pelorus_mysql, "SET pelorus_min_split_rows = 0"), 24)


def test_mirrors(table, pelorus_mysql):
    pair = Mirrored(table, pelorus_mysql)
    pelorus_mysql.run(f"MIRROR DATABASE {DATABASE}")
    pair.wait_live(DATABASE)
    ours = pair.open(DATABASE)
    assert rows.ask(ours, "SET @n = 5, @d = 1.5").error is None
    check(table, ours, 48)
    pelorus_mysql.run(f"UNMIRROR DATABASE {DATABASE}")
