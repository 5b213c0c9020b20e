"""Random `ALTER TABLE` statements, executed by a MySQL and on native tables: both refuse it, or definitions and
rows are the same.

`PELORUS_RANDOM_ALTERS=1000:50` takes the 50 seeds from 1000 on.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import pytest
from pelorus_tools import rows, seeds
from pelorus_tools.random_alters import Alters

TABLES, ALTERS = 3, 8
# Refused here.
LEFT_OUT = 1235


@dataclass
class Outcome:
    """What came of the statements on a table."""

    different: list[str] = field(default_factory=list)
    done: int = 0
    refused: int = 0

    def __iadd__(self, other: "Outcome") -> "Outcome":
        self.different += other.different
        self.done += other.done
        self.refused += other.refused
        return self


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus with native tables alone."""
    return linked_maker(name="pelorus-alters-by-chance")


@pytest.fixture(scope="module")
def total():
    """Counts over all seeds, printed at the end."""
    counts = Outcome()
    yield counts
    tried = max(counts.done + counts.refused, 1)
    print(f"\nALTER TABLE by chance: {counts.done} statements the same, {counts.refused} refused here "
          f"({100 * counts.refused // tried} %)")


def names(connection, statement: str, place: int) -> list[str]:
    """The different names in a column of an answer."""
    found = (bytes(row[place]).decode() for row in rows.ask(connection, statement).rows)
    return list(dict.fromkeys(found))


# What MySQL writes of charsets, which `SHOW FULL COLUMNS` has as well, and of constants: both print it in
# words of their own. A counter goes on where rows failed.
_WORDS = re.compile(rb" CHARACTER SET \w+| COLLATE=? ?\w+|(?<=[(,])_\w+(?=')| AUTO_INCREMENT=\d+| DEFAULT CHARSET=\w+")


def shown(connection, query: str) -> rows.Answer:
    """An answer; of a definition the lines, without what is written in other words."""
    answer = rows.ask(connection, query)
    answer.columns = []
    if query.startswith("SHOW CREATE") and answer.rows:
        text = bytes(answer.rows[0][1]).replace(b"=Pelorus", b"=InnoDB")
        lines = _WORDS.sub(b"", text.split(b"PARTITION BY")[0].removesuffix(b"/*!50100 ")).strip().split(b"\n")
        lines = [line.rstrip(b",") for line in lines if b" CHECK (" not in line]
        # Keys of texts and of computed columns come last in a MySQL.
        keys = sorted(line for line in lines if line.startswith(b"  KEY "))
        answer.rows = [(line,) for line in [*(it for it in lines if it not in keys), *keys]]
    return answer


def compared(connections, table: str, columns: list[str]) -> list[str]:
    """What differs in the definition and the rows of a table."""
    listed = ", ".join(f"`{name}`" for name in columns)
    for query in (f"SELECT {listed} FROM {table}", f"SHOW FULL COLUMNS FROM {table}",
                  f"SHOW CREATE TABLE {table}"):
        expected, given = (shown(connection, query) for connection in connections)
        found = rows.differences(expected, given, ordered=query.startswith("SHOW"))
        if found:
            return [query, *found]
    return []


def one_table(connections, chance: random.Random, table: str) -> Outcome:
    """Makes a table and changes it; the first difference ends it."""
    mysql, native = connections
    alters, outcome, history = Alters(chance, table), Outcome(), []
    for statement in (alters.definition(), *alters.rows(), *(None for _ in range(ALTERS))):
        statement = statement or alters.alter()
        given = rows.ask(native, statement)
        if given.error and given.error[0] == LEFT_OUT:
            outcome.refused += 1
            if not history:
                break
            continue
        expected = rows.ask(mysql, statement)
        history.append(statement)
        # Of several errors each says another one first.
        if bool(expected.error) != bool(given.error):
            text = f"MySQL {expected.error}, here {given.error}"
            outcome.different.append("\n  ".join([*history, text]))
            break
        if expected.error:
            if len(history) == 1:
                break
            continue
        outcome.done += 1
        columns = names(mysql, f"SHOW COLUMNS FROM {table}", 0)
        keys = names(mysql, f"SHOW INDEX FROM {table}", 2)
        alters.learn(columns, [key for key in keys if key != "PRIMARY"])
        if found := compared(connections, table, columns):
            outcome.different.append("\n  ".join([*history, *found]))
            break
    return outcome


@pytest.mark.parametrize("seed", seeds.asked("random_alters"))
def test_alters_by_chance(mysql, native, total, seed):
    chance, database = random.Random(seed), "alters_by_chance"
    connections = []
    for server in (mysql, native):
        server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
        connections.append(rows.connect(server, database=database))
    outcome = Outcome()
    for number in range(TABLES):
        outcome += one_table(connections, chance, f"t{number}")
        for connection in connections:
            rows.ask(connection, "SET sql_mode = DEFAULT")
    for connection in connections:
        connection.close()
    total += outcome
    assert not outcome.different, "\n\n".join([f"seed {seed}:", *outcome.different])
    assert outcome.done > TABLES * 2
