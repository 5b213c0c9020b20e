"""Measures the reference queries with MariaDB alone, Spark, DuckDB and Pelorus.

`bench ontime` starts this, judges what it writes, and prints the tables.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

from . import generated, ontime, peers, pelorus, processes, rows, servers
from .show import Step

INDEXED = ["1", "4", "5"]
SPREAD = ["1", "2", "3"]


class Bench:
    """What is measured, and what has been seen so far."""

    def __init__(self, count: int, runs: int):
        self.count, self.runs = count, runs
        self.cases: list[dict] = []
        self.facts: dict = {}
        self.missing: dict[str, str] = {}
        self.differences: list[str] = []

    def add(self, case: str, system: str, times: list[float]) -> None:
        """Keeps the times of one case on one system."""
        self.cases.append({"case": case, "system": system, "times_ms": times})

    def over_the_wire(self, cases: dict[str, str], systems: dict[str, servers.Server], word: str,
                      prepare: dict[str, str] | None = None) -> None:
        """Measures servers of the MySQL protocol turn by turn, so that a busy moment of the machine
        hits all. The first run is not counted."""
        connections = {name: rows.connect(server, database=generated.DATABASE)
                       for name, server in systems.items()}
        for at, (case, statement) in enumerate(cases.items()):
            times: dict[str, list[float]] = {name: [] for name in systems}
            with Step(f"query {case}{word}: {', '.join(systems)}") as step:
                for run in range(self.runs + 1):
                    answers = {}
                    for name, connection in connections.items():
                        spent, answers[name] = rows.measure(connection, statement)
                        if run:
                            times[name].append(spent)
                    step.part(run + 1, self.runs + 1, "rounds")
                first, *others = answers
                for other in others:
                    found = rows.differences(answers[first], answers[other],
                                             case in ontime.ORDERED)
                    self.differences += [f"query {case}{word}, {other}: {text}" for text in found]
                step.note("  ".join(f"{name} {rows.median(found):,.1f} ms"
                                    for name, found in times.items()))
            for name, found in times.items():
                self.add(case + word, name, found)
        for connection in connections.values():
            connection.close()


def spark(bench: Bench, server: servers.Server) -> None:
    """Spark reads through JDBC in partitions by id, and does the rest itself."""
    try:
        session = peers.spark_session()
    except ImportError as error:
        bench.missing["spark"] = str(error)
        return
    peers.spark_table(session, server, generated.DATABASE, "ontime")
    for case, statement in ontime.QUERIES.items():
        times = []
        with Step(f"query {case}: spark") as step:
            for run in range(bench.runs + 1):
                started = time.perf_counter()
                session.sql(statement).collect()
                if run:
                    times.append((time.perf_counter() - started) * 1000)
                step.part(run + 1, bench.runs + 1, "rounds")
            step.note(f"spark {rows.median(times):,.0f} ms")
        bench.add(case, "spark", times)
    bench.facts["spark_version"] = session.version
    session.stop()


def duckdb(bench: Bench, server: servers.Server) -> None:
    """DuckDB reads the table through its MySQL extension."""
    try:
        connection = peers.duckdb_attached(server, generated.DATABASE)
        connection.execute(f"USE my.{generated.DATABASE}")
        bench.facts["duckdb_version"] = connection.sql("SELECT version()").fetchone()[0].lstrip("v")
    except Exception as error:  # noqa: BLE001 - a peer that cannot be had is reported
        bench.missing["duckdb"] = str(error).splitlines()[0]
        return
    for case, statement in ontime.QUERIES.items():
        statement = peers.duckdb_text(statement)
        times = []
        try:
            with Step(f"query {case}: duckdb") as step:
                for run in range(bench.runs + 1):
                    started = time.perf_counter()
                    connection.execute(statement).fetchall()
                    if run:
                        times.append((time.perf_counter() - started) * 1000)
                    step.part(run + 1, bench.runs + 1, "rounds")
                step.note(f"duckdb {rows.median(times):,.0f} ms")
        except Exception as error:  # noqa: BLE001
            bench.missing[f"duckdb, query {case}"] = str(error).splitlines()[0]
            continue
        bench.add(case, "duckdb", times)
    connection.close()


def replica_ranges(through: pelorus.Pelorus) -> dict[str, int]:
    """How many ranges each server has read."""
    found = through.run("SELECT role, sum(ranges) FROM pelorus.link_servers GROUP BY role")
    return {role: int(count) for role, count in found}


def start(rows_count: int, name: str, number: int, copy_of: Path | None = None) -> servers.MariaDb:
    """A MariaDB whose buffer pool holds the table and its index."""
    return servers.MariaDb(
        name, number, buffer_pool_mb=512 + rows_count * 300 // 2**20, copy_of=copy_of,
        options=("--innodb-log-file-size=512M", "--innodb-doublewrite=0"))


def run(bench: Bench, systems: set[str]) -> None:
    """All measurements."""
    with Step("start MariaDB"):
        primary = start(bench.count, "bench-primary", 1)
    generated.load(primary, bench.count)
    bench.facts["mariadb_version"] = primary.run("SELECT VERSION()")[0][0]
    bench.facts["table_bytes"] = int(primary.run(
        "SELECT data_length FROM information_schema.tables "
        f"WHERE table_schema = '{generated.DATABASE}'")[0][0])
    through = pelorus.Pelorus(links=[primary.url(generated.DATABASE)])
    bench.over_the_wire(ontime.QUERIES, {"mariadb": primary, "pelorus": through}, "")
    bench.facts["pelorus_peak_bytes"] = through.process.peak_memory_bytes()
    if "duckdb" in systems:
        duckdb(bench, primary)
    if "spark" in systems:
        try:
            spark(bench, primary)
        except Exception as error:  # noqa: BLE001 - a peer that cannot be had is reported
            bench.missing["spark"] = str(error).splitlines()[0]
    through.stop()
    with Step("copy the data for a replica and start it"):
        primary.stop()
        replica = start(bench.count, "bench-replica", 2, primary.data)
        primary.start()
        replica.follow(primary)
        # The table was loaded beside the binlog; without any GTID replicas cannot be compared.
        primary.run("CREATE DATABASE heartbeat")
        replica.catch_up(primary)
    through = pelorus.Pelorus()
    through.run(
        f"CREATE SERVER pair FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT "
        f"{primary.port}, USER '{servers.USER}', PASSWORD '{servers.PASSWORD}', DATABASE "
        f"'{generated.DATABASE}', REPLICAS '127.0.0.1:{replica.port}')")
    for server in (primary, replica):
        server.run("SELECT count(*), sum(Distance) FROM ontime", database=generated.DATABASE)
    bench.over_the_wire({case: ontime.QUERIES[case] for case in SPREAD},
                        {"pelorus": through}, ", with a replica")
    bench.facts["ranges"] = replica_ranges(through)
    through.stop()
    replica.stop()
    with Step("add the covering index"):
        primary.run(f"SET sql_log_bin = 0", ontime.COVERING_INDEX, "ANALYZE TABLE ontime",
                    database=generated.DATABASE)
    through = pelorus.Pelorus(links=[primary.url(generated.DATABASE)])
    bench.over_the_wire({case: ontime.QUERIES[case] for case in INDEXED},
                        {"mariadb": primary, "pelorus": through}, ", covering index")
    bench.facts["pelorus_peak_bytes"] = max(bench.facts["pelorus_peak_bytes"],
                                            through.process.peak_memory_bytes())


def about_machine() -> dict:
    """What the figures were measured on."""
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    memory = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines()
                  if line.startswith("MemTotal:"))
    return {"cpu": names[0] if names else platform.machine(), "cores": os.cpu_count(),
            "memory_bytes": memory * 1024, "system": platform.system()}


def main() -> None:
    """The command line; `bench` gives it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--systems", default="spark,duckdb")
    parser.add_argument("--raw", type=Path, required=True)
    given = parser.parse_args()
    bench = Bench(given.rows, given.runs)
    try:
        run(bench, set(given.systems.split(",")))
    finally:
        processes.stop_all()
    given.raw.write_text(json.dumps({
        "rows": given.rows, "machine": about_machine(), "cases": bench.cases,
        "facts": bench.facts, "missing": bench.missing, "differences": bench.differences}))


if __name__ == "__main__":
    main()
