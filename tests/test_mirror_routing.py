"""Which statements mirrors and splits may answer, and which the server must: whatever its session,
its settings or its rules would make of a statement, a client gets the server's answer."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pelorus_tools import rows, servers
from pelorus_tools.mirrored import OF_PELORUS, OF_SERVER, Mirrored, is_of_mirrors, plan_of


def answers(server, database: str, *statements: str) -> list:
    """What the statements of one session give: rows, counts or the numbers of errors."""
    with rows.connect(server, database=database) as connection:
        given = [rows.ask(connection, statement) for statement in statements]
    return [answer.error[0] if answer.error else answer.rows or answer.affected for answer in given]


def alike(pair: Mirrored, database: str, *statements: str) -> None:
    """Asserts that a session has the same answers on the server and through Pelorus."""
    expected = answers(pair.server, database, *OF_SERVER, *statements)[len(OF_SERVER):]
    given = answers(pair.through, database, *OF_PELORUS, *statements)[len(OF_PELORUS):]
    assert given == expected, statements


def live(pair: Mirrored, database: str, *begin: str) -> None:
    """A database all of which is mirrored and live."""
    pair.begin(database, *begin)
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)


@pytest.fixture
def shop(pair):
    """A mirrored table `t`."""
    live(pair, "shop", "CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20))",
         "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')")
    yield pair
    pair.through.run("UNMIRROR DATABASE shop")
    pair.server.run("DROP DATABASE shop")


def test_the_past_of_a_table_is_the_servers(shop):
    later = "2031-01-01 00:00:00"
    alike(shop, "shop", f"SELECT COUNT(*) FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '{later}'",
          "SELECT COUNT(*) FROM t")


def test_system_versioned_tables(mariadb, pelorus_mariadb):
    """They are not mirrored, and `SHOW MIRRORS` says so; the server answers."""
    pair = Mirrored(mariadb, pelorus_mariadb)
    pair.begin("past", "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
               "INSERT INTO t VALUES (1, 1), (2, 2)", "CREATE TABLE u (id INT PRIMARY KEY)",
               "CREATE TABLE p (id INT PRIMARY KEY, a DATE, b DATE, PERIOD FOR x (a, b))",
               "CREATE SEQUENCE q", "CREATE TABLE h (id INT PRIMARY KEY, b TEXT, UNIQUE u (b))",
               "CREATE TABLE i (id INT PRIMARY KEY, b TEXT)")
    pelorus_mariadb.run("MIRROR DATABASE past")
    for table, word in [("t", "system-versioned"), ("p", "PERIOD FOR"), ("q", "a sequence"),
                        ("h", "key 'u' is a hash")]:
        found = pair.wait_state("past", table, "failed")
        assert word in found["Reason"], found
    pair.wait_live("past", "u", "i")
    mariadb.run("ALTER TABLE past.i ADD UNIQUE (b)", "INSERT INTO past.i VALUES (1, 'x')")
    assert "is a hash" in pair.wait_state("past", "i", "failed")["Reason"]
    mariadb.run("ALTER TABLE past.u ADD SYSTEM VERSIONING")
    assert "system-versioned" in pair.wait_state("past", "u", "failed")["Reason"]
    mariadb.run("ALTER TABLE past.u DROP SYSTEM VERSIONING", "INSERT INTO past.u VALUES (1)")
    pair.wait_live("past", "u")
    pair.same_tables("past", "u")
    time.sleep(0.1)
    (moment,), = mariadb.run("SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)")
    mariadb.run("UPDATE past.t SET v = 5 WHERE id = 1")
    alike(pair, "past", "SELECT * FROM t ORDER BY id", "SELECT a FROM p", "SELECT v FROM t WHERE id = 2")
    expected = f"SELECT v FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '{moment}' WHERE id = 1"
    assert answers(pelorus_mariadb, "past", *OF_PELORUS, expected)[-1] == [(b"1",)]
    alike(pair, "past", expected, "SELECT v FROM t FOR SYSTEM_TIME ALL WHERE id = 1 ORDER BY v")
    pelorus_mariadb.run("UNMIRROR DATABASE past")
    mariadb.run("DROP DATABASE past")


@pytest.fixture(scope="module")
def eastern(linked_maker):
    """A MariaDB five hours east of the machine, and a Pelorus."""
    server = servers.MariaDb("mariadb-eastern", 41, options=("--default-time-zone=+05:00",))
    yield Mirrored(server, linked_maker(server.url(), name="pelorus-eastern"))
    server.stop()


def test_first_queries_at_once_have_the_servers_clock(eastern):
    live(eastern, "clock", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    ask = "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW()) FROM t"
    for _ in range(3):
        eastern.through.stop()
        eastern.through.start()
        eastern.wait_for_database("clock")
        with ThreadPoolExecutor(8) as pool:
            given = list(pool.map(lambda _: answers(eastern.through, "clock", ask), range(24)))
        assert given == [[[(b"300",)]]] * 24


class TestExpressions:
    """Subqueries in SET, DO and EXECUTE see what the session's own connection sees."""

    @pytest.mark.parametrize("begin", [["BEGIN"], ["SET autocommit = 0"]])
    def test_in_a_transaction(self, shop, begin):
        alike(shop, "shop", *begin, "UPDATE t SET a = a + 10", "SET @n = (SELECT SUM(a) FROM t)",
              "SELECT @n", "DO (SELECT SLEEP(0) FROM t LIMIT 1)",
              "SET div_precision_increment = (SELECT COUNT(*) FROM t WHERE a > 10)",
              "SELECT @@div_precision_increment", "ROLLBACK")

    def test_parameters_of_prepared_statements(self, shop):
        # Servers take no subqueries there.
        given = answers(shop.through, "shop", "BEGIN", "INSERT INTO t VALUES (4, 4, 'd')",
                        "PREPARE p FROM 'SELECT s FROM t WHERE id = ?'",
                        "EXECUTE p USING (SELECT MAX(id) FROM t)", "ROLLBACK")
        assert given[3] == [(b"d",)]

    def test_of_a_temporary_table(self, shop):
        alike(shop, "shop", "CREATE TEMPORARY TABLE t (zz INT)", "INSERT INTO t VALUES (9), (8)",
              "SET @n = (SELECT SUM(zz) FROM t)", "SELECT @n", "DROP TEMPORARY TABLE t")

    def test_under_locks(self, shop):
        alike(shop, "shop", "LOCK TABLES t WRITE", "SET @n = (SELECT MAX(id) FROM t)",
              "DO (SELECT MAX(id) FROM t)", "UNLOCK TABLES", "SELECT @n")
        given = answers(shop.through, "shop", "LOCK TABLES t WRITE", "EXPLAIN SELECT id FROM t",
                        "UNLOCK TABLES")
        assert len(given[1]) == 1


@pytest.fixture
def functions(pair):
    """A database with stored functions, one of which writes."""
    pair.begin("fun", "CREATE TABLE un (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    pair.server.run(
        "CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x * 2",
        "CREATE FUNCTION addone() RETURNS INT DETERMINISTIC MODIFIES SQL DATA "
        "BEGIN INSERT INTO un (v) VALUES (1); RETURN 1; END", database="fun")
    yield pair
    pair.server.run("DROP DATABASE fun")


def test_stored_functions_without_tables(functions):
    alike(functions, "fun", "SELECT twice(4)", "SELECT fun.twice(4) + 1", "SET @x = twice(3)",
          "SELECT @x", "SELECT twice(@x)", "DO twice(1)", "SELECT nosuch(1)",
          "PREPARE s FROM 'SELECT twice(?)'", "SET @k = 8", "EXECUTE s USING @k")
    alike(functions, "fun", "BEGIN", "SELECT addone()", "SET @n = addone()", "DO addone()",
          "SELECT COUNT(*) FROM un", "ROLLBACK", "SELECT COUNT(*) FROM un")


class TestPrepared:
    """Statements are prepared where they will run."""

    def test_of_a_temporary_table(self, shop):
        alike(shop, "shop", "CREATE TEMPORARY TABLE tmp (a INT)", "INSERT INTO tmp VALUES (5)",
              "PREPARE s FROM 'SELECT a, @x FROM tmp WHERE a > ?'", "SET @k = 1",
              "EXECUTE s USING @k", "DROP TEMPORARY TABLE tmp")
        alike(shop, "shop", "CREATE TEMPORARY TABLE t (zz INT)", "INSERT INTO t VALUES (9)",
              "PREPARE s FROM 'SELECT * FROM t'", "EXECUTE s", "DROP TEMPORARY TABLE t")

    def test_under_locks(self, shop):
        alike(shop, "shop", "LOCK TABLES t WRITE", "PREPARE s FROM 'SELECT COUNT(*) FROM t'",
              "EXECUTE s", "UNLOCK TABLES")


def test_last_insert_id_is_what_the_server_made(pair):
    pair.begin("ids", "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    alike(pair, "ids", "TRUNCATE TABLE a", "INSERT INTO a (v) VALUES (1)",
          "INSERT INTO a (id, v) VALUES (500, 1)", "SELECT LAST_INSERT_ID(), @@identity",
          "INSERT INTO a (v) VALUES (1), (2)", "SET @x = LAST_INSERT_ID()", "SELECT @x",
          "UPDATE a SET v = LAST_INSERT_ID(77) WHERE id = 1", "SELECT @@last_insert_id",
          "INSERT INTO a (id, v) VALUES (1, 1) ON DUPLICATE KEY UPDATE v = 3",
          "PREPARE s FROM 'SELECT LAST_INSERT_ID()'", "EXECUTE s",
          "SET last_insert_id = 9", "INSERT INTO a (id, v) VALUES (600, 1)", "SELECT LAST_INSERT_ID()",
          "INSERT INTO a (v) SELECT LAST_INSERT_ID()", "SELECT v FROM a WHERE id > 600")
    pair.server.run("DROP DATABASE ids")


def test_modes_that_only_the_server_follows(pair):
    live(pair, "modes", "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(5), f DOUBLE)",
         "INSERT INTO t VALUES (1, 'ab', 12.5), (2, 'b', 1)")
    alike(pair, "modes", "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'",
          "SELECT c, CHAR_LENGTH(c), CONCAT(c, '|') FROM t ORDER BY id",
          "SELECT id FROM t WHERE c LIKE 'ab'")
    if pair.server.kind != "mariadb":  # which casts to no REAL
        alike(pair, "modes", "SET sql_mode = 'REAL_AS_FLOAT'", "SELECT CAST(f / 3 AS REAL) FROM t")
    pair.through.run("UNMIRROR DATABASE modes")
    pair.server.run("DROP DATABASE modes")


def test_padded_chars_of_native_tables_are_refused(pelorus_mariadb):
    pelorus_mariadb.run("DROP DATABASE IF EXISTS padded", "CREATE DATABASE padded")
    given = answers(pelorus_mariadb, "padded", "CREATE TABLE t (c CHAR(5) PRIMARY KEY)",
                    "INSERT INTO t VALUES ('ab')",
                    "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", "SELECT c FROM t",
                    "SET sql_mode = ''", "SELECT c FROM t")
    assert given[3] == 1235 and given[5] == [(b"ab",)]
    pelorus_mariadb.run("DROP DATABASE padded")


class TestMariaDb:
    """What a MariaDB computes otherwise than a MySQL is the server's to answer, over mirrors and
    over splits; plain reports are not."""

    OTHERWISE = [
        "SELECT SUM(v = 1) / COUNT(*) * 100 FROM t",
        "SELECT id, n / 7 * 100, ROUND(n / 7, 2), CAST(n / 7 AS DECIMAL(10, 2)) FROM t ORDER BY id",
        "SELECT x * 100 FROM (SELECT n / 7 AS x FROM t) d ORDER BY 1",
        "SELECT id FROM t WHERE n / 7 > 1.7857 ORDER BY id",
        "SELECT CAST(dt AS DATETIME), CAST(dt AS TIME), TIME_TO_SEC(dt) FROM t ORDER BY id",
        "SELECT EXTRACT(HOUR FROM tm), tm + INTERVAL 2 HOUR FROM t ORDER BY id",
        "SELECT ROUND(f, 2), -f, f * v FROM t ORDER BY id",
        "SELECT STD(v), VARIANCE(n), VAR_SAMP(v) FROM t",
        "SELECT MAX(bi), MIN(bi) FROM t",
        "SELECT GREATEST(v, ''), LEAST(s, v) FROM t ORDER BY id",
        "SELECT CAST(n - 20 AS UNSIGNED), UNIX_TIMESTAMP(d), FROM_DAYS(v) FROM t ORDER BY id",
        "SELECT LOCATE('A', s), RPAD(s, 5, ''), X'41' + 0, 'a' = 'a ' FROM t ORDER BY id",
        "SELECT COUNT(*) FROM t x JOIN t y ON x.tm = y.s",
        "SELECT ANY_VALUE(v) FROM t",
        "SELECT ROUND(AVG(rare), 6), TRUNCATE(AVG(rare), 6), -AVG(rare) * 1000, FLOOR(AVG(v)) FROM t",
        "SELECT AVG(rare) BETWEEN 0.1795 AND 1, AVG(rare) IN (0.1795), AVG(rare) = 0.1795e0 FROM t",
        "SELECT CASE AVG(rare) WHEN 0.1795 THEN 1 ELSE 2 END, IFNULL(AVG(rare), 0.000000) FROM t",
        "SELECT (AVG(rare), 1) IN ((0.1795, 1)), IF(1, AVG(rare), 1e0) FROM t",
        "SELECT ROUND(AVG(rare) OVER (), 6) FROM t",
        "SELECT odd, ROUND(AVG(rare), 3) FROM t GROUP BY odd ORDER BY COUNT(*), odd",
        "SELECT AVG(rare) FROM t UNION ALL SELECT 0.000000",
        "SELECT n / 7, COUNT(*) FROM t GROUP BY n / 7",
        "SELECT ROUND((SELECT AVG(rare) FROM t), 6)",
    ]
    PLAIN = [
        "SELECT v, COUNT(*), SUM(n), AVG(n), SUM(n) / COUNT(*), MIN(d), MAX(dt) FROM t GROUP BY v",
        "SELECT 100.00 * SUM(n) / SUM(v), SUM(n) / 7.0, IFNULL(SUM(n) / SUM(v), 0) FROM t",
        "SELECT v, ROUND(SUM(IF(n > 12, 1, 0)) / COUNT(*), 2), ROUND(SUM(n) / 7, 1), ROUND(n / 0, 2) FROM t GROUP BY v, n",
        "SELECT YEAR(d), MONTH(d), SUM(n * (1 - 0.1)) FROM t GROUP BY YEAR(d), MONTH(d)",
        "SELECT id FROM t WHERE d >= '2024-01-01' AND d < '2024-01-01' + INTERVAL 1 MONTH AND v <> 0",
        "SELECT id FROM t WHERE s = 'abc' OR s LIKE 'q%' OR tm > '10:00:00'",
        "SELECT id, f * 2, f / 4, CAST(d AS CHAR), DATE_FORMAT(dt, '%Y-%m') FROM t",
        "SELECT s, CASE WHEN v > 1 THEN n ELSE 0 END, COALESCE(s, '-') FROM t",
        "SELECT id FROM t WHERE n > (SELECT AVG(n) FROM t)",
        "SELECT AVG(rare), ROUND(AVG(rare), 3), ROUND(AVG(rare), 4), ROUND(AVG(rare)) FROM t",
        "SELECT AVG(rare) = 0.1795, AVG(rare) < 0.1795, IF(AVG(rare) < 0.1795, 'lo', 'hi') FROM t",
        "SELECT odd FROM t GROUP BY odd HAVING AVG(rare) > 0.17949",
        "SELECT odd, ROUND(AVG(rare), 3) FROM t GROUP BY odd ORDER BY odd DESC",
        "SELECT ROUND(a, 3), a * 1000 FROM (SELECT AVG(rare) a FROM t) d",
        "SELECT ROUND(far / 10000000000000000, 0), ROUND(id * far / 10000000000000000) FROM t",
        "SELECT ROUND(SUM(v), 2), TRUNCATE(SUM(n), 4), ROUND(1.5, 3), ROUND(MAX(n), 5) FROM t",
        "SELECT COUNT(*) FROM t WHERE n / 7 = 1.785714",
    ]

    @pytest.fixture
    def mixed(self, mariadb, pelorus_mariadb):
        pair = Mirrored(mariadb, pelorus_mariadb)
        live(pair, "mixed",
             "CREATE TABLE t (id INT PRIMARY KEY, v INT, n DECIMAL(10,2), f DOUBLE, s VARCHAR(30), "
             "bi BIT(8), d DATE, dt DATETIME(3), tm TIME, "
             "rare INT, odd INT DEFAULT 1, far BIGINT DEFAULT 4999999999999999)",
             "INSERT INTO t (id, v, n, f, s, bi, d, dt, tm) VALUES "
             "(1, 1, 12.50, 12.5, 'abc', 5, '2024-01-02', "
             "'2024-01-02 12:00:59.500', '26:30:00'), (2, -3, 0, 0, 'á ', 255, '0000-00-00', "
             "'2024-12-31 23:59:59.999', '-01:00:00'), (3, 0, 3.33, -1.5, NULL, NULL, NULL, NULL, NULL)",
             *(f"INSERT INTO t (id, v, n) VALUES ({n}, {n % 7}, {n}.37)" for n in range(4, 40)),
             # An average of 7 / 39 = 0.179487.., which shows as 0.1795.
             "UPDATE t SET rare = id < 8",
             "ANALYZE TABLE t")
        yield pair
        pelorus_mariadb.run("UNMIRROR DATABASE IF EXISTS mixed")
        mariadb.run("DROP DATABASE mixed")

    def test_mirrors(self, mixed):
        for statement in self.OTHERWISE:
            alike(mixed, "mixed", statement)
        mixed.same("mixed", *self.PLAIN, typed=False)

    def test_splits(self, mixed):
        mixed.through.run("UNMIRROR DATABASE mixed")
        for statement in [*self.OTHERWISE, *self.PLAIN]:
            expected = answers(mixed.server, "mixed", *OF_SERVER, statement)[-1]
            given = answers(mixed.through, "mixed", *OF_SERVER, "SET pelorus_min_split_rows = 0",
                            statement)[-1]
            if isinstance(expected, list) and "ORDER BY" not in statement:
                expected, given = sorted(expected, key=repr), sorted(given, key=repr)
            assert given == expected, statement
