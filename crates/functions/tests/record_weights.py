"""Records the sort weights of characters from a real MySQL server into src/collate/*.bin.

Usage: record_weights.py HOST PORT USER PASSWORD. Needs PyMySQL.

A file is a row of runs: first code point (3 bytes), number of code points (2 bytes), then for each
the number of weights (1 byte) and the weights (2 bytes each); big-endian throughout. Code points in
no run have the weights of the Unicode collation algorithm's implicit formula (0900), of their
canonical parts (Hangul syllables), the code point itself (general), or none that are known.
"""
import os
import struct
import sys

import pymysql

TARGET = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src/collate")


def weights(cursor, collation, points):
    out = {}
    for at in range(0, len(points), 500):
        part = points[at:at + 500]
        cursor.execute("SELECT " + ",".join(
            f"WEIGHT_STRING(_utf8mb4 0x{chr(p).encode().hex()} COLLATE {collation})" for p in part))
        out.update(zip(part, (bytes(w) for w in cursor.fetchone())))
    return out


def implicit(point, wide):
    if 0x4E00 <= point <= (0x9FD5 if wide else 0x9FA5) or (0xF900 <= point <= 0xFAFF and point in (
            0xFA0E, 0xFA0F, 0xFA11, 0xFA13, 0xFA14, 0xFA1F, 0xFA21, 0xFA23, 0xFA24, 0xFA27, 0xFA28, 0xFA29)):
        base = 0xFB40
    elif 0x3400 <= point <= 0x4DB5:
        base = 0xFB80
    else:
        base = 0xFBC0
    return struct.pack(">HH", base + (point >> 15), (point & 0x7FFF) | 0x8000)


def write(name, table):
    points = sorted(table)
    out = b""
    at = 0
    while at < len(points):
        end = at
        while end + 1 < len(points) and points[end + 1] == points[end] + 1 and end - at < 60000:
            end += 1
        out += points[at].to_bytes(3, "big") + struct.pack(">H", end - at + 1)
        for point in points[at:end + 1]:
            out += bytes([len(table[point]) // 2]) + table[point]
        at = end + 1
    with open(os.path.join(TARGET, name), "wb") as file:
        file.write(out)
    print(name, len(points), "code points,", len(out), "bytes")


def cases(cursor, collation, points):
    out = {}
    for at in range(0, len(points), 300):
        part = points[at:at + 300]
        cursor.execute("SELECT " + ",".join(
            f"{f}(_utf8mb4 0x{chr(p).encode().hex()} COLLATE {collation})"
            for p in part for f in ("UPPER", "LOWER")))
        row = cursor.fetchone()
        for number, point in enumerate(part):
            out[point] = row[2 * number], row[2 * number + 1]
    return out


def write_cases(name, table):
    """Code point, upper case and lower case, 3 bytes each; 0 where MySQL gives no single character."""
    out = b""
    for point, pair in sorted(table.items()):
        if pair != (chr(point), chr(point)):
            out += point.to_bytes(3, "big")
            for text in pair:
                out += (ord(text) if len(text) == 1 else 0).to_bytes(3, "big")
    with open(os.path.join(TARGET, name), "wb") as file:
        file.write(out)
    print(name, len(out), "bytes")


def main():
    host, port, user, password = sys.argv[1:5]
    connection = pymysql.connect(host=host, port=int(port), user=user, password=password, charset="utf8mb4")
    cursor = connection.cursor()
    plane = [p for p in range(0x10000) if not 0xD800 <= p < 0xE000]
    found = weights(cursor, "utf8mb4_general_ci", plane)
    write("general.bin", {p: w for p, w in found.items() if w != struct.pack(">H", p)})
    hangul = range(0xAC00, 0xD7A4)
    extra = list(range(0x1D400, 0x1D800)) + list(range(0x1F000, 0x20000))
    found = weights(cursor, "utf8mb4_0900_ai_ci", plane + extra)
    write("uca900.bin", {p: w for p, w in found.items() if w != implicit(p, True) and p not in hangul})
    found = weights(cursor, "utf8mb4_unicode_ci", plane)
    write("uca400.bin", {p: w for p, w in found.items() if w != implicit(p, False) and p not in hangul})
    points = [p for p in range(0x80, 0x20000) if not 0xD800 <= p < 0xE000]
    write_cases("case_general.bin", cases(cursor, "utf8mb4_general_ci", points))
    write_cases("case_900.bin", cases(cursor, "utf8mb4_0900_ai_ci", points))


if __name__ == "__main__":
    main()
