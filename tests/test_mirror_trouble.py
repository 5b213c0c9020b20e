"""Mirrors of servers that are away, lose things, or do not say everything: what is no longer what the
server has is not shown, and what is wrong is."""

from __future__ import annotations

import time

import pymysql
import pytest
from pelorus_tools import machine, mirror_soak, rows, servers
from pelorus_tools.mirrored import Mirrored, is_of_mirrors, plan_of
from pelorus_tools.processes import wait_for

T = ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")


def make(kind: str, number: int, *options: str) -> servers.Server:
    """A server of the tests' own."""
    if kind == "mariadb":
        return servers.MariaDb("mariadb-trouble", number, options=options)
    if machine.mysql_root()[0] is None:
        pytest.skip("no MySQL")
    return servers.MySql("mysql-trouble", number, options=options)


@pytest.fixture(scope="module", params=["mariadb", "mysql"])
def server(request):
    """A server that tests may stop."""
    server = make(request.param, 45 if request.param == "mariadb" else 46)
    yield server
    server.kill()


@pytest.fixture
def own(server, linked_maker):
    """It and a Pelorus of the test's own."""
    through = linked_maker(server.url(), name=f"pelorus-trouble-{server.kind}")
    yield Mirrored(server, through)
    through.stop()


def restart(server: servers.Server, *more: str) -> None:
    """Starts a server again, with further options this time."""
    options = server._options
    server.stop()
    server._options = (*options, *more)
    try:
        server.start()
    finally:
        server._options = options


def live(pair: Mirrored, database: str, *begin: str) -> None:
    """A database all of which is mirrored and live."""
    pair.begin(database, *(begin or T))
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)


def test_the_binlog_is_off_for_a_while(own):
    """What is changed meanwhile is in no binlog, also not in the one that comes then."""
    live(own, "unlogged")
    try:
        restart(own.server, "--skip-log-bin")
        own.server.run("INSERT INTO unlogged.t VALUES (3, 3)")
        wait_for("the reason", lambda: "binlog" in str(own.state("unlogged", "t")["Reason"]))
        assert own.state("unlogged", "t")["State"] == "waiting"
        assert own.through.run("SELECT COUNT(*) FROM unlogged.t") == ((3,),)
        # It is not forgotten.
        own.through.process.kill()
    finally:
        restart(own.server)
    own.through.start()
    own.wait_live("unlogged", "t")
    own.same_tables("unlogged", "t")
    assert own.state("unlogged", "t")["Loads"] == 2


def test_databases_that_are_left_out_of_the_binlog(own):
    """They are not mirrored. What their sessions do to others is not seen, of which MIRROR warns."""
    try:
        restart(own.server, "--binlog-ignore-db=left_out")
        own.begin("left_in", *T)
        own.begin("left_out", *T)
        with pytest.raises(pymysql.MySQLError, match="leaves out of its binlog"):
            own.through.run("MIRROR TABLE left_out.t")
        with own.through.connect() as connection, connection.cursor() as cursor:
            cursor.execute("MIRROR TABLE left_in.t")
            cursor.execute("SHOW WARNINGS")
            (level, _, text), = cursor.fetchall()
            assert level == "Warning" and "binlog_ignore_db = left_out" in text, text
        own.wait_live("left_in", "t")
        own.through.run("UNMIRROR TABLE left_in.t")
    finally:
        restart(own.server)


def test_reasons_of_the_past_do_not_hide_those_of_now(own):
    live(own, "reasons")
    own.through.run("ALTER MIRROR reasons.t RESYNC")
    wait_for("another load", lambda: own.state("reasons", "t")["Loads"] == 2)
    own.wait_live("reasons", "t")
    assert own.state("reasons", "t")["Reason"] is None
    own.server.stop()
    try:
        wait_for("the reason", lambda: own.state("reasons", "t")["Reason"])
        found = own.state("reasons", "t")
        assert found["State"] == "live" and "RESYNC" not in found["Reason"], found
    finally:
        own.server.start()


def test_mirrors_of_databases_that_are_gone(own):
    """They are known by their names, and begin again when the databases come back."""
    live(own, "gone_all")
    own.begin("gone_one", *T)
    own.through.run("MIRROR TABLE gone_one.t")
    own.wait_live("gone_one", "t")
    own.server.run("DROP DATABASE gone_one", "DROP DATABASE gone_all")
    own.wait_state("gone_one", "t", "failed")
    wait_for("the database to be gone",
             lambda: not own.through.run("SHOW DATABASES LIKE 'gone_one'"))
    with pytest.raises(pymysql.MySQLError, match="1007"):
        own.through.run("MIRROR DATABASE gone_all")
    own.server.run(*(statement for name in ("gone_one", "gone_all")
                     for statement in (f"CREATE DATABASE {name}", f"USE {name}", *T)))
    own.wait_live("gone_one", "t")
    own.wait_live("gone_all", "t")
    own.same_tables("gone_all", "t")
    own.server.run("DROP DATABASE gone_one", "DROP DATABASE gone_all")
    own.wait_state("gone_one", "t", "failed")
    assert "failed" in own.through.run("CHECK MIRROR gone_one.t")[0][3]
    own.through.run("ALTER MIRROR gone_one.t PAUSE", "ALTER MIRROR gone_one.t RESYNC")
    own.wait_state("gone_one", "t", "failed")
    own.through.run("UNMIRROR TABLE gone_one.t", "UNMIRROR TABLE IF EXISTS gone_one.t",
                    "UNMIRROR DATABASE gone_all", "UNMIRROR DATABASE IF EXISTS gone_all")
    assert not own.of_database("gone_one") and not own.of_database("gone_all")
    with pytest.raises(pymysql.MySQLError, match="1008|1049"):
        own.through.run("UNMIRROR DATABASE gone_all")


def test_pelorus_starts_while_the_server_is_away(own):
    """What mirrors there are is known, and what they show may be asked for."""
    own.begin("away", *T, "CREATE TABLE u (id INT, KEY (id))")
    own.through.run("MIRROR TABLE away.t")
    own.wait_live("away", "t")
    own.server.run("INSERT INTO away.t VALUES (3, 3)")
    # The server's time zone must be known for that.
    wait_for("a query of the mirror", lambda: own.through.run("SELECT COUNT(*) FROM away.t")
             and own.state("away", "t")["Queries"] > 0)
    own.same_tables("away", "t")
    own.through.stop()
    own.server.stop()
    try:
        own.through.start()
        assert own.through.run("SHOW DATABASES LIKE 'away'")
        with rows.connect(own.through, database="away") as connection:
            old = rows.ask(connection, "SET pelorus_max_staleness = 1e9")
            assert old.error is None
            answer = rows.ask(connection, "SELECT COUNT(*), MAX(v) FROM t WHERE YEAR(NOW()) > 2020")
            assert answer.rows == [(b"3", b"3")], answer
            # Not 1049: the table may be there.
            assert rows.ask(connection, "SELECT * FROM u").error[0] == 1429
            rows.ask(connection, "SET pelorus_max_staleness = 0.001")
            assert rows.ask(connection, "SELECT * FROM t").error[0] == 1429
        found = own.state("away", "t")
        assert found["State"] == "live" and float(found["Seconds_behind"]) > 0, found
        own.through.run("ALTER MIRROR away.t PAUSE", "ALTER MIRROR away.t RESUME")
    finally:
        own.server.start()
    own.wait_live("away", "t")
    own.same_tables("away", "t")
    assert own.state("away", "t")["Loads"] == 1


def test_open_transactions_without_gtids(plain_mysql, linked_maker):
    """What the reading of a table waits for is said."""
    through = linked_maker(plain_mysql.url(), name="pelorus-trouble-plain")
    own = Mirrored(plain_mysql, through)
    own.begin("opened", *T)
    plain_mysql.run("FLUSH BINARY LOGS")
    with plain_mysql.connect(database="opened", autocommit=False) as held, held.cursor() as cursor:
        cursor.execute("UPDATE t SET v = v + 1")
        through.run("MIRROR TABLE opened.t")
        wait_for("the reason", lambda: "transactions that are open on 'opened.t'"
                 in str(own.state("opened", "t")["Reason"]))
        assert own.state("opened", "t")["State"] in ("waiting", "loading")
        held.commit()
    own.wait_live("opened", "t")
    own.same_tables("opened", "t")
    assert own.state("opened", "t")["Reason"] is None
    assert through.log().count("the reading of a table waits") == 1
    through.run("UNMIRROR TABLE opened.t")
    through.stop()


def test_what_was_not_committed_is_not_read(server, linked_maker):
    """Not on a server either whose sessions would read it."""
    server.run("DROP DATABASE IF EXISTS dirty", "CREATE DATABASE dirty", "USE dirty", *T,
               "SET GLOBAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
    writer = server.connect(database="dirty")
    try:
        pair = Mirrored(server, linked_maker(server.url(), name=f"pelorus-dirty-{server.kind}"))
        pair.wait_for_database("dirty")
        with writer.cursor() as cursor:
            for statement in ("BEGIN", "INSERT INTO t VALUES (3, 3)", "UPDATE t SET v = 7 WHERE id = 1"):
                cursor.execute(statement)
        pair.through.run("MIRROR TABLE dirty.t")
        pair.wait_live("dirty", "t")
        assert pair.through.run("CHECK MIRROR dirty.t")[-1][3] == "OK"
    finally:
        writer.rollback()
        writer.close()
        server.run("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    pair.same_tables("dirty", "t")
    pair.through.stop()


def test_the_limit_of_the_servers_sessions(server, linked_maker):
    """It is not that of Pelorus's sessions, nor of what Pelorus reads for itself."""
    server.run("DROP DATABASE IF EXISTS few", "CREATE DATABASE few", "USE few", *T,
               "INSERT INTO t VALUES (3, 3), (4, 4)", "SET GLOBAL sql_select_limit = 1")
    try:
        pair = Mirrored(server, linked_maker(server.url(), name=f"pelorus-few-{server.kind}"))
        pair.wait_for_database("few")
        for split in (1_000_000, 0):
            with pair.through.connect(database="few") as connection, connection.cursor() as cursor:
                cursor.execute(f"SET pelorus_min_split_rows = {split}")
                for statement in ("SET sql_select_limit = 2", "SET sql_select_limit = DEFAULT"):
                    cursor.execute(statement)
                    assert cursor.execute("SELECT id FROM t") == (2 if "2" in statement else 4)
                assert cursor.execute("SELECT v, COUNT(*) FROM t GROUP BY v") == 4
        pair.through.run("MIRROR TABLE few.t")
        pair.wait_live("few", "t")
    finally:
        server.run("SET GLOBAL sql_select_limit = DEFAULT")
    pair.same_tables("few", "t")
    pair.through.stop()


def test_a_right_that_was_taken_away(own, linked_maker):
    """It is named, and the table is mirrored when it is back."""
    own.begin("rightful", *T)
    own.server.run("DROP USER IF EXISTS reader@'%'", "CREATE USER reader@'%' IDENTIFIED BY 'Reader-1'",
                   "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader@'%'",
                   "GRANT SELECT ON rightful.* TO reader@'%'")
    through = linked_maker(f"mysql://reader:Reader-1@127.0.0.1:{own.server.port}/rightful",
                           name=f"pelorus-reader-{own.server.kind}")
    pair = Mirrored(own.server, through)
    through.run("MIRROR TABLE rightful.t")
    pair.wait_live("rightful", "t")
    own.server.run("REVOKE SELECT ON rightful.* FROM reader@'%'")
    through.run("ALTER MIRROR rightful.t RESYNC")
    wait_for("the reason", lambda: "GRANT SELECT ON" in str(pair.state("rightful", "t")["Reason"]))
    assert pair.state("rightful", "t")["State"] == "waiting"
    own.server.run("GRANT SELECT ON rightful.* TO reader@'%'")
    pair.wait_live("rightful", "t")
    pair.same_tables("rightful", "t")
    # A table that is not there is another thing.
    own.server.run("DROP TABLE rightful.t")
    pair.wait_state("rightful", "t", "failed")
    through.run("ALTER MIRROR rightful.t RESUME")
    wait_for("the reason", lambda: "RESUME" in str(pair.state("rightful", "t")["Reason"]))
    own.server.run("CREATE TABLE rightful.t (id INT PRIMARY KEY)")
    pair.wait_live("rightful", "t")
    through.stop()


def test_all_databases_those_to_come_included(server, linked_maker):
    through = linked_maker(server.url(), options=["--mirror", "all"],
                           name=f"pelorus-all-{server.kind}")
    pair = Mirrored(server, through)
    pair.begin("to_come", *T)
    pair.wait_live("to_come", "t")
    server.run("CREATE TABLE to_come.u (id INT PRIMARY KEY)")
    pair.wait_live("to_come", "t", "u")
    pair.same_tables("to_come", "t", "u")
    through.stop()
    server.run("DROP DATABASE to_come")


def test_tables_that_were_made_a_moment_ago(own):
    """The list of a database's tables that was read before does not count."""
    own.begin("moment", *T)
    own.through.run("SHOW TABLES FROM moment")
    own.server.run("CREATE TABLE moment.u (id INT PRIMARY KEY)")
    own.through.run("MIRROR DATABASE moment")
    own.wait_live("moment", "t", "u")


def test_layouts_are_shown(own):
    own.begin("laid_out", *T)
    with pytest.raises(pymysql.MySQLError, match="1235.*MIRROR TABLE"):
        own.through.run("MIRROR DATABASE laid_out SEGMENT BY (v)")
    own.through.run("MIRROR TABLE laid_out.t SEGMENT BY (v)", "MIRROR DATABASE laid_out")
    own.wait_live("laid_out", "t")
    assert own.state("laid_out", "t")["Layout"] == "SEGMENT BY (v)"


@pytest.mark.parametrize("layout, change", [
    ("PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN MAXVALUE)", "RENAME COLUMN id TO other"),
    ("SEGMENT BY (v)", "CHANGE v w INT")])
def test_layouts_of_columns_that_are_renamed(own, layout, change):
    own.begin("renamed_layout", *T)
    own.through.run(f"MIRROR TABLE renamed_layout.t {layout}")
    own.wait_live("renamed_layout", "t")
    own.server.run(f"ALTER TABLE renamed_layout.t {change}")
    found = own.wait_state("renamed_layout", "t", "failed")
    assert "UNMIRROR TABLE" in found["Reason"] and "Unknown column" in found["Reason"], found
    own.through.run("UNMIRROR TABLE renamed_layout.t", "MIRROR TABLE renamed_layout.t")
    own.wait_live("renamed_layout", "t")
    own.same_tables("renamed_layout", "t")
    own.through.run("UNMIRROR TABLE renamed_layout.t")


def test_layouts_that_no_longer_fit(own):
    """That is not tried again, but when the table is changed once more."""
    own.begin("misfit", *T)
    own.through.run("MIRROR TABLE misfit.t PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100))")
    own.wait_live("misfit", "t")
    own.server.run("ALTER TABLE misfit.t MODIFY id VARCHAR(9)")
    found = own.wait_state("misfit", "t", "failed")
    assert "not allowed type" in found["Reason"], found
    own.server.run("ALTER TABLE misfit.t MODIFY id INT")
    own.wait_live("misfit", "t")
    own.same_tables("misfit", "t")


def test_own_writes_while_the_stream_stands_still(own, linked_maker):
    """A session that reads its writes waits for no longer than it wants to, and reads them."""
    own.begin("own_writes", *T)
    own.server.run("DROP USER IF EXISTS writer@'%'", "CREATE USER writer@'%' IDENTIFIED BY 'Writer-1'",
                   "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO writer@'%'",
                   "GRANT ALL ON own_writes.* TO writer@'%'")
    through = linked_maker(f"mysql://writer:Writer-1@127.0.0.1:{own.server.port}/own_writes",
                           name=f"pelorus-writer-{own.server.kind}")
    pair = Mirrored(own.server, through)
    through.run("MIRROR TABLE own_writes.t")
    pair.wait_live("own_writes", "t")
    # Known from the first moment on, also where nothing happens.
    assert pair.state("own_writes", "t")["Seconds_behind"] is not None
    own.server.run("REVOKE REPLICATION SLAVE ON *.* FROM writer@'%'")
    mirror_soak.kill_dumps(own.server)
    wait_for("the stream to end", lambda: pair.state("own_writes", "t")["Reason"])
    query = "SELECT COUNT(*), SUM(v) FROM t"
    with rows.connect(through, database="own_writes") as connection:
        for setting in ("time_zone = '+00:00'", "pelorus_read_your_writes = ON", "pelorus_max_staleness = 3600",
                        "pelorus_mirror_timeout = 500"):
            rows.ask(connection, f"SET {setting}")
        assert is_of_mirrors(plan_of(connection, query))
        assert rows.ask(connection, "INSERT INTO t VALUES (3, 3)").affected == 1
        begun = time.monotonic()
        assert rows.ask(connection, query).rows == [(b"3", b"6")]
        assert time.monotonic() - begun < 20
        assert not is_of_mirrors(plan_of(connection, query))
        (_, _, why), = rows.ask(connection, "SHOW WARNINGS").rows
        assert b"what this session has written" in why
        # What is too old says so.
        rows.ask(connection, "SET pelorus_read_your_writes = OFF")
        rows.ask(connection, "SET pelorus_max_staleness = 0.001")
        assert not is_of_mirrors(plan_of(connection, query))
        (_, _, why), = rows.ask(connection, "SHOW WARNINGS").rows
        assert b"seconds old" in why
        own.server.run("GRANT REPLICATION SLAVE ON *.* TO writer@'%'")
        rows.ask(connection, "SET pelorus_mirror_timeout = 120000")
        wait_for("the mirror to be read", lambda: is_of_mirrors(plan_of(connection, query)))
        assert rows.ask(connection, query).rows == [(b"3", b"6")]
    through.stop()


def test_invisible_columns(own):
    live(own, "unseen", "CREATE TABLE t (id INT PRIMARY KEY, a INT, hid INT INVISIBLE DEFAULT 7)",
         "INSERT INTO t (id, a) VALUES (1, 1)", "INSERT INTO t (id, a, hid) VALUES (2, 2, 8)")
    queries = ("SELECT * FROM t", "SELECT id, hid FROM t", "SELECT SUM(hid) FROM t WHERE hid > 7")
    own.same("unseen", *queries)
    own.server.run("INSERT INTO t (id, a) VALUES (3, 3)", "UPDATE t SET hid = 9 WHERE id = 1",
                   "ALTER TABLE t ADD COLUMN more INT INVISIBLE DEFAULT 5", database="unseen")
    own.same("unseen", *queries, "SELECT id, more FROM t")
    shown = ("ALTER TABLE t MODIFY hid INT DEFAULT 7" if own.server.kind == "mariadb"
             else "ALTER TABLE t ALTER COLUMN hid SET VISIBLE")
    own.server.run(shown, "INSERT INTO t VALUES (4, 4, 4)", database="unseen")
    own.wait_live("unseen", "t")
    own.same("unseen", *queries)


def test_compressed_binlogs(linked_maker):
    """What a MariaDB compresses in its binlog is read, also after a kill in the middle."""
    server = make("mariadb", 47, "--log-bin-compress=ON", "--log-bin-compress-min-len=10")
    through = linked_maker(server.url(), name="pelorus-compressed")
    pair = Mirrored(server, through)
    live(pair, "packed", "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(2000))")
    with server.connect(database="packed") as connection, connection.cursor() as cursor:
        for number in range(200):
            if number == 100:
                through.process.kill()
            cursor.execute("INSERT INTO t VALUES (%s, REPEAT('abc', 600))", (number,))
            cursor.execute("UPDATE t SET v = CONCAT(v, id) WHERE id %% 7 = %s", (number % 7,))
        cursor.execute("DELETE FROM t WHERE id % 5 = 1")
        cursor.execute("ALTER TABLE t ADD COLUMN n INT DEFAULT 3, COMMENT = 'a long statement, too'")
    through.start()
    pair.wait_for_database("packed")
    pair.wait_live("packed", "t")
    pair.same_tables("packed", "t")
    assert pair.state("packed", "t")["Loads"] == 1
    through.stop()
    server.stop()


def test_a_replica_that_does_not_log_what_it_is_sent(linked_maker):
    """Whether a MariaDB is one is found out without the right to ask, or the right is demanded."""
    primary = servers.MariaDb("mariadb-sender", 68)
    replica = servers.MariaDb("mariadb-receiver", 69, options=("--skip-log-slave-updates",))
    account = ("CREATE USER reader@'%' IDENTIFIED BY 'Reader-1'",
               "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO reader@'%'")
    replica.run("CREATE DATABASE early", "CREATE TABLE early.t (id INT PRIMARY KEY)", *account)
    through = linked_maker(f"mysql://reader:Reader-1@127.0.0.1:{replica.port}/early",
                           name="pelorus-receiver")
    pair = Mirrored(replica, through)
    try:
        # It has never followed anybody.
        through.run("MIRROR TABLE early.t")
        pair.wait_live("early", "t")
        through.run("UNMIRROR TABLE early.t")
        replica.follow(primary)
        primary.run("CREATE DATABASE sent", "CREATE TABLE sent.t (id INT PRIMARY KEY)")
        replica.catch_up(primary)
        with pytest.raises(pymysql.MySQLError, match="follows another server"):
            through.run("MIRROR TABLE early.t")
        # Stopped for a while, or for good: nobody knows.
        replica.run("STOP SLAVE")
        with pytest.raises(pymysql.MySQLError, match="GRANT REPLICA MONITOR"):
            through.run("MIRROR TABLE early.t")
        replica.run("GRANT REPLICA MONITOR ON *.* TO reader@'%'")
        # Rights are those that an account had when it logged in.
        sessions = "SELECT id FROM information_schema.processlist WHERE user = 'reader'"
        before = set(replica.run(sessions))
        for (number,) in before:
            try:
                replica.run(f"KILL {number}")
            except pymysql.MySQLError as error:
                # The session has already ended.
                assert error.args[0] == 1094, error
        wait_for("the sessions to end", lambda: not before & set(replica.run(sessions)))
        with pytest.raises(pymysql.MySQLError, match="follows another server"):
            through.run("MIRROR TABLE early.t")
        replica.run("RESET SLAVE ALL")
        through.run("MIRROR TABLE early.t")
        pair.wait_live("early", "t")
    finally:
        through.stop()
        replica.stop()
        primary.stop()
