"""How results are described to clients: queries over columns of every type, and what a server says of the
column of each, in the text protocol and when a prepared statement is executed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pymysql
from pymysql.protocol import FieldDescriptorPacket

from . import rows

TYPES = {
    "ti": "TINYINT", "tu": "TINYINT UNSIGNED", "b1": "TINYINT(1)", "si": "SMALLINT", "me": "MEDIUMINT",
    "i": "INT", "iu": "INT UNSIGNED", "iz": "INT(6) ZEROFILL", "bi": "BIGINT", "bu": "BIGINT UNSIGNED",
    "d": "DECIMAL(8,2)", "du": "DECIMAL(8,0) UNSIGNED", "f": "FLOAT", "db": "DOUBLE", "f2": "FLOAT(7,2)",
    "d2": "DOUBLE(9,3)", "bt": "BIT(9)", "y": "YEAR", "da": "DATE", "dt": "DATETIME", "d3": "DATETIME(3)",
    "ts": "TIMESTAMP(2)", "t": "TIME", "t4": "TIME(4)", "c": "CHAR(4)", "v": "VARCHAR(9)",
    "vl": "VARCHAR(9) CHARACTER SET latin1", "vb": "VARCHAR(300) COLLATE utf8mb4_bin", "tt": "TINYTEXT",
    "tx": "TEXT", "mt": "MEDIUMTEXT", "lt": "LONGTEXT", "bn": "BINARY(4)", "vbn": "VARBINARY(9)",
    "tb": "TINYBLOB", "bl": "BLOB", "mb": "MEDIUMBLOB", "lb": "LONGBLOB", "e": "ENUM('a','bb')",
    "s": "SET('a','b')", "j": "JSON", "nn": "INT NOT NULL", "vn": "VARCHAR(9) NOT NULL",
    "cn": "CHAR(4) NOT NULL", "dn": "DATE NOT NULL", "yn": "YEAR NOT NULL", "txn": "TEXT NOT NULL",
    "decn": "DECIMAL(8,2) NOT NULL", "btn": "BIT(9) NOT NULL",
}
# Where a column stands.
FORMS = (
    "SELECT {c} FROM t", "SELECT {c} FROM t GROUP BY {c}", "SELECT DISTINCT {c} FROM t",
    "SELECT x FROM (SELECT {c} AS x FROM t) q", "SELECT x FROM (SELECT {c} AS x FROM t GROUP BY {c}) q",
    "WITH q AS (SELECT {c} AS x FROM t) SELECT x FROM q", "SELECT {c} FROM t UNION SELECT {c} FROM t",
    "SELECT {c} FROM t UNION ALL SELECT {c} FROM t", "SELECT {c} FROM t UNION ALL SELECT NULL",
    "SELECT MAX({c}) FROM t", "SELECT MIN({c}) FROM t GROUP BY id", "SELECT COALESCE({c}, {c}) FROM t",
    "SELECT IF(id, {c}, {c}) FROM t", "SELECT IF(id, {c}, NULL) FROM t",
    "SELECT CASE WHEN id THEN {c} END FROM t", "SELECT IFNULL({c}, {c}) FROM t",
    "SELECT NULLIF({c}, {c}) FROM t", "SELECT COALESCE({c}, 0) FROM t", "SELECT COALESCE({c}, 'abc') FROM t",
    "SELECT COALESCE({c}, {c}) x FROM t GROUP BY x", "SELECT CASE WHEN id THEN {c} END x FROM t GROUP BY x",
    "SELECT SUM({c}) FROM t", "SELECT AVG({c}) FROM t", "SELECT COUNT({c}) FROM t",
    "SELECT ANY_VALUE({c}) FROM t", "SELECT (SELECT {c} FROM t LIMIT 1)",
    "SELECT x FROM (SELECT MAX({c}) AS x FROM t) q", "SELECT GREATEST({c}, {c}) FROM t",
    "SELECT CONCAT({c}, 'x') FROM t", "SELECT {c} FROM t ORDER BY {c} LIMIT 1",
    "SELECT a.{c} FROM t a LEFT JOIN t b ON a.id = b.id",
    "SELECT b.{c} FROM t a LEFT JOIN t b ON a.id = b.id + 5", "SELECT GROUP_CONCAT({c}) FROM t",
    "SELECT LAG({c}) OVER (ORDER BY id) FROM t", "SELECT FIRST_VALUE({c}) OVER (ORDER BY id) FROM t",
    "SELECT MAX({c}) OVER () FROM t", "SELECT {c} FROM t GROUP BY {c} WITH ROLLUP", "SELECT -{c} FROM t",
    "SELECT {c} + 1 FROM t", "SELECT {c} = {c} FROM t",
    "SELECT x FROM (SELECT COALESCE({c}, {c}) AS x FROM t LIMIT 5) q",
    "SELECT x FROM (SELECT {c} AS x FROM t UNION SELECT {c} FROM t) q", "SELECT STD({c}) FROM t",
    "SELECT BIT_OR({c}) FROM t",
)
FUNCTIONS = (
    "YEAR(da)", "MONTH(dt)", "QUARTER(da)", "DAYOFWEEK(da)", "HOUR(t)", "DATE(dt)", "TIME(dt)",
    "DATE_FORMAT(dt, '%Y')", "LAST_DAY(da)", "TO_DAYS(da)", "UNIX_TIMESTAMP(dt)", "FROM_UNIXTIME(i)",
    "DATEDIFF(da, dt)", "TIMESTAMPDIFF(DAY, da, dt)", "da + INTERVAL 1 DAY", "EXTRACT(YEAR FROM da)",
    "EXTRACT(DAY_MICROSECOND FROM dt)", "MAKEDATE(i, i)", "SEC_TO_TIME(i)", "TIMEDIFF(t, t)", "DAYNAME(da)",
    "LENGTH(v)", "UPPER(v)", "LEFT(v, 2)", "SUBSTRING(v, 2)", "TRIM(c)", "REPLACE(v, 'a', 'bb')",
    "LPAD(v, 20, 'x')", "REVERSE(v)", "HEX(v)", "INSTR(v, 'a')", "ASCII(v)", "CONCAT_WS(',', v, c)",
    "ROUND(d, 1)", "ROUND(db, 1)", "FLOOR(d)", "CEIL(db)", "ABS(i)", "ABS(d)", "SIGN(d)", "MOD(i, 3)",
    "i DIV 3", "i / 3", "d * d", "d + i", "bu + 1", "i * 1.5", "POW(i, 2)", "i & 3", "~i", "i > 3",
    "v LIKE 'a%'", "v IN ('a')", "i BETWEEN 1 AND 2", "v IS NULL", "NOT i", "i AND 1", "CAST(v AS SIGNED)",
    "CAST(v AS UNSIGNED)", "CAST(v AS DECIMAL(5,2))", "CAST(v AS DATE)", "CAST(v AS DATETIME(2))",
    "CAST(v AS BINARY)", "CAST(i AS CHAR(3))", "CAST(v AS DOUBLE)", "GREATEST(i, d)", "FIELD(v, 'a')",
    "ELT(i, 'a', 'bb')", "STRCMP(v, c)", "CONV(i, 10, 16)", "1", "-1", "1.5", "1e0", "'abc'", "NULL", "TRUE",
    "X'41'", "DATE'2024-01-01'", "@n", "@d", "ROW_NUMBER() OVER (ORDER BY id)", "COUNT(*) OVER ()",
    "SUM(i) OVER ()", "COALESCE(y, i)", "COALESCE(da, dt)", "COALESCE(i, v)", "COALESCE(ti, bu)",
    "COALESCE(y, y)", "IF(i, da, 'x')", "CASE WHEN i THEN 1 ELSE 'a' END", "CASE i WHEN 1 THEN d ELSE f END",
    "IFNULL(d, 0)", "NULLIF(i, 'a')", "GREATEST(da, dt)",
)
# Where a function stands.
PLACES = (
    "SELECT {e} AS x FROM t", "SELECT {e} AS x FROM t GROUP BY x", "SELECT x FROM (SELECT {e} AS x FROM t) q",
    "SELECT x FROM (SELECT {e} AS x FROM t LIMIT 3) q", "SELECT {e} AS x FROM t UNION SELECT {e} FROM t",
    "WITH q AS (SELECT {e} AS x FROM t GROUP BY x) SELECT x FROM q", "SELECT MAX({e}) AS x FROM t",
    "SELECT COALESCE({e}, NULL) AS x FROM t", "SELECT DISTINCT {e} AS x FROM t",
)


@dataclass(frozen=True)
class Described:
    """What a server says of a column."""

    type: str
    length: int
    charset: int
    decimals: int
    flags: int


def queries() -> Iterator[tuple[str, str]]:
    """Queries with what they are about: where it stands, and which column or function."""
    for column in TYPES:
        for form in FORMS:
            yield f"{form} | {column}", form.format(c=column)
    for function in FUNCTIONS:
        for place in PLACES:
            yield f"{place} | {function}", place.format(e=function)
    for one in TYPES:
        for other in TYPES:
            if one != other:
                yield f"UNION | {one} {other}", f"SELECT {one} FROM t UNION ALL SELECT {other} FROM t"
                yield f"COALESCE | {one} {other}", f"SELECT COALESCE({one}, {other}) FROM t"


def definitions(database: str) -> list[str]:
    """Statements that make the table and its row."""
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    values = ", ".join(_value(kind) for kind in TYPES.values())
    return [f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}",
            f"CREATE TABLE {database}.t (id INT PRIMARY KEY, {columns})",
            f"INSERT INTO {database}.t VALUES (1, {values})"]


def _value(kind: str) -> str:
    for begin, value in (("DATE", "'2024-01-02'"), ("TIMESTAMP", "'2024-01-02'"), ("TIME", "'10:00:00'"),
                         ("JSON", "'{}'"), ("YEAR", "2024")):
        if kind.startswith(begin):
            return value
    words = ("CHAR", "TEXT", "BLOB", "ENUM", "SET", "BINARY")
    return "'a'" if any(word in kind for word in words) else "1"


def text(connection, query: str) -> Described | int:
    """What a server says of the first column, or the number of an error."""
    answer = rows.ask(connection, query)
    if answer.error:
        return answer.error[0]
    column = answer.columns[0]
    return Described(column.type, column.length, column.charset, column.decimals, column.flags)


def executed(connection, query: str) -> Described | int:
    """The same of a prepared statement when it is executed."""
    try:
        connection._execute_command(0x16, query.encode())
        head = connection._read_packet().get_all_data()
        number, columns, _ = struct.unpack_from("<IHH", head, 1)
        for _ in range(columns + 1 if columns else 0):
            connection._read_packet()
        connection._execute_command(0x17, struct.pack("<IBI", number, 0, 1))
        count = connection._read_packet().get_all_data()[0]
        fields = [connection._read_packet(FieldDescriptorPacket) for _ in range(count)]
        connection._read_packet()
        while not connection._read_packet().is_eof_packet():
            pass
        connection._execute_command(0x19, struct.pack("<I", number))
    except pymysql.MySQLError as error:
        return error.args[0]
    field = fields[0]
    name = rows.TYPE_NAMES.get(field.type_code, str(field.type_code))
    return Described(name, field.length, field.charsetnr, field.scale, field.flags)
