"""Expressions over every pair of types and constants, to be asked of a server and of Pelorus.

The operands are the columns of one small table, a column of every type, and a literal of every
kind. For each ordered pair of operands, [`expressions`] makes the comparisons and the functions
whose result has a type in common; [`conditions`] makes the same as WHERE and as the condition of a
join, where servers and Pelorus have other ways of computing them.

`python -m pelorus_tools.mixed_types --oracle PORT --user me --password secret --pelorus PORT
--pelorus-password secret [--part 0/8] [OPERAND...]` compares two servers that run already.
"""

from __future__ import annotations

import argparse
import collections
import re
from dataclasses import dataclass, field

import pymysql

from . import rows
from .servers import Server

DATABASE = "mixed_types"

# Columns: name, type, and their values in the rows.
COLUMNS = {
    "i": ("INT", ("0", "1", "20240131", "-5", "NULL", "101112")),
    "b": ("BIGINT", ("0", "9007199254740993", "20240131101112", "-9223372036854775808", "NULL", "1")),
    "u": ("BIGINT UNSIGNED", ("0", "18446744073709551615", "9007199254740993", "1", "NULL", "20240131")),
    "d": ("DECIMAL(20,4)", ("0", "1.1", "20240131.0000", "-0.5", "NULL", "1999.1")),
    "f": ("FLOAT", ("0", "0.1", "1.1", "-2.5", "NULL", "1999")),
    "x": ("DOUBLE", ("0", "0.1", "20240131101112", "-2.5", "NULL", "9007199254740992")),
    "g": ("FLOAT(6,2)", ("0", "0.1", "1.1", "-2.5", "NULL", "1999")),
    "y": ("YEAR", ("2024", "1999", "2001", "0000", "NULL", "1970")),
    "da": ("DATE", ("'2024-01-31'", "'1999-01-01'", "'1970-01-01'", "'0000-00-00'", "NULL", "'2024-02-29'")),
    "dt": ("DATETIME", ("'2024-01-31 10:11:12'", "'1999-01-01'", "'1970-01-01 00:00:01'",
                        "'0000-00-00'", "NULL", "'2024-01-31'")),
    "d3": ("DATETIME(3)", ("'2024-01-31 10:11:12.5'", "'1999-01-01'", "'1970-01-01 00:00:00.001'",
                           "'2024-01-31'", "NULL", "'2024-01-31 10:11:12'")),
    "ts": ("TIMESTAMP NULL", ("'2024-01-31 10:11:12'", "'1999-01-01'", "'1970-01-02 00:00:01'",
                              "'2024-01-31'", "NULL", "'2024-02-29'")),
    "t": ("TIME", ("'10:11:12'", "'00:00:00'", "'-01:00:00'", "'00:20:24'", "NULL", "'838:59:59'")),
    "t2": ("TIME(2)", ("'10:11:12.25'", "'00:00:00'", "'-01:00:00'", "'10:11:12'", "NULL", "'00:00:01'")),
    "s": ("VARCHAR(30)", ("'2024-01-31'", "'10:11:12'", "''", "'abc'", "NULL", "'1999.1'")),
    "v": ("VARCHAR(30)", ("'2024-01-31 10:11:12'", "'0.1'", "'9007199254740993'", "'1'", "NULL", "'00:00:01'")),
    "z": ("VARBINARY(30)", ("'2024-01-31'", "'10:11:12'", "'1'", "'abc'", "NULL", "'18446744073709551615'")),
    "e": ("ENUM('1','abc','2024-01-31')", ("'1'", "'abc'", "'2024-01-31'", "'abc'", "NULL", "'1'")),
    "bi": ("BIT(8)", ("b'0'", "b'1'", "b'110001'", "b'11111111'", "NULL", "b'1'")),
}
LITERALS = (
    "NULL", "0", "1", "-5", "1999", "99", "101112", "20240131", "20240131101112", "9007199254740993",
    "-9223372036854775808", "9223372036854775807", "18446744073709551615", "18446744073709551616",
    "0.1", "1.1", "1999.1", "20240131.5", "0e0", "1e0", "1.1e0", "0.1e0", "1e30",
    "''", "'abc'", "'0.1'", "'1.1'", "'1999'", "'1999.1'", "'9007199254740993'", "'18446744073709551616'",
    "'2024-01-31'", "'2024-01-31 10:11:12'", "'2024-1-31'", "'20240131'", "'10:11:12'", "'00:00:00'",
    "'10:11'", "'0000-00-00'",
    "DATE'2024-01-31'", "DATE'1970-01-01'", "DATE'1999-01-01'", "TIME'10:11:12'", "TIME'00:00:00'",
    "TIME'10:11:12.25'", "TIMESTAMP'2024-01-31 10:11:12'", "TIMESTAMP'2024-01-31 10:11:12.5'",
    "TIMESTAMP'1999-01-01 00:00:00'", "TRUE", "x'31'", "x'F0'", "b'1'", "_binary'abc'",
    "CAST('2024-01-31' AS DATE)", "CAST(1 AS UNSIGNED)", "CAST(1.10 AS DECIMAL(10,2))",
    "CAST('abc' AS CHAR)", "CAST(1999 AS YEAR)", "CAST(0.1 AS FLOAT)",
)
OPERANDS = (*COLUMNS, *LITERALS)
# What stands for a third operand, by turns.
THIRDS = ("i", "'abc'", "20240131", "da", "'2024-01-31'", "t", "1.1", "s", "0e0", "NULL", "dt", "'10:11:12'", "u")


def definitions() -> list[str]:
    """Statements that make the table and fill it; the sql_mode must allow zero dates."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    count = len(next(iter(COLUMNS.values()))[1])
    values = ", ".join(
        f"({at + 1}, {', '.join(values[at] for _, values in COLUMNS.values())})" for at in range(count))
    return [f"CREATE TABLE mixed (id INT PRIMARY KEY, {columns})", f"INSERT INTO mixed VALUES {values}"]


def pairs() -> list[tuple[str, str, str]]:
    """All ordered pairs of operands with a third one."""
    made = [(a, b) for a in OPERANDS for b in OPERANDS]
    return [(a, b, THIRDS[at % len(THIRDS)]) for at, (a, b) in enumerate(made)]


def expressions(a: str, b: str, c: str) -> list[str]:
    """What is made of two operands, and of three."""
    return [
        f"{a} = {b}", f"{a} <> {b}", f"{a} < {b}", f"{a} <=> {b}", f"{a} >= {b}",
        f"{a} IN ({b})", f"{a} IN ({b}, {c})", f"{a} NOT IN ({c}, {b})", f"{a} BETWEEN {b} AND {c}",
        f"{a} BETWEEN {c} AND {b}", f"CASE {a} WHEN {b} THEN 1 WHEN {c} THEN 2 ELSE 0 END",
        f"NULLIF({a}, {b})",
    ]


def results(a: str, b: str) -> list[str]:
    """What has a type in common with two operands."""
    return [
        f"IF(id % 2, {a}, {b})", f"CONCAT(IF(id % 2, {a}, {b}))", f"IF(id % 2, {a}, {b}) + 0",
        f"COALESCE({a}, {b})", f"CONCAT(COALESCE({a}, {b}))", f"IFNULL({a}, {b}) + 0",
        f"CASE WHEN id % 2 THEN {a} ELSE {b} END",
        f"GREATEST({a}, {b})", f"LEAST({a}, {b})", f"GREATEST({a}, {b}) + 0", f"CONCAT(LEAST({a}, {b}))",
    ]


def conditions(a: str, b: str, c: str) -> list[str]:
    """Conditions on rows, as counts of the rows that meet them."""
    where = [f"{a} = {b}", f"{a} < {b}", f"{a} <> {b}", f"{a} IN ({b}, {c})", f"NOT ({a} >= {b})"]
    made = [f"(SELECT GROUP_CONCAT(id ORDER BY id) FROM mixed WHERE {it})" for it in where if a in COLUMNS or b in COLUMNS]
    if a in COLUMNS and b in COLUMNS:
        made.append(f"(SELECT GROUP_CONCAT(m.id, '-', n.id ORDER BY m.id, n.id) FROM mixed AS m JOIN mixed AS n ON m.{a} = n.{b})")
    return made


@dataclass
class Tally:
    """What came of the expressions."""

    same: int = 0
    refused: int = 0
    failed: int = 0
    different: list[tuple[str, str, str]] = field(default_factory=list)
    refusals: collections.Counter = field(default_factory=collections.Counter)


class Comparison:
    """Two connections that are asked the same."""

    def __init__(self, oracle, ours, types: bool = True):
        self.oracle, self.ours, self.types = oracle, ours, types
        self.tally = Tally()

    def compare(self, made: list[str], shape: str = "SELECT {} FROM mixed ORDER BY id") -> None:
        """Asks for all at once, and for halves of them where one fails."""
        if not made:
            return
        query = shape.format(", ".join(made))
        given = rows.ask(self.ours, query)
        if given.error and len(made) == 1 and given.error[0] == 1235:
            self.tally.refused += 1
            self.tally.refusals[given.error[1]] += 1
            return
        expected = None if given.error and len(made) > 1 else rows.ask(self.oracle, query)
        if len(made) > 1 and (expected is None or expected.error):
            half = len(made) // 2
            self.compare(made[:half], shape)
            self.compare(made[half:], shape)
            return
        if expected.error or given.error:
            one, two = (it.error and it.error[0] for it in (expected, given))
            if one == two:
                self.tally.failed += 1
            else:
                self.tally.different.append((made[0], shown(expected), shown(given)))
            return
        for at, expression in enumerate(made):
            one, two = ([row[at] for row in answer.rows] for answer in (expected, given))
            kinds = [answer.columns[at].kind() for answer in (expected, given)]
            if one != two and expression.startswith(("IF(", "CASE")):
                # Of a decimal a MySQL shows the digits of the value that was chosen.
                one, two = ([plain(value) for value in values] for values in (one, two))
            if one != two:
                self.tally.different.append((expression, str(one), str(two)))
            elif self.types and kinds[0] != kinds[1] and not expression.startswith("NULLIF"):
                self.tally.different.append((expression, kinds[0], kinds[1]))
            else:
                self.tally.same += 1


def plain(value: bytes | None) -> bytes | None:
    """A number without zeros behind the point."""
    if value is None or not re.fullmatch(rb"-?\d+\.\d+", value):
        return value
    return value.rstrip(b"0").rstrip(b".")


def shown(answer: rows.Answer) -> str:
    """The first column of an answer, or its error."""
    return f"error {answer.error[0]}: {answer.error[1][:90]}" if answer.error else str([row[0] for row in answer.rows])


def open_connection(server: Server) -> pymysql.Connection:
    """A connection as the comparison needs it."""
    connection = rows.connect(server)
    for statement in ("SET NAMES utf8mb4", "SET time_zone = '+00:00'", "SET sql_mode = ''"):
        answer = rows.ask(connection, statement)
        assert answer.error is None, (statement, answer.error)
    return connection


def make(connection, database: str = DATABASE) -> None:
    """Makes the table, and chooses its database."""
    for statement in (f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}", f"USE {database}",
                      *definitions()):
        answer = rows.ask(connection, statement)
        assert answer.error is None, (statement, answer.error)


def compare(comparison: Comparison, part: int = 0, parts: int = 1, only: set[str] = frozenset()) -> Tally:
    """Compares a part of all pairs; `only` those with such an operand."""
    # A TIME beside a date is one of today.
    for connection in (comparison.oracle, comparison.ours):
        rows.ask(connection, "SET timestamp = 1700000000.25")
    for at, (a, b, c) in enumerate(pairs()):
        if at % parts != part or only and not {a, b} & set(only):
            continue
        comparison.compare(expressions(a, b, c) + results(a, b))
        comparison.compare(conditions(a, b, c), "SELECT {}")
    return comparison.tally


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oracle", type=int, required=True)
    parser.add_argument("--user", default="root")
    parser.add_argument("--password", default="")
    parser.add_argument("--pelorus", type=int, required=True)
    parser.add_argument("--pelorus-user", default="root")
    parser.add_argument("--pelorus-password", default="")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("operands", nargs="*")
    given = parser.parse_args()
    connections = []
    for port, user, password in ((given.oracle, given.user, given.password),
                                 (given.pelorus, given.pelorus_user, given.pelorus_password)):
        server = Server("server")
        server.port = port
        connection = rows.connect(server, user=user, password=password)
        for statement in ("SET NAMES utf8mb4", "SET time_zone = '+00:00'", "SET sql_mode = ''"):
            rows.ask(connection, statement)
        make(connection)
        connections.append(connection)
    at, _, parts = given.part.partition("/")
    tally = compare(Comparison(*connections), int(at), int(parts), set(given.operands))
    for expression, one, two in tally.different:
        print(f"{expression}\n    server  {one}\n    pelorus {two}")
    print(f"{tally.same} same, {tally.refused} refused, {tally.failed} failed on both, "
          f"{len(tally.different)} different")


if __name__ == "__main__":
    main()
