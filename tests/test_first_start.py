"""The first minutes: root's first password and hosts, the way back in, what the start says of links and
mirrors that are not right, and tables made like linked ones."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pymysql
import pytest
from pelorus_tools import machine, pelorus, processes, servers
from pelorus_tools.processes import Process, wait_for

# What Rust's library and `Debug` write, and people do not.
INTERNALS = re.compile(r"os error|\b(Some|None|Ok|Err)\b[( ]|\w+::\w+|\w+ \{ \w+:|panicked|Error\(")


def binary() -> str:
    return str(os.environ.get("PELORUS_BINARY", pelorus.BINARY))


class Start:
    """A Pelorus that is started as people start it; it is never logged in to by itself."""

    def __init__(self, folder: Path, *options: str, config: str = "", **environment: str):
        self.folder = folder
        self.port = processes.free_port()
        folder.mkdir(exist_ok=True)
        plain = {name: value for name, value in os.environ.items() if not name.startswith("PELORUS_ROOT")}
        command = [binary(), "serve", "--data", str(folder / "data"), *options]
        if "--listen" not in options:
            command += ["--listen", f"127.0.0.1:{self.port}"]
        if config:
            (folder / "pelorus.toml").write_text(config)
            command += ["--config", str(folder / "pelorus.toml")]
        log = folder / "log"
        log.write_text("")
        self.process = Process("pelorus-first", command, log, {**plain, **environment})

    def ready(self) -> "Start":
        """Waits until it has said all that it says at the start."""
        says = re.compile(r"^(linked|NOT linked|no server is linked)", re.M)
        wait_for("the start", lambda: says.search(self.log()), process=self.process)
        return self

    def log(self) -> str:
        return self.process.log.read_text(errors="replace")

    def password(self) -> str | None:
        """The password that it has shown."""
        found = re.search(r"the password of root is (\S+)", self.log())
        return found and found[1]

    def connect(self, password: str) -> pymysql.Connection:
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", password=password,
                               autocommit=True, connect_timeout=60, read_timeout=600)

    def run(self, password: str, sql: str) -> tuple:
        with self.connect(password) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def stop(self) -> None:
        assert "panicked at" not in self.log(), self.log()
        self.process.stop()


def command(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=180)


def test_the_password_is_shown_until_the_first_login(mariadb, tmp_path):
    # A start that fails after the accounts were made.
    failed = Start(tmp_path, config="[tls]\ncertificate = \"/no/such\"\nkey = \"/no/such\"\n")
    failed.process.child.wait(180)
    assert failed.process.child.returncode == 1
    assert (tmp_path / "data" / "accounts.json").exists()
    # One whose link has a wrong password.
    wrong = Start(tmp_path, "--link", f"mysql://dev:wrong@127.0.0.1:{mariadb.port}/").ready()
    first = wrong.password()
    assert first and "NOT linked" in wrong.log()
    wrong.stop()
    # And one that is right: it shows a password again, and that one counts.
    right = Start(tmp_path, "--link", mariadb.url()).ready()
    second = right.password()
    assert second and second != first
    with pytest.raises(pymysql.err.OperationalError):
        right.connect(first)
    with pytest.raises(pymysql.err.OperationalError):
        right.connect("neither")
    right.stop()
    # A login that was refused is none.
    again = Start(tmp_path).ready()
    third = again.password()
    assert again.run(third, "SELECT 1") == ((1,),)
    again.stop()
    later = Start(tmp_path, PELORUS_ROOT_PASSWORD="of-another-start").ready()
    assert later.password() is None
    assert later.run(third, "SELECT 1") == ((1,),)
    later.stop()


@pytest.mark.parametrize("how", ["option", "environment", "file"])
def test_hosts_of_root(how, tmp_path):
    hosts = ["10.0.0.0/8", "192.168.7.%"]
    given = {"option": ([x for host in hosts for x in ("--root-host", host)], "", {}),
             "environment": ([], "", {"PELORUS_ROOT_HOST": ",".join(hosts)}),
             "file": ([], f"root_host = {hosts}\n".replace("'", '"'), {})}[how]
    options, config, environment = given
    start = Start(tmp_path, *options, config=config, PELORUS_ROOT_PASSWORD="pw-of-root", **environment)
    start.ready()
    found = start.run("pw-of-root", "SELECT host FROM mysql.user WHERE user = 'root' ORDER BY host")
    assert found == (("10.0.0.0/8",), ("192.168.7.%",), ("localhost",))
    start.stop()
    # They are those of the first start.
    later = Start(tmp_path, "--root-host", "%").ready()
    assert "root_host counts until the first login" in later.log()
    assert later.run("pw-of-root", "SELECT count(*) FROM mysql.user") == ((3,),)
    later.stop()


def test_a_host_that_no_client_can_have(tmp_path):
    done = command("serve", "--data", str(tmp_path / "data"), "--root-host", "db.example.com")
    assert done.returncode == 2 and "host names are not looked up" in done.stderr
    assert not (tmp_path / "data").exists()


def test_the_banner_says_who_gets_in(tmp_path):
    port = processes.free_port()
    closed = Start(tmp_path / "closed", "--listen", f"0.0.0.0:{port}").ready()
    assert f"mysql --host 127.0.0.1 --port {port}" in closed.log()
    assert "no account admits clients of other machines yet" in closed.log()
    closed.stop()
    open_ = Start(tmp_path / "open", "--listen", f"0.0.0.0:{port}", "--root-host", "%").ready()
    assert "no account admits" not in open_.log()
    open_.stop()
    here = Start(tmp_path / "here").ready()
    assert "no account admits" not in here.log()
    here.stop()


def test_back_in_without_the_password(tmp_path):
    data = str(tmp_path / "data")
    assert command("reset-password", "--data", data).returncode == 2
    start = Start(tmp_path, PELORUS_ROOT_PASSWORD="lost").ready()
    start.run("lost", "CREATE DATABASE kept")
    refused = command("reset-password", "--data", data)
    assert refused.returncode == 2 and "stop it first" in refused.stderr
    start.stop()
    done = command("reset-password", "--data", data)
    assert done.returncode == 0, done.stderr
    made_up = re.search(r"the password of 'root'@'localhost' is (\S+)", done.stdout)[1]
    start = Start(tmp_path).ready()
    assert start.password() is None
    with pytest.raises(pymysql.err.OperationalError):
        start.connect("lost")
    assert ("kept",) in start.run(made_up, "SHOW DATABASES")
    start.stop()
    (tmp_path / "new").write_text("from-a-file\n")
    done = command("reset-password", "--data", data, "--host", "127.0.0.1", "--password-file",
                   str(tmp_path / "new"))
    assert done.returncode == 0 and "from-a-file" not in done.stdout + done.stderr
    start = Start(tmp_path).ready()
    assert ("kept",) in start.run("from-a-file", "SHOW DATABASES")
    start.stop()


def test_what_is_not_right_is_said(mariadb, tmp_path):
    mariadb.run("CREATE DATABASE IF NOT EXISTS first_lab", "DROP TABLE IF EXISTS first_lab.v",
                "DROP VIEW IF EXISTS first_lab.v", "CREATE VIEW first_lab.v AS SELECT 1",
                "CREATE OR REPLACE USER blind@'%' IDENTIFIED BY 'sees-nothing'")
    port = mariadb.port
    start = Start(
        tmp_path, "--link", f"mysql://dev:{servers.PASSWORD}@127.0.0.1:{port}/first_lap?name=misspelt",
        "--link", f"mysql://dev:{servers.PASSWORD}@127.0.0.1:{port}/first_lab?name=fine",
        "--link", f"mysql://blind:sees-nothing@127.0.0.1:{port}/?name=blind",
        "--link", f"mysql://dev:{servers.PASSWORD}@127.0.0.1:{processes.free_port()}/?name=away",
        "--link", f"mysql://dev:wrong@127.0.0.1:{port}/?name=wrong",
        "--link", f"mysql://dev@127.0.0.1:{port}/?name=unread&password_file={tmp_path}",
        "--mirror", "no_such_database", "--mirror", "first_lab.no_such_table",
        "--mirror", "first_lab.v", PELORUS_ROOT_PASSWORD="pw").ready()

    def said(*words: str) -> bool:
        return any(all(word in line for word in words) for line in start.log().splitlines())
    for words in [("NO database first_lap", "misspelt"), ("WARN", "misspelt", "first_lap"),
                  ("linked blind", "no databases"), ("WARN", "blind", "no databases"),
                  ("NOT linked away", "Connection refused"), ("NOT linked wrong", "Access denied"),
                  ("NOT linked unread", "not a regular file")]:
        wait_for(" ".join(words), lambda: said(*words), process=start.process)
    for words in [("WARN", "no_such_database", "shows a database of this name"),
                  ("WARN", "first_lab.no_such_table", "doesn't exist"),
                  ("WARN", "first_lab.v", "view")]:
        wait_for(" ".join(words), lambda: said(*words), process=start.process)
    assert ("first_lab",) in start.run("pw", "SHOW DATABASES")
    with start.connect("pw") as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE SERVER later FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT "
            f"{port}, USER 'dev', PASSWORD '{servers.PASSWORD}', DATABASE 'first_lamp')")
        cursor.execute("SHOW WARNINGS")
        assert "first_lamp" in str(cursor.fetchall())
    for line in start.log().splitlines():
        assert not INTERNALS.search(line), line
    start.stop()


def test_the_sample_of_the_configuration():
    sample = machine.ROOT / "docs" / "reference" / "pelorus.toml"
    done = command("config", "check", "--config", str(sample))
    assert done.returncode == 0 and "the configuration is right" in done.stdout, done.stderr
    listed = command("config", "settings").stdout
    assert "secrets_folder (path;" in listed and "link.cleartext_password:" in listed


TABLE = """CREATE TABLE like_lab.t (
    id bigint unsigned NOT NULL AUTO_INCREMENT,
    name varchar(40) CHARACTER SET latin1 COLLATE latin1_german1_ci NOT NULL DEFAULT 'x' COMMENT 'a name',
    amount decimal(12,3) DEFAULT NULL,
    made timestamp NOT NULL DEFAULT '2020-01-01 12:00:00' ON UPDATE CURRENT_TIMESTAMP,
    kind enum('a','b') COLLATE utf8mb4_bin DEFAULT 'b',
    twice decimal(14,3) GENERATED ALWAYS AS (amount * 2) STORED,
    day date NOT NULL,
    parent bigint unsigned DEFAULT NULL,
    PRIMARY KEY (id, day),
    UNIQUE KEY by_name (name, day),
    KEY by_amount (amount, kind),
    CONSTRAINT positive CHECK (amount > 0)
  ) ENGINE=InnoDB AUTO_INCREMENT=77 ROW_FORMAT=COMPRESSED COMMENT='of a test'
  PARTITION BY RANGE COLUMNS(day) (PARTITION p1 VALUES LESS THAN ('2025-01-01'),
                                   PARTITION p2 VALUES LESS THAN (MAXVALUE))"""
INFO = ("SELECT column_name, column_type, is_nullable, column_default, collation_name, column_key, "
        "extra, column_comment FROM information_schema.columns WHERE table_schema = '{0}' AND "
        "table_name = 't' ORDER BY ordinal_position")


def alike(rows: tuple) -> list:
    """What MariaDB writes in another way, as MySQL writes it."""
    def one(value) -> str:
        text = re.sub(r"int\(\d+\)", "int", str(value).lower().strip("'"))
        return text.replace("current_timestamp()", "current_timestamp").replace("null", "none")
    return [[one(value) for value in row] for row in rows]


def test_tables_like_linked_ones(linked):
    server, through = linked
    server.run("DROP DATABASE IF EXISTS like_lab",
               "CREATE DATABASE like_lab CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
               "USE like_lab", TABLE, "CREATE TABLE parent (id int PRIMARY KEY)",
               "CREATE TABLE child (id int PRIMARY KEY, p int, FOREIGN KEY (p) REFERENCES parent (id))",
               "CREATE VIEW v AS SELECT 1",
               "CREATE TABLE odd (id int PRIMARY KEY, a varchar(36), CHECK (soundex(a) <> 'x'))",
               "CREATE TABLE odd_generated (id int PRIMARY KEY, a varchar(36), "
               "b varchar(80) AS (soundex(a)) STORED)")
    wait_for("the database", lambda: ("like_lab",) in through.run("SHOW DATABASES"))
    through.run("DROP DATABASE IF EXISTS like_own", "CREATE DATABASE like_own")
    with through.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE like_own.t LIKE like_lab.t")
        cursor.execute("SHOW WARNINGS")
        said = cursor.fetchall()
        assert len(said) == 1 and "UNIQUE of key 'by_name'" in said[0][2], said
    theirs, ours = server.run(INFO.format("like_lab")), through.run(INFO.format("like_own"))
    assert alike(ours) == alike(theirs)
    through.run("INSERT INTO like_own.t (name, amount, day) VALUES ('one', 5, '2024-05-05')",
                "INSERT INTO like_own.t (name, amount, day) VALUES ('two', 6, '2026-05-05')")
    assert through.run("SELECT id, twice FROM like_own.t ORDER BY id") == ((1, 10), (2, 12))
    for sql, number in [("(1, 'one', 5, '2024-05-05')", 1062), ("(3, 'three', -1, '2024-05-05')", 3819)]:
        with pytest.raises(pymysql.MySQLError) as error:
            through.run(f"INSERT INTO like_own.t (id, name, amount, day) VALUES {sql}")
        assert error.value.args[0] == number
    # With the database chosen, as `(LIKE ...)`, and where it is there already.
    with through.connect(database="like_own") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE child (LIKE like_lab.child)")
        cursor.execute("SHOW CREATE TABLE child")
        assert "FOREIGN KEY" not in cursor.fetchone()[1]
        cursor.execute("CREATE TABLE IF NOT EXISTS child LIKE like_lab.parent")
        cursor.execute("SHOW WARNINGS")
        assert cursor.fetchone()[1] == 1050
        cursor.execute("CREATE TABLE odd LIKE like_lab.odd")
        cursor.execute("SHOW WARNINGS")
        said = cursor.fetchall()
        assert len(said) == 1 and "CHECK constraints" in said[0][2] and "SOUNDEX" in said[0][2], said
        for sql, number in [("child LIKE like_lab.parent", 1050), ("x LIKE like_lab.nothing", 1146),
                            ("x LIKE like_lab.v", 1347), ("x LIKE like_lab.odd_generated", 1235),
                            ("x LIKE no_such_database.t", 1049),
                            ("x LIKE information_schema.tables", 1235)]:
            with pytest.raises(pymysql.MySQLError) as error:
                cursor.execute(f"CREATE TABLE {sql}")
            assert error.value.args[0] == number, sql
    through.run("DROP DATABASE like_own")
    server.run("DROP DATABASE like_lab")
