"""Files of SQL statements with directives in comments, for the differential test.

A statement ends with `;`. A directive is a comment line of its own and is about the next statement:

    -- only: mysql            run it against this server only (`mysql` or `mariadb`)
    -- refused: 1235          Pelorus must refuse it with this error, whatever the server answers
    -- unordered              rows may come in any order although there is an ORDER BY (ties)
    -- values only: reason    column types differ, for the reason given
    -- setup: SQL             run this on the server itself, not through Pelorus

Two directives are about the whole file and stand anywhere in it:

    -- file only: mysql
    -- modes: usual, split    how statements are run; `split` forces work to be split
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_DIRECTIVE = re.compile(r"^--\s+(only|refused|unordered|values only|setup|file only|modes)\b:?\s*(.*)$")


@dataclass
class Statement:
    """One statement with its directives."""

    text: str
    line: int
    only: str | None = None
    refused: int | None = None
    unordered: bool = False
    values_only: bool = False
    setup: bool = False

    @property
    def ordered(self) -> bool:
        """Whether the rows must come in the same order."""
        return not self.unordered and has_outer_order_by(self.text)


@dataclass
class SqlFile:
    """A parsed file."""

    path: Path
    statements: list[Statement] = field(default_factory=list)
    only: str | None = None
    modes: list[str] = field(default_factory=lambda: ["usual"])


def parse(path: Path, default_modes: list[str] | None = None) -> SqlFile:
    """Reads a file; a directive that is misspelt or out of place is an error."""
    made = SqlFile(path)
    if default_modes:
        made.modes = default_modes
    waiting: dict[str, object] = {}
    for line, text, is_comment in _pieces(path.read_text(encoding="utf-8")):
        if not is_comment:
            made.statements.append(Statement(text, line, **waiting))
            waiting = {}
            continue
        match = _DIRECTIVE.match(text)
        if match is None:
            continue
        _directive(made, waiting, match[1], match[2].strip(), line)
    if waiting:
        raise ValueError(f"{path}: a directive at the end has no statement: {waiting}")
    return made


def _directive(made: SqlFile, waiting: dict, word: str, rest: str, line: int) -> None:
    where = f"{made.path}:{line}"
    if word in ("only", "file only") and rest not in ("mysql", "mariadb"):
        raise ValueError(f"{where}: `only` takes mysql or mariadb, not {rest!r}")
    if word == "only":
        waiting["only"] = rest
    elif word == "file only":
        made.only = rest
    elif word == "refused":
        waiting["refused"] = int(rest.split()[0])
    elif word == "unordered":
        waiting["unordered"] = True
    elif word == "values only":
        if not rest:
            raise ValueError(f"{where}: `values only` needs a reason")
        waiting["values_only"] = True
    elif word == "modes":
        made.modes = [mode.strip() for mode in rest.split(",")]
        if not set(made.modes) <= {"usual", "split"}:
            raise ValueError(f"{where}: unknown mode in {rest!r}")
    elif word == "setup":
        made.statements.append(
            Statement(rest.rstrip(";"), line, setup=True, only=waiting.pop("only", None)))


def _pieces(text: str):
    """Yields (line, text, is_comment): statements without their `;`, and comment lines that stand
    between statements."""
    start, at, line, start_line = 0, 0, 1, 1
    begun = False
    while at < len(text):
        char = text[at]
        if not begun and char in " \t\r\n":
            line += char == "\n"
            at += 1
            continue
        if text.startswith("--", at) and text[at + 2:at + 3] in ("", " ", "\t", "\n", "\r"):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            if not begun:
                yield line, text[at:end].strip(), True
            at = end
            continue
        if not begun:
            start, start_line, begun = at, line, True
        if char in "'\"`":
            at, line = _quoted(text, at, line)
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            end = len(text) if end < 0 else end + 2
            line += text.count("\n", at, end)
            at = end
        elif char == ";":
            yield start_line, text[start:at].strip(), False
            begun = False
            at += 1
        else:
            line += char == "\n"
            at += 1
    if begun:
        raise ValueError(f"line {start_line}: the last statement has no ;")


def _quoted(text: str, at: int, line: int) -> tuple[int, int]:
    quote = text[at]
    end = at + 1
    while end < len(text):
        if text[end] == "\\" and quote != "`":
            end += 2
        elif text[end] == quote:
            if text[end + 1:end + 2] != quote:
                break
            end += 2
        else:
            end += 1
    return end + 1, line + text.count("\n", at, end)


def has_outer_order_by(text: str) -> bool:
    """Whether ORDER BY stands outside all parentheses and quotes."""
    plain = re.sub(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`", "''", text)
    depth, outer = 0, []
    for char in plain:
        depth += (char == "(") - (char == ")")
        if depth == 0:
            outer.append(char)
    return re.search(r"\border\s+by\b", "".join(outer), re.IGNORECASE) is not None
