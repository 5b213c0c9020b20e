"""Mirrors answer as their server does: texts under every collation with every operator, numbers and
times at their limits, long texts. And who writes to the server does not wait while a mirror begins."""

from __future__ import annotations

import threading
import time

import pytest
from pelorus_tools import rows
from pelorus_tools.mirrored import OF_SERVER, Mirrored, plan_of
from pelorus_tools.processes import wait_for

# Collations that Pelorus compares by, and others, which it leaves to the server; of the kinds of
# server that have them.
COMPARED = {
    "utf8mb4_0900_ai_ci": "mysql", "utf8mb4_0900_bin": "mysql", "utf8mb4_uca1400_ai_ci": "mariadb",
    "utf8mb4_general_ci": "", "utf8mb4_unicode_ci": "", "utf8mb4_bin": "", "latin1_swedish_ci": "",
    "binary": "",
}
LEFT = {"utf8mb4_0900_as_cs": "mysql", "latin1_general_cs": ""}
# Case, accents, spaces at the end, what is two letters to some, empty, absent.
WORDS = ("a", "A", "á", "Á", "a ", "a  ", "b", "B", "ab", "Äb", "aé", "ß", "ss", "SS", "sS ", "s", "",
         " ", "  ", "æ", "ae", "Æ", "z", "Z", "_", "%", "a\\tb", "o", "ö", "Ö", "oe", "straße",
         "STRASSE", "10", "9", "\\0", "a\\0")
# Latin1 has none of these.
WIDE = ("ﬁ", "fi", "ﬀ", "ſ", "e\u0301", "é", "İ", "ı", "i", "I", "Σ", "ς", "σ", "ẞ", "🙂", "🙃", "\ufffd",
        "\u200b", "ａ", "Ａ")
TEXTS = (
    *(f"SELECT id FROM t WHERE v {how} '{word}'" for how in ("=", "<>", "<", ">=")
      for word in ("a", "Ä", "ss", "ß", "", "b ", "æ", "O")),
    "SELECT id FROM t WHERE v <=> NULL", "SELECT id FROM t WHERE 'A' <= v",
    "SELECT id FROM t WHERE v BETWEEN 'a' AND 'b'", "SELECT id FROM t WHERE v NOT BETWEEN 'A ' AND 'Ö'",
    "SELECT id FROM t WHERE v IN ('A', 'ss', 'oe ')", "SELECT id FROM t WHERE v NOT IN ('á', 'z', ' ')",
    *(f"SELECT id FROM t WHERE v LIKE '{pattern}'" for pattern in (
        "a%", "A%", "ß%", "s%", "%s%", "%B", "_", "__", "a_", "%é%", "", "a", " %", "\\\\%", "%\\\\_%",
        "æ%", "str%e", "%o%")),
    "SELECT id FROM t WHERE v NOT LIKE 'A%'",
    # Which of several equal values an extreme is, is left open.
    "SELECT COUNT(*) FROM t WHERE v = (SELECT MIN(v) FROM t)",
    "SELECT COUNT(*) FROM t WHERE v = (SELECT MAX(v) FROM t)",
    "SELECT COUNT(*) FROM t WHERE v = (SELECT MIN(v) FROM t WHERE v >= 'b')",
    "SELECT n, COUNT(DISTINCT v), COUNT(v) FROM t GROUP BY n", "SELECT COUNT(DISTINCT v) FROM t",
    "SELECT MIN(id), MAX(id), COUNT(*) FROM t GROUP BY v",
    "SELECT MIN(id), n, COUNT(*) FROM t GROUP BY v, n",
    "SELECT COUNT(*) FROM (SELECT DISTINCT v FROM t) d",
    "SELECT MIN(id) FROM t GROUP BY v HAVING COUNT(*) > 1",
    "SELECT t.id, u.id FROM t JOIN u ON t.v = u.v", "SELECT t.id FROM t LEFT JOIN u ON t.v = u.v "
    "WHERE u.id IS NULL", "SELECT id FROM t WHERE v IN (SELECT v FROM u)",
    "SELECT id FROM t WHERE CONCAT(v, 'x') = 'AX'", "SELECT id, v = 'a', v < 'b' FROM t",
    "SELECT id FROM t WHERE CASE v WHEN 'SS' THEN 1 ELSE 0 END",
    "SELECT id, GREATEST(v, 'b') = 'b' FROM t",
)
ORDERED = (
    "SELECT id FROM t ORDER BY v, id", "SELECT id FROM t ORDER BY v DESC, id DESC",
    "SELECT id FROM t WHERE v > 'a' ORDER BY v, id LIMIT 7",
    "SELECT MIN(id) FROM t GROUP BY v ORDER BY v",
    "SELECT id FROM t ORDER BY n, v DESC, id LIMIT 20 OFFSET 5",
)


def has_collation(server, name: str, kind: str) -> bool:
    """Whether a server has a collation."""
    if kind not in ("", server.kind):
        return False
    # A MariaDB lists those of Unicode 14 without their charset.
    where = f"'{name}', '{name.removeprefix('utf8mb4_')}'"
    return bool(server.run(f"SELECT 1 FROM information_schema.collations WHERE collation_name IN ({where})"))


def answered(pair: Mirrored, database: str, statements, ordered: bool = False) -> int:
    """Asserts that statements that read `t` have the server's rows; returns how many of them its mirror
    has answered. What EXPLAIN says is not enough: a statement may turn to the server at its first row."""
    source, ours = pair._open(pair.server, database, OF_SERVER), pair.open(database)
    with source, ours:
        # Nobody writes: once the mirror has everything, there is no need to ask the server for more.
        rows.ask(ours, "SELECT COUNT(*) FROM t")
        rows.ask(ours, "SET pelorus_max_staleness = 3600")
        before = pair.state(database, "t")["Queries"]
        for statement in statements:
            expected = rows.ask(source, statement)
            assert expected.error is None, (statement, expected.error)
            found = [text for text in rows.differences(expected, rows.ask(ours, statement), ordered)
                     if not text.startswith("column types")]
            assert not found, f"{statement}\n{found}\n{plan_of(ours, statement)}"
    return pair.state(database, "t")["Queries"] - before


def begin(pair: Mirrored, database: str, *statements: str) -> None:
    """A database that is mirrored and live."""
    pair.begin(database, *statements)
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database)


def end(pair: Mirrored, database: str) -> None:
    """Without failures, what a test has made goes."""
    pair.through.run(f"UNMIRROR DATABASE {database}")
    pair.server.run(f"DROP DATABASE {database}")


@pytest.mark.parametrize("collation", [*COMPARED, *LEFT])
def test_texts(pair, collation):
    kind = {**COMPARED, **LEFT}[collation]
    if not has_collation(pair.server, collation, kind):
        pytest.skip(f"this {pair.server.kind} has no {collation}")
    column = "VARBINARY(20)" if collation == "binary" else f"VARCHAR(20) COLLATE {collation}"
    words = WORDS if collation.startswith("latin1") else WORDS + WIDE
    made = ", ".join(f"({at}, '{word}', {at % 3})" for at, word in enumerate(words))
    begin(pair, "answers_texts", "SET NAMES utf8mb4",
          f"CREATE TABLE t (id INT PRIMARY KEY, v {column}, n INT)", "CREATE TABLE u LIKE t",
          f"INSERT INTO t VALUES {made}, (1000, NULL, 0), (1001, NULL, 1)")
    # The second table comes with the binlog.
    pair.server.run("INSERT INTO u SELECT id + 5000, REVERSE(v), n FROM t",
                    "INSERT INTO u SELECT id + 7000, v, n FROM t WHERE n = 1",
                    "UPDATE u SET v = UPPER(v) WHERE n = 1", database="answers_texts")
    pair.same_tables("answers_texts", "t", "u")
    given = answered(pair, "answers_texts", TEXTS) + answered(pair, "answers_texts", ORDERED, True)
    every = len(TEXTS) + len(ORDERED)
    if collation in LEFT:
        # Those that do not compare: of patterns without letters, say.
        assert given < 10
    elif pair.server.kind == "mariadb" and not collation.startswith("utf8mb4"):
        # A MariaDB compares texts of two charsets by rules of its own.
        assert given > every // 2
    else:
        assert given == every
    end(pair, "answers_texts")


LIMITS = {
    "TINYINT": (-128, -1, 0, 127), "TINYINT UNSIGNED": (0, 127, 128, 255),
    "SMALLINT": (-32768, -1, 0, 32767), "SMALLINT UNSIGNED": (0, 32767, 32768, 65535),
    "MEDIUMINT": (-8388608, -1, 0, 8388607), "MEDIUMINT UNSIGNED": (0, 8388607, 8388608, 16777215),
    "INT": (-2147483648, -1, 0, 2147483647), "INT UNSIGNED": (0, 2147483647, 2147483648, 4294967295),
    "BIGINT": (-9223372036854775808, -1, 0, 9223372036854775807),
    "BIGINT UNSIGNED": (0, 9223372036854775807, 9223372036854775808, 18446744073709551615),
    "DECIMAL(65,30)": ("0", "-0.000000000000000000000000000001", "9" * 35 + "." + "9" * 30,
                       "-" + "9" * 35 + "." + "9" * 30),
    "DECIMAL(65,0)": ("9" * 65, "-" + "9" * 65, "0", "-1"),
    "DECIMAL(38,10)": ("1234567890123456789012345678.0123456789", "-0.5000000000", "0.5", "0.0000000001"),
    "DECIMAL(9,2)": ("9999999.99", "-9999999.99", "0.01", "0"),
    "DOUBLE": ("0", "1.7976931348623157e308", "-1.7976931348623157e308", "0.1"),
    "FLOAT": ("0", "0.5", "-16777216", "3.25e38"),
    "BIT(1)": ("b'0'", "b'1'", "b'0'", "b'1'"), "BIT(64)": (0, "18446744073709551615", 1 << 63, 1),
    "YEAR": (0, 1901, 2026, 2155),
    "TIME": ("'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:01'"),
    "TIME(6)": ("'-838:59:58.999999'", "'100:20:30.000001'", "'24:00:00'", "'-00:00:00.000001'"),
    "DATE": ("'0000-00-00'", "'1000-01-01'", "'9999-12-31'", "'2026-02-00'"),
    "DATETIME(6)": ("'0000-00-00 00:00:00'", "'9999-12-31 23:59:59.999999'",
                    "'1000-01-01 00:00:00.000001'", "'2026-01-00 10:00:00'"),
    "TIMESTAMP(6) NULL": ("'0000-00-00 00:00:00'", "'1970-01-01 00:00:01.000001'",
                          "'2038-01-19 03:14:07.999999'", "'2026-06-06 06:06:06'"),
}
OF_ONE = (
    "SELECT MIN({0}), MAX({0}), COUNT({0}), COUNT(DISTINCT {0}) FROM t",
    "SELECT n, MIN({0}), MAX({0}) FROM t GROUP BY n",
    "SELECT {0}, COUNT(*) FROM t GROUP BY {0}", "SELECT DISTINCT {0} FROM t",
    "SELECT a.id, b.id FROM t a JOIN t b ON a.{0} = b.{0}", "SELECT id FROM t WHERE {0} IS NULL",
    "SELECT id FROM t WHERE NOT {0} <=> NULL",
)
OF_VALUE = (
    "SELECT id FROM t WHERE {0} = {1}", "SELECT id FROM t WHERE {0} <> {1}",
    "SELECT id FROM t WHERE {0} < {1}", "SELECT id FROM t WHERE {0} >= {1}",
    "SELECT id FROM t WHERE {0} BETWEEN {1} AND {2}", "SELECT id FROM t WHERE {0} IN ({1}, {2})",
    "SELECT id FROM t WHERE {0} NOT IN ({1}, {2})",
)
OF_SUMS = ("SELECT SUM({0}), AVG({0}) FROM t", "SELECT n, SUM({0}), AVG({0}) FROM t GROUP BY n",
           "SELECT SUM(DISTINCT {0}) FROM t")
SORTED = ("SELECT id FROM t ORDER BY {0}, id", "SELECT id FROM t ORDER BY {0} DESC, id LIMIT 3",
          "SELECT {0} FROM t GROUP BY {0} ORDER BY {0} DESC")


def test_limits(pair):
    """Numbers and times at the ends of their types; half of the rows come with the binlog."""
    names = ", ".join(f"c{at}" for at in range(len(LIMITS)))
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(LIMITS))
    made = [f"({row}, {row % 2}, " + ", ".join(str(values[row]) for values in LIMITS.values()) + ")"
            for row in range(4)]
    begin(pair, "answers_limits", f"CREATE TABLE t (id INT PRIMARY KEY, n INT, {columns})",
          *(f"INSERT INTO t VALUES {row}" for row in made[:2]))
    pair.server.run(*OF_SERVER, *(f"INSERT INTO t VALUES {row}" for row in made[2:]),
                    f"INSERT INTO t (id, n, {names}) SELECT id + 10, n, {names} FROM t WHERE id <> 1",
                    "INSERT INTO t (id, n) VALUES (20, 0), (21, 1)", database="answers_limits")
    pair.same_tables("answers_limits", "t")
    for at, (kind, values) in enumerate(LIMITS.items()):
        name = f"c{at}"
        plain = [text.format(name) for text in OF_ONE]
        for one, two in zip(values, (*values[1:], values[0])):
            plain += [text.format(name, one, two) for text in OF_VALUE]
        if any(word in kind for word in ("INT", "DECIMAL")):
            plain += [text.format(name) for text in OF_SUMS]
        elif kind == "YEAR" or "BIT" in kind:
            plain.append(OF_SUMS[0].format(name))
        ordered = [text.format(name) for text in SORTED]
        given = answered(pair, "answers_limits", plain) + answered(pair, "answers_limits", ordered, True)
        # Servers have sums of more than 65 digits, extremes that are the YEAR 0000, and what a MariaDB
        # makes of BIT and YEAR for themselves.
        some = 13 if kind == "YEAR" else 3
        assert given >= len(plain) + len(ordered) - some, (kind, given)
    end(pair, "answers_limits")


LONG = ("REPEAT('a', 70000)", "CONCAT(REPEAT('a', 70000), 'b')", "CONCAT(REPEAT('A', 70000), 'c')",
        "REPEAT('é', 30000)", "CONCAT(REPEAT('x', 1023), 'y')", "CONCAT(REPEAT('x', 1024), 'y')",
        "REPEAT(' ', 5000)", "''", "NULL")


def test_groups_of_no_rows(pair):
    """A MariaDB rolls no rows up to none, a MySQL to one."""
    begin(pair, "of_none", "CREATE TABLE t (id INT PRIMARY KEY, g INT)", "INSERT INTO t VALUES (1, 1), (2, NULL)")
    statements = [f"SELECT {what} FROM t WHERE id > {least} GROUP BY {keys} WITH ROLLUP"
                  for least in (0, 1, 9) for what, keys in (("g, COUNT(*)", "g"), ("g, id, SUM(id)", "g, id"))]
    assert answered(pair, "of_none", statements) == len(statements)
    end(pair, "of_none")


def test_digits(pair):
    """A MariaDB rounds shares of windows to ten digits, and cuts off what is behind microseconds."""
    begin(pair, "of_digits", "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(14, 7))",
          "INSERT INTO t VALUES (1, 1.2345678), (2, 1.9999999), (3, 7), (4, NULL), (5, 0), (6, 2), (7, 3)")
    left = [f"SELECT p, p + 0 FROM (SELECT {what}() OVER (ORDER BY id) AS p FROM t) x WHERE p > 0.1"
            for what in ("PERCENT_RANK", "CUME_DIST")]
    left.append("SELECT id, FROM_UNIXTIME(d) FROM t")
    same = ["SELECT id, TIMESTAMP'2024-01-01 00:00:00' + INTERVAL d SECOND FROM t"]
    given = answered(pair, "of_digits", left + same)
    assert given == len(same) + (len(left) if pair.server.kind == "mysql" else 0)
    end(pair, "of_digits")


def test_dates_in_subqueries(pair):
    """A MariaDB compares dates with numbers by rules of its own, behind `IN` as beside `=`."""
    begin(pair, "of_dates", "CREATE TABLE t (id INT PRIMARY KEY, f DOUBLE, d DATE, v VARCHAR(20))",
          "INSERT INTO t VALUES (1, 20240101, '2024-01-01', '2024-01-02'), "
          "(2, 7, '2024-01-02', '2024-01-03'), (3, NULL, NULL, NULL)")
    left = ["SELECT id FROM t WHERE f IN (SELECT d FROM t)", "SELECT id FROM t WHERE d IN (SELECT f FROM t)"]
    same = ["SELECT id FROM t WHERE d IN (SELECT v FROM t)"]
    given = answered(pair, "of_dates", left + same)
    assert given == len(same) + (len(left) if pair.server.kind == "mysql" else 0)
    end(pair, "of_dates")


def test_long_texts(pair):
    """Texts that differ behind where servers cease to look when they sort (`max_sort_length`)."""
    begin(pair, "answers_long", "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT, b LONGBLOB, n INT) "
          "COLLATE utf8mb4_general_ci",
          *(f"INSERT INTO t VALUES ({at}, {value}, {value}, {at % 2})" for at, value in enumerate(LONG[::2])))
    pair.server.run(*(f"INSERT INTO t VALUES ({at + 100}, {value}, {value}, {at % 2})"
                      for at, value in enumerate(LONG)), database="answers_long")
    pair.same_tables("answers_long", "t")
    texts = ["SELECT n, COUNT(DISTINCT v), COUNT(DISTINCT b) FROM t GROUP BY n",
             "SELECT LENGTH(MIN(b)), LENGTH(MAX(b)) FROM t"]
    for name in "vb":
        texts += [text.format(name) for text in (
            "SELECT id FROM t WHERE {0} = (SELECT MAX({0}) FROM t)", "SELECT MAX({0}) FROM t WHERE id < 3",
            "SELECT n, MIN({0}) FROM t WHERE id > 103 GROUP BY n", "SELECT COUNT(*) FROM t GROUP BY {0}",
            "SELECT id FROM t WHERE {0} = REPEAT('a', 70000)", "SELECT id FROM t WHERE {0} > REPEAT('a', 70001)",
            "SELECT id FROM t WHERE {0} LIKE '%b'", "SELECT id FROM t WHERE {0} LIKE CONCAT(REPEAT('x', 1023), '%')",
            "SELECT a.id, b.id FROM t a JOIN t b ON a.{0} = b.{0}")]
    assert answered(pair, "answers_long", texts) == len(texts)
    end(pair, "answers_long")


def test_writers_do_not_wait_while_a_mirror_begins(pair):
    """What takes a lock of all tables, as FLUSH TABLES WITH READ LOCK does, waits for a long query,
    and every writer waits behind it."""
    numbers = " UNION ALL ".join("SELECT 1" for _ in range(4))
    pair.begin("answers_stalls", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
               f"INSERT INTO t (v) SELECT 1 FROM ({numbers}) a, ({numbers}) b, ({numbers}) c, ({numbers}) d, "
               f"({numbers}) e")
    stop, gaps = threading.Event(), []

    def write() -> None:
        with pair.server.connect(database="answers_stalls") as connection, connection.cursor() as cursor:
            while not stop.is_set():
                before = time.monotonic()
                cursor.execute("INSERT INTO t (v) VALUES (1)")
                gaps.append(time.monotonic() - before)
                time.sleep(0.003)
    long = pair.server.connect(database="answers_stalls")
    # Until it is killed.
    sleeping = "SELECT COUNT(*), SLEEP(170) FROM t WHERE id = 1"
    reader = threading.Thread(target=rows.ask, args=(long, sleeping))
    writer = threading.Thread(target=write)
    reader.start()
    writer.start()
    try:
        wait_for("the long query", lambda: pair.server.run(
            "SELECT 1 FROM information_schema.processlist WHERE info LIKE '%SLEEP(170)%' "
            "AND id <> CONNECTION_ID()"))
        pair.through.run("MIRROR TABLE answers_stalls.t")
        pair.wait_live("answers_stalls", "t")
        assert reader.is_alive(), "the mirror was to be live before the query ends"
        written = len(gaps)
        wait_for("rows behind", lambda: len(gaps) > written + 100)
    finally:
        pair.server.run(f"KILL QUERY {long.thread_id()}")
        stop.set()
        writer.join()
        reader.join()
        long.close()
    # A lock that waits for the query would hold them up for minutes; a busy machine does not.
    assert max(gaps) < 30, sorted(gaps)[-5:]
    pair.same("answers_stalls", "SELECT COUNT(*), SUM(v) FROM t")
    end(pair, "answers_stalls")


# Where a MySQL and a MariaDB answer differently, and where a DOUBLE has too few digits.
EITHER = (
    "SELECT id, FROM_UNIXTIME(n), FROM_UNIXTIME(n, '%Y-%m-%d %H:%i:%s'), FROM_UNIXTIME(n + 0.5) FROM t",
    "SELECT YEAR(FROM_UNIXTIME(n)), COUNT(*) FROM t GROUP BY 1",
    "SELECT id FROM t WHERE FROM_UNIXTIME(n) IS NULL",
    "SELECT id FROM t WHERE FROM_UNIXTIME(n) >= '2038-01-20'",
    "SELECT id, s + INTERVAL 1 DAY, s - INTERVAL 1 SECOND, DATE_ADD(s, INTERVAL id HOUR) FROM t",
    "SELECT id, ADDDATE(CONCAT(DATE_FORMAT(d, '%Y-'), (3 * (QUARTER(d) - 1) + 1), '-01 00:00:00'), "
    "INTERVAL 0 SECOND) FROM t",
    "SELECT s + INTERVAL 1 DAY, COUNT(*) FROM t GROUP BY 1",
    "SELECT id FROM t WHERE CONCAT(s, '') + INTERVAL 1 DAY = '2024-05-18 10:00:00'",
    "SELECT id, DATE_SUB('0001-01-01 00:00:00', INTERVAL id SECOND), d - INTERVAL 2023 YEAR, "
    "d - INTERVAL 2024 YEAR, CAST('0001-01-02' AS DATETIME) - INTERVAL id DAY FROM t",
    "SELECT id FROM t WHERE d - INTERVAL 2024 YEAR IS NULL",
    "SELECT p.id, q.id FROM t p JOIN t q ON p.k = q.b",
    "SELECT p.id, q.id FROM t p LEFT JOIN t q ON q.b = p.k AND q.id > 1",
    "SELECT id FROM t WHERE k IN (SELECT b FROM t)",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t q WHERE q.b = t.k)",
    "SELECT id, k = b, k < b FROM t",
)


def test_as_either_server(pair):
    """What the two kinds of servers say differently is what the mirrored one says, whoever computes it."""
    begin(pair, "of_either", "CREATE TABLE t (id INT PRIMARY KEY, n BIGINT, d DATE, s VARCHAR(30), b BIGINT, "
          "k VARCHAR(30))",
          "INSERT INTO t VALUES (1, 2147483647, '2024-05-17', '2024-05-17 10:00:00', 9007199254740992, "
          "'9007199254740993'), (2, 2147483648, '2023-12-31', '2023-12-31', 9007199254740993, "
          "'9007199254740992'), (3, 4102444800, '0001-01-01', '2024-05-17 10:00:00.25', "
          "9007199254740994, ' 9007199254740994'), (4, 32536771199, NULL, NULL, 5, '5.0'), "
          "(5, -1, '2024-02-29', '2024-02-29 23:59:59', 7, '7x')")
    assert answered(pair, "of_either", EITHER) > 0
    end(pair, "of_either")
