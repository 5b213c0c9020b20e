"""Mirrors of a part of their table: columns that are left out, rows that a condition keeps away. They
answer what the part is enough for, exactly as the server does, and leave the rest to the server."""

from __future__ import annotations

import random
import threading

import pymysql
import pytest
from pelorus_tools import rows
from pelorus_tools.mirrored import OF_SERVER, Mirrored, is_of_mirrors, plan_of
from pelorus_tools.processes import wait_for

ORDERS = ("CREATE TABLE orders (id INT PRIMARY KEY, status VARCHAR(10), total DECIMAL(10,2), day DATE, "
          "note TEXT, secret VARCHAR(50) NOT NULL, gone DATETIME NULL, shop INT NOT NULL)",
          "INSERT INTO orders VALUES (1, 'open', 10.50, '2026-01-01', 'a', 's1', NULL, 1), "
          "(2, 'paid', 20.00, '2026-02-02', NULL, 's2', NULL, 2), "
          "(3, 'OPEN', 30.25, '2026-03-03', 'c', 's3', '2026-05-05 05:05:05', 1), "
          "(4, NULL, NULL, NULL, NULL, 's4', NULL, 3), (5, 'open', -5, '2025-12-31', 'e', 's5', NULL, 2)")
SHOPS = ("CREATE TABLE shops (id INT PRIMARY KEY, name VARCHAR(20))",
         "INSERT INTO shops VALUES (1, 'one'), (2, 'two'), (3, 'three')")


@pytest.fixture(params=["mariadb", "mysql"])
def own(request, linked_maker):
    """A server and a Pelorus of the test's own, which it may kill."""
    server = request.getfixturevalue(request.param)
    through = linked_maker(server.url(), name=f"pelorus-filter-{request.param}")
    yield Mirrored(server, through)
    through.stop()


def ask_both(pair: Mirrored, database: str, statement: str):
    """The answers of the server and of Pelorus, and whether mirrors gave that."""
    source, ours = pair._open(pair.server, database, OF_SERVER), pair.open(database)
    with source, ours:
        expected = rows.ask(source, statement)
        is_mirrored = is_of_mirrors(plan_of(ours, statement))
        before = pair.of_database(database)
        given = rows.ask(ours, statement)
        after = pair.of_database(database)
    counted = any(after[name]["Queries"] > before[name]["Queries"] for name in after)
    assert counted == is_mirrored, f"{statement}: EXPLAIN and the count of queries differ"
    return expected, given, is_mirrored


def from_server(pair: Mirrored, database: str, *statements: str) -> None:
    """Asserts that statements have the server's rows, and that no mirror gives them."""
    for statement in statements:
        expected, given, is_mirrored = ask_both(pair, database, statement)
        assert sorted(map(str, expected.rows)) == sorted(map(str, given.rows)), statement
        assert not is_mirrored, f"{statement} was answered by a part of its table"


def from_mirror(pair: Mirrored, database: str, *statements: str) -> None:
    """Asserts that statements have the server's rows, and that mirrors give them."""
    pair.same(database, *statements)
    for statement in statements:
        assert ask_both(pair, database, statement)[2], statement


def refused(pair: Mirrored, statement: str) -> str:
    """The error of a statement."""
    with pytest.raises(pymysql.MySQLError) as caught:
        pair.through.run(statement)
    return str(caught.value)


def wait_read(pair: Mirrored, database: str, table: str, loads: int) -> None:
    """Waits until a table has been read so many times, and is live."""
    def read() -> bool:
        found = pair.state(database, table)
        assert found["Loads"] == loads and found["State"] == "live", found
        return True
    wait_for(f"load {loads} of {table}", read)


def test_columns_that_are_left_out(pair):
    pair.begin("leaving", *ORDERS)
    pair.through.run("MIRROR TABLE leaving.orders EXCEPT COLUMNS (secret, note)")
    pair.wait_live("leaving", "orders")
    assert pair.state("leaving", "orders")["Filter"] == "EXCEPT COLUMNS (`secret`, `note`)"
    kept = "SELECT id, status, total, day, gone, shop FROM orders"
    from_mirror(pair, "leaving", kept, "SELECT COUNT(*) FROM orders",
                "SELECT status, SUM(total) FROM orders GROUP BY status")
    from_server(pair, "leaving", "SELECT * FROM orders", "SELECT o.* FROM orders o",
                "SELECT secret FROM orders", "SELECT COUNT(note) FROM orders",
                "SELECT id FROM orders WHERE note IS NULL", "SELECT id FROM orders ORDER BY secret",
                "SELECT x FROM (SELECT secret AS x FROM orders) d",
                "SELECT id FROM orders WHERE id IN (SELECT id FROM orders WHERE secret > 's2')",
                "SELECT COUNT(*) FROM orders a JOIN orders b ON a.secret = b.secret",
                "SELECT COUNT(DISTINCT secret) FROM orders",
                "SELECT id FROM orders GROUP BY id, note HAVING MAX(secret) > 's1'")
    with pair.open("leaving") as connection:
        rows.ask(connection, "EXPLAIN SELECT secret FROM orders")
        (_, _, why), = rows.ask(connection, "SHOW WARNINGS").rows
        assert b"'secret'" in why and b"leaves it out" in why
    pair.server.run("INSERT INTO orders VALUES (6, 'new', 1, NULL, REPEAT('n', 9000), 's6', NULL, 1)",
                    "UPDATE orders SET secret = 'other', total = 7 WHERE id < 3",
                    "UPDATE orders SET note = 'only' WHERE id = 3", "DELETE FROM orders WHERE id = 4",
                    "UPDATE orders SET id = 50 WHERE id = 5", database="leaving")
    from_mirror(pair, "leaving", kept)
    found = rows.ask(pair.through.connect(), "CHECK MIRROR leaving.orders")
    assert found.rows[-1][-1] == "OK", found.rows
    assert pair.state("leaving", "orders")["Loads"] == 1
    pair.through.run("ALTER MIRROR leaving.orders RESYNC")
    wait_read(pair, "leaving", "orders", 2)
    from_mirror(pair, "leaving", kept)
    from_server(pair, "leaving", "SELECT MAX(secret) FROM orders")
    pair.through.run("UNMIRROR TABLE leaving.orders", "MIRROR TABLE leaving.orders COLUMNS (id, Total)")
    pair.wait_live("leaving", "orders")
    from_mirror(pair, "leaving", "SELECT SUM(total), COUNT(*) FROM orders")
    from_server(pair, "leaving", "SELECT status FROM orders")
    pair.through.run("UNMIRROR TABLE leaving.orders")


def test_rows_that_come_and_go(pair):
    pair.begin("part", *ORDERS, *SHOPS)
    pair.through.run("MIRROR TABLE part.orders WHERE status = 'open' AND total > 0",
                     "MIRROR TABLE part.shops")
    pair.wait_live("part", "orders", "shops")
    assert pair.state("part", "orders")["Filter"] == "WHERE status = 'open' AND total > 0"
    assert pair.state("part", "orders")["Rows_loaded"] == 2
    every = "SELECT * FROM orders WHERE status = 'open' AND total > 0"
    from_mirror(pair, "part", every)
    for step in (
        "UPDATE orders SET status = 'open' WHERE id = 2",              # comes
        "UPDATE orders SET status = 'closed' WHERE id = 1",            # goes
        "UPDATE orders SET total = 0 WHERE id = 3",                    # goes by the other conjunct
        "UPDATE orders SET total = 5 WHERE id IN (3, 5)",              # comes again, and another
        "UPDATE orders SET id = id + 100 WHERE id IN (2, 4)",          # keys change, inside and outside
        "UPDATE orders SET id = 7, status = 'x' WHERE id = 102",       # leaves with another key
        "UPDATE orders SET id = 8, status = 'Open' WHERE id = 7",      # comes with another key
        "REPLACE INTO orders VALUES (8, 'gone', 1, NULL, NULL, '', NULL, 1)",
        "REPLACE INTO orders VALUES (8, 'open', 1.5, NULL, NULL, '', NULL, 1)",
        "INSERT INTO orders VALUES (9, 'open', 9, NULL, NULL, '', NULL, 3), (10, NULL, 9, NULL, NULL, "
        "'', NULL, 3), (11, 'open ', NULL, NULL, NULL, '', NULL, 3)",
        "UPDATE orders SET status = NULL WHERE id = 9",
        "DELETE FROM orders WHERE id IN (8, 10)",
        "UPDATE orders SET id = 1000 - id",
        "START TRANSACTION; UPDATE orders SET status = 'open'; UPDATE orders SET status = 'no'; "
        "UPDATE orders SET status = 'open', total = 3 WHERE shop = 1; COMMIT",
        "START TRANSACTION; UPDATE orders SET status = 'no'; ROLLBACK",
        "START TRANSACTION; DELETE FROM orders; INSERT INTO orders VALUES (1, 'open', 1, NULL, NULL, '', "
        "NULL, 1), (2, 'no', 1, NULL, NULL, '', NULL, 1); COMMIT",
    ):
        pair.server.run(*step.split("; "), database="part")
        pair.same("part", every)
    found = rows.ask(pair.through.connect(), "CHECK MIRROR part.orders")
    assert found.rows[-1][-1] == "OK", found.rows
    assert "1 rows" in found.rows[0][-1], found.rows
    assert pair.state("part", "orders")["Loads"] == 1
    pair.server.run("DELETE FROM orders", ORDERS[1], database="part")
    from_mirror(
        pair, "part", every,
        "SELECT id FROM orders WHERE total > 0 AND (status = 'open')",
        "SELECT id FROM orders WHERE status IN ('open') AND total BETWEEN 5 AND 20",
        "SELECT id FROM orders WHERE 10.5 <= total AND status = 'open' AND note LIKE '%c%'",
        "SELECT COUNT(*) FROM orders AS o WHERE o.status = 'open' AND (o.total = 1 OR o.total > 10)",
        "SELECT s.name, SUM(o.total) FROM shops s JOIN orders o ON o.shop = s.id "
        "AND o.status = 'open' WHERE o.total > 3 GROUP BY s.name",
        "SELECT s.name, o.id FROM shops s LEFT JOIN orders o ON o.shop = s.id AND o.status = 'open' "
        "AND o.total > 0",
        "SELECT s.name, o.id FROM shops s LEFT JOIN orders o ON o.shop = s.id WHERE o.status = 'open' "
        "AND o.total >= 1",
        "SELECT name FROM shops WHERE id IN (SELECT shop FROM orders WHERE status = 'open' AND total > 2)",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM orders WHERE status = 'open' AND total > 2) d",
        "SELECT id FROM orders WHERE status = 'open' AND total > 1 UNION ALL SELECT id FROM shops",
    )
    from_server(
        pair, "part", "SELECT * FROM orders", "SELECT COUNT(*) FROM orders",
        "SELECT id FROM orders WHERE status = 'open'", "SELECT id FROM orders WHERE total > 0",
        "SELECT id FROM orders WHERE status = 'open' AND total >= 0",
        "SELECT id FROM orders WHERE status = 'open' OR total > 0",
        "SELECT id FROM orders WHERE status IN ('open', 'paid') AND total > 0",
        "SELECT id FROM orders WHERE status <> 'open' AND total > 0",
        "SELECT id FROM orders WHERE NOT (status = 'open' AND total > 0)",
        "SELECT id FROM orders WHERE status = 'open' AND (total > 0 OR id = 5)",
        "SELECT s.name, o.id FROM shops s LEFT JOIN orders o ON o.shop = s.id",
        "SELECT s.id FROM shops s LEFT JOIN orders o ON o.shop = s.id AND o.status = 'open' "
        "WHERE o.id IS NULL",
        "SELECT o.id, s.name FROM orders o LEFT JOIN shops s ON o.shop = s.id AND o.status = 'open' "
        "AND o.total > 0",
        "SELECT o.id, s.name FROM shops s RIGHT JOIN orders o ON o.shop = s.id AND o.status = 'open' "
        "AND o.total > 0",
        "SELECT id FROM orders WHERE status = 'open' AND total > 0 UNION ALL SELECT id FROM orders",
        "SELECT COUNT(*) FROM shops WHERE EXISTS (SELECT 1 FROM orders WHERE total > 0)",
        "SELECT SUM(status = 'open' AND total > 0) FROM orders",
        "SELECT status FROM orders GROUP BY status HAVING status = 'open' AND MIN(total) > 0",
    )
    pair.through.run("UNMIRROR DATABASE part")


# A condition; queries that imply it, and queries that do not.
IMPLIED = {
    "gone IS NULL": (["gone IS NULL", "gone IS NULL AND id > 1"],
                     ["gone IS NOT NULL", "gone <=> NULL", "id > 1", "gone IS NULL OR id = 3"]),
    "day >= '2026-01-01'": (
        ["day >= '2026-01-01'", "day > '2026-01-01'", "day BETWEEN '2026-02-01' AND '2026-04-01'",
         "day = '2026-03-03'", "day IN ('2026-02-02', '2026-03-03')", "day >= DATE '2026-02-01'"],
        ["day >= '2025-12-31'", "day <> '2025-12-31'", "day <= '2026-02-02'", "YEAR(day) = 2026",
         "day > CURDATE() - INTERVAL 300 YEAR", "day IN ('2026-02-02', '2025-12-31')"]),
    "status IN ('open', 'paid')": (
        ["status = 'open'", "status = 'paid'", "status IN ('paid', 'open')", "'open' = status",
         "(status = 'open' AND id > 1) OR status = 'paid'"],
        ["status = 'closed'", "status IN ('open', 'closed')", "status LIKE 'open'",
         "status = 'open' OR id = 1", "status = 'OPEN'", "status > 'o'", "status = BINARY 'open'"]),
    "shop <> 3": (["shop <> 3", "shop = 2", "shop < 3", "shop > 3", "shop IN (1, 2)",
                   "shop BETWEEN 1 AND 2", "shop = 1 OR shop = 2"],
                  ["shop <= 3", "shop = 3", "shop IN (1, 3)", "shop <> 4", "shop >= 1"]),
    "shop": (["shop", "shop = 1", "shop > 0", "shop <> 0"], ["shop >= 0", "id", "NOT shop"]),
    "total > 0 OR status = 'paid'": (
        ["total > 0 OR status = 'paid'", "total > 5", "status = 'paid'", "total > 1 OR status = 'paid'"],
        ["total > 0 OR status = 'open'", "status = 'open'", "total >= 0"]),
    "id % 2 = 1 AND LEFT(status, 2) = 'op'": (
        ["id % 2 = 1 AND LEFT(status, 2) = 'op'", "left(`status`, 2) = 'op' AND shop > 0 AND id % 2 = 1"],
        ["id % 2 = 1", "id = 1 AND LEFT(status, 2) = 'op'", "LEFT(status, 3) = 'op' AND id % 2 = 1"]),
    "NOT (status = 'open')": (["NOT (status = 'open')", "NOT (status = 'open') AND id > 1"],
                              ["status <> 'open'", "status = 'paid'"]),
    "status LIKE 'o%' AND YEAR(day) = 2026": (
        ["status LIKE 'o%' AND YEAR(day) = 2026"], ["status LIKE 'op%' AND YEAR(day) = 2026"]),
}


@pytest.mark.parametrize("condition", list(IMPLIED))
def test_what_is_implied(pair, condition):
    implied, others = IMPLIED[condition]
    pair.begin("implied", *ORDERS)
    pair.through.run(f"MIRROR TABLE implied.orders WHERE {condition}")
    pair.wait_live("implied", "orders")
    pair.same("implied", f"SELECT * FROM orders WHERE {condition}")
    pair.server.run("INSERT INTO orders SELECT id + 10, status, total, day, note, secret, gone, shop "
                    "FROM orders", "UPDATE orders SET status = 'paid', shop = 4 WHERE id IN (1, 14)",
                    "UPDATE orders SET status = 'open', day = '2026-07-07', gone = NULL WHERE id = 13",
                    database="implied")
    from_mirror(pair, "implied", *(f"SELECT * FROM orders WHERE {it}" for it in implied))
    from_server(pair, "implied", *(f"SELECT * FROM orders WHERE {it}" for it in others))
    found = rows.ask(pair.through.connect(), "CHECK MIRROR implied.orders")
    assert found.rows[-1][-1] == "OK", found.rows
    pair.through.run("UNMIRROR TABLE implied.orders")


def test_moments_mean_the_same_in_every_zone(pair):
    pair.begin("zoned", "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NULL)",
               "INSERT INTO t VALUES (1, '2026-01-01 11:30:00'), (2, '2026-01-01 12:00:00'), "
               "(3, '2026-01-01 13:30:00'), (4, NULL)")
    pair.through.run("MIRROR TABLE zoned.t WHERE at >= '2026-01-01 12:00:00'")
    pair.wait_live("zoned", "t")
    from_mirror(pair, "zoned", "SELECT * FROM t WHERE at >= '2026-01-01 12:00:00'")
    for zone, text, is_mirrored in (("+01:00", "13:00:00", True), ("+01:00", "12:00:00", False),
                                    ("-01:00", "11:00:00", True), ("-01:00", "10:59:59", False)):
        with pair.open("zoned") as connection:
            rows.ask(connection, f"SET time_zone = '{zone}'")
            query = f"SELECT id FROM t WHERE at >= '2026-01-01 {text}' ORDER BY id"
            assert is_of_mirrors(plan_of(connection, query)) == is_mirrored, (zone, text)
            given = rows.ask(connection, query)
        with pair._open(pair.server, "zoned", (f"SET time_zone = '{zone}'",)) as connection:
            assert rows.ask(connection, query).rows == given.rows
    pair.through.run("UNMIRROR TABLE zoned.t")


def test_clear_errors(pair):
    pair.begin("wrong", *ORDERS)
    def of(text: str) -> str:
        return refused(pair, f"MIRROR TABLE wrong.orders {text}")
    assert "primary key" in of("EXCEPT COLUMNS (id)")
    assert "primary key" in of("COLUMNS (status)")
    assert "WHERE" in of("COLUMNS (id) WHERE status = 'open'")
    assert "SEGMENT BY" in of("EXCEPT COLUMNS (shop) SEGMENT BY (shop)")
    assert "Unknown column 'nothing'" in of("EXCEPT COLUMNS (nothing)")
    assert "Unknown column 'nothing'" in of("WHERE nothing = 1")
    for condition in ("day > NOW()", "shop = @x", "id IN (SELECT 1)", "RAND() > 0.5", "shop + 1 > 2",
                      "orders.shop = 1", "'a' = 'A'", "MAX(id) > 1"):
        assert "condition of a mirror" in of(f"WHERE {condition}"), condition
    assert "full date" in of("WHERE day > 20260101")
    assert "1064" in of("WHERE")
    assert "one table" in refused(pair, "MIRROR DATABASE wrong WHERE id = 1")
    with pair.through.connect() as connection:
        rows.ask(connection, "SET sql_mode = 'ANSI_QUOTES'")
        answer = rows.ask(connection, 'MIRROR TABLE wrong.orders WHERE "status" = \'open\'')
        assert "sql_mode" in str(answer.error)
    assert not pair.of_database("wrong")


def test_definitions_that_change(pair):
    pair.begin("changed", *ORDERS)
    pair.through.run("MIRROR TABLE changed.orders EXCEPT COLUMNS (secret, note) WHERE shop < 3")
    pair.wait_live("changed", "orders")

    def step(columns: str, loads: int, *statements: str) -> None:
        pair.server.run(*statements, "CREATE TABLE IF NOT EXISTS z (id INT PRIMARY KEY)",
                        database="changed")
        wait_read(pair, "changed", "orders", loads)
        from_mirror(pair, "changed", f"SELECT {columns} FROM orders WHERE shop < 3")

    row = "INSERT INTO orders (id, status, secret, shop) VALUES ({0}, 'open', 'new', {0} % 4)"
    step("id, status, extra", 1, "ALTER TABLE orders ADD extra INT DEFAULT 5 AFTER id", row.format(20),
         row.format(21))
    step("id, status, extra", 1, "ALTER TABLE orders CHANGE secret hidden VARBINARY(60) NOT NULL",
         "INSERT INTO orders (id, hidden, shop) VALUES (22, x'00', 1)",
         "UPDATE orders SET hidden = 'z', shop = 1 WHERE id = 2")
    from_server(pair, "changed", "SELECT hidden FROM orders WHERE shop < 3")
    assert "`hidden`" in pair.state("changed", "orders")["Filter"]
    step("id, state, extra", 1, "ALTER TABLE orders RENAME COLUMN status TO state",
         "ALTER TABLE orders DROP COLUMN note", "UPDATE orders SET state = 'x' WHERE id < 3")
    step("id, state", 1, "ALTER TABLE orders DROP COLUMN extra, MODIFY hidden VARCHAR(70) NULL DEFAULT '3'",
         "ALTER TABLE orders ALTER hidden SET DEFAULT '4'",
         "INSERT INTO orders (id, shop) VALUES (30, 1), (31, 9)")
    from_server(pair, "changed", "SELECT hidden FROM orders WHERE shop < 3")
    # A column that is kept takes the name of one that is left out.
    step("id, state", 2, "ALTER TABLE orders DROP COLUMN hidden, RENAME COLUMN total TO hidden")
    from_server(pair, "changed", "SELECT hidden FROM orders WHERE shop < 3")
    # The column of the condition.
    step("id, state", 3, "ALTER TABLE orders MODIFY shop BIGINT UNSIGNED NOT NULL")
    pair.server.run("ALTER TABLE orders RENAME COLUMN shop TO store", database="changed")
    found = pair.wait_state("changed", "orders", "failed")
    assert "Unknown column 'shop'" in found["Reason"], found
    from_server(pair, "changed", "SELECT id FROM orders WHERE store < 3")
    pair.server.run("ALTER TABLE orders RENAME COLUMN store TO shop", database="changed")
    pair.through.run("ALTER MIRROR changed.orders RESUME")
    pair.wait_live("changed", "orders")
    pair.server.run("TRUNCATE TABLE orders", "INSERT INTO orders (id, shop) VALUES (1, 1), (2, 9)",
                    database="changed")
    from_mirror(pair, "changed", "SELECT id, state, shop FROM orders WHERE shop < 3")
    pair.through.run("UNMIRROR TABLE changed.orders")


def test_new_columns_of_named_ones(pair):
    pair.begin("named", *ORDERS)
    pair.through.run("MIRROR TABLE named.orders COLUMNS (id, total, shop)")
    pair.wait_live("named", "orders")
    pair.server.run("ALTER TABLE orders ADD more INT NOT NULL DEFAULT 1, RENAME COLUMN total TO sum",
                    "UPDATE orders SET more = 2, sum = 3 WHERE id = 1", database="named")
    from_mirror(pair, "named", "SELECT id, sum, shop FROM orders")
    from_server(pair, "named", "SELECT more FROM orders", "SELECT status FROM orders")
    found = pair.state("named", "orders")
    assert found["Loads"] == 1 and found["Filter"] == "COLUMNS (`id`, `sum`, `shop`)", found
    pair.through.run("ALTER MIRROR named.orders RESYNC")
    wait_read(pair, "named", "orders", 2)
    from_mirror(pair, "named", "SELECT id, sum, shop FROM orders")
    pair.through.run("UNMIRROR TABLE named.orders")


def test_the_other_ways_to_the_mirror(pair, linked_maker):
    """Statements that are prepared, and mirrors of the command line."""
    pair.begin("ways", *ORDERS)
    what = "ways.orders EXCEPT COLUMNS (secret) WHERE status = 'open'"
    through = linked_maker(pair.server.url("ways"), name=f"pelorus-ways-{pair.server.kind}",
                           options=["--mirror", what])
    ours = Mirrored(pair.server, through)
    wait_for("the mirror", lambda: ours.state("ways", "orders"))
    ours.wait_live("ways", "orders")
    from_mirror(ours, "ways", "SELECT id, total FROM orders WHERE status = 'open'")
    from_server(ours, "ways", "SELECT id, total FROM orders", "SELECT secret FROM orders")
    with ours.open("ways") as connection, connection.cursor() as cursor:
        cursor.execute("PREPARE s FROM 'SELECT COUNT(*), MAX(total) FROM orders WHERE status = ?'")
        cursor.execute("SET @a = 'open', @b = 'paid'")
        for name, expected in (("@a", b"3"), ("@b", b"1")):
            cursor.execute(f"EXECUTE s USING {name}")
            assert cursor.fetchall()[0][0] == expected
    through.stop()


def test_kills_and_concurrent_writes(own, tmp_path):
    """A load while rows come and go, and a process that is killed in the middle and afterwards."""
    chance = random.Random(9)
    own.begin("busy", "CREATE TABLE t (id INT PRIMARY KEY, s ENUM('a','b','c'), n INT, secret VARCHAR(99))",
              "CREATE TABLE d (d INT PRIMARY KEY)",
              "INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
              "INSERT INTO t SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d, "
              "1 + (a.d + b.d) % 3, c.d, REPEAT('s', 80) FROM d a, d b, d c, d e, d f", "ANALYZE TABLE t")
    stop = threading.Event()

    def write() -> None:
        with own.server.connect(database="busy") as connection, connection.cursor() as cursor:
            while not stop.is_set():
                low = chance.randrange(100000)
                cursor.execute(chance.choice([
                    f"UPDATE t SET s = 1 + n % 3, n = n + 1 WHERE id BETWEEN {low} AND {low + 50}",
                    f"UPDATE IGNORE t SET id = id + 7, s = 'b' WHERE id = {low}",
                    f"DELETE FROM t WHERE id BETWEEN {low} AND {low + 3}",
                    f"REPLACE INTO t VALUES ({low}, 'b', 5, 'x')",
                    f"UPDATE t SET secret = 'changed' WHERE id BETWEEN {low} AND {low + 9}"]))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        own.through.run("MIRROR TABLE busy.t EXCEPT COLUMNS (secret) WHERE s = 'b' AND n < 7")
        for _ in range(2):
            wait_for("a part of the load", lambda: own.state("busy", "t")["Rows_loaded"] or 1)
            own.through.process.kill()
            own.through.start()
            own.wait_for_database("busy")
        own.wait_live("busy", "t")
        stop.wait(2)
        own.through.process.kill()
        own.through.start()
        own.wait_for_database("busy")
        stop.wait(2)
    finally:
        stop.set()
        writer.join()
    own.wait_live("busy", "t")
    from_mirror(own, "busy", "SELECT id, s, n FROM t WHERE s = 'b' AND n < 7",
                "SELECT COUNT(*), SUM(n), SUM(id) FROM t WHERE s = 'b' AND n < 7")
    from_server(own, "busy", "SELECT COUNT(*) FROM t WHERE s = 'b'", "SELECT COUNT(secret) FROM t")
    found = rows.ask(own.through.connect(), "CHECK MIRROR busy.t")
    assert found.rows[-1][-1] == "OK", found.rows
    assert own.state("busy", "t")["Filter"] == "EXCEPT COLUMNS (`secret`) WHERE s = 'b' AND n < 7"
    own.through.run("UNMIRROR TABLE busy.t")
