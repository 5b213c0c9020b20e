"""Text in every charset that a server has: mirrors show it as the server does, and leave to the server
what they cannot compare."""

from __future__ import annotations

import pytest
from pelorus_tools import rows
from pelorus_tools.mirrored import OF_SERVER, is_of_mirrors, plan_of
from pelorus_tools.processes import wait_for

# Charsets whose characters are not given by sequences of bytes alone.
OF_UNICODE = {"utf8mb4", "utf8mb3", "utf8", "ucs2", "utf16", "utf16le", "utf32"}
SOME = ("cp1251", "gbk", "sjis", "koi8r", "swe7", "ujis", "big5", "latin2", "utf16")


def charsets(server) -> dict[str, int]:
    """The charsets of text and the bytes of their longest characters."""
    found = {row[0]: row[3] for row in server.run("SHOW CHARACTER SET")}
    del found["binary"]
    assert len(found) >= 39
    return found


def fill(pair, found: dict[str, int]) -> list[str]:
    """Statements that make a table for each charset with all characters that it has."""
    made = ["SET group_concat_max_len = 1000000", "SET max_error_count = 0",
            "CREATE TABLE b1 (x VARBINARY(4) PRIMARY KEY)", "CREATE TABLE b2 LIKE b1",
            "CREATE TABLE b3 LIKE b1",
            "INSERT INTO b1 VALUES " + ", ".join(f"(X'{byte:02X}')" for byte in range(256)),
            "INSERT INTO b2 SELECT CONCAT(a.x, b.x) FROM b1 a, b1 b",
            "INSERT INTO b3 SELECT CONCAT(X'8F', x) FROM b2"]
    for charset, longest in found.items():
        made.append(f"CREATE TABLE of_{charset} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(300), "
                    f"c CHAR(255), t TEXT, l LONGTEXT) CHARACTER SET {charset}")
        if charset in OF_UNICODE:
            made.append(f"INSERT INTO of_{charset} (v) VALUES ('a Ж 中 ß'), ('\ud7ff\ue000\uffff'), ('')")
            if charset not in ("ucs2", "utf8mb3", "utf8"):
                made.append(f"INSERT INTO of_{charset} (v) VALUES ('😀\U00010000\U0010ffff')")
            continue
        # Bytes that are a character, and that a server lets into a column.
        text = f"CONVERT(x USING {charset})"
        for length in range(1, min(longest, 3) + 1):
            if longest == 4 and length == 3:
                break
            high = "AND x < X'80'" if length == 1 and charset in ("ascii", "eucjpms") else ""
            made.append(f"INSERT INTO of_{charset} (v) SELECT GROUP_CONCAT({text} ORDER BY x SEPARATOR '') "
                        f"FROM b{length} WHERE CHAR_LENGTH({text}) = 1 AND CAST({text} AS BINARY) = x "
                        f"{high} GROUP BY LEFT(x, {length - 1})")
        if longest == 4:
            made += [f"INSERT INTO of_{charset} (v) VALUES (X'{lead:02X}{second:02X}813081318439FE39')"
                     for lead in (0x81, 0x82, 0x83, 0x90, 0xA0, 0xE3) for second in range(0x30, 0x33)]
        made.append(f"INSERT INTO of_{charset} (v) VALUES (' '), ('a  '), (NULL)")
    made += [f"UPDATE of_{charset} SET c = LEFT(v, 255), t = v, l = CONCAT(v, v)" for charset in found]
    return made


def test_every_character_of_every_charset(pair):
    found = charsets(pair.server)
    pair.begin("characters", *fill(pair, found))
    tables = [f"of_{charset}" for charset in found]
    pair.through.run(*(f"MIRROR TABLE characters.{table}" for table in tables))
    pair.wait_live("characters", *tables)
    pair.same_tables("characters", *tables)
    characters = pair.server.run("SELECT SUM(CHAR_LENGTH(v)) FROM of_gbk", database="characters")
    assert characters[0][0] > 24000
    # The same from the binlog, as new rows and as changes.
    pair.server.run(
        *(f"INSERT INTO {table} (v, c, t, l) SELECT v, c, t, l FROM {table}" for table in tables),
        *(f"UPDATE {table} SET id = id + 100000, t = CONCAT(t, v) WHERE id % 2 = 0" for table in tables),
        database="characters")
    pair.same_tables("characters", *tables)
    answer = pair.through.run("CHECK MIRROR DATABASE characters")
    assert {row[-1] for row in answer if row[2] == "status"} == {"OK"}, answer
    assert {pair.state("characters", table)["Loads"] for table in tables} == {1}
    pair.through.run("UNMIRROR DATABASE characters")


QUERIES = (
    "SELECT id FROM {0} WHERE c = 'ж'", "SELECT c, COUNT(*) FROM {0} GROUP BY c",
    "SELECT id, c FROM {0} ORDER BY c, id", "SELECT DISTINCT c FROM {0}", "SELECT MAX(c), MIN(c) FROM {0}",
    "SELECT id FROM {0} WHERE c LIKE 'A%'", "SELECT id, LENGTH(c), HEX(c) FROM {0}",
    "SELECT id, UPPER(c), LOWER(c) FROM {0}", "SELECT id FROM {0} WHERE c IN ('a', 'Б')",
    "SELECT a.id, b.id FROM {0} a JOIN {0} b ON a.c = b.c", "SELECT id, MD5(c) FROM {0}",
    "SELECT n, COUNT(c) FROM {0} GROUP BY n",
    "SELECT id, e FROM {0} ORDER BY e, id", "SELECT id FROM {0} WHERE e = 'Y'",
    "SELECT COUNT(*) FROM {0} WHERE c < 'я'", "SELECT id, CONCAT(c, 'x') FROM {0}",
)


def test_comparisons_are_the_servers(pair):
    columns = "id INT PRIMARY KEY, c VARCHAR(20), e ENUM('y', 'X', 'b'), n INT"
    values = ["'a'", "'A'", "'b '", "'b'", "'[x]'", "''", "NULL", "'~'", "'ж'", "'Ж'", "'中'", "'ä'", "'é'"]
    made = ["SET sql_mode = ''"]
    for charset in SOME:
        made.append(f"CREATE TABLE q_{charset} ({columns}) CHARACTER SET {charset}")
        made += [f"INSERT INTO q_{charset} VALUES ({at}, {value}, {at % 3 + 1}, {at % 4})"
                 for at, value in enumerate(values)]
    pair.begin("compared", *made)
    tables = [f"q_{charset}" for charset in SOME]
    pair.through.run("MIRROR DATABASE compared")
    pair.wait_live("compared", *tables)
    assert "no statistics mirror=compared." not in pair.through.log()
    pair.server.run(*(f"UPDATE {table} SET n = n + 1 WHERE id > 2" for table in tables),
                    database="compared")
    pair.same("compared", *(query.format(table) for table in tables for query in (
        "SELECT * FROM {0}", "SELECT n, COUNT(*) FROM {0} GROUP BY n",
        "SELECT c, e FROM {0} WHERE n > 1", "SELECT id FROM {0} WHERE c IS NULL")))
    source, ours = pair._open(pair.server, "compared", OF_SERVER), pair.open("compared")
    with source, ours:
        for table in tables:
            for query in QUERIES:
                statement = query.format(table)
                expected, given = rows.ask(source, statement), rows.ask(ours, statement)
                assert expected.error == given.error, statement
                if expected.error is None:
                    found = rows.differences(expected, given, "ORDER BY" in statement)
                    assert not found, (statement, found)
                    assert not is_of_mirrors(plan_of(ours, statement)), statement
    pair.through.run("UNMIRROR DATABASE compared")


@pytest.mark.parametrize(("columns", "how", "reason"), [
    ("k VARCHAR(9) CHARACTER SET gbk PRIMARY KEY, c INT", "", "column 'k' in character set gbk"),
    ("k VARCHAR(9) CHARACTER SET cp1251 COLLATE cp1251_bin, n INT, PRIMARY KEY (n, k)", "",
     "column 'k' in character set cp1251"),
    ("id INT PRIMARY KEY, c CHAR(3) CHARACTER SET koi8r", "WHERE c = 'a'", "column 'c' in character set koi8r"),
    ("id INT PRIMARY KEY, c CHAR(3) CHARACTER SET koi8r", "WHERE LEFT(c, 1) LIKE 'a%'",
     "column 'c' in character set koi8r"),
    ("id INT PRIMARY KEY, c CHAR(3) CHARACTER SET big5", "SEGMENT BY (c)", "column 'c' in character set big5"),
])
def test_what_must_be_compared_is_refused(pair, columns, how, reason):
    pair.begin("uncompared", f"CREATE TABLE t ({columns})")
    with pytest.raises(Exception, match=reason):
        pair.through.run(f"MIRROR TABLE uncompared.t {how}")
    if not how:
        pair.through.run("MIRROR DATABASE uncompared")
        found = pair.wait_state("uncompared", "t", "failed")
        assert reason in found["Reason"], found
        pair.through.run("UNMIRROR DATABASE uncompared")


def test_other_parts_of_such_tables_are_mirrored(pair):
    pair.begin("apart", "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(3) CHARACTER SET koi8r, n INT)",
               "INSERT INTO t VALUES (1, 'ж', 5), (2, NULL, 6), (3, 'ж', 7)")
    pair.through.run("MIRROR TABLE apart.t WHERE n > 5 AND c IS NOT NULL")
    pair.wait_live("apart", "t")
    pair.same("apart", "SELECT * FROM t WHERE n > 5 AND c IS NOT NULL")
    pair.server.run("UPDATE t SET n = 8", database="apart")
    pair.same("apart", "SELECT * FROM t WHERE n > 5 AND c IS NOT NULL")
    pair.through.run("UNMIRROR TABLE apart.t")


def test_changes_of_charsets(pair):
    """Changes that make no text of another charset are followed, others make the table be read anew; a
    key that cannot be compared ends the mirror."""
    pair.begin("changed", "CREATE TABLE t (id INT PRIMARY KEY, g VARCHAR(9) CHARACTER SET gbk, "
               "u VARCHAR(40)) CHARACTER SET utf8mb4", "INSERT INTO t VALUES (1, '中', 'ж'), (2, '', 'é')")
    pair.through.run("MIRROR TABLE changed.t")
    pair.wait_live("changed", "t")
    followed = ("MODIFY g VARCHAR(20) CHARACTER SET gbk",
                "ADD b VARCHAR(9) CHARACTER SET big5 DEFAULT 'new'",
                "CHANGE b k VARCHAR(12) CHARACTER SET big5", "CHARACTER SET gbk", "ADD v VARCHAR(10)",
                "RENAME COLUMN g TO h", "ADD n INT, MODIFY v VARCHAR(30)")
    for at, action in enumerate(followed):
        pair.server.run(f"ALTER TABLE t {action}", f"UPDATE t SET id = id + 10, u = 'ж{at}'",
                        database="changed")
    pair.server.run("UPDATE t SET v = '中文', n = id", database="changed")
    pair.same("changed", "SELECT * FROM t")
    loads = 1
    assert pair.state("changed", "t")["Loads"] == loads
    for action in ("MODIFY h VARCHAR(20) CHARACTER SET utf8mb4", "MODIFY u VARCHAR(40) CHARACTER SET utf16",
                   "MODIFY k CHAR(12) CHARACTER SET big5", "CONVERT TO CHARACTER SET utf8mb4"):
        pair.server.run(f"ALTER TABLE t {action}", "UPDATE t SET n = n + 1", database="changed")
        loads += 1
        wait_for("a load", lambda: pair.state("changed", "t")["Loads"] == loads)
        pair.wait_live("changed", "t")
        pair.same("changed", "SELECT * FROM t")
    pair.same("changed", "SELECT h, COUNT(*) FROM t GROUP BY h", "SELECT id FROM t WHERE u = 'ж6'")
    pair.server.run("ALTER TABLE t MODIFY v VARCHAR(30) CHARACTER SET sjis NOT NULL",
                    "UPDATE t SET v = id", "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v)",
                    database="changed")
    found = pair.wait_state("changed", "t", "failed")
    assert "column 'v' in character set sjis" in found["Reason"], found
    pair.through.run("UNMIRROR TABLE changed.t")


# Values that compare otherwise under the collations that servers take for utf8mb4.
PADDED = "(1, 'a', 'a'), (2, 'a ', 'a '), (3, 'A', 'A'), (4, 'ß', 'ss'), (5, 'ss', 'ß'), (6, 'b', '')"


def test_a_charset_alone_means_the_servers_collation(pair):
    pair.begin("alone", "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) CHARACTER SET latin1)",
               "CREATE TABLE u (id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9)) CHARACTER SET latin1",
               "CREATE TABLE w (id INT PRIMARY KEY, a VARCHAR(9) CHARACTER SET utf8mb4) CHARACTER SET latin1")
    pair.through.run("MIRROR DATABASE alone")
    pair.wait_live("alone", "t", "u", "w")
    pair.server.run("ALTER TABLE t ADD b VARCHAR(9) CHARACTER SET utf8mb4",
                    "ALTER TABLE t MODIFY a VARCHAR(9) CHARACTER SET utf8mb4",
                    "ALTER TABLE u CONVERT TO CHARACTER SET utf8mb4",
                    "ALTER TABLE w ADD b VARCHAR(9), DEFAULT CHARACTER SET utf8mb4",
                    *(f"INSERT INTO {table} VALUES {PADDED}" for table in "tuw"), database="alone")
    asked = [query.format(table, column) for table in "tuw" for column in "ab" for query in (
        "SELECT COUNT(*) FROM {0} WHERE {1} = 'a'", "SELECT COUNT(*) FROM {0} WHERE {1} = 'SS'",
        "SELECT COUNT(DISTINCT {1}) FROM {0}", "SELECT COUNT(*) FROM {0} GROUP BY {1}")]
    pair.same("alone", *asked)
    # Sessions may take another.
    other = {"mysql": "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
             "mariadb": "SET @ignored = 1"}[pair.server.kind]
    pair.server.run(other, "ALTER TABLE t CONVERT TO CHARACTER SET latin1",
                    "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", database="alone")
    pair.same("alone", *asked)
    pair.server.run("ALTER DATABASE alone CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                    "ALTER TABLE u CONVERT TO CHARACTER SET DEFAULT", database="alone")
    wait_for("a load", lambda: pair.state("alone", "u")["Loads"] == 2)
    pair.wait_live("alone", "t", "u", "w")
    pair.same("alone", *asked)
    pair.through.run("UNMIRROR DATABASE alone")


@pytest.mark.parametrize(("charset", "name"), [("gbk", "中文"), ("cp1251", "имя"), ("sjis", "表ソ")])
def test_statements_of_clients_with_other_charsets(pair, charset, name):
    pair.begin("clients", "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO t VALUES (1, 'x')")
    pair.through.run("MIRROR TABLE clients.t")
    pair.wait_live("clients", "t")
    with pair.server.connect(database="clients", charset=charset) as connection:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE t ADD `{name}` VARCHAR(9) DEFAULT '{name}'")
            cursor.execute(f"INSERT INTO t VALUES (2, '{name}', '{name}')")
    pair.same("clients", "SELECT * FROM t", f"SELECT `{name}` FROM t WHERE v = '{name}'")
    assert pair.state("clients", "t")["Loads"] == 1
    pair.through.run("UNMIRROR TABLE clients.t")
