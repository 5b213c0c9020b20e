"""Records the sort weights of characters from a real server into src/collation/*.bin.

Usage: record_weights.py HOST PORT USER PASSWORD. Needs PyMySQL. A MySQL gives all but those of
uca1400, which a MariaDB (11.8) gives.

A file is a row of runs: first code point (3 bytes), number of code points (2 bytes), then for each
the number of weights (1 byte) and the weights (2 bytes each); big-endian throughout. Code points in
no run have the weights of the Unicode collation algorithm's implicit formula (0900), of their
canonical parts (Hangul syllables), the code point itself (general), or none that are known.

`uca1400_pairs.bin` has the pairs of characters that weigh otherwise than one after the other: two code
points (3 bytes each), the number of weights (1 byte; 255 where a third character matters), the weights.
"""
import os
import struct
import sys
import unicodedata

import pymysql

TARGET = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src/collation")


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


# The ranges whose characters the formula gives, in version 14: first, last, base.
FORMULA_1400 = [(0x4E00, 0x9FFF, 0xFB40), (0x3400, 0x4DBF, 0xFB80), (0x20000, 0x2A6DF, 0xFB80),
                (0x2A700, 0x2B738, 0xFB80), (0x2B740, 0x2B81D, 0xFB80), (0x2B820, 0x2CEA1, 0xFB80),
                (0x2CEB0, 0x2EBE0, 0xFB80), (0x30000, 0x3134A, 0xFB80)]


def implicit_1400(point):
    base = next((base for first, last, base in FORMULA_1400 if first <= point <= last), 0xFBC0)
    return struct.pack(">HH", base + (point >> 15), (point & 0x7FFF) | 0x8000)


def candidates():
    """Sequences that may weigh otherwise than their characters one after the other: what composed
    characters are made of, and vowels that are written before the consonants that they follow."""
    out = set()
    for point in range(0x110000):
        if 0xD800 <= point < 0xE000 or 0xAC00 <= point <= 0xD7A3:
            continue
        parts = unicodedata.normalize("NFD", chr(point))
        if len(parts) > 1:
            out.update(parts[at:at + 2] for at in range(len(parts) - 1))
            out.add(parts)
    for first, last, low, high in ((0xE40, 0xE44, 0xE01, 0xE2E), (0xEC0, 0xEC4, 0xE81, 0xEDF),
                                   (0x19B5, 0x19BA, 0x1980, 0x19AB), (0xAAB5, 0xAABC, 0xAA80, 0xAAAF)):
        out.update(chr(a) + chr(b) for a in range(first, last + 1) for b in range(low, high + 1))
    return sorted(out)


def write_1400(cursor):
    collation = "utf8mb4_uca1400_nopad_ai_ci"
    points = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    found = weights(cursor, collation, points)
    write("uca1400.bin", {p: w for p, w in found.items() if w != implicit_1400(p)})
    pairs = {}
    for text in candidates():
        hex_text = text.encode().hex()
        cursor.execute(f"SELECT WEIGHT_STRING(_utf8mb4 0x{hex_text} COLLATE {collation})")
        whole = bytes(cursor.fetchone()[0] or b"")
        if len(text) == 2 and whole != b"".join(found[ord(c)] for c in text):
            pairs.setdefault(text, whole)
        elif len(text) > 2:
            # One after the other, with the pairs at its beginning or its end.
            single = [found[ord(c)] for c in text]
            ways = {b"".join(single)}
            for at in range(len(text) - 1):
                pair = pairs.get(text[at:at + 2])
                if pair is not None:
                    ways.add(b"".join(single[:at] + [pair] + single[at + 2:]))
            if whole not in ways:
                print("three:", [hex(ord(c)) for c in text])
                pairs[text[:2]] = None
    out = b""
    for text, whole in sorted(pairs.items()):
        out += b"".join(ord(c).to_bytes(3, "big") for c in text)
        out += bytes([255]) if whole is None else bytes([len(whole) // 2]) + whole
    with open(os.path.join(TARGET, "uca1400_pairs.bin"), "wb") as file:
        file.write(out)
    print("uca1400_pairs.bin", len(pairs), "pairs,", len(out), "bytes")
    cased = [p for p in range(0x80, 0x20000) if not 0xD800 <= p < 0xE000]
    write_cases("case_1400.bin", cases(cursor, "utf8mb4_uca1400_ai_ci", cased))


def main():
    host, port, user, password = sys.argv[1:5]
    connection = pymysql.connect(host=host, port=int(port), user=user, password=password, charset="utf8mb4")
    cursor = connection.cursor()
    cursor.execute("SELECT VERSION()")
    if "MariaDB" in cursor.fetchone()[0]:
        return write_1400(cursor)
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
