"""Measures the events workload with Pelorus over its port, MariaDB, DuckDB and ClickHouse.

`bench ingest` writes the rows and a job file, starts this, and judges what it writes. Every peer
loads the same files, a batch each, and commits each batch; what Python does to prepare a batch is
not counted. A peer that cannot be had, or cannot do it, is reported and the others go on.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Iterator

from . import pelorus, processes, servers
from .show import Step

NAMES = ["time", "item", "source", "kind", "place", "flag", "amount", "serial", "code", "text"]


class Job:
    """What is to be measured, and what has been seen so far."""

    def __init__(self, given: dict):
        self.batch, self.window, self.again = given["batch"], given["window"], given["again"]
        self.cases, self.columns, self.bounds = given["cases"], given["columns"], given["bounds"]
        self.first_partition_rows = given["first_partition_rows"]
        self.folder = Path(given["folder"])
        self.files = sorted(self.folder.glob("*.tsv"))
        self.rows = len(self.files) * self.batch
        self.series: list[dict] = []
        self.missing: dict[str, str] = {}
        self.facts: dict[str, object] = {}

    def add(self, case: str, system: str, unit: str, values: list[float]) -> None:
        """Keeps the values of a case (by its short name) on a system."""
        self.series.append(
            {"case": self.cases[case], "system": system, "unit": unit, "values": values})

    def measure(self, system: str, prepare: Callable[[Path], object],
                load: Callable[[object], None], count: Callable[[], int]) -> None:
        """Loads all files, then the last ones again. The clock runs in `load` only."""
        windows, seconds, rows = [], 0.0, 0
        with Step(f"load {self.rows:,} rows: {system}") as step:
            for spent in self._loads(self.files, prepare, load):
                seconds, rows = seconds + spent, rows + self.batch
                if rows >= self.window:
                    windows.append(rows / seconds)
                    seconds, rows = 0.0, 0
                step.note(f"{windows[-1]:,.0f} rows/s" if windows else "")
        self.add("load", system, "rows/s", windows)
        if count() != self.rows:
            raise RuntimeError(f"{count()} rows are there instead of {self.rows}")
        again = self.files[-(self.again // self.batch):]
        with Step(f"load {len(again) * self.batch:,} rows again: {system}"):
            rates = [self.batch / spent for spent in self._loads(again, prepare, load)]
        self.add("reload", system, "rows/s", rates)
        self.add("changed", system, "rows", [abs(count() - self.rows)])

    @staticmethod
    def _loads(files: list[Path], prepare, load) -> Iterator[float]:
        for file in files:
            batch = prepare(file)
            started = time.perf_counter()
            load(batch)
            yield time.perf_counter() - started

    def drop(self, system: str, drop: Callable[[], None], count: Callable[[], int]) -> None:
        """Drops the first partition."""
        started = time.perf_counter()
        drop()
        self.add("drop", system, "ms", [(time.perf_counter() - started) * 1000])
        left = self.rows - self.first_partition_rows
        if count() != left:
            raise RuntimeError(f"{count()} rows are left instead of {left}")


def disk_bytes(folder: Path, part: str = "") -> int:
    """Bytes on the disk of the files whose path has a part in it."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*")
               if path.is_file() and part in str(path.relative_to(folder)))


def partitioned(job: Job) -> str:
    """The table as MySQL's dialect has it, with partitions of two hours."""
    parts = ", ".join(f"PARTITION p{at} VALUES LESS THAN ('{bound}')"
                      for at, bound in enumerate(job.bounds))
    return f"CREATE TABLE events ({job.columns}) PARTITION BY RANGE COLUMNS (time) ({parts})"


def insert_text(file: Path) -> str:
    """A batch as one statement."""
    rows = []
    for line in file.read_text().splitlines():
        when, *numbers, text = line.split("\t")
        rows.append(f"('{when}',{','.join(numbers)},'{text}')")
    return f"INSERT IGNORE INTO events VALUES {','.join(rows)}"


def over_the_wire(job: Job, system: str, server: servers.Server, by_file: bool,
                  disk: Callable[[], int]) -> None:
    """A server of the MySQL protocol, by `LOAD DATA LOCAL` or `INSERT` of many rows."""
    if by_file:
        server.run("SET GLOBAL local_infile = ON")
    server.run("CREATE DATABASE bench_events")
    server.run(partitioned(job), database="bench_events")
    connection = server.connect(database="bench_events", local_infile=True,
                                max_allowed_packet=64 << 20)
    cursor = connection.cursor()

    def count() -> int:
        cursor.execute("SELECT count(*) FROM events")
        return cursor.fetchone()[0]

    def load_data(file: Path) -> str:
        return (f"LOAD DATA LOCAL INFILE '{file}' IGNORE INTO TABLE events "
                "FIELDS TERMINATED BY '\\t' LINES TERMINATED BY '\\n'")

    job.measure(system, load_data if by_file else insert_text, cursor.execute, count)
    job.add("memory", system, "MiB", [server.process.peak_memory_bytes() / 2**20])
    connection.close()
    # What is in memory or in logs alone comes into the files when the server stops.
    server.stop()
    job.add("disk", system, "bytes/row", [disk() / job.rows])
    server.start()
    connection = server.connect(database="bench_events")
    cursor = connection.cursor()
    if count() != job.rows:
        raise RuntimeError(f"{count()} rows after a restart instead of {job.rows}")
    if len(job.bounds) > 1:
        job.drop(system, lambda: cursor.execute("ALTER TABLE events DROP PARTITION p0"), count)
    connection.close()


def run_pelorus(job: Job, system: str, by_file: bool) -> None:
    """Pelorus over the loopback address."""
    server = pelorus.Pelorus()
    data = server.folder / "data"
    try:
        over_the_wire(job, system, server, by_file, lambda: disk_bytes(data, ".blocks"))
    finally:
        server.stop()


def run_mariadb(job: Job, system: str, by_file: bool) -> None:
    """MariaDB that syncs every commit, without a binlog."""
    with Step("start MariaDB"):
        server = servers.MariaDb(
            "bench-events", buffer_pool_mb=2048,
            options=("--skip-log-bin", "--innodb-flush-log-at-trx-commit=1",
                     "--innodb-log-file-size=1G", "--max-allowed-packet=64M"))
    job.facts["mariadb_version"] = server.run("SELECT VERSION()")[0][0]
    try:
        over_the_wire(job, system, server, by_file,
                      lambda: disk_bytes(server.data, "bench_events/"))
    finally:
        server.stop()


def arrow_table(file: Path):
    """A batch in Arrow."""
    import pyarrow
    from pyarrow import csv
    types = {name: pyarrow.int64() for name in NAMES[1:-1]}
    types |= {"time": pyarrow.timestamp("s"), "text": pyarrow.string()}
    return csv.read_csv(file, csv.ReadOptions(column_names=NAMES, use_threads=False),
                        csv.ParseOptions(delimiter="\t"),
                        csv.ConvertOptions(column_types=types))


def run_duckdb(job: Job, system: str, _: bool) -> None:
    """DuckDB in process, a file with a primary key, rows from Arrow. It has no partitions."""
    import duckdb
    job.facts["duckdb_version"] = duckdb.__version__
    folder = processes.folder("pelorus-duckdb")
    connection = duckdb.connect(str(folder / "events.duckdb"))

    def run(sql: str) -> list:
        # A result that is not read to its end keeps the connection from other statements.
        return connection.execute(sql).fetchall()

    def load(batch) -> None:
        connection.register("batch", batch)
        run("INSERT OR IGNORE INTO events SELECT * FROM batch")

    run(f"CREATE TABLE events ({job.columns})")
    job.measure(system, arrow_table, load, lambda: run("SELECT count(*) FROM events")[0][0])
    run("CHECKPOINT")
    job.add("disk", system, "bytes/row", [disk_bytes(folder) / job.rows])
    connection.close()


def run_clickhouse(job: Job, system: str, _: bool) -> None:
    """ClickHouse in process (chdb): rows of one key are made one when they are read or merged."""
    from chdb import session
    folder = processes.folder("pelorus-clickhouse")
    server = session.Session(str(folder))
    columns = ", ".join(f"{name} {'DateTime' if name == 'time' else 'Int64'}"
                        for name in NAMES[:-1])
    server.query("CREATE DATABASE bench_events ENGINE = Atomic")
    server.query(
        f"CREATE TABLE bench_events.events ({columns}, text String) ENGINE = ReplacingMergeTree "
        "PARTITION BY toStartOfInterval(time, INTERVAL 2 HOUR) ORDER BY (time, item, source) "
        "SETTINGS fsync_after_insert = 1, fsync_part_directory = 1")
    job.facts["clickhouse_version"] = str(server.query("SELECT version()", "CSV")).strip('"\n')

    def load(batch) -> None:
        server.query("INSERT INTO bench_events.events SELECT * FROM Python(batch)")

    def count() -> int:
        return int(str(server.query("SELECT count() FROM bench_events.events FINAL", "CSV")))

    job.measure(system, arrow_table, load, count)
    server.query("OPTIMIZE TABLE bench_events.events FINAL")
    size = str(server.query("SELECT sum(bytes_on_disk) FROM system.parts "
                            "WHERE active AND table = 'events'", "CSV"))
    job.add("disk", system, "bytes/row", [int(size) / job.rows])
    if len(job.bounds) > 1:
        job.drop(system, lambda: server.query(
            "ALTER TABLE bench_events.events DROP PARTITION '2024-01-01 00:00:00'"), count)
    server.close()


PEERS: dict[str, tuple[str, Callable, bool, bool]] = {
    # The name: what the table calls it, what runs it, by file, in this process.
    "pelorus-load-data": ("pelorus LOAD DATA", run_pelorus, True, False),
    "pelorus-insert": ("pelorus INSERT IGNORE", run_pelorus, False, False),
    "mariadb-load-data": ("mariadb LOAD DATA", run_mariadb, True, False),
    "mariadb-insert": ("mariadb INSERT IGNORE", run_mariadb, False, False),
    "duckdb": ("duckdb", run_duckdb, False, True),
    "clickhouse": ("clickhouse", run_clickhouse, False, True),
}


def peak_memory_mib() -> float:
    """The most memory that this process ever held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmHWM")


def run_peer(given: dict, name: str, out) -> None:
    """One peer, in a process of its own, so that its memory is known and its end hurts nobody."""
    job = Job(given)
    # All on the disk of the figures: a temporary folder in memory would make commits free.
    tempfile.tempdir = str(job.folder)
    system, run, by_file, inside = PEERS[name]
    try:
        run(job, system, by_file)
    except Exception as error:  # noqa: BLE001 - a peer that cannot do it is reported
        job.missing[system] = (str(error).splitlines() or [repr(error)])[0]
    finally:
        processes.stop_all()
    if inside and job.series:
        job.add("memory", system, "MiB", [peak_memory_mib()])
    out.send((job.series, job.missing, job.facts))
    out.close()


def main() -> None:
    """The command line; `bench` gives it."""
    given = json.loads(Path(sys.argv[1]).read_text())
    whole = Job(given)
    fresh = multiprocessing.get_context("spawn")
    for name in given["peers"]:
        if name not in PEERS:
            raise SystemExit(f"there is no peer {name}, only {', '.join(PEERS)}")
        ours, theirs = fresh.Pipe(duplex=False)
        child = fresh.Process(target=run_peer, args=(given, name, theirs))
        child.start()
        theirs.close()
        try:
            series, missing, facts = ours.recv()
        except EOFError:
            child.join()
            series, facts = [], {}
            missing = {PEERS[name][0]: f"its process ended with code {child.exitcode}"}
        child.join()
        whole.series += series
        whole.missing |= missing
        whole.facts |= facts
    Path(given["raw"]).write_text(json.dumps(
        {"series": whole.series, "missing": whole.missing, "facts": whole.facts}))


if __name__ == "__main__":
    main()
