"""Time zones whose clocks are set forward and back: expressions, native tables and mirrors give what
a MySQL or MariaDB gives that has such a zone, by name or as its own."""

from __future__ import annotations

import pytest
from pelorus_tools import machine, mirrored, rows, servers
from pelorus_tools.processes import wait_for

BERLIN = "Europe/Berlin"
ZONES = [BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]


@pytest.fixture(scope="module")
def zoned_mysql():
    """A MySQL on a machine in Berlin, which knows time zones by name."""
    root, reason = machine.mysql_root()
    if root is None:
        pytest.skip(f"no MySQL: {reason}")
    server = servers.MySql("mysql-zoned", 31, time_zone=BERLIN)
    server.load_time_zones()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def zoned_mariadb():
    """A MariaDB on a machine in Berlin."""
    server = servers.MariaDb("mariadb-zoned", 32, time_zone=BERLIN)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def in_berlin(linked_maker):
    """A Pelorus on a machine in Berlin."""
    return linked_maker(name="pelorus-zoned", environment={"TZ": BERLIN})


EXPRESSIONS = [
    "SELECT UNIX_TIMESTAMP('2024-10-27 01:59:59'), UNIX_TIMESTAMP('2024-10-27 02:30:00'), "
    "UNIX_TIMESTAMP('2024-10-27 03:00:00'), UNIX_TIMESTAMP('1970-01-01 00:00:00')",
    "SELECT UNIX_TIMESTAMP('2024-03-31 01:59:59'), UNIX_TIMESTAMP('2024-03-31 02:30:00.5'), "
    "UNIX_TIMESTAMP('2024-03-31 03:00:00'), UNIX_TIMESTAMP('2024-03-10 02:30:00')",
    "SELECT UNIX_TIMESTAMP('2024-11-03 01:30:00'), UNIX_TIMESTAMP('2024-04-07 01:45:00'), "
    "UNIX_TIMESTAMP('2050-07-01 00:00:00'), UNIX_TIMESTAMP('2999-07-01 00:00:00')",
    "SELECT FROM_UNIXTIME(1729989000), FROM_UNIXTIME(1729992600), FROM_UNIXTIME(1711846799), "
    "FROM_UNIXTIME(1711846800.5), FROM_UNIXTIME(2147483647), FROM_UNIXTIME(2500000000)",
    "SELECT FROM_UNIXTIME(1720000000, '%Y %H:%i'), FROM_UNIXTIME(1700000000, '%Y %H:%i')",
    "SELECT TIMESTAMP '2024-07-31 02:30:00+05:00', TIMESTAMP '2024-12-31 02:30:00-05:00'",
    "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())",
    "SELECT CONVERT_TZ('2024-03-31 02:30:00', 'Europe/Berlin', '+00:00'), "
    "CONVERT_TZ('2024-10-27 02:30:00', 'europe/berlin', 'America/New_York'), "
    "CONVERT_TZ('2024-07-01 00:00:00', '+00:00', 'Asia/Tokyo'), "
    "CONVERT_TZ('1960-07-01 00:00:00', '+00:00', 'Europe/Berlin'), "
    "CONVERT_TZ('2060-07-01 00:00:00', '+00:00', 'Europe/Berlin'), "
    "CONVERT_TZ('2024-07-01 00:00:00', 'Mars/Olympus', 'UTC'), "
    "CONVERT_TZ('2024-07-01 00:00:00', 'UTC', '')",
]

# The hour that comes twice is where it is seen which moment was meant.
TABLE = [
    "CREATE TABLE t (a INT PRIMARY KEY, b TIMESTAMP(1) NULL, c DATETIME(1), "
    "d TIMESTAMP NOT NULL DEFAULT '2024-07-01 12:00:00')",
    "INSERT INTO t (a, b, c) VALUES (1, '2024-10-27 02:30:00', '2024-10-27 02:30:00')",
    "INSERT INTO t (a, b) VALUES (2, '2024-03-31 02:30:00.4')",
    "INSERT INTO t (a, b) VALUES (3, '2024-03-31 03:00:00'), (4, '2024-03-10 02:30:00')",
    "INSERT INTO t (a, b, c) VALUES (5, '2024-10-27 02:30:00+01:00', '2024-10-27 02:30:00+01:00'), "
    "(6, '2024-10-27 02:00:00', NULL), (7, '2024-10-27 03:00:00', NULL), (8, NULL, NULL)",
    "INSERT IGNORE INTO t (a, b) VALUES (9, '2024-03-31 02:30:00.4'), (10, '2024-03-10 02:30:00')",
    "INSERT INTO t (a, b) VALUES (11, '2024-04-07 01:45:00'), (12, '2024-11-03 01:30:00')",
    "INSERT INTO t (a, b) VALUES (13, '1970-01-01 00:30:00')",
    "SELECT a, b, c, d FROM t ORDER BY a",
    "SELECT a FROM t WHERE b = '2024-10-27 02:30:00' ORDER BY a",
    "SELECT a FROM t WHERE b >= '2024-10-27 02:30:00' ORDER BY a",
    "SELECT a FROM t WHERE b < '2024-10-27 02:30:00' ORDER BY a",
    "SELECT a FROM t WHERE b >= '2024-03-31 02:30:00' ORDER BY a",
    "SELECT a FROM t WHERE b < '2024-03-31 02:30:00' ORDER BY a",
    "SELECT a FROM t WHERE b BETWEEN '2024-03-31 00:00:00' AND '2024-10-27 01:00:00' ORDER BY a",
    "SELECT a FROM t WHERE b IN ('2024-10-27 02:00:00', '2024-03-31 03:00:00.4') ORDER BY a",
    "SELECT MIN(b), MAX(b), COUNT(b) FROM t",
    "UPDATE t SET c = b WHERE a IN (3, 4, 7)",
    "UPDATE t SET d = '2024-01-01' WHERE a IN (1, 5, 6)",
    "SELECT a FROM t WHERE b < '2024-10-27 03:00:00' ORDER BY UNIX_TIMESTAMP(c), a",
    "UPDATE t SET b = b + INTERVAL 6 MONTH WHERE a IN (3, 4, 11)",
    "UPDATE t SET b = '2024-03-31 02:15:00' WHERE a = 3",
    "SELECT a, b, c, d FROM t ORDER BY a",
    "SELECT COLUMN_DEFAULT FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 't' AND COLUMN_NAME = 'd'",
]
STRICT = ("SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
          "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'")


def _opened(server, zone: str, mode: str):
    connection = rows.connect(server)
    for statement in ("SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci", f"SET time_zone = '{zone}'",
                      mode, "DROP DATABASE IF EXISTS zoned", "CREATE DATABASE zoned", "USE zoned"):
        answer = rows.ask(connection, statement)
        assert answer.error is None, (statement, answer.error)
    return connection


def _compare(oracle, ours, statements: list[str]) -> None:
    failures = []
    for statement in statements:
        expected, given = rows.ask(oracle, statement), rows.ask(ours, statement)
        found = rows.differences(expected, given, True)
        if not found:
            one, two = (rows.ask(it, "SHOW WARNINGS").rows for it in (oracle, ours))
            found = [] if one == two else [f"warnings: expected {one}, got {two}"]
        failures += [f"{statement}\n    {text}" for text in found]
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("zone", ZONES)
def test_named_zones(zone, zoned_mysql, in_berlin):
    for mode in (STRICT, "SET sql_mode = ''"):
        oracle, ours = (_opened(server, zone, mode) for server in (zoned_mysql, in_berlin))
        _compare(oracle, ours, EXPRESSIONS + TABLE)


def test_names(zoned_mysql, in_berlin):
    statements = ["SET time_zone = 'EUROPE/berlin'", "SELECT @@time_zone",
                  "SET time_zone = 'Mars/Olympus'", "SET time_zone = ''", "SELECT @@time_zone",
                  "SET time_zone = 'system'", "SELECT @@time_zone, @@system_time_zone"]
    oracle, ours = (_opened(server, BERLIN, STRICT) for server in (zoned_mysql, in_berlin))
    _compare(oracle, ours, statements)


def test_the_zone_of_the_machine(zoned_mysql, in_berlin):
    """Without the hour that comes twice: a server takes the moment that is nearer to the season in
    which it was started."""
    twice = ("2024-10-27 02:30", "2024-10-27 02:00")
    statements = [text for text in EXPRESSIONS + TABLE if not any(it in text for it in twice)]
    statements.append("SELECT CONVERT_TZ('2024-07-01 00:00:00', '+00:00', 'SYSTEM'), "
                      "CONVERT_TZ('2060-07-01 00:00:00', 'SYSTEM', '+00:00')")
    oracle, ours = (_opened(server, "SYSTEM", STRICT) for server in (zoned_mysql, in_berlin))
    _compare(oracle, ours, statements)


def test_a_moment_that_was_shown_twice_is_not_guessed(in_berlin):
    ours = _opened(in_berlin, BERLIN, STRICT)
    for statement in ("CREATE TABLE t (a INT PRIMARY KEY, b TIMESTAMP, c INT)",
                      "CREATE TABLE u LIKE t",
                      "INSERT INTO t VALUES (1, '2024-10-27 02:30:00+01:00', 0)"):
        assert rows.ask(ours, statement).error is None
    for statement in ("INSERT INTO u SELECT * FROM t", "UPDATE t SET b = b, c = 5",
                      "CREATE TABLE v (PRIMARY KEY (a)) AS SELECT * FROM t"):
        error = rows.ask(ours, statement).error
        assert error is not None and error[0] == 1235, (statement, error)
        assert "SET time_zone" in error[1], error
    # In and outside of a transaction.
    for statement in ("UPDATE t SET c = 2", "BEGIN", "UPDATE t SET c = 3", "UPDATE t SET c = 1",
                      "COMMIT", "SET time_zone = '+00:00'", "INSERT INTO u SELECT * FROM t"):
        assert rows.ask(ours, statement).error is None, statement
    for table in ("t", "u"):
        assert rows.ask(ours, f"SELECT b, c FROM {table}").rows == [(b"2024-10-27 01:30:00", b"1")]


OF_ROWS = [
    "SELECT a, b, d FROM t ORDER BY a",
    "SELECT a FROM t WHERE b = '2024-10-27 02:30:00' ORDER BY a",
    "SELECT a FROM t WHERE b >= '2024-10-27 02:30:00' ORDER BY a",
    "SELECT a FROM t WHERE b < '2024-07-01' ORDER BY a",
    "SELECT DATE(b), COUNT(*) FROM t GROUP BY DATE(b) ORDER BY 1",
    # Which of them counts depends on NOW().
    "SELECT a FROM t WHERE c > NOW() ORDER BY a",
    # The two servers are asked one after the other: a minute may end in between.
    "SELECT TIMESTAMPDIFF(MINUTE, MAX(d), NOW()) BETWEEN 0 AND 19 FROM t",
]


@pytest.mark.parametrize("name", ["zoned_mysql", "zoned_mariadb"])
def test_mirrors_show_what_the_server_shows(name, request, linked_maker):
    """Sessions that say nothing of their time zone, the server in Berlin, Pelorus elsewhere."""
    server = request.getfixturevalue(name)
    through = linked_maker(server.url(), name=f"pelorus-of-{server.name}",
                           environment={"TZ": "America/New_York"})
    pair = mirrored.Mirrored(server, through)
    pair.begin("clocks", "CREATE TABLE t (a INT PRIMARY KEY, b TIMESTAMP NULL, c DATETIME, d TIMESTAMP)",
               # In universal time: an hour apart, half an hour, and half a year.
               "INSERT INTO t VALUES (1, '2024-10-27 00:30:00', NULL, NOW()), "
               "(2, '2024-10-27 01:30:00', NULL, NOW()), (3, '2024-03-31 00:59:59', NULL, NOW()), "
               "(4, '2024-03-31 01:00:00', NULL, NOW()), (5, '1995-07-01 00:00:00', NULL, NOW()), "
               "(6, '2037-07-01 00:00:00', NULL, NOW()), (7, NULL, NULL, NOW())")
    # On the server's clock.
    server.run("USE clocks", "UPDATE t SET c = NOW() + INTERVAL (a - 4) * 20 MINUTE")
    through.run("MIRROR TABLE clocks.t")
    pair.wait_live("clocks", "t")
    oracle, ours = (rows.connect(it, database="clocks") for it in (server, through))
    rows.ask(ours, "SET pelorus_max_staleness = 0")
    rows.ask(ours, "SET pelorus_mirror_timeout = 120000")
    before = pair.state("clocks", "t")["Queries"]
    for statement in OF_ROWS:
        expected, given = rows.ask(oracle, statement), rows.ask(ours, statement)
        assert (expected.rows, expected.error) == (given.rows, given.error), statement
    assert pair.state("clocks", "t")["Queries"] == before + len(OF_ROWS)


@pytest.mark.parametrize("kind", [servers.MySql, servers.MariaDb])
def test_a_server_that_gets_another_zone(kind, linked_maker):
    """Started in another one, and by SET GLOBAL: mirrors show what new sessions of the server show."""
    if kind is servers.MySql and machine.mysql_root()[0] is None:
        pytest.skip("no MySQL")
    name = f"{kind.__name__.lower()}-moved"
    server = kind(name, 87 if kind is servers.MySql else 88, time_zone="UTC")
    try:
        through = linked_maker(server.url(), name=f"pelorus-of-{name}")
        pair = mirrored.Mirrored(server, through)
        pair.begin("clocks", "CREATE TABLE t (a INT PRIMARY KEY, b TIMESTAMP NULL)",
                   "INSERT INTO t VALUES (1, '2024-07-01 12:00:00')")
        through.run("MIRROR TABLE clocks.t")
        pair.wait_live("clocks", "t")
        ask = ["SET pelorus_max_staleness = 0", "SET pelorus_mirror_timeout = 120000"]
        query = "SELECT b, TIMESTAMPDIFF(HOUR, UTC_TIMESTAMP(), NOW()) FROM clocks.t"

        def shown(*more: str) -> tuple[str, int]:
            (moment, hours), = through.run(*ask, *more, query)
            return str(moment), hours

        assert shown() == ("2024-07-01 12:00:00", 0)
        server.stop()
        server.set_time_zone("Asia/Kolkata")
        server.start()
        before, answers = pair.state("clocks", "t")["Queries"], []

        def is_of_mirror() -> bool:
            answers.append(shown())
            return pair.state("clocks", "t")["Queries"] > before

        wait_for("an answer of the mirror", is_of_mirror)
        # Not even the first shows the zone of before.
        assert set(answers) == {("2024-07-01 17:30:00", 5)}, answers
        server.run("SET GLOBAL time_zone = '-03:00'")
        moved = ("2024-07-01 09:00:00", -3)
        wait_for("the zone", lambda: shown() == moved)
        # Sessions in which the server answers, too.
        assert shown("SET pelorus_mirrors = OFF") == moved
    finally:
        server.stop()


def test_a_server_in_no_known_zone(linked_maker):
    """Rules that nobody has: what has TIMESTAMPs is read on the server."""
    server = servers.MariaDb("mariadb-odd", 33, time_zone="ODD-1DDO,M3.4.0,M10.4.0/3")
    try:
        through = linked_maker(server.url(), name="pelorus-of-odd")
        pair = mirrored.Mirrored(server, through)
        pair.begin("clocks", "CREATE TABLE t (a INT PRIMARY KEY, b TIMESTAMP)",
                   "CREATE TABLE u (a INT PRIMARY KEY, b DATETIME)",
                   "INSERT INTO t VALUES (1, '2024-07-01 12:00:00')",
                   "INSERT INTO u VALUES (1, '2024-07-01 12:00:00')")
        through.run("MIRROR DATABASE clocks")
        pair.wait_live("clocks", "t", "u")
        ask = ["SET pelorus_max_staleness = 0", "SET pelorus_mirror_timeout = 120000", "USE clocks"]
        assert str(through.run(*ask, "SELECT b FROM t")[0][0]) == "2024-07-01 14:00:00"
        assert str(through.run(*ask, "SELECT b FROM u")[0][0]) == "2024-07-01 12:00:00"
        counts = {name: row["Queries"] for name, row in pair.of_database("clocks").items()}
        assert counts == {"t": 0, "u": 1}
        assert "no known time zone" in through.log()
    finally:
        server.stop()
