"""Expressions over every pair of types and constants: native tables answer as a MySQL does, mirrors of
a MariaDB as that one does, or refuse (1235).

An eighth of all pairs by default; `PELORUS_MIXED_TYPES=0/1` asks all, `3/20` a part.
"""

from __future__ import annotations

import os
import re

import pytest
from pelorus_tools import mixed_types, rows
from pelorus_tools.mirrored import Mirrored

# What differs and stays so: a pattern of the expression, and why.
KNOWN: dict[str, str] = {
    r"^(CONCAT\()?(IF\(|CASE WHEN).*\by\b": "the YEAR 0 of a branch is 0000 to a MySQL, whatever IF is",
    r"\bg(,| ELSE) ([bu]\b|-?\d{16}|CAST\(1 AS UNS)": "a MySQL makes a FLOAT(M,D) of a BIGINT, with its digits",
    r"(\b[bu]|\d{16}|UNSIGNED\))(,| ELSE) g\b": "the same",
}


def part() -> tuple[int, int]:
    """The part of the pairs that is asked for."""
    at, _, parts = os.environ.get("PELORUS_MIXED_TYPES", "5/8").partition("/")
    return int(at), int(parts or 1)


def unknown(tally: mixed_types.Tally) -> list[str]:
    """What differs and is not known."""
    return [f"{expression}\n    server  {one}\n    pelorus {two}" for expression, one, two in tally.different
            if not any(re.search(pattern, expression) for pattern in KNOWN)]


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus with native tables alone."""
    return linked_maker(name="pelorus-mixed-types")


def test_as_mysql(mysql, native):
    oracle, ours = (mixed_types.open_connection(server) for server in (mysql, native))
    with oracle, ours:
        for connection in (oracle, ours):
            mixed_types.make(connection)
        tally = mixed_types.compare(mixed_types.Comparison(oracle, ours), *part())
    assert not (found := unknown(tally)), f"{len(found)} differ:\n" + "\n".join(found[:50])
    assert tally.same > 4 * tally.refused


def test_mirrors_as_mariadb(mariadb, pelorus_mariadb):
    pair, database = Mirrored(mariadb, pelorus_mariadb), "mixed_types"
    pair.begin(database, *mixed_types.definitions())
    pelorus_mariadb.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)
    oracle, ours = mixed_types.open_connection(mariadb), pair.open(database)
    with oracle, ours:
        oracle.select_db(database)
        # Literals compare under the collation of the connection, whose default is another.
        for connection in (oracle, ours):
            rows.ask(connection, "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
        comparison = mixed_types.Comparison(oracle, ours, types=False)
        at, parts = part()
        tally = mixed_types.compare(comparison, at, parts * 2)
    assert not (found := unknown(tally)), f"{len(found)} differ:\n" + "\n".join(found[:50])
