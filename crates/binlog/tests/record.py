"""Records the binlog files of `tests/data` from real servers, with what SELECT gives at the end.

    python3 crates/binlog/tests/record.py mysql HOST PORT USER PASSWORD BINLOG_FOLDER
    python3 crates/binlog/tests/record.py mariadb HOST PORT USER PASSWORD BINLOG_FOLDER

The server needs a binlog whose files this program can read, and an account that may do everything.
Every scenario gives (`stream` what a dump sends instead of a file) `KIND_NAME.binlog` and `KIND_NAME.json`: for each table its columns, in the
terms of the protocol (type, flags, collation, length, decimals, members of ENUM and SET), and its
rows as text (UTF-8, `x:` with hexadecimal digits, or `crc:` with CRC-32 and length).
"""

from __future__ import annotations

import json
import re
import struct
import sys
import zlib
from pathlib import Path

import pymysql

DATA = Path(__file__).parent / "data"

INTS = ["TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"]
BITS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}


def numbers(_kind: str) -> list[str]:
    columns, low, high = [], [], []
    for name in INTS:
        bits = BITS[name]
        columns += [f"{name.lower()}_s {name}", f"{name.lower()}_u {name} UNSIGNED"]
        low += [str(-(1 << bits - 1)), "0"]
        high += [str((1 << bits - 1) - 1), str((1 << bits) - 1)]
    decimals = [(1, 0), (9, 9), (10, 2), (18, 4), (38, 10), (65, 30), (65, 0), (30, 30)]
    for p, s in decimals:
        columns.append(f"d{p}_{s} DECIMAL({p},{s})")
        text = ("9" * (p - s) or "0") + ("." + "9" * s if s else "")
        low.append("-" + text)
        high.append(text)
    columns += ["f FLOAT", "g DOUBLE", "b1 BIT(1)", "b10 BIT(10)", "b64 BIT(64)", "y YEAR",
                "du DECIMAL(12,3) UNSIGNED", "fu FLOAT UNSIGNED"]
    low += ["-1.5", "-1.7976931348623157e308", "b'0'", "b'0'", "0", "0", "0", "0"]
    high += ["3.25e10", "2.2250738585072014e-308", "b'1'", "b'1000000001'",
             "18446744073709551615", "2155", "123456789.125", "0.1"]
    count = len(columns)
    assert count % 2 == 0
    return [
        f"CREATE TABLE numbers (id INT PRIMARY KEY, {', '.join(columns)})",
        f"INSERT INTO numbers VALUES (1, {', '.join(low)}), (2, {', '.join(high)})",
        f"INSERT INTO numbers VALUES (3{', NULL' * count})",
        f"INSERT INTO numbers VALUES (4{', NULL, 0' * (count // 2)}), (5{', 0' * count})",
        "UPDATE numbers SET bigint_s = -1, d38_10 = -0.5, d65_30 = 0.000000000000000000000000000001, "
        "g = 0.1 WHERE id IN (1, 3)",
        "UPDATE numbers SET int_s = id WHERE id = 4",
        "DELETE FROM numbers WHERE id = 5",
    ]


def times(kind: str) -> list[str]:
    columns = ["d DATE", "y YEAR"]
    for fsp in range(7):
        columns += [f"t{fsp} TIME({fsp})", f"dt{fsp} DATETIME({fsp})",
                    f"ts{fsp} TIMESTAMP({fsp}) NULL"]
    def row(date, year, time, datetime, stamp):
        return f"'{date}', {year}, " + ", ".join([f"'{time}', '{datetime}', '{stamp}'"] * 7)
    return [
        f"CREATE TABLE times (id INT PRIMARY KEY, {', '.join(columns)})",
        "SET time_zone = '+00:00', sql_mode = ''",
        "INSERT INTO times VALUES "
        f"(1, {row('0000-00-00', 0, '00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00')}), "
        f"(2, {row('9999-12-31', 1901, '838:59:58.999999', '9999-12-31 23:59:58.999999', '2038-01-19 03:14:06.999999')}), "
        f"(3, {row('2024-02-00', 2155, '-838:59:58.999999', '2024-00-00 12:34:56.1', '1970-01-01 00:00:01')}), "
        f"(4, {row('1000-01-01', 2000, '-00:00:00.000001', '1000-01-01 00:00:00.000001', '2001-09-09 01:46:40.123456')}), "
        f"(5, {row('2024-02-29', 1999, '-00:00:01.5', '2024-02-29 01:02:03.654321', '2024-02-29 01:02:03.654321')})",
        f"INSERT INTO times (id) VALUES (6)",
        "UPDATE times SET t6 = '-12:34:56.000001', t3 = '-00:00:00.25', d = '2000-01-01' WHERE id > 3",
    ]


def strings(kind: str) -> list[str]:
    more = {"mysql": "v VECTOR(3), j JSON, ", "mariadb": "u UUID, i6 INET6, i4 INET4, j JSON, vcc VARCHAR(400) COMPRESSED, tc TEXT COMPRESSED, "
                       "bc BLOB COMPRESSED, "}[kind]
    values = {"mysql": "TO_VECTOR('[1,2,-3.5]'), '{}', ",
              "mariadb": "'123e4567-e89b-12d3-a456-426655440000', '2001:db8::ff00:42:8329', '10.0.255.1', '{\"a\": 1}', REPEAT('é', 200), REPEAT('t', 400), REPEAT('b', 300), "}[kind]
    other = {"mysql": "NULL, '[1, 2.5, \"x\"]', ",
             "mariadb": "'00112233-4455-7677-8899-aabbccddeeff', '::', '0.0.0.0', NULL, '', 'short', NULL, "}[kind]
    third = {"mysql": "TO_VECTOR('[0,0,0]'), NULL, ",
             "mariadb": "'fffffffe-ffff-4fff-bfff-ffffffffff00', '::ffff:1.2.3.4', '255.255.255.255', '[]', 'v', '', X'00', "}[kind]
    return [
        "CREATE TABLE strings (id INT PRIMARY KEY, c CHAR(10), c255 CHAR(255), vc VARCHAR(10), "
        "vl VARCHAR(500), tt TINYTEXT, t TEXT, mt MEDIUMTEXT, lt LONGTEXT, b BINARY(8), "
        "b255 BINARY(255), vb VARBINARY(20), tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB, "
        "l1 VARCHAR(20) CHARACTER SET latin1, u16 VARCHAR(20) CHARACTER SET utf16, "
        "u2 TEXT CHARACTER SET ucs2, u32 CHAR(5) CHARACTER SET utf32, le CHAR(5) CHARACTER SET utf16le, "
        "a VARCHAR(20) CHARACTER SET ascii, g VARCHAR(20) CHARACTER SET gbk, u3 CHAR(9) CHARACTER SET utf8mb3, "
        f"{more}e ENUM('red','grün','blue') , s SET('a','b','ç','d'), "
        "e1 ENUM('é','x') CHARACTER SET latin1, p POINT, ge GEOMETRY) CHARACTER SET utf8mb4",
        "SET sql_mode = ''",
        "INSERT INTO strings VALUES (1, 'a  ', REPEAT('日', 255), 'x ', REPEAT('y', 300), 'tiny', "
        "REPEAT('t', 300), 'medium', 'long😀', 'ab', REPEAT('z', 250), '0', 'tb', REPEAT('b', 257), "
        "X'00FF', X'', 'café €', '😀é', 'ucs', '日😀', 'le日', 'ascii', 'gbk', '€', "
        f"{values}'grün', 'a,ç', 'é', ST_GeomFromText('POINT(1 2)'), "
        "ST_GeomFromText('LINESTRING(0 0,1 1)'))",
        "INSERT INTO strings VALUES (2, '', '', '', '', '', '', '', '', '', X'0001', X'2000', '', "
        f"'', '', '', '', '', '', '', '', '', '', '', {other}'nothing', '', 'x', NULL, NULL)",
        "INSERT INTO strings (id) VALUES (3)",
        "INSERT INTO strings VALUES (4, 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', X'2020202020202020', "
        "X'0020', X'00', X'00', X'0000', '', '', 'ß', 'ß', 'ß', 'ß', 'ß', 'a', 'b', 'c', "
        f"{third}'blue', 'a,b,ç,d', NULL, NULL, ST_GeomFromText('POINT(-1 1e100)'))",
        "UPDATE strings SET vc = 'changed', t = NULL, e = 'red', s = 'd' WHERE id < 3",
        "DELETE FROM strings WHERE id = 3",
    ]


def transactions(kind: str) -> list[str]:
    flow = [
        "CREATE TABLE flow (id INT PRIMARY KEY, a VARCHAR(30), b INT)",
        "BEGIN", "INSERT INTO flow VALUES (1, 'one', 1), (2, 'two', 2)",
        "UPDATE flow SET b = b + 10", "DELETE FROM flow WHERE id = 1", "COMMIT",
        "BEGIN", "INSERT INTO flow VALUES (3, 'three', 3)", "SAVEPOINT s",
        "INSERT INTO flow VALUES (4, 'four', 4)", "ROLLBACK TO s", "COMMIT",
        "XA START 'x1','y',7", "INSERT INTO flow VALUES (5, 'xa', 5)", "XA END 'x1','y',7",
        "XA PREPARE 'x1','y',7", "XA COMMIT 'x1','y',7",
        "ALTER TABLE flow ADD COLUMN c DECIMAL(5,2) DEFAULT 1.25 AFTER a",
        "UPDATE flow SET a = CONCAT(a, '!'), c = id WHERE id > 2",
        "CREATE TABLE flow2 AS SELECT id, a FROM flow", "TRUNCATE TABLE flow2",
        "INSERT INTO flow2 VALUES (1, 'x')", "DROP TABLE flow2",
        "/* été */ CREATE TABLE `tête` (id INT PRIMARY KEY, `ça` VARCHAR(5))",
        "INSERT INTO `tête` VALUES (1, 'été')",
    ]
    return flow


def many(_kind: str) -> list[str]:
    values = ", ".join(f"({i}, 'row {i % 7} of many', {i * 37 % 1000})" for i in range(600))
    return ["CREATE TABLE many (id INT PRIMARY KEY, a VARCHAR(40), b INT)",
            f"INSERT INTO many VALUES {values}", "UPDATE many SET b = b + 1 WHERE id < 300",
            "DELETE FROM many WHERE id > 590"]


def wide(_kind: str) -> list[str]:
    return [
        "CREATE TABLE wide (id INT PRIMARY KEY, a INT, t TEXT, b VARCHAR(20), bl BLOB, c INT DEFAULT 7)",
        "INSERT INTO wide (id, a) VALUES (1, 10)",
        "INSERT INTO wide VALUES (2, 20, 'text', 'b', 'blob', 1), (3, 30, 'text3', 'b3', 'blob3', 3)",
        "UPDATE wide SET a = 11 WHERE id = 1", "UPDATE wide SET t = 'new', c = NULL WHERE id = 2",
        "UPDATE wide SET bl = REPEAT('x', 300), b = NULL WHERE id = 3", "DELETE FROM wide WHERE id = 3",
    ]


JSONS = [
    "null", "true", "false", "0", "-1", "32767", "65535", "-2147483648", "4294967295",
    "-9223372036854775808", "18446744073709551615", "1.5", "1e20", "1.0", "1e-7", "1e15", "1e14",
    "123456789012345678901234567890", "-0.0", "1.7976931348623157e308", "0.1",
    '"text"', '""', '"q\\"b\\\\s\\/n\\nt\\tu\\u0001\\u007f é 😀"', "[]", "{}",
    '[1, "a", null, true, [2, [3]], {"k": {}}]',
    '{"b": 1, "a": 2, "aa": [1, 2, 3], "": "empty", "é": 1.25, "long key with spaces": null}',
]


def documents(kind: str) -> list[str]:
    out = ["CREATE TABLE documents (id INT PRIMARY KEY AUTO_INCREMENT, j JSON)"]
    out += ["INSERT INTO documents (j) VALUES ('" + j.replace("\\", "\\\\").replace("'", "''") + "')"
            for j in JSONS]
    for expression in [
            "JSON_ARRAY(CAST('2024-02-29 01:02:03.5' AS DATETIME(6)), CAST('2024-02-29' AS DATE), "
            "CAST('-12:34:56.25' AS TIME(6)), CAST(1.50 AS DECIMAL(10,2)), CAST(-99999999999999999999.125 AS DECIMAL(30,3)))",
            "JSON_OBJECT('b', CAST(REPEAT('x', 100) AS BINARY), 'c', X'00FF', 'y', CAST(2024 AS YEAR), 'bit', b'101')",
            "JSON_ARRAY(ST_GeomFromText('POINT(1 2)'), TIMESTAMP'2000-01-01 00:00:00')",
            "JSON_ARRAY(REPEAT('long', 100), REPEAT('x', 2000))"]:
        out.append(f"INSERT INTO documents (j) VALUES ({expression})")
    large = "[" + ", ".join(str(i * 100000) for i in range(900)) + "]"
    out.append(f"INSERT INTO documents (j) VALUES ('{large}'), (NULL)")
    return out


def large(_kind: str) -> list[str]:
    return [
        "CREATE TABLE large (id INT PRIMARY KEY, j JSON, t LONGTEXT)",
        "INSERT INTO large VALUES (1, JSON_OBJECT('k', JSON_ARRAY(REPEAT('y', 70000), 1, 70000, NULL), "
        "'b', -70000, 'u', 3000000000, 'd', 1.5), REPEAT('z', 70000))",
        "UPDATE large SET t = 'x', j = JSON_SET(j, '$.k[1]', 'one')",
    ]


def order(kind: str) -> list[str]:
    v = {"mysql": "v VECTOR(2)", "mariadb": "v UUID"}[kind]
    return [
        f"CREATE TABLE `order` (id INT PRIMARY KEY, p POINT, {v}, j JSON, e ENUM('a','b') CHARACTER SET ascii, "
        "l VARCHAR(10) CHARACTER SET latin1, y YEAR, u INT UNSIGNED, b BLOB, w VARCHAR(10) CHARACTER SET utf16, "
        "bit_ BIT(3), n SMALLINT, x TEXT CHARACTER SET utf8mb4, f FLOAT UNSIGNED, z BIGINT UNSIGNED, "
        "s SET('é','b') CHARACTER SET latin1)",
        "INSERT INTO `order` VALUES (1, ST_GeomFromText('POINT(1 2)'), NULL, '{}', 'b', 'é', 2000, 4294967295, "
        "X'E9', 'é', b'101', -2, 'é', 1.5, 18446744073709551615, 'é,b')",
        "INSERT INTO `order` (id, l, w, x, e) VALUES (2, 'ß', 'ß', 'ß', 'a')",
    ]


def internet(_kind: str) -> list[str]:
    values = ["('::1.2.3.4', NULL)", "('2001:db8:0:1:1:1:1:1', '6ba7b810-9dad-11d1-80b4-00c04fd430c8')",
              "('1::', '018f3c3a-7b1c-7def-8123-456789abcdef')", "('0:0:1::', '00000000-0000-0000-0000-000000000000')",
              "('::1', 'ffffffff-ffff-ffff-ffff-ffffffffffff')", "('fe80::a:0:0:b', '1ec9414c-232a-6b00-b3c8-9f6bdeced846')",
              "('1:0:0:2:0:0:0:3', '00000001-0000-1000-8000-000000000000')"]
    rows = ", ".join(f"({i}, {v[1:]}" for i, v in enumerate(values))
    return ["CREATE TABLE internet (id INT PRIMARY KEY, i INET6, u UUID)",
            f"INSERT INTO internet VALUES {rows}"]


def partial(_kind: str) -> list[str]:
    return [
        "CREATE TABLE partial (id INT PRIMARY KEY, a INT, j JSON, k JSON, t TEXT)",
        "INSERT INTO partial VALUES "
        "(1, 1, '{\"a\": 1, \"b\": [1, 2, 3], \"c\": {\"d\": \"some longer text here\"}}', '[1, 2, 3, 4]', 't'), "
        "(2, 2, '[\"aaaaaaaaaaaaaaaaaaaa\", {\"x y\": 1, \"q\\\\\"\": \"zzzzzzzzzzz\"}]', NULL, 'u'), "
        "(3, 3, NULL, '{\"k\": 1}', 'v')",
        "UPDATE partial SET j = JSON_SET(j, '$.a', 100) WHERE id = 1",
        "UPDATE partial SET j = JSON_SET(j, '$.c.d', 'short', '$.b[1]', JSON_OBJECT()) WHERE id = 1",
        "UPDATE partial SET j = JSON_REMOVE(j, '$.b[0]', '$.c'), a = 5 WHERE id = 1",
        "UPDATE partial SET j = JSON_SET(j, '$.zz', JSON_ARRAY(1, 'x'), '$.aa', 1.5), k = JSON_SET(k, '$[4]', 5, '$[0]', 'x') WHERE id = 1",
        "UPDATE partial SET j = JSON_REPLACE(j, '$[0]', 'b', '$[1].\"x y\"', CAST('2024-01-01' AS DATE)) WHERE id = 2",
        "UPDATE partial SET j = JSON_SET(j, '$[1].\"q\\\\\"\"', 'y') WHERE id = 2",
        "UPDATE partial SET j = JSON_REMOVE(j, '$[0]'), k = '[9]' WHERE id = 2",
        "UPDATE partial SET k = JSON_SET(k, '$.k', 2), a = a + 1, j = '{}' WHERE id = 3",
        "UPDATE partial SET k = JSON_SET(k, '$[1]', 77) WHERE id = 1",
        "UPDATE partial SET a = a + 1", "DELETE FROM partial WHERE id = 3",
    ]


def tagged(_kind: str) -> list[str]:
    return ["CREATE TABLE tagged (id INT PRIMARY KEY)", "SET gtid_next = 'AUTOMATIC:my_tag'",
            "INSERT INTO tagged VALUES (1)", "INSERT INTO tagged VALUES (2)",
            "SET gtid_next = 'AUTOMATIC'", "INSERT INTO tagged VALUES (3)"]


FULL = ["SET GLOBAL binlog_row_metadata = FULL"]
MYSQL = {
    "numbers": (numbers, FULL), "times": (times, FULL), "strings": (strings, FULL),
    "numbers_bare": (numbers, ["SET GLOBAL binlog_row_metadata = MINIMAL"]),
    "strings_bare": (strings, ["SET GLOBAL binlog_row_metadata = MINIMAL"]),
    "transactions": (transactions, FULL), "many": (many, FULL),
    "unchecked": (transactions, [*FULL, "SET GLOBAL binlog_checksum = NONE"]),
    "compressed": (many, [*FULL, "SET binlog_transaction_compression = ON"]),
    "compressed_flow": (transactions, [*FULL, "SET binlog_transaction_compression = ON"]),
    "minimal": (wide, [*FULL, "SET binlog_row_image = MINIMAL"]),
    "noblob": (wide, [*FULL, "SET binlog_row_image = NOBLOB"]),
    "documents": (documents, FULL), "order": (order, FULL),
    "large": (large, [*FULL, "SET binlog_transaction_compression = ON",
                      "SET binlog_row_value_options = PARTIAL_JSON"]),
    "partial": (partial, [*FULL, "SET binlog_row_value_options = PARTIAL_JSON"]),
    "partial_minimal": (partial, [*FULL, "SET binlog_row_value_options = PARTIAL_JSON",
                                  "SET binlog_row_image = MINIMAL"]),
    "tagged": (tagged, [*FULL, "SET binlog_rows_query_log_events = ON"]),
}
MARIADB = {
    "numbers": (numbers, FULL), "times": (times, FULL), "strings": (strings, FULL),
    "strings_bare": (strings, ["SET GLOBAL binlog_row_metadata = NO_LOG"]),
    "numbers_bare": (numbers, ["SET GLOBAL binlog_row_metadata = NO_LOG"]),
    "transactions": (transactions, FULL), "order": (order, FULL), "internet": (internet, FULL),
    "unchecked": (transactions, [*FULL, "SET GLOBAL binlog_checksum = NONE"]),
    "compressed": (many, [*FULL, "SET GLOBAL log_bin_compress = ON",
                          "SET GLOBAL log_bin_compress_min_len = 10"]),
    "minimal": (wide, [*FULL, "SET binlog_row_image = MINIMAL"]),
    "noblob": (wide, [*FULL, "SET binlog_row_image = NOBLOB"]),
}
RESET = {
    "mysql": ["SET GLOBAL binlog_checksum = CRC32"],
    "mariadb": ["SET GLOBAL binlog_checksum = CRC32", "SET GLOBAL log_bin_compress = OFF"],
}


def shown(value):
    if value is None:
        return None
    if len(value) > 3000:
        return f"crc:{zlib.crc32(value):08x}:{len(value)}"
    try:
        text = value.decode("utf-8")
        return "x:" + value.hex() if text.startswith("x:") or "\0" in text else text
    except UnicodeDecodeError:
        return "x:" + value.hex()


def members(declared: str) -> list[str] | None:
    if not declared.lower().startswith(("enum(", "set(")):
        return None
    return [m.replace("''", "'") for m in re.findall(r"'((?:[^']|'')*)'", declared)]


def expected(connection, database: str) -> list[dict]:
    tables = []
    with connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute("SHOW TABLES")
        for (name,) in cursor.fetchall():
            cursor.execute("SELECT column_name, column_type, data_type, collation_name FROM information_schema.columns "
                           "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
                           (database, name))
            declared = cursor.fetchall()
            # The raw texts of the protocol, without PyMySQL's conversions.
            raw = pymysql.connect(**CONNECT, database=database, conv={}, use_unicode=False)
            with raw.cursor() as other:
                other.execute("SET time_zone = '+00:00'")
                other.execute(f"SELECT * FROM `{name}` ORDER BY id")
                rows = other.fetchall()
                fields = other._result.fields
            raw.close()
            columns = [{"name": str(d[0]), "wire": f.type_code, "flags": f.flags,
                        "collation": f.charsetnr, "length": f.length, "decimals": f.scale,
                        "members": members(str(d[1])), "declared": str(d[2]), "charset": d[3]}
                       for d, f in zip(declared, fields, strict=True)]
            tables.append({"name": name, "columns": columns,
                           "rows": [[shown(v) for v in row] for row in rows]})
    return tables


def record(kind: str, name: str, statements: list[str], setup: list[str], folder: Path) -> None:
    connection = pymysql.connect(**CONNECT)
    with connection.cursor() as cursor:
        cursor.execute("SET sql_log_bin = 0")
        cursor.execute("DROP DATABASE IF EXISTS rec")
        cursor.execute("CREATE DATABASE rec")
        cursor.execute("SET sql_log_bin = 1")
        cursor.execute("USE rec")
        for statement in [*RESET[kind], *setup, "FLUSH BINARY LOGS"]:
            cursor.execute(statement)
        status = "SHOW BINARY LOG STATUS" if kind == "mysql" else "SHOW MASTER STATUS"
        cursor.execute(status)
        file = cursor.fetchone()[0]
        for statement in statements:
            try:
                cursor.execute(statement)
            except pymysql.Error as error:
                print(f"{kind} {name}: {statement[:100]}: {error}")
        cursor.execute("SET SESSION gtid_next = 'AUTOMATIC'" if kind == "mysql" else "DO 0")
        cursor.execute("FLUSH BINARY LOGS")
    bytes_ = (folder / (file if isinstance(file, str) else file.decode())).read_bytes()
    (DATA / f"{kind}_{name}.binlog").write_bytes(bytes_)
    told = {"file": file, "tables": expected(connection, "rec")}
    (DATA / f"{kind}_{name}.json").write_text(json.dumps(told, ensure_ascii=False, indent=0) + "\n")
    print(f"{kind}_{name}: {len(bytes_)} bytes, {[(t['name'], len(t['rows'])) for t in told['tables']]}")
    connection.close()


def stream(kind: str, checksum: str) -> None:
    """What the server sends for COM_BINLOG_DUMP (without waiting) from the beginning of its last file."""
    connection = pymysql.connect(**CONNECT)
    with connection.cursor() as cursor:
        for statement in [*RESET[kind], "FLUSH BINARY LOGS", "CREATE DATABASE IF NOT EXISTS rec",
                          "CREATE OR REPLACE VIEW rec.v AS SELECT 1"]:
            cursor.execute(statement)
        cursor.execute("SHOW BINARY LOG STATUS" if kind == "mysql" else "SHOW MASTER STATUS")
        file = cursor.fetchone()[0]
        source = "source" if kind == "mysql" else "master"
        cursor.execute(f"SET @{source}_binlog_checksum = '{checksum}', @mariadb_slave_capability = 4")
    # The position, the flag not to wait, a server's number, the file.
    connection._execute_command(0x12, struct.pack("<IHI", 4, 1, 99) + file.encode())
    events = b""
    while not (packet := connection._read_packet()).is_eof_packet():
        events += packet.get_all_data()[1:]
    connection.close()
    name = f"{kind}_stream_{checksum.lower()}"
    (DATA / f"{name}.binlog").write_bytes(b"\xfebin" + events)
    print(f"{name}: {len(events)} bytes")


if __name__ == "__main__":
    KIND, HOST, PORT, USER, PASSWORD, FOLDER = sys.argv[1:7]
    CONNECT = {"host": HOST, "port": int(PORT), "user": USER, "password": PASSWORD,
               "charset": "utf8mb4", "autocommit": True}
    wanted = sys.argv[7:]
    for scenario, (make, before) in {"mysql": MYSQL, "mariadb": MARIADB}[KIND].items():
        if not wanted or scenario in wanted:
            record(KIND, scenario, make(KIND), before, Path(FOLDER))
    for checksum_ in ["CRC32", "NONE"]:
        if not wanted or "stream" in wanted:
            stream(KIND, checksum_)
