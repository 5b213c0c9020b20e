"""Generates an `ontime` table of any size, skewed like the real one, the same in every run."""

from __future__ import annotations

import csv
import threading
from concurrent.futures import ThreadPoolExecutor

from . import machine, ontime
from .servers import Server
from .show import Step

DATABASE = "bench"
_CHUNK = 200_000
_CARRIERS = "WN DL AA UA US MQ EV OO B6 AS FL F9 HA YV VX 9E".split()


def load(server: Server, rows: int) -> None:
    """Fills `bench.ontime` of a server. Nothing goes to the binlog, so a copy of the data folder
    makes a replica."""
    connection = server.connect()
    with connection.cursor() as cursor:
        cursor.execute("SET sql_log_bin = 0")
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        cursor.execute(f"USE {DATABASE}")
        if server.kind != "mariadb":
            _numbers(cursor)
        cursor.execute(ontime.TABLE)
        with Step(f"generate {rows:,} rows") as step:
            _fill(server, rows, step)
        with Step("gather statistics and warm the buffer pool"):
            cursor.execute("ANALYZE TABLE ontime")
            cursor.fetchall()
            cursor.execute("SELECT count(*), sum(Distance) FROM ontime")
            count = cursor.fetchone()[0]
    connection.close()
    if count != rows:
        raise RuntimeError(f"made {count} rows instead of {rows}")


def _numbers(cursor) -> None:
    """MariaDB has tables of numbers; others get one."""
    cursor.execute(f"SET cte_max_recursion_depth = {_CHUNK}")
    cursor.execute("CREATE TABLE numbers (n INT NOT NULL PRIMARY KEY)")
    cursor.execute("INSERT INTO numbers WITH RECURSIVE all_of_them AS (SELECT 0 AS n UNION ALL "
                   f"SELECT n + 1 FROM all_of_them WHERE n + 1 < {_CHUNK}) "
                   "SELECT n FROM all_of_them")


def _fill(server: Server, rows: int, step: Step) -> None:
    """Two connections, each with its own half of the key, so that both insert in key order."""
    with open(machine.ROOT / "demo" / "airports.csv", newline="") as file:
        airports = list(csv.reader(file))[1:]
    starts = list(range(1, rows + 1, _CHUNK))
    halves = [starts[:len(starts) // 2], starts[len(starts) // 2:]]
    done, lock = [0], threading.Lock()

    def work(part: list[int]) -> None:
        connection = server.connect(database=DATABASE)
        with connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0, unique_checks = 0, "
                           "tmp_table_size = 268435456, max_heap_table_size = 268435456")
            for first in part:
                last = min(first + _CHUNK - 1, rows)
                cursor.execute(_insert(first, last, rows, airports, server.kind))
                with lock:
                    done[0] += last - first + 1
                    step.part(done[0], rows, "rows")
        connection.close()

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, halves))


def _insert(first: int, last: int, rows: int, airports: list[list[str]], kind: str) -> str:
    """The statement for one chunk. Each RAND has a seed of its own, fixed by chunk and purpose."""
    def chance(purpose: int) -> str:
        return f"RAND({first * 31 + purpose})"

    def pick(position: str, values: list[str]) -> str:
        return f"ELT({position}, {', '.join(repr(value) for value in values)})"

    numbers = f"seq_{first}_to_{last}" if kind == "mariadb" else (
        f"(SELECT n + {first} AS seq FROM numbers WHERE n <= {last - first} ORDER BY n) AS numbered")
    # Ids have a gap after the first half, as the real table's highest id is above its count. Later
    # years have more flights; few carriers and airports have most of them.
    return f"""
        INSERT INTO ontime SELECT n + IF(n > {rows // 2}, {rows // 16}, 0), year,
            (month + 2) DIV 3, month, day, WEEKDAY(flown) + 1, flown,
            {pick('carrier', _CARRIERS)}, 19000 + carrier, {pick('carrier', _CARRIERS)},
            CONCAT('N', 100 + tail, 'P'), {pick('origin', [a[0] for a in airports])},
            {pick('dest', [a[0] for a in airports])}, {pick('origin', [a[1] for a in airports])},
            {pick('dest', [a[1] for a in airports])}, IF(cancelled, NULL, delay),
            IF(cancelled, NULL, GREATEST(delay + shift, 0)), cancelled, 0, 100 + distance
        FROM (
            SELECT drawn.*, MAKEDATE(year, 1) + INTERVAL (month - 1) MONTH
                + INTERVAL (day - 1) DAY AS flown
            FROM (
                SELECT seq AS n, 1988 + FLOOR(28 * POW((seq - 1) / {rows}, 0.85)) AS year,
                    1 + FLOOR({chance(1)} * 12) AS month, 1 + FLOOR({chance(2)} * 28) AS day,
                    1 + FLOOR(POW({chance(3)}, 1.8) * {len(_CARRIERS)}) AS carrier,
                    FLOOR(POW({chance(4)}, 1.5) * 6000) AS tail,
                    1 + FLOOR(POW({chance(5)}, 1.7) * {len(airports)}) AS origin,
                    1 + FLOOR(POW({chance(6)}, 1.7) * {len(airports)}) AS dest,
                    IF({chance(7)} < 0.6, 0, FLOOR(-LN(1 - {chance(8)}) * 28)) AS delay,
                    FLOOR({chance(9)} * 21) - 12 AS shift, {chance(10)} < 0.015 AS cancelled,
                    FLOOR(POW({chance(11)}, 2) * 2700) AS distance
                FROM {numbers}
                LIMIT {last - first + 1}) AS drawn
            LIMIT {last - first + 1}) AS dated"""
