"""Programs that others wrote, through Pelorus as people run them: DuckDB's extension for MySQL,
SQLAlchemy's URLs of a MariaDB, mydumper, mysqldump, HAProxy's check, and what migration tools,
phpMyAdmin, Adminer and WordPress send. `make test-clients` installs what is a program of its own."""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import mysql.connector
import pymysql
import pytest
import sqlalchemy
from pelorus_tools import machine, pelorus, processes
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import Process, wait_for

TABLES = (
    "CREATE TABLE {0}item (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(10,2), "
    "made DATETIME, KEY (name))",
    "INSERT INTO {0}item VALUES (1, 'one', 1.50, '2026-01-02 03:04:05'), (2, 'two', NULL, NULL), "
    "(3, 'three', 3.25, '2026-01-02 03:04:05')")


@pytest.fixture(scope="module", params=["mariadb", "mysql"])
def shop(request):
    """(server, Pelorus linked to it with a database `parties` there and a native one)."""
    server = request.getfixturevalue(request.param)
    through = request.getfixturevalue(f"pelorus_{request.param}")
    server.run("DROP DATABASE IF EXISTS parties", "CREATE DATABASE parties",
               *(sql.format("parties.") for sql in TABLES))
    through.run("DROP DATABASE IF EXISTS own_parties", "CREATE DATABASE own_parties",
                *(re.sub(r", KEY \(name\)", "", sql).format("own_parties.") for sql in TABLES))
    yield server, through
    server.run("DROP DATABASE parties")
    through.run("DROP DATABASE own_parties")


def _program(name: str) -> str:
    found = machine.find(name)
    if found is None:
        pytest.skip(f"{name} is not installed (make test-clients)")
    return found


def test_sqlalchemy_takes_the_url_of_the_servers_kind(shop):
    server, through = shop
    for scheme, expected in (("mysql", True), ("mariadb", server.kind == "mariadb")):
        engine = sqlalchemy.create_engine(
            f"{scheme}+pymysql://root:{pelorus.ROOT_PASSWORD}@127.0.0.1:{through.port}/parties")
        try:
            with engine.connect() as connection:
                assert connection.execute(sqlalchemy.text("SELECT COUNT(*) FROM item")).scalar() == 3
            columns = sqlalchemy.inspect(engine).get_columns("item")
            assert [column["name"] for column in columns] == ["id", "name", "price", "made"]
            assert expected, f"{scheme} URLs are taken for a {server.kind}"
        except sqlalchemy.exc.InvalidRequestError as error:
            assert not expected, error
        finally:
            engine.dispose()


def test_the_version_that_clients_see_can_be_set(shop):
    _, through = shop
    usual = through.run("SELECT VERSION()")[0][0]
    assert "pelorus" in usual
    through.run("SET GLOBAL pelorus_server_version = '10.6.1-MariaDB'")
    try:
        with through.connect() as connection, connection.cursor() as cursor:
            assert connection.get_server_info().endswith("10.6.1-MariaDB")
            cursor.execute("SELECT VERSION(), @@version, @@global.version")
            assert cursor.fetchall() == (("10.6.1-MariaDB",) * 3,)
    finally:
        through.run("SET GLOBAL pelorus_server_version = ''")
    assert through.run("SELECT VERSION()")[0][0] == usual


def test_duckdb_attaches(shop):
    """DuckDB reads the information schema by prepared statements and insists on its types."""
    if not machine.ATTACHED.exists():
        pytest.skip("DuckDB's extension is not installed (make test-clients)")
    _, through = shop
    # In a process of its own: the version that has the extension is another than the benchmarks'.
    script = (
        "import sys, glob; sys.path.insert(0, sys.argv[1])\n"
        "import duckdb\n"
        "path, = glob.glob(sys.argv[1] + '/duckdb_extension_mysql_scanner/**/*.duckdb_extension',"
        " recursive=True)\n"
        # It shows its progress where a statement takes more than two seconds.
        "db = duckdb.connect(); db.execute('SET enable_progress_bar = false')\n"
        "db.execute(f\"LOAD '{path}'\")\n"
        "db.execute(f\"ATTACH 'host=127.0.0.1 port={sys.argv[2]} user=root password={sys.argv[3]}"
        " database={sys.argv[4]}' AS my (TYPE mysql)\")\n"
        "print([row[1:3] for row in db.execute('SHOW ALL TABLES').fetchall()]"
        ".count((sys.argv[4], 'item')))\n"
        "print(db.execute(f'SELECT COUNT(*), SUM(price) FROM my.{sys.argv[4]}.item').fetchall())\n")
    for database in ("parties", "own_parties"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(machine.ATTACHED), str(through.port),
             pelorus.ROOT_PASSWORD, database],
            capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\n")[:2] == ["1", "[(3, Decimal('4.75'))]"], done.stdout


def test_mydumper_takes_its_global_lock(shop, tmp_path):
    mydumper = _program("mydumper")
    _, through = shop
    for database in ("parties", "own_parties"):
        done = subprocess.run(
            [mydumper, "--host", "127.0.0.1", "--port", str(through.port), "--user", "root",
             "--password", pelorus.ROOT_PASSWORD, "--database", database, "--threads", "3",
             "--outputdir", str(tmp_path / database)],
            capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        assert "CRITICAL" not in done.stderr, done.stderr
        files = {path.name for path in (tmp_path / database).iterdir()}
        assert {f"{database}.item.sql", f"{database}.item-schema.sql"} <= files
        assert "three" in (tmp_path / database / f"{database}.item.sql").read_text()


def test_flush_tables_with_read_lock_keeps_writers_out(shop):
    _, through = shop
    with through.connect() as holder, holder.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        with pytest.raises(pymysql.Error) as refused:
            cursor.execute("DELETE FROM own_parties.item WHERE id = 99")
        assert refused.value.args[0] == 1223
        written = threading.Event()

        def write():
            through.run("INSERT INTO own_parties.item (id, name) VALUES (50, 'late')")
            written.set()
        writer = threading.Thread(target=write)
        writer.start()
        waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT%late%'"
        wait_for("the writer to come", lambda: through.run(waiting) == ((1,),))
        # A second dump may hold the lock as well; readers go on.
        with through.connect() as other, other.cursor() as second:
            second.execute("FLUSH TABLES WITH READ LOCK")
            second.execute("SELECT COUNT(*) FROM own_parties.item")
            assert second.fetchall() == ((3,),)
            cursor.execute("UNLOCK TABLES")
            assert not written.is_set()
            second.execute("UNLOCK TABLES")
        writer.join(180)
        assert written.is_set()
    through.run("DELETE FROM own_parties.item WHERE id = 50")


def test_a_snapshot_on_a_linked_server_is_of_the_moment_that_it_was_asked_for(shop):
    server, through = shop
    with through.connect(database="parties") as connection, connection.cursor() as cursor:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        server.run("INSERT INTO parties.item (id, name) VALUES (60, 'later')")
        try:
            cursor.execute("SELECT COUNT(*) FROM item")
            assert cursor.fetchall() == ((3,),)
            cursor.execute("COMMIT")
            cursor.execute("SELECT COUNT(*) FROM item")
            assert cursor.fetchall() == ((4,),)
        finally:
            server.run("DELETE FROM parties.item WHERE id = 60")


def test_user_level_locks_exclude_sessions_and_end_with_them(shop):
    """Flyway, Rails and Laravel guard their migrations with one."""
    server, through = shop
    for database in ("parties", "own_parties"):
        with through.connect(database=database) as one, one.cursor() as first, \
                through.connect(database=database) as two, two.cursor() as second:
            def ask(cursor, sql, *values):
                cursor.execute(sql, values)
                return cursor.fetchall()
            assert ask(first, "SELECT GET_LOCK(%s, 10)", "Flyway-1") == ((1,),)
            assert ask(second, "SELECT GET_LOCK('Flyway-1', 0) AS ok") == ((0,),)
            assert ask(second, "SELECT RELEASE_LOCK('Flyway-1')") == ((0,),)
            assert ask(second, "SELECT IS_FREE_LOCK('Flyway-1'), IS_FREE_LOCK('x')") == ((0, 1),)
            assert ask(first, "SELECT RELEASE_LOCK('Flyway-1'), RELEASE_LOCK('nothing')") == ((1, None),)
            assert ask(second, "SELECT GET_LOCK('a', 0), GET_LOCK('b', 0), RELEASE_ALL_LOCKS()") == (
                (1, 1, 2),)
            first.execute("SET @got = GET_LOCK('c', 0)")
            first.execute("DO RELEASE_LOCK('c')")
            assert ask(first, "SELECT @got, IS_FREE_LOCK('c')") == ((1, 1),)
            assert ask(first, "SELECT GET_LOCK('ends', 0)") == ((1,),)
            with pytest.raises(pymysql.Error) as refused:
                first.execute("SELECT id, GET_LOCK('rows', 0) FROM item")
            assert refused.value.args[0] == 1235
            if database != "parties" or server.kind == "mysql":
                # A MariaDB cuts it.
                with pytest.raises(pymysql.Error) as refused:
                    first.execute("SELECT GET_LOCK(%s, 0)", "x" * 65)
                assert refused.value.args[0] == 4163
        free = "SELECT IS_FREE_LOCK('ends')"

        def is_free():
            with through.connect(database=database) as other, other.cursor() as cursor:
                cursor.execute(free)
                return cursor.fetchall() == ((1,),)
        wait_for("the lock of a session that ended", is_free)
    # The server's other clients see the locks that belong to it.
    with through.connect(database="parties") as one, one.cursor() as first:
        first.execute("SELECT GET_LOCK('shared', 0)")
        assert server.run("SELECT GET_LOCK('shared', 0)") == ((0,),)


def test_found_rows_counts_what_a_limit_leaves_out(shop):
    """WordPress and Adminer page through results with it."""
    server, through = shop
    statements = [
        "SELECT SQL_CALC_FOUND_ROWS id FROM {0}item ORDER BY id LIMIT 1",
        "SELECT FOUND_ROWS()",
        "SELECT SQL_CALC_FOUND_ROWS id, name FROM {0}item WHERE id > 1 ORDER BY id DESC LIMIT 1, 5",
        "SELECT FOUND_ROWS() AS n",
        "SELECT SQL_CALC_FOUND_ROWS name FROM {0}item WHERE id > 100 LIMIT 3",
        "SELECT FOUND_ROWS()",
        "SELECT SQL_CALC_FOUND_ROWS id FROM {0}item WHERE id < 3 ORDER BY id",
        "SELECT FOUND_ROWS()",
        "SELECT SQL_CALC_FOUND_ROWS id FROM {0}item UNION ALL SELECT id FROM {0}item ORDER BY 1 LIMIT 0",
        "SELECT FOUND_ROWS()",
        "SELECT id FROM {0}item ORDER BY id LIMIT 2",
        "SELECT FOUND_ROWS()"]

    def answers(connection, prefix):
        with connection, connection.cursor() as cursor:
            out = []
            for statement in statements:
                cursor.execute(statement.format(prefix))
                out.append(cursor.fetchall())
            return out
    expected = answers(server.connect(), "parties.")
    assert answers(through.connect(), "parties.") == expected
    assert answers(through.connect(), "own_parties.") == expected


def test_the_inside_of_a_linked_server_can_be_looked_at(shop):
    """MySQL Workbench and mysqldump read performance_schema and sys."""
    server, through = shop
    if server.kind == "mysql":
        assert through.run("SELECT COUNT(*) > 0 FROM sys.version") == ((1,),)
        rows = through.run("SELECT VARIABLE_VALUE FROM performance_schema.global_variables "
                           "WHERE VARIABLE_NAME = 'port'")
        assert rows == ((str(server.port),),)
    with pytest.raises(pymysql.Error) as refused:
        through.run("DROP DATABASE performance_schema")
    assert refused.value.args[0] == 1044


def test_haproxy_finds_the_server_healthy(shop):
    haproxy = _program("haproxy")
    _, through = shop
    # Its check knows no other plugin.
    through.run("CREATE USER IF NOT EXISTS haproxy_check IDENTIFIED WITH mysql_native_password BY ''")
    folder = processes.folder("pelorus-haproxy")
    front, stats = processes.free_port(), folder / "stats"
    config = folder / "haproxy.cfg"
    config.write_text(
        f"global\n  stats socket {stats} level admin\n"
        "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
        f"listen pelorus\n  bind 127.0.0.1:{front}\n  option mysql-check user haproxy_check\n"
        f"  server one 127.0.0.1:{through.port} check inter 200 rise 1 fall 2\n")
    proxy = Process("haproxy", [haproxy, "-f", str(config), "-db"], folder / "log", dict(os.environ))
    try:
        def state() -> str:
            import socket
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(str(stats))
                line.sendall(b"show servers state pelorus\n")
                answer = b"".join(iter(lambda: line.recv(4096), b"")).decode()
            return answer.splitlines()[2].split()[5:12]
        # Operational state 2 is "running", check result 3 is "passed".
        wait_for("HAProxy's check to pass", lambda: state()[0] == "2" and state()[6] == "3",
                 process=proxy)
        connection = pymysql.connect(host="127.0.0.1", port=front, user="root",
                                     password=pelorus.ROOT_PASSWORD)
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM own_parties.item")
            assert cursor.fetchall() == ((3,),)
    finally:
        proxy.stop()
        through.run("DROP USER haproxy_check")


def test_what_phpmyadmin_and_adminer_ask(shop):
    """The statements of their first pages, over linked and native databases."""
    _, through = shop
    for database in ("parties", "own_parties"):
        with through.connect(database=database) as connection, connection.cursor() as cursor:
            for statement in (
                    # phpMyAdmin
                    "SELECT @@version, @@version_comment",
                    "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'",
                    "SHOW SESSION VARIABLES LIKE 'FOREIGN_KEY_CHECKS'",
                    "SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA` ORDER BY `SCHEMA_NAME`",
                    "SELECT CURRENT_USER()",
                    "SHOW GRANTS",
                    "SHOW GLOBAL STATUS",
                    "SHOW FULL PROCESSLIST",
                    f"SHOW FULL COLUMNS FROM `{database}`.`item`",
                    f"SHOW INDEXES FROM `{database}`.`item`",
                    f"SHOW TABLE STATUS FROM `{database}` LIKE 'item%'",
                    f"SHOW CREATE TABLE `{database}`.`item`",
                    f"SELECT *, `TABLE_SCHEMA` AS `Db`, `TABLE_NAME` AS `Name`, `ENGINE` AS `Engine`, "
                    f"`TABLE_ROWS` AS `Rows` FROM `information_schema`.`TABLES` t WHERE `TABLE_SCHEMA` "
                    f"IN ('{database}') ORDER BY Name ASC",
                    f"SELECT COUNT(*) FROM `{database}`.`item`",
                    # Adminer
                    "SELECT USER()",
                    "SHOW DATABASES",
                    "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME",
                    f"SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES "
                    f"WHERE TABLE_SCHEMA = '{database}' ORDER BY TABLE_NAME",
                    "SHOW COLLATION",
                    "SELECT SQL_CALC_FOUND_ROWS * FROM `item` LIMIT 50",
                    "SELECT FOUND_ROWS()",
                    "SHOW VARIABLES",
                    "EXPLAIN SELECT * FROM item"):
                cursor.execute(statement)
                cursor.fetchall()
            cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name IN ('Bytes_received', 'Bytes_sent')")
            counters = dict(cursor.fetchall())
            assert int(counters["Bytes_received"]) > 0 and int(counters["Bytes_sent"]) > 0
            cursor.execute("SHOW SESSION STATUS LIKE 'Bytes_sent'")
            before = int(cursor.fetchall()[0][1])
            cursor.execute("SELECT REPEAT('x', 100000)")
            cursor.fetchall()
            cursor.execute("SHOW SESSION STATUS LIKE 'Bytes_sent'")
            assert 100_000 < int(cursor.fetchall()[0][1]) - before < 110_000


def test_names_of_the_information_schema_join_with_tables(shop):
    """TypeORM keeps names of views in a table of its own, in the database's collation."""
    server, through = shop
    for collation in ("utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin", "latin1_swedish_ci"):
        charset = collation.split("_")[0]
        server.run("DROP TABLE IF EXISTS parties.names", "CREATE TABLE parties.names (word VARCHAR(40) "
                   f"CHARACTER SET {charset} COLLATE {collation})", "INSERT INTO parties.names VALUES ('item'), ('none')")
        for statement in (
                "SELECT n.word, t.TABLE_NAME FROM parties.names n JOIN information_schema.TABLES t "
                "ON t.TABLE_NAME = n.word WHERE t.TABLE_SCHEMA = 'parties'",
                "SELECT c.COLUMN_NAME FROM information_schema.COLUMNS c JOIN parties.names n ON c.TABLE_NAME = n.word "
                "AND c.TABLE_SCHEMA = 'parties' ORDER BY c.ORDINAL_POSITION",
                "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'PARTIES'"):
            assert through.run(statement) == server.run(statement), (collation, statement)
    server.run("DROP TABLE parties.names")


def test_columns_that_only_a_mariadb_has(shop):
    """Django and Doctrine find JSON columns of a MariaDB by its checks."""
    server, through = shop
    server.run("DROP TABLE IF EXISTS parties.papers", "CREATE TABLE parties.papers (id INT PRIMARY KEY, body JSON, "
               "twice INT AS (id * 2), CONSTRAINT small CHECK (id < 100))")
    for statement in (
            "SELECT c.CONSTRAINT_NAME, c.TABLE_NAME, c.LEVEL FROM information_schema.CHECK_CONSTRAINTS c "
            "WHERE c.CONSTRAINT_SCHEMA = 'parties' AND c.TABLE_NAME = 'papers' ORDER BY 1",
            "SELECT COLUMN_NAME, IS_GENERATED FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'parties' "
            "AND TABLE_NAME = 'papers' ORDER BY ORDINAL_POSITION",
            "SELECT TEMPORARY FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'parties' AND TABLE_NAME = 'papers'",
            "SELECT INDEX_NAME, IGNORED FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'parties' "
            "AND TABLE_NAME = 'papers'",
            "SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'parties'"):
        if server.kind == "mariadb":
            assert through.run(statement) == server.run(statement), statement
        else:
            with pytest.raises(pymysql.Error) as refused:
                through.run(statement)
            assert refused.value.args[0] == 1054, statement
    server.run("DROP TABLE parties.papers")


def test_the_inside_of_a_linked_server_within_a_transaction(shop):
    """Flyway asks for user variables while it holds one."""
    server, through = shop
    if server.kind == "mariadb":
        pytest.skip("it has no performance_schema unless it is asked for")
    with through.connect(database="parties") as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT variable_name FROM performance_schema.user_variables_by_thread "
                       "WHERE variable_value IS NOT NULL")
        cursor.execute("SELECT COUNT(*) FROM item WHERE id < (SELECT COUNT(*) FROM sys.version)")
        for statement in ("UPDATE performance_schema.setup_instruments SET enabled = 'YES'",
                          "DELETE FROM sys.sys_config", "SELECT COUNT(*) FROM mysql.user u, item"):
            with pytest.raises(pymysql.Error):
                cursor.execute(statement)
        cursor.execute("ROLLBACK")


def test_a_statement_with_a_time_limit(shop):
    """Adminer and MariaDB's Connector/J write it in front of what they ask."""
    server, through = shop
    limited = "SET STATEMENT max_statement_time=20 FOR "
    through.run("DROP USER IF EXISTS timed", "CREATE USER timed IDENTIFIED BY 't' READ ONLY")
    with through.connect(database="parties") as connection, connection.cursor() as cursor:
        cursor.execute(limited + "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")
        assert ("parties",) in cursor.fetchall()
        cursor.execute(limited + "SELECT COUNT(*) FROM item")
        assert cursor.fetchall() == ((3,),)
        assert cursor.execute(limited + "UPDATE own_parties.item SET price = 2 WHERE id = 2") == 1
        cursor.execute("UPDATE own_parties.item SET price = NULL WHERE id = 2")
        for statement, number in (("SET STATEMENT max_statement_time=0.2 FOR SELECT SLEEP(60) FROM item", 1969),
                                  ("SET STATEMENT sort_buffer_size=100000 FOR SELECT 1", 1235),
                                  (limited + "SELECT nothing FROM item", 1054)):
            with pytest.raises(pymysql.Error) as refused:
                cursor.execute(statement)
            assert refused.value.args[0] == number, statement
        cursor.execute("SELECT COUNT(*) FROM item")
        assert cursor.fetchall() == ((3,),)
    with through.connect(user="timed", password="t", database="parties") as connection, connection.cursor() as cursor:
        for statement in ("DELETE FROM item", "DROP TABLE own_parties.item"):
            with pytest.raises(pymysql.Error) as refused:
                cursor.execute(limited + statement)
            assert refused.value.args[0] in (1142, 1290), refused.value
    prepared = mysql.connector.connect(host="127.0.0.1", port=through.port, user="root",
                                       password=pelorus.ROOT_PASSWORD, database="parties", use_pure=True)
    cursor = prepared.cursor(prepared=True)
    for key in (1, 3):
        cursor.execute(limited + "SELECT name FROM item WHERE id = ?", (key,))
        assert cursor.fetchall() == [("one" if key == 1 else "three",)]
    prepared.close()
    through.run("DROP USER timed")


# How Superset's MySQL engine cuts time: its own expressions.
GRAINS = (
    "made",
    "DATE_ADD(DATE(made), INTERVAL (HOUR(made)*60*60 + MINUTE(made)*60 + SECOND(made)) SECOND)",
    "DATE_ADD(DATE(made), INTERVAL (HOUR(made)*60 + MINUTE(made)) MINUTE)",
    "DATE_ADD(DATE(made), INTERVAL HOUR(made) HOUR)",
    "DATE(made)",
    "DATE(DATE_SUB(made, INTERVAL DAYOFWEEK(made) - 1 DAY))",
    "DATE(DATE_SUB(made, INTERVAL DAYOFMONTH(made) - 1 DAY))",
    "MAKEDATE(YEAR(made), 1) + INTERVAL QUARTER(made) QUARTER - INTERVAL 1 QUARTER",
    "DATE(DATE_SUB(made, INTERVAL DAYOFYEAR(made) - 1 DAY))",
    "DATE(DATE_SUB(made, INTERVAL DAYOFWEEK(DATE_SUB(made, INTERVAL 1 DAY)) - 1 DAY))",
    "from_unixtime(seconds)")


def test_what_superset_asks(linked):
    """Charts of Superset over a linked and a mirrored table: grains, filters, series, percent metrics."""
    pair = Mirrored(*linked)
    digits = " UNION ALL ".join(["SELECT 0 AS d", *(f"SELECT {d}" for d in range(1, 10))])
    pair.begin("charts", "CREATE TABLE facts (id INT PRIMARY KEY, made DATETIME NOT NULL, seconds INT NOT NULL, "
               "city VARCHAR(20), amount DECIMAL(10,2))",
               f"INSERT INTO facts SELECT a.d + 10 * b.d + 100 * c.d, '2025-11-28 22:58:59' + INTERVAL "
               f"(a.d * 100003 + b.d * 3601 + c.d * 61) SECOND, 1764370739 + a.d * 100003, "
               f"ELT(1 + a.d % 3, 'Bonn', 'Köln', NULL), b.d * 1.25 FROM ({digits}) a, ({digits}) b, ({digits}) c")
    span = ("made >= STR_TO_DATE('2025-11-29 00:00:00.000000', '%Y-%m-%d %H:%i:%s.%f') "
            "AND made < STR_TO_DATE('2025-12-09 00:00:00.000000', '%Y-%m-%d %H:%i:%s.%f')")
    statements = [f"SELECT {grain} AS __timestamp, COUNT(*) AS count, SUM(amount) AS `SUM(amount)` FROM facts "
                  f"WHERE {span} GROUP BY {grain} ORDER BY count DESC, __timestamp LIMIT 300" for grain in GRAINS]
    statements += [
        f"SELECT DATE(made) AS __timestamp, city AS city, AVG(amount) AS a FROM facts JOIN (SELECT city AS city__, "
        f"SUM(amount) AS mme_inner__ FROM facts WHERE {span} GROUP BY city ORDER BY mme_inner__ DESC LIMIT 2) AS "
        f"series_limit ON city = city__ WHERE {span} GROUP BY DATE(made), city ORDER BY a DESC, __timestamp, city LIMIT 100",
        "SELECT city AS city, COUNT(DISTINCT DATE(made)) AS days, MAX(amount) AS m FROM facts WHERE city IN "
        "('Bonn', 'Köln') AND (amount > 1 OR city IS NULL) GROUP BY city HAVING (SUM(amount) > 10) ORDER BY days DESC, city",
        "SELECT * FROM (SELECT city, amount FROM facts WHERE amount > 5) AS virtual_table ORDER BY amount, city LIMIT 20",
        "SELECT count(*) AS rowcount FROM (SELECT city FROM facts GROUP BY city) AS rowcount_qry",
        "SELECT MIN(made) AS `MIN(made)`, MAX(made) AS `MAX(made)` FROM facts"]
    expected = [pair.server.run("SET time_zone = '+00:00'", sql, database="charts") for sql in statements]
    for sql, rows in zip(statements, expected):
        assert pair.through.run("SET time_zone = '+00:00'", sql, database="charts") == rows, sql
    pair.through.run("MIRROR DATABASE charts")
    pair.wait_live("charts", "facts")
    pair.same("charts", *statements, ordered=True, typed=False)
    pair.through.run("UNMIRROR DATABASE charts")
    pair.server.run("DROP DATABASE charts")
