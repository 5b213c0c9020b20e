"""Statements that grow: time and memory grow no faster than they do, and other clients do not wait.

`make growth` tries larger ones.
"""

from __future__ import annotations

import threading
import time

import pymysql
import pytest

from pelorus_tools import grammar, growth
from pelorus_tools.processes import wait_for

# Numbers of elements that keep all of it within a minute.
SIZES = growth.sizes(100, 10_000, (1,))
# Seconds until a statement is killed. One that is larger than the last one within the budget may take ten times
# as long, and ten times that on a busy machine; its processor time is what is judged.
PATIENCE = 100.0


@pytest.fixture(scope="module")
def grown(linked_maker):
    """A Pelorus with the tables of the grammar, and what measures it."""
    server = linked_maker(name="pelorus-growth")
    return growth.Growth(server, SIZES, budget=0.6, patience=PATIENCE, figures=False)


@pytest.mark.parametrize("element", grammar.ELEMENTS, ids=lambda element: element.name)
def test_growth(grown, element):
    result = grown.grow(element)
    assert not result.failures, result.line() + "\n" + "\n".join(result.failures)


@pytest.fixture(scope="module")
def grown_far(linked_maker, mysql):
    """The same with the tables on a linked server."""
    mysql.run("DROP DATABASE IF EXISTS far")
    server = linked_maker(mysql.url(), name="pelorus-growth-far")
    yield growth.Growth(server, SIZES[:2], budget=0.4, patience=PATIENCE, figures=False, far=mysql)
    mysql.run("DROP DATABASE far")


@pytest.mark.parametrize("element", grammar.LINKED, ids=lambda element: element.name)
def test_growth_over_links(grown_far, element):
    result = grown_far.grow(element)
    assert not result.failures, result.line() + "\n" + "\n".join(result.failures)


def _killed_early() -> list[str]:
    """Texts that take a while to be read."""
    much = 1 << 20
    return ["SELECT " + "1," * (much // 2) + "1", "SELECT " + "/**/" * (much // 4) + "1",
            "SELECT 1 IN (" + "1," * (much // 2) + "1)", "INSERT INTO t (id) VALUES " + "(1)," * (
                much // 4) + "(1)", "SELECT " + "(1)+" * (much // 4) + "1",
            "SELECT '" + "a" * much + "' + " + "1+" * (much // 2) + "1"]


@pytest.mark.parametrize("sql", _killed_early(), ids=lambda sql: sql[:16])
def test_reading_is_stopped(grown, sql):
    """A text that is still read is killed at once, while another client is answered."""
    server = grown.server
    with server.connect(database="growth") as connection, server.connect() as other:
        ended = []
        arrived = int(_status(other, "Bytes_received"))

        def run() -> None:
            try:
                with connection.cursor() as cursor:
                    cursor.execute(sql)
                ended.append((0, time.monotonic()))
            except pymysql.err.MySQLError as error:
                ended.append((error.args[0], time.monotonic()))
        thread = threading.Thread(target=run)
        thread.start()
        deadline = time.monotonic() + 120
        while int(_status(other, "Bytes_received")) < arrived + len(sql):
            assert time.monotonic() < deadline
        begun = time.monotonic()
        with other.cursor() as cursor:
            cursor.execute(f"KILL QUERY {connection.thread_id()}")
            answered = time.monotonic() - begun
        thread.join(120)
        # It may have ended, or come to a limit, before that.
        assert ended and ended[0][0] in (0, 1317, 1117, 1235, 1062, 1064, 1436, 1041), ended
        assert answered < 15 and ended[0][1] - begun < 60


def _status(connection, name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW GLOBAL STATUS LIKE '{name}'")
        return cursor.fetchall()[0][1]


def _plans_long() -> str:
    """A query that is planned for about a second."""
    items = ", ".join(f"SUM(t{at}.n)" for at in range(61))
    joins = "".join(f" JOIN t t{at} ON t{at}.id = t{at - 1}.id AND t{at}.n + {at} > 0"
                    for at in range(1, 61))
    return f"SELECT {items} FROM t t0{joins}"


def _runs_long() -> str:
    """A query that is executed for minutes."""
    return "SELECT COUNT(*) FROM large a JOIN large b WHERE a.n + b.n < 0"


@pytest.mark.parametrize("sql", [_plans_long(), _runs_long()])
def test_stopped(grown, sql):
    """A long statement is killed at once, and ends with its client."""
    server = grown.server
    with server.connect(database="growth") as connection, server.connect() as other:
        ended = []

        def run() -> None:
            try:
                with connection.cursor() as cursor:
                    cursor.execute(sql)
                ended.append(0)
            except pymysql.err.MySQLError as error:
                ended.append(error.args[0])
        thread = threading.Thread(target=run)
        thread.start()
        with other.cursor() as cursor:
            # One that is planned for a second may be over before it is seen.
            wait_for("the statement to run", lambda: not thread.is_alive() or _commands(
                cursor, connection.thread_id()) not in ([], ["Sleep"]), pause=0.01)
            begun = time.monotonic()
            cursor.execute(f"KILL QUERY {connection.thread_id()}")
            thread.join(60)
            assert ended in ([1317], [0]) and time.monotonic() - begun < 20
    begun = time.monotonic()
    leaving = server.connect(database="growth")
    leaving._execute_command(3, sql)
    leaving._force_close()
    with server.connect() as other, other.cursor() as cursor:
        wait_for("the session to end", lambda: not _commands(cursor, leaving.thread_id()), pause=0.01)
    assert time.monotonic() - begun < 30


def _commands(cursor, thread: int) -> list[str]:
    """What a session does; nothing when it is no more."""
    cursor.execute("SHOW PROCESSLIST")
    return [row[4] for row in cursor.fetchall() if row[0] == thread]


def _listed(count: int, step: int) -> list[int]:
    """Multiples of a step, in no order, some of them twice."""
    numbers = [at * step for at in range(count)]
    return numbers[1::2] + numbers[::2] + numbers[:10]


@pytest.fixture(scope="module")
def lists(grown):
    """A table that no element of the grammar changes."""
    grown.server.run(
        "CREATE TABLE lists (id INT PRIMARY KEY, n INT, v VARCHAR(20))",
        "INSERT INTO lists SELECT a.id * 300 + b.id, a.id * 7 + b.id, CONCAT('v', a.id * 300 + b.id) "
        "FROM (SELECT id FROM large WHERE id < 300) a JOIN (SELECT id FROM large WHERE id < 300) b",
        "OPTIMIZE TABLE lists", database="growth")
    return grown.server


@pytest.mark.parametrize(("count", "step"), [
    (20, 1), (400, 7), (5000, 3), (60_000, 1), (60_000, 4)])
def test_lists(lists, count, step):
    """Long lists behind IN find the rows that they should, in chunks and in memory."""
    rows = [(a * 300 + b, a * 7 + b) for a in range(300) for b in range(300)]
    listed = _listed(count, step)
    wanted = set(listed)
    of_id = [id for id, _ in rows if id in wanted]
    of_n = [id for id, n in rows if n in wanted]
    numbers = ", ".join(map(str, listed))
    texts = ", ".join(f"'v{at}'" for at in listed)
    for condition, expected in [
        (f"id IN ({numbers})", of_id),
        (f"id NOT IN ({numbers})", [id for id, _ in rows if id not in wanted]),
        (f"n IN ({numbers})", of_n),
        (f"n + 0 IN ({numbers})", of_n),
        (f"v IN ({texts})", of_id),
        (f"id IN ({numbers}) AND n < 500", [id for id, n in rows if id in wanted and n < 500]),
    ]:
        select = f"SELECT COUNT(*), COALESCE(SUM(id), 0) FROM lists WHERE {condition}"
        found = lists.run(select, database="growth")
        assert found == ((len(expected), sum(expected)),), condition[:80]
