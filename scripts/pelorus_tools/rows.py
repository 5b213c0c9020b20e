"""Results as a server sends them: the text of each value untouched, and the columns' metadata."""

from __future__ import annotations

import statistics
import time
import zlib
from dataclasses import dataclass

import pymysql

TYPE_NAMES = {
    0: "DECIMAL", 1: "TINY", 2: "SHORT", 3: "LONG", 4: "FLOAT", 5: "DOUBLE", 6: "NULL",
    7: "TIMESTAMP", 8: "LONGLONG", 9: "INT24", 10: "DATE", 11: "TIME", 12: "DATETIME", 13: "YEAR",
    15: "VARCHAR", 16: "BIT", 245: "JSON", 246: "NEWDECIMAL", 247: "ENUM", 248: "SET",
    249: "TINY_BLOB", 250: "MEDIUM_BLOB", 251: "LONG_BLOB", 252: "BLOB", 253: "VAR_STRING",
    254: "STRING", 255: "GEOMETRY",
}
UNSIGNED = 32
_TEXTS = {"VARCHAR", "VAR_STRING", "STRING", "TINY_BLOB", "BLOB", "MEDIUM_BLOB", "LONG_BLOB"}


@dataclass
class Column:
    """What a column definition says."""

    name: str
    type: str
    unsigned: bool
    decimals: int
    length: int
    charset: int
    flags: int
    table: str
    org_table: str
    org_name: str
    schema: str

    def kind(self) -> str:
        """What a client makes of the column: type, sign, decimals, and whether it is text."""
        words = [self.type]
        if self.unsigned:
            words.append("unsigned")
        if self.type in _TEXTS:
            words.append("bytes" if self.charset == 63 else "text")
        elif self.decimals:
            words.append(f"decimals {self.decimals}")
        return " ".join(words)


@dataclass
class Answer:
    """What a statement gave: rows with columns, or counts, or an error."""

    columns: list[Column]
    rows: list[tuple[bytes | None, ...]]
    affected: int = 0
    error: tuple[int, str] | None = None


def connect(server, **more) -> pymysql.Connection:
    """A connection whose rows are the server's own text."""
    more.setdefault("conv", {})
    return server.connect(use_unicode=False, **more)


def ask(connection: pymysql.Connection, statement: str) -> Answer:
    """Runs one statement and keeps everything that it gave. Connection errors are raised."""
    try:
        connection.query(statement)
    except pymysql.MySQLError as error:
        number = error.args[0] if error.args else 0
        if not isinstance(number, int) or not connection.open or 2000 <= number < 3000:
            raise
        return Answer([], [], error=(number, str(error.args[1])))
    result = connection._result
    if result.description is None:
        return Answer([], [], affected=result.affected_rows)
    columns = [
        Column(name=field.name, type=TYPE_NAMES.get(field.type_code, str(field.type_code)),
               unsigned=bool(field.flags & UNSIGNED), decimals=field.scale, length=field.length,
               charset=field.charsetnr, flags=field.flags, table=field.table_name,
               org_table=field.org_table, org_name=field.org_name, schema=_text(field.db))
        for field in result.fields]
    return Answer(columns, list(result.rows))


def _text(value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def differences(expected: Answer, given: Answer, ordered: bool) -> list[str]:
    """What a client would see differ, in words; empty when the answers are identical."""
    if expected.error or given.error:
        one = expected.error and expected.error[0]
        two = given.error and given.error[0]
        if one == two:
            return []
        return [f"expected {_outcome(expected)}, got {_outcome(given)}"]
    found = []
    one, two = [c.name for c in expected.columns], [c.name for c in given.columns]
    if one != two:
        found.append(f"column names: expected {one}, got {two}")
    kinds = [[c.kind() for c in answer.columns] for answer in (expected, given)]
    if kinds[0] != kinds[1]:
        pairs = [f"{c.name}: expected {a}, got {b}"
                 for c, a, b in zip(expected.columns, *kinds) if a != b]
        found.append(f"column types: {'; '.join(pairs)}")
    one, two = expected.rows, given.rows
    if not isinstance(one, list):
        # Recorded as a number and a check sum.
        two = two if ordered else sorted(two, key=sort_key)
        if (one.count, one.sum) != (len(two), check_sum(two)):
            found.append(f"{one.count} rows of check sum {one.sum} recorded, {len(two)} of {check_sum(two)} given: "
                         f"{two[:3]}")
        return found
    if not ordered:
        one, two = sorted(one, key=sort_key), sorted(two, key=sort_key)
    if one != two:
        found.append(_first_difference(one, two))
    return found


def without_types(found: list[str]) -> list[str]:
    """Differences of a statement whose column types may differ. That they do not is one, too."""
    others = [text for text in found if not text.startswith("column types")]
    return others if len(others) < len(found) else [*others, "the types are the same: remove `values only`"]


def _outcome(answer: Answer) -> str:
    if answer.error:
        return f"error {answer.error[0]} ({answer.error[1]})"
    if not isinstance(answer.rows, list):
        return f"{answer.rows.count} rows"
    return f"{len(answer.rows)} rows" + (f" beginning {answer.rows[0]}" if answer.rows else "")


def check_sum(found: list[tuple[bytes | None, ...]]) -> int:
    """A number that tells rows from others."""
    total = 0
    for row in found:
        for value in row:
            total = zlib.crc32(b"N" if value is None else b"%d:%s" % (len(value), value), total)
    return total


def sort_key(row: tuple) -> tuple:
    """What rows in no order are sorted by, to be compared."""
    return tuple((value is not None, value or b"") for value in row)


def _first_difference(one: list, two: list) -> str:
    if len(one) != len(two):
        return f"{len(one)} rows expected, {len(two)} given: {one[:3]} against {two[:3]}"
    at = next(at for at, (a, b) in enumerate(zip(one, two)) if a != b)
    return f"row {at + 1}: expected {one[at]}, got {two[at]}"


def measure(connection: pymysql.Connection, statement: str) -> tuple[float, Answer]:
    """Runs a statement to its last row; returns milliseconds and the answer."""
    started = time.perf_counter()
    answer = ask(connection, statement)
    spent = (time.perf_counter() - started) * 1000.0
    if answer.error:
        raise RuntimeError(f"error {answer.error[0]}: {answer.error[1]} for {statement}")
    return spent, answer


def median(values: list[float]) -> float:
    """The median."""
    return statistics.median(values)
