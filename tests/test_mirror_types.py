"""Values of every type come to mirrors as their server has them: those that are read when a mirror
begins, and those that come with the binlog."""

from __future__ import annotations

import re

import pytest
from pelorus_tools import rows
from pelorus_tools.mirrored import OF_SERVER, Mirrored, is_of_mirrors, plan_of
from pelorus_tools.processes import wait_for

# A column's type, and values for it.
NUMBERS = {
    "TINYINT": "-128 -1 0 127", "TINYINT UNSIGNED": "0 127 128 255", "BOOLEAN": "0 1 -5",
    "SMALLINT": "-32768 -1 32767", "SMALLINT UNSIGNED": "0 32767 32768 65535",
    "MEDIUMINT": "-8388608 -1 8388607", "MEDIUMINT UNSIGNED": "0 8388607 8388608 16777215",
    "INT": "-2147483648 -1 2147483647", "INT UNSIGNED": "0 2147483647 2147483648 4294967295",
    "INT(5) ZEROFILL": "0 7 123456", "BIGINT": "-9223372036854775808 -1 9223372036854775807",
    "BIGINT UNSIGNED": "0 9223372036854775807 9223372036854775808 18446744073709551615",
    "DECIMAL(65,30)": "0 -0.000000000000000000000000000001 "
                      "99999999999999999999999999999999999.999999999999999999999999999999 "
                      "-99999999999999999999999999999999999.999999999999999999999999999999",
    "DECIMAL(65,0)": "99999999999999999999999999999999999999999999999999999999999999999 -1 0",
    "DECIMAL(38,10) ": "1234567890123456789012345678.0123456789 -0.5",
    "DECIMAL(39,10)": "12345678901234567890123456789.0123456789 -0.5",
    "DECIMAL(18,9)": "999999999.999999999 -999999999.999999999", "DECIMAL(4,4)": "0.9999 -0.0001",
    "DECIMAL(10,2) UNSIGNED": "0 99999999.99", "DECIMAL(1,0)": "9 -9",
    "FLOAT": "0 -0.0 1.5 3.4028234e38 -3.4028234e38 1.1754944e-38 0.1 16777216",
    "FLOAT(7,3)": "1234.567 -0.001", "DOUBLE(12,4)": "12345678.1234 -0.0001",
    "DOUBLE": "0 -0.0 1.7976931348623157e308 -1.7976931348623157e308 2.2250738585072014e-308 0.1",
    "BIT": "0 1", "BIT(7)": "0 127 64", "BIT(8)": "0 255 128", "BIT(33)": "0 8589934591 4294967296",
    "BIT(64)": "0 18446744073709551615 9223372036854775808", "YEAR": "0 1901 2026 2155",
}
TEXTS = {
    "DATE": "'0000-00-00' '2026-00-00' '2026-02-00' '1000-01-01' '9999-12-31' '0001-01-01'",
    "DATETIME": "'0000-00-00 00:00:00' '2026-01-00 10:00:00' '9999-12-31 23:59:59' "
                "'1000-01-01 00:00:00'",
    "DATETIME(1)": "'2026-01-01 00:00:00.9' '9999-12-31 23:59:59.9'",
    "DATETIME(3)": "'2026-01-01 00:00:00.999' '0000-00-00 00:00:00'",
    "DATETIME(6)": "'2026-01-01 00:00:00.999999' '1969-12-31 23:59:59.000001'",
    "TIMESTAMP NULL": "'0000-00-00 00:00:00' '1970-01-01 00:00:01' '2038-01-19 03:14:07'",
    "TIMESTAMP(2) NULL": "'0000-00-00 00:00:00' '1970-01-01 00:00:01.25' '2038-01-19 03:14:07.99'",
    "TIMESTAMP(6) NULL": "'1970-01-01 00:00:01.000001' '2026-06-06 06:06:06.123456'",
    "TIME": "'-838:59:59' '838:59:59' '00:00:00' '-00:00:01' '24:00:00' '100:20:30'",
    "TIME(1)": "'-00:00:00.1' '23:59:59.9' '-838:59:58.9'",
    "TIME(3)": "'-00:00:00.001' '-12:34:56.789' '100:00:00.5'",
    "TIME(6)": "'-838:59:58.999999' '838:59:58.000001' '-00:00:00.000001' '-00:00:01.000000'",
    "CHAR(5)": "'' 'a' 'ab   ' 'héllo' '🙂🙂🙂🙂🙂'", "CHAR(0)": "''",
    "VARCHAR(20)": "'' ' ' 'a ' 'NULL' '\\0' 'x\\ny' '\\\\' '🙂é'",
    "VARCHAR(300)": "'' REPEAT('é',300) 'b'", "CHAR(255)": "'' REPEAT('🙂',255) 'c'",
    "CHAR(30) CHARACTER SET latin1": "'' 'äöüß€' 'a '",
    "VARCHAR(30) CHARACTER SET latin1": "'' 'äöüß€' 'a '",
    "TEXT CHARACTER SET latin1": "'' REPEAT('ä',3000)",
    "VARCHAR(30) CHARACTER SET utf8mb3": "'' 'äö€' 'a '",
    "VARCHAR(30) CHARACTER SET ascii": "'' 'abc'",
    "TINYTEXT": "'' 'x' REPEAT('y',255)", "TEXT": "'' REPEAT('é',30000)",
    "MEDIUMTEXT": "'' REPEAT('z',200000)", "LONGTEXT": "'' REPEAT('🙂',70000)",
    "BINARY(4)": "'' 'a' 'a\\0' 'a\\0\\0b' X'00000000' X'FFFFFFFF' 'ab  '",
    "VARBINARY(8)": "'' 'a' 'a\\0' X'00' X'FF00' 'ab  '",
    "TINYBLOB": "'' X'00' X'FF'", "BLOB": "'' REPEAT(X'FE',60000)", "MEDIUMBLOB": "'' X'00FF'",
    "LONGBLOB": "'' REPEAT(X'80',100000)",
    "ENUM('a','b','','c,d','it''s')": "'a' '' 'c,d' 'it''s' 'unknown'",
    "ENUM('z','y','x')": "'z' 'y' 'x' ''", "SET('p','q','r s')": "'' 'p' 'q,p' 'p,q,r s'",
    "ENUM('ä','ö') CHARACTER SET latin1": "'ä' 'ö'",
    "JSON": "'{}' '[1,2.5,\"x\",null,true,{\"b\":1,\"a\":\"é\"}]' '\"text\"' 'null' '1e10' "
            "'18446744073709551615' '-1' '{\"k\":\"a\\\\\\\\nb\"}'",
}


def values_of(text: str) -> list[str]:
    """The values of an entry; spaces inside of quotes belong to them."""
    found, word, quoted = [], "", False
    for at, letter in enumerate(text):
        escaped = at and text[at - 1] == "\\" and not (at > 1 and text[at - 2] == "\\")
        if letter == "'" and not escaped:
            quoted = not quoted
        if letter == " " and not quoted:
            found.append(word)
            word = ""
        else:
            word += letter
    return [value for value in [*found, word] if value]


def table_of(name: str, types: dict[str, str]) -> tuple[str, list[str]]:
    """The definition of a table with a column of each type, and a row for each place in the lists
    of values."""
    kinds = list(types)
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    lists = [values_of(types[kind]) for kind in kinds]
    made = ["(" + ", ".join([str(at), *(values[at % len(values)] for values in lists)]) + ")"
            for at in range(max(map(len, lists)))]
    made.append("(1000" + ", NULL" * len(kinds) + ")")
    return f"CREATE TABLE {name} (id INT PRIMARY KEY, {columns})", made


@pytest.mark.parametrize("types", [NUMBERS, TEXTS], ids=["numbers", "texts"])
def test_every_type_by_both_ways(pair, types):
    create, made = table_of("t", types)
    loose = "SET sql_mode = 'ALLOW_INVALID_DATES'"
    pair.begin("types", loose, create, *(f"INSERT IGNORE INTO t VALUES {row}" for row in made))
    assert pair.server.run("SELECT COUNT(*) FROM types.t") == ((len(made),),)
    pair.through.run("MIRROR TABLE types.t")
    pair.wait_live("types", "t")
    columns = [f"SELECT id, c{at} FROM t" for at in range(len(types))]
    pair.same("types", *columns)
    # The same by the binlog: inserted, changed and deleted.
    others = ", ".join(f"c{at}" for at in range(len(types)))
    pair.server.run(loose, f"INSERT INTO t (id, {others}) SELECT id + 2000, {others} FROM t",
                    f"REPLACE INTO t (id, {others}) SELECT 0, {others} FROM t WHERE id = 2001",
                    f"REPLACE INTO t (id, {others}) SELECT 1000, {others} FROM t WHERE id = 2000",
                    "UPDATE t SET id = id + 500 WHERE id IN (2, 2002)",
                    "DELETE FROM t WHERE id = 1", database="types")
    pair.same("types", *columns)
    pair.same("types", "SELECT * FROM t WHERE id >= 1000")
    assert pair.state("types", "t")["Loads"] == 1
    pair.through.run("UNMIRROR TABLE types.t")


KEYS = {
    "ci": ("k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, PRIMARY KEY (k)",
           ["'a'", "'B'", "'ß'", "'z '", "''"], "k = 'A'", "k = 'b '"),
    "unicode": ("k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, PRIMARY KEY (k)",
                ["'a'", "'B'", "'ö'", "'z '", "''", "'🙂'"], "k = 'O'", "k = 'A'"),
    "bin": ("k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, PRIMARY KEY (k)",
            ["'a'", "'Aa'", "'b'", "'ä'"], "k = 'Aa'", "k = 'ä'"),
    "latin1": ("k CHAR(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci, PRIMARY KEY (k)",
               ["'a'", "'Ö'", "'ü'", "'x'"], "k = 'ö'", "k = 'A'"),
    "binary": ("k BINARY(6), PRIMARY KEY (k)", ["'a'", "'a\\0b'", "''", "X'FF00'", "'b '"],
               "k = X'FF0000000000'", "k = 'a\\0\\0\\0\\0\\0'"),
    "varbinary": ("k VARBINARY(6), PRIMARY KEY (k)", ["'a'", "'a\\0'", "''", "'a '", "X'FF'"],
                  "k = 'a '", "k = 'a\\0'"),
    "composite": ("k VARCHAR(9), d DATE NOT NULL, n DECIMAL(9,3) NOT NULL, PRIMARY KEY (n, k, d)",
                  ["'a', '2026-01-01', 1.5", "'A', '2026-01-02', 1.5", "'b', '2026-01-01', -2",
                   "'', '0000-00-00', 0"], "n = 1.5", "k = 'B'"),
    "moments": ("k TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), t TIME(2), PRIMARY KEY (k, t)",
                ["'2026-01-01 00:00:00.125', '-01:00:00.25'", "'2026-01-01 00:00:00.125', '30:00:00'",
                 "'1970-01-01 00:00:01', '00:00:00'"], "t = '30:00:00'", "t < 0"),
    "words": ("k ENUM('z','a','m'), s SET('p','q'), b BIT(9), y YEAR, u BIGINT UNSIGNED, "
              "PRIMARY KEY (k, s, b, y, u)",
              ["'z', 'p', 1, 2026, 0", "'a', 'p,q', 511, 1901, 18446744073709551615",
               "'m', '', 256, 2155, 9223372036854775808"], "k = 'a'", "u = 0"),
    "doubles": ("k DOUBLE, f FLOAT, PRIMARY KEY (k, f)", ["1.5, 0.1", "-2e300, 5", "0, -7.25"],
                "k = 1.5", "k < 0"),
    "long": ("k VARCHAR(700) CHARACTER SET utf8mb4, PRIMARY KEY (k)",
             ["REPEAT('a', 700)", "CONCAT(REPEAT('a', 699), 'b')", "'é'"],
             "k = REPEAT('A', 700)", "k = 'É'"),
}


def test_keys(pair):
    strict = "SET sql_mode = ''"
    begin, one, two, spelled = [], [strict], [strict], [strict]
    for name, (columns, found, change, drop) in KEYS.items():
        names = ", ".join([*re.findall("(?:^|, )([a-z]) ", columns), "v"])
        columns, _, key = columns.rpartition(", PRIMARY")
        begin.append(f"CREATE TABLE `{name}` ({columns}, v INT, PRIMARY{key})")
        begin += [f"INSERT INTO `{name}` ({names}) VALUES ({row}, {at})"
                  for at, row in enumerate(found)]
        one += [f"UPDATE `{name}` SET v = v + 100 WHERE {change}",
                f"DELETE FROM `{name}` WHERE {drop}"]
        two.append(f"DELETE FROM `{name}`")
        two += [f"REPLACE INTO `{name}` ({names}) VALUES ({row}, {at})"
                for at, row in enumerate(found * 2)]
        if names == "k, v" and "CHAR" in columns:
            spelled += [f"UPDATE `{name}` SET k = UPPER(k)",
                        f"INSERT INTO `{name}` VALUES ('new', 1), ('old', 2)",
                        f"UPDATE `{name}` SET k = 'NEW' WHERE k = 'new'"]
    pair.begin("keyed", *begin)
    pair.through.run("MIRROR DATABASE keyed")
    pair.wait_live("keyed")
    pair.same_tables("keyed", *KEYS)
    for step in (one, two, spelled):
        pair.server.run(*step, database="keyed")
        pair.same_tables("keyed", *KEYS)
    assert all(found["Loads"] == 1 for found in pair.of_database("keyed").values())
    pair.through.run("UNMIRROR DATABASE keyed")


def test_members_are_sorted_by_their_numbers(pair):
    pair.begin("sizes", "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('s','m','l'), s SET('p','q','r'))",
               "INSERT INTO t VALUES (1, 's', 'p,q'), (2, 'm', 'q'), (3, 'l', 'r'), (4, NULL, '')")
    pair.through.run("MIRROR TABLE sizes.t")
    pair.wait_live("sizes", "t")
    queries = ["SELECT id, e FROM t ORDER BY e, id", "SELECT id FROM t ORDER BY s DESC, id",
               "SELECT e, COUNT(*) FROM t GROUP BY e ORDER BY e",
               "SELECT e FROM (SELECT DISTINCT e FROM t) AS d ORDER BY e DESC LIMIT 2",
               "SELECT id FROM t ORDER BY e DESC, s LIMIT 1"]
    pair.same("sizes", *queries, ordered=True)
    pair.server.run("INSERT INTO t VALUES (5, 'm', 'r,p')",
                    "ALTER TABLE t MODIFY e ENUM('l','s','new','m')",
                    "INSERT INTO t VALUES (6, 'new', NULL)",
                    "ALTER TABLE t MODIFY s SET('r','new','q','p')",
                    "INSERT INTO t VALUES (7, 's', 'p,new,q')", "UPDATE t SET s = 'q' WHERE id = 1", database="sizes")
    pair.same("sizes", *queries, ordered=True)
    assert pair.state("sizes", "t")["Loads"] == 1, "members that move are followed"
    pair.through.run("UNMIRROR DATABASE sizes")


def test_members_of_keys_move(pair):
    pair.begin("moved", "CREATE TABLE t (e ENUM('s','m','l'), i INT, v INT, PRIMARY KEY (e, i))",
               "INSERT INTO t VALUES ('s', 1, 1), ('m', 1, 2), ('l', 1, 3), ('l', 2, 4)")
    pair.through.run("MIRROR TABLE moved.t")
    pair.wait_live("moved", "t")
    pair.server.run("UPDATE t SET v = 5 WHERE e = 'm'",
                    "ALTER TABLE t MODIFY e ENUM('l','s','new','m')",
                    "INSERT INTO t VALUES ('new', 1, 6), ('s', 2, 7)", "DELETE FROM t WHERE e = 'l' AND i = 1",
                    "UPDATE t SET v = 8 WHERE e = 's' AND i = 1", database="moved")
    pair.same("moved", "SELECT * FROM t ORDER BY e, i", "SELECT v FROM t WHERE e = 'm'",
              "SELECT COUNT(*), MIN(v) FROM t WHERE e IN ('s', 'l')", ordered=True)
    assert pair.state("moved", "t")["Loads"] == 1, "members that move are followed"
    pair.through.run("UNMIRROR DATABASE moved")


# Types whose values are shown as they are: by kind of server the columns, rows, and queries that are
# more than showing them, which the server answers.
SHOWN = {
    "mysql": (
        "g GEOMETRY, p POINT NOT NULL SRID 4326, s POLYGON, v VECTOR(3), w VECTOR NOT NULL",
        ["ST_GeomFromText('LINESTRING(0 0, 1 1, 2 5)'), ST_GeomFromText('POINT(10 20)', 4326), "
         "ST_GeomFromText('POLYGON((0 0, 0 5, 5 5, 0 0))'), STRING_TO_VECTOR('[1, -2.5, 3e7]'), "
         "STRING_TO_VECTOR('[0.5]')",
         "ST_GeomFromText('MULTIPOINT(1 1, 2 2)', 4326), ST_GeomFromText('POINT(-10 0)', 4326), NULL, "
         "NULL, STRING_TO_VECTOR('[1, 2, 3, 4]')",
         "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))'), "
         "ST_GeomFromText('POINT(0 0)', 4326), ST_GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))'), "
         "STRING_TO_VECTOR('[0, 0, 0]'), STRING_TO_VECTOR(CONCAT('[', REPEAT('1, ', 2000), '2]'))"],
        ["SELECT id, ST_AsText(g) FROM t", "SELECT id FROM t WHERE ST_X(p) > 0",
         "SELECT COUNT(DISTINCT v) FROM t", "SELECT VECTOR_TO_STRING(v) FROM t",
         "SELECT DISTINCT s FROM t", "SELECT LENGTH(g) FROM t"]),
    "mariadb": (
        "u UUID, v UUID NOT NULL, a INET4, b INET6, g GEOMETRY, p POINT NOT NULL",
        ["'123e4567-e89b-12d3-a456-426655440000', '00000000-0000-0000-0000-000000000000', '10.0.0.1', "
         "'2001:db8::ff00:42:8329', ST_GeomFromText('LINESTRING(0 0, 1 1)'), POINT(1, 2)",
         "NULL, 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', NULL, NULL, NULL, POINT(-1e300, 0)",
         "'123E4567E89B12D3A456426655440000', '0-1-2-3-4', '255.255.255.255', '::ffff:1.2.3.4', "
         "ST_GeomFromText('POLYGON((0 0, 0 5, 5 5, 0 0))', 4326), POINT(0, 0)",
         "'aaaaaaaa-0000-1000-8000-00000000000a', 'bbbbbbbb-0000-4000-8000-00000000000b', '0.0.0.0', "
         "'::', POINT(5, 5), POINT(9, 9)"],
        ["SELECT id FROM t WHERE u = '123E4567E89B12D3A456426655440000'",
         "SELECT id FROM t ORDER BY u, id LIMIT 2", "SELECT MAX(u) FROM t", "SELECT DISTINCT b FROM t",
         "SELECT a, COUNT(*) FROM t GROUP BY a", "SELECT id, UPPER(v) FROM t",
         "SELECT id FROM t WHERE a > '9.0.0.0'", "SELECT CONCAT(b) FROM t",
         "SELECT x FROM (SELECT u AS x FROM t) d ORDER BY x", "SELECT id, ST_AsText(p) FROM t",
         "SELECT u AS x, id FROM t ORDER BY x, id", "SELECT u, id FROM t ORDER BY 1, 2",
         "SELECT u FROM t UNION SELECT v FROM t", "SELECT a.id FROM t a JOIN t b ON a.u = b.u"]),
}


def test_values_that_are_only_shown(pair):
    columns, made, others = SHOWN[pair.server.kind]
    made = [row.replace("'0-1-2-3-4'", "'00000000-0001-0002-0003-000000000004'") for row in made]
    pair.begin("shown", f"CREATE TABLE t (id INT PRIMARY KEY, {columns})",
               *(f"INSERT INTO t VALUES ({at}, {row})" for at, row in enumerate(made)))
    pair.through.run("MIRROR TABLE shown.t")
    pair.wait_live("shown", "t")
    names = re.findall("(?:^|, )([a-z]) ", columns)
    shows = ["SELECT * FROM t", "SELECT t.* FROM t WHERE id > 0", "SELECT COUNT(*) FROM t",
             f"SELECT id FROM t WHERE {names[0]} IS NULL",
             *(f"SELECT id, {name} FROM t" for name in names),
             f"SELECT {names[0]} AS shown, id FROM t WHERE id < 3 LIMIT 9"]
    pair.same("shown", *shows)
    all_names = ", ".join(names)
    pair.server.run(
        f"INSERT INTO t SELECT id + 100, {all_names} FROM t", "DELETE FROM t WHERE id = 1",
        *(f"UPDATE t SET {name} = (SELECT {name} FROM (SELECT * FROM t) x WHERE id = 100) "
          "WHERE id = 102" for name in names),
        f"UPDATE t SET {names[0]} = NULL WHERE id = 0", "UPDATE t SET id = 7 WHERE id = 2",
        "ALTER TABLE t ADD n INT DEFAULT 3, ADD more POINT NULL",
        f"INSERT INTO t SELECT id + 200, {all_names}, 4, POINT(1, 1) FROM t WHERE id > 50",
        database="shown")
    pair.same("shown", *shows)
    assert pair.state("shown", "t")["Loads"] == 1
    source, ours = pair._open(pair.server, "shown", OF_SERVER), pair.open("shown")
    with source, ours:
        for statement in others:
            expected, given = rows.ask(source, statement), rows.ask(ours, statement)
            assert not rows.differences(expected, given, "ORDER BY" in statement), statement
            assert not is_of_mirrors(plan_of(ours, statement)), statement
    answer = rows.ask(pair.through.connect(), "CHECK MIRROR shown.t")
    assert answer.rows[-1][-1] == "OK", answer.rows
    # What a change of the table makes of them is read anew.
    text = {"mysql": "ALTER TABLE t MODIFY v VARBINARY(99)", "mariadb": "ALTER TABLE t MODIFY u CHAR(40)"}
    pair.server.run(text[pair.server.kind], "INSERT INTO t SELECT id + 1000, "
                    f"{all_names}, n, more FROM t", database="shown")
    wait_for("a second load", lambda: pair.state("shown", "t")["Loads"] == 2)
    pair.wait_live("shown", "t")
    pair.same("shown", "SELECT * FROM t")
    pair.through.run("UNMIRROR TABLE shown.t")


def test_keys_of_addresses(mariadb, pelorus_mariadb):
    pair = Mirrored(mariadb, pelorus_mariadb)
    pair.begin("addresses", "CREATE TABLE t (u UUID, a INET6, n INT, PRIMARY KEY (u, a))",
               "INSERT INTO t VALUES ('123e4567-e89b-12d3-a456-426655440000', '::1', 1), "
               "('00000000-0000-0000-0000-000000000001', 'fe80::1', 2), "
               "('123e4567-e89b-12d3-a456-426655440000', '::2', 3)")
    pair.through.run("MIRROR TABLE addresses.t")
    pair.wait_live("addresses", "t")
    pair.same("addresses", "SELECT * FROM t", "SELECT COUNT(*), SUM(n) FROM t")
    pair.server.run("UPDATE t SET n = 5 WHERE a = '::1'", "UPDATE t SET a = '1::' WHERE n = 3",
                    "DELETE FROM t WHERE n = 2", "REPLACE INTO t SELECT UUID(), a, n + 10 FROM t",
                    "REPLACE INTO t VALUES ('123E4567E89B12D3A456426655440000', '0:0::1', 7)",
                    database="addresses")
    pair.same("addresses", "SELECT * FROM t", "SELECT COUNT(*), SUM(n) FROM t")
    answer = rows.ask(pair.through.connect(), "CHECK MIRROR addresses.t")
    assert answer.rows[-1][-1] == "OK", answer.rows
    pair.through.run("UNMIRROR TABLE addresses.t")


REFUSED = {
    "collation": ("k VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_german2_ci PRIMARY KEY",
                  "collation latin1_german2_ci"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_mirrored_is_refused_with_the_reason(pair, name):
    columns, reason = REFUSED[name]
    pair.begin("refused", f"CREATE TABLE t ({columns})")
    pair.through.run("MIRROR DATABASE refused")
    found = pair.wait_state("refused", "t", "failed")
    assert reason in found["Reason"].lower(), found
    assert pair.through.run("SELECT COUNT(*) FROM refused.t") == ((0,),)
    pair.through.run("UNMIRROR DATABASE refused")


def test_defaults_that_are_calls(mariadb, pelorus_mariadb):
    """MariaDB shows and takes calls of functions as defaults without parentheses."""
    pair = Mirrored(mariadb, pelorus_mariadb)
    columns = ("u CHAR(36) DEFAULT uuid()", "c VARCHAR(40) DEFAULT concat('a', lower('B')) NOT NULL",
               "d DATE DEFAULT curdate()", "n BIGINT DEFAULT nextval(numbers)", "e INT DEFAULT (3 * 4)",
               "r DOUBLE DEFAULT rand() COMMENT 'x'", "j JSON DEFAULT json_array(1)", "v UUID DEFAULT uuid()")
    pair.begin("calls", "CREATE SEQUENCE numbers",
               f"CREATE TABLE t (id INT PRIMARY KEY, {', '.join(columns)})",
               "CREATE TABLE w (id INT PRIMARY KEY)", "INSERT INTO t (id) VALUES (1), (2)",
               "INSERT INTO w VALUES (1), (2)")
    pair.through.run("MIRROR TABLE calls.t, calls.w")
    pair.wait_live("calls", "t", "w")
    pair.server.run("INSERT INTO t (id) VALUES (3)", "UPDATE t SET c = DEFAULT WHERE id = 1",
                    "SET binlog_row_image = 'MINIMAL'", "UPDATE t SET d = '2020-01-01' WHERE id = 2",
                    "SET binlog_row_image = 'FULL'", "ALTER TABLE t MODIFY c VARCHAR(50) DEFAULT upper('x')",
                    "ALTER TABLE t ALTER e SET DEFAULT abs(-3)", "INSERT INTO t (id) VALUES (4)",
                    database="calls")
    # The copy does not compute such defaults: the table is read anew.
    wait_for("a load", lambda: pair.state("calls", "t")["Loads"] > 1)
    pair.wait_live("calls", "t")
    pair.same("calls", "SELECT * FROM t")
    for column in columns:
        loads = pair.state("calls", "w")["Loads"]
        pair.server.run(f"ALTER TABLE w ADD {column}", "INSERT INTO w (id) SELECT MAX(id) + 1 FROM w",
                        database="calls")
        wait_for("a load", lambda: pair.state("calls", "w")["Loads"] > loads)  # noqa: B023
        pair.wait_live("calls", "w")
        pair.same("calls", "SELECT * FROM w")
    pair.through.run("UNMIRROR TABLE calls.t, calls.w")


def test_moments_after_2038(mariadb, pelorus_mariadb):
    """MariaDB has TIMESTAMPs up to 2106 from 11.5 on."""
    version = mariadb.run("SELECT VERSION()")[0][0].split(".")
    if (int(version[0]), int(version[1])) < (11, 5):
        pytest.skip("TIMESTAMPs end in 2038")
    pair = Mirrored(mariadb, pelorus_mariadb)
    pair.begin("later", "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP(3) NULL)",
               "INSERT INTO t VALUES (1, '2038-01-19 03:14:08'), (2, '2106-02-07 06:28:15.999')")
    pair.through.run("MIRROR TABLE later.t")
    pair.wait_live("later", "t")
    pair.server.run("SET time_zone = '+00:00'", "INSERT INTO t VALUES (3, '2099-12-31 23:59:59.5')",
                    "UPDATE t SET id = id + 10", database="later")
    pair.same("later", "SELECT * FROM t", "SELECT id FROM t WHERE at > '2050-01-01'",
              "SELECT MAX(at), MIN(at) FROM t", "SELECT id FROM t ORDER BY at",
              "SELECT id FROM t WHERE YEAR(at) = 2038", "SELECT id FROM t WHERE YEAR(at) = 2099",
              "SELECT id FROM t WHERE at = '2038-01-19 03:14:08'")
    # What ours cannot hold is read anew.
    pair.server.run("SET sql_mode = '', time_zone = '+00:00'", "ALTER TABLE t ADD d DATETIME NULL",
                    "UPDATE t SET d = at", "ALTER TABLE t MODIFY d TIMESTAMP NULL, MODIFY at TIMESTAMP NULL",
                    "INSERT INTO t VALUES (9, NULL, NULL)", database="later")
    wait_for("another load", lambda: pair.state("later", "t")["Loads"] > 1)
    pair.wait_live("later", "t")
    pair.same("later", "SELECT * FROM t", "SELECT COUNT(d), MAX(d) FROM t")
    pair.through.run("UNMIRROR TABLE later.t")
