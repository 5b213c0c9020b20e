"""Links: one moment in time, replicas, failures, cancelling, writes, secrets, bounded memory."""

from __future__ import annotations

import signal
import subprocess
import threading
import time

import pymysql
import pytest
from pelorus_tools import machine, pelorus, processes, rows, servers
from pelorus_tools.processes import wait_for

# Takes long on any machine, is split into ranges, and is found in a list of processes.
SLOW = ("SELECT count(*) FROM link_lab.wide "
        "WHERE SHA2(CONCAT(id, REPEAT('marker', 8000)), 512) <> 'slow'")
DIGITS = " UNION ALL ".join(["SELECT 0 AS d", *(f"SELECT {d}" for d in range(1, 10))])


def fill_lab(server: servers.Server) -> None:
    """Makes the tables of these tests, the same on MariaDB and MySQL."""
    server.run(
        "DROP DATABASE IF EXISTS link_lab",
        "CREATE DATABASE link_lab CHARACTER SET utf8mb4",
        "USE link_lab",
        "CREATE TABLE bank (id int PRIMARY KEY, balance decimal(12,2) NOT NULL)",
        f"INSERT INTO bank WITH t AS ({DIGITS}) SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d, "
        "1000 FROM t a, t b, t c, t e",
        "CREATE TABLE wide (id int PRIMARY KEY, pad varchar(200) NOT NULL)",
        f"INSERT INTO wide WITH t AS ({DIGITS}) SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d "
        "+ 10000 * f.d, REPEAT('p', 150) FROM t a, t b, t c, t e, t f WHERE f.d < 6",
        "CREATE TABLE keyless (a int, b varchar(10))",
        "INSERT INTO keyless SELECT id % 7, CONCAT('b', id % 3) FROM bank",
        "CREATE TABLE shifty (id int PRIMARY KEY, v int NOT NULL)",
        "INSERT INTO shifty SELECT id, id * 2 FROM bank",
        "CREATE TABLE notes (id int PRIMARY KEY AUTO_INCREMENT, word varchar(20))",
    )
    server.run("ANALYZE TABLE bank, wide, keyless, shifty", database="link_lab")


@pytest.fixture(scope="module")
def _lab_filled():
    return set()


@pytest.fixture
def lab(linked, _lab_filled):
    """(server, Pelorus) with the database `link_lab`."""
    server, through = linked
    if server.kind not in _lab_filled:
        fill_lab(server)
        _lab_filled.add(server.kind)
        wait_for("link_lab to appear", lambda: through.run("SELECT count(*) FROM link_lab.bank"))
    return server, through


@pytest.fixture(scope="module")
def cluster(linked_maker):
    """(primary, replica, Pelorus linked to both)."""
    primary = servers.MariaDb("primary", 21)
    replica = servers.MariaDb("replica", 22, options=("--read-only",))
    replica.follow(primary)
    fill_lab(primary)
    replica.catch_up(primary)
    through = linked_maker(name="pelorus-cluster")
    through.run(
        f"CREATE SERVER cluster FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', "
        f"PORT {primary.port}, USER '{servers.USER}', PASSWORD '{servers.PASSWORD}', "
        f"REPLICAS '127.0.0.1:{replica.port}')")
    wait_for("link_lab to appear", lambda: through.run("SELECT count(*) FROM link_lab.bank"))
    yield primary, replica, through
    through.stop()
    replica.kill()
    primary.kill()


def splitting(through: pelorus.Pelorus, **more) -> pymysql.Connection:
    """A connection on which all work is split."""
    connection = through.connect(**more)
    with connection.cursor() as cursor:
        cursor.execute("SET pelorus_min_split_rows = 0")
    return connection


def most_ranges(connection, statement: str) -> int:
    """Into how many ranges EXPLAIN says the work is cut."""
    with connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        return max(row["ranges"] for row in cursor.fetchall())


def ask(connection, statement: str):
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def running(server: servers.Server) -> int:
    """How many statements with the marker run on a server."""
    return server.run("SELECT count(*) FROM information_schema.processlist "
                      "WHERE info LIKE '%marker%' AND id <> CONNECTION_ID()")[0][0]


class InBackground:
    """Runs a statement on a connection in a thread, and keeps what came of it."""

    def __init__(self, connection, statement: str):
        self.rows = None
        self.error: BaseException | None = None
        self._connection, self._statement = connection, statement
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.rows = ask(self._connection, self._statement)
        except BaseException as error:  # noqa: BLE001 - kept for the test
            self.error = error

    def done(self, seconds: float = 500.0) -> "InBackground":
        """Waits for the end."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the statement did not end"
        return self

    @property
    def busy(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()


class MoneyMover:
    """Moves money between random rows all the time, in small transactions."""

    def __init__(self, server: servers.Server):
        self.moves = 0
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._connection = server.connect(database="link_lab", autocommit=False)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        seed = 7
        try:
            with self._connection.cursor() as cursor:
                while not self._stop.is_set():
                    seed = (seed * 1103515245 + 12345) % 2**31
                    one, two = seed % 10000, seed // 10000 % 10000
                    cursor.execute("UPDATE bank SET balance = balance - 7.5 WHERE id = %s", (one,))
                    cursor.execute("UPDATE bank SET balance = balance + 7.5 WHERE id = %s", (two,))
                    self._connection.commit()
                    self.moves += 1
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.error = error

    def __enter__(self) -> "MoneyMover":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.close()


WHOLE = [(10000, 10_000_000)]


def check_sums_never_waver(server, through, at_least: int) -> None:
    statement = "SELECT count(*), sum(balance) FROM bank"
    with splitting(through, database="link_lab") as connection:
        assert most_ranges(connection, statement) > 1, "the sum must be split to prove anything"
        with MoneyMover(server) as mover:
            seen = 0
            deadline = time.monotonic() + 300
            while seen < at_least or mover.moves < 200:
                assert mover.error is None, mover.error
                assert time.monotonic() < deadline, f"{seen} sums, {mover.moves} moves"
                assert list(ask(connection, statement)) == WHOLE, f"after {seen} sums"
                seen += 1
        assert mover.error is None, mover.error
    assert list(ask(server.connect(database="link_lab"), statement)) == WHOLE


def test_queries_end_at_sql_select_limit(lab):
    """Handed over, split, and in a transaction: a query without a LIMIT ends early, and only it."""
    _, through = lab
    for connection in (through.connect(), splitting(through)):
        with connection:
            ask(connection, "SET sql_select_limit = 3")
            for begin in ("DO 0", "BEGIN"):
                ask(connection, begin)
                assert ask(connection, "SELECT id FROM link_lab.bank ORDER BY id") == \
                    ((0,), (1,), (2,)), begin
                assert len(ask(connection, "SELECT id FROM link_lab.bank LIMIT 5")) == 5, begin
                assert ask(connection, "SELECT count(*) FROM (SELECT id FROM link_lab.bank) d") == \
                    ((10_000,),), begin
            ask(connection, "SET @n = (SELECT count(*) FROM link_lab.bank), sql_select_limit = DEFAULT")
            assert ask(connection, "SELECT @n") == ((10_000,),)
            assert len(ask(connection, "SELECT id FROM link_lab.bank")) == 10_000
            ask(connection, "ROLLBACK")


@pytest.mark.parametrize("statement", [
    "SELECT id + 'a', id / 0 FROM link_lab.bank WHERE id IN (1, 2)",
    "SELECT COUNT(*) FROM link_lab.bank WHERE id < 10 AND CAST('5x' AS SIGNED) = 5",
    "SELECT id FROM link_lab.bank WHERE id = 1",
    "SELECT CAST(CONCAT(id, 'x') AS SIGNED) FROM link_lab.bank WHERE id < 2000",
])
def test_warnings_of_queries_that_run_on_the_server(lab, statement):
    """Their number and their words, in packets, `SHOW WARNINGS` and `@@warning_count`."""
    server, through = lab

    def warned(connection, begin: str):
        with connection.cursor() as cursor:
            if begin:
                cursor.execute(begin)
            cursor.execute("SET max_error_count = 3")
            cursor.execute(statement)
            seen = [cursor._result.warning_count]
            for question in ("SHOW WARNINGS", "SHOW WARNINGS LIMIT 1, 1", "SELECT @@warning_count"):
                cursor.execute(question)
                seen.append(cursor.fetchall())
            return seen
    for begin in ("", "BEGIN"):
        with server.connect() as direct, through.connect() as linked:
            assert warned(linked, begin) == warned(direct, begin)


def test_a_database_that_was_made_a_moment_ago(lab):
    """It is found by each kind of statement, however often others were missed just before."""
    server, through = lab
    with through.connect() as connection, connection.cursor() as cursor:
        for number, statement in enumerate((
                "SELECT a FROM {}.t", "USE {}", "SHOW TABLES FROM {}", "INSERT INTO {}.t VALUES (2)",
                "SHOW CREATE TABLE {}.t", "DESCRIBE {}.t", "SHOW CREATE DATABASE {}",
                "EXPLAIN SELECT a FROM {}.t", "PREPARE p FROM 'SELECT a FROM {}.t'")):
            name = f"link_new_{number}"
            with pytest.raises(pymysql.err.MySQLError) as error:
                cursor.execute(statement.format(name))
            assert error.value.args[0] in (1049, 1146), statement
            server.run(f"CREATE DATABASE {name}", f"CREATE TABLE {name}.t (a INT)",
                       f"INSERT INTO {name}.t VALUES (1)")
            cursor.execute(statement.format(name))
            server.run(f"DROP DATABASE {name}")


def test_names_that_are_nowhere_do_not_keep_servers_busy(lab):
    """However many ask for them at once."""
    server, through = lab

    def questions() -> int:
        return int(server.run("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1])

    def miss() -> None:
        with through.connect() as connection, connection.cursor() as cursor:
            for _ in range(3):
                with pytest.raises(pymysql.err.MySQLError) as error:
                    cursor.execute("SELECT 1 FROM link_nowhere.t")
                assert error.value.args[0] == 1049
    threads = [threading.Thread(target=miss) for _ in range(20)]
    before, begun = questions(), time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A few questions each tenth of a second, not some for each of the sixty statements.
    assert questions() - before < 12 * (time.monotonic() - begun) * 10 + 24


class TestOneMoment:
    """All ranges of a query read one moment."""

    def test_sums_never_waver(self, lab):
        check_sums_never_waver(*lab, at_least=60)

    def test_sums_never_waver_over_replicas(self, cluster):
        primary, replica, through = cluster
        check_sums_never_waver(primary, through, at_least=40)
        assert replica.process.alive()

    def test_groups_too(self, lab):
        server, through = lab
        statement = "SELECT sum(s) FROM (SELECT id % 10, sum(balance) s FROM bank GROUP BY 1) t"
        with splitting(through, database="link_lab") as connection, MoneyMover(server) as mover:
            for _ in range(20):
                assert ask(connection, statement)[0][0] == 10_000_000
            assert mover.error is None, mover.error

    def test_an_account_with_few_rights_still_reads(self, mariadb, linked_maker):
        fill_lab(mariadb)
        mariadb.run("CREATE OR REPLACE USER reader@'%' IDENTIFIED BY 'reads'",
                    "GRANT SELECT ON link_lab.* TO reader@'%'")
        through = linked_maker(f"mysql://reader:reads@127.0.0.1:{mariadb.port}/link_lab",
                               name="pelorus-reader")
        with splitting(through, database="link_lab") as connection:
            assert list(ask(connection, "SELECT count(*), sum(balance) FROM bank")) == WHOLE
        with pytest.raises(pymysql.err.MySQLError) as error:
            through.run("DELETE FROM link_lab.bank")
        assert error.value.args[0] in (1142, 1143, 1227)
        through.stop()


class TestReplicas:
    """Ranges on primary and replicas."""

    def ranges(self, through) -> dict[str, int]:
        with through.connect(cursorclass=pymysql.cursors.DictCursor) as connection:
            found = ask(connection, "SELECT * FROM pelorus.link_servers")
        found = [{key.lower(): value for key, value in row.items()} for row in found]
        return {row["address"]: int(row["ranges"]) for row in found}

    def test_both_serve_ranges(self, cluster):
        primary, replica, through = cluster
        before = self.ranges(through)
        addresses = [f"127.0.0.1:{server.port}" for server in (primary, replica)]
        with splitting(through, database="link_lab") as connection:
            def both() -> bool:
                assert ask(connection, "SELECT count(*), max(pad) FROM wide") == (
                    (60000, "p" * 150),)
                now = self.ranges(through)
                return all(now[at] > before.get(at, 0) for at in addresses)
            wait_for("both servers to have served ranges", both)

    def test_a_lagging_replica_is_never_read_stale(self, cluster):
        primary, replica, through = cluster
        replica.run("STOP SLAVE")
        try:
            primary.run("INSERT INTO link_lab.wide VALUES (1000000, 'fresh')")
            with splitting(through, database="link_lab") as connection:
                assert ask(connection, "SELECT count(*), max(id) FROM wide") == ((60001, 1000000),)
        finally:
            replica.run("START SLAVE")
            primary.run("DELETE FROM link_lab.wide WHERE id = 1000000")
            replica.catch_up(primary)

    def test_a_replica_that_dies_costs_a_retry(self, cluster):
        primary, replica, through = cluster
        connection = splitting(through)
        query = InBackground(connection, SLOW)
        wait_for("a range to run on the replica",
                 lambda: running(replica) or not query.busy)
        assert query.busy, f"it ended too soon: {query.rows} {query.error}"
        replica.kill()
        query.done()
        assert query.error is None, query.error
        assert query.rows == ((60000,),)
        # Without the replica all goes on, and once it is back it serves again.
        assert ask(connection, "SELECT count(*) FROM link_lab.wide") == ((60000,),)
        connection.close()
        replica.start()
        replica.catch_up(primary)
        self.test_both_serve_ranges(cluster)

    def test_a_frozen_replica_does_not_stop_short_queries_for_good(self, cluster):
        primary, replica, through = cluster
        replica.freeze()
        try:
            with splitting(through, database="link_lab") as connection:
                query = InBackground(connection, "SELECT count(*) FROM wide").done()
                assert query.error is None, query.error
                assert query.rows == ((60000,),)
        finally:
            replica.thaw()


class TestFailures:
    """What a server does wrong is said clearly and harms nobody else."""

    def test_a_server_that_vanishes_mid_query(self, mariadb, linked_maker):
        fill_lab(mariadb)
        doomed = servers.MariaDb("doomed", 31)
        fill_lab(doomed)
        doomed.run("CREATE DATABASE only_doomed", "CREATE TABLE only_doomed.t (a int)")
        through = linked_maker(doomed.url("link_lab"), name="pelorus-doomed")
        through.run(
            f"CREATE SERVER steady FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT "
            f"{mariadb.port}, USER '{servers.USER}', PASSWORD '{servers.PASSWORD}', "
            f"DATABASES 'link_lab AS steady_lab')")
        wait_for("the database", lambda: through.run("SELECT count(*) FROM link_lab.wide"))
        connection = splitting(through)
        query = InBackground(connection, SLOW)
        wait_for("ranges to run", lambda: running(doomed) or not query.busy)
        assert query.busy, f"it ended too soon: {query.rows} {query.error}"
        doomed.kill()
        query.done()
        assert isinstance(query.error, pymysql.err.MySQLError), query.rows
        assert 1000 <= query.error.args[0] < 6000
        assert servers.PASSWORD not in str(query.error)
        # The connection, and the other server, go on.
        assert ask(connection, "SELECT 40 + 2") == ((42,),)
        assert ask(connection, "SELECT count(*) FROM steady_lab.bank") == ((10000,),)
        with pytest.raises(pymysql.err.MySQLError) as error:
            ask(connection, "SELECT count(*) FROM link_lab.bank")
        assert 1000 <= error.value.args[0] < 6000
        doomed.start()
        wait_for("the server to be used again",
                 lambda: ask(connection, "SELECT count(*) FROM link_lab.bank") == ((10000,),))
        connection.close()
        through.stop()
        doomed.stop()

    def test_wrong_host_port_and_password(self, mariadb, linked_maker):
        through = linked_maker(name="pelorus-wrong")
        dead = processes.free_port()
        for name, options in {
            "no_host": f"HOST 'no.such.host.invalid', PORT 3306, USER 'u', PASSWORD 'secret-1'",
            "no_port": f"HOST '127.0.0.1', PORT {dead}, USER 'u', PASSWORD 'secret-1'",
            "no_login": f"HOST '127.0.0.1', PORT {mariadb.port}, USER 'u', PASSWORD 'secret-1'",
        }.items():
            try:
                through.run(f"CREATE SERVER {name} FOREIGN DATA WRAPPER mysql "
                            f"OPTIONS ({options}, DATABASE 'lost_{name}')")
                through.run(f"SELECT * FROM lost_{name}.t")
            except pymysql.err.MySQLError as error:
                assert 1000 <= error.args[0] < 6000, error
                assert "secret-1" not in str(error)
            else:
                pytest.fail(f"{name} gave no error")
            assert through.run("SELECT 1") == ((1,),)
        through.stop()

    def test_a_column_that_changes_its_type(self, lab):
        server, through = lab
        statement = "SELECT sum(v), max(v), count(DISTINCT v) FROM shifty"
        changes = ["MODIFY v varchar(20) CHARACTER SET latin1 NOT NULL",
                   "MODIFY v decimal(20,4) NOT NULL", "MODIFY v double", "MODIFY v int NOT NULL",
                   "CHANGE v w int NOT NULL", "CHANGE w v bigint unsigned NOT NULL"]
        direct = rows.connect(server, database="link_lab")
        connection = rows.connect(through, database="link_lab")
        rows.ask(connection, "SET pelorus_min_split_rows = 0")
        for change in changes:
            server.run(f"ALTER TABLE shifty {change}", database="link_lab")
            expected = rows.ask(direct, statement)
            given = rows.ask(connection, statement)
            found = rows.differences(expected, given, True)
            if found and given.error and not expected.error:
                # Seen in the middle of the work, the change may cost this one statement.
                found = rows.differences(expected, rows.ask(connection, statement), True)
            assert not found, (change, found)
        connection.close()
        direct.close()

    def test_a_table_whose_columns_change(self, lab):
        """What was read of a table a moment ago does not hide its new columns."""
        server, through = lab
        changes = ["ADD COLUMN extra int NOT NULL DEFAULT 7",
                   "MODIFY extra int NOT NULL DEFAULT 7 FIRST", "MODIFY extra bigint AFTER id",
                   "RENAME COLUMN extra TO surplus", "DROP COLUMN surplus"]
        direct = rows.connect(server, database="link_lab")
        connection = rows.connect(through, database="link_lab")
        rows.ask(connection, "SET pelorus_min_split_rows = 0")
        for change in ["ENGINE=InnoDB", *changes]:
            server.run(f"ALTER TABLE shifty {change}", database="link_lab")
            for statement in ("SELECT * FROM shifty", "SELECT DISTINCT t.* FROM shifty t"):
                found = rows.differences(rows.ask(direct, statement),
                                         rows.ask(connection, statement), False)
                assert not found, (change, statement, found)
        connection.close()
        direct.close()

    def test_a_table_without_a_key_is_read_in_one_stream(self, lab):
        server, through = lab
        statement = "SELECT a, count(*) FROM keyless GROUP BY a ORDER BY a"
        with splitting(through, database="link_lab") as connection:
            assert most_ranges(connection, statement) == 1
            assert ask(connection, statement) == server.run(statement, database="link_lab")


class TestCancelling:
    """Whoever stops waiting stops the work on the servers."""

    def start(self, server, connection, statement: str = SLOW) -> InBackground:
        query = InBackground(connection, statement)
        wait_for("ranges to run on the server", lambda: running(server) or not query.busy)
        assert query.busy, f"it ended too soon: {query.rows} {query.error}"
        return query

    def test_kill_query(self, lab):
        server, through = lab
        connection = splitting(through)
        query = self.start(server, connection)
        through.run(f"KILL QUERY {connection.thread_id()}")
        query.done()
        assert isinstance(query.error, pymysql.err.MySQLError), query.rows
        assert query.error.args[0] == 1317
        wait_for("the server to stop", lambda: running(server) == 0)
        assert ask(connection, "SELECT 1") == ((1,),)
        connection.close()

    def test_kill_query_of_create_table_select(self, lab):
        """The native table is there while its rows are on their way, and goes without them."""
        server, through = lab
        through.run("DROP DATABASE IF EXISTS own_lab", "CREATE DATABASE own_lab")
        connection = splitting(through)
        query = self.start(server, connection, "CREATE TABLE own_lab.x (PRIMARY KEY (n)) "
                           + SLOW.replace("count(*)", "count(*) AS n"))
        assert through.run("SHOW TABLES FROM own_lab") == (("x",),)
        through.run(f"KILL QUERY {connection.thread_id()}")
        query.done()
        assert isinstance(query.error, pymysql.err.MySQLError), query.rows
        assert query.error.args[0] == 1317
        assert through.run("SHOW TABLES FROM own_lab") == ()
        wait_for("the server to stop", lambda: running(server) == 0)
        connection.close()
        through.run("DROP DATABASE own_lab")

    def test_a_client_that_goes_away(self, lab):
        server, through = lab
        connection = splitting(through)
        self.start(server, connection)
        connection._sock.shutdown(2)
        wait_for("the server to stop", lambda: running(server) == 0)

    def test_kill_connection(self, lab):
        server, through = lab
        connection = splitting(through)
        query = self.start(server, connection)
        through.run(f"KILL {connection.thread_id()}")
        query.done()
        assert query.error is not None
        wait_for("the server to stop", lambda: running(server) == 0)

    def test_ctrl_c_in_the_command_line_client(self, lab):
        server, through = lab
        child = subprocess.Popen(
            [machine.find("mariadb"), "--no-defaults", "-h", "127.0.0.1", "-P", str(through.port),
             "-uroot", f"-p{pelorus.ROOT_PASSWORD}", "-e",
             f"SET pelorus_min_split_rows = 0; {SLOW}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for("ranges to run on the server",
                 lambda: running(server) or child.poll() is not None)
        assert child.poll() is None, child.communicate()
        child.send_signal(signal.SIGINT)
        wait_for("the server to stop", lambda: running(server) == 0)
        child.communicate(timeout=180)
        assert child.returncode != 0

    def test_a_time_limit(self, lab):
        server, through = lab
        connection = splitting(through)
        with connection.cursor() as cursor:
            cursor.execute("SET max_execution_time = 300")
        with pytest.raises(pymysql.err.MySQLError) as error:
            ask(connection, SLOW)
        assert error.value.args[0] == 3024
        wait_for("the server to stop", lambda: running(server) == 0)
        connection.close()


class TestServers:
    """CREATE, ALTER and DROP SERVER."""

    SECRET = "s3cret-Of-The-Link"

    @pytest.fixture
    def own(self, mariadb, linked_maker):
        fill_lab(mariadb)
        mariadb.run(f"CREATE OR REPLACE USER linker@'%' IDENTIFIED BY '{self.SECRET}'",
                    "GRANT ALL ON link_lab.* TO linker@'%'")
        through = linked_maker(name="pelorus-servers")
        yield mariadb, through
        through.stop()

    def create(self, through, port, name="lab_link", more=""):
        through.run(f"CREATE SERVER {name} FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', "
                    f"PORT {port}, USER 'linker', PASSWORD '{self.SECRET}', "
                    f"DATABASE 'link_lab'{more})")

    def test_life_of_a_server(self, own):
        server, through = own
        self.create(through, server.port)
        assert through.run("SELECT count(*) FROM link_lab.bank") == ((10000,),)
        with pytest.raises(pymysql.err.MySQLError) as error:
            self.create(through, server.port)
        assert error.value.args[0] == 1476
        # It is still there after a restart.
        through.stop()
        through.start()
        assert through.run("SELECT count(*) FROM link_lab.bank") == ((10000,),)
        server.run(f"ALTER USER linker@'%' IDENTIFIED BY 'changed'")
        through.run("ALTER SERVER lab_link OPTIONS (PASSWORD 'changed')")
        assert through.run("SELECT count(*) FROM link_lab.bank") == ((10000,),)
        through.run("DROP SERVER lab_link")
        with pytest.raises(pymysql.err.MySQLError) as error:
            through.run("SELECT count(*) FROM link_lab.bank")
        assert error.value.args[0] in (1049, 1146)
        with pytest.raises(pymysql.err.MySQLError) as error:
            through.run("DROP SERVER lab_link")
        assert error.value.args[0] == 1477
        through.run("DROP SERVER IF EXISTS lab_link")

    def test_passwords_are_never_shown(self, own):
        server, through = own
        self.create(through, server.port)
        assert through.run("SELECT count(*) FROM link_lab.bank") == ((10000,),)
        shown = [
            through.run("SHOW CREATE SERVER lab_link"), through.run("SELECT * FROM mysql.servers"),
            through.run("SELECT * FROM pelorus.links"), through.run("SHOW FULL PROCESSLIST"),
            through.run("SELECT * FROM pelorus.link_servers"),
            through.run("EXPLAIN SELECT count(*) FROM link_lab.bank")]
        assert "lab_link" in str(shown)
        assert self.SECRET not in str(shown)
        assert self.SECRET not in through.log()
        for path in through.folder.rglob("*"):
            if path.is_file():
                assert self.SECRET.encode() not in path.read_bytes(), path

    def test_other_names_and_two_servers(self, own):
        server, through = own
        through.run(
            f"CREATE SERVER other FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT "
            f"{server.port}, USER 'linker', PASSWORD '{self.SECRET}', "
            f"DATABASES 'link_lab AS renamed')")
        assert through.run("SELECT count(*) FROM renamed.bank") == ((10000,),)
        databases = [row[0] for row in through.run("SHOW DATABASES")]
        assert "renamed" in databases and "link_lab" not in databases
        with through.connect(database="renamed") as connection:
            assert ask(connection, "SELECT renamed.bank.id FROM bank WHERE id = 5") == ((5,),)

    def test_only_administrators_change_servers(self, own):
        server, through = own
        through.run("CREATE USER looker IDENTIFIED BY 'looks'")
        try:
            through.run("GRANT SELECT ON *.* TO looker")
        except pymysql.err.MySQLError:
            # Rights in full are not there yet; then a new account is what it is.
            pytest.skip("this version has no GRANT")
        with through.connect("looker", "looks") as connection:
            with pytest.raises(pymysql.err.MySQLError) as error:
                ask(connection, "DROP SERVER IF EXISTS lab_link")
            assert error.value.args[0] in (1044, 1142, 1227)

    def test_password_from_the_environment_and_a_file(self, mariadb, linked_maker, tmp_path):
        secret = tmp_path / "secret"
        secret.write_text(servers.PASSWORD + "\n")
        fill_lab(mariadb)
        through = linked_maker(name="pelorus-env", environment={"LAB_SECRET": servers.PASSWORD},
                               options=["--secrets-folder", str(tmp_path),
                                        "--secret-variable", "LAB_SECRET"])
        for option in ("PASSWORD_ENV 'LAB_SECRET'", f"PASSWORD_FILE '{secret}'"):
            through.run(f"CREATE SERVER by_reference FOREIGN DATA WRAPPER mysql OPTIONS (HOST "
                        f"'127.0.0.1', PORT {mariadb.port}, USER '{servers.USER}', {option}, "
                        "DATABASE 'link_lab')")
            assert through.run("SELECT count(*) FROM link_lab.bank") == ((10000,),)
            through.run("DROP SERVER by_reference")
        through.stop()


class TestWrites:
    """Writes and transactions go to the primary, unchanged."""

    def test_statements_that_write(self, lab):
        server, through = lab
        with through.connect(database="link_lab") as connection, connection.cursor() as cursor:
            assert cursor.execute("INSERT INTO notes (word) VALUES ('a'), ('b'), ('c')") == 3
            assert cursor.lastrowid > 0
            assert cursor.execute("UPDATE notes SET word = 'z' WHERE word <> 'a'") == 2
            assert cursor.execute("DELETE FROM notes WHERE word = 'a'") == 1
            assert server.run("SELECT count(*) FROM link_lab.notes WHERE word = 'z'") == ((2,),)
            cursor.execute("CREATE TABLE made (id int PRIMARY KEY)")
            cursor.execute("INSERT INTO made SELECT id FROM bank WHERE id < 3")
            cursor.execute("SELECT count(*) FROM made")
            assert cursor.fetchall() == ((3,),)
            with pytest.raises(pymysql.err.IntegrityError) as error:
                cursor.execute("INSERT INTO made VALUES (1)")
            assert error.value.args[0] == 1062
            cursor.execute("DROP TABLE made")
            with pytest.raises(pymysql.err.ProgrammingError) as error:
                cursor.execute("SELECT * FROM made")
            assert error.value.args[0] == 1146
            cursor.execute("DELETE FROM notes")

    def test_clients_that_count_found_rows(self, lab):
        server, through = lab
        server.run("INSERT INTO link_lab.notes VALUES (1, 'same')")
        for flag, found in ((0, 0), (pymysql.constants.CLIENT.FOUND_ROWS, 1)):
            with through.connect(database="link_lab", autocommit=True, client_flag=flag) as one, \
                    one.cursor() as cursor:
                for statement in ("UPDATE notes SET word = 'same' WHERE id = 1",
                                  "INSERT INTO notes VALUES (1, 'x') ON DUPLICATE KEY UPDATE "
                                  "word = 'same'"):
                    assert cursor.execute(statement) == found, statement
        server.run("DELETE FROM link_lab.notes")

    def test_prepared_statements_keep_their_database(self, lab):
        """And the words of `sql_mode` that say how text is read; the server gets both."""
        server, through = lab
        server.run("DROP DATABASE IF EXISTS link_other", "CREATE DATABASE link_other",
                   "CREATE TABLE link_other.notes (id int PRIMARY KEY AUTO_INCREMENT, "
                   "word varchar(20))")
        # Names of databases are asked for now and then.
        wait_for("the database to be seen", lambda: through.run("SELECT count(*) FROM link_other.notes"))
        with through.connect(database="link_lab", autocommit=True) as connection:
            ask(connection, "PREPARE s FROM 'INSERT INTO notes (word) VALUES (\"kept\")'")
            ask(connection, "USE link_other")
            ask(connection, "SET sql_mode = 'ANSI_QUOTES'")
            ask(connection, "EXECUTE s")
            ask(connection, "INSERT INTO notes (\"word\") VALUES ('other')")
            assert ask(connection, "SELECT word FROM notes") == (("other",),)
        assert server.run("SELECT word FROM link_lab.notes") == (("kept",),)
        server.run("DELETE FROM link_lab.notes", "DROP DATABASE link_other")

    def test_a_transaction_sees_itself_alone(self, lab):
        server, through = lab
        with through.connect(database="link_lab", autocommit=True) as one, \
                through.connect(database="link_lab") as two:
            ask(one, "START TRANSACTION")
            ask(one, "INSERT INTO notes (word) VALUES ('mine')")
            assert ask(one, "SELECT count(*) FROM notes WHERE word = 'mine'") == ((1,),)
            assert ask(two, "SELECT count(*) FROM notes WHERE word = 'mine'") == ((0,),)
            ask(one, "ROLLBACK")
            assert ask(one, "SELECT count(*) FROM notes WHERE word = 'mine'") == ((0,),)
            ask(one, "SET autocommit = 0")
            ask(one, "INSERT INTO notes (word) VALUES ('kept')")
            assert ask(two, "SELECT count(*) FROM notes WHERE word = 'kept'") == ((0,),)
            ask(one, "COMMIT")
            assert ask(two, "SELECT count(*) FROM notes WHERE word = 'kept'") == ((1,),)
            ask(one, "DELETE FROM notes")
            ask(one, "COMMIT")
        assert server.run("SELECT count(*) FROM link_lab.notes") == ((0,),)

    def test_a_commit_that_is_killed_before_it_is_sent(self, lab):
        """The transaction goes on: what is written next is no part of one that nobody ends."""
        server, through = lab
        through.run("SELECT count(*) FROM link_lab.notes")
        with through.connect(database="link_lab", autocommit=True) as one:
            kill = f"KILL QUERY {one.thread_id()}"
            ask(one, "BEGIN")
            ask(one, "INSERT INTO notes (word) VALUES ('first')")
            sleeping = InBackground(one, "SELECT SLEEP(60), 'marker' FROM notes WHERE word = 'first'")
            wait_for("it to run on the server", lambda: running(server) or not sleeping.busy)
            assert sleeping.busy, sleeping.error
            # The statement cannot be stopped there, so COMMIT waits for its connection.
            server.freeze()
            try:
                through.run(kill)
                assert sleeping.done().error.args[0] == 1317
                commit = InBackground(one, "COMMIT")
                wait_for("COMMIT to wait", lambda: any(
                    row[7] == "COMMIT" for row in through.run("SHOW PROCESSLIST")))
                through.run(kill)
                assert commit.done().error.args[0] == 1317
                # What asks what has become of it can be killed, too.
                asking = InBackground(one, "SELECT 1")
                wait_for("it to wait", lambda: any(
                    row[7] == "SELECT 1" for row in through.run("SHOW PROCESSLIST")))
                through.run(kill)
                assert asking.done().error.args[0] == 1317
            finally:
                server.thaw()
            ask(one, "INSERT INTO notes (word) VALUES ('second')")
            ask(one, "COMMIT")
            ask(one, "INSERT INTO notes (word) VALUES ('third')")
            found = server.run("SELECT word FROM link_lab.notes ORDER BY id")
            assert found == (("first",), ("second",), ("third",))
        server.run("DELETE FROM link_lab.notes")

    def test_a_transaction_that_a_procedure_leaves_open(self, lab):
        server, through = lab
        server.run("DROP PROCEDURE IF EXISTS link_lab.begins",
                   "CREATE PROCEDURE link_lab.begins() BEGIN START TRANSACTION; "
                   "INSERT INTO link_lab.notes (word) VALUES ('inside'); END")
        with through.connect(database="link_lab", autocommit=True) as one:
            for end, expected in (("ROLLBACK", ()), ("COMMIT", (("inside",), ("more",)))):
                ask(one, "CALL begins()")
                ask(one, "INSERT INTO notes (word) VALUES ('more')")
                ask(one, end)
                assert server.run("SELECT word FROM link_lab.notes ORDER BY id") == expected
        server.run("DELETE FROM link_lab.notes", "DROP PROCEDURE link_lab.begins")

    @pytest.mark.parametrize("last", ["SELECT 1", "SIGNAL SQLSTATE '45000'"])
    def test_a_procedure_that_gives_rows_or_fails_leaves_its_transaction_open(self, lab, last):
        server, through = lab
        server.run("DROP PROCEDURE IF EXISTS link_lab.begins",
                   "CREATE PROCEDURE link_lab.begins() BEGIN START TRANSACTION; "
                   f"INSERT INTO link_lab.notes (word) VALUES ('inside'); {last}; END")

        def call(connection) -> None:
            if last.startswith("SELECT"):
                assert ask(connection, "CALL begins()") == ((1,),)
                return
            with pytest.raises(pymysql.MySQLError) as caught:
                ask(connection, "CALL begins()")
            assert caught.value.args[0] == 1644

        with through.connect(database="link_lab", autocommit=True) as one:
            words = "SELECT word FROM notes ORDER BY id"
            for more, end, expected in ((False, "ROLLBACK", ()), (True, "ROLLBACK", ()),
                                        (False, "COMMIT", (("inside",),)),
                                        (True, "COMMIT", (("inside",), ("more",)))):
                server.run("DELETE FROM link_lab.notes")
                call(one)
                assert ask(one, words) == (("inside",),)
                if more:
                    ask(one, "INSERT INTO notes (word) VALUES ('more')")
                ask(one, end)
                assert server.run("SELECT word FROM link_lab.notes ORDER BY id") == expected
            # Nothing is open any more.
            ask(one, "INSERT INTO notes (word) VALUES ('last')")
            assert server.run("SELECT count(*) FROM link_lab.notes") == ((3,),)
        server.run("DELETE FROM link_lab.notes", "DROP PROCEDURE link_lab.begins")

    def test_a_commit_under_a_time_zone_that_the_server_does_not_know(self, lab):
        server, through = lab
        with through.connect(database="link_lab", autocommit=True) as one:
            ask(one, "BEGIN")
            ask(one, "INSERT INTO notes (word) VALUES ('kept')")
            ask(one, "SET time_zone = 'Europe/Berlin'")
            ask(one, "COMMIT")
            assert server.run("SELECT word FROM link_lab.notes") == (("kept",),)
        server.run("DELETE FROM link_lab.notes")

    def test_a_server_whose_sessions_do_not_commit_by_themselves(self, lab):
        server, through = lab
        server.run("SET GLOBAL autocommit = 0")
        try:
            with through.connect(database="link_lab", autocommit=True) as one:
                ask(one, "INSERT INTO notes (word) VALUES ('kept')")
                assert server.run("SELECT word FROM link_lab.notes") == (("kept",),)
                # What a client says for itself holds.
                ask(one, "SET autocommit = 0")
                ask(one, "INSERT INTO notes (word) VALUES ('not kept')")
                ask(one, "ROLLBACK")
                assert server.run("SELECT word FROM link_lab.notes") == (("kept",),)
        finally:
            server.run("SET GLOBAL autocommit = 1")
        server.run("DELETE FROM link_lab.notes")

    def test_a_lost_session_rolls_back(self, lab):
        server, through = lab
        connection = through.connect(database="link_lab")
        ask(connection, "BEGIN")
        ask(connection, "INSERT INTO notes (word) VALUES ('lost')")
        connection._sock.shutdown(2)
        # The row's lock is gone once the server has rolled back.
        wait_for("the rollback", lambda: server.run(
            "SET innodb_lock_wait_timeout = 1",
            "INSERT INTO link_lab.notes (id, word) VALUES (1000, 'probe')") is not None)
        server.run("DELETE FROM link_lab.notes WHERE id = 1000")
        wait_for("nothing to be left", lambda: server.run(
            "SELECT count(*) FROM information_schema.innodb_trx") == ((0,),))
        assert server.run("SELECT count(*) FROM link_lab.notes WHERE word = 'lost'") == ((0,),)

    def test_a_session_reads_its_own_writes_with_replicas(self, cluster):
        primary, replica, through = cluster
        with splitting(through, database="link_lab") as connection:
            for number in range(20):
                ask(connection, f"INSERT INTO notes (word) VALUES ('w{number}')")
                assert ask(connection, "SELECT count(*) FROM notes") == ((number + 1,),)
            ask(connection, "DELETE FROM notes")
        # The replica is read-only: had a write gone there, it would have failed.
        assert primary.run("SELECT count(*) FROM link_lab.notes") == ((0,),)


class TestSeveralLinks:
    """Tables of several servers in one statement."""

    def test_join_over_two_servers(self, mariadb, mysql, linked_maker):
        for server in (mariadb, mysql):
            fill_lab(server)
        through = linked_maker(name="pelorus-two")
        for name, server in (("maria", mariadb), ("my", mysql)):
            through.run(
                f"CREATE SERVER {name} FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT "
                f"{server.port}, USER '{servers.USER}', PASSWORD '{servers.PASSWORD}', "
                f"DATABASES 'link_lab AS {name}_lab')")
        assert through.run(
            "SELECT count(*), sum(a.balance + b.balance) FROM maria_lab.bank a "
            "JOIN my_lab.bank b ON a.id = b.id WHERE a.id >= 5000") == ((5000, 10_000_000),)
        assert through.run(
            "SELECT k.a, count(*) FROM maria_lab.keyless k JOIN my_lab.bank b ON b.id = k.a "
            "WHERE b.balance > 10 GROUP BY k.a ORDER BY k.a") == mariadb.run(
            "SELECT a, count(*) FROM link_lab.keyless GROUP BY a ORDER BY a")
        mysql.run("CREATE TABLE IF NOT EXISTS link_lab.some (id int, y int)",
                  "DELETE FROM link_lab.some", "INSERT INTO link_lab.some VALUES (1, 1), (2, NULL)")
        wait_for("the new table", lambda: through.run(
            "SELECT count(*) FROM my_lab.some") == ((2,),))
        # A condition on the side that an outer join fills with NULL waits for the join.
        assert through.run(
            "SELECT s.id FROM maria_lab.bank b RIGHT JOIN my_lab.some s ON b.id = s.id + 100000 "
            "WHERE b.id IS NULL ORDER BY s.id") == ((1,), (2,))
        assert through.run(
            "SELECT s.id FROM maria_lab.bank b RIGHT JOIN my_lab.some s ON b.id = s.id "
            "WHERE b.id IS NULL") == ()
        # NOT IN of a list with a NULL is never true, wherever it stands.
        assert through.run("SELECT count(*) FROM maria_lab.bank "
                           "WHERE id NOT IN (SELECT y FROM my_lab.some)") == ((0,),)
        with pytest.raises(pymysql.err.NotSupportedError):
            through.run("SELECT count(*) FROM maria_lab.bank "
                        "WHERE id NOT IN (SELECT y FROM my_lab.some) OR id = 1")
        # Subqueries on one server that name columns of another's tables.
        assert through.run("SELECT id FROM my_lab.some s WHERE NOT EXISTS (SELECT 1 FROM "
                           "maria_lab.bank b WHERE b.id = s.y) ORDER BY id") == ((2,),)
        assert through.run("SELECT id, (SELECT COUNT(*) FROM maria_lab.bank b WHERE b.id = s.y) "
                           "FROM my_lab.some s ORDER BY id") == ((1, 1), (2, 0))
        # A server is asked once for a value that several references to rows that are kept need.
        assert through.run(
            "WITH c AS (SELECT id FROM maria_lab.bank WHERE id > (SELECT MIN(id) FROM my_lab.some) LIMIT 5) "
            "SELECT COUNT(*) FROM c WHERE id >= (SELECT MIN(id) FROM c)") == ((5,),)
        assert through.run(
            "WITH c AS (SELECT id, AVG(balance + 0e0) AS m FROM maria_lab.bank WHERE id < 3 AND EXISTS "
            "(SELECT 1 FROM my_lab.some) GROUP BY id) SELECT COUNT(*) FROM c a JOIN c b USING (id) "
            "WHERE a.m >= (SELECT AVG(m) FROM c)") == ((3,),)
        with pytest.raises(pymysql.err.OperationalError, match="Unknown column 'nothing'"):
            through.run("SELECT id FROM my_lab.some s WHERE EXISTS "
                        "(SELECT 1 FROM maria_lab.bank b WHERE b.id = nothing)")
        assert through.run(
            "SELECT s.id, ROW_NUMBER() OVER (ORDER BY s.id DESC), SUM(s.y) OVER () "
            "FROM maria_lab.bank b JOIN my_lab.some s ON b.id = s.id ORDER BY s.id") == (
                (1, 2, 1), (2, 1, 1))
        assert through.run("SELECT (SELECT count(*) FROM maria_lab.bank) "
                           "+ (SELECT count(*) FROM my_lab.wide)") == ((70000,),)
        # Parts that a server answers whole, with two columns of one name.
        for one, other in (("maria", "my"), ("my", "maria")):
            assert through.run(
                f"SELECT id, id AS k FROM {one}_lab.bank WHERE id = 7 UNION ALL "
                f"SELECT a.id, b.id FROM {other}_lab.bank a JOIN {other}_lab.bank b "
                "ON b.id = a.id + 1 WHERE a.id = 8 ORDER BY id") == ((7, 7), (8, 9))
            assert through.run(
                f"SELECT id FROM {one}_lab.bank WHERE id = 7 AND EXISTS (SELECT * FROM "
                f"{other}_lab.bank a JOIN {other}_lab.wide b ON b.id = a.id)") == ((7,),)
        through.stop()


class TestMemory:
    """Results larger than memory should be are streamed."""

    def test_a_big_scan_streams(self, mariadb, linked_maker):
        mariadb.run("DROP DATABASE IF EXISTS link_big", "CREATE DATABASE link_big",
                    "USE link_big", "CREATE TABLE t (id int PRIMARY KEY, pad varchar(4000) NOT NULL)",
                    "SET sql_log_bin = 0",
                    "INSERT INTO t SELECT seq, REPEAT(CHAR(97 + seq % 26), 4000) "
                    "FROM seq_1_to_150000")
        through = linked_maker(mariadb.url("link_big"), name="pelorus-big")
        whole = 150_000 * 4_000
        for prepare in (None, "SET pelorus_min_split_rows = 0"):
            with through.connect(database="link_big",
                                 cursorclass=pymysql.cursors.SSCursor) as connection:
                with connection.cursor() as cursor:
                    if prepare:
                        cursor.execute(prepare)
                    cursor.execute("SELECT id, pad FROM t")
                    count = size = 0
                    for _, pad in cursor:
                        count += 1
                        size += len(pad)
                    assert (count, size) == (150_000, whole)
        peak = through.process.peak_memory_bytes()
        assert peak < 300 * 2**20, f"{peak / 2**20:.0f} MiB for {whole / 2**20:.0f} MiB of rows"
        through.stop()
        mariadb.run("DROP DATABASE link_big")


def test_gtids_that_were_switched_off(linked_maker):
    """The set of what was executed stays and says nothing any more: the tables are locked."""
    root, reason = machine.mysql_root()
    if root is None:
        pytest.skip(f"no MySQL: {reason}")
    server = servers.MySql("mysql-gtids-off", 67)
    through = linked_maker(server.url(), name="pelorus-gtids-off")
    try:
        fill_lab(server)
        wait_for("link_lab to appear", lambda: through.run("SELECT count(*) FROM link_lab.bank"))
        query = "SELECT id % 3 AS k, SUM(balance) FROM link_lab.bank GROUP BY k ORDER BY k"
        connection = splitting(through)
        assert most_ranges(connection, query) > 1
        rows_before = ask(connection, query)
        assert ask(connection, "SELECT snapshot FROM pelorus.links") == (("Position",),)
        for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF"):
            server.run(f"SET GLOBAL gtid_mode = {mode}")
        assert server.run("SELECT @@GLOBAL.gtid_executed") != (("",),)
        assert ask(connection, query) == rows_before
        assert ask(connection, "SELECT snapshot FROM pelorus.links") == (("Locked",),)
        connection.close()
    finally:
        through.stop()
        server.stop()


# What no pattern finds another value of, and what would end the test itself.
OTHER_VALUES = {"optimizer_switch": "'index_merge=off'", "default_storage_engine": "'MyISAM'",
                "default_tmp_storage_engine": "'MyISAM'", "time_zone": "'+01:00'",
                "transaction_isolation": "'READ-COMMITTED'", "collation_connection": "'utf8mb4_bin'",
                "max_execution_time": "60000", "sql_mode": "'ANSI_QUOTES'"}


def other_value(name: str, value: str) -> str | None:
    """A value of a variable that is not the one that it has."""
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    if value in ("ON", "OFF"):
        return "0" if value == "ON" else "1"
    return str(int(value) // 2 + 1) if value.isdigit() else None


def test_every_session_variable_can_be_set_with_every_server(lab):
    """A variable that a server does not know is not sent to it."""
    _, through = lab
    tried, failed = [], []
    with through.connect() as connection:
        for name, value in ask(connection, "SHOW SESSION VARIABLES"):
            other = other_value(name, value)
            if other is None or name == "timestamp":
                continue
            try:
                ask(connection, f"SET SESSION {name} = {other}")
            except pymysql.err.MySQLError:
                continue
            tried.append(name)
            for statement in ("SELECT COUNT(*) FROM link_lab.keyless",
                              "BEGIN", "SELECT COUNT(*) FROM link_lab.keyless", "ROLLBACK"):
                try:
                    ask(connection, statement)
                except pymysql.err.MySQLError as error:
                    failed.append((name, other, statement, error.args))
            ask(connection, f"SET SESSION {name} = DEFAULT")
            ask(connection, "SELECT COUNT(*) FROM link_lab.keyless")
    assert not failed
    assert {"sql_generate_invisible_primary_key", "sql_require_primary_key", "sql_notes",
            "cte_max_recursion_depth", "windowing_use_high_precision"} <= set(tried)


def test_session_variables_go_back_on_the_server(lab):
    """A variable that is set back is what it was there too: with MySQL, DEFAULT of foreign_key_checks
    and unique_checks is 0."""
    server, through = lab
    server.run("USE link_lab", "DROP PROCEDURE IF EXISTS shown", "CREATE PROCEDURE shown() SHOW SESSION VARIABLES",
               "DROP TABLE IF EXISTS child, parent", "CREATE TABLE parent (id int PRIMARY KEY)",
               "CREATE TABLE child (id int PRIMARY KEY, p int, FOREIGN KEY (p) REFERENCES parent (id))")
    names = [name for name, in through.run(
        "SELECT name FROM pelorus.variables WHERE effect = 'handed to linked servers'")]
    with through.connect(database="link_lab") as connection, connection.cursor() as cursor:
        def on_the_server() -> dict[str, str]:
            cursor.execute("CALL shown()")
            return {name: value for name, value in cursor.fetchall() if name in names}
        before = on_the_server()
        for name in before:
            cursor.execute("SHOW SESSION VARIABLES LIKE %s", (name,))
            other = other_value(name, cursor.fetchall()[0][1])
            if other is not None:
                cursor.execute(f"SET SESSION {name} = {other}")
        changed = on_the_server()
        assert {"foreign_key_checks", "unique_checks", "sql_notes", "lock_wait_timeout"} <= {
            name for name in before if changed[name] != before[name]}
        for name in before:
            cursor.execute(f"SET SESSION {name} = DEFAULT")
        assert on_the_server() == before
        cursor.execute("SET foreign_key_checks = 0")
        cursor.execute("INSERT INTO child VALUES (1, 99)")
        cursor.execute("SET foreign_key_checks = 1")
        with pytest.raises(pymysql.err.IntegrityError) as error:
            cursor.execute("INSERT INTO child VALUES (2, 99)")
        assert error.value.args[0] == 1452


def test_long_values_take_no_more_than_their_bytes(lab):
    """Values of megabytes that a statement has or computes: a statement of several frames as well."""
    server, through = lab
    most = min(int(server.run("SELECT @@GLOBAL.max_allowed_packet")[0][0]) - 100_000, 20_000_000)
    with through.connect() as connection:
        ask(connection, "CREATE TABLE link_lab.long_values (id INT PRIMARY KEY, v LONGTEXT)")
        values = ("REPEAT('abcd', 2000000)", "CONCAT(REPEAT('x', 4000000), REPEAT('y', 4000000))",
                  f"'{'q' * most}'")
        for at, value in enumerate(values):
            ask(connection, f"INSERT INTO link_lab.long_values VALUES ({at}, {value})")
        assert ask(connection, "SELECT SUM(LENGTH(v)) FROM link_lab.long_values") == ((16_000_000 + most,),)
        ask(connection, "DROP TABLE link_lab.long_values")


def test_a_global_variable_that_a_server_lacks_keeps_nobody_out(lab):
    _, through = lab
    through.run("SET GLOBAL sql_generate_invisible_primary_key = ON, GLOBAL sql_require_primary_key = ON")
    try:
        assert through.run("SELECT COUNT(*) FROM link_lab.bank") == ((10_000,),)
        through.run("BEGIN", "UPDATE link_lab.shifty SET v = v", "ROLLBACK")
    finally:
        through.run("SET GLOBAL sql_generate_invisible_primary_key = OFF, "
                    "GLOBAL sql_require_primary_key = OFF")


def test_queries_of_names_are_not_handed_to_the_only_link(lab):
    """What cannot be computed here is refused: the server knows nothing of native databases."""
    _, through = lab
    through.run("CREATE DATABASE IF NOT EXISTS of_names", "CREATE TABLE IF NOT EXISTS of_names.t (a INT PRIMARY KEY)")
    try:
        for function in ("JSON_ARRAYAGG(table_name)", "ST_AsText(table_name)", "SOUNDEX_OF(table_name)"):
            statement = f"SELECT {function} FROM information_schema.tables WHERE table_name = 't'"
            try:
                found = through.run(statement)
            except pymysql.err.MySQLError as error:
                assert error.args[0] in (1235, 1305), (statement, error)
            else:
                assert "t" in str(found), (statement, found)
        assert through.run("SELECT table_schema FROM information_schema.tables WHERE table_schema = 'of_names'")
    finally:
        through.run("DROP DATABASE of_names")
