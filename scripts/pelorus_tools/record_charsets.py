"""Writes the tables of the charsets that mirrors read: `crates/types/src/charset/tables.zst`.

`python -m pelorus_tools.record_charsets` asks a private MySQL for what `CONVERT(... USING utf8mb4)`
makes of every byte sequence of every charset, and a private MariaDB whether it says the same. Only
needed when a charset is added; `zstd` must be installed.

The file, compressed: for each charset the length of its name, its name, the number of its pages
(2 bytes, the highest first), and the pages: the length of what stands in front of the last byte, that,
and 256 code points of 2 bytes, each as its difference from the one before (65535 where the bytes are
no character). Behind a name that ends with `/4` stand the characters of four bytes of GB 18030 that
are of the basic plane, in their order, in pages as if by number.
"""

from __future__ import annotations

import subprocess
import sys

from . import machine, processes, servers
from .show import Step, fail

FILE = machine.ROOT / "crates/types/src/charset/tables.zst"
# UTF-8, the other forms of Unicode, and what is too simple for a table.
WITHOUT = {"utf8mb4", "utf8mb3", "utf8", "binary", "ascii", "latin1", "utf16", "utf16le", "utf32",
           "ucs2"}
NONE = 0xFFFF
# Characters of four bytes of GB 18030 in the basic plane.
FOURS = 39420


def prepare(cursor) -> dict[str, int]:
    """Makes a table of all sequences of up to three bytes; returns the charsets by their longest character."""
    cursor.execute("SET SESSION max_error_count = 0")
    for statement in ("CREATE DATABASE charsets", "USE charsets",
                      "CREATE TABLE b1 (x VARBINARY(4) PRIMARY KEY)", "CREATE TABLE b2 LIKE b1",
                      "CREATE TABLE b3 LIKE b1",
                      "INSERT INTO b1 VALUES " + ", ".join(f"(X'{byte:02X}')" for byte in range(256)),
                      "INSERT INTO b2 SELECT CONCAT(a.x, b.x) FROM b1 a, b1 b",
                      "INSERT INTO b3 SELECT CONCAT(X'8F', x) FROM b2"):
        cursor.execute(statement)
    cursor.execute("SHOW CHARACTER SET")
    return {row[0]: row[3] for row in cursor.fetchall() if row[0] not in WITHOUT}


def characters(cursor, charset: str, longest: int) -> dict[bytes, int]:
    """The code points of all characters of up to three bytes, by their bytes."""
    found: dict[bytes, int] = {}
    for length in range(1, min(longest, 3) + 1):
        if length == 3 and longest == 4:
            break
        text = f"CONVERT(x USING {charset})"
        cursor.execute(f"SELECT x, CAST(CONVERT({text} USING utf8mb4) AS BINARY) FROM b{length} "
                       f"WHERE CHAR_LENGTH({text}) = 1 AND CAST({text} AS BINARY) = x")
        for sequence, shown in cursor.fetchall():
            # MySQL takes some single bytes of eucjpms for characters, and lets nobody store them.
            if shown is not None and not (charset == "eucjpms" and len(sequence) == 1
                                          and sequence[0] >= 0x80):
                found[sequence] = ord(shown.decode())
    return found


def fours(cursor) -> list[int]:
    """The characters of four bytes of GB 18030 in the basic plane, in their order."""
    found = []
    for start in range(0, FOURS, 1260):
        sequences = b"".join(
            bytes((0x81 + at // 12600, 0x30 + at // 1260 % 10, 0x81 + at // 10 % 126, 0x30 + at % 10))
            for at in range(start, min(start + 1260, FOURS)))
        cursor.execute(f"SELECT CAST(CONVERT(CONVERT(X'{sequences.hex()}' USING gb18030) USING utf8mb4) "
                       "AS BINARY)")
        found += [ord(character) for character in cursor.fetchone()[0].decode()]
    assert len(found) == FOURS
    return found


def packed(name: str, pages: dict[bytes, list[int]]) -> bytes:
    """A charset as the file has it."""
    out = bytes([len(name)]) + name.encode() + len(pages).to_bytes(2)
    for prefix, values in sorted(pages.items()):
        out += bytes([len(prefix)]) + prefix
        before = 0
        for value in values:
            out += ((value - before) & 0xFFFF).to_bytes(2)
            before = value
    return out


def main() -> None:
    """The command line."""
    tables: dict[str, dict[str, dict[bytes, int]]] = {}
    whole = b""
    for server in (servers.MySql(), servers.MariaDb()):
        with Step(f"ask {server.kind}"), server.connect() as connection:
            cursor = connection.cursor()
            tables[server.kind] = {charset: characters(cursor, charset, longest)
                                   for charset, longest in prepare(cursor).items()}
            if server.kind == "mysql":
                of_four = fours(cursor)
    for charset, found in tables["mariadb"].items():
        if found != tables["mysql"].setdefault(charset, found):
            fail(f"the servers differ over {charset}")
    for charset, found in sorted(tables["mysql"].items()):
        pages: dict[bytes, list[int]] = {}
        for sequence, point in found.items():
            pages.setdefault(sequence[:-1], [NONE] * 256)[sequence[-1]] = point
        whole += packed(charset, pages)
    rows = [of_four[at:at + 256] for at in range(0, FOURS, 256)]
    whole += packed("gb18030/4", {bytes([at]): row + [NONE] * (256 - len(row))
                                  for at, row in enumerate(rows)})
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(subprocess.run(["zstd", "-19", "--ultra", "--long=24", "-c"], input=whole,
                                    stdout=subprocess.PIPE, check=True).stdout)
    print(f"{len(tables['mysql'])} charsets, {len(whole)} bytes, {FILE.stat().st_size} compressed")


if __name__ == "__main__":
    try:
        main()
    finally:
        processes.stop_all()
    sys.exit(0)
