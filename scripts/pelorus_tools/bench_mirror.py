"""Measures mirrors of a MySQL server's tables: their beginning, their stream, what they cost.

`bench mirror` starts this with a job file and judges what it writes. MySQL, Pelorus and the clients
are on one machine and share its cores.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pymysql

from . import (generated, machine, mirror_workload, ontime, peers, pelorus, processes, rows,
               servers)
from .show import Step

OURS, THEIRS = "pelorus", "mysql"
DATABASE = generated.DATABASE
SYSBENCH = "sbtest"
SYSBENCH_TABLES, SYSBENCH_ROWS, SYSBENCH_THREADS = 4, 100_000, 4
# Of a commit at such a pace.
CHANGES_A_SECOND = 2000


class Bench:
    """The servers, and what has been seen so far."""

    def __init__(self, job: dict):
        self.job = job
        self.series: list[dict] = []
        self.missing: dict[str, str] = {}
        self.differ: list[str] = []
        self.facts: dict = {"rows": job["rows"], "changes": job["changes"],
                            "seconds of load": job["seconds"], "parts": job["parts"]}
        with Step("start MySQL"):
            self.mysql = servers.MySql("bench-mysql", 51, 1024 + job["rows"] * 400 // 2**20, options=(
                "--innodb-redo-log-capacity=2G", "--innodb-doublewrite=OFF",
                "--binlog-cache-size=1M"))
        self.facts["mysql_version"] = self.mysql.run("SELECT VERSION()")[0][0]
        self.pelorus: pelorus.Pelorus | None = None
        self.watching: pymysql.Connection | None = None

    def add(self, case: str, system: str, unit: str, values: list[float]) -> None:
        """Keeps values."""
        self.series.append({"case": case, "system": system, "unit": unit, "values": values})

    def open(self, database: str) -> pelorus.Pelorus:
        """Pelorus with a link to a database."""
        self.pelorus = pelorus.Pelorus(links=[self.mysql.url(database)])
        self.watching = None
        return self.pelorus

    def mirror(self, table: str, database: str = DATABASE) -> float:
        """Mirrors a table; the seconds until its mirror is live."""
        begun = time.perf_counter()
        self.pelorus.run(f"MIRROR TABLE {table}", database=database)
        processes.wait_for(f"the mirror of {table}", lambda: self.state(table) == "live", 1800,
                           self.pelorus.process, pause=0.02)
        return time.perf_counter() - begun

    def state(self, table: str) -> str:
        """How a mirror stands."""
        found = self.mirrors()[table]
        if found["State"] == "failed":
            raise SystemExit(f"the mirror of {table}: {found}")
        return found["State"]

    def mirrors(self) -> dict[str, dict]:
        """What is shown of the mirrors, by table.

        Over a connection that stays: making one with TLS takes 30 ms of the cores that are measured.
        """
        if self.watching is None:
            self.watching = self.pelorus.connect(cursorclass=pymysql.cursors.DictCursor)
        self.watching.ping(reconnect=True)
        with self.watching.cursor() as cursor:
            cursor.execute("SHOW MIRRORS")
            return {found["Table"]: found for found in cursor.fetchall()}

    def until_reached(self) -> float:
        """The seconds until the mirrors have all that the server has now."""
        begun = time.perf_counter()
        end = self.mysql.run("SELECT @@gtid_executed")[0][0].replace("\n", "")
        processes.wait_for(
            f"position {end}", lambda: all(
                found["Position"].replace(" ", "") == f"mysql:{end}"
                for found in self.mirrors().values()),
            1800, self.pelorus.process, pause=0.02)
        return time.perf_counter() - begun

    def compare(self, what: str, statement: str, database: str = DATABASE) -> None:
        """Looks whether both sides say the same."""
        both = [server.run("SET time_zone = '+00:00'", statement, database=database)
                for server in (self.mysql, self.pelorus)]
        self.must_be_mirrored()
        if both[0] != both[1]:
            self.differ.append(f"{what}: {both[0]} became {both[1]}")

    def must_be_mirrored(self) -> None:
        """No query may have gone to the server."""
        states = {found["State"] for found in self.mirrors().values()}
        if states != {"live"}:
            raise SystemExit(f"the mirrors are {states}")

    # The parts.

    def snapshot(self) -> None:
        """How fast a table is read for the first time."""
        count, ours, dumps = self.job["rows"], [], []
        for run in range(self.job["runs"]):
            with Step(f"read {count:,} rows: mysqldump alone, then the mirror alone") as step:
                begun = time.perf_counter()
                subprocess.run([machine.find("chroot") or "chroot", str(self.mysql.root), "mysqldump",
                                "--no-defaults", "-h127.0.0.1", f"-P{self.mysql.port}",
                                f"-u{servers.USER}", f"-p{servers.PASSWORD}", "--no-tablespaces",
                                "--single-transaction", "--set-gtid-purged=OFF", DATABASE, "wide"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, check=True)
                dumps.append(count / (time.perf_counter() - begun))
                if run:
                    self.pelorus.run("UNMIRROR TABLE wide", database=DATABASE)
                ours.append(count / self.mirror("wide"))
                step.note(f"{dumps[-1]:,.0f} and {ours[-1]:,.0f} rows a second")
        self.add("first reading", OURS, "rows/s", ours)
        self.add("first reading", "mysqldump", "rows/s", dumps)
        self.compare("first reading", mirror_workload.CHECK)

    def stream(self) -> None:
        """How fast what was missed is applied."""
        for case, size, changes in (
                ("catching up, transactions of 100 rows", 100, self.job["changes"]),
                ("catching up, transactions of one row", 1, self.job["changes"] // 10)):
            self.pelorus.stop()
            with Step(f"write {changes:,} changes in transactions of {size}"):
                begun = time.perf_counter()
                mirror_workload.change(self.mysql, changes // size, size, self.job["rows"], 7 * size)
                self.add(f"{case}: written", THEIRS, "rows/s",
                         [changes / (time.perf_counter() - begun)])
            with Step(case) as step:
                begun = time.perf_counter()
                self.pelorus.start()
                self.until_reached()
                spent = time.perf_counter() - begun
                # A change of a row that is gone is none.
                speed = self.mirrors()["wide"]["Changes"] / spent
                step.note(f"{speed:,.0f} rows a second")
            self.add(case, OURS, "rows/s", [speed])
            self.compare(case, mirror_workload.CHECK)

    def latency(self) -> None:
        """How long a commit takes to be seen here."""
        self.mirror("ticks")
        seconds = min(self.job["seconds"], 60)
        with Step(f"{CHANGES_A_SECOND:,} commits a second for {seconds} s") as step:
            result = self.mysql.folder / "moments.json"
            job = {"port": self.mysql.port, "seconds": seconds, "result": str(result)}
            writer = subprocess.Popen(
                [sys.executable, "-m", "pelorus_tools.bench_mirror", "--write", json.dumps(job)])
            try:
                seen = self._watch(writer)
                written = json.loads(result.read_text())
            finally:
                writer.kill()
                writer.wait()
            delays, at = [], 0
            for number, moment in enumerate(written, start=1):
                while at < len(seen) and seen[at][0] < number:
                    at += 1
                if at < len(seen):
                    delays.append((seen[at][1] - moment) * 1000)
            delays.sort()
            parts = {part: delays[int(len(delays) * part / 100)] for part in (50, 99)}
            step.note(f"50 %: {parts[50]:.1f} ms, 99 %: {parts[99]:.1f} ms")
        self.facts["commits a second, latency"] = len(written) / (written[-1] - written[0])
        self.facts["reads a second, latency"] = len(seen) / (seen[-1][1] - seen[0][1])
        for part, value in parts.items():
            self.add(f"from commit to visible, {part} %", OURS, "ms", [value])
        self.add("from commit to visible, the longest", OURS, "ms", [delays[-1]])

    def _watch(self, writer: subprocess.Popen) -> list[tuple[int, float]]:
        """Asks for the latest number until the writer has ended and all of it is here."""
        seen: list[tuple[int, float]] = []
        connection = self.pelorus.connect(database=DATABASE)
        end, deadline = None, 0.0
        with connection.cursor() as cursor:
            cursor.execute("SET pelorus_max_staleness = 1e9")
            while end is None or (seen[-1][0] < end and time.monotonic() < deadline):
                cursor.execute("SELECT MAX(n) FROM ticks")
                number = cursor.fetchone()[0]
                if not seen or number != seen[-1][0]:
                    seen.append((number, time.monotonic()))
                if end is None and writer.poll() is not None:
                    end = self.mysql.run("SELECT MAX(n) FROM ticks", database=DATABASE)[0][0]
                    deadline = time.monotonic() + 30
                time.sleep(0.001)
        connection.close()
        return seen

    def load(self) -> None:
        """A load at full speed: whether the mirror keeps up, and what the source loses by it."""
        if machine.find("sysbench") is None:
            self.missing["sysbench"] = "it is not installed"
            return
        with Step("make sysbench's tables"):
            self.mysql.run("SET sql_log_bin = 0", f"CREATE DATABASE {SYSBENCH}")
            self._sysbench("prepare").wait()
        self.pelorus.stop()
        through = self.open(SYSBENCH)
        tables = [f"sbtest{number}" for number in range(1, SYSBENCH_TABLES + 1)]
        for table in tables:
            self.mirror(table, SYSBENCH)
        rates: dict[str, list[float]] = {"alone": [], "with the mirror": []}
        lags: list[list[float]] = []
        turns = self.job["turns"]
        seconds = self.job["seconds"] // turns
        for turn in range(turns):
            # Each begins in turn, so that what the first does to the other is evened out.
            for case in sorted(rates, reverse=turn % 2 == 1):
                if case == "alone":
                    through.stop()
                else:
                    if not through.process.alive():
                        through.start()
                    self.until_reached()
                with Step(f"oltp_read_write {case} for {seconds} s") as step:
                    used = 0.0 if case == "alone" else through.process.cpu_seconds()
                    load, samples = self._sysbench("run", seconds), []
                    while load.poll() is None:
                        if case != "alone":
                            samples += self._lag(tables[0])
                        time.sleep(0.5)
                    rates[case].append(float(re.search(r"transactions: .*\(([\d.]+) per sec",
                                                       load.stdout.read())[1]))
                    step.note(f"{rates[case][-1]:,.0f} transactions a second")
                if case != "alone":
                    used = through.process.cpu_seconds() - used
                    self.add("cores that the mirror uses under load", OURS, "cores",
                             [used / seconds])
                    self.add("reaching the end after the load", OURS, "s", [self.until_reached()])
                    lags.append(samples)
        for case, values in rates.items():
            self.add("oltp_read_write", case, "transactions/s", values)
        for name, part in (("first", 0), ("last", -1)):
            quarter = [samples[:max(len(samples) // 4, 1)] if part == 0
                       else samples[-max(len(samples) // 4, 1):] for samples in lags]
            self.add(f"behind under load, {name} quarter", OURS, "s",
                     [rows.median(values) for values in quarter])
        if not through.process.alive():
            through.start()
        self.until_reached()
        for table in tables:
            ask = f"SELECT COUNT(*), SUM(id), SUM(k), MIN(c), MAX(pad) FROM {table}"
            self.compare(table, ask, SYSBENCH)

    def _lag(self, table: str) -> list[float]:
        """The seconds that a mirror is behind, if it knows."""
        seconds = self.mirrors()[table]["Seconds_behind"]
        return [] if seconds is None else [float(seconds)]

    def _sysbench(self, command: str, seconds: int = 0) -> subprocess.Popen:
        process = subprocess.Popen(
            [machine.find("sysbench"), "oltp_read_write", "--db-driver=mysql",
             f"--mysql-socket={self.mysql.folder}/s", f"--mysql-user={servers.USER}",
             f"--mysql-password={servers.PASSWORD}", f"--mysql-db={SYSBENCH}",
             f"--tables={SYSBENCH_TABLES}", f"--table-size={SYSBENCH_ROWS}",
             f"--threads={SYSBENCH_THREADS}", f"--time={seconds}", "--rand-seed=1",
             # A row that another has put there in the meantime is not the end.
             "--mysql-ignore-errors=1213,1020,1205,1062", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if command == "prepare":
            text = process.communicate()[0]
            if process.returncode != 0:
                raise SystemExit(f"sysbench failed:\n{text[-2000:]}")
        return process

    def _make_ontime(self) -> None:
        """Makes the table of the reference queries, if no part has yet."""
        if not self.mysql.run("SELECT 1 FROM information_schema.tables WHERE table_schema = "
                              f"'{DATABASE}' AND table_name = 'ontime'"):
            generated.load(self.mysql, self.job["rows"])

    def queries(self) -> None:
        """The reference queries: the mirror of `ontime` against MySQL alone."""
        self._make_ontime()
        self.pelorus.stop()
        through = self.open(DATABASE)
        with Step(f"mirror {self.job['rows']:,} rows of ontime") as step:
            speed = self.job["rows"] / self.mirror("ontime")
            step.note(f"{speed:,.0f} rows a second")
        self.add("first reading of ontime", OURS, "rows/s", [speed])
        connections = {THEIRS: rows.connect(self.mysql, database=DATABASE),
                       OURS: rows.connect(through, database=DATABASE)}
        rows.ask(connections[OURS], "SET pelorus_max_staleness = 1e9")
        for case, statement in ontime.QUERIES.items():
            times: dict[str, list[float]] = {name: [] for name in connections}
            with Step(f"query {case}") as step:
                for run in range(self.job["runs"] + 1):
                    answers = {}
                    for name, connection in connections.items():
                        spent, answers[name] = rows.measure(connection, statement)
                        if run:
                            times[name].append(spent)
                found = rows.differences(answers[THEIRS], answers[OURS], case in ontime.ORDERED)
                self.differ += [f"query {case}: {text}" for text in found]
                step.note("  ".join(f"{name} {rows.median(values):,.1f} ms"
                                    for name, values in times.items()))
            for name, values in times.items():
                self.add(f"query {case}", name, "ms", values)
        self.must_be_mirrored()
        self.facts["pelorus_peak_bytes"] = through.process.peak_memory_bytes()

    def peers(self) -> None:
        """What peers that copy the table take: to load it, to see a change, for the queries."""
        self._make_ontime()
        self.pelorus.stop()
        self._copied("spark", *self._spark())
        self._copied("duckdb", *self._duckdb())

    def _spark(self) -> tuple:
        """A table in Spark's cache; a change is seen when it is cached anew."""
        session = peers.spark_session()
        self.facts["spark_version"] = session.version

        def load() -> None:
            session.catalog.clearCache()
            peers.spark_table(session, self.mysql, DATABASE, "ontime")
            session.catalog.cacheTable("ontime")
            session.sql("SELECT count(*) FROM ontime").collect()

        return load, lambda text: session.sql(text).collect(), session.stop

    def _duckdb(self) -> tuple:
        """A table of DuckDB's; a change is seen when it is copied anew."""
        connection = peers.duckdb_attached(self.mysql, DATABASE)
        self.facts["duckdb_version"] = connection.sql("SELECT version()").fetchone()[0].lstrip("v")

        def load() -> None:
            connection.execute("CREATE OR REPLACE TABLE memory.ontime AS "
                               f"SELECT * FROM my.{DATABASE}.ontime")

        ask = lambda text: connection.execute(peers.duckdb_text(text)).fetchall()  # noqa: E731
        return load, ask, connection.close

    def _copied(self, peer: str, load, ask, close) -> None:
        """Measures one peer."""
        with Step(f"{peer}: copy {self.job['rows']:,} rows of ontime") as step:
            begun = time.perf_counter()
            load()
            speed = self.job["rows"] / (time.perf_counter() - begun)
            step.note(f"{speed:,.0f} rows a second")
        self.add("first reading of ontime", peer, "rows/s", [speed])
        mark = self.job["rows"] + 7
        self.mysql.run(f"UPDATE ontime SET Distance = {mark} WHERE id = 1", database=DATABASE)
        with Step(f"{peer}: see one change") as step:
            begun = time.perf_counter()
            load()
            if ask("SELECT max(Distance) FROM ontime")[0][0] != mark:
                raise SystemExit(f"{peer} does not show what was changed")
            seconds = time.perf_counter() - begun
            step.note(f"{seconds:,.1f} s")
        self.add("from a commit to its being visible", peer, "s", [seconds])
        for case, statement in ontime.QUERIES.items():
            times = []
            with Step(f"query {case}: {peer}") as step:
                for run in range(self.job["runs"] + 1):
                    begun = time.perf_counter()
                    ask(statement)
                    if run:
                        times.append((time.perf_counter() - begun) * 1000)
                step.note(f"{rows.median(times):,.1f} ms")
            self.add(f"query {case}", peer, "ms", times)
        close()


def write(job: dict) -> None:
    """Commits one row at a time at an even pace and notes when each was committed."""
    source = servers.Server("source")
    source.port = job["port"]
    connection = source.connect(database=DATABASE)
    moments: list[float] = []
    with connection.cursor() as cursor:
        begun = time.monotonic()
        for number in range(1, job["seconds"] * CHANGES_A_SECOND + 1):
            ahead = begun + number / CHANGES_A_SECOND - time.monotonic()
            if ahead > 0.0005:
                time.sleep(ahead)
            cursor.execute(f"UPDATE ticks SET n = {number} WHERE id = {number % mirror_workload.TICK_ROWS}")
            moments.append(time.monotonic())
    connection.close()
    Path(job["result"]).write_text(json.dumps(moments))


def main() -> None:
    """The command line; `bench` gives it."""
    if sys.argv[1] == "--write":
        write(json.loads(sys.argv[2]))
        return
    job = json.loads(Path(sys.argv[1]).read_text())
    try:
        bench = Bench(job)
        parts = job["parts"].split(",")
        if {"snapshot", "stream", "latency"} & set(parts):
            mirror_workload.make(bench.mysql, job["rows"])
        bench.open(DATABASE)
        if "snapshot" not in parts and "stream" in parts:
            bench.mirror("wide")
        for part in ("snapshot", "stream", "latency", "load", "queries", "peers"):
            if part in parts:
                try:
                    getattr(bench, part)()
                except ImportError as error:
                    bench.missing[part] = str(error)
        bench.facts["results that differ"] = bench.differ
        Path(job["raw"]).write_text(json.dumps(
            {"series": bench.series, "missing": bench.missing, "facts": bench.facts}))
    finally:
        processes.stop_all()


if __name__ == "__main__":
    main()
