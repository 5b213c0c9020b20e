"""`ALTER TABLE` by chance, carried out by a MySQL and on native tables: both refuse it, or definitions and
rows are the same.

`PELORUS_RANDOM_ALTERS=1000:50` takes the 50 seeds from 1000 on.
"""

from __future__ import annotations

import os
import random

import pytest
from pelorus_tools import rows
from pelorus_tools.random_alters import Alters

TABLES, ALTERS = 12, 8
SEEDS = (1,)
# Refused here.
LEFT_OUT = {1235}


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus with native tables alone."""
    return linked_maker(name="pelorus-alters-by-chance")


def seeds() -> range | tuple[int, ...]:
    """The seeds that are asked for."""
    first, _, count = os.environ.get("PELORUS_RANDOM_ALTERS", "").partition(":")
    return range(int(first), int(first) + int(count or 1)) if first else SEEDS


def columns(connection, table: str) -> list[str]:
    """The names of a table's columns."""
    return [bytes(row[0]).decode() for row in rows.ask(connection, f"SHOW COLUMNS FROM {table}").rows]


def both(connections, statement: str) -> tuple[rows.Answer, rows.Answer]:
    """What both servers say to a statement."""
    expected, given = (rows.ask(connection, statement) for connection in connections)
    return expected, given


def one_table(connections, chance: random.Random, table: str) -> tuple[list[str], int]:
    """Makes a table and changes it; what differs, and how many statements both carried out."""
    alters, different, done = Alters(chance, table), [], 0
    made = alters.definition()
    expected, given = both(connections, made)
    if given.error and given.error[0] in LEFT_OUT or expected.error:
        return ([] if given.error else [f"{made}\n  no error"]), 0
    if given.error:
        return [f"{made}\n  {given.error}"], 0
    history = [made]
    for statement in (*alters.rows(), *(None for _ in range(ALTERS))):
        statement = statement or alters.alter()
        expected, given = both(connections, statement)
        if given.error and given.error[0] in LEFT_OUT:
            if not expected.error:
                break
            continue
        history.append(statement)
        # Of several errors each says another one first.
        if bool(expected.error) != bool(given.error):
            text = f"MySQL {expected.error}, here {given.error}"
            different.append("\n  ".join([*history, text]))
            break
        if expected.error:
            continue
        done += 1
        names = columns(connections[0], table)
        alters.learn(names)
        listed = ", ".join(f"`{name}`" for name in names)
        for query in (f"SELECT {listed} FROM {table} ORDER BY id", f"SHOW COLUMNS FROM {table}"):
            found = rows.differences(*both(connections, query), ordered=True)
            found = [text for text in found if not text.startswith("column types")]
            if found:
                different.append("\n  ".join([*history, query, *found]))
                break
        if different:
            break
    return different, done


@pytest.mark.parametrize("seed", seeds())
def test_alters_by_chance(mysql, native, seed):
    chance, database = random.Random(seed), "alters_by_chance"
    connections = []
    for server in (mysql, native):
        server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
        connections.append(rows.connect(server, database=database))
    different, done = [], 0
    for number in range(TABLES):
        found, carried_out = one_table(connections, chance, f"t{number}")
        different += found
        done += carried_out
    for connection in connections:
        connection.close()
    assert not different, "\n\n".join([f"seed {seed}:", *different])
    assert done > TABLES * 4
