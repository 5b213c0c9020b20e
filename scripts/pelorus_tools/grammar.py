"""The elements of the grammar that a client can repeat, each as a statement of n of them.

`growth` runs each with more and more of them and looks how time and memory grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

# What may refuse a statement that is too large, in addition to what an element names itself.
LIMITS = {
    1059: "an identifier is too long",
    1064: "the text is nested too deeply for the parser",
    1069: "too many keys",
    1116: "too many tables",
    1117: "too many columns",
    1153: "a packet is larger than max_allowed_packet",
    1235: "a limit of Pelorus",
    1390: "too many placeholders",
    1436: "the nesting needs too much stack",
    1461: "too many prepared statements",
    1499: "too many partitions",
    3601: "too many arguments of GROUPING",
    4086: "too many windows",
    6034: "too many keys that are rolled up",
}

SETUP = [
    "CREATE DATABASE growth",
    "USE growth",
    "CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(40), d DATE, m DECIMAL(12,2))",
    "INSERT INTO t VALUES " + ", ".join(
        f"({at}, {at % 17}, 'row{at}', '2024-01-{at % 28 + 1:02}', {at}.25)" for at in range(300)),
    "CREATE TABLE wide (id INT PRIMARY KEY, " + ", ".join(f"c{at} INT" for at in range(299)) + ")",
    "INSERT INTO wide (id, c0) VALUES (1, 1), (2, 2)",
    "CREATE TABLE large (id INT PRIMARY KEY, n INT, v VARCHAR(20))",
    "INSERT INTO large SELECT a.id * 300 + b.id, a.id * 7 + b.id, CONCAT('v', a.id * 300 + b.id) "
    "FROM t a JOIN t b",
    "OPTIMIZE TABLE large",
]


@dataclass(frozen=True)
class Element:
    """Something that a statement can have n of."""

    name: str
    # The statement of n of them.
    text: Callable[[int], str]
    # Errors that may refuse a large number, in addition to LIMITS.
    errors: tuple[int, ...] = ()
    # The largest number that is tried.
    most: int = 100_000
    # Numbers that are tried in short runs as well.
    also: tuple[int, ...] = ()
    # Whether the statement is several, sent as one.
    multi: bool = False
    # Whether each n is allowed a second of planning, whatever the growth: of joins, and of columns (at
    # most 4,096), which the planner finds by comparing names.
    planning_second: bool = False
    # What is run before and after, unmeasured.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def _many(part: str, glue: str = ", ") -> Callable[[int], str]:
    """`part` n times, `@` replaced by the number of each."""
    return lambda n: glue.join(part.replace("@", str(at)) for at in range(n))


def _around(before: str, middle: str, after: str) -> Callable[[int], str]:
    return lambda n: before * n + middle + after * n


def _in(frame: str, part: Callable[[int], str]) -> Callable[[int], str]:
    return lambda n: frame.replace("%", part(n), 1)


def _same(frame: str, part: str, glue: str = ", ") -> Callable[[int], str]:
    return _in(frame, _many(part, glue))


def _nested_prepare(n: int) -> str:
    """Prepared texts within each other would double their quotes each time: a few levels."""
    text = "SELECT 1"
    for _ in range(min(n, 14)):
        text = "PREPARE s FROM '" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text


def _chain(n: int) -> str:
    rest = "".join(f", c{at} AS (SELECT id, v FROM c{at - 1})" for at in range(1, n))
    return f"WITH c0 AS (SELECT id, v FROM t){rest} SELECT COUNT(*) FROM c{n - 1}"


def _wide_unions(n: int) -> str:
    return " UNION ALL ".join(["SELECT * FROM wide"] * n)


def _partitions(n: int) -> str:
    parts = ", ".join(f"PARTITION p{at} VALUES LESS THAN ({at})" for at in range(n))
    return f"CREATE TABLE made (id INT PRIMARY KEY) PARTITION BY RANGE (id) ({parts})"


_DROP = ("DROP TABLE IF EXISTS made",)
_READS = [
    # The select list.
    Element("items: constants", _same("SELECT %", "1")),
    Element("items: different constants", _same("SELECT %", "@")),
    Element("items: expressions", _same("SELECT % FROM t WHERE id < 2", "id + @")),
    Element("items: the same column", _same("SELECT % FROM t WHERE id < 2", "id")),
    Element("items: aliases", _same("SELECT % FROM t WHERE id < 2", "n AS a@")),
    Element("items: t.*", _same("SELECT % FROM t WHERE id < 2", "t.*")),
    Element("items: aggregates", _same("SELECT % FROM t", "SUM(n + @)")),
    Element("items: DISTINCT aggregates", _same("SELECT % FROM t", "COUNT(DISTINCT n + @)")),
    Element("items: of groups", _same("SELECT n, % FROM t GROUP BY n", "MAX(id + @)")),
    Element("items: DISTINCT", _same("SELECT DISTINCT % FROM t WHERE id < 2", "id + @"),
            planning_second=True),
    Element("items: subqueries", _same("SELECT %", "(SELECT MAX(id) FROM t)")),
    Element("items: user variables",
            lambda n: "SELECT " + ", ".join(f"@a{at}" for at in range(n))),
    Element("items: derived table",
            _same("SELECT COUNT(*) FROM (SELECT % FROM t) x", "id + @ AS a@")),
    Element("items: used outside", lambda n: "SELECT " + ", ".join(f"a{at}" for at in range(n))
            + " FROM (SELECT " + ", ".join(f"id + {at} AS a{at}" for at in range(n))
            + " FROM t) x WHERE a0 < 2"),
    Element("items: window functions",
            _same("SELECT % FROM t WHERE id < 5", "SUM(n) OVER (ORDER BY id + @)")),
    Element("items: window functions of one window",
            _same("SELECT % FROM t WHERE id < 5", "SUM(n + @) OVER (ORDER BY id)")),
    Element("windows with names", lambda n: "SELECT id FROM t WHERE id < 2 WINDOW " + ", ".join(
        f"w{at} AS (ORDER BY id)" for at in range(n))),
    # FROM.
    Element("joins: on the primary key", lambda n: "SELECT COUNT(*) FROM t t0" + "".join(
        f" JOIN t t{at} ON t{at}.id = t{at - 1}.id" for at in range(1, n)),
        most=1000, planning_second=True),
    Element("joins: to one table", lambda n: "SELECT COUNT(*) FROM t t0" + "".join(
        f" JOIN t t{at} ON t{at}.id = t0.id" for at in range(1, n)),
        most=1000, planning_second=True),
    Element("joins: left", lambda n: "SELECT COUNT(*) FROM t t0" + "".join(
        f" LEFT JOIN t t{at} ON t{at}.id = t0.id" for at in range(1, n)),
        most=1000, planning_second=True),
    Element("joins: commas", lambda n: "SELECT COUNT(*) FROM "
            + ", ".join(f"t t{at}" for at in range(n)) + " WHERE "
            + " AND ".join(f"t{at}.id = 7" for at in range(n)), most=1000, planning_second=True),
    Element("joins: star of all", lambda n: "SELECT * FROM t t0" + "".join(
        f" JOIN t t{at} ON t{at}.id = t{at - 1}.id" for at in range(1, n)) + " LIMIT 1",
        most=1000, planning_second=True),
    Element("joins: wide tables", lambda n: "SELECT COUNT(*) FROM wide t0" + "".join(
        f" JOIN wide t{at} ON t{at}.id = t{at - 1}.id" for at in range(1, n)),
        most=1000, planning_second=True),
    Element("joins: in parentheses", lambda n: "SELECT COUNT(*) FROM " + "(" * n + "t t0" + "".join(
        f" JOIN t t{at} ON t{at}.id = t0.id)" for at in range(1, n + 1)),
        most=10_000, planning_second=True),
    Element("joins: USING", lambda n: "SELECT COUNT(*) FROM t t0" + "".join(
        f" JOIN t t{at} USING (id)" for at in range(1, n)), most=1000, planning_second=True),
    Element("joins: constants", lambda n: "SELECT 1 FROM " + " JOIN ".join(
        f"(SELECT {at} AS a) t{at}" for at in range(n)), most=1000, planning_second=True),
    Element("derived tables: nested", _around("SELECT * FROM (", "SELECT 1 AS a", ") x")),
    # A linked server has a limit of its own.
    Element("CTEs: chain", _chain, errors=(1473,)),
    Element("CTEs: apart", lambda n: "WITH " + ", ".join(
        f"c{at} AS (SELECT {at} AS a)" for at in range(n)) + " SELECT * FROM c0"),
    Element("CTEs: of the table", lambda n: "WITH " + ", ".join(
        f"c{at} AS (SELECT id FROM t)" for at in range(n)) + " SELECT * FROM c0"),
    # Set operations.
    Element("unions: ALL", _same("%", "SELECT @", " UNION ALL ")),
    Element("unions: DISTINCT", _same("%", "SELECT @", " UNION ")),
    Element("unions: of tables", _same("%", "SELECT id, v FROM t", " UNION ALL ")),
    Element("unions: of 300 columns", _wide_unions),
    Element("unions: nested", _around("(SELECT 1 UNION ALL ", "SELECT 1", ")")),
    Element("unions: derived table",
            _in("SELECT COUNT(*) FROM (%) x", _many("SELECT @ AS a", " UNION ALL "))),
    # WHERE.
    Element("AND: of the same", _same("SELECT COUNT(*) FROM t WHERE %", "id = 1", " AND ")),
    Element("AND: of comparisons", _same("SELECT COUNT(*) FROM t WHERE %", "id > -@", " AND ")),
    Element("AND: of <>", _same("SELECT COUNT(*) FROM t WHERE %", "id <> @", " AND ")),
    Element("AND: of expressions", _same("SELECT COUNT(*) FROM t WHERE %", "id + @ > 3", " AND ")),
    Element("AND: of constants", _same("SELECT COUNT(*) FROM t WHERE %", "@ < 1000000", " AND ")),
    Element("AND: of LIKE", _same("SELECT COUNT(*) FROM t WHERE %", "v LIKE 'row@%'", " AND ")),
    Element("AND: select list", _same("SELECT %", "@ < 1000000", " AND ")),
    Element("OR: of the same", _same("SELECT COUNT(*) FROM t WHERE %", "id = 1", " OR ")),
    Element("OR: of equalities", _same("SELECT COUNT(*) FROM t WHERE %", "id = @", " OR ")),
    Element("OR: of texts", _same("SELECT COUNT(*) FROM t WHERE %", "v = 'row@'", " OR ")),
    Element("OR: of LIKE", _same("SELECT COUNT(*) FROM t WHERE %", "v LIKE 'row@'", " OR ")),
    Element("OR: of two columns",
            _same("SELECT COUNT(*) FROM t WHERE %", "id = @ AND n = @", " OR ")),
    Element("OR: of ranges", _same("SELECT COUNT(*) FROM t WHERE %", "id BETWEEN @ AND @", " OR ")),
    Element("OR: of expressions", _same("SELECT COUNT(*) FROM t WHERE %", "id + @ = 7", " OR ")),
    Element("XOR", _same("SELECT COUNT(*) FROM t WHERE %", "id = @", " XOR ")),
    Element("EXISTS", _same("SELECT COUNT(*) FROM t WHERE %",
                            "EXISTS (SELECT 1 FROM t x WHERE x.id = t.id)", " AND ")),
    Element("IN (SELECT)", _same("SELECT COUNT(*) FROM t WHERE %",
                                 "id IN (SELECT id + @ FROM t x)", " AND "), also=(150, 300)),
    Element("HAVING", _same("SELECT n, COUNT(*) FROM t GROUP BY n HAVING %", "n > -@", " AND ")),
    Element("ON", _same("SELECT COUNT(*) FROM t JOIN t u ON t.id = u.id AND %", "t.n > u.n - @",
                        " AND ")),
    # IN lists.
    Element("IN: primary key", _same("SELECT COUNT(*) FROM large WHERE id IN (%)", "@"),
            most=500_000, also=(100_000,)),
    Element("IN: column", _same("SELECT COUNT(*) FROM large WHERE n IN (%)", "@"),
            most=500_000, also=(100_000,)),
    Element("IN: texts", _same("SELECT COUNT(*) FROM large WHERE v IN (%)", "'v@'")),
    Element("IN: texts, of a number", _same("SELECT COUNT(*) FROM large WHERE n IN (%)", "'@'")),
    Element("IN: decimals", _same("SELECT COUNT(*) FROM t WHERE m IN (%)", "@.25")),
    Element("IN: dates", _same("SELECT COUNT(*) FROM t WHERE d IN (%)", "'2024-01-01'")),
    Element("IN: NOT", _same("SELECT COUNT(*) FROM large WHERE id NOT IN (%)", "@")),
    Element("IN: the same", _same("SELECT COUNT(*) FROM large WHERE id IN (%)", "7")),
    Element("IN: expressions", _same("SELECT COUNT(*) FROM t WHERE id IN (%)", "@ + 1")),
    Element("IN: of an expression", _same("SELECT COUNT(*) FROM t WHERE id + 1 IN (%)", "@")),
    Element("IN: of columns", _same("SELECT COUNT(*) FROM t WHERE id IN (%)", "n + @")),
    Element("IN: rows", _same("SELECT COUNT(*) FROM t WHERE (id, n) IN (%)", "(@, 1)")),
    Element("IN: select list", _same("SELECT 7 IN (%)", "@")),
    Element("IN: mixed", _same("SELECT COUNT(*) FROM t WHERE id IN (%)", "@, '@'")),
    # Nesting.
    Element("parentheses", lambda n: "SELECT " + "(" * n + "1" + ")" * n),
    Element("parentheses around a query", _around("(", "SELECT 1", ")")),
    Element("NOT", lambda n: "SELECT " + "NOT " * n + "1"),
    Element("minus", lambda n: "SELECT " + "- " * n + "1"),
    Element("tilde", lambda n: "SELECT " + "~" * n + "1"),
    Element("functions: nested", lambda n: "SELECT " + "ABS(" * n + "1" + ")" * n),
    Element("functions: nested with a column",
            lambda n: "SELECT " + "ABS(" * n + "id" + ")" * n + " FROM t WHERE id < 2"),
    Element("CASE: nested", lambda n: "SELECT " + "CASE WHEN 1 THEN " * n + "1" + " END" * n),
    Element("subqueries: nested", lambda n: "SELECT " + "(SELECT " * n + "1" + ")" * n),
    Element("EXISTS: nested", lambda n: "SELECT 1 FROM t WHERE "
            + "EXISTS (SELECT 1 FROM t WHERE " * n + "1" + ")" * n),
    Element("IN: nested", lambda n: "SELECT COUNT(*) FROM t WHERE id IN "
            + "(SELECT id FROM t WHERE id IN " * n + "(1)" + ")" * n),
    Element("additions", _same("SELECT %", "1", " + ")),
    Element("additions of a column", _same("SELECT % FROM t WHERE id < 2", "id", " + ")),
    Element("LIKE: chain", _same("SELECT %", "'a'", " LIKE ")),
    Element("intervals", lambda n: "SELECT d" + " + INTERVAL 1 DAY" * n + " FROM t WHERE id < 2"),
    Element("CAST: nested", lambda n: "SELECT " + "CAST(" * n + "1" + " AS CHAR)" * n),
    Element("COLLATE", lambda n: "SELECT 'a'" + " COLLATE utf8mb4_bin" * n),
    # Arms and arguments.
    Element("CASE arms", _same("SELECT CASE % END FROM t WHERE id < 2", "WHEN id = @ THEN @", " ")),
    Element("CASE arms of a value",
            _same("SELECT CASE id % END FROM t WHERE id < 2", "WHEN @ THEN @", " ")),
    Element("CASE arms of constants", _same("SELECT CASE 7 % END", "WHEN @ THEN @", " ")),
    Element("CASE arms of texts",
            _same("SELECT CASE v % END FROM t WHERE id < 2", "WHEN 'a@' THEN 'b@'", " ")),
    Element("COALESCE", _same("SELECT COALESCE(%)", "NULL")),
    Element("COALESCE of columns", _same("SELECT COALESCE(%) FROM t WHERE id < 2", "n + @")),
    Element("CONCAT", _same("SELECT CONCAT(%)", "'a'")),
    Element("CONCAT of columns", _same("SELECT CONCAT(%) FROM t WHERE id < 2", "v")),
    Element("GREATEST", _same("SELECT GREATEST(%) FROM t WHERE id < 2", "id + @")),
    Element("FIELD", _same("SELECT FIELD(%) FROM t WHERE id < 2", "id + @")),
    Element("ELT", _same("SELECT ELT(1, %)", "'a@'")),
    Element("INTERVAL()", _same("SELECT INTERVAL(1, %)", "@")),
    Element("IF: nested", lambda n: "SELECT " + "IF(1, " * n + "1" + ", 0)" * n),
    # Terms.
    Element("GROUP BY", _same("SELECT COUNT(*) FROM t GROUP BY %", "id + @")),
    Element("GROUP BY: the same", _same("SELECT COUNT(*) FROM t GROUP BY %", "id")),
    Element("GROUP BY: with items", lambda n: "SELECT " + _many("n + @")(n)
            + " FROM t GROUP BY " + _many("n + @")(n)),
    Element("GROUP BY: ordinals", lambda n: "SELECT " + _many("n + @")(n)
            + " FROM t GROUP BY " + ", ".join(str(at + 1) for at in range(n))),
    Element("GROUP BY: WITH ROLLUP", lambda n: "SELECT COUNT(*) FROM t WHERE id < 2 GROUP BY "
            + _many("n + @")(n) + " WITH ROLLUP"),
    Element("ORDER BY", _same("SELECT id FROM t ORDER BY %", "id + @")),
    Element("ORDER BY: the same", _same("SELECT id FROM t ORDER BY %", "id")),
    Element("ORDER BY: aliases", lambda n: "SELECT " + _many("n AS a@")(n)
            + " FROM t ORDER BY " + _many("a@")(n), planning_second=True),
    Element("PARTITION BY",
            _same("SELECT SUM(n) OVER (PARTITION BY %) FROM t WHERE id < 5", "id + @")),
    Element("GROUP_CONCAT", _same("SELECT GROUP_CONCAT(%) FROM t", "v")),
    Element("COUNT(DISTINCT a, b)", _same("SELECT COUNT(DISTINCT %) FROM t", "id + @")),
    Element("VALUES", _same("VALUES %", "ROW(@)")),
    Element("VALUES: columns", _same("VALUES ROW(%)", "@"), planning_second=True),
    # Tokens.
    Element("string", lambda n: "SELECT '" + "a" * n + "'", most=4_000_000),
    Element("string: escapes", lambda n: "SELECT '" + "\\n" * n + "'", most=2_000_000),
    Element("string: doubled quotes", lambda n: "SELECT '" + "''" * n + "'", most=2_000_000),
    Element("strings side by side", _same("SELECT %", "'a'", " ")),
    Element("string that is compared",
            lambda n: "SELECT COUNT(*) FROM t WHERE v = '" + "a" * n + "'",
            most=1_000_000),
    Element("LIKE pattern", lambda n: "SELECT COUNT(*) FROM t WHERE v LIKE '" + "%a" * n + "'",
            most=1_000_000),
    Element("LIKE pattern of constants",
            lambda n: "SELECT REPEAT('a', 1000) LIKE '" + "%a" * n + "b'", most=1_000_000),
    Element("REGEXP", lambda n: "SELECT v REGEXP '" + "(a|b)" * n + "' FROM t WHERE id < 2",
            errors=(3686, 3685, 3698, 3699, 3696)),
    Element("number", lambda n: "SELECT " + "1" * n, errors=(1367, 1264, 1690)),
    Element("number in quotes", lambda n: "SELECT '" + "1" * n + "' + 0"),
    Element("decimal", lambda n: "SELECT 0." + "1" * n, errors=(1367, 1264, 1690)),
    Element("hexadecimal", lambda n: "SELECT x'" + "61" * n + "'", most=1_000_000),
    Element("bits", lambda n: "SELECT b'" + "01" * n + "'"),
    Element("name", lambda n: "SELECT 1 AS " + "a" * n, errors=(1166,)),
    Element("name of a column", lambda n: "SELECT " + "a" * n + " FROM t", errors=(1054,)),
    Element("name of parts", lambda n: "SELECT " + "a." * n + "a FROM t", errors=(1054,)),
    Element("name of a variable", lambda n: "SELECT @" + "a" * n, errors=(3061,)),
    Element("comment", lambda n: "SELECT /*" + "a" * n + "*/ 1", most=2_000_000),
    Element("comments", lambda n: "SELECT " + "/**/" * n + "1", most=1_000_000),
    Element("comments: nested", lambda n: "SELECT " + "/*" * n + "*/" * n + " 1"),
    Element("comments of versions", lambda n: "SELECT " + "/*!50000 " * n + "1" + " */" * n),
    Element("comments of versions, one after the other",
            lambda n: "SELECT 1" + "/*!50000 +1 */" * n),
    Element("comments of other versions", lambda n: "SELECT " + "/*!99999 */" * n + "1"),
    Element("lines of comments", lambda n: "SELECT " + "-- a\n" * n + "1", most=1_000_000),
    Element("comments at the end", lambda n: "SELECT 1 " + "/**/" * n, most=1_000_000),
    Element("blanks", lambda n: "SELECT " + " " * n + "1", most=4_000_000),
    Element("semicolons", lambda n: "SELECT 1" + ";" * n, errors=(1064,)),
    Element("semicolons first", lambda n: ";" * n + "SELECT 1", errors=(1064, 1065)),
    Element("marks of programs", _same("SELECT %", "$a@$ "), errors=(1054, 1064)),
    Element("hint", lambda n: "SELECT /*+ " + "BKA(t) " * n + "*/ 1 FROM t WHERE id < 2"),
    Element("index hints", _same("SELECT 1 FROM t USE INDEX (%) WHERE id < 2", "PRIMARY")),
    Element("opening parentheses", lambda n: "SELECT " + "(" * n),
    Element("opening quotes of names", lambda n: "SELECT " + "`a`." * n),
    Element("not understood", lambda n: "SELECT " + "1 " * n, errors=(1064,)),
    Element("words", lambda n: "a " * n, errors=(1064,)),
    Element("JSON path", lambda n: "SELECT '{}' -> '$" + ".a" * n + "'", errors=(1054, 3143)),
    Element("charset introducers", _same("SELECT %", "_utf8mb4'a'")),
    # Statements around statements.
    Element("EXPLAIN", lambda n: "EXPLAIN " * n + "SELECT 1", also=(30_000,)),
    Element("ANALYZE", lambda n: "ANALYZE " * n + "SELECT 1", also=(30_000,)),
    Element("DESC", lambda n: "DESC " * n + "t", also=(30_000,)),
    Element("EXPLAIN ANALYZE", lambda n: "EXPLAIN ANALYZE " * n + "SELECT 1", also=(30_000,)),
    Element("ANALYZE FORMAT=JSON", lambda n: "ANALYZE FORMAT=JSON " * n + "SELECT 1",
            also=(30_000,)),
    Element("EXPLAIN: items", _same("EXPLAIN SELECT %", "@")),
    Element("EXPLAIN: unions", _same("EXPLAIN %", "SELECT @", " UNION ALL ")),
    Element("PREPARE: items", _in("PREPARE s FROM 'SELECT %'", _many("@"))),
    Element("PREPARE: placeholders", _in("PREPARE s FROM 'SELECT %'", _many("?"))),
    Element("PREPARE: in an IN list",
            _in("PREPARE s FROM 'SELECT id FROM t WHERE id IN (%)'", _many("?"))),
    Element("PREPARE: nested", _nested_prepare, most=14, errors=(1295,)),
    Element("EXECUTE: USING",
            lambda n: "EXECUTE s USING " + ", ".join(f"@a{at}" for at in range(n)),
            errors=(1210,), before=("PREPARE s FROM 'SELECT 1'",)),
    Element("EXECUTE IMMEDIATE", _in("EXECUTE IMMEDIATE 'SELECT %'", _many("@"))),
    Element("BEGIN NOT ATOMIC", lambda n: "BEGIN NOT ATOMIC " * n + "SELECT 1;" + " END;" * n,
            errors=(1046, 1295)),
    Element("SET: user variables",
            lambda n: "SET " + ", ".join(f"@a{at} = {at}" for at in range(n))),
    Element("SET: one user variable",
            lambda n: "SET " + ", ".join(f"@a = {at}" for at in range(n))),
    Element("SET: expressions",
            lambda n: "SET " + ", ".join(f"@a{at} = {at} + 1" for at in range(n)), most=10_000),
    Element("SET: system variables", _same("SET %", "sort_buffer_size = 65536")),
    Element("SET: nested", lambda n: "SET @a = " + "(" * n + "1" + ")" * n),
    Element("SET: a long list", _in("SET @a = 7 IN (%)", _many("@"))),
    Element("DO", _same("DO %", "1")),
    Element("statements in one text", _same("%", "SELECT 1", "; "), multi=True, most=10_000),
    Element("statements in one text: SET", lambda n: "; ".join(["SET @a = 1"] * n), multi=True,
            most=30_000),
    Element("statements in one text: empty", lambda n: "SELECT 1" + " ; " * n, multi=True,
            errors=(1064, 1065)),
    Element("USE", lambda n: "USE " + "a" * n, errors=(1049, 1102, 1059)),
    Element("CALL", _same("CALL p(%)", "@"), errors=(1046, 1305, 1235)),
    Element("SHOW: WHERE", _same("SHOW TABLES WHERE %", "Tables_in_growth = 't@'", " OR ")),
    Element("SHOW: LIKE", lambda n: "SHOW TABLES LIKE '" + "%t" * n + "'"),
    Element("SHOW VARIABLES: LIKE", lambda n: "SHOW VARIABLES LIKE '" + "%a" * n + "'"),
    Element("KILL", lambda n: "KILL " + _many("0", "+")(n), errors=(1094,)),
    Element("information schema: OR", _same(
        "SELECT COUNT(*) FROM information_schema.tables WHERE %", "table_name = 'a@'", " OR ")),
    Element("information schema: IN", _same(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name IN (%)", "'a@'")),
    Element("HELP", lambda n: "HELP '" + "a" * n + "'", errors=(1235,)),
    Element("LOCK TABLES",
            lambda n: "LOCK TABLES " + ", ".join(f"t AS t{at} READ" for at in range(n)),
            errors=(1235,), after=("UNLOCK TABLES",)),
    Element("FLUSH", lambda n: "FLUSH " + "a " * n, errors=(1064, 1235)),
    Element("GRANT: privileges", _same("GRANT % ON *.* TO absent", "SELECT"),
            errors=(1410, 1235, 1133)),
    Element("DROP USER", _same("DROP USER IF EXISTS %", "u@"), errors=(1396,)),
]
_WRITES = [
    Element("INSERT: rows", _same("INSERT INTO made VALUES %", "(@, 1)"),
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY, n INT)")),
    Element("INSERT: rows of expressions", _same("INSERT INTO made VALUES %", "(@ + 1, ABS(1))"),
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY, n INT)"), most=30_000),
    Element("INSERT: columns", lambda n: "INSERT INTO t (" + _many("id")(n) + ") VALUES ("
            + _many("1")(n) + ")", errors=(1110, 1136)),
    Element("INSERT: SET", _same("INSERT INTO t SET %", "id = @"), errors=(1110, 1062)),
    Element("INSERT: ON DUPLICATE KEY UPDATE",
            _same("INSERT INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE %", "n = @")),
    Element("INSERT: ON DUPLICATE KEY UPDATE of rows", lambda n: "INSERT INTO made VALUES "
            + _many("(@, 1)")(n) + " ON DUPLICATE KEY UPDATE n = n + 1",
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY, n INT)")),
    Element("INSERT: SELECT of unions", _same("INSERT INTO made %", "SELECT @", " UNION ALL "),
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY)")),
    Element("REPLACE: rows", _same("REPLACE INTO made VALUES %", "(@, 1)"),
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY, n INT)")),
    Element("INSERT: a long text", lambda n: "INSERT INTO made VALUES (1, '" + "a" * n + "')",
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY, v LONGTEXT)"), most=4_000_000),
    Element("UPDATE: SET", _same("UPDATE t SET % WHERE id = 1", "n = @")),
    Element("UPDATE: expression", _in("UPDATE t SET n = % WHERE id = 1", _many("1", " + "))),
    Element("UPDATE: IN", _same("UPDATE large SET n = 1 WHERE id IN (%)", "@")),
    Element("UPDATE: OR", _same("UPDATE t SET n = 1 WHERE %", "id = @", " OR ")),
    Element("UPDATE: CASE", _same("UPDATE t SET n = CASE id % ELSE n END", "WHEN @ THEN 1", " ")),
    Element("DELETE: IN", _same("DELETE FROM made WHERE id IN (%)", "@"),
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY, n INT)",
                    "INSERT INTO made SELECT id, n FROM large")),
    Element("DELETE: OR", _same("DELETE FROM t WHERE %", "id = -@", " OR ")),
    Element("UPDATE: ORDER BY", _same("UPDATE t SET n = 1 ORDER BY % LIMIT 1", "id + @")),
    Element("CREATE TABLE: columns", _same("CREATE TABLE made (%, PRIMARY KEY (c0))", "c@ INT"),
            before=_DROP, after=_DROP),
    Element("CREATE TABLE: partitions", _partitions, before=_DROP, after=_DROP),
    Element("CREATE TABLE: partitions of a hash",
            lambda n: "CREATE TABLE made (id INT PRIMARY KEY) PARTITION BY HASH (id) "
            + f"PARTITIONS {n}",
            before=_DROP, after=_DROP),
    Element("CREATE TABLE: values of a list", _in(
        "CREATE TABLE made (id INT PRIMARY KEY) PARTITION BY LIST (id) (PARTITION p VALUES IN (%))",
        _many("@")), before=_DROP, after=_DROP),
    Element("CREATE TABLE: keys", lambda n: "CREATE TABLE made (id INT PRIMARY KEY, "
            + _many("KEY k@ (id)")(n) + ")", before=_DROP, after=_DROP),
    Element("CREATE TABLE: checks", lambda n: "CREATE TABLE made (id INT PRIMARY KEY, "
            + _many("CHECK (id > -@)")(n) + ")", before=_DROP, after=_DROP, errors=(3820,)),
    Element("CREATE TABLE: ENUM", lambda n: "CREATE TABLE made (id INT PRIMARY KEY, e ENUM("
            + _many("'a@'")(n) + "))", before=_DROP, after=_DROP, errors=(1097, 1118, 1117)),
    Element("CREATE TABLE: options", lambda n: "CREATE TABLE made (id INT PRIMARY KEY) "
            + "COMMENT='a' " * n, before=_DROP, after=_DROP),
    Element("CREATE TABLE: parts of the key", lambda n: "CREATE TABLE made (id INT, PRIMARY KEY ("
            + _many("id")(n) + "))", before=_DROP, after=_DROP, errors=(1060, 1070)),
    Element("CREATE TABLE: DEFAULT", lambda n:
            "CREATE TABLE made (id INT PRIMARY KEY, v INT DEFAULT " + "(" * n + "1" + ")" * n + ")",
            before=_DROP, after=_DROP),
    Element("CREATE TABLE AS SELECT", _in("CREATE TABLE made AS SELECT %", _many("1 AS c@")),
            before=_DROP, after=_DROP, errors=(3750, 1173)),
    Element("ALTER TABLE: ADD COLUMN", _same("ALTER TABLE made %", "ADD c@ INT"),
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY)"), after=_DROP),
    Element("ALTER TABLE: changes of one column",
            _same("ALTER TABLE made %", "ALTER n SET DEFAULT @"),
            before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY, n INT)"), after=_DROP,
            errors=(1054,)),
    Element("ALTER TABLE: ADD PARTITION", _in(
        "ALTER TABLE made ADD PARTITION (%)", _many("PARTITION p@ VALUES LESS THAN (1@)")),
        before=(*_DROP, "CREATE TABLE made (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
                        "(PARTITION q VALUES LESS THAN (0))"), after=_DROP, errors=(1493,)),
    Element("DROP TABLE", _same("DROP TABLE IF EXISTS %", "absent@")),
    Element("CHECK TABLE", _same("CHECK TABLE %", "t"), errors=(1066,)),
    Element("ANALYZE TABLE", _same("ANALYZE TABLE %", "t"), errors=(1066,)),
    Element("ANALYZE TABLE: absent", _same("ANALYZE TABLE %", "absent@"), errors=(1146,)),
    Element("RENAME TABLE", _same("RENAME TABLE %", "absent@ TO gone@"), errors=(1146,)),
    Element("CREATE VIEW", _in("CREATE VIEW made AS SELECT %", _many("1")), errors=(1235, 1060)),
    Element("CREATE USER", _same("CREATE USER %", "u@ ACCOUNT LOCK"), most=300,
            after=("DROP USER IF EXISTS " + ", ".join(f"u{at}" for at in range(300)),)),
]
ELEMENTS = _READS + _WRITES

# Elements that take other ways where the tables are those of a linked server: what goes there is made
# of the tree, and what comes back is put together here.
_LINKED = {
    "items: expressions", "items: aliases", "items: t.*", "items: aggregates", "items: of groups",
    "items: DISTINCT", "items: used outside", "joins: on the primary key", "joins: left",
    "joins: wide tables", "CTEs: chain", "CTEs: of the table", "unions: of tables",
    "unions: of 300 columns", "AND: of comparisons", "AND: of LIKE", "OR: of equalities",
    "OR: of texts", "OR: of two columns", "OR: of expressions", "IN (SELECT)", "EXISTS", "HAVING", "ON",
    "IN: primary key", "IN: column", "IN: texts", "IN: NOT", "IN: expressions", "IN: of columns",
    "IN: rows", "functions: nested with a column", "CASE arms", "CASE arms of texts", "GROUP BY",
    "GROUP BY: WITH ROLLUP", "ORDER BY", "string that is compared", "comments",
}
LINKED = [element for element in ELEMENTS if element.name in _LINKED]
assert len(LINKED) == len(_LINKED), "an element has another name"
