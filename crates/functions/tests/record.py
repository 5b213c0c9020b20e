"""Records what a real MySQL server answers to the statements of the function tests.

Usage: record.py HOST PORT USER PASSWORD. Needs PyMySQL. Writes expected/*.tsv beside this file.
Statements come from tests/sql/expressions/*.sql at the root of the repository (no tables) and from
columns/*.sql beside this file (on the table `t` that table.sql makes).

A line of the output is the statement, then either `ERROR number` or, for each column,
`type,length,decimals,charset,flags` and the values of all rows in hexadecimal (`-` is NULL,
`.` the empty string) joined by `|`, and last the numbers of the warnings.
"""
import glob
import os
import sys

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


def statements(path):
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        # The clock stands still for all of them.
        if line and not line.startswith(("--", "SET ")):
            yield line


def run(cursor, text):
    try:
        cursor.execute(text.rstrip(";"))
        rows = cursor.fetchall()
    except pymysql.err.Error as error:
        return [f"ERROR {error.args[0]}"]
    out = []
    for at, field in enumerate(getattr(cursor._result, "fields", None) or []):
        out.append(f"{field.type_code},{field.length},{field.scale},{field.charsetnr},{field.flags}")
        out.append("|".join(value(row[at]) for row in rows))
    warnings = ""
    if cursor._result.warning_count:
        cursor.execute("SHOW WARNINGS")
        warnings = ",".join(str(row[1]) for row in cursor.fetchall())
    return out + [warnings]


def value(found):
    if found is None:
        return "-"
    data = found if isinstance(found, bytes) else found.encode("utf-8")
    return data.hex() or "."


def main():
    host, port, user, password = sys.argv[1:5]
    encoders = {k: v for k, v in pymysql.converters.conversions.items() if not isinstance(k, int)}
    connection = pymysql.connect(host=host, port=int(port), user=user, password=password,
                                 charset="utf8mb4", autocommit=True, conv=encoders)
    cursor = connection.cursor()
    cursor.execute("SET NAMES utf8mb4")
    cursor.execute("SET time_zone = '+00:00'")
    cursor.execute("CREATE DATABASE IF NOT EXISTS fn_expressions")
    cursor.execute("USE fn_expressions")
    mode = "SELECT @@sql_mode"
    cursor.execute(mode)
    usual = cursor.fetchone()[0]
    cursor.execute("SET sql_mode = ''")
    for line in statements(os.path.join(HERE, "table.sql")):
        cursor.execute(line)
    cursor.execute("SET sql_mode = %s", (usual,))
    # The day that CURRENT_DATE and its kind see.
    cursor.execute("SET timestamp = 1700000000.25")
    target = os.path.join(HERE, "expected")
    os.makedirs(target, exist_ok=True)
    jobs = [(path, "") for path in sorted(glob.glob(os.path.join(ROOT, "tests/sql/expressions/*.sql")))]
    jobs += [(path, "columns-") for path in sorted(glob.glob(os.path.join(HERE, "columns/*.sql")))]
    for path, prefix in jobs:
        name = prefix + os.path.basename(path)[:-4] + ".tsv"
        with open(os.path.join(target, name), "w", encoding="utf-8") as out:
            for text in statements(path):
                out.write("\t".join([text] + run(cursor, text)) + "\n")
    with open(os.path.join(target, "table.tsv"), "w", encoding="utf-8") as out:
        cursor.execute("SELECT * FROM t ORDER BY id")
        names = [field.name for field in cursor._result.fields]
        text = "SELECT * FROM t ORDER BY id"
        out.write("\t".join([",".join(names)] + run(cursor, text)) + "\n")
    cursor.execute("DROP DATABASE fn_expressions")


if __name__ == "__main__":
    main()
