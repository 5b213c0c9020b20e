"""Every example of the reference page of functions gives what the page says: on a MySQL, on a MariaDB those of
functions that only it has, and by Pelorus those that are computed here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from pelorus_tools import rows

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "functions.md"
HASHES = "'file://component_classic_hashing'"
# A mode that is NULL is 0; yet a MySQL, too, takes an outer join for an inner one because of these.
NULL_MODES = {"WEEK('2024-01-01', NULL)", "YEARWEEK('2024-12-30', NULL)"}


class Example(NamedTuple):
    """A row of the page with an example."""

    section: str
    of_mariadb: bool
    call: str
    result: str | None


def examples() -> list[Example]:
    """The examples of the page. Those without a result differ each time."""
    found, section = [], ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3 or not cells[2].startswith("`"):
            continue
        call, _, result = cells[2][1:].partition("`: ")
        of_mariadb = cells[0].endswith("(MariaDB)")
        if result == "an empty text":
            found.append(Example(section, of_mariadb, call, ""))
        elif result:
            found.append(Example(section, of_mariadb, call, result[1:-1]))
        else:
            found.append(Example(section, of_mariadb, call.removesuffix("`"), None))
    return found


def differences(connection, asked: list[Example]) -> list[str]:
    """The examples that fail, and those with another result."""
    different = []
    for example in asked:
        answer = rows.ask(connection, f"SELECT {example.call}")
        if answer.error:
            different.append(f"{example.call}: {answer.error}")
        elif example.result is not None:
            value = answer.rows[0][0]
            given = "NULL" if value is None else value.decode("utf-8", "backslashreplace")
            if given != example.result:
                different.append(f"{example.call}: {given!r}, not {example.result!r}")
    return different


def strict() -> set[str]:
    """The functions whose result is NULL where an argument is, as the page says."""
    return {match[1] for match in re.finditer(r"^\| `(\w+)` \| yes \|", PAGE.read_text(), re.M)}


def with_nulls(call: str) -> list[str]:
    """A call with NULL in the place of each of its arguments; nothing for arguments with a grammar of their own."""
    name, _, rest = call.partition("(")
    if not re.fullmatch(r"\w+", name) or not rest.endswith(")"):
        return []
    arguments, depth, quote = [""], 0, ""
    for char in rest[:-1]:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
        if depth < 0:
            return []
        if char == "," and depth == 0 and not quote:
            arguments.append("")
        else:
            arguments[-1] += char
    arguments = [argument.strip() for argument in arguments]
    # Keywords and units are no values, nor are times without digits.
    values = [at for at, argument in enumerate(arguments)
              if argument and not re.fullmatch(r"[A-Z_]+|INTERVAL .*|.* (FROM|USING|AS|IN) .*", argument)]
    return [f"{name}({', '.join('NULL' if at == place else it for at, it in enumerate(arguments))})"
            for place in values]


def test_strict_functions_are_null_of_null(mysql):
    """The planner takes an outer join for an inner one where a strict function of its columns decides."""
    connection = rows.connect(mysql)
    assert rows.ask(connection, f"INSTALL COMPONENT {HASHES}").error is None
    wrong, asked = [], 0
    names = strict()
    try:
        for example in examples():
            if example.call.partition("(")[0] not in names or example.of_mariadb:
                continue
            for call in set(with_nulls(example.call)) - NULL_MODES:
                answer = rows.ask(connection, f"SELECT {call}")
                asked += 1
                if not answer.error and answer.rows[0][0] is not None:
                    wrong.append(f"{call}: {answer.rows[0][0]!r}")
    finally:
        rows.ask(connection, f"UNINSTALL COMPONENT {HASHES}")
    assert asked > 250
    assert not wrong, "\n".join(wrong)


def test_the_page_has_examples():
    found = examples()
    assert len(found) > 280
    assert sum(example.result is not None for example in found) > 240


def test_on_mysql(mysql):
    asked = [example for example in examples() if not example.of_mariadb]
    connection = rows.connect(mysql)
    # MD5 and SHA1 are a component of their own.
    assert rows.ask(connection, f"INSTALL COMPONENT {HASHES}").error is None
    try:
        assert not differences(connection, asked)
    finally:
        rows.ask(connection, f"UNINSTALL COMPONENT {HASHES}")


def test_on_mariadb(mariadb):
    asked = [example for example in examples() if example.of_mariadb]
    assert asked
    assert not differences(rows.connect(mariadb), asked)


@pytest.fixture(scope="module")
def here(linked_maker):
    """A Pelorus without links."""
    return linked_maker(name="pelorus-functions")


@pytest.mark.parametrize("section", ["Choices, comparisons and bits", "Numbers", "Texts", "Dates and times",
                                     "Sessions, and the rest"])
def test_here(here, section):
    asked = [example for example in examples() if example.section == section]
    assert asked
    assert not differences(rows.connect(here), asked)
