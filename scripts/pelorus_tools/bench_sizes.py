"""Measures how many bytes a row takes: Pelorus, DuckDB, ClickHouse and Parquet with the same rows.

`bench sizes` writes the events, a job file, and starts this. Three tables: the events, taxi trips
(made here, as the trip records of New York are), and TPC-H's `lineitem`. On the disk is what a table
needs after its system was stopped, or its parts merged; in memory is by how much the process has
grown when, freshly started, it has read every column.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import pelorus, processes
from .bench_ingest import disk_bytes
from .bench_scan import TABLE as LINEITEM
from .show import Step

TAXI = """CREATE TABLE taxi (
    medallion CHAR(32) NOT NULL, hack_license CHAR(32) NOT NULL, vendor_id CHAR(3) NOT NULL,
    rate_code INT NOT NULL, store_and_fwd_flag CHAR(1), pickup_datetime DATETIME NOT NULL,
    dropoff_datetime DATETIME NOT NULL, passenger_count INT NOT NULL,
    trip_time_in_secs INT NOT NULL, trip_distance DOUBLE NOT NULL, pickup_longitude DOUBLE,
    pickup_latitude DOUBLE, dropoff_longitude DOUBLE, dropoff_latitude DOUBLE,
    PRIMARY KEY (medallion, hack_license, pickup_datetime))"""

# Of 13,000 medallions each has three drivers; trips are short, most carry one passenger.
TRIPS = """
WITH drawn AS (
    SELECT row AS n, hash(row) % 13000 AS cab, hash(row * 7 + 1) % 3 AS driver,
        hash(row * 7 + 2) % 31536000 AS second,
        CAST(-ln((hash(row * 7 + 3) % 1000000 + 1) / 1000001.0) * 660 AS INTEGER) + 60 AS secs,
        hash(row * 7 + 4) % 100 AS a, hash(row * 7 + 5) % 100 AS b,
        (hash(row * 7 + 6) % 1000000) / 1e6 - 0.5 AS x, (hash(row * 7 + 8) % 1000000) / 1e6 - 0.5 AS y,
        (hash(row * 7 + 9) % 1000000) / 1e6 - 0.5 AS u, (hash(row * 7 + 10) % 1000000) / 1e6 - 0.5 AS v
    FROM range({rows}) AS numbers(row))
SELECT upper(md5('m' || cab)), upper(md5('d' || (cab * 3 + driver))), CASE WHEN cab % 2 = 0 THEN 'CMT' ELSE 'VTS' END,
    CASE WHEN a < 97 THEN 1 ELSE a - 95 END, CASE WHEN cab % 2 = 1 THEN NULL WHEN a < 98 THEN 'N' ELSE 'Y' END,
    TIMESTAMP '2013-01-01' + to_seconds(CAST(second AS BIGINT)),
    TIMESTAMP '2013-01-01' + to_seconds(CAST(second + secs AS BIGINT)),
    CASE WHEN b < 70 THEN 1 WHEN b < 84 THEN 2 ELSE b % 6 + 1 END, secs,
    round(secs / 260.0 * (1 + x), 2),
    round(-73.97 + x * x * x, 6), round(40.75 + y * y * y, 6), round(-73.97 + u * u * u, 6), round(40.75 + v * v * v, 6)
FROM drawn"""

OURS = "pelorus"
SYSTEMS = [OURS, "duckdb", "clickhouse", "parquet, zstd"]


@dataclass
class Table:
    """A table that all systems load."""

    name: str
    create: str
    """As MySQL and DuckDB take it."""
    layout: str
    """What Pelorus adds to it."""
    key: str
    """What ClickHouse sorts by."""
    select: str
    """The rows, for DuckDB."""


def tables(folder: Path, given: dict) -> list[Table]:
    """The three tables."""
    events = f"CREATE TABLE events ({given['columns']})"
    read = ("SELECT * FROM read_csv('{path}', delim='{delimiter}', header=false, quote='', escape='', "
            "nullstr='\\N', auto_detect=false, columns={{{columns}}})")

    def columns(create: str) -> list[list[str]]:
        inside = create[create.index("(") + 1:create.rindex("PRIMARY KEY")]
        # The comma within a DECIMAL ends no column.
        parts = inside.replace("15,2", "15;2").split(",")
        return [part.strip().replace(";", ",").split() for part in parts if part.strip()]

    def typed(create: str) -> str:
        return ", ".join(f"'{words[0]}': '{words[1]}'" for words in columns(create))

    return [
        Table("events", events, "PARTITION BY (TIME_SLICE(time, INTERVAL 2 HOUR))",
              "time, item, source", read.format(
                  path=folder / "*.tsv", delimiter="\\t", columns=typed(events))),
        Table("taxi", TAXI, "PARTITION BY (LEFT(medallion, 2)) "
              "SEGMENT BY (TIME_SLICE(pickup_datetime, INTERVAL 6 DAY))",
              "medallion, hack_license, pickup_datetime", TRIPS.format(rows=given["rows"])),
        Table("lineitem", LINEITEM, "", "l_orderkey, l_linenumber", read.format(
            path=folder / "lineitem.tbl", delimiter="|", columns=typed(LINEITEM) + ", 'rest': 'VARCHAR'")
            .replace("SELECT *", "SELECT * EXCLUDE rest")),
    ]


def every_column(names: list[str]) -> str:
    """A query that reads all columns of `t`."""
    return ", ".join(f"max({name})" for name in names)


def duckdb_grows(path: str, statement: str, out) -> None:
    """By how many bytes DuckDB grows when it reads a table."""
    import duckdb
    connection = duckdb.connect(path)
    connection.execute("SELECT 1").fetchall()
    before = resident("self")
    connection.execute(statement).fetchall()
    out.send(resident("self") - before)


def resident(pid) -> int:
    """Bytes of a process that are in memory and belong to it alone: mapped files are left out."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no RssAnon")


class Sizes:
    """The figures of a run."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.series: list[dict] = []

    def add(self, table: Table, where: str, system: str, value: float) -> None:
        self.series.append({"case": f"{table.name}, {where}", "system": system,
                            "unit": "bytes/row", "values": [value]})

    def measure(self, table: Table) -> int:
        """All systems with a table; gives its rows."""
        import duckdb
        source = self.folder / "source.duckdb"
        connection = duckdb.connect(str(source))
        # Every system gets the rows in the order of the key, as they lie in sorted files.
        connection.execute(table.create.replace(f"TABLE {table.name}", "TABLE given"))
        connection.execute(f"INSERT OR IGNORE INTO given {table.select}")
        connection.execute(f"CREATE TABLE t AS SELECT * FROM given ORDER BY {table.key}")
        connection.execute("DROP TABLE given")
        ((rows,),) = connection.execute("SELECT count(*) FROM t").fetchall()
        names = [row[0] for row in connection.execute("DESCRIBE t").fetchall()]
        text, parquet = self.folder / "rows.tsv", self.folder / "rows.parquet"
        connection.execute(f"COPY t TO '{text}' (DELIMITER '\t', HEADER false, QUOTE '', NULLSTR '\\N')")
        connection.execute(f"COPY t TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)")
        self.add(table, "disk", "parquet, zstd", parquet.stat().st_size / rows)
        connection.close()
        self.duckdb(table, rows, names, parquet)
        self.clickhouse(table, rows, parquet)
        self.pelorus(table, rows, names, text)
        for path in (source, text, parquet):
            path.unlink()
        return rows

    def duckdb(self, table: Table, rows: int, names: list[str], parquet: Path) -> None:
        """A table without a key, which would take more."""
        import duckdb
        path = self.folder / "t.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT * FROM '{parquet}'")
            connection.execute("CHECKPOINT")
        self.add(table, "disk", "duckdb", path.stat().st_blocks * 512 / rows)
        here, there = multiprocessing.Pipe()
        child = multiprocessing.get_context("spawn").Process(
            target=duckdb_grows, args=(str(path), f"SELECT {every_column(names)} FROM t", there))
        child.start()
        self.add(table, "memory", "duckdb", here.recv() / rows)
        child.join()
        path.unlink()

    def clickhouse(self, table: Table, rows: int, parquet: Path) -> None:
        """One merged part, sorted by the key."""
        from chdb import session
        server = session.Session(str(processes.folder("pelorus-clickhouse")))
        server.query("CREATE DATABASE sizes ENGINE = Atomic")
        server.query(f"CREATE TABLE sizes.{table.name} ENGINE = MergeTree ORDER BY ({table.key}) AS "
                     f"SELECT * FROM file('{parquet}', Parquet) "
                     "SETTINGS schema_inference_make_columns_nullable = 0, "
                     "max_insert_threads = 1")
        server.query(f"OPTIMIZE TABLE sizes.{table.name} FINAL")
        size = str(server.query("SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active "
                                f"AND database = 'sizes' AND table = '{table.name}'", "CSV")).split(",")
        if int(size[1]) != rows:
            raise RuntimeError(f"ClickHouse has {size[1]} rows of {table.name} instead of {rows}")
        self.add(table, "disk", "clickhouse", int(size[0]) / rows)
        server.close()

    def pelorus(self, table: Table, rows: int, names: list[str], text: Path) -> None:
        """A native table after a restart."""
        server = pelorus.Pelorus()
        server.run("SET GLOBAL local_infile = ON", "CREATE DATABASE sizes", "USE sizes")
        server.run(f"{table.create} {table.layout}", database="sizes")
        connection = server.connect(database="sizes", local_infile=True, read_timeout=600)
        with connection.cursor() as cursor:
            cursor.execute(f"LOAD DATA LOCAL INFILE '{text}' INTO TABLE {table.name}")
            cursor.execute(f"OPTIMIZE TABLE {table.name}")
        connection.close()
        server.stop()
        self.add(table, "disk", OURS, disk_bytes(server.folder / "data", ".blocks") / rows)
        server.start()
        connection = server.connect(database="sizes", read_timeout=600)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            before = resident(server.process.pid)
            cursor.execute(f"SELECT {every_column(names)}, COUNT(*) FROM {table.name}")
            if (seen := cursor.fetchone()[-1]) != rows:
                raise RuntimeError(f"Pelorus has {seen} rows of {table.name} instead of {rows}")
        self.add(table, "memory", OURS, (resident(server.process.pid) - before) / rows)
        connection.close()
        server.stop()


def main() -> None:
    """The command line; `bench` gives it."""
    given = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(given["folder"])
    tempfile.tempdir = str(folder)
    with Step("make lineitem"):
        program = Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([program, "-s", str(given["scale"]), "--tables", "lineitem",
                        "--output-dir", str(folder)], check=True, capture_output=True)
    sizes, rows = Sizes(folder), {}
    for table in tables(folder, given):
        with Step(table.name):
            rows[f"rows of {table.name}"] = sizes.measure(table)
    processes.stop_all()
    Path(given["raw"]).write_text(json.dumps({"series": sizes.series, "facts": rows}))


if __name__ == "__main__":
    main()
