"""Python's clients and the command lines of MariaDB and MySQL, each used as a person would."""

from __future__ import annotations

import datetime
import decimal
import subprocess

import mysql.connector
import MySQLdb
import pymysql
import pytest
import sqlalchemy
from pelorus_tools import machine, pelorus
from pelorus_tools.processes import wait_for

ROWS = 30_000


@pytest.fixture(scope="module")
def shop(mariadb, pelorus_mariadb):
    """A small database on MariaDB, seen through Pelorus."""
    mariadb.run(
        "DROP DATABASE IF EXISTS client_shop",
        "CREATE DATABASE client_shop CHARACTER SET utf8mb4",
        "USE client_shop",
        "CREATE TABLE item (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(40) NOT NULL, "
        "price decimal(10,2) unsigned, weight double, born date, seen datetime(6), span time, "
        "big bigint unsigned, raw varbinary(20), kind enum('a','b') DEFAULT 'a', note text, "
        "made timestamp NULL, KEY by_name (name, kind)) COMMENT='things'",
        "INSERT INTO item VALUES (1, 'Grüße 😀', 12.50, 0.25, '2024-02-29', "
        "'2024-02-29 12:34:56.789012', '-12:30:01', 18446744073709551615, x'00FF', 'b', 'long', "
        "'2024-01-01 00:00:00'), (2, 'plain', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
        "NULL)",
        "CREATE TABLE sale (id int PRIMARY KEY, item_id int NOT NULL, amount int, "
        "CONSTRAINT sold FOREIGN KEY (item_id) REFERENCES item (id))",
        "CREATE VIEW priced AS SELECT id, price FROM item WHERE price IS NOT NULL",
        f"CREATE TABLE many AS SELECT seq AS n, REPEAT('x', seq % 100) AS pad, seq / 7 AS part "
        f"FROM seq_1_to_{ROWS}",
        "ALTER TABLE many ADD PRIMARY KEY (n)")
    wait_for("the database to appear",
             lambda: pelorus_mariadb.run("SELECT count(*) FROM client_shop.item")[0][0] == 2)
    return pelorus_mariadb


EXACT = (1, "Grüße 😀", decimal.Decimal("12.50"), 0.25, datetime.date(2024, 2, 29),
         datetime.datetime(2024, 2, 29, 12, 34, 56, 789012),
         -datetime.timedelta(hours=12, minutes=30, seconds=1), 18446744073709551615, b"\x00\xff",
         "b", "long")
EXACT_COLUMNS = "id, name, price, weight, born, seen, span, big, raw, kind, note"


def command_line(kind: str, request) -> list[str]:
    if kind == "mariadb":
        return [machine.find("mariadb"), "--no-defaults"]
    return request.getfixturevalue("mysql").client()


def run_client(command: list[str], server, *more: str, sql: str = "", password=None):
    password = pelorus.ROOT_PASSWORD if password is None else password
    return subprocess.run(
        [*command, "-h", "127.0.0.1", "-P", str(server.port), "-u", "root", f"-p{password}",
         "--default-character-set=utf8mb4", *more],
        input=sql, capture_output=True, text=True, encoding="utf-8", timeout=600)


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
class TestCommandLine:
    """The clients people type into."""

    def test_query(self, kind, shop, request):
        done = run_client(command_line(kind, request), shop, "-N", "client_shop",
                          sql="SELECT id, name, price FROM item ORDER BY id;")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "1\tGrüße 😀\t12.50\n2\tplain\tNULL\n"

    def test_table_output_uses_metadata(self, kind, shop, request):
        done = run_client(command_line(kind, request), shop, "-t", "--column-type-info",
                          "client_shop", sql="SELECT price, name FROM item WHERE id = 1;")
        assert done.returncode == 0, done.stderr
        assert "NEWDECIMAL" in done.stdout and "UNSIGNED" in done.stdout
        assert "Table:      `item`" in done.stdout

    def test_status_and_use(self, kind, shop, request):
        # MySQL's client takes commands of its own only when told so.
        more = ["--commands"] if kind == "mysql" else []
        done = run_client(command_line(kind, request), shop, *more,
                          sql="use client_shop\n\\s\nSELECT DATABASE();\n")
        assert done.returncode == 0, done.stderr
        assert "client_shop" in done.stdout
        assert "pelorus" in done.stdout.lower()

    def test_errors_have_number_and_state_and_stop_nothing(self, kind, shop, request):
        done = run_client(command_line(kind, request), shop, "--force", "-N",
                          sql="SELECT * FROM client_shop.nope;\nSELECT 41 + 1;\n")
        assert "ERROR 1146 (42S02)" in done.stderr
        assert done.stdout == "42\n"

    def test_wrong_password(self, kind, shop, request):
        done = run_client(command_line(kind, request), shop, password="wrong", sql="SELECT 1;")
        assert done.returncode == 1
        assert "ERROR 1045 (28000)" in done.stderr

    def test_show(self, kind, shop, request):
        done = run_client(command_line(kind, request), shop, "-N", "client_shop",
                          sql="SHOW DATABASES; SHOW TABLES; SHOW FULL TABLES; DESC item; "
                              "SHOW COLUMNS FROM sale; SHOW INDEX FROM item; "
                              "SHOW CREATE TABLE sale; SHOW VARIABLES LIKE 'version'; "
                              "SHOW STATUS LIKE 'Uptime'; SHOW PROCESSLIST; SHOW WARNINGS; "
                              "SHOW CHARACTER SET LIKE 'utf8mb4'; SHOW ENGINES;")
        assert done.returncode == 0, done.stderr
        for text in ("client_shop", "information_schema", "item", "VIEW", "by_name",
                     "CREATE TABLE `sale`", "decimal(10,2) unsigned", "bigint"):
            assert text in done.stdout, text

    def test_big_result(self, kind, shop, request):
        done = run_client(command_line(kind, request), shop, "-N", "--quick", "client_shop",
                          sql="SELECT n, pad FROM many;")
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == ROWS

    def test_encrypted(self, kind, shop, request):
        more = ["--ssl"] if kind == "mariadb" else ["--ssl-mode=REQUIRED"]
        done = run_client(command_line(kind, request), shop, "-N", *more,
                          sql="SHOW STATUS LIKE 'Ssl_cipher';")
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\t")[1].strip(), done.stdout


class TestPyMySql:
    """PyMySQL."""

    def test_types(self, shop):
        with shop.connect(database="client_shop") as connection:
            cursor = connection.cursor()
            cursor.execute(f"SELECT {EXACT_COLUMNS} FROM item WHERE id = %s", (1,))
            assert cursor.fetchone() == EXACT
            cursor.execute("SELECT * FROM item WHERE id = 2")
            assert cursor.fetchone()[2:9] == (None,) * 7

    def test_unbuffered_cursor_can_be_left(self, shop):
        with shop.connect(database="client_shop") as connection:
            cursor = connection.cursor(pymysql.cursors.SSCursor)
            cursor.execute("SELECT n FROM many ORDER BY n")
            assert [cursor.fetchone()[0] for _ in range(3)] == [1, 2, 3]
            cursor.close()
            with connection.cursor() as after:
                after.execute("SELECT count(*) FROM many")
                assert after.fetchone() == (ROWS,)

    def test_several_statements(self, shop):
        flag = pymysql.constants.CLIENT.MULTI_STATEMENTS
        with shop.connect(database="client_shop", client_flag=flag) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT 1; SELECT count(*) FROM item; SET @a = 5; SELECT @a")
            answers = [list(cursor.fetchall())]
            while cursor.nextset():
                answers.append(list(cursor.fetchall()))
            assert answers == [[(1,)], [(2,)], [], [(5,)]]

    def test_several_statements_need_leave(self, shop):
        with shop.connect() as connection:
            with pytest.raises(pymysql.err.ProgrammingError) as error:
                connection.cursor().execute("SELECT 1; SELECT 2")
            assert error.value.args[0] == 1064

    def test_an_error_ends_several_statements(self, shop):
        flag = pymysql.constants.CLIENT.MULTI_STATEMENTS
        with shop.connect(client_flag=flag) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT 1; SELECT nope; SELECT 3")
            with pytest.raises(pymysql.err.OperationalError) as error:
                cursor.nextset()
            assert error.value.args[0] == 1054
            connection.ping(reconnect=False)

    def test_ping_select_db_change_charset(self, shop):
        with shop.connect() as connection:
            connection.ping(reconnect=False)
            connection.select_db("client_shop")
            with connection.cursor() as cursor:
                cursor.execute("SELECT DATABASE()")
                assert cursor.fetchone() == ("client_shop",)
            with pytest.raises(pymysql.err.OperationalError) as error:
                connection.select_db("no_such_database")
            assert error.value.args[0] == 1049

    @pytest.mark.parametrize("user, password", [("root", "wrong"), ("root", ""), ("nobody", "x")])
    def test_wrong_password(self, shop, user, password):
        with pytest.raises(pymysql.err.OperationalError) as error:
            shop.connect(user=user, password=password)
        assert error.value.args[0] == 1045

    def test_unknown_database_at_login(self, shop):
        with pytest.raises(pymysql.err.OperationalError) as error:
            shop.connect(database="no_such_database")
        assert error.value.args[0] == 1049

    def test_encrypted(self, shop):
        with shop.connect(ssl={"check_hostname": False, "verify_mode": "none"}) as connection:
            cursor = connection.cursor()
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            assert cursor.fetchone()[1]

    def test_reconnect_after_kill(self, shop):
        victim = shop.connect()
        number = victim.thread_id()
        shop.run(f"KILL {number}")

        def closed() -> bool:
            try:
                victim.query("SELECT 1")
            except pymysql.err.MySQLError:
                return True
            return False
        wait_for("the connection to be closed", closed)
        victim.ping(reconnect=True)
        assert victim.thread_id() != number
        victim.close()

    def test_a_long_statement_and_a_long_value(self, shop):
        text = "ä" * 9_000_000
        with shop.connect() as connection:
            cursor = connection.cursor()
            # Over 16 MiB, so the packet is split both ways.
            cursor.execute("SELECT %s", (text,))
            assert cursor.fetchone() == (text,)

    def test_each_account_plugin(self, shop):
        for plugin in ("caching_sha2_password", "mysql_native_password"):
            shop.run("DROP USER IF EXISTS extra",
                     f"CREATE USER extra IDENTIFIED WITH {plugin} BY 'first'")
            for _ in range(2):
                shop.connect(user="extra", password="first").close()
            shop.run("ALTER USER extra IDENTIFIED BY 'second'")
            shop.connect(user="extra", password="second").close()
            with pytest.raises(pymysql.err.OperationalError) as error:
                shop.connect(user="extra", password="first")
            assert error.value.args[0] == 1045
            shop.run("SET PASSWORD FOR extra = 'third'")
            shop.connect(user="extra", password="third").close()
            shop.run("DROP USER extra")
            with pytest.raises(pymysql.err.OperationalError):
                shop.connect(user="extra", password="third")


@pytest.mark.parametrize("pure", [True, False], ids=["pure", "c"])
class TestConnectorPython:
    """mysql-connector-python, in Python and in C."""

    def connect(self, shop, pure, **more):
        more.setdefault("database", "client_shop")
        more.setdefault("password", pelorus.ROOT_PASSWORD)
        return mysql.connector.connect(host="127.0.0.1", port=shop.port, user="root",
                                       use_pure=pure, **more)

    def test_types(self, shop, pure):
        connection = self.connect(shop, pure)
        cursor = connection.cursor()
        cursor.execute(f"SELECT {EXACT_COLUMNS} FROM item WHERE id = 1")
        row = list(cursor.fetchone())
        row[8] = bytes(row[8])
        assert tuple(row) == EXACT
        connection.close()

    def test_reset_change_user_and_ping(self, shop, pure):
        connection = self.connect(shop, pure)
        cursor = connection.cursor()
        cursor.execute("SET @kept = 1")
        connection.cmd_reset_connection()
        cursor = connection.cursor()
        cursor.execute("SELECT @kept")
        assert cursor.fetchall() == [(None,)]
        connection.cmd_change_user("root", pelorus.ROOT_PASSWORD, "client_shop")
        cursor = connection.cursor()
        cursor.execute("SELECT DATABASE(), CURRENT_USER()")
        assert cursor.fetchone()[0] == "client_shop"
        connection.ping()
        assert connection.cmd_statistics()
        connection.close()

    def test_wrong_password_and_plain_connection(self, shop, pure):
        with pytest.raises(mysql.connector.Error) as error:
            self.connect(shop, pure, password="wrong")
        assert error.value.errno == 1045
        # Without encryption the password still never travels in the clear.
        self.connect(shop, pure, ssl_disabled=True).close()

    def test_big_result(self, shop, pure):
        connection = self.connect(shop, pure)
        cursor = connection.cursor()
        cursor.execute("SELECT n, pad, part FROM many ORDER BY n")
        rows = cursor.fetchall()
        assert len(rows) == ROWS
        assert rows[699] == (700, "", decimal.Decimal("100.0000"))
        connection.close()


class TestConnectorPythonPrepared:
    """Prepared statements of mysql-connector-python, in Python only: the extension in C crashes with
    them now and then, with a real MariaDB as well."""

    def test_prepared(self, shop):
        connection = TestConnectorPython().connect(shop, True)
        cursor = connection.cursor(prepared=True)
        statement = f"SELECT {EXACT_COLUMNS} FROM item WHERE id = ? AND name = ? AND price > ?"
        for _ in range(2):
            cursor.execute(statement, (1, "Grüße 😀", decimal.Decimal("12.49")))
            row = list(cursor.fetchone())
            row[8] = bytes(row[8])
            # The driver in Python loses the sign of a TIME in binary rows.
            row[6] = -abs(row[6])
            assert tuple(row) == EXACT
            assert cursor.fetchone() is None
        cursor.execute(statement, (1, "Grüße 😀", 12.51))
        assert cursor.fetchall() == []
        connection.close()

    def test_prepared_parameters_of_all_kinds(self, shop):
        connection = TestConnectorPython().connect(shop, True)
        cursor = connection.cursor(prepared=True)
        cursor.execute("SELECT count(*) FROM item WHERE born = ? AND seen = ? AND weight = ? "
                       "AND big > ? AND raw = ? AND ? IS NULL",
                       (EXACT[4], EXACT[5], 0.25, 5, b"\x00\xff", None))
        assert cursor.fetchall() == [(1,)]
        connection.close()

    def test_prepared_group_by_over_many_rows(self, shop):
        connection = TestConnectorPython().connect(shop, True)
        cursor = connection.cursor(prepared=True)
        cursor.execute("SELECT n % 3, count(*), sum(part) FROM many WHERE n > ? GROUP BY n % 3 "
                       "ORDER BY 1", (0,))
        rows = cursor.fetchall()
        cursor = connection.cursor()
        cursor.execute("SELECT n % 3, count(*), sum(part) FROM many GROUP BY n % 3 ORDER BY 1")
        assert rows == cursor.fetchall()
        assert [row[1] for row in rows] == [ROWS // 3] * 3
        connection.close()

    def test_prepared_order_by_a_parameter(self, shop):
        """It is a constant, not the number of a column."""
        connection = TestConnectorPython().connect(shop, True)
        cursor = connection.cursor(prepared=True)
        cursor.execute("SELECT n, part FROM many ORDER BY ?, n DESC LIMIT 2", (1,))
        assert [row[0] for row in cursor.fetchall()] == [ROWS, ROWS - 1]
        connection.close()

    def test_prepare_refuses_and_goes_on(self, shop):
        connection = TestConnectorPython().connect(shop, True)
        cursor = connection.cursor(prepared=True)
        with pytest.raises(mysql.connector.Error) as error:
            cursor.execute("SELECT nope FROM item WHERE id = ?", (1,))
        assert error.value.errno == 1054
        plain = connection.cursor()
        plain.execute("SELECT 7")
        assert plain.fetchall() == [(7,)]
        connection.close()


class TestMysqlClient:
    """mysqlclient, the binding of the C library."""

    def connect(self, shop, **more):
        more.setdefault("passwd", pelorus.ROOT_PASSWORD)
        return MySQLdb.connect(host="127.0.0.1", port=shop.port, user="root", db="client_shop",
                               charset="utf8mb4", **more)

    def test_types(self, shop):
        connection = self.connect(shop)
        cursor = connection.cursor()
        cursor.execute(f"SELECT {EXACT_COLUMNS} FROM item WHERE id = %s", (1,))
        assert cursor.fetchone() == EXACT
        connection.close()

    def test_streaming_and_database_errors(self, shop):
        connection = self.connect(shop)
        cursor = connection.cursor(MySQLdb.cursors.SSCursor)
        cursor.execute("SELECT n FROM many")
        assert len(cursor.fetchall()) == ROWS
        cursor.close()
        with pytest.raises(MySQLdb.ProgrammingError) as error:
            connection.cursor().execute("SELECT * FROM nope")
        assert error.value.args[0] == 1146
        connection.close()

    def test_wrong_password(self, shop):
        with pytest.raises(MySQLdb.OperationalError) as error:
            self.connect(shop, passwd="wrong")
        assert error.value.args[0] == 1045


@pytest.mark.parametrize("driver", ["pymysql", "mysqldb", "mysqlconnector"])
class TestSqlAlchemy:
    """SQLAlchemy over each driver, with reflection."""

    @pytest.fixture
    def engine(self, shop, driver):
        url = sqlalchemy.URL.create(f"mysql+{driver}", "root", pelorus.ROOT_PASSWORD, "127.0.0.1",
                                    shop.port, "client_shop")
        engine = sqlalchemy.create_engine(url)
        yield engine
        engine.dispose()

    def test_inspector(self, engine):
        inspector = sqlalchemy.inspect(engine)
        assert "client_shop" in inspector.get_schema_names()
        assert sorted(inspector.get_table_names()) == ["item", "many", "sale"]
        assert inspector.get_view_names() == ["priced"]
        columns = {column["name"]: column for column in inspector.get_columns("item")}
        assert isinstance(columns["price"]["type"], sqlalchemy.dialects.mysql.DECIMAL)
        assert columns["price"]["type"].unsigned and columns["price"]["type"].scale == 2
        assert isinstance(columns["big"]["type"], sqlalchemy.dialects.mysql.BIGINT)
        assert columns["kind"]["type"].enums == ["a", "b"]
        assert columns["seen"]["type"].fsp == 6
        assert not columns["name"]["nullable"] and columns["note"]["nullable"]
        assert inspector.get_pk_constraint("item")["constrained_columns"] == ["id"]
        assert inspector.get_indexes("item")[0]["column_names"] == ["name", "kind"]
        assert inspector.get_foreign_keys("sale")[0]["referred_table"] == "item"
        assert inspector.get_table_comment("item")["text"] == "things"
        assert inspector.has_table("item") and not inspector.has_table("nope")

    def test_reflected_table(self, engine):
        metadata = sqlalchemy.MetaData()
        item = sqlalchemy.Table("item", metadata, autoload_with=engine)
        with engine.connect() as connection:
            rows = connection.execute(
                sqlalchemy.select(item.c.name, item.c.price).where(item.c.id == 1)).all()
            assert rows == [("Grüße 😀", decimal.Decimal("12.50"))]
            count = connection.execute(
                sqlalchemy.select(sqlalchemy.func.count()).select_from(item)).scalar_one()
            assert count == 2

    def test_write_in_a_transaction(self, engine, mariadb):
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("INSERT INTO sale VALUES (:i, 1, 5)"), {"i": 1})
            connection.execute(sqlalchemy.text("UPDATE sale SET amount = 6 WHERE id = 1"))
            seen = connection.execute(sqlalchemy.text("SELECT amount FROM sale")).scalar_one()
            assert seen == 6
        assert mariadb.run("SELECT amount FROM client_shop.sale") == ((6,),)
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text("DELETE FROM sale"))
            connection.rollback()
        assert mariadb.run("SELECT count(*) FROM client_shop.sale") == ((1,),)
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("DELETE FROM sale"))
        assert mariadb.run("SELECT count(*) FROM client_shop.sale") == ((0,),)


def test_information_schema_tells_the_truth(shop, mariadb):
    """What clients read from information_schema is what the linked server says."""
    for statement in (
        "SELECT column_name, data_type, column_type, is_nullable, column_key, extra, "
        "character_maximum_length, numeric_precision, numeric_scale, datetime_precision "
        "FROM information_schema.columns WHERE table_schema = 'client_shop' AND table_name = 'item' "
        "ORDER BY ordinal_position",
        "SELECT table_name, table_type, engine FROM information_schema.tables "
        "WHERE table_schema = 'client_shop' ORDER BY table_name",
        "SELECT index_name, seq_in_index, column_name, non_unique FROM "
        "information_schema.statistics WHERE table_schema = 'client_shop' "
        "ORDER BY table_name, index_name, seq_in_index",
    ):
        assert shop.run(statement) == mariadb.run(statement), statement


def test_variables_are_true(shop):
    """`@@variables` and SHOW VARIABLES agree, and SET changes them."""
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = 'ANSI_QUOTES', @@wait_timeout = 1234")
        cursor.execute("SELECT @@sql_mode, @@session.wait_timeout, @@autocommit, @@port")
        assert cursor.fetchone() == ("ANSI_QUOTES", 1234, 1, shop.port)
        cursor.execute("SHOW SESSION VARIABLES WHERE Variable_name IN ('wait_timeout', 'port')")
        assert dict(cursor.fetchall()) == {"wait_timeout": "1234", "port": str(shop.port)}
        with pytest.raises(pymysql.err.MySQLError) as error:
            cursor.execute("SELECT @@no_such_variable")
        assert error.value.args[0] == 1193
        with pytest.raises(pymysql.err.MySQLError) as error:
            cursor.execute("SET no_such_variable = 1")
        assert error.value.args[0] == 1193
