"""Another server under a link's address: mirrors go on by GTID, nothing lost or doubled; where that
cannot be, tables are read anew, and the reason is shown."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import pymysql
import pytest
from pelorus_tools import machine, processes, servers
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import wait_for
from pelorus_tools.proxy import Proxy

T = ("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)", "INSERT INTO t (v) VALUES (1), (2)")


class Moving(servers.Server):
    """The address of whichever server is the primary now."""

    def __init__(self, first: servers.Server):
        super().__init__("moving")
        self.now, self.kind = first, first.kind
        self.proxy = Proxy(first.port)
        self.port = self.proxy.port

    def move(self, to: servers.Server) -> None:
        """Another server answers from now on."""
        self.now = to
        self.proxy.switch(to.port)

    def run(self, *statements: str, database: str | None = None) -> tuple:
        return self.now.run(*statements, database=database)


def make(kind: str, name: str, number: int, *options: str) -> servers.Server:
    """A server of the test's own."""
    if kind == "mariadb":
        return servers.MariaDb(name, number, options=options)
    if machine.mysql_root()[0] is None:
        pytest.skip("no MySQL")
    return servers.MySql(name, number, options=options)


def promote(replica: servers.Server, primary: servers.Server) -> None:
    """Lets a replica take its primary's place."""
    replica.run(*(("STOP SLAVE", "RESET SLAVE ALL") if replica.kind == "mariadb"
                  else ("STOP REPLICA", "RESET REPLICA ALL")))
    primary.stop()


def catch_up(replica: servers.Server, primary: servers.Server) -> None:
    """Waits until a replica has all of its primary."""
    if replica.kind == "mariadb":
        replica.catch_up(primary)
        return
    gtids = primary.run("SELECT @@gtid_executed")[0][0]
    assert replica.run(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 300)") == ((0,),)


class Writer(threading.Thread):
    """Inserts through the moving address, one row a transaction, and counts what was committed."""

    def __init__(self, moving: Moving, database: str):
        super().__init__(daemon=True)
        self.moving, self.database = moving, database
        self.ended = threading.Event()
        self.done = 0

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                connection = self.moving.connect(database=self.database)
                with connection, connection.cursor() as cursor:
                    while not self.ended.is_set():
                        cursor.execute("INSERT INTO t (v) VALUES (7)")
                        cursor.execute("UPDATE t SET v = v + 1 ORDER BY id DESC LIMIT 2")
                        self.done += 1
            except pymysql.MySQLError:
                self.ended.wait(0.05)

    def end(self) -> None:
        self.ended.set()
        self.join()


def start(linked_maker, moving: Moving, name: str) -> Mirrored:
    """A Pelorus that mirrors what is behind the moving address."""
    through = linked_maker(moving.url(), name=f"pelorus-{name}")
    pair = Mirrored(moving, through)
    pair.begin("failing", *T)
    through.run("MIRROR DATABASE failing")
    pair.wait_live("failing")
    return pair


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_a_replica_takes_over_and_then_one_that_lacks_transactions(kind, linked_maker):
    old, new = make(kind, f"{kind}-old", 31), make(kind, f"{kind}-new", 32)
    new.follow(old)
    moving = Moving(old)
    pair = start(linked_maker, moving, f"failover-{kind}")
    writer = Writer(moving, "failing")
    writer.start()
    wait_for("some writes", lambda: writer.done > 50)
    # Writes stop, the replica has everything, and is the primary.
    writer.end()
    catch_up(new, old)
    promote(new, old)
    moving.move(new)
    writer = Writer(moving, "failing")
    writer.start()
    wait_for("more writes", lambda: writer.done > 50)
    writer.end()
    pair.same_tables("failing", "t")
    found = pair.state("failing", "t")
    assert found["Loads"] == 1 and found["State"] == "live", found
    assert "another server answers for the link" in pair.through.log()
    wait_for("nothing to be missing", lambda: pair.state("failing", "t")["Transactions_behind"] == 0)
    # Pelorus is started anew, and goes on from there.
    pair.through.process.kill()
    pair.server.run("INSERT INTO t (v) VALUES (1000)", database="failing")
    pair.through.start()
    pair.wait_for_database("failing")
    pair.same_tables("failing", "t")
    assert pair.state("failing", "t")["Loads"] == 1
    # The old one comes back, without what was written since, and with something of its own.
    old.start()
    old.run("INSERT INTO t (v) VALUES (-1), (-2)", database="failing")
    moving.move(old)
    wait_for("a second load", lambda: pair.state("failing", "t")["Loads"] == 2)
    assert "does not have all that was read of it" in pair.through.log()
    pair.wait_live("failing")
    pair.same_tables("failing", "t")
    moving.proxy.stop()
    pair.through.stop()
    new.kill()
    old.kill()


def test_another_server_without_gtids(linked_maker):
    without = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    old, new = make("mysql", "plain-old", 33, *without), make("mysql", "plain-new", 34, *without)
    new.run("CREATE DATABASE failing", "USE failing", *T, "INSERT INTO t (v) VALUES (77)")
    moving = Moving(old)
    pair = start(linked_maker, moving, "plain-failover")
    assert pair.state("failing", "t")["Transactions_behind"] is None
    promote_plain(old)
    moving.move(new)
    wait_for("a second load", lambda: pair.state("failing", "t")["Loads"] == 2)
    assert "file positions hold on one server only" in pair.through.log()
    pair.wait_live("failing")
    pair.same_tables("failing", "t")
    # The same server with another identity is another one, too.
    new.stop()
    (new.folder / "data" / "auto.cnf").unlink()
    new.start()
    new.run("INSERT INTO failing.t (v) VALUES (78)")
    wait_for("a third load", lambda: pair.state("failing", "t")["Loads"] == 3)
    pair.wait_live("failing")
    pair.same_tables("failing", "t")
    moving.proxy.stop()
    pair.through.stop()
    new.kill()


def promote_plain(old: servers.Server) -> None:
    """The old server is no more."""
    old.stop()


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_another_identity_with_gtids(kind, linked_maker):
    server = make(kind, f"{kind}-renamed", 35)
    moving = Moving(server)
    pair = start(linked_maker, moving, f"renamed-{kind}")
    server.stop()
    if kind == "mysql":
        (server.folder / "data" / "auto.cnf").unlink()
    else:
        server._server_id = 36
    server.start()
    server.run("INSERT INTO failing.t (v) VALUES (78)")
    pair.same_tables("failing", "t")
    found = pair.state("failing", "t")
    assert found["Loads"] == 1, found
    assert "another server answers for the link" in pair.through.log()
    moving.proxy.stop()
    pair.through.stop()
    server.kill()


def test_transactions_behind(linked, linked_maker):
    server, _ = linked
    moving = Moving(server)
    through = linked_maker(name=f"pelorus-behind-{server.kind}", config=(
        f"[[link]]\nname = \"held\"\nhost = \"127.0.0.1\"\nport = {moving.port}\n"
        f"user = \"{servers.USER}\"\npassword = \"{servers.PASSWORD}\"\ntls = \"disabled\"\n"))
    pair = Mirrored(moving, through)
    pair.begin("counted", *T)
    pair.through.run("MIRROR TABLE counted.t")
    pair.wait_live("counted")
    behind = lambda: pair.state("counted", "t")["Transactions_behind"]  # noqa: E731
    wait_for("nothing to be missing", lambda: behind() == 0)
    # The binlog stands still while the server goes on.
    moving.proxy.flows.clear()
    try:
        for number in range(50):
            server.run(f"INSERT INTO t (v) VALUES ({number})", database="counted")
        wait_for("all of them to be missing", lambda: behind() == 50)
    finally:
        moving.proxy.flows.set()
    wait_for("nothing to be missing again", lambda: behind() == 0)
    pair.same_tables("counted", "t")
    found = pair.through.run("SELECT transactions_behind FROM pelorus.mirrors "
                             "WHERE table_schema = 'counted'")
    assert found == ((0,),)
    pair.through.run("ALTER MIRROR counted.t PAUSE")
    assert behind() is None
    moving.proxy.stop()
    through.stop()


def certificates(folder) -> tuple[str, ...]:
    """A certificate of a MariaDB's own, where the server sees it."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    root, _ = machine.mariadb_root()
    inside = folder
    if root:
        folder = processes.folder("pelorus-certificate", root / "tmp")
        inside = Path("/", folder.relative_to(root))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    return f"--ssl-cert={inside}/cert.pem", f"--ssl-key={inside}/key.pem"


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
@pytest.mark.parametrize("tls", ["required", "preferred"])
def test_an_account_that_must_use_tls(kind, tls, linked_maker, tmp_path, request):
    if kind == "mariadb":
        server = servers.MariaDb("mariadb-tls", 37, options=certificates(tmp_path))
    else:
        server = request.getfixturevalue("mysql")
    plugin = "caching_sha2_password" if kind == "mysql" else "mysql_native_password"
    identified = ("IDENTIFIED WITH caching_sha2_password BY 'Safe-Passw0rd'" if kind == "mysql"
                  else "IDENTIFIED BY 'Safe-Passw0rd'")
    server.run("DROP USER IF EXISTS safe@'%'", "DROP DATABASE IF EXISTS safely",
               f"CREATE USER safe@'%' {identified} REQUIRE SSL", "GRANT ALL ON *.* TO safe@'%'",
               "CREATE DATABASE safely", "USE safely", *T)
    with pytest.raises(pymysql.MySQLError):
        server.connect("safe", "Safe-Passw0rd", ssl_disabled=True)
    through = linked_maker(name=f"pelorus-tls-{kind}", config=(
        "[[link]]\nname = \"safe\"\nhost = \"127.0.0.1\"\n"
        f"port = {server.port}\nuser = \"safe\"\npassword = \"Safe-Passw0rd\"\ntls = \"{tls}\"\n"))
    pair = Mirrored(server, through)
    pair.wait_for_database("safely")
    through.run("MIRROR DATABASE safely")
    pair.wait_live("safely")
    server.run("INSERT INTO t (v) VALUES (3)", database="safely")
    pair.same_tables("safely", "t")
    dumps = ("SELECT user FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%' "
             "AND user = 'safe'")
    assert server.run(dumps), "the stream has a connection of that account"
    if kind == "mysql":
        found = server.run("SELECT connection_type FROM performance_schema.threads WHERE "
                           "processlist_command LIKE 'Binlog Dump%' AND processlist_user = 'safe'")
        assert set(found) == {("SSL/TLS",)}, found
    assert plugin in str(server.run("SELECT plugin FROM mysql.user WHERE user = 'safe'"))
    through.stop()
    if kind == "mariadb":
        server.stop()


def test_sha2_passwords_without_tls(mysql, linked_maker):
    mysql.run("DROP USER IF EXISTS plain@'%'", "DROP DATABASE IF EXISTS openly",
              "CREATE USER plain@'%' IDENTIFIED WITH caching_sha2_password BY 'Open-Passw0rd'",
              "GRANT ALL ON *.* TO plain@'%'", "CREATE DATABASE openly", "USE openly", *T,
              "FLUSH PRIVILEGES")
    through = linked_maker(name="pelorus-sha2", config=(
        "[[link]]\nname = \"open\"\nhost = \"127.0.0.1\"\n"
        f"port = {mysql.port}\nuser = \"plain\"\npassword = \"Open-Passw0rd\"\ntls = \"disabled\"\n"))
    pair = Mirrored(mysql, through)
    pair.wait_for_database("openly")
    through.run("MIRROR DATABASE openly")
    pair.wait_live("openly")
    mysql.run("INSERT INTO t (v) VALUES (3)", database="openly")
    pair.same_tables("openly", "t")
    through.stop()
