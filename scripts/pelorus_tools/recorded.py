"""Recorded results of a real MySQL for the statements of SQL files, so that the files can be tested without one.

A recording is a text file under `tests/recorded`, one line a statement: a check sum of the statement and what the
server answered. `PELORUS_SERVERS` says what a test does with it:

* unset: the server is asked, and a recording that says something else fails (`make test-python`);
* `record`: the server is asked, and its answers are written down (`make record`);
* `recorded`: the recording answers, and no server is started (`make test-recorded`).
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from . import machine, rows

FOLDER = machine.ROOT / "tests" / "recorded"
# Longer results are recorded as their number of rows and a check sum.
BYTES_MAX = 3000


def mode() -> str:
    """`live`, `record` or `recorded`."""
    text = os.environ.get("PELORUS_SERVERS") or "live"
    if text not in ("live", "record", "recorded"):
        raise ValueError(f"PELORUS_SERVERS is `record` or `recorded`, not {text!r}")
    return text


def without_servers() -> bool:
    """Whether recordings answer instead of servers."""
    return mode() == "recorded"


@dataclass
class RecordedColumn:
    """The name and type of a column, as `rows.Column` has them."""

    name: str
    type: str

    def kind(self) -> str:
        """Type, sign and decimals in words."""
        return self.type


@dataclass
class RecordedRows:
    """Rows of which only the number and a check sum are known."""

    count: int
    sum: int


@dataclass
class Result:
    """What a statement gave: its answer, and the level and number of each warning."""

    answer: rows.Answer
    warnings: list[tuple[bytes, bytes]] = field(default_factory=list)


class Recording:
    """The results of one SQL file."""

    def __init__(self, name: str, how: str | None = None):
        self.path = FOLDER / f"{name}.txt"
        self.mode = how or mode()
        # What the server says now, and what was recorded.
        self._now: list[str] = []
        self._then: list[str] = []
        if self.path.exists():
            self._then = self.path.read_text(encoding="ascii").splitlines()
        elif self.mode == "recorded":
            raise FileNotFoundError(f"{self.path}: `make record` writes it")
        self._stale: list[str] = []
        self._at = 0

    def result(self, statement: str, ordered: bool, ask) -> Result:
        """What the server answers to the file's next statement. `ask` asks the server."""
        line = self._then[self._at] if self._at < len(self._then) else None
        self._at += 1
        if self.mode == "recorded":
            if line is None or json.loads(line)[0] != _sum(statement.encode()):
                raise ValueError(f"{self.path}: line {self._at} is about another statement than {statement[:200]!r}; "
                                 "`make record` records the file again")
            return _read(json.loads(line))
        result = ask()
        now = _written(statement, result, ordered)
        self._now.append(now)
        if now != line:
            self._stale.append(f"line {self._at}: {' '.join(statement.split())[:150]}\n"
                               f"    recorded {str(line)[:300]}\n    the server says {now[:300]}")
        return result

    def close(self) -> list[str]:
        """Writes the recording, or says in what it differs from the server."""
        if self.mode == "record":
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("".join(f"{line}\n" for line in self._now), encoding="ascii")
            return []
        if len(self._then) > self._at:
            self._stale.append(f"{len(self._then) - self._at} lines too many")
        if not self._stale:
            return []
        return [f"{self.path.relative_to(machine.ROOT)} is not what the server says: `make record` writes it again",
                *self._stale[:10]]


def _sum(text: bytes) -> str:
    return f"{zlib.crc32(text):08x}"


def _written(statement: str, result: Result, ordered: bool) -> str:
    """A line: check sum of the statement, then a number for an error, or affected rows, or columns and rows."""
    answer, more = result.answer, [[_text(level), _text(number)] for level, number in result.warnings]
    values: list = [_sum(statement.encode())]
    if answer.error:
        values.append({"error": answer.error[0]})
    elif not answer.columns:
        values.append({"affected": answer.affected})
    else:
        found = answer.rows if ordered else sorted(answer.rows, key=rows.sort_key)
        texts = [[_text(value) for value in row] for row in found]
        if len(json.dumps(texts)) > BYTES_MAX:
            values.append({"columns": [[it.name, it.kind()] for it in answer.columns], "count": len(texts),
                           "sum": rows.check_sum(found)})
        else:
            values.append({"columns": [[it.name, it.kind()] for it in answer.columns], "rows": texts})
    if more:
        values.append(more)
    return json.dumps(values, separators=(",", ":"))


def _read(values: list) -> Result:
    said = values[1]
    warnings = [(level.encode(), number.encode()) for level, number in (values[2] if len(values) > 2 else [])]
    if "error" in said:
        return Result(rows.Answer([], [], error=(said["error"], "as recorded")), warnings)
    if "affected" in said:
        return Result(rows.Answer([], [], affected=said["affected"]), warnings)
    columns = [RecordedColumn(name, kind) for name, kind in said["columns"]]
    if "sum" in said:
        return Result(rows.Answer(columns, RecordedRows(said["count"], said["sum"])), warnings)
    found = [tuple(value if value is None else value.encode("utf-8", "surrogateescape") for value in row)
             for row in said["rows"]]
    return Result(rows.Answer(columns, found), warnings)


def _text(value: bytes | None) -> str | None:
    return value if value is None else value.decode("utf-8", "surrogateescape")


def files() -> list[Path]:
    """All recordings."""
    return sorted(FOLDER.rglob("*.txt"))
