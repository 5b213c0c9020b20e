"""Measures scans of TPC-H's `lineitem`: Pelorus over its port against DuckDB in process.

`bench scan` starts this with a job file and judges what it writes. Both systems have the table with
its primary key in files of their own, and as many threads as the machine has cores. They take turns;
the first run of a query does not count. For cold starts both are opened anew, after the system was
told to forget what it has cached of their files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

from . import pelorus, processes
from .bench_ingest import disk_bytes
from .show import Step

TABLE = """CREATE TABLE lineitem (
    l_orderkey BIGINT NOT NULL, l_partkey BIGINT NOT NULL, l_suppkey BIGINT NOT NULL,
    l_linenumber INT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL,
    l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL,
    l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL,
    l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL,
    l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL, l_comment VARCHAR(44) NOT NULL,
    PRIMARY KEY (l_orderkey, l_linenumber))"""

# The texts of the standard, with their computed constants.
QUERIES = {
    "TPC-H query 1": """SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice),
        SUM(l_extendedprice * (1 - l_discount)),
        SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
        AVG(l_quantity), AVG(l_extendedprice), AVG(l_discount), COUNT(*)
        FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "TPC-H query 6": """SELECT SUM(l_extendedprice * l_discount) FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL 1 YEAR
        AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24""",
    "sums of the numbers": """SELECT SUM(l_orderkey), SUM(l_partkey), SUM(l_suppkey),
        SUM(l_linenumber), SUM(l_quantity), SUM(l_extendedprice), SUM(l_discount), SUM(l_tax),
        MAX(l_shipdate), MAX(l_commitdate), MAX(l_receiptdate) FROM lineitem""",
}

OURS, THEIRS = "pelorus", "duckdb"


def same(ours, theirs) -> bool:
    """Whether two results are equal; an average of DuckDB's is a double, one of MySQL's is not."""
    def equal(a, b) -> bool:
        if isinstance(a, Decimal) or isinstance(b, (Decimal, float)):
            return abs(float(a) - float(b)) <= 1e-6 * max(1.0, abs(float(b)))
        return a == b
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(equal, a, b)) for a, b in zip(ours, theirs))


def forget(folder: Path) -> None:
    """Tells the system that the files of a folder need not stay in its cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Ours:
    """Pelorus in a process of its own."""

    def __init__(self, table: Path):
        self.server = pelorus.Pelorus()
        self.folder = self.server.folder / "data"
        self.server.run("SET GLOBAL local_infile = ON", "CREATE DATABASE tpch")
        self.connect()
        self.ask(TABLE)
        self.load = lambda: self.ask(
            f"LOAD DATA LOCAL INFILE '{table}' INTO TABLE lineitem "
            "FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\\n'")

    def connect(self) -> None:
        self.connection = self.server.connect(
            database="tpch", local_infile=True, read_timeout=600)

    def ask(self, sql: str):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def stop(self) -> None:
        self.connection.close()
        self.server.stop()

    def start(self) -> None:
        self.server.start()
        self.connect()


class Theirs:
    """DuckDB in this process."""

    def __init__(self, table: Path):
        self.folder = processes.folder("pelorus-duckdb")
        self.start()
        self.ask(TABLE)
        self.load = lambda: self.ask(f"COPY lineitem FROM '{table}' (DELIMITER '|')")

    def ask(self, sql: str):
        return self.connection.execute(sql).fetchall()

    def start(self) -> None:
        import duckdb
        self.connection = duckdb.connect(str(self.folder / "tpch.duckdb"))
        self.connection.execute(f"SET threads = {os.cpu_count()}")

    def stop(self) -> None:
        self.connection.close()


def timed(system, sql: str) -> tuple[float, list]:
    """Milliseconds of a query, and its result."""
    started = time.perf_counter()
    result = system.ask(sql)
    return (time.perf_counter() - started) * 1000, result


def main() -> None:
    """The command line; `bench` gives it."""
    given = json.loads(Path(sys.argv[1]).read_text())
    folder, runs = Path(given["folder"]), given["runs"]
    tempfile.tempdir = str(folder)
    series: dict[tuple[str, str, str], list[float]] = {}

    def add(case: str, system: str, unit: str, value: float) -> None:
        series.setdefault((case, system, unit), []).append(value)

    with Step(f"make lineitem, scale factor {given['scale']}"):
        program = Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([program, "-s", str(given["scale"]), "--tables", "lineitem",
                        "--output-dir", str(folder)], check=True, capture_output=True)
    table = folder / "lineitem.tbl"
    systems = {OURS: Ours(table), THEIRS: Theirs(table)}
    rows, differ = 0, []
    for name, system in systems.items():
        with Step(f"load: {name}"):
            started = time.perf_counter()
            system.load()
            spent = time.perf_counter() - started
        ((rows,),) = system.ask("SELECT COUNT(*) FROM lineitem")
        add("load", name, "rows/s", rows / spent)
        # What is in logs or in memory alone comes into the files.
        system.stop()
        add("disk", name, "bytes/row",
            disk_bytes(system.folder, ".blocks" if name == OURS else "") / rows)
        system.start()
    table.unlink()
    for case, sql in QUERIES.items():
        with Step(case) as step:
            for run in range(runs + 1):
                (ours, result), (theirs, expected) = (timed(it, sql) for it in systems.values())
                if not same(result, expected):
                    differ.append(case)
                if run > 0:
                    add(case, OURS, "ms", ours)
                    add(case, THEIRS, "ms", theirs)
            step.note(f"pelorus {ours:,.0f} ms, duckdb {theirs:,.0f} ms")
    for case, sql in QUERIES.items():
        with Step(f"{case}, cold"):
            for _ in range(3):
                for name, system in systems.items():
                    system.stop()
                    forget(system.folder)
                    system.start()
                    add(f"{case}, cold", name, "ms", timed(system, sql)[0])
    for system in systems.values():
        system.stop()
    processes.stop_all()
    import duckdb
    Path(given["raw"]).write_text(json.dumps({
        "series": [{"case": case, "system": system, "unit": unit, "values": values}
                   for (case, system, unit), values in series.items()],
        "facts": {"duckdb_version": duckdb.__version__, "rows": rows,
                  "results that differ": sorted(set(differ))}}))


if __name__ == "__main__":
    main()
