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

# What differs and stays so: a pattern of the expression, and why. At most ten.
KNOWN: dict[str, str] = {
    r"^(CONCAT\()?(IF\(|CASE WHEN).*\by\b": "the YEAR 0 of a branch is 0000 to a MySQL, whatever IF is",
    r"\bg(,| ELSE) (-?\d|[bu]\b|TRUE|CAST\(1)|(\d|\b[bu]|UNSIGNED\)|YEAR\))(,| ELSE) g\b": "FLOAT(M,D), which is deprecated, has digits of its own in a MySQL",
    r"\be(,| ELSE) NULL|NULL(,| ELSE) e\b": "an ENUM with NULL is described as one",
    r"\bbi\b.*(,| ELSE) (bi|NULL)\b|NULL, bi\b": "BIT with BIT: a MySQL takes its bytes for text, or shows its number",
    r"^1999 (NOT )?IN \(": "a MySQL finds 1999 in ('1999.1', 0e0), though it is equal to neither",
    r"\bda (NOT )?IN \(.*'abc'": "a text that is no date, among dates, is the zero date to a MySQL",
    r"\bIN \((TIME'00:00:00', dt|dt, TIME'00:00:00')\)": "a MySQL misses an equal DATETIME after a TIME",
    r"\by (NOT )?IN \((DATE'1999-01-01', 0e0|0e0, DATE'1999-01-01')\)": "a MySQL misses the year 0 among dates",
    r"^18446744073709551616 BETWEEN ": "a MySQL takes a number beyond 64 bits for the largest of them",
    r"\bt2 BETWEEN NULL AND TIME": "t2 <= TIME'10:11:12' is false for 10:11:12.00 to a MySQL here",
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
    assert tally.same > 14 * tally.refused


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
