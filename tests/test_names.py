"""What names mean and what keys determine, where tables are on several servers and where they are
mirrored: as a MySQL answers that has all the tables."""

from __future__ import annotations

import random

import pytest
from pelorus_tools import rows, seeds
from pelorus_tools.processes import wait_for
from pelorus_tools.random_names import DEFINITIONS, Names

FIRM = ("CREATE TABLE {}firm (id INT PRIMARY KEY, name VARCHAR(20), town VARCHAR(20) NOT NULL UNIQUE, "
        "code INT UNIQUE)",
        "INSERT INTO {}firm VALUES (1, 'ann', 'Rome', 7), (2, 'bob', 'Oslo', NULL), (3, NULL, 'Bern', 9)")
DEAL = ("CREATE TABLE {}deal (id INT PRIMARY KEY, firm INT, name VARCHAR(20), eur DECIMAL(8,2))",
        "INSERT INTO {}deal VALUES (10, 1, 'x', 5), (11, 1, 'y', 6), (12, 2, 'x', 7), (13, 9, 'z', 8)")
# Each with all its terms in ORDER BY, or in no order.
STATEMENTS = (
    # Keys of tables of servers.
    "SELECT f.id, f.name, COUNT(d.id) AS n FROM {f} f LEFT JOIN {d} d ON d.firm = f.id GROUP BY f.id",
    "SELECT f.name, SUM(d.eur) FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY f.town",
    "SELECT f.name, SUM(d.eur) FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY f.code",
    "SELECT f.name, SUM(d.eur) FROM {f} f JOIN {d} d ON d.firm = f.id WHERE f.code > 0 GROUP BY f.code",
    "SELECT f.name, SUM(d.eur) FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY d.firm",
    "SELECT f.name, d.firm FROM {f} f RIGHT JOIN {d} d ON d.firm = f.id GROUP BY d.firm",
    "SELECT f.name, d.firm FROM {f} f RIGHT JOIN {d} d ON d.firm = f.id GROUP BY f.id",
    # Keys through derived tables and WITH.
    "SELECT q.id, q.name, COUNT(*) FROM (SELECT id, name FROM {f} WHERE town > 'C') q "
    "JOIN {d} d ON d.firm = q.id GROUP BY q.id",
    "WITH q AS (SELECT id, name FROM {f}) SELECT q.name, SUM(d.eur) FROM q JOIN {d} d ON d.firm = q.id "
    "GROUP BY q.id",
    "SELECT f.id, q.total FROM {f} f JOIN (SELECT firm, SUM(eur) AS total FROM {d} GROUP BY firm) q "
    "ON q.firm = f.id GROUP BY q.firm",
    "SELECT q.name, COUNT(*) FROM (SELECT f.id, f.name FROM {f} f JOIN {f} g ON g.id = f.id) q "
    "JOIN {d} d ON d.firm = q.id GROUP BY q.id",
    "SELECT q.name, COUNT(*) FROM (SELECT id, name FROM {f} UNION ALL SELECT 4, 'dan') q "
    "JOIN {d} d ON d.firm = q.id GROUP BY q.id",
    # Names.
    "SELECT f.name, COUNT(*) FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY name ORDER BY name",
    "SELECT f.id, d.eur FROM {f} f LEFT JOIN {d} d ON d.firm = f.id ORDER BY id, eur",
    "SELECT f.id AS number FROM {f} f JOIN {d} d ON d.firm = f.id ORDER BY id",
    "SELECT d.name, COUNT(*) AS n FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY name "
    "HAVING name > 'x' OR n > 1 ORDER BY n DESC, name",
    "SELECT -d.firm AS firm, COUNT(*) FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY firm ORDER BY firm",
    "SELECT DISTINCT UPPER(d.name) FROM {f} f JOIN {d} d ON d.firm = f.id ORDER BY UPPER(d.name)",
    "SELECT COUNT(*) FROM {f} f JOIN {d} d ON d.firm = f.id ORDER BY f.town",
    "SELECT 1 FROM {f} f NATURAL LEFT JOIN (SELECT firm, eur FROM {d}) d",
    "SELECT F.id FROM {f} f JOIN {d} d ON d.firm = f.id",
    "SELECT f.id FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY 2",
    "SELECT f.id FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY f.id HAVING eur > 1",
    "SELECT f.id FROM {f} f JOIN {d} d ON d.firm = f.id GROUP BY f.id "
    "HAVING f.id IN (SELECT firm FROM {d} WHERE MAX(d.eur) > 6)",
)
NAMES = (
    "SELECT a.id, x FROM a JOIN b ON a.id = b.id ORDER BY id",
    "SELECT a.id, COUNT(*) FROM a JOIN b ON a.id = b.id GROUP BY id ORDER BY id",
    "SELECT a.id, COUNT(*) FROM a JOIN b ON a.id = b.id GROUP BY a.id HAVING id > 1 ORDER BY id",
    "SELECT -x AS x, COUNT(*) FROM a GROUP BY x HAVING x > 10 ORDER BY x",
    "SELECT -x AS x FROM a ORDER BY x + 0",
    "SELECT id AS x, x + 1 AS x FROM a ORDER BY x",
    "SELECT DISTINCT x % 3 FROM a ORDER BY x % 3",
    "SELECT a.id, x, COUNT(*) FROM a LEFT JOIN b ON a.id = b.y GROUP BY a.id ORDER BY a.id",
    "SELECT COUNT(*) FROM a ORDER BY id",
    "SELECT SUM(x) AS x FROM a HAVING x > 1",
    "SELECT x FROM a WHERE EXISTS (SELECT * FROM DUAL WHERE x = 20)",
    "SELECT q.id, q.x FROM (SELECT id, x FROM a) q JOIN b ON b.y = q.id GROUP BY q.id ORDER BY q.id",
    "SELECT 1 FROM a NATURAL LEFT JOIN (SELECT y FROM b) q",
)


@pytest.fixture(scope="module")
def places(linked_maker, mysql, mariadb):
    """A Pelorus linked to both servers with native tables, and the names that tables have on it: firms
    on one server or native, deals on the other; the MySQL has all of them in one database, too."""
    for server, database, definitions in (
            (mysql, "names_firms", FIRM), (mysql, "names_all", (*FIRM, *DEAL)),
            (mariadb, "names_deals", DEAL)):
        server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}",
                   *(text.format(f"{database}.") for text in definitions))
    server = linked_maker(mysql.url(), mariadb.url(), name="pelorus-names")
    for database in ("names_firms", "names_deals"):
        wait_for(f"{database} to appear", lambda name=database: server.run(f"SHOW DATABASES LIKE '{name}'"))
    server.run("CREATE DATABASE names_native", *(text.format("names_native.") for text in DEAL))
    return server


@pytest.mark.parametrize("deals", ["names_deals.deal", "names_native.deal"])
def test_over_several_servers(places, mysql, deals):
    failures = []
    with rows.connect(mysql) as oracle, rows.connect(places) as ours:
        for statement in STATEMENTS:
            expected = rows.ask(oracle, statement.format(f="names_all.firm", d="names_all.deal"))
            given = rows.ask(ours, statement.format(f="names_firms.firm", d=deals))
            found = rows.differences(expected, given, ordered="ORDER BY" in statement)
            # What is known of a column that a server computes, and in which words it fails.
            found = [text for text in found if not text.startswith("column")]
            if found:
                failures.append(f"{statement}\n    {found}")
    assert not failures, "\n".join(failures)


def test_over_mirrors(pair):
    database = "names_mirrored"
    pair.begin(database, "CREATE TABLE a (id INT PRIMARY KEY, x INT)",
               "CREATE TABLE b (id INT PRIMARY KEY, y INT)",
               "INSERT INTO a VALUES (1, 10), (2, 20), (3, -20)", "INSERT INTO b VALUES (1, 1), (2, 1), (7, 2)")
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)
    pair.same(database, *NAMES, typed=False)
    pair.through.run(f"UNMIRROR DATABASE {database}")
    pair.server.run(f"DROP DATABASE {database}")


def test_ambiguous_names_are_warnings(mysql, places):
    statements = ("SELECT -id AS id, COUNT(*) FROM deal GROUP BY id HAVING id > 0",
                  "SELECT firm, MAX(eur) AS firm FROM deal GROUP BY firm",
                  "SELECT id AS id FROM deal GROUP BY id HAVING id > 0")
    with rows.connect(mysql, database="names_all") as oracle, \
            rows.connect(places, database="names_native") as ours:
        for statement in statements:
            found = []
            for connection in (oracle, ours):
                rows.ask(connection, statement)
                found.append(rows.ask(connection, "SHOW WARNINGS").rows)
            assert found[0] == found[1], statement


@pytest.fixture(scope="module")
def native(linked_maker):
    """A Pelorus with native tables alone."""
    return linked_maker(name="pelorus-names-native")


# One table name in two databases.
TWICE = (
    "SELECT names_one.shop.id, z FROM names_one.shop JOIN names_two.shop ON names_one.shop.id = "
    "names_two.shop.id ORDER BY z",
    "SELECT names_one.shop.*, names_two.shop.z FROM names_one.shop LEFT JOIN names_two.shop USING (id) "
    "ORDER BY id",
    "SELECT shop.id FROM names_one.shop JOIN names_two.shop ON names_one.shop.id = names_two.shop.id",
    "SELECT z FROM names_one.shop JOIN names_two.shop WHERE shop.id = 1",
    "SELECT names_two.shop.id, COUNT(*) FROM names_one.shop JOIN names_two.shop ON names_two.shop.id >= "
    "names_one.shop.id GROUP BY names_two.shop.id ORDER BY 1",
    "SELECT z FROM names_one.shop JOIN names_two.shop WHERE names_two.shop.id = 3 AND names_one.shop.id = 1",
    "SELECT x, z FROM (SELECT z FROM names_two.shop) AS shop JOIN names_one.shop ORDER BY z, x",
    "SELECT shop.id FROM (SELECT id FROM names_two.shop) AS shop JOIN names_one.shop",
    "SELECT 1 FROM names_one.shop JOIN names_one.shop",
)


def test_one_table_name_in_two_databases(mysql, native):
    answers = []
    for server in (mysql, native):
        for database, column in (("names_one", "x"), ("names_two", "z")):
            server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}",
                       f"CREATE TABLE {database}.shop (id INT PRIMARY KEY, {column} INT)",
                       f"INSERT INTO {database}.shop VALUES (1, 100), (3, 300), (9, 900)")
        with rows.connect(server) as connection:
            answers.append([rows.ask(connection, statement) for statement in TWICE])
    for statement, expected, given in zip(TWICE, *answers):
        found = rows.differences(expected, given, ordered="ORDER BY" in statement)
        assert not found, f"{statement}\n{found}"


# Of several errors of a statement, one server may find another one first: names that several columns
# have, where ORDER BY has more terms.
EITHER_FIRST = {(1054, 1052), (3029, 1052), (3065, 1052), (1055, 1052)}


@pytest.mark.parametrize("seed", seeds.asked("random_names"))
def test_names_by_chance(mysql, native, seed):
    queries, database, connections = Names(random.Random(seed)), "names_by_chance", []
    for server in (mysql, native):
        server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
        server.run(*DEFINITIONS, database=database)
        connections.append(rows.connect(server, database=database))
    answered, different = 0, []
    for _ in range(400):
        query = queries.query()
        expected, given = (rows.ask(connection, query) for connection in connections)
        answered += not expected.error
        if expected.error and given.error and (expected.error[0], given.error[0]) in EITHER_FIRST:
            continue
        found = [text for text in rows.differences(expected, given, ordered=False)
                 if not text.startswith("column types")]
        if found:
            different.append(f"{query}\n    {found}")
    for connection in connections:
        connection.close()
    assert not different, "\n".join(different)
    assert answered > 90
