"""Foreign keys that change rows on servers whose binlog does not say so: MariaDB, and MySQL whose
InnoDB runs foreign keys by itself. The copies are what the tables are all the same.

`PELORUS_SOAK_SECONDS` and `PELORUS_MIRROR_CASCADE` set how long random changes go on, and their seeds.
"""

from __future__ import annotations

import os
import random
import threading
import time

import pymysql
import pytest
from pelorus_tools import seeds
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import wait_for

SECONDS = float(os.environ.get("PELORUS_SOAK_SECONDS", "20"))


@pytest.fixture(params=["mariadb", "native_mysql"])
def own(request, linked_maker):
    """A server that does not log what foreign keys do, and a Pelorus of the test's own."""
    server = request.getfixturevalue(request.param)
    through = linked_maker(server.url(), name=f"pelorus-cascade-{request.param}")
    yield Mirrored(server, through)
    through.stop()


def live(pair: Mirrored, database: str, *begin: str) -> None:
    """A database all of which is mirrored and live."""
    pair.begin(database, *begin)
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)


def same(pair: Mirrored, database: str) -> None:
    """All tables are the same."""
    tables = list(pair.of_database(database))
    assert tables
    pair.same_tables(database, *tables)


def steps(pair: Mirrored, database: str, *statements: str, loads: int | None = 1) -> None:
    """Runs statements one by one; after each, all tables are the same, and none was read anew."""
    for statement in statements:
        pair.server.run("SET sql_mode = ''", *statement.split(";"), database=database)
        same(pair, database)
    if loads is not None:
        found = pair.of_database(database)
        assert all(it["Loads"] == loads for it in found.values()), found


FAMILY = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, v INT, KEY (p), CONSTRAINT c_p FOREIGN KEY (p) "
    "REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE g (c INT, n INT, v INT, PRIMARY KEY (c, n), CONSTRAINT g_c FOREIGN KEY (c) "
    "REFERENCES c (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE s (id INT PRIMARY KEY, p INT, v INT, CONSTRAINT s_p FOREIGN KEY (p) "
    "REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL)",
    "INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)",
    "INSERT INTO c VALUES (10, 1, 0), (11, 1, 0), (20, 2, 0), (30, 3, 0), (40, 4, 0), (9, NULL, 0)",
    "INSERT INTO g VALUES (10, 1, 0), (10, 2, 0), (11, 1, 0), (20, 1, 0), (30, 1, 0), (9, 1, 0)",
    "INSERT INTO s VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, NULL, 0), (5, 5, 0)",
)


def test_rows_go_and_change_with_those_they_refer_to(own):
    live(own, "family", *FAMILY)
    steps(own, "family",
          "DELETE FROM p WHERE id = 1",
          "UPDATE p SET id = 22 WHERE id = 2",
          "UPDATE p SET v = v + 1",
          "UPDATE c SET id = 33 WHERE id = 30",
          "DELETE FROM c WHERE id = 33",
          "INSERT INTO p VALUES (1, 7);INSERT INTO c VALUES (10, 1, 7);INSERT INTO g VALUES (10, 5, 5)",
          "UPDATE p SET id = id + 100 ORDER BY id DESC",
          "DELETE FROM p")
    own.through.run("UNMIRROR DATABASE family")


def test_the_order_within_a_transaction_counts(own):
    live(own, "ordered", *FAMILY)
    steps(own, "ordered",
          # Away before its parent goes, and there again after it.
          "BEGIN;UPDATE c SET p = 2 WHERE id = 10;DELETE FROM p WHERE id = 1;"
          "INSERT INTO p VALUES (1, 9);INSERT INTO c VALUES (11, 1, 9);UPDATE c SET p = 1 WHERE id = 10;"
          "COMMIT",
          "BEGIN;UPDATE p SET id = 50 WHERE id = 1;UPDATE p SET id = 51 WHERE id = 50;"
          "INSERT INTO g VALUES (10, 77, 0);DELETE FROM p WHERE id = 51;COMMIT",
          # Swapped.
          "BEGIN;UPDATE p SET id = 60 WHERE id = 2;UPDATE p SET id = 2 WHERE id = 3;"
          "UPDATE p SET id = 3 WHERE id = 60;COMMIT",
          "BEGIN;INSERT INTO p VALUES (7, 0);INSERT INTO c VALUES (70, 7, 0), (71, 7, 0);"
          "INSERT INTO g VALUES (70, 1, 0);DELETE FROM p WHERE id = 7;COMMIT",
          "BEGIN;DELETE FROM p WHERE id = 4;ROLLBACK;DELETE FROM g WHERE n = 1",
          "BEGIN;SAVEPOINT a;DELETE FROM p WHERE id = 4;ROLLBACK TO a;UPDATE p SET v = 8;COMMIT",
          "REPLACE INTO p VALUES (4, 44), (5, 55)")
    # As one batch.
    own.server.run("BEGIN", *(f"INSERT INTO p VALUES ({at}, 0)" for at in range(100, 200)),
                   *(f"INSERT INTO c VALUES ({at}, {at}, 0)" for at in range(100, 200)),
                   *(f"INSERT INTO g VALUES ({at}, 1, 0)" for at in range(100, 200)),
                   *(f"UPDATE p SET id = {at + 900} WHERE id = {at}" for at in range(100, 200, 3)),
                   *(f"DELETE FROM p WHERE id = {at}" for at in range(100, 200, 5)), "COMMIT",
                   database="ordered")
    same(own, "ordered")
    own.through.run("UNMIRROR DATABASE ordered")


def test_switched_off_by_the_session(own):
    live(own, "unchecked", *FAMILY)
    steps(own, "unchecked",
          "SET foreign_key_checks = 0;DELETE FROM p WHERE id = 1;UPDATE p SET id = 20 WHERE id = 2",
          "INSERT INTO p VALUES (1, 1);DELETE FROM p WHERE id = 1")
    own.through.run("UNMIRROR DATABASE unchecked")


def test_trees(own):
    live(own, "tree",
         "CREATE TABLE t (id INT PRIMARY KEY, up INT, side INT, "
         "CONSTRAINT a FOREIGN KEY (up) REFERENCES t (id) ON DELETE CASCADE, "
         "CONSTRAINT b FOREIGN KEY (side) REFERENCES t (id) ON DELETE SET NULL)",
         "INSERT INTO t VALUES (1, NULL, NULL), (2, 1, NULL), (3, 2, 1), (4, 3, 2), (5, 1, 4), "
         "(6, NULL, 3), (7, 7, 7), (8, 6, 5), (9, 8, NULL)")
    steps(own, "tree", "DELETE FROM t WHERE id = 3", "DELETE FROM t WHERE id = 7",
          "UPDATE t SET up = 9 WHERE id = 5", "DELETE FROM t WHERE id IN (1, 6)",
          "INSERT INTO t VALUES (1, 1, NULL), (2, 1, 1);DELETE FROM t ORDER BY id LIMIT 1")
    own.through.run("UNMIRROR DATABASE tree")


def test_keys_of_many_kinds(own):
    own.server.run("DROP DATABASE IF EXISTS kinds2", "DROP DATABASE IF EXISTS kinds",
                   "CREATE DATABASE kinds2 CHARACTER SET utf8mb4",
                   "CREATE TABLE kinds2.p (id INT PRIMARY KEY, u DECIMAL(10,2) UNIQUE)",
                   "INSERT INTO kinds2.p VALUES (1, 1.5), (2, 2.5), (3, NULL)")
    own.begin(
        "kinds",
        "CREATE TABLE words (id INT PRIMARY KEY, w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
        "utf8mb4_general_ci, UNIQUE KEY (w))",
        "INSERT INTO words VALUES (1, 'a'), (2, 'B'), (3, 'ö'), (4, NULL), (5, 'e ')",
        "CREATE TABLE of_words (w VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, "
        "n INT, PRIMARY KEY (w, n), FOREIGN KEY (w) REFERENCES words (w) ON UPDATE CASCADE "
        "ON DELETE CASCADE)",
        "INSERT INTO of_words VALUES ('A', 1), ('a ', 2), ('b', 1), ('O', 1), ('E', 1)",
        "CREATE TABLE pairs (a INT, b VARCHAR(9) CHARACTER SET latin1, d DATE, PRIMARY KEY (a, b, d))",
        "INSERT INTO pairs VALUES (1, 'x', '2026-01-01'), (1, 'y', '2026-01-01'), "
        "(2, 'x', '2026-01-02')",
        "CREATE TABLE of_pairs (id INT PRIMARY KEY, a INT, b VARCHAR(9) CHARACTER SET latin1, d DATE, "
        "FOREIGN KEY (a, b, d) REFERENCES pairs (a, b, d) ON DELETE SET NULL ON UPDATE CASCADE)",
        "INSERT INTO of_pairs VALUES (1, 1, 'X', '2026-01-01'), (2, 1, 'y', '2026-01-01'), "
        "(3, 2, 'x', '2026-01-02'), (4, 1, NULL, '2026-01-01'), (5, NULL, 'x', '2026-01-02')",
        "CREATE TABLE away (id INT PRIMARY KEY, u DECIMAL(10,2), FOREIGN KEY (u) REFERENCES "
        "kinds2.p (u) ON DELETE CASCADE ON UPDATE CASCADE)",
        "INSERT INTO away VALUES (1, 1.5), (2, 2.5), (3, NULL), (4, 1.5)",
        "CREATE TABLE bins (k BINARY(4), m ENUM('x','y'), t TIMESTAMP(3) NOT NULL DEFAULT "
        "'2026-01-01 00:00:00', u BIGINT UNSIGNED, PRIMARY KEY (k, m, t, u))",
        "INSERT INTO bins VALUES ('a', 'x', '2026-01-01 10:00:00.125', 18446744073709551615), "
        "('b', 'y', '2026-01-01 10:00:00', 0)",
        "CREATE TABLE of_bins (id INT PRIMARY KEY, k BINARY(4), m ENUM('x','y'), t TIMESTAMP(3) NULL, "
        "u BIGINT UNSIGNED, FOREIGN KEY (k, m, t, u) REFERENCES bins (k, m, t, u) "
        "ON UPDATE CASCADE ON DELETE CASCADE)",
        "INSERT INTO of_bins SELECT 1, k, m, t, u FROM bins WHERE m = 'x'",
        "INSERT INTO of_bins SELECT 2, k, m, t, u FROM bins WHERE m = 'y'")
    own.wait_for_database("kinds2")
    own.through.run("MIRROR DATABASE kinds")
    found = own.wait_state("kinds", "away", "waiting")
    wait_for("the reason", lambda: "MIRROR TABLE `kinds2`.`p`" in
             str(own.state("kinds", "away")["Reason"]))
    own.through.run("MIRROR TABLE kinds2.p")
    own.wait_live("kinds")
    own.wait_live("kinds2")
    steps(own, "kinds",
          "UPDATE words SET w = 'A' WHERE id = 1", "UPDATE words SET w = 'new' WHERE id = 1",
          "UPDATE words SET w = 'Ö' WHERE id = 3", "DELETE FROM words WHERE id IN (2, 4, 5)",
          "UPDATE pairs SET a = 5 WHERE a = 1 AND b = 'x'", "UPDATE pairs SET d = '2027-01-01'",
          "DELETE FROM pairs WHERE b = 'Y'",
          "UPDATE kinds2.p SET u = 7.25 WHERE id = 1", "UPDATE kinds2.p SET u = NULL WHERE id = 2",
          "DELETE FROM kinds2.p WHERE id = 1",
          "UPDATE bins SET u = 1, k = 'c' WHERE m = 'x'", "DELETE FROM bins WHERE m = 'y'")
    assert found["Loads"] == 0
    own.through.run("UNMIRROR DATABASE kinds")
    own.through.run("UNMIRROR TABLE kinds2.p")


def test_several_parents(own):
    live(own, "parents",
         "CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY, a INT, "
         "FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE)",
         "CREATE TABLE c (a INT, b INT, n INT, x INT, PRIMARY KEY (a, b, n), "
         "FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE, "
         "FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE ON UPDATE CASCADE, "
         "FOREIGN KEY (x) REFERENCES b (id) ON DELETE SET NULL)",
         "INSERT INTO a VALUES (1), (2), (3), (4)", "INSERT INTO b VALUES (1, 1), (2, 2), (3, 3), (4, 1)",
         "INSERT INTO c SELECT a.id, b.id, 1, 1 + b.id % 4 FROM a, b")
    steps(own, "parents", "UPDATE a SET id = 10 WHERE id = 1", "DELETE FROM b WHERE id = 2",
          "DELETE FROM a WHERE id = 10", "DELETE FROM a WHERE id = 3")
    own.through.run("UNMIRROR DATABASE parents")


def test_keys_whose_order_matters(own):
    """Where several keys alter the same columns, the table is read anew, and those that refer to it."""
    live(own, "entangled",
         "CREATE TABLE t (id INT PRIMARY KEY)",
         "CREATE TABLE a (t INT, id INT, PRIMARY KEY (t, id), "
         "CONSTRAINT z1 FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)",
         "CREATE TABLE b (id INT PRIMARY KEY, t INT, a INT, "
         "CONSTRAINT a1 FOREIGN KEY (t) REFERENCES t (id) ON DELETE SET NULL, "
         "CONSTRAINT m1 FOREIGN KEY (t, a) REFERENCES a (t, id) ON DELETE CASCADE)",
         "CREATE TABLE g (id INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES b (id) "
         "ON DELETE CASCADE)",
         # Keys that share a column and only delete.
         "CREATE TABLE c (id INT PRIMARY KEY, t INT, a INT, "
         "CONSTRAINT a2 FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE, "
         "CONSTRAINT m2 FOREIGN KEY (t, a) REFERENCES a (t, id) ON DELETE CASCADE)",
         "INSERT INTO t VALUES (1), (2), (3)", "INSERT INTO a VALUES (1, 5), (2, 5), (2, 6)",
         "INSERT INTO b VALUES (9, 1, 5), (10, 2, 5), (11, 2, 6)",
         "INSERT INTO g VALUES (1, 9), (2, 10), (3, 11)",
         "INSERT INTO c VALUES (9, 1, 5), (10, 2, 5), (11, 2, NULL)")
    # Nothing refers to the one, and one key alone reaches the other.
    steps(own, "entangled", "DELETE FROM t WHERE id = 3", "DELETE FROM a WHERE id = 6")
    own.server.run("DELETE FROM t WHERE id = 1", database="entangled")
    same_in_the_end(own, "entangled")
    wait_for("the table to be read anew", lambda: own.state("entangled", "b")["Loads"] == 2)
    same_in_the_end(own, "entangled")
    loads = {name: it["Loads"] for name, it in own.of_database("entangled").items()}
    assert loads["t"] == loads["a"] == loads["c"] == 1 and loads["g"] == 2, loads
    own.through.run("UNMIRROR DATABASE entangled")


def test_definitions_change(own):
    live(own, "defined", *FAMILY)
    steps(own, "defined", "ALTER TABLE p ADD COLUMN w INT DEFAULT 3 FIRST;DELETE FROM p WHERE id = 1",
          "ALTER TABLE c ADD COLUMN w VARCHAR(9) DEFAULT 'w' AFTER id;UPDATE p SET id = 21 WHERE id = 2",
          "ALTER TABLE s DROP FOREIGN KEY s_p;DELETE FROM p WHERE id = 3")
    own.server.run("CREATE TABLE late (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
                   "ON DELETE CASCADE)", "INSERT INTO late VALUES (4, 4), (5, 5)", database="defined")
    wait_for("the new table", lambda: own.state("defined", "late").get("State") == "live")
    steps(own, "defined", "DELETE FROM p WHERE id = 4")
    own.server.run("UPDATE s SET p = 5", "ALTER TABLE s ADD FOREIGN KEY (p) REFERENCES p (id) ON DELETE "
                   "SET NULL", "UPDATE p SET w = 1", "DELETE FROM p WHERE id = 5", database="defined")
    same_in_the_end(own, "defined")
    own.server.run("INSERT INTO p VALUES (1, 6, 6)", "INSERT INTO late VALUES (6, 6)",
                   "RENAME TABLE p TO p2", "DELETE FROM p2 WHERE id = 6", database="defined")
    same_in_the_end(own, "defined")
    own.server.run("INSERT INTO p2 VALUES (1, 6, 6)", "INSERT INTO late VALUES (6, 6)",
                   "ALTER TABLE p2 CHANGE id number INT", "DELETE FROM p2 WHERE number = 6",
                   database="defined")
    same_in_the_end(own, "defined")
    own.through.run("UNMIRROR DATABASE defined")


def same_in_the_end(pair: Mirrored, database: str) -> None:
    """All tables are live and the same, when those that are read anew have been."""
    def right() -> bool:
        pair.wait_live(database)
        same(pair, database)
        return True
    wait_for("all tables to be the same", right)


def test_without_the_table_that_is_referred_to(own):
    own.begin("alone", *FAMILY)
    with pytest.raises(pymysql.MySQLError, match="MIRROR TABLE `alone`.`p` first"):
        own.through.run("MIRROR TABLE alone.c")
    own.through.run("MIRROR TABLE alone.c, alone.p")
    own.wait_live("alone", "c", "p")
    own.through.run("UNMIRROR TABLE alone.p")
    own.server.run("DELETE FROM alone.p WHERE id = 1")
    found = own.wait_state("alone", "c", "waiting")
    wait_for("the reason", lambda: "'alone.p'" in str(own.state("alone", "c")["Reason"]))
    assert own.through.run("SELECT COUNT(*) FROM alone.c") == ((4,),), found
    own.through.run("MIRROR TABLE alone.p")
    own.wait_live("alone", "c", "p")
    own.same_tables("alone", "c", "p")
    own.through.run("ALTER MIRROR alone.p PAUSE")
    own.server.run("DELETE FROM alone.p WHERE id = 2")
    own.wait_state("alone", "c", "waiting")
    own.through.run("ALTER MIRROR alone.p RESUME")
    own.wait_live("alone", "c", "p")
    own.same_tables("alone", "c", "p")
    own.through.run("ALTER MIRROR alone.p RESYNC")
    own.server.run("DELETE FROM alone.p WHERE id = 3")
    same_in_the_end(own, "alone")
    own.through.run("ALTER MIRROR alone.c PAUSE")
    own.server.run("DELETE FROM alone.p WHERE id = 4")
    own.through.run("ALTER MIRROR alone.c RESUME")
    same_in_the_end(own, "alone")
    # The stream comes by a change once more that the one table has since, and the other has not.
    own.server.run("INSERT INTO p VALUES (6, 6), (7, 7)", "INSERT INTO c VALUES (60, 6, 0), (70, 7, 0)",
                   database="alone")
    same_in_the_end(own, "alone")
    own.through.run("ALTER MIRROR alone.c PAUSE")
    loads = own.state("alone", "p")["Loads"]
    own.server.run("SET binlog_format = 'STATEMENT'", "DELETE FROM p WHERE id = 6", database="alone")
    wait_for("another load", lambda: own.state("alone", "p")["Loads"] > loads)
    own.wait_live("alone", "p")
    own.through.run("ALTER MIRROR alone.c RESUME")
    same_in_the_end(own, "alone")
    own.through.run("UNMIRROR TABLE alone.p, alone.c")


def test_prepared_transactions(own):
    live(own, "prepared", *FAMILY)
    connection = own.server.connect(database="prepared")
    with connection, connection.cursor() as cursor:
        for number, end in ((1, "COMMIT"), (2, "ROLLBACK"), (3, "COMMIT")):
            cursor.execute(f"XA START 'x{number}'")
            cursor.execute(f"DELETE FROM p WHERE id = {number}")
            cursor.execute(f"XA END 'x{number}'")
            cursor.execute(f"XA PREPARE 'x{number}'")
            own.server.run("INSERT INTO c VALUES (100 + %d, 5, 0)" % number, database="prepared")
            cursor.execute(f"XA {end} 'x{number}'")
    same_in_the_end(own, "prepared")
    own.through.run("UNMIRROR DATABASE prepared")


def test_while_the_tables_are_read(own):
    digits = "(SELECT 0 AS d" + "".join(f" UNION ALL SELECT {n}" for n in range(1, 10)) + ")"
    numbers = (f"SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM {digits} a, "
               f"{digits} b, {digits} c, {digits} e, {digits} f")
    own.begin("large", "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
              "CREATE TABLE c (id INT PRIMARY KEY, p INT, q INT, pad VARCHAR(200), "
              "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE, "
              "FOREIGN KEY (q) REFERENCES p (id) ON DELETE SET NULL)",
              "CREATE TABLE g (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id) "
              "ON DELETE CASCADE)",
              f"INSERT INTO p SELECT n, 0 FROM ({numbers}) x WHERE n <= 3000",
              f"INSERT INTO c SELECT n, 1 + n % 3000, 1 + n % 2999, REPEAT('x', 190) FROM ({numbers}) x",
              f"INSERT INTO c SELECT n + 100000, 1 + n % 3000, 1 + n % 2999, REPEAT('x', 190) "
              f"FROM ({numbers}) x",
              f"INSERT INTO g SELECT n, n FROM ({numbers}) x WHERE n <= 20000",
              "ANALYZE TABLE c, g, p")
    stop = threading.Event()
    lost: list[BaseException] = []

    def delete() -> None:
        try:
            connection = own.server.connect(database="large")
            with connection, connection.cursor() as cursor:
                for at in range(1, 2900):
                    if stop.is_set():
                        return
                    cursor.execute(f"DELETE FROM p WHERE id = {at}")
                    if at % 50 == 0:
                        cursor.execute(f"INSERT INTO p VALUES ({at}, 1)")
                        cursor.execute(f"INSERT IGNORE INTO c VALUES ({at}, {at}, NULL, 'again')")
                    time.sleep(0.002)
        except BaseException as error:  # noqa: BLE001 - shown below
            lost.append(error)
    thread = threading.Thread(target=delete)
    thread.start()
    try:
        own.through.run("MIRROR DATABASE large")
        time.sleep(1)
        own.through.process.kill()
        own.through.start()
        own.wait_for_database("large")
        own.wait_live("large", "p", "c")
        print({name: it["Loads"] for name, it in own.of_database("large").items()})
    finally:
        stop.set()
        thread.join()
    assert not lost, lost
    same_in_the_end(own, "large")
    own.through.run("UNMIRROR DATABASE large")


CIRCLES = (
    "CREATE TABLE a (id INT PRIMARY KEY, b INT, v INT)",
    "CREATE TABLE b (id INT PRIMARY KEY, a INT, v INT, FOREIGN KEY (a) REFERENCES a (id) "
    "ON DELETE CASCADE)",
    "ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id) ON DELETE SET NULL ON UPDATE CASCADE",
    "CREATE TABLE x (id INT PRIMARY KEY, z INT, s INT)",
    "CREATE TABLE y (id INT PRIMARY KEY, x INT, FOREIGN KEY (x) REFERENCES x (id) ON DELETE CASCADE)",
    "CREATE TABLE z (id INT PRIMARY KEY, y INT, v INT, FOREIGN KEY (y) REFERENCES y (id) "
    "ON DELETE CASCADE)",
    "ALTER TABLE x ADD FOREIGN KEY (z) REFERENCES z (id) ON DELETE CASCADE, "
    "ADD FOREIGN KEY (s) REFERENCES x (id) ON DELETE SET NULL",
    # One that hangs on a circle, and is none itself.
    "CREATE TABLE w (id INT PRIMARY KEY, y INT, FOREIGN KEY (y) REFERENCES y (id) ON DELETE CASCADE)",
    "INSERT INTO a SELECT n, NULL, 0 FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 "
    "UNION SELECT 5 UNION SELECT 6) i",
    "INSERT INTO b SELECT id + 10, id, 0 FROM a", "INSERT INTO b SELECT id + 20, id, 0 FROM a",
    "UPDATE a SET b = 10 + id % 6 + 1",
    "INSERT INTO x SELECT id, NULL, NULL FROM a", "INSERT INTO y SELECT id, id FROM x",
    "INSERT INTO z SELECT id, id, 0 FROM y", "UPDATE x SET z = id % 3 + 1, s = id % 4 + 1",
    "INSERT INTO w SELECT id, id FROM y",
)


def test_circles_of_several_tables(own):
    """Tables that refer to each other are mirrored together, and what goes round is followed."""
    own.begin("circles", *CIRCLES)
    with pytest.raises(pymysql.MySQLError, match="first, or together with it"):
        own.through.run("MIRROR TABLE circles.a")
    own.through.run("MIRROR DATABASE circles")
    own.wait_live("circles")
    steps(own, "circles",
          "UPDATE a SET v = v + 1;UPDATE b SET v = v + 1", "DELETE FROM a WHERE id = 1",
          "UPDATE b SET id = 99 WHERE id = 13", "DELETE FROM b WHERE id = 99",
          "BEGIN;DELETE FROM b WHERE a = 4;INSERT INTO b VALUES (50, 4, 1);UPDATE a SET b = 50;"
          "DELETE FROM a WHERE id = 4;COMMIT",
          "DELETE FROM x WHERE id = 2", "DELETE FROM z WHERE id = 5", "DELETE FROM y", "DELETE FROM x",
          "INSERT INTO x VALUES (1, NULL, 1);INSERT INTO y VALUES (1, 1);INSERT INTO z VALUES (1, 1, 0);"
          "INSERT INTO w VALUES (1, 1);UPDATE x SET z = 1", "DELETE FROM x WHERE id = 1")
    # One of them alone.
    own.through.run("ALTER MIRROR circles.x RESYNC")
    own.server.run("INSERT INTO x VALUES (1, NULL, 1)", "INSERT INTO y VALUES (1, 1), (2, 1)",
                   "INSERT INTO z VALUES (1, 1, 0), (2, 2, 0)", "DELETE FROM y WHERE id = 2",
                   database="circles")
    same_in_the_end(own, "circles")
    own.through.run("ALTER MIRROR circles.b PAUSE")
    own.server.run("DELETE FROM a WHERE id = 2", database="circles")
    own.through.run("ALTER MIRROR circles.b RESUME")
    same_in_the_end(own, "circles")
    own.server.run("ALTER TABLE z ADD COLUMN more INT", "ALTER TABLE b ADD COLUMN x INT, "
                   "ADD FOREIGN KEY (x) REFERENCES x (id) ON DELETE CASCADE", "UPDATE b SET x = 1",
                   "DELETE FROM x WHERE id = 1", database="circles")
    same_in_the_end(own, "circles")
    own.through.run("UNMIRROR DATABASE circles")


def test_circles_are_read_while_they_change(own):
    """Updates of all tables of a circle do not keep it from being read; deletions make it begin
    anew, and in the end all is the same."""
    digits = "(SELECT 0 AS d" + "".join(f" UNION ALL SELECT {n}" for n in range(1, 10)) + ")"
    numbers = f"SELECT 1 + a.d + 10 * b.d + 100 * c.d AS n FROM {digits} a, {digits} b, {digits} c"
    own.begin("round", "CREATE TABLE a (id INT PRIMARY KEY, b INT, v INT)",
              "CREATE TABLE b (id INT PRIMARY KEY, a INT, v INT, FOREIGN KEY (a) REFERENCES a (id) "
              "ON DELETE CASCADE)",
              "ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE",
              f"INSERT INTO a SELECT n, NULL, 0 FROM ({numbers}) x",
              f"INSERT INTO b SELECT n, n, 0 FROM ({numbers}) x", "UPDATE a SET b = 1 + id * 7 % 1000")
    stop = threading.Event()
    deletes = threading.Event()
    lost: list[BaseException] = []

    def write(seed: int) -> None:
        chance = random.Random(seed)
        try:
            with own.server.connect(database="round") as connection, connection.cursor() as cursor:
                while not stop.is_set():
                    statements = [f"UPDATE {chance.choice('ab')} SET v = v + 1 "
                                  f"WHERE id = {chance.randint(1, 1000)}"]
                    if deletes.is_set():
                        id = chance.randint(1, 1000)
                        statements += [f"DELETE FROM {chance.choice('ab')} WHERE id = {id}",
                                       f"INSERT IGNORE INTO a VALUES ({id}, NULL, 1)",
                                       f"INSERT IGNORE INTO b VALUES ({id}, {id}, 1)",
                                       f"UPDATE IGNORE a SET b = {chance.randint(1, 1000)} WHERE id = {id}"]
                        time.sleep(0.2)
                    for statement in statements:
                        try:
                            cursor.execute(statement)
                        except pymysql.MySQLError as error:
                            # Deadlocks, nothing to refer to, circles that are too deep for InnoDB.
                            if error.args[0] not in (1213, 1205, 1020, 1296, 1451, 1452, 3008):
                                raise
        except BaseException as error:  # noqa: BLE001 - shown below
            lost.append(error)
    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    try:
        own.through.run("MIRROR DATABASE round")
        own.wait_live("round", "a", "b")
        print({name: it["Loads"] for name, it in own.of_database("round").items()})
        deletes.set()
        own.through.run("ALTER MIRROR round.a RESYNC")
        time.sleep(1)
        own.through.process.kill()
        own.through.start()
        own.wait_for_database("round")
        time.sleep(2)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not lost, lost
    same_in_the_end(own, "round")
    print({name: it["Loads"] for name, it in own.of_database("round").items()})
    own.through.run("UNMIRROR DATABASE round")


class Writer(threading.Thread):
    """Random changes of four tables with foreign keys, some with the keys switched off."""

    def __init__(self, server, seed: str, stop: threading.Event):
        super().__init__(daemon=True)
        self.random, self.ended = random.Random(seed), stop
        self.connection = server.connect(database="chance", autocommit=False)
        self.error: BaseException | None = None
        self.done = 0

    def run(self) -> None:
        try:
            with self.connection, self.connection.cursor() as cursor:
                while not self.ended.is_set():
                    self.transaction(cursor)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.error = error
            self.ended.set()

    def transaction(self, cursor) -> None:
        for _ in range(self.random.choice((1, 1, 2, 5, 20))):
            try:
                cursor.execute(self.statement())
                self.done += 1
            except pymysql.MySQLError as error:
                # The row is there already, nothing to refer to, refused by a foreign key, too deep.
                if error.args[0] not in (1062, 1452, 1451, 1761, 1762, 3008, 1296, 1213, 1205, 1020):
                    raise
                if error.args[0] in (1213, 1205, 1020):
                    break
        if self.random.random() < 0.9:
            self.connection.commit()
        else:
            self.connection.rollback()

    def statement(self) -> str:
        pick = lambda most: self.random.randint(1, most)  # noqa: E731
        a, other, b, c = pick(40), pick(40), pick(150), pick(400)
        word = self.random.choice(("'w%d'", "'W%d'", "'w%d '")) % pick(30)
        return self.random.choice((
            f"INSERT INTO a VALUES ({a}, {word}, 0)", f"INSERT INTO a VALUES ({a}, {word}, 0)",
            f"DELETE FROM a WHERE id = {a}", f"UPDATE a SET id = {other} WHERE id = {a}",
            f"UPDATE a SET w = {word} WHERE id = {a}", f"UPDATE a SET v = v + 1 WHERE id < {a}",
            f"REPLACE INTO a VALUES ({a}, {word}, 5)",
            f"INSERT INTO b VALUES ({b}, {a}, {self.random.choice((word, 'NULL'))}, 0)",
            f"INSERT INTO b SELECT {b}, id, w, 1 FROM a WHERE id = {a}",
            f"INSERT IGNORE INTO b SELECT id * 3 + {pick(3)}, id, w, 1 FROM a",
            f"UPDATE b SET a = {other} WHERE id = {b}", f"UPDATE b SET id = {pick(150)} WHERE id = {b}",
            f"DELETE FROM b WHERE id = {b}", f"UPDATE b SET v = v + 1 WHERE a = {a}",
            f"INSERT IGNORE INTO c SELECT id, {pick(9)}, {self.random.choice(('id', 'NULL'))}, {a} "
            f"FROM b WHERE id % 7 = {pick(7) - 1}",
            f"DELETE FROM c WHERE b = {b}", f"UPDATE c SET v = v + 1 WHERE n = {pick(9)}",
            f"INSERT INTO t VALUES ({c}, NULL, {a})", f"INSERT INTO t VALUES ({c}, {pick(400)}, NULL)",
            f"INSERT IGNORE INTO t SELECT t.id + {pick(200)}, t.id, t.a FROM t",
            f"DELETE FROM t WHERE id = {c}", f"DELETE FROM t WHERE id IN ({c}, {pick(400)})",
            f"UPDATE t SET up = NULL WHERE up = {c}",
            # A circle: m refers to k, and k to m.
            f"INSERT INTO m VALUES ({a}, NULL, 0)", f"INSERT INTO k VALUES ({b}, {a}, 0)",
            f"UPDATE m SET k = {b} WHERE id = {a}", f"UPDATE k SET m = {other} WHERE id = {b}",
            f"DELETE FROM m WHERE id = {a}", f"DELETE FROM k WHERE id = {b}",
            f"UPDATE k SET v = v + 1 WHERE m = {a}", f"UPDATE k SET id = {pick(150)} WHERE id = {b}",
        ))


@pytest.mark.parametrize("seed", seeds.asked("mirror_cascade"))
def test_random_changes(own, seed):
    live(own, "chance",
         "CREATE TABLE a (id INT PRIMARY KEY, w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
         "utf8mb4_general_ci, v INT, UNIQUE KEY (w))",
         "CREATE TABLE b (id INT PRIMARY KEY, a INT, w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
         "utf8mb4_general_ci, v INT, FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE "
         "CASCADE, FOREIGN KEY (w) REFERENCES a (w) ON DELETE SET NULL ON UPDATE CASCADE)",
         "CREATE TABLE c (b INT, n INT, x INT, v INT, PRIMARY KEY (b, n), FOREIGN KEY (b) REFERENCES "
         "b (id) ON DELETE CASCADE ON UPDATE CASCADE, FOREIGN KEY (x) REFERENCES b (id) ON DELETE "
         "SET NULL ON UPDATE SET NULL)",
         "CREATE TABLE t (id INT PRIMARY KEY, up INT, a INT, FOREIGN KEY (up) REFERENCES t (id) "
         "ON DELETE CASCADE, FOREIGN KEY (a) REFERENCES a (id) ON DELETE SET NULL ON UPDATE CASCADE)",
         "CREATE TABLE m (id INT PRIMARY KEY, k INT, v INT)",
         "CREATE TABLE k (id INT PRIMARY KEY, m INT, v INT, FOREIGN KEY (m) REFERENCES m (id) "
         "ON DELETE CASCADE)",
         "ALTER TABLE m ADD FOREIGN KEY (k) REFERENCES k (id) ON DELETE SET NULL ON UPDATE CASCADE")
    stop = threading.Event()
    writers = [Writer(own.server, f"{seed}/{at}", stop) for at in range(3)]
    for writer in writers:
        writer.start()
    chance = random.Random(seed)
    until = time.monotonic() + SECONDS
    kills = 0
    while time.monotonic() < until and not stop.is_set():
        time.sleep(chance.uniform(0.5, 2))
        roll = chance.random()
        if roll < 0.5:
            own.through.process.kill()
            own.through.start()
            own.wait_for_database("chance")
            kills += 1
        elif roll < 0.6:
            table = chance.choice("abctmk")
            own.through.run(f"ALTER MIRROR chance.{table} RESYNC")
        elif roll < 0.7:
            table = chance.choice("abctmk")
            own.through.run(f"ALTER MIRROR chance.{table} PAUSE")
            time.sleep(0.2)
            own.through.run(f"ALTER MIRROR chance.{table} RESUME")
    stop.set()
    for writer in writers:
        writer.join()
        assert writer.error is None, writer.error
    same_in_the_end(own, "chance")
    loads = {name: it["Loads"] for name, it in own.of_database("chance").items()}
    print(sum(writer.done for writer in writers), "statements,", kills, "kills, loads", loads)
    own.through.run("UNMIRROR DATABASE chance")
