"""Native tables within small budgets of memory answer as others do, and the whole server stays in its
own, whatever clients do.
"""

from __future__ import annotations

import os
import struct
import threading
from pathlib import Path

import pymysql
import pytest
from pelorus_tools import rows
from pelorus_tools.processes import wait_for

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


# One budget for everything: whatever a client does, the server refuses it (1041) instead of growing.

MIB = 1 << 20
LIMIT = 192 * MIB
# What is not counted: the program and its threads, batches between two operators, free pages of the
# allocator.
MARGIN = 256 * MIB
TIGHT = f"""
[variables]
pelorus_memory_limit = {LIMIT}
pelorus_block_cache = {16 * MIB}
pelorus_delta_memory = {16 * MIB}
pelorus_index_memory = {8 * MIB}
pelorus_query_memory = {32 * MIB}
pelorus_session_memory = {24 * MIB}
max_allowed_packet = {16 * MIB}
group_concat_max_len = {1 << 30}
# A test leaves packets half sent.
net_read_timeout = 600
"""
SPARE = LIMIT - 40 * MIB
OUT_OF_MEMORY, TOO_MANY_PREPARED, DISK_FULL = 1041, 1461, 1021


class Peak:
    """The most memory that a process has had since this was made."""

    def __init__(self, server):
        self.pid = server.process.pid
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def bytes(self) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
        raise AssertionError("the process has no peak")


@pytest.fixture(scope="module")
def tight(linked_maker):
    """A Pelorus with a small budget, and tables that do not fit into it."""
    server = linked_maker(name="pelorus-tight", config=TIGHT)
    connection = rows.connect(server)
    _ask(connection, "CREATE DATABASE b")
    _ask(connection, "CREATE TABLE b.t (id INT PRIMARY KEY, k INT, v VARCHAR(60))")
    values = ",".join(f"({id},{id % 10},'value {id * 7919 % 1000003}')" for id in range(3000))
    _ask(connection, f"INSERT INTO b.t VALUES {values}")
    _ask(connection, "CREATE TABLE b.w (id INT PRIMARY KEY, k INT, body LONGTEXT)")
    _ask(connection, "INSERT INTO b.w SELECT id, k, CONCAT(id, REPEAT(v, 8000)) FROM b.t WHERE id < 300")
    _ask(connection, "OPTIMIZE TABLE b.w")
    connection.close()
    return server


@pytest.fixture
def bounded(tight):
    """The server; after the test it has stayed in its budget and holds nothing."""
    peak = Peak(tight)
    yield tight
    assert peak.bytes() <= LIMIT + MARGIN, f"{peak.bytes() >> 20} MiB"
    connection = rows.connect(tight)
    wait_for("sessions to give their memory back", lambda: _held(connection) < MIB)
    connection.close()


def _held(connection) -> int:
    status = dict(_ask(connection, "SHOW GLOBAL STATUS LIKE 'Pelorus_memory%'"))
    return int(status[b"Pelorus_memory_statements"]) + int(status[b"Pelorus_memory_sessions"])


# Statements that need much: what they give, or the error that they end with.
STATEMENTS = {
    "repeat in an aggregate": (
        "SELECT SUM(LENGTH(REPEAT(v, 20000))) FROM b.t", sum),
    "a long result": (
        "SELECT REPEAT(v, 10000) FROM b.t WHERE id < 1000", None),
    "a long constant in each row": (
        "SELECT id, REPEAT('a', 300000) FROM b.t WHERE id < 500", None),
    "a long constant in a branch": (
        "SELECT MAX(LENGTH(IF(k = 1, REPEAT('a', 300000), v))) FROM b.t", None),
    "concat of long texts": (
        "SELECT SUM(LENGTH(CONCAT(REPEAT(v, 9000), REPEAT(v, 9000), v))) FROM b.t", None),
    "padding": (
        "SELECT SUM(LENGTH(LPAD(v, 200000 + id, 'xy')) + LENGTH(RPAD(v, 200000, 'z'))) FROM b.t", None),
    "space and replace": (
        "SELECT SUM(LENGTH(REPLACE(SPACE(10000 + id), ' ', v))) FROM b.t", None),
    "a condition": (
        "SELECT COUNT(*) FROM b.t WHERE REPEAT(v, 20000) LIKE '%value 7%' AND k = 3", None),
    "digits and letters of long texts": (
        "SELECT SUM(LENGTH(HEX(body)) + LENGTH(UPPER(body)) + LENGTH(REVERSE(body))) FROM b.w", None),
    "long rows": (
        "SELECT body FROM b.w", None),
    "a sort of long rows": (
        "SELECT LENGTH(body) FROM b.w ORDER BY body DESC LIMIT 200, 5", None),
    "a sort of long expressions": (
        "SELECT LENGTH(x) FROM (SELECT REPEAT(v, 4000) x FROM b.t WHERE id < 1200 ORDER BY x LIMIT 1000, 3) q",
        None),
    "groups of long texts": (
        "SELECT COUNT(*) FROM (SELECT body, COUNT(*) FROM b.w GROUP BY body) q",
        (None, OUT_OF_MEMORY)),
    "a group concat of everything": (
        "SELECT LENGTH(GROUP_CONCAT(REPEAT(v, 5000))) FROM b.t", OUT_OF_MEMORY),
    "extremes of long texts": (
        "SELECT k, MAX(LENGTH(m)) FROM (SELECT k, MAX(CONCAT(body, id)) m FROM b.w GROUP BY k) q GROUP BY k",
        (None, OUT_OF_MEMORY)),
    "a join of long rows": (
        "SELECT SUM(LENGTH(a.body)) + SUM(LENGTH(c.body)) FROM b.w a JOIN b.w c ON a.k = c.k AND a.id < 100",
        (None, OUT_OF_MEMORY)),
    "a cross join of long rows": (
        "SELECT COUNT(*) FROM b.w a JOIN b.w c ON a.body < c.body AND a.id < 30 AND c.id < 30",
        (None, OUT_OF_MEMORY)),
    "a common table expression that is materialised": (
        "WITH c AS (SELECT body FROM b.w LIMIT 250) SELECT COUNT(*) FROM c x"
        " JOIN c y ON x.body = y.body",
        (None, OUT_OF_MEMORY)),
    "a window over long rows": (
        "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY body) n FROM b.w) q",
        (None, OUT_OF_MEMORY)),
    "distinct long texts": (
        "SELECT COUNT(DISTINCT REPEAT(v, 10000)) FROM b.t", (None, OUT_OF_MEMORY)),
    "a write of more than there is": (
        "INSERT INTO b.w SELECT id + 10000, k, REPEAT(v, 20000) FROM b.t", OUT_OF_MEMORY),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_stay_within_the_budget(bounded, name):
    statement, expected = STATEMENTS[name]
    connection = rows.connect(bounded)
    answer = rows.ask(connection, statement)
    number = answer.error[0] if answer.error else None
    allowed = expected if isinstance(expected, tuple) else (expected,)
    if expected is sum:
        assert answer.error is None, answer.error
        lengths = sum(len(f"value {id * 7919 % 1000003}") for id in range(3000))
        assert int(answer.rows[0][0]) == 20000 * lengths
    else:
        assert number in allowed, answer.error
    connection.close()


# Statements whose trees are much larger than their texts: what comes before and behind the elements,
# an element, and what is between two of them.
TREES = {
    "subqueries of a select list": ("SELECT ", "(SELECT k FROM t)", ", ", ""),
    "subqueries of conditions": ("SELECT 1 FROM t WHERE ", "id IN (SELECT id FROM t)", " AND ", ""),
    "levels of EXISTS beside each other": (
        "SELECT 1 FROM t WHERE ", "EXISTS (SELECT 1 FROM t x WHERE x.id = t.id)", " OR ", ""),
    "common table expressions": ("WITH ", "c@ AS (SELECT k FROM t)", ", ", " SELECT 1 FROM c1"),
    "joins": ("SELECT 1 FROM t t0 ", "JOIN t t@ ON t@.id = t0.id", " ", ""),
    "unions": ("", "SELECT k FROM t", " UNION ALL ", ""),
    "conditions": ("SELECT 1 FROM t WHERE ", "k > @ AND id < @", " OR ", ""),
    "arms of CASE": ("SELECT CASE ", "WHEN k = @ THEN id + @", " ", " END FROM t"),
    "arguments": ("SELECT GREATEST(", "k + @", ", ", ") FROM t"),
    "rows of VALUES": ("VALUES ", "ROW(@, @)", ", ", ""),
    "expressions of an INSERT": ("INSERT INTO t (id, k) VALUES ", "(@ + 1, @ * 2)", ", ", ""),
    "assignments": ("UPDATE t SET ", "k = k + @", ", ", ""),
    "prepared": ("PREPARE p FROM 'SELECT ", "(SELECT k FROM t)", ", ", "'"),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_of_statements_stay_within_the_budget(bounded, name):
    """A text of some megabytes becomes a tree of gigabytes, unless it is refused meanwhile."""
    before, element, between, after = TREES[name]
    count = (4 << 20) // (len(element) + len(between))
    text = before + between.join(element.replace("@", str(at)) for at in range(count)) + after
    connection = rows.connect(bounded, database="b")
    answer = rows.ask(connection, text)
    # The number of set operations has a limit that comes first.
    expected = 1235 if name == "unions" else OUT_OF_MEMORY
    assert answer.error and answer.error[0] == expected, answer.error
    assert _numbers(connection, "SELECT 1") == [[1]]
    connection.close()


def test_streams_of_joins_that_spill_come_to_an_end(linked_maker):
    """Where memory is short, batches between the streams of a join wait in files."""
    server = linked_maker(name="pelorus-spills",
                          config=f"[variables]\npelorus_memory_limit = {256 * MIB}\n")
    first = rows.connect(server)
    _ask(first, "CREATE DATABASE b")
    _ask(first, "CREATE TABLE b.w (id INT PRIMARY KEY, body LONGTEXT)")
    for begin in range(0, 600, 100):
        _ask(first, "INSERT INTO b.w VALUES " + ",".join(
            f"({id}, REPEAT('{chr(97 + id % 26)}', {20000 + id * 100}))" for id in range(begin, begin + 100)))
    join = ("WITH c AS (SELECT body FROM b.w LIMIT 250) SELECT /*+ MAX_EXECUTION_TIME(300000) */ COUNT(*) "
            "FROM c x JOIN c y ON x.body = y.body")
    ended = []

    def run() -> None:
        connection = rows.connect(server)
        for _ in range(80):
            answer = rows.ask(connection, join)
            ended.append(answer.error[0] if answer.error else int(answer.rows[0][0]))
        connection.close()
    clients = [threading.Thread(target=run) for _ in range(4)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert len(ended) == 320 and set(ended) <= {250, OUT_OF_MEMORY} and 250 in ended, set(ended)
    first.close()


def test_a_transaction_counts_its_rows(bounded):
    connection = rows.connect(bounded)
    _ask(connection, "BEGIN")
    errors = []
    for part in range(40):
        answer = rows.ask(connection, "INSERT INTO b.w SELECT id + 20000 + 1000 * "
                                      f"{part}, k, REPEAT(v, 4000) FROM b.t WHERE id < 100")
        if answer.error:
            errors.append(answer.error[0])
            break
    assert errors == [OUT_OF_MEMORY]
    _ask(connection, "ROLLBACK")
    connection.close()


def test_user_variables_are_shared_and_counted(bounded):
    one, other = rows.connect(bounded), rows.connect(bounded)
    errors = []
    for at in range(60):
        answer = rows.ask(one, f"SET @v{at} = REPEAT('a', 1000000)")
        if answer.error:
            errors.append((at, answer.error[0]))
            break
    assert [number for _, number in errors] == [OUT_OF_MEMORY] and 15 < errors[0][0] < 30
    # What was set is there, a value that takes its place has room, and other sessions go on.
    assert _numbers(one, "SELECT LENGTH(@v3), @v59 IS NULL") == [[1000000, 1]]
    _ask(one, "SET @v3 = NULL")
    _ask(one, "SET @w = REPEAT('b', 900000)")
    _ask(other, "SET @v = REPEAT('a', 10000000)")
    _ask(one, "SET pelorus_session_memory = 33554432")
    _ask(one, "SET @more = REPEAT('a', 5000000)")
    one.close()
    other.close()


def test_texts_of_prepared_statements_are_counted(bounded):
    one, other = rows.connect(bounded), rows.connect(bounded)
    text = "SELECT 1 /* " + "a" * 1_000_000 + " */"
    numbers = []
    for at in range(60):
        answer = rows.ask(one, f"PREPARE p{at} FROM '{text}'")
        if answer.error:
            numbers.append(answer.error[0])
            break
    assert numbers == [OUT_OF_MEMORY]
    _ask(one, "DEALLOCATE PREPARE p0")
    _ask(one, f"PREPARE q FROM '{text}'")
    one.close()
    wait_for("the statements to be gone", lambda: _prepared(other) == 0)
    # The number of statements is one of all sessions.
    _ask(other, "SET GLOBAL max_prepared_stmt_count = 3")
    sessions = [rows.connect(bounded) for _ in range(2)]
    for session in sessions:
        _ask(session, "PREPARE a FROM 'SELECT 1'")
    _ask(other, "PREPARE a FROM 'SELECT 1'")
    assert _prepared(other) == 3
    refused = rows.ask(other, "PREPARE b FROM 'SELECT 1'").error
    assert refused == (TOO_MANY_PREPARED, "Can't create more than max_prepared_stmt_count "
                                          "statements (current value: 3)")
    _ask(sessions[0], "DEALLOCATE PREPARE a")
    _ask(other, "PREPARE b FROM 'SELECT 1'")
    _ask(other, "SET GLOBAL max_prepared_stmt_count = 16382")
    for session in [other, *sessions]:
        session.close()


def _prepared(connection) -> int:
    return int(_ask(connection, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")[0][1])


class Binary:
    """The commands of prepared statements, on a connection of PyMySQL."""

    def __init__(self, server):
        self.connection = server.connect()

    def command(self, number: int, body: bytes) -> None:
        self.connection._execute_command(number, body)

    def prepare(self, statement: str) -> int:
        self.command(0x16, statement.encode())
        head = self.connection._read_packet().get_all_data()
        number, columns, parameters = struct.unpack_from("<IHH", head, 1)
        for count in (parameters, columns):
            for _ in range(count + 1 if count else 0):
                self.connection._read_packet()
        return number

    def long_data(self, number: int, parameter: int, data: bytes) -> None:
        self.command(0x18, struct.pack("<IH", number, parameter) + data)

    def execute(self, number: int, parameters: int = 0, cursor: bool = False) -> int:
        """Runs it; all parameters are long data. Returns how many columns it has."""
        types = bytes((parameters + 7) // 8) + b"\1" + b"\xfc\0" * parameters if parameters else b""
        self.command(0x17, struct.pack("<IBI", number, int(cursor), 1) + types)
        columns = self.connection._read_packet().get_all_data()[0]
        for _ in range(columns + 1):
            self.connection._read_packet()
        return columns

    def rows(self) -> int:
        """Reads the rows of a result."""
        count = 0
        while not self.connection._read_packet().is_eof_packet():
            count += 1
        return count

    def fetch(self, number: int, count: int) -> int:
        self.command(0x1C, struct.pack("<II", number, count))
        return self.rows()

    def error(self, action, *values) -> int:
        with pytest.raises(pymysql.MySQLError) as raised:
            action(*values)
        return raised.value.args[0]

    def close(self) -> None:
        self.connection.close()


def test_long_data_is_counted(bounded):
    client = Binary(bounded)
    number = client.prepare("SELECT LENGTH(?), LENGTH(?), LENGTH(?)")
    piece = b"a" * MIB
    # One parameter is no longer than a packet.
    for _ in range(17):
        client.long_data(number, 0, piece)
    assert client.error(client.execute, number, 3) == 1105
    # All together are what the session may hold.
    for parameter in range(3):
        for _ in range(9):
            client.long_data(number, parameter, piece)
    assert client.error(client.execute, number, 3) == OUT_OF_MEMORY
    # What was refused is gone, and less than that works.
    for parameter in range(3):
        client.long_data(number, parameter, piece)
    client.execute(number, 3)
    assert client.rows() == 1
    client.long_data(number, 0, piece)
    client.close()


def test_open_cursors_are_counted(bounded):
    client = Binary(bounded)
    long = client.prepare("SELECT REPEAT(v, 5000) FROM b.t")
    short = client.prepare("SELECT v FROM b.t")
    for number in (long, short):
        client.execute(number, cursor=True)
    # The next statement takes what is left of both into memory, as far as it has room.
    client.connection.query("SELECT 1")
    assert client.error(client.fetch, long, 10) == OUT_OF_MEMORY
    assert client.fetch(short, 2999) == 2999
    client.close()


def test_slow_clients_hold_no_more_than_the_budget(bounded):
    clients = []
    for _ in range(40):
        client = bounded.connect()
        client._execute_command(0x03, "SELECT REPEAT(v, 20000) FROM b.t")
        clients.append(client)
    observer = rows.connect(bounded)
    wait_for("all statements to run or end", lambda: _stays(observer))
    assert _numbers(observer, "SELECT 1") == [[1]]
    observer.close()
    for client in clients:
        client._force_close()


def _stays(connection) -> bool:
    """Whether memory stays as it is: no client reads, so everything waits."""
    before = _ask(connection, "SHOW GLOBAL STATUS LIKE 'Pelorus_memory_peak'")
    _ask(connection, "SELECT COUNT(*) FROM b.t a JOIN b.t b ON a.k = b.k")
    return before == _ask(connection, "SHOW GLOBAL STATUS LIKE 'Pelorus_memory_peak'")


def test_packets_on_their_way_are_counted(bounded):
    clients = [bounded.connect() for _ in range(20)]
    refused = 0
    for client in clients:
        # All but the end of a packet of 15 MiB.
        size = 15 * MIB
        try:
            client._sock.sendall(struct.pack("<I", size)[:3] + b"\0\x03" + b"x" * (size - 100))
        except OSError:
            refused += 1
    observer = rows.connect(bounded)
    def held() -> bool:
        return _held(observer) >= SPARE - 30 * MIB
    wait_for("the packets to arrive", held)
    assert _held(observer) <= SPARE
    assert _numbers(observer, "SELECT 1") == [[1]]
    observer.close()
    for client in clients:
        client._force_close()


def test_files_that_queries_spill_to_have_limits(bounded):
    connection = rows.connect(bounded)
    statement = "SELECT LENGTH(body) FROM b.w ORDER BY body DESC LIMIT 200, 5"
    disk = os.statvfs(bounded.folder)
    # More than is free, also if other processes delete files meanwhile.
    for name, value in (("pelorus_spill_limit", 4 * MIB),
                        ("pelorus_spill_reserve", disk.f_blocks * disk.f_frsize)):
        [[before]] = _numbers(connection, f"SELECT @@GLOBAL.{name}")
        _ask(connection, f"SET GLOBAL {name} = {value}")
        error = rows.ask(connection, statement).error
        assert error[0] == DISK_FULL and name in error[1], error
        # Others have space.
        _ask(connection, "CREATE TABLE IF NOT EXISTS b.s (id INT PRIMARY KEY)")
        _ask(connection, "REPLACE INTO b.s VALUES (1)")
        _ask(connection, f"SET GLOBAL {name} = {before}")
        assert len(_ask(connection, statement)) == 5
    # A sort that is over lets its files go when its tasks end, which the client does not wait for.
    wait_for("statements that are over to let their files go", lambda: _spilled(connection) == 0)
    connection.close()


def _spilled(connection) -> int:
    """Bytes of the files that statements have spilled to, now."""
    return int(_ask(connection, "SHOW GLOBAL STATUS LIKE 'Pelorus_spilled'")[0][1])
