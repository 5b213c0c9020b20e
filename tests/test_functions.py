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
