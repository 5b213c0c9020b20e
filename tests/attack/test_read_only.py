"""A read-only account tries to change something: every kind of statement, over linked, native and
mirrored tables of MySQL and MariaDB. Nothing may have changed at the end, anywhere.
"""

from __future__ import annotations

import pymysql
import pytest
from pelorus_tools import pelorus, servers
from pelorus_tools.processes import wait_for

READER, PASSWORD = "attacker", "Att4cker-Passw0rd"
# Bounds what an attack may wait for: a lock that was taken after all shows as a failure.
PATIENCE = 300

# {d} is the database under attack; {t} its table.
STATEMENTS = [
    # Rows.
    "INSERT INTO {t} VALUES (10, 10)",
    "INSERT INTO {t} SET id = 10, v = 10",
    "INSERT INTO {t} SELECT id + 100, v FROM {t}",
    "REPLACE INTO {t} VALUES (1, 10)",
    "UPDATE {t} SET v = 10",
    "UPDATE {t} a JOIN {t} b ON a.id = b.id SET a.v = 10",
    "DELETE FROM {t}",
    "DELETE a FROM {t} a JOIN {t} b ON a.id = b.id",
    "WITH x AS (SELECT 1 AS id) DELETE FROM {t} WHERE id IN (SELECT id FROM x)",
    "WITH x AS (SELECT 1 AS id) UPDATE {t} SET v = 10 WHERE id IN (SELECT id FROM x)",
    "LOAD DATA INFILE '/etc/hostname' INTO TABLE {t}",
    "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE {t}",
    "LOAD XML INFILE '/etc/hostname' INTO TABLE {t}",
    "IMPORT TABLE FROM 'x.sdi'",
    "INSERT INTO {t} VALUES (10, 10) RETURNING id",
    "DELETE FROM {t} RETURNING id",
    # Definitions.
    "CREATE TABLE {d}.made (a INT PRIMARY KEY)",
    "CREATE TABLE {d}.made AS SELECT * FROM {t}",
    "CREATE TEMPORARY TABLE {d}.made (a INT PRIMARY KEY)",
    "ALTER TABLE {t} ADD COLUMN w INT",
    "RENAME TABLE {t} TO {d}.made",
    "TRUNCATE TABLE {t}",
    "DROP TABLE {t}",
    "CREATE INDEX i ON {t} (v)",
    "CREATE VIEW {d}.made AS SELECT 1 AS a",
    "CREATE SQL SECURITY DEFINER VIEW {d}.made AS SELECT {d}.writes(10) AS a",
    "CREATE TRIGGER {d}.made BEFORE INSERT ON {t} FOR EACH ROW SET @a = 1",
    "CREATE PROCEDURE {d}.made() DELETE FROM {t}",
    "CREATE FUNCTION {d}.made() RETURNS INT RETURN 1",
    "CREATE EVENT {d}.made ON SCHEDULE EVERY 1 DAY DO DELETE FROM {t}",
    "CREATE SEQUENCE {d}.made",
    "CREATE DATABASE made",
    "ALTER DATABASE {d} CHARACTER SET latin1",
    "DROP DATABASE {d}",
    "ANALYZE TABLE {t}", "CHECK TABLE {t}", "OPTIMIZE TABLE {t}", "REPAIR TABLE {t}",
    "CHECKSUM TABLE {t}", "CACHE INDEX {t} IN hot", "LOAD INDEX INTO CACHE {t}",
    # What queries can do.
    "SELECT {d}.writes(10)",
    "SELECT {d}.writes(10) FROM {t}",
    "SELECT * FROM {t} WHERE {d}.writes(10) = 1",
    "SELECT * FROM (SELECT {d}.writes(id) AS a FROM {t}) x",
    "SELECT * FROM {d}.through",
    "SELECT writes(10)",
    "DO {d}.writes(10)",
    "SET @a = {d}.writes(10)",
    "SET @a = (SELECT MAX({d}.writes(10)) FROM {t})",
    "CALL {d}.erase()",
    "SELECT * FROM {t} INTO OUTFILE '{file}'",
    "SELECT v FROM {t} LIMIT 1 INTO DUMPFILE '{file}'",
    "SELECT v INTO OUTFILE '{file}' FROM {t}",
    "TABLE {t} INTO OUTFILE '{file}'",
    "SELECT v INTO @a FROM {t} LIMIT 1",
    "SELECT * FROM {t} FOR UPDATE",
    "SELECT * FROM {t} LOCK IN SHARE MODE",
    "SELECT * FROM {t} FOR SHARE NOWAIT",
    "SELECT GET_LOCK('attack', 0)",
    "SELECT GET_LOCK('attack', 0) FROM {t}",
    "SELECT GET_LOCK('attack', 0) FROM {t} PROCEDURE ANALYSE()",
    "SELECT /*+ SET_VAR(foreign_key_checks = OFF) */ {d}.writes(10)",
    "SELECT /*+ QB_NAME(`a*/ 'b`) */ 1 INTO OUTFILE \"{file}\" #'",
    "SELECT NEXTVAL({d}.numbers)", "SELECT SETVAL({d}.numbers, 100)",
    "SELECT NEXT VALUE FOR {d}.numbers",
    "BEGIN NOT ATOMIC DELETE FROM {t}; END",
    "EXPLAIN ANALYZE DELETE FROM {t}", "EXPLAIN ANALYZE SELECT {d}.writes(10) FROM {t}",
    "ANALYZE DELETE FROM {t}", "ANALYZE FORMAT=JSON SELECT {d}.writes(10) FROM {t}",
    "EXPLAIN DELETE FROM {t}", "EXPLAIN INSERT INTO {t} VALUES (10, 10)",
    "HANDLER {t} OPEN", "HANDLER {t} READ FIRST",
    "LOCK TABLES {t} WRITE", "LOCK TABLES {t} READ", "UNLOCK TABLES",
    "LOCK INSTANCE FOR BACKUP", "XA START 'a'", "SAVEPOINT a",
    # The server.
    "SET GLOBAL max_connections = 7", "SET GLOBAL read_only = ON",
    "SET GLOBAL sql_generate_invisible_primary_key = ON", "SET PERSIST max_connections = 7",
    "SET GLOBAL TRANSACTION READ ONLY", "SET @@GLOBAL.sort_buffer_size = 100000",
    "SET SESSION sql_log_bin = 0", "SET STATEMENT max_statement_time = 1 FOR DELETE FROM {t}",
    "SET ROLE ALL", "SET DEFAULT ROLE ALL TO {reader}", "SET RESOURCE GROUP a",
    "FLUSH TABLES", "FLUSH TABLES WITH READ LOCK", "FLUSH PRIVILEGES", "RESET MASTER",
    "PURGE BINARY LOGS TO 'a'", "CHANGE MASTER TO MASTER_HOST = 'a'", "SHUTDOWN", "RESTART",
    "STOP REPLICA", "START SLAVE", "BINLOG 'a'", "CLONE LOCAL DATA DIRECTORY '/tmp/a'",
    "INSTALL PLUGIN a SONAME 'a.so'", "CREATE ROLE made", "CREATE TABLESPACE made",
    "CREATE USER made IDENTIFIED BY 'a'", "ALTER USER root@localhost IDENTIFIED BY 'a'",
    "ALTER USER CURRENT_USER() READ WRITE", "DROP USER root@localhost",
    "RENAME USER root@localhost TO made", "GRANT ALL ON *.* TO {reader}", "SET PASSWORD FOR root = 'a'",
    "CREATE SERVER made FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1')",
    "ALTER SERVER attacked OPTIONS (USER 'made')", "DROP SERVER attacked",
    "MIRROR TABLE {t}", "UNMIRROR TABLE {t}", "ALTER MIRROR {t} PAUSE", "CHECK MIRROR {t}",
    # SHOW and its kin.
    "SHOW TABLES FROM {d} WHERE {d}.writes(10) = 1",
    "SHOW TABLES FROM {d} WHERE (SELECT {d}.writes(10)) = 1",
    "SHOW COLUMNS FROM {t} WHERE {d}.writes(10) = 1",
    "SHOW TABLE STATUS FROM {d} WHERE GET_LOCK('attack', 0)",
    "SHOW INDEX FROM {t} WHERE SLEEP(0) OR {d}.writes(10)",
    "KILL {d}.writes(10)",
]

# Comments that a server executes and Pelorus passes over, around a statement that may be run.
HARMLESS = [
    "SHOW TABLES FROM {d}", "SHOW CREATE TABLE {t}", "SHOW CREATE DATABASE {d}",
    "SHOW COLUMNS FROM {t}", "SHOW INDEX FROM {t}", "SHOW TABLE STATUS FROM {d}",
    "SHOW TRIGGERS FROM {d}", "SHOW EVENTS FROM {d}", "SHOW WARNINGS", "DESCRIBE {t}",
    "SELECT * FROM {t}", "EXPLAIN SELECT * FROM {t}", "SELECT WEIRD 1 FROM {t}", "DO 1",
    "SET @a = (SELECT MAX(v) FROM {t})", "TABLE {t}", "USE {d}",
]
HIDDEN = [
    "/*!90000 DELETE FROM {t} # */ %s /*\n*/",
    "/*!100000 DELETE FROM {t} # */ %s /*\n*/",
    "/*!80000 DELETE FROM {t} # */ %s /*\n*/",
    "/*!080400 DELETE FROM {t} # */ %s /*\n*/",
    "/*! DELETE FROM {t} # */ %s /*\n*/",
    "/*M! DELETE FROM {t} # */ %s /*\n*/",
    "/*M!100000 DELETE FROM {t} # */ %s /*\n*/",
    "/*!99999 /* */ DELETE FROM {t} # */ %s",
    "%s /*!90500 INTO OUTFILE '{file}' */",
    "%s /*M! INTO OUTFILE '{file}' */",
    "%s; DELETE FROM {t}",
    "%s --\x01; DELETE FROM {t}",
    "%s /*!999999 */ # \n; DELETE FROM {t}",
    "%s /* \0 */; DELETE FROM {t}",
]

# Data that the link does not show.
SECRETS = [
    "SELECT * FROM attack_hidden.secret",
    "SELECT word FROM {t} JOIN attack_hidden.secret",
    "SELECT * FROM {{oj attack_hidden.secret LEFT OUTER JOIN {t} ON 1}}",
    "SELECT attack_hidden.tell()",
    "SELECT attack_hidden.tell() FROM {t}",
    "SELECT WEIRD attack_hidden.tell() FROM {t}",
    "SHOW TABLES FROM attack WHERE EXISTS (SELECT 1 FROM attack_hidden.secret)",
    "SHOW TABLES FROM attack WHERE attack_hidden.tell() = 'hidden'",
    "SHOW TABLES FROM attack_hidden", "DESCRIBE attack_hidden.secret", "USE attack_hidden",
    "SHOW CREATE TABLE attack_hidden.secret", "SHOW CREATE DATABASE attack_hidden",
    "EXPLAIN SELECT * FROM attack_hidden.secret", "HANDLER attack_hidden.secret OPEN",
    "LOCK TABLES attack_hidden.secret READ", "SELECT * FROM mysql.user",
    "SELECT * FROM {{oj mysql.user LEFT OUTER JOIN {t} ON 1}}",
    "SELECT LOAD_FILE('/etc/hostname') FROM {t}",
    "SELECT WEIRD LOAD_FILE('/etc/hostname') FROM {t}",
    "/*!90000 SELECT * FROM attack_hidden.secret # */ SHOW TABLES FROM attack /*\n*/",
    "/*M! SELECT * FROM attack_hidden.secret # */ SHOW TABLES FROM attack /*\n*/",
]


class Attacked:
    """A server, a Pelorus with a link to it that shows one of its databases, and what they hold."""

    def __init__(self, server: servers.Server, through: pelorus.Pelorus):
        self.server, self.through = server, through
        self.file = f"{self._datadir()}attack_out"

    def _datadir(self) -> str:
        return self.server.run("SELECT @@secure_file_priv")[0][0] or "/tmp/"

    def fill(self) -> None:
        """Makes everything that is to stay as it is."""
        table = "(id INT PRIMARY KEY, v INT NOT NULL)"
        has_sequences = self.server.kind == "mariadb"
        self.server.run(
            "DROP DATABASE IF EXISTS attack", "DROP DATABASE IF EXISTS attack_hidden",
            "CREATE DATABASE attack", "CREATE DATABASE attack_hidden",
            "SET GLOBAL log_bin_trust_function_creators = ON",
            f"CREATE TABLE attack.t {table}", "INSERT INTO attack.t VALUES (1, 1), (2, 2)",
            f"CREATE TABLE attack.m {table}", "INSERT INTO attack.m VALUES (1, 1), (2, 2)",
            "CREATE FUNCTION attack.writes(a INT) RETURNS INT BEGIN "
            "INSERT INTO attack.t VALUES (a + 1000, a); RETURN 1; END",
            "CREATE PROCEDURE attack.erase() DELETE FROM attack.t",
            "CREATE VIEW attack.through AS SELECT attack.writes(20) AS a",
            *(["CREATE SEQUENCE attack.numbers"] if has_sequences else []),
            "CREATE TABLE attack_hidden.secret (word VARCHAR(20) PRIMARY KEY)",
            "INSERT INTO attack_hidden.secret VALUES ('hidden')",
            "CREATE FUNCTION attack_hidden.tell() RETURNS VARCHAR(20) "
            "RETURN (SELECT MAX(word) FROM attack_hidden.secret)")
        self.through.run(
            f"CREATE SERVER attacked FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', "
            f"PORT {self.server.port}, USER '{servers.USER}', PASSWORD '{servers.PASSWORD}', "
            "DATABASES 'attack')",
            f"CREATE USER '{READER}'@'%' IDENTIFIED BY '{PASSWORD}' READ ONLY",
            "CREATE DATABASE own", f"CREATE TABLE own.t {table}",
            "INSERT INTO own.t VALUES (1, 1), (2, 2)")
        wait_for("attack to appear", lambda: self.through.run("SELECT * FROM attack.t"))
        self.through.run("MIRROR TABLE attack.m")
        wait_for("the mirror to be live", self._is_live)

    def _is_live(self) -> bool:
        return "live" in self.through.run("SHOW MIRRORS")[0]

    def reader(self) -> pymysql.Connection:
        """A connection of the account that only reads."""
        return self.through.connect(READER, PASSWORD, autocommit=True, read_timeout=PATIENCE)

    def state(self) -> dict:
        """Everything that an attack could change."""
        ask, ours = self.server.run, self.through.run
        variables = ("SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE '%gtid%' "
                     "AND Variable_name NOT LIKE '%timestamp%' AND Variable_name NOT LIKE '%read_only'")
        catalog = "information_schema"
        own = "TABLE_SCHEMA LIKE 'attack%'"
        state = {
            "t": ask("SELECT * FROM attack.t ORDER BY id"),
            "m": ask("SELECT * FROM attack.m ORDER BY id"),
            "tables": ask(f"SELECT TABLE_NAME, TABLE_TYPE, CREATE_TIME FROM {catalog}.TABLES "
                          f"WHERE {own} ORDER BY 1"),
            "columns": ask(f"SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE FROM {catalog}.COLUMNS "
                           f"WHERE {own} ORDER BY 1, 2"),
            "routines": ask(f"SELECT ROUTINE_NAME FROM {catalog}.ROUTINES "
                            "WHERE ROUTINE_SCHEMA LIKE 'attack%' ORDER BY 1"),
            "triggers": ask(f"SELECT TRIGGER_NAME FROM {catalog}.TRIGGERS "
                            "WHERE TRIGGER_SCHEMA LIKE 'attack%'"),
            "events": ask(f"SELECT EVENT_NAME FROM {catalog}.EVENTS"),
            "databases": ask("SHOW DATABASES"),
            "accounts": ask("SELECT user, host FROM mysql.user ORDER BY 1, 2"),
            "variables": ask(variables),
            "read only": ask("SELECT @@global.read_only"),
            "lock": ask("SELECT IS_FREE_LOCK('attack')"),
            "file": ask(f"SELECT LOAD_FILE('{self.file}')"),
            "own": ours("SELECT * FROM own.t ORDER BY id"),
            "own tables": ours("SHOW TABLES FROM own"),
            "own databases": ours("SHOW DATABASES"),
            "own accounts": ours("SELECT user, host FROM mysql.user ORDER BY 1, 2")
            if ours("SHOW DATABASES LIKE 'mysql'") else None,
            "own definition": ours("SHOW CREATE TABLE own.t"),
            "own servers": [row[:3] for row in ours("SHOW SERVERS")],
            "own variables": ours("SHOW GLOBAL VARIABLES"),
            "mirrors": [row[:3] for row in ours("SHOW MIRRORS")],
        }
        if self.server.kind == "mariadb":
            state["sequence"] = ask("SELECT next_not_cached_value FROM attack.numbers")
        return state

    def places(self) -> list[dict[str, str]]:
        """The tables under attack: linked, native, mirrored."""
        return [{"d": database, "t": f"{database}.{table}", "file": self.file, "reader": READER}
                for database, table in (("attack", "t"), ("own", "t"), ("attack", "m"))]


@pytest.fixture(scope="module", params=["mariadb", "mysql"])
def attacked(request, linked_maker):
    """A server under attack, of each kind."""
    server = request.getfixturevalue(request.param)
    through = linked_maker(name=f"pelorus-attacked-{request.param}")
    found = Attacked(server, through)
    found.fill()
    yield found
    server.run("DROP DATABASE IF EXISTS attack", "DROP DATABASE IF EXISTS attack_hidden")


def attempt(connection: pymysql.Connection, statement: str) -> list:
    """What a statement of an attack gives; errors are what is hoped for."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())
    except (pymysql.err.MySQLError, TypeError) as error:
        # A lost connection or a wait for a lock is no refusal.
        assert not isinstance(error, pymysql.err.MySQLError) or error.args[0] not in (
            2006, 2013, 1105), (statement, error)
        return []


def literal(text: str) -> str:
    """A statement as a string for PREPARE."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''").replace("\0", "\\0") + "'"


def ways(statement: str) -> list[list[str]]:
    """Each way of running a statement."""
    return [
        [statement],
        ["START TRANSACTION READ WRITE", statement, "COMMIT"],
        ["SET autocommit = 0", statement, "COMMIT", "SET autocommit = 1"],
        [f"SET @s = {literal(statement)}", "PREPARE s FROM @s", "EXECUTE s"],
        [f"EXECUTE IMMEDIATE {literal(statement)}"],
    ]


def run_all(attacked: Attacked, statements: list[str], place: dict[str, str]) -> None:
    """Runs statements in every way, on connections to the database of the place and to none."""
    for database in (place["d"], None):
        with attacked.reader() as connection:
            if database:
                connection.select_db(database)
            for statement in statements:
                for way in ways(statement) if database else [[statement]]:
                    for step in way:
                        attempt(connection, step)
                    attempt(connection, "ROLLBACK")


def test_the_attacks_would_show(attacked):
    """What the attacks try can be done, by an account that may."""
    before = attacked.state()
    with attacked.through.connect(autocommit=True, database="attack") as root:
        assert attempt(root, "SELECT attack.writes(10)") == [(1,)]
        assert attacked.state()["t"] != before["t"]
        attempt(root, "DELETE FROM attack.t WHERE id > 2")
    assert attacked.state()["t"] == before["t"]
    with attacked.reader() as reader:
        reader.select_db("attack")
        for place in attacked.places():
            assert attempt(reader, f"SELECT id FROM {place['t']} ORDER BY id") == [(1,), (2,)]
        with pytest.raises(pymysql.err.MySQLError) as raised:
            with reader.cursor() as cursor:
                cursor.execute("SELECT attack.writes(10)")
        assert raised.value.args[0] == 1792


@pytest.mark.parametrize("at", range(3), ids=["linked", "native", "mirrored"])
def test_statements_change_nothing(attacked, at):
    before, place = attacked.state(), attacked.places()[at]
    run_all(attacked, [statement.format(**place) for statement in STATEMENTS], place)
    assert attacked.state() == before


@pytest.mark.parametrize("at", range(3), ids=["linked", "native", "mirrored"])
def test_comments_hide_nothing(attacked, at):
    before, place = attacked.state(), attacked.places()[at]
    statements = [(comment % harmless).format(**place) for comment in HIDDEN
                  for harmless in HARMLESS]
    with attacked.reader() as connection:
        connection.select_db(place["d"])
        for mode in ("", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES"):
            attempt(connection, f"SET sql_mode = '{mode}'")
            for statement in statements:
                attempt(connection, statement)
        # The last two read quotes otherwise.
        for statement in (r"""SELECT @"\" INTO OUTFILE '{file}' # " FROM {t}""",
                          r"""SELECT '\' INTO OUTFILE "{file}" # ' FROM {t}"""):
            attempt(connection, statement.format(**place))
    assert attacked.state() == before


def test_what_is_not_shown_is_not_told(attacked):
    before, place = attacked.state(), attacked.places()[0]
    with attacked.reader() as connection:
        connection.select_db("attack")
        for statement in (statement.format(**place) for statement in SECRETS):
            for way in ways(statement):
                for step in way:
                    told = attempt(connection, step)
                    assert not told or statement.startswith("/*"), (step, told)
                    assert "hidden" not in str(told), (step, told)
                attempt(connection, "ROLLBACK")
    assert attacked.state() == before


def test_everybody_only_reads_when_told_so(attacked):
    """READ ONLY transactions and super_read_only hold for stored functions on the servers."""
    before = attacked.state()
    with attacked.through.connect(autocommit=True, database="attack") as root:
        with root.cursor() as cursor:
            for begin, end in (("START TRANSACTION READ ONLY", "COMMIT"),
                               ("SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"),
                               ("SET GLOBAL super_read_only = ON", "SET GLOBAL super_read_only = OFF")):
                cursor.execute(begin)
                for statement in ("SELECT writes(30)", "SELECT writes(30) FROM t", "DO writes(30)",
                                  "/*!90000 DELETE FROM t # */ SHOW TABLES /*\n*/",
                                  "/*M! DELETE FROM t # */ SHOW TABLES /*\n*/",
                                  "DELETE FROM t", "CALL erase()"):
                    attempt(root, statement)
                cursor.execute(end)
    assert attacked.state()["t"] == before["t"]
