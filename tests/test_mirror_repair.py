"""`CHECK MIRROR ... REPAIR`: rows that differ are put right one by one, while both sides change.

The copies are made to differ by changes at the server that its binlog does not have.
"""

from __future__ import annotations

import random
import threading
import time

import pymysql
import pytest
from pelorus_tools.mirrored import OF_PELORUS, Mirrored
from pelorus_tools.processes import wait_for

PAST = "SET sql_log_bin = 0"
# A deadlock, a wait for a lock that is over, a row that has changed: the statement has changed nothing.
LOST = (1213, 1205, 1020)
DIGITS = "(SELECT 0 AS d" + "".join(f" UNION ALL SELECT {n}" for n in range(1, 10)) + ")"


def numbers(most: int) -> str:
    """A query of the numbers from 1 on, below 10 to the power of `most`, 0 included."""
    names = [f"x{at}" for at in range(most)]
    total = " + ".join(f"{10 ** at} * {name}.d" for at, name in enumerate(names))
    return f"SELECT {total} AS n FROM " + ", ".join(f"{DIGITS} {name}" for name in names)


def checked(pair: Mirrored, table: str, repair: bool = True) -> tuple[str, list[str], list[str]]:
    """What `CHECK MIRROR` says: the status, the rows that differ, and everything."""
    found = pair.through.run(f"CHECK MIRROR {table}{' REPAIR' if repair else ''}")
    texts = [f"{kind}: {text}" for _, _, kind, text in found]
    return (found[-1][3], sorted(text for _, _, kind, text in found if kind == "warning"), texts)


def past(pair: Mirrored, *statements: str) -> None:
    """Runs statements without the binlog; those that end with a deadlock are run again, as clients do."""
    with pair.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(PAST)
        for statement in statements:
            while True:
                try:
                    cursor.execute(statement)
                    break
                except pymysql.MySQLError as error:
                    if error.args[0] not in LOST:
                        raise


class Writers:
    """Runs changes in threads as long as the block runs."""

    def __init__(self, pair: Mirrored, database: str, *changes, settings: tuple[str, ...] = ()):
        self.pair, self.database, self.changes, self.settings = pair, database, changes, settings
        self.ended, self.errors, self.done = threading.Event(), [], 0

    def _run(self, change, seed: int) -> None:
        chance = random.Random(seed)
        try:
            with self.pair.server.connect(database=self.database) as connection:
                with connection.cursor() as cursor:
                    for statement in self.settings:
                        cursor.execute(statement)
                    while not self.ended.is_set():
                        try:
                            for statement in change(chance):
                                cursor.execute(statement)
                            self.done += 1
                        except pymysql.MySQLError as error:
                            if error.args[0] not in LOST:
                                raise
                            # After a wait for a lock the transaction is still open.
                            cursor.execute("ROLLBACK")
        except BaseException as error:  # noqa: BLE001 - shown below
            self.errors.append(error)

    def __enter__(self) -> Writers:
        self.threads = [threading.Thread(target=self._run, args=(change, seed), daemon=True)
                        for seed, change in enumerate(self.changes)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()
        assert not self.errors, self.errors


WIDE = (
    "CREATE TABLE t (id INT PRIMARY KEY, bal INT NOT NULL, n INT, f FLOAT, d DOUBLE, "
    "s VARCHAR(40) CHARACTER SET utf8mb4, ts TIMESTAMP(3) NULL, j JSON, b VARBINARY(20), "
    "e DECIMAL(20,5))",
    "INSERT INTO t SELECT n, 10, n, n / 7, n / 3e10, CONCAT('größe ', n), '2026-01-02 03:04:05.678', "
    "JSON_OBJECT('a', n, 'b', JSON_ARRAY(1.5, NULL, 'ß')), UNHEX(LPAD(HEX(n), 8, '0')), n / 13 "
    f"FROM ({numbers(5)}) x WHERE n BETWEEN 1 AND 50000",
    "ANALYZE TABLE t",
)


def move(chance: random.Random) -> list[str]:
    """A transaction that keeps the sum of `bal`."""
    one, other = chance.randint(1, 50000), chance.randint(1, 50000)
    return ["BEGIN", f"UPDATE t SET bal = bal - 1, f = f + 1 WHERE id = {min(one, other)}",
            f"UPDATE t SET bal = bal + 1 WHERE id = {max(one, other)}", "COMMIT"]


def come_and_go(chance: random.Random) -> list[str]:
    """Rows that come and go, among those that are damaged too."""
    at = 60000 + chance.randint(1, 40)
    return [f"REPLACE INTO t (id, bal, n, s) VALUES ({at}, 0, {chance.randint(1, 9)}, 'come')",
            f"DELETE FROM t WHERE id = {60000 + chance.randint(1, 40)}"]


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_rows_of_every_sort_are_put_right_under_writes(pair, image):
    """Rows that are missing, surplus, or have other values are named and put right; transactions
    are seen as wholes meanwhile, and nothing is read anew."""
    pair.begin("mended", *WIDE)
    pair.through.run("MIRROR TABLE mended.t")
    pair.wait_live("mended", "t")
    sums: list[int] = []

    def watch(_chance) -> list[str]:
        with pair.through.connect(database="mended") as connection, connection.cursor() as cursor:
            for statement in OF_PELORUS:
                cursor.execute(statement)
            cursor.execute("SET pelorus_max_staleness = 10")
            while not writers.ended.is_set():
                cursor.execute("SELECT SUM(bal) FROM t")
                sums.append(int(cursor.fetchone()[0]))
        return []
    damage = (PAST, "DELETE FROM mended.t WHERE id IN (777, 30001, 49999)",
              "INSERT INTO mended.t (id, bal, s) VALUES (-5, 0, 'new'), (70001, 0, NULL)",
              "UPDATE mended.t SET s = 'other' WHERE id = 5", "UPDATE mended.t SET s = NULL WHERE id = 25000",
              "UPDATE mended.t SET d = -d WHERE id = 25001", "UPDATE mended.t SET ts = NULL WHERE id = 41000",
              "UPDATE mended.t SET j = '[]', b = 'x', e = 1 WHERE id = 50000")
    # What goes must not be part of the sum that is watched; and the writers' images are whole, so a
    # row that they write to is put right by that already.
    apart = (777, 30001, 49999, 5, 25000, 25001, 41000, 50000)
    pair.server.run("UPDATE mended.t SET bal = 0 WHERE id IN (777, 30001, 49999)")
    pair.same("mended", "SELECT SUM(bal) FROM t")

    def others(chance) -> list[str]:
        found = move(chance)
        return [] if any(text.endswith(f"id = {id}") for text in found for id in apart) else found
    session = f"SET SESSION binlog_row_image = {image}"
    writers = Writers(pair, "mended", others, others, come_and_go, watch, settings=(session,))
    with writers:
        status, _, texts = checked(pair, "mended.t")
        assert status == "OK", texts
        pair.server.run(*damage)
        status, rows, texts = checked(pair, "mended.t", repair=False)
        assert status.startswith("different: 2 rows missing, 3 surplus, 5 with other values"), texts
        status, again, texts = checked(pair, "mended.t")
        assert status.startswith("repaired: 2 rows missing, 3 surplus, 5 with other values"), texts
        assert rows == again == sorted([
            *(f"the copy lacks the row ({id})" for id in (-5, 70001)),
            *(f"the copy has the row ({id}), which the table has not" for id in (777, 30001, 49999)),
            *(f"the row ({id}) differs" for id in (5, 25000, 25001, 41000, 50000))]), texts
        status, _, texts = checked(pair, "mended.t")
        assert status == "OK", texts
        time.sleep(0.5)
        wait_for("sums and writes", lambda: writers.errors or len(sums) > 10 and writers.done > 100)
    assert len(sums) > 10 and set(sums) == {50000 * 10 - 30}, set(sums)
    pair.same_tables("mended", "t")
    assert pair.state("mended", "t")["Loads"] == 1
    assert writers.done > 100
    pair.through.run("UNMIRROR TABLE mended.t")


def test_damage_of_rows_that_change_meanwhile(pair):
    """Rows are damaged again and again while they, too, are written to: in the end all is the same,
    by repairs alone."""
    pair.begin("busy", "CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(20))",
               f"INSERT INTO t SELECT n, 0, 'x' FROM ({numbers(4)}) x", "ANALYZE TABLE t")
    pair.through.run("MIRROR TABLE busy.t")
    pair.wait_live("busy", "t")

    def write(chance) -> list[str]:
        id = chance.randint(0, 400)
        return [chance.choice((f"UPDATE t SET n = n + 1 WHERE id = {id}", f"DELETE FROM t WHERE id = {id}",
                               f"REPLACE INTO t VALUES ({id}, 1, 'new')"))]
    chance = random.Random(7)
    repaired = 0
    with Writers(pair, "busy", write, write):
        for _ in range(12):
            id = chance.randint(0, 400)
            past(pair, f"UPDATE busy.t SET s = 'past', n = {chance.randint(2, 9)} WHERE id % 50 = {id % 50}",
                 f"DELETE FROM busy.t WHERE id = {id}",
                 f"INSERT IGNORE INTO busy.t VALUES ({chance.randint(0, 400)}, 5, 'past')")
            status, _, texts = checked(pair, "busy.t")
            assert status == "OK" or status.startswith("repaired"), texts
            repaired += status.startswith("repaired")
    status, _, texts = checked(pair, "busy.t")
    assert status == "OK" or status.startswith("repaired"), texts
    assert repaired > 6
    pair.same_tables("busy", "t")
    assert pair.state("busy", "t")["Loads"] == 1
    pair.through.run("UNMIRROR TABLE busy.t")


def test_a_large_table_is_not_read_again(pair):
    """Of a million rows only those that differ are sent again."""
    pair.begin("large", "CREATE TABLE t (id INT PRIMARY KEY, n INT, pad VARCHAR(100))",
               f"INSERT INTO t SELECT n, n, REPEAT(CHAR(65 + n % 26), 90) FROM ({numbers(6)}) x",
               "ANALYZE TABLE t")
    pair.through.run("MIRROR TABLE large.t")
    pair.wait_live("large", "t", seconds=600)
    before = pair.state("large", "t")
    pair.server.run(PAST, "DELETE FROM large.t WHERE id IN (12345, 999999)",
                    "UPDATE large.t SET n = -1 WHERE id IN (0, 500000, 500001)",
                    "INSERT INTO large.t VALUES (1000001, 1, 'new')")

    def sent() -> int:
        return int(pair.server.run("SHOW GLOBAL STATUS LIKE 'Bytes_sent'")[0][1])
    begun = sent()
    status, rows, texts = checked(pair, "large.t")
    bytes_sent = sent() - begun
    assert status.startswith("repaired: 1 rows missing, 2 surplus, 3 with other values; "
                             "4 rows were read again"), texts
    assert len(rows) == 6, texts
    print(pair.server.kind, bytes_sent, "bytes sent", texts[0])
    # The table has about 100 MB; the checksums of its pieces and of the rows of a few are sent.
    assert bytes_sent < 1_500_000, bytes_sent
    after = pair.state("large", "t")
    assert (after["Loads"], after["Rows_loaded"], after["State"]) == (1, before["Rows_loaded"], "live")
    pair.same("large", "SELECT COUNT(*), SUM(id), SUM(n), SUM(CRC32(pad)) FROM t",
              "SELECT * FROM t WHERE id IN (0, 12345, 500000, 500001, 999999, 1000001)")
    pair.through.run("UNMIRROR TABLE large.t")


KEYS = {
    "of_words": ("w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
              "'a'", "'Öl'", "'c\\'\\\\d'", "'e\\x01f'"),
    "of_latin": ("w VARCHAR(20) CHARACTER SET latin1", "'a'", "'ö'", "'c'", "'d '"),
    "of_bins": ("b BINARY(4)", "x'00010203'", "x'ff000000'", "'abcd'", "x'60270127'"),
    "of_dates": ("d DATE", "'2026-01-01'", "'1999-12-31'", "'0000-00-00'", "'2026-02-00'"),
    "of_moments": ("d DATETIME(3)", "'2026-01-01 00:00:00'", "'2026-01-01 00:00:00.125'",
                "'1000-01-01 00:00:00'", "'2026-01-01 23:59:59.999'"),
    "of_stamps": ("d TIMESTAMP(6) NOT NULL DEFAULT '2026-01-01 00:00:00'", "'2026-03-29 01:30:00'",
               "'2026-03-29 01:30:00.000001'", "'1970-01-02 00:00:00'", "'2038-01-01 00:00:00'"),
    "of_times": ("t TIME(2)", "'00:00:00'", "'-838:59:59'", "'12:34:56.78'", "'838:59:59'"),
    "of_years": ("y YEAR", "2026", "0", "1999", "2155"),
    "of_decimals": ("d DECIMAL(40,10)", "1.5", "-123456789012345678901234567.0000000001", "0", "7"),
    "of_signed": ("n BIGINT", "-9223372036854775808", "9223372036854775807", "0", "-1"),
    "of_unsigned": ("n BIGINT UNSIGNED", "18446744073709551615", "0", "9223372036854775808", "1"),
    "of_bits": ("b BIT(20)", "b'0'", "b'101'", "b'11111111111111111111'", "b'1'"),
    "of_enums": ("e ENUM('x','Y','z','ä')", "'x'", "'Y'", "'z'", "'ä'"),
    "of_sets": ("s SET('x','y','z')", "''", "'x,y'", "'z'", "'x,y,z'"),
}


def test_keys_of_every_type(pair):
    """Rows are found and put right by keys of all types; some tables have two columns in the key."""
    tables = []
    for name, (column, *values) in KEYS.items():
        key = column.split()[0]
        tables.append(f"CREATE TABLE {name} ({column}, number INT, v INT, PRIMARY KEY ({key}, number))")
        tables.append(f"INSERT INTO {name} VALUES " + ", ".join(
            f"({value}, {n}, 0)" for value in values for n in range(40)))
    pair.begin("kinds_of_keys", *tables)
    pair.through.run("MIRROR DATABASE kinds_of_keys")
    pair.wait_live("kinds_of_keys", *KEYS)
    for name, (column, *values) in KEYS.items():
        key = column.split()[0]
        pair.server.run(PAST, "SET time_zone = '+00:00'", "SET sql_mode = ''",
                        f"DELETE FROM {name} WHERE {key} = {values[0]} AND number = 7",
                        f"UPDATE {name} SET v = 5 WHERE {key} IN ({values[1]}, {values[3]}) AND number = 8",
                        f"INSERT INTO {name} VALUES ({values[2]}, 99, 1)", database="kinds_of_keys")
        status, rows, texts = checked(pair, f"kinds_of_keys.{name}")
        assert status.startswith("repaired: 1 rows missing, 1 surplus, 2 with other values"), (name, texts)
        assert len(rows) == 4, texts
    pair.same_tables("kinds_of_keys", *KEYS)
    for table, row in pair.of_database("kinds_of_keys").items():
        assert row["Loads"] == 1, (table, row)
        status, _, texts = checked(pair, f"kinds_of_keys.{table}")
        assert status == "OK", (table, texts)
    pair.through.run("UNMIRROR DATABASE kinds_of_keys")


def test_keys_that_differ_in_case_only(pair):
    """A key that is the same for its collation, and not by its letters, is a row with another
    value."""
    pair.begin("letters", "CREATE TABLE t (w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
               "utf8mb4_general_ci PRIMARY KEY, n INT)", "INSERT INTO t VALUES ('a', 1), ('b', 2)")
    pair.through.run("MIRROR TABLE letters.t")
    pair.wait_live("letters", "t")
    pair.server.run(PAST, "UPDATE letters.t SET w = 'A' WHERE w = 'a'")
    status, rows, texts = checked(pair, "letters.t")
    assert status.startswith("repaired: 0 rows missing, 0 surplus, 1 with other values"), texts
    pair.same_tables("letters", "t")
    pair.through.run("UNMIRROR TABLE letters.t")


def test_parts_of_tables_and_partitions(pair):
    """Rows that a mirror is not to have are no difference; columns that it does not have neither."""
    pair.begin("parted", "CREATE TABLE t (id INT, k INT, n INT, secret VARCHAR(20), PRIMARY KEY (id, k)) "
               "PARTITION BY RANGE (k) (PARTITION a VALUES LESS THAN (10), "
               "PARTITION b VALUES LESS THAN (20), PARTITION c VALUES LESS THAN MAXVALUE)",
               f"INSERT INTO t SELECT n, n % 30, n % 7, 'x' FROM ({numbers(4)}) x")
    pair.through.run("MIRROR TABLE parted.t EXCEPT COLUMNS (secret) WHERE n < 5")
    pair.wait_live("parted", "t")
    pair.server.run(PAST, "UPDATE parted.t SET secret = 'y' WHERE id < 100",
                    "UPDATE parted.t SET n = 6 WHERE id IN (700, 701)",
                    "UPDATE parted.t SET n = 4 WHERE id = 5",
                    "DELETE FROM parted.t WHERE id IN (14, 20)",
                    "UPDATE parted.t SET n = 3 WHERE id = 8001",
                    "INSERT INTO parted.t VALUES (20000, 3, 1, 'x'), (20001, 3, 6, 'x')")
    status, rows, texts = checked(pair, "parted.t")
    assert status.startswith("repaired: 2 rows missing, 3 surplus, 1 with other values"), texts
    assert len(rows) == 6, texts
    pair.same("parted", "SELECT id, k, n FROM t WHERE n < 5")
    assert pair.state("parted", "t")["Loads"] == 1
    pair.through.run("UNMIRROR TABLE parted.t")


def test_tables_that_are_read_anew_all_the_same(pair):
    """By keys of DOUBLE rows cannot be named."""
    pair.begin("anew", "CREATE TABLE t (d DOUBLE PRIMARY KEY, n INT)",
               "INSERT INTO t VALUES (0.1, 1), (1e-30, 2), (3, 3)")
    pair.through.run("MIRROR TABLE anew.t")
    pair.wait_live("anew", "t")
    assert checked(pair, "anew.t")[0] == "OK"
    pair.server.run(PAST, "UPDATE anew.t SET n = 7 WHERE d = 3")
    status, _, texts = checked(pair, "anew.t", repair=False)
    assert status.startswith("different; CHECK MIRROR ... REPAIR resynchronises the table"), texts
    status, _, texts = checked(pair, "anew.t")
    assert status.startswith("different; the table is being resynchronised"), texts

    def live() -> bool:
        pair.wait_live("anew", "t")
        pair.same_tables("anew", "t")
        return True
    wait_for("the table to be read anew", live)
    assert pair.state("anew", "t")["Loads"] == 2
    pair.through.run("UNMIRROR TABLE anew.t")


def test_definitions_that_change_meanwhile(pair):
    """Statements that change the definition, or empty the table, do not meet rows of before."""
    pair.begin("shifting", "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
               f"INSERT INTO t SELECT n, n FROM ({numbers(4)}) x", "ANALYZE TABLE t")
    pair.through.run("MIRROR TABLE shifting.t")
    pair.wait_live("shifting", "t")
    fill = f"INSERT INTO t SELECT n, n FROM ({numbers(3)}) x"

    is_wide = threading.Event()

    def shift(chance):
        time.sleep(chance.uniform(0, 0.1))
        if is_wide.is_set():
            # The last update ended with a deadlock.
            yield "ALTER TABLE t DROP COLUMN extra"
            is_wide.clear()
        yield chance.choice(("TRUNCATE TABLE t", "DELETE FROM t"))
        yield fill
        yield "ALTER TABLE t ADD COLUMN extra INT DEFAULT 5"
        is_wide.set()
        yield "UPDATE t SET n = n + 1 WHERE id < 50"
        yield "ALTER TABLE t DROP COLUMN extra"
        is_wide.clear()
    with Writers(pair, "shifting", shift):
        for n in range(25):
            try:
                pair.server.run(PAST, f"UPDATE shifting.t SET n = -1 WHERE id % 100 = {n}",
                                f"DELETE FROM shifting.t WHERE id % 100 = {n + 30}",
                                f"REPLACE INTO shifting.t (id, n) VALUES (5000 + {n}, 1)")
            except pymysql.MySQLError as error:
                assert error.args[0] in LOST, error
            print(checked(pair, "shifting.t")[0])
    for _ in range(10):
        pair.wait_live("shifting", "t")
        if checked(pair, "shifting.t")[0] == "OK":
            break
    pair.same_tables("shifting", "t")
    pair.through.run("UNMIRROR TABLE shifting.t")


@pytest.mark.parametrize("kind", ["mariadb", "native_mysql"])
def test_rows_that_foreign_keys_change(kind, request, linked_maker):
    """Row by row while the rows that they refer to stand still; else the table is read anew."""
    server = request.getfixturevalue(kind)
    own = Mirrored(server, linked_maker(server.url(), name=f"pelorus-repair-{kind}"))
    own.begin("kin", "CREATE TABLE p (id INT PRIMARY KEY, n INT)",
              "CREATE TABLE c (id INT PRIMARY KEY, p INT, n INT, FOREIGN KEY (p) REFERENCES p (id) "
              "ON DELETE CASCADE)",
              f"INSERT INTO p SELECT n, 0 FROM ({numbers(3)}) x",
              f"INSERT INTO c SELECT n, n % 1000, 0 FROM ({numbers(4)}) x", "ANALYZE TABLE p, c")
    own.through.run("MIRROR DATABASE kin")
    own.wait_live("kin", "p", "c")
    damage = (PAST, "DELETE FROM kin.c WHERE id = 77", "UPDATE kin.c SET n = 1 WHERE id = 500",
              "INSERT INTO kin.c VALUES (20000, 3, 0)")
    own.server.run(*damage)
    status, _, texts = checked(own, "kin.c")
    assert status.startswith("repaired: 1 rows missing, 1 surplus, 1 with other values"), texts
    assert own.state("kin", "c")["Loads"] == 1
    own.same_tables("kin", "c", "p")

    def write(chance) -> list[str]:
        # Those below keep their rows: what is damaged there cannot go before it is looked at.
        id = chance.randint(50, 999)
        return [f"DELETE FROM p WHERE id = {id}", f"REPLACE INTO p VALUES ({id}, 1)",
                f"INSERT IGNORE INTO c VALUES ({id + 20000}, {id}, 5)"]
    with Writers(own, "kin", write):
        past(own, "UPDATE kin.c SET n = 9 WHERE id > 5000 AND id < 5050",
             "INSERT IGNORE INTO kin.c SELECT id + 40000, id, 9 FROM kin.p WHERE id < 100")
        status, _, texts = checked(own, "kin.c")
        print(texts)
        assert status.startswith(("repaired", "different; the table is being resynchronised")), texts

    def right() -> bool:
        own.wait_live("kin", "p", "c")
        own.same_tables("kin", "p", "c")
        return True
    wait_for("all tables to be the same", right)
    own.through.run("UNMIRROR DATABASE kin")
    own.through.stop()
