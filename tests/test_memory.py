"""Native tables within small budgets of memory answer as others do."""

from __future__ import annotations

import pytest
from pelorus_tools import rows

CONFIG = """
[variables]
pelorus_block_cache = 1048576
pelorus_delta_memory = 2097152
pelorus_index_memory = 1048576
"""
COUNT = 400_000
BATCH = 20_000


@pytest.fixture(scope="module")
def connection(linked_maker):
    """A session of a Pelorus with little memory."""
    connection = rows.connect(linked_maker(name="pelorus-memory", config=CONFIG))
    yield connection
    connection.close()


def _ask(connection, statement: str) -> list:
    answer = rows.ask(connection, statement)
    assert answer.error is None, (statement[:200], answer.error)
    return answer.rows


def _numbers(connection, statement: str) -> list[list[int]]:
    return [[int(value) for value in row] for row in _ask(connection, statement)]


def test_the_budgets_are_shown_and_stay(connection):
    for name, value in (("pelorus_block_cache", 1048576), ("pelorus_delta_memory", 2097152),
                        ("pelorus_index_memory", 1048576)):
        assert _numbers(connection, f"SELECT @@GLOBAL.{name}") == [[value]]
        refused = rows.ask(connection, f"SET GLOBAL {name} = 4194304")
        assert refused.error[0] == 1238


def test_data_above_the_budgets(connection):
    _ask(connection, "CREATE DATABASE small")
    _ask(connection, "CREATE TABLE small.t (id INT PRIMARY KEY, k INT, v VARCHAR(60)) "
                     "PARTITION BY (ROUND_DOWN(id, 100000))")
    for begin in range(0, COUNT, BATCH):
        values = ",".join(f"({id},{id % 97},'value {id * 7919 % 1000003} of many')"
                          for id in range(begin, begin + BATCH))
        _ask(connection, f"INSERT INTO small.t VALUES {values}")
    # Keys of all partitions, again and again: their indexes do not fit.
    for begin in range(0, 1000, 100):
        changed = ",".join(f"({id},0,'changed')" for id in range(begin, COUNT, 1000))
        _ask(connection, f"REPLACE INTO small.t VALUES {changed}")
    changed = [id for begin in range(0, 1000, 100) for id in range(begin, COUNT, 1000)]
    expected = sum(id % 97 for id in range(COUNT)) - sum(id % 97 for id in changed)
    for _ in range(2):
        assert _numbers(connection, "SELECT COUNT(*), SUM(k), SUM(v = 'changed') FROM small.t") == [
            [COUNT, expected, len(changed)]]
        _ask(connection, "OPTIMIZE TABLE small.t")
    found = _ask(connection, "SELECT v FROM small.t WHERE id = 399999")
    value = f"value {399999 * 7919 % 1000003} of many"
    assert [bytes(text) for (text,) in found] == [value.encode()]
