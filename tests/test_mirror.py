"""Mirrors on real servers: exactly what the server has, through trouble of every kind, or a clear
word on why not. Definitions that change are in `test_mirror_ddl.py`, values and keys of every type
in `test_mirror_types.py`.

`PELORUS_SOAK_SECONDS` and `PELORUS_MIRROR_SOAK` set how long random changes go on for each server, and
their seeds.
"""

from __future__ import annotations

import os
import random
import signal
import time

import pymysql
import pytest
from pelorus_tools import machine, mirror_soak, rows, seeds, servers
from pelorus_tools.mirrored import Mirrored, is_of_mirrors, plan_of
from pelorus_tools.processes import wait_for

SOAK_SECONDS = float(os.environ.get("PELORUS_SOAK_SECONDS", "20"))
T = ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
NUMBERS = ("(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM digits a, digits b, "
           "digits c, digits e, digits f)")
DIGITS = ("CREATE TABLE digits (d INT PRIMARY KEY)",
          "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")


@pytest.fixture(params=["mariadb", "mysql", "plain_mysql"])
def own(request, linked_maker):
    """A server and a Pelorus of the test's own, which it may stop and ruin as it likes."""
    server = request.getfixturevalue(request.param)
    through = linked_maker(server.url(), name=f"pelorus-mirror-{request.param}")
    yield Mirrored(server, through)
    through.stop()


@pytest.mark.parametrize("seed", seeds.asked("mirror_soak"))
def test_soak(own, seed, tmp_path):
    print(mirror_soak.soak(own, str(seed), SOAK_SECONDS, tmp_path))


def live(pair: Mirrored, database: str, *begin: str) -> None:
    """A database all of which is mirrored and live."""
    pair.begin(database, *(begin or T))
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)


class TestRestarts:
    """Pelorus or the server goes away and comes back."""

    def test_killed_in_the_middle_of_a_load(self, own):
        own.begin("large", *DIGITS, "CREATE TABLE big (id INT PRIMARY KEY, v INT, pad VARCHAR(100))",
                  *(f"INSERT INTO big SELECT n + {part} * 100000, n, REPEAT('p', 90) FROM {NUMBERS} x"
                    for part in range(6)), "ANALYZE TABLE big")
        own.through.run("MIRROR TABLE large.big")
        last = 0
        for _ in range(3):
            def some() -> bool:
                found = own.state("large", "big")
                return found["State"] == "live" or int(found["Progress"]) > last
            wait_for("some of the load", some, pause=0.01)
            last = int(own.state("large", "big")["Progress"])
            own.through.process.kill()
            own.server.run("UPDATE large.big SET v = v + 1 WHERE id % 1000 = 7",
                           "DELETE FROM large.big WHERE id % 777 = 3")
            own.through.start()
            own.wait_for_database("large")
        own.wait_live("large", "big")
        own.same("large", "SELECT COUNT(*), SUM(v), SUM(id), SUM(CRC32(pad)), MAX(id) FROM big")
        assert own.state("large", "big")["Loads"] == 1
        own.through.run("UNMIRROR TABLE large.big")

    def test_server_stopped_and_started(self, own):
        live(own, "restarted")
        own.same_tables("restarted", "t")
        own.server.stop()
        try:
            with pytest.raises(pymysql.MySQLError):
                with own.open("restarted") as connection, connection.cursor() as cursor:
                    cursor.execute("SET pelorus_mirror_timeout = 300")
                    cursor.execute("SELECT * FROM t")
            with own.through.connect(database="restarted") as connection:
                # What is old enough may still be asked for.
                answer = rows.ask(connection, "SET pelorus_max_staleness = 3600")
                assert answer.error is None
                assert len(rows.ask(connection, "SELECT * FROM t").rows) == 2
            # The stream notices a moment later that the server is gone.
            wait_for("the reason", lambda: own.state("restarted", "t")["Reason"])
            assert own.state("restarted", "t")["State"] == "live"
        finally:
            own.server.start()
        own.server.run("INSERT INTO restarted.t VALUES (3, 3)")
        # It is tried again, later and later.
        wait_for("the stream to be back", lambda: own.state("restarted", "t")["Reason"] is None)
        own.same_tables("restarted", "t")
        assert own.state("restarted", "t")["Loads"] == 1

    def test_purged_while_away(self, own):
        live(own, "purged")
        own.through.process.kill()
        own.server.run("INSERT INTO purged.t VALUES (3, 3)", "FLUSH BINARY LOGS",
                       "INSERT INTO purged.t VALUES (4, 4)", "FLUSH BINARY LOGS")
        name = own.server.run("SHOW BINARY LOGS")[-1][0]

        def purged() -> bool:
            # A log that is still being sent to whoever is no longer there is kept.
            mirror_soak.kill_dumps(own.server)
            own.server.run(f"PURGE BINARY LOGS TO '{name}'")
            return own.server.run("SHOW BINARY LOGS")[0][0] == name
        wait_for("the binlog to be purged", purged)
        own.through.start()
        own.wait_for_database("purged")
        wait_for("a second load", lambda: own.state("purged", "t")["Loads"] == 2)
        own.wait_live("purged")
        own.same_tables("purged", "t")
        assert "no longer in the server's binlog" in own.through.log()

    def test_statements_from_before_the_mirror(self, own):
        """Where there are no GTIDs the stream begins with the binlog's file, before the statements
        that made the database, and may come to them before the load has begun."""
        own.begin("earlier", *T)
        with own.server.connect(database="earlier") as blocker, blocker.cursor() as cursor:
            cursor.execute("LOCK TABLES t WRITE")
            own.through.run("MIRROR DATABASE earlier")
            wait_for("the load to wait for the lock", lambda: own.server.run(
                "SELECT 1 FROM information_schema.processlist WHERE state LIKE '%metadata lock%'"))
            wait_for("the stream to run", lambda: own.server.run(
                "SELECT 1 FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"))
            cursor.execute("UNLOCK TABLES")
        own.wait_live("earlier")
        own.same_tables("earlier", "t")
        assert own.through.log().count("a mirrored table was dropped mirror=earlier.t") <= 1

    def test_reset_binlogs(self, own):
        live(own, "reset")
        own.server.run("RESET MASTER" if own.server.kind == "mariadb"
                       else "RESET BINARY LOGS AND GTIDS")
        own.server.run("INSERT INTO reset.t VALUES (3, 3)", "UPDATE reset.t SET v = 9 WHERE id = 1")
        with own.open("reset") as connection:
            def right() -> bool:
                answer = rows.ask(connection, "SELECT * FROM t ORDER BY id")
                assert answer.rows == [(b"1", b"9"), (b"2", b"2"), (b"3", b"3")], answer
                return is_of_mirrors(plan_of(connection, "SELECT * FROM t"))
            wait_for("the mirror to answer again", right)
        own.same_tables("reset", "t")


    def test_reset_binlogs_that_overtake(self, own):
        """As much comes at once after the reset as there was before it."""
        reset = "RESET MASTER" if own.server.kind == "mariadb" else "RESET BINARY LOGS AND GTIDS"
        own.server.run(reset)
        live(own, "overtaken")
        own.same_tables("overtaken", "t")
        # Files are told apart by the second in which they were begun.
        time.sleep(1.1)
        own.server.run(reset, *(f"INSERT INTO t VALUES ({number}, 0)" for number in range(3, 300)),
                       database="overtaken")
        wait_for("another load", lambda: own.state("overtaken", "t")["Loads"] > 1)
        own.wait_live("overtaken")
        own.same_tables("overtaken", "t")

    def test_reset_binlogs_that_are_shorter(self, own):
        """A MariaDB goes on with a stream until its new file is as long as the old one was."""
        reset = "RESET MASTER" if own.server.kind == "mariadb" else "RESET BINARY LOGS AND GTIDS"
        own.server.run(reset)
        live(own, "shorter")
        own.server.run(*("UPDATE t SET v = v + 1 WHERE id = 1" for _ in range(1000)), database="shorter")
        own.same_tables("shorter", "t")
        own.server.run(reset)
        own.server.run("UPDATE t SET v = -1 WHERE id = 1", database="shorter")
        answers = set()

        def loaded_again() -> bool:
            # Whatever the mirror's state is: what is shown as fresh is fresh.
            answers.update(own.through.run("SET pelorus_max_staleness = 0",
                                           "SELECT v FROM t WHERE id = 1", database="shorter"))
            return own.state("shorter", "t")["Loads"] > 1
        wait_for("another load", loaded_again)
        assert answers == {(-1,)}
        own.wait_live("shorter")
        own.same_tables("shorter", "t")

    @pytest.mark.parametrize("seed", seeds.asked("mirror_swaps"))
    def test_killed_after_tables_have_changed_places(self, own, seed):
        """The statement is met again: the copies must not be changed back."""
        chance = random.Random(seed)
        live(own, "swapped", *(f"CREATE TABLE {name} (id INT PRIMARY KEY, v CHAR(1))" for name in "ab"),
             "INSERT INTO a VALUES (1, 'a')", "INSERT INTO b VALUES (1, 'b')")
        for _ in range(5):
            own.server.run("RENAME TABLE a TO passing, b TO a, passing TO b", database="swapped")
            time.sleep(chance.uniform(0.0, 0.06))
            own.through.process.kill()
            own.through.start()
            own.wait_for_database("swapped")
            own.wait_live("swapped", "a", "b")
            own.same_tables("swapped", "a", "b")

    def test_transactions_that_are_in_no_binlog(self, own):
        """Somebody loads a dump with its GTIDs and without the binlog."""
        if own.server.kind == "mariadb" or own.server.run("SELECT @@GLOBAL.gtid_mode") == (("OFF",),):
            pytest.skip("without such GTIDs")
        live(own, "given")
        number = int(own.server.run("SELECT UNIX_TIMESTAMP()")[0][0])
        own.server.run("SET sql_log_bin = 0", "INSERT INTO given.t VALUES (3, 3)",
                       f"SET GLOBAL gtid_purged = '+aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee:{number}'")
        # On a server where nothing else happens, too.
        wait_for("another load", lambda: own.state("given", "t")["Loads"] > 1)
        own.wait_live("given")
        own.same_tables("given", "t")

    def test_resumed_where_the_binlog_is_gone(self, own):
        """Only the mirror that was paused is read anew."""
        live(own, "resumed", *T, "CREATE TABLE u LIKE t")
        own.through.run("ALTER MIRROR TABLE resumed.t PAUSE")
        own.server.run("INSERT INTO t VALUES (3, 3)", "FLUSH BINARY LOGS", "INSERT INTO u VALUES (1, 1)",
                       "FLUSH BINARY LOGS", database="resumed")
        own.same_tables("resumed", "u")
        name = own.server.run("SHOW BINARY LOGS")[-1][0]

        def purged() -> bool:
            mirror_soak.kill_dumps(own.server)
            own.server.run(f"PURGE BINARY LOGS TO '{name}'")
            return own.server.run("SHOW BINARY LOGS")[0][0] == name
        wait_for("the binlog to be purged", purged)
        own.same_tables("resumed", "u")
        own.through.run("ALTER MIRROR TABLE resumed.t RESUME")
        own.server.run("INSERT INTO resumed.u VALUES (2, 2)")
        wait_for("a second load", lambda: own.state("resumed", "t")["Loads"] == 2)
        own.wait_live("resumed", "t", "u")
        own.same_tables("resumed", "t", "u")
        assert own.state("resumed", "u")["Loads"] == 1


class TestOneTable:
    """What one table cannot do keeps nothing from the others."""

    def test_rows_that_no_partition_takes(self, linked):
        pair = Mirrored(*linked)
        pair.begin("alone", "CREATE TABLE a (id INT PRIMARY KEY, v INT)", "INSERT INTO a VALUES (1, 1)",
                   "CREATE TABLE b LIKE a")
        pair.through.run("MIRROR TABLE alone.a PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (100))",
                         "MIRROR TABLE alone.b")
        pair.wait_live("alone", "a", "b")
        pair.server.run("BEGIN", "INSERT INTO a VALUES (200, 1)", "INSERT INTO b VALUES (1, 1)", "COMMIT",
                        database="alone")
        found = pair.wait_state("alone", "a", "failed")
        assert "partition" in found["Reason"], found
        pair.same_tables("alone", "b")
        assert pair.state("alone", "b")["Loads"] == 1

    def test_text_that_is_none(self, mariadb, pelorus_mariadb):
        pair = Mirrored(mariadb, pelorus_mariadb)
        live(pair, "surrogates", *T, "CREATE TABLE s (id INT PRIMARY KEY, s VARCHAR(9))")
        pair.server.run("SET sql_mode = ''", "INSERT IGNORE INTO s VALUES (1, _utf8mb4 X'EDA080')",
                        "INSERT INTO t VALUES (3, 3)", database="surrogates")
        pair.same_tables("surrogates", "t")


class TestLargeTransactions:
    """What a transaction changes is held in memory, up to a bound."""

    def test_one_beyond_the_bound(self, own):
        live(own, "bound", *DIGITS, "CREATE TABLE big (id INT PRIMARY KEY, v INT, pad VARCHAR(100))",
             f"INSERT INTO big SELECT n, n, REPEAT('p', 90) FROM {NUMBERS} x", *T)
        own.through.run("SET GLOBAL pelorus_mirror_transaction_size = 4194304")
        try:
            own.server.run("USE bound", "BEGIN", "UPDATE t SET v = v + 1",
                           "UPDATE big SET v = v + 1", "UPDATE t SET v = v + 1", "COMMIT")
            wait_for("the table to be read anew",
                     lambda: own.state("bound", "big")["Loads"] == 2, process=own.through.process)
            own.wait_live("bound", "big", "t")
            own.same("bound", "SELECT COUNT(*), SUM(v), SUM(id), SUM(CRC32(pad)) FROM big",
                     "SELECT * FROM t")
            assert own.state("bound", "t")["Loads"] == 1
        finally:
            own.through.run("SET GLOBAL pelorus_mirror_transaction_size = DEFAULT")

    def test_few_wide_rows(self, linked):
        pair = Mirrored(*linked)
        live(pair, "wide", "CREATE TABLE t (id INT PRIMARY KEY, doc LONGTEXT)")
        pair.through.run("SET GLOBAL pelorus_mirror_transaction_size = 1048576")
        try:
            pair.server.run("BEGIN", *(f"INSERT INTO t VALUES ({number}, REPEAT('x', 400000))"
                                       for number in range(8)), "COMMIT", database="wide")
            wait_for("another load", lambda: pair.state("wide", "t")["Loads"] == 2)
            assert "transaction_size" in pair.through.log()
            # Many that are small each are no large one.
            pair.wait_live("wide")
            pair.server.run(*(f"UPDATE t SET doc = REPEAT('y', 400000) WHERE id = {number}"
                              for number in range(8)), database="wide")
            pair.same("wide", "SELECT COUNT(*), SUM(CRC32(doc)) FROM t")
            assert pair.state("wide", "t")["Loads"] == 2
        finally:
            pair.through.run("SET GLOBAL pelorus_mirror_transaction_size = DEFAULT")

    def test_rows_in_part_that_are_wide(self, linked):
        """The images are small, and what they come to is not."""
        pair = Mirrored(*linked)
        live(pair, "parts", *DIGITS, "CREATE TABLE t (id INT PRIMARY KEY, v INT, pad VARCHAR(4000))",
             f"INSERT INTO t SELECT n, n, REPEAT('p', 4000) FROM {NUMBERS} x WHERE n < 4000")
        pair.through.run("SET GLOBAL pelorus_mirror_transaction_size = 4194304")
        try:
            pair.server.run("SET binlog_row_image = MINIMAL", "UPDATE t SET v = v + 1", database="parts")
            wait_for("another load", lambda: pair.state("parts", "t")["Loads"] == 2)
            pair.wait_live("parts", "t")
            pair.same("parts", "SELECT COUNT(*), SUM(v), SUM(CRC32(pad)) FROM t")
        finally:
            pair.through.run("SET GLOBAL pelorus_mirror_transaction_size = DEFAULT")

    def test_prepared_ones(self, linked):
        """They may stay prepared for as long as somebody likes, and all of them count."""
        pair = Mirrored(*linked)
        live(pair, "prepared",
             *(f"CREATE TABLE {name} (id INT PRIMARY KEY, doc LONGTEXT)" for name in "abc"))
        pair.through.run("SET GLOBAL pelorus_mirror_transaction_size = 1048576")
        sessions = {}
        try:
            for name, count in (("a", 1), ("b", 2), ("c", 1)):
                sessions[name] = pair.server.connect(database="prepared")
                inserts = (f"INSERT INTO {name} VALUES ({number}, REPEAT('x', 300000))"
                           for number in range(count))
                with sessions[name].cursor() as cursor:
                    for statement in (f"XA START '{name}'", *inserts, f"XA END '{name}'",
                                      f"XA PREPARE '{name}'"):
                        cursor.execute(statement)
            for name, session in sessions.items():
                with session.cursor() as cursor:
                    cursor.execute(f"XA COMMIT '{name}'")
            wait_for("another load", lambda: pair.state("prepared", "b")["Loads"] == 2)
            pair.wait_live("prepared", *sessions)
            pair.same_tables("prepared", *sessions)
            assert [pair.state("prepared", name)["Loads"] for name in "ac"] == [1, 1]
        finally:
            for session in sessions.values():
                session.close()
            pair.through.run("SET GLOBAL pelorus_mirror_transaction_size = DEFAULT")

    def test_a_load_of_wide_rows(self, linked):
        """More than a record of the log holds, in fewer rows than a load commits at once."""
        pair = Mirrored(*linked)
        pair.begin("wide_load", "SET sql_log_bin = 0", "CREATE TABLE w (id INT PRIMARY KEY, doc LONGTEXT)",
                   *(f"INSERT INTO w VALUES ({number}, REPEAT('x', 4194304))" for number in range(265)))
        pair.through.run("MIRROR TABLE wide_load.w")
        pair.wait_live("wide_load", seconds=600)
        pair.same("wide_load", "SELECT COUNT(*), MAX(id) FROM w")
        pair.through.run("UNMIRROR TABLE wide_load.w")
        pair.server.run("SET sql_log_bin = 0", "DROP TABLE wide_load.w")


class TestRefusals:
    """Servers and sessions that cannot be followed."""

    def error_of(self, pair: Mirrored, statement: str) -> str:
        with pytest.raises(pymysql.MySQLError) as caught:
            pair.through.run(statement)
        return str(caught.value)

    @pytest.mark.parametrize("right", [None, "REPLICATION SLAVE"])
    def test_an_account_without_rights(self, right, linked, linked_maker):
        """The right to read the binlog, and the one to ask which databases are in it."""
        server, _ = linked
        server.run("DROP USER IF EXISTS meek@'%'", "CREATE USER meek@'%' IDENTIFIED BY 'Meek-1'",
                   "DROP DATABASE IF EXISTS rights", "CREATE DATABASE rights", "USE rights", *T,
                   "GRANT SELECT ON rights.* TO meek@'%'")
        if right:
            server.run(f"GRANT {right} ON *.* TO meek@'%'")
        through = linked_maker(f"mysql://meek:Meek-1@127.0.0.1:{server.port}/rights", name="meek")
        pair = Mirrored(server, through)
        text = self.error_of(pair, "MIRROR TABLE rights.t")
        second = "BINLOG MONITOR" if server.kind == "mariadb" else "REPLICATION CLIENT"
        assert f"GRANT {second if right else 'REPLICATION SLAVE'} ON" in text, text
        through.stop()

    def test_formats_that_lack_rows(self, linked):
        server, through = linked
        pair = Mirrored(server, through)
        pair.begin("formats", *T)
        server.run("SET GLOBAL binlog_format = MIXED")
        try:
            text = self.error_of(pair, "MIRROR TABLE formats.t")
            assert "binlog_format" in text, text
        finally:
            server.run("SET GLOBAL binlog_format = ROW")

    def test_a_session_that_logs_statements(self, linked):
        pair = Mirrored(*linked)
        live(pair, "statements")
        pair.server.run("SET binlog_format = 'STATEMENT'", "INSERT INTO t VALUES (3, 3)",
                        "UPDATE t SET v = v * 2", "DELETE FROM t WHERE id = 1",
                        database="statements")
        wait_for("another load", lambda: pair.state("statements", "t")["Loads"] > 1)
        pair.wait_live("statements")
        pair.same_tables("statements", "t")

    def test_statements_that_do_not_name_what_they_change(self, linked):
        pair = Mirrored(*linked)
        live(pair, "unnamed", *T, "CREATE TABLE other (id INT PRIMARY KEY, v INT)",
             "CREATE VIEW seen AS SELECT * FROM t",
             "CREATE FUNCTION f() RETURNS INT DETERMINISTIC MODIFIES SQL DATA "
             "BEGIN UPDATE t SET v = v + 10 WHERE id = 1; RETURN 1; END")
        loads = 1
        for statement in ["UPDATE seen SET v = 9 WHERE id = 1", "DO f()", "SELECT f()",
                          "INSERT INTO other VALUES (1, f())", "UPDATE other SET v = unnamed.f() + 1"]:
            pair.server.run("SET binlog_format = 'STATEMENT'", statement, database="unnamed")
            wait_for("another load", lambda: pair.state("unnamed", "t")["Loads"] > loads)
            pair.wait_live("unnamed")
            pair.same_tables("unnamed", "t")
            loads = pair.state("unnamed", "t")["Loads"]

    def test_statements_about_other_tables(self, linked):
        pair = Mirrored(*linked)
        pair.begin("others", *T, "CREATE TABLE other (id INT PRIMARY KEY)")
        pair.through.run("MIRROR TABLE others.t")
        pair.wait_live("others")
        pair.server.run("SET binlog_format = 'STATEMENT'", "INSERT INTO other VALUES (1)",
                        "SET binlog_format = 'ROW'", "INSERT INTO t VALUES (3, 3)", database="others")
        pair.same_tables("others", "t")
        assert pair.state("others", "t")["Loads"] == 1

    def test_rows_that_go_with_those_of_a_statement(self, linked):
        """What foreign keys do is not in the binlog then, also where it is otherwise."""
        pair = Mirrored(*linked)
        live(pair, "carried", "CREATE TABLE p (id INT PRIMARY KEY)",
             "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
             "ON DELETE CASCADE)",
             "CREATE TABLE g (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id) "
             "ON DELETE SET NULL)",
             "CREATE TABLE other (id INT PRIMARY KEY)",
             "INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (10, 1), (20, 2)",
             "INSERT INTO g VALUES (100, 10), (200, 20)")
        pair.server.run("SET binlog_format = 'STATEMENT'", "DELETE FROM p WHERE id = 1",
                        database="carried")
        wait_for("other loads", lambda: all(
            pair.state("carried", name)["Loads"] > 1 for name in ("p", "c", "g")))
        pair.wait_live("carried")
        pair.same_tables("carried", "p", "c", "g")
        assert pair.state("carried", "other")["Loads"] == 1

    def test_what_is_not_logged_is_found_by_check(self, linked):
        pair = Mirrored(*linked)
        live(pair, "unlogged")
        pair.server.run("SET sql_log_bin = 0", "UPDATE t SET v = 8 WHERE id = 2", database="unlogged")
        found = [row[2:] for row in pair.through.run("CHECK MIRROR unlogged.t")]
        assert ("warning", "the row (2) differs") in found and found[-1] != ("status", "OK"), found
        found = pair.through.run("CHECK MIRROR unlogged.t REPAIR")
        assert found[-1][-1].startswith(
            "repaired: 0 rows missing, 0 surplus, 1 with other values"), found
        assert pair.through.run("CHECK MIRROR unlogged.t")[-1][-1] == "OK"
        pair.same_tables("unlogged", "t")
        assert pair.state("unlogged", "t")["Loads"] == 1


class TestFreshness:
    """How old an answer may be."""

    def test_own_writes_are_read(self, linked):
        pair = Mirrored(*linked)
        live(pair, "writes")
        with pair.through.connect(database="writes") as connection, connection.cursor() as cursor:
            cursor.execute("SET pelorus_read_your_writes = ON, pelorus_max_staleness = 3600, "
                           "pelorus_mirror_timeout = 120000")
            for number in range(3, 60):
                cursor.execute("INSERT INTO t VALUES (%s, 0)", (number,))
                cursor.execute("SELECT COUNT(*) FROM t")
                assert cursor.fetchone() == (number,)
            assert is_of_mirrors(plan_of(connection, "SELECT COUNT(v) FROM t"))

    def test_own_writes_are_waited_for_until_they_are_asked_for(self, linked):
        pair = Mirrored(*linked)
        live(pair, "later")
        with pair.through.connect(database="later") as connection, connection.cursor() as cursor:
            cursor.execute("SET pelorus_read_your_writes = ON, pelorus_max_staleness = 3600")
            between = ["SELECT LAST_INSERT_ID()", "SELECT 1", "SELECT * FROM information_schema.SCHEMATA"]
            for number in range(3, 90):
                cursor.execute("INSERT INTO t VALUES (%s, 0)", (number,))
                cursor.execute(between[number % 3])
                cursor.fetchall()
                cursor.execute("SELECT COUNT(*) FROM t")
                assert cursor.fetchone() == (number,)
            for number in range(90, 150):
                cursor.execute("BEGIN")
                cursor.execute("INSERT INTO t VALUES (%s, 0)", (number,))
                cursor.execute("EXPLAIN SELECT * FROM t" if number % 2 else "SELECT 1")
                cursor.fetchall()
                cursor.execute("COMMIT")
                cursor.execute("SELECT COUNT(*) FROM t")
                assert cursor.fetchone() == (number,)

    def test_heartbeats_from_long_ago(self, linked):
        """What has waited in the socket while Pelorus stood still says nothing of now."""
        pair = Mirrored(*linked)
        live(pair, "asleep", *DIGITS, "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
             f"INSERT INTO t SELECT n, 0 FROM {NUMBERS} x")
        with pair.through.connect(database="asleep") as connection, connection.cursor() as cursor:
            cursor.execute("SET pelorus_max_staleness = 2, pelorus_mirror_timeout = 60000")
            cursor.execute("SELECT SUM(v) FROM t")
            pair.through.process.signal(signal.SIGSTOP)
            try:
                time.sleep(3)
                pair.server.run("UPDATE asleep.t SET v = 1")
                time.sleep(3)
            finally:
                pair.through.process.signal(signal.SIGCONT)
            for _ in range(20):
                cursor.execute("SELECT SUM(v) FROM t")
                assert cursor.fetchone() == (100000,)

    def test_seconds_behind(self, linked):
        pair = Mirrored(*linked)
        live(pair, "behind")
        behind = lambda: float(pair.state("behind", "t")["Seconds_behind"])  # noqa: E731
        # The server says every half second that there is nothing more; a busy machine hears it late.
        for _ in range(5):
            time.sleep(0.3)
            assert behind() < 6
        pair.server.freeze()
        try:
            wait_for("the stream to be old", lambda: behind() > 6)
            with pair.through.connect(database="behind") as connection:
                rows.ask(connection, "SET pelorus_max_staleness = 60")
                assert len(rows.ask(connection, "SELECT * FROM t").rows) == 2
        finally:
            pair.server.thaw()
        wait_for("the stream to be fresh again", lambda: behind() < 1.5)

    @pytest.mark.parametrize("statement", [
        "SELECT id, SUM(v) OVER (ORDER BY id) AS s, COUNT(*) OVER (PARTITION BY v) AS c FROM t",
        "SELECT id FROM t AS o WHERE EXISTS (SELECT 1 FROM t WHERE t.id > o.id)",
        "SELECT id, (SELECT COUNT(*) FROM t WHERE t.v = o.id) AS c FROM t AS o"])
    def test_reports_are_read_from_mirrors(self, linked, statement):
        pair = Mirrored(*linked)
        live(pair, "reports")
        pair.same("reports", statement)
        with pair.open("reports") as connection:
            assert is_of_mirrors(plan_of(connection, statement))

    def test_switched_off(self, linked):
        pair = Mirrored(*linked)
        live(pair, "switched")
        with pair.open("switched") as connection:
            assert is_of_mirrors(plan_of(connection, "SELECT * FROM t"))
            rows.ask(connection, "SET pelorus_mirrors = OFF")
            assert not is_of_mirrors(plan_of(connection, "SELECT * FROM t"))
        pair.through.run("ALTER MIRROR DATABASE switched PAUSE")
        with pair.open("switched") as connection:
            assert not is_of_mirrors(plan_of(connection, "SELECT * FROM t"))
        pair.server.run("INSERT INTO switched.t VALUES (3, 3)")
        pair.through.run("ALTER MIRROR DATABASE switched RESUME")
        pair.wait_live("switched")
        pair.same_tables("switched", "t")
        assert pair.state("switched", "t")["Loads"] == 1


class TestScale:
    """Much at once."""

    def test_a_large_transaction(self, own):
        live(own, "huge", *DIGITS, "CREATE TABLE t (id INT PRIMARY KEY, v BIGINT, w VARCHAR(30))")
        before = own.through.process.peak_memory_bytes()
        connection = own.server.connect(database="huge", autocommit=False)
        with connection, connection.cursor() as cursor:
            for part in range(10):
                cursor.execute(f"INSERT INTO t SELECT n + {part} * 100000, n, CONCAT('w', n) "
                               f"FROM {NUMBERS} x")
            cursor.execute("UPDATE t SET v = v + 1")
            connection.commit()
        sums = "SELECT COUNT(*), SUM(v), SUM(id), SUM(CRC32(w)) FROM t"
        own.same("huge", sums)
        grown = own.through.process.peak_memory_bytes() - before
        assert grown < 1 << 30, f"{grown >> 20} MiB for a transaction of two million rows"
        print(f"{grown >> 20} MiB more for two million rows")
        own.through.run("UNMIRROR DATABASE huge")

    def test_many_tables(self, mysql, linked_maker):
        through = linked_maker(mysql.url(), name="pelorus-many")
        pair = Mirrored(mysql, through)
        create = []
        for number in range(500):
            create += [f"CREATE TABLE t{number} (id INT PRIMARY KEY, v INT)",
                       f"INSERT INTO t{number} VALUES (1, {number})"]
        pair.begin("many", *create)
        through.run("MIRROR DATABASE many")
        pair.wait_live("many", seconds=600)
        assert len(pair.of_database("many")) == 500
        pair.server.run(*(f"UPDATE t{number} SET v = v + 1" for number in range(500)),
                        database="many")
        pair.same("many", " UNION ALL ".join(f"SELECT * FROM t{number}" for number in range(0, 500, 25)))
        through.stop()


class TestNumbersOfMariaDb:
    """Where `gtid_strict_mode` is off, sessions choose the numbers of their transactions."""

    def test_a_lower_number(self, mariadb, pelorus_mariadb):
        pair = Mirrored(mariadb, pelorus_mariadb)
        pair.begin("numbers", *T, "SET gtid_domain_id = 7, gtid_seq_no = 100", "INSERT INTO t VALUES (3, 3)")
        pair.through.run("MIRROR DATABASE numbers")
        pair.wait_live("numbers")
        pair.server.run("SET gtid_domain_id = 7, gtid_seq_no = 50", "INSERT INTO t VALUES (777, 1)",
                        "SET gtid_domain_id = 0", "INSERT INTO t VALUES (4, 4)", database="numbers")

        def counted():
            found = pair.state("numbers", "t")
            return found["Position"].endswith("7-1-50") and found["Transactions_behind"] == 0
        wait_for("the lower number to count", counted, process=pair.through.process)
        pair.same_tables("numbers", "t")


def test_gtids_are_switched_on_and_off(linked_maker):
    """The documented way, step by step, while mirrors are followed."""
    root, reason = machine.mysql_root()
    if root is None:
        pytest.skip(f"no MySQL: {reason}")
    server = servers.MySql("mysql-switched", 65, options=(
        "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"))
    through = linked_maker(server.url(), name="pelorus-switched")
    pair = Mirrored(server, through)
    try:
        live(pair, "switched")
        pair.same_tables("switched", "t")
        server.run("SET GLOBAL enforce_gtid_consistency = ON")
        steps = ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON", "ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF")
        for at, mode in enumerate(steps):
            server.run(f"SET GLOBAL gtid_mode = {mode}", f"INSERT INTO switched.t VALUES ({at + 10}, 0)")
            pair.wait_live("switched")
            pair.same_tables("switched", "t")
    finally:
        through.stop()
        server.stop()
