"""What `docs/benchmarks.md` shows of each workload: cases, systems, targets and explanations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A line of a table. `case` is its name in the files of runs and in the reports of `bench`."""

    case: str
    label: str
    unit: str = "ms"
    target: str = ""
    factor: float = 1.0
    # Where a report has it under other names: the quotient of two cases; the distance in percent of
    # the furthest value of a case from its median; the largest value of a case.
    of: tuple[str, ...] = ()
    furthest: str = ""
    largest: str = ""


@dataclass(frozen=True)
class Workload:
    """A table. `ratio` is `part` (Pelorus by the peer) or `times` (how many times as fast)."""

    name: str
    rows: tuple[Row, ...]
    systems: tuple[tuple[str, str], ...]
    peer: str = ""
    title: str = ""
    ratio: str = "part"
    ratio_label: str = ""
    digits: int = 2
    spread: str = "ours"
    by_system: bool = False
    notes: str = ""

    @property
    def ours(self) -> str:
        """The system whose figures are compared with those of the peer."""
        return self.systems[0][0]


HEAD = """\
# Benchmarks

To measure a workload, run `make bench-NAME` with one of the names below.
It installs the peers, writes `target/bench/NAME.json` and ends with the list of targets.

Each table shows the newest run that has the most figures; the last column shows the spread over all runs in `bench/results/`.
This page is generated from these files by `python -m pelorus_tools.benchmarks_page` (with `PYTHONPATH=scripts`), which also adds a new report to them: `... take target/bench/scan.json scan-10`.

All figures are medians unless a line says otherwise.
They come from one machine with two virtual CPUs that is shared with others. Pelorus, its peers and the clients run on it together, and single medians move by about a tenth.

Every MariaDB and MySQL is started with `--sync-binlog=0 --innodb-flush-log-at-trx-commit=2`: its commits do not wait for the disk.
`make bench-mirror` and `make bench-ontime` also switch off InnoDB's doublewrite buffer (`--innodb-doublewrite=OFF`).
So these servers write faster here than with their defaults, and are less durable than Pelorus, whose commits wait for a sync.
"""

QUERIES = (
    ("1", "1: delays by carrier, filtered"), ("1a", "1a: the same, one airport"),
    ("2", "2: flights per weekday"), ("3", "3: top carriers"),
    ("4", "4: one year, day and state"), ("5", "5: highest id"),
    ("6", "6: per year, as a derived table"),
)

_OF_MARIADB = {"1": "0.7", "1a": "1.1", "2": "1.05", "3": "0.7", "4": "+ 2 ms", "5": "+ 2 ms", "6": "1.1"}

ONTIME = Workload(
    "ontime",
    (*(Row(case, label, target=_OF_MARIADB[case]) for case, label in QUERIES),
     Row("1, covering index", "1, with the reference's covering index", target="1.1"),
     Row("4, covering index", "4, with the reference's covering index", target="+ 2 ms"),
     Row("5, covering index", "5, with the reference's covering index", target="+ 2 ms"),
     Row("1, with a replica", "1, with a second MariaDB as replica"),
     Row("2, with a replica", "2, with a second MariaDB as replica"),
     Row("3, with a replica", "3, with a second MariaDB as replica"),
     Row("peak memory", "peak memory", "MiB", "500")),
    (("pelorus", "Pelorus"), ("mariadb", "MariaDB"), ("duckdb", "DuckDB"), ("spark", "Spark")),
    peer="mariadb", ratio_label="of MariaDB",
    notes="""\
Further targets: queries 1, 2, 3 and 5 take at most 1/3, 1/2, 1/2 and 1/100 of Spark's time.

- Two virtual CPUs give two readers of InnoDB about one and a half times the speed of one, so about 0.62 is what plain counting costs here.
- Query 1 gains more, because its conditional sums travel as counts, which MariaDB adds twice as fast.
- With the covering index queries 4 and 5 add 0.4 and 0.3 ms to MariaDB's time.
- With a replica both servers read 72 ranges. On one machine that is hardly faster.
""")

MIRROR_FOLLOW = Workload(
    "mirror-follow",
    (Row("first reading", "first reading of 10 million rows of 16 columns", "rows/s", "300,000"),
     Row("catching up, transactions of 100 rows",
         "catching up, transactions of 100 rows, a statement each", "rows/s", "50,000"),
     Row("catching up, transactions of one row", "catching up, transactions of one row", "rows/s", "5,000"),
     Row("from commit to visible, 50 %", "from commit to visible at 2,000 commits/s for 60 s, median",
         target="20"),
     Row("from commit to visible, 99 %", "the same, 99 %", target="100")),
    (("pelorus", "Pelorus"), ("mysqldump", "mysqldump")),
    peer="mysqldump", title="Copying a table and following the binlog", ratio_label="of mysqldump",
    notes="""\
On a machine that is so busy that the writer itself is late, 99 % of the commits are visible within 0.4 to 0.6 s only.
""")

MIRROR_LOAD = Workload(
    "mirror-load",
    (Row("oltp_read_write", "`oltp_read_write` of 4 threads", "transactions/s", "0.90"),
     Row("behind under load, last quarter", "age of what the mirror shows, last quarter of the load",
         "ms", "100", factor=1000),
     Row("cores that the mirror uses under load", "cores that the mirror uses", "cores")),
    (("with the mirror", "with the mirror"), ("alone", "server alone"), ("pelorus", "the mirror")),
    peer="alone", title="What the server loses under load", ratio_label="of alone", spread="ratio",
    notes="""\
Single turns with and without the mirror differ by a tenth among themselves.
The mirror looks at the binlog every 20 ms. When it woke up for every transaction, it used 0.08 to 0.09 cores, and the server kept 0.85 to 0.94 of its throughput.
What else the server loses was not measured.
""")

MIRROR_QUERIES = Workload(
    "mirror-queries",
    (*(Row(f"query {case}", label, target="50" if case in "123" else "") for case, label in QUERIES),
     Row("first reading of ontime", "copying the table", "rows/s"),
     Row("from a commit to its being visible", "from a commit to its being visible", factor=1000)),
    (("pelorus", "Pelorus"), ("mysql", "MySQL"), ("spark", "Spark"), ("duckdb", "DuckDB")),
    peer="mysql", title="Queries of a mirror", ratio="times", ratio_label="times as fast as MySQL",
    digits=1, spread="ratio",
    notes="""\
10 million rows; what Pelorus returns is compared with MySQL's rows, and nothing differed.
Spark has the table in its cache, DuckDB in a table of its own.
Pelorus's memory peaked at 1.24 GB, and at 1.03 GB with the memory allocator of commit bedd141.
""")

INGEST = Workload(
    "ingest",
    (Row("load", "load", "rows/s"),
     Row("load the last half hour again", "load the last half hour again", "rows/s"),
     Row("disk", "disk", "bytes/row")),
    (("pelorus in process", "Pelorus in process"), ("pelorus LOAD DATA", "Pelorus, `LOAD DATA LOCAL`"),
     ("pelorus INSERT IGNORE", "Pelorus, `INSERT IGNORE`"), ("clickhouse", "ClickHouse in process"),
     ("duckdb", "DuckDB in process"), ("mariadb LOAD DATA", "MariaDB, `LOAD DATA`"),
     ("mariadb INSERT IGNORE", "MariaDB, `INSERT IGNORE`")),
    title="Loading: `make bench-ingest`", ratio_label="Pelorus in process, times of it", by_system=True,
    notes="""\
Events of 104 bytes in batches of 40,000, every batch durable, with a primary key and partitions of two hours.
Targets: 500,000 rows/s in process and 300,000 by `LOAD DATA`; every window of 10 million rows within 10 % of the median; loading again changes nothing and costs no more than the first time; a partition is dropped within 10 ms (measured: 0.09 ms).
""")

WINDOWS = Workload(
    "ingest",
    (Row("load", "load in process", "rows/s", "500,000"),
     Row("furthest window from the median", "furthest window of 10 million rows from the median", "%", "10",
         furthest="load")),
    (("pelorus in process", "Pelorus in process"),),
    title="Evenness of loading",
    notes="""\
The target of 10 % is met in most runs. It is missed in some because of the machine: a window costs the same work, but between 5.3 and 6.3 seconds of processor time for it were seen within one run.
A page of memory that this virtual machine has not used before costs 10 µs (8 GiB: 21 s the first time, 0.1 s the second). That is why memory is kept for a while, buffers of the log are reused, and what is written bypasses the operating system's cache.
A load of 350 million rows stayed within 9.8 %, with a peak memory of 7.1 GB; its slowest of 8,750 commits took 83 ms.
With 100 million rows the slowest of 2,500 commits took 56 to 105 ms, peak memory was 2.3 GB, and opening the database again took 87 to 366 ms.
`bench ingest` prints for each window how many cores it took, and how many others took.
""")

_IN_PROCESS = (("pelorus in process", "Pelorus"),)

RECOVERY = Workload(
    "recovery",
    (Row("replay", "replay of 10 million rows after a crash just before the first checkpoint", "rows/s",
         "1,000,000"),
     Row("log", "size of the log", "bytes/row")),
    _IN_PROCESS, title="Recovery: `make bench-recovery`")

UPDATE = Workload(
    "update",
    (Row("random upserts", "upserts, durable, median of windows of 5 s", "rows/s", "300,000"),
     Row("scan after the upserts, of before", "scan after the upserts, of the time before", "", "1.5",
         of=("scan after the upserts", "scan before the upserts")),
     Row("scan during the upserts, of an untouched table",
         "scan during the upserts, of the time of an untouched table", "", "1.5",
         of=("scan beside the upserts", "scan beside them of an untouched table")),
     Row("largest file, by its live data", "largest file, of its live data", "", "below 1.5",
         largest="file beside the upserts, by its live data"),
     Row("file after the upserts, at rest", "file at rest, of its live data", "")),
    _IN_PROCESS, title="Updates: `make bench-update`",
    notes="""\
Random upserts by primary key over 50 million resident rows of 13 columns, while full scans of all columns run (`BENCH_ROWS=50000000 BENCH_SECONDS=600`).

About 12 % of the rows are dead at any time. The rest of the file's excess are holes (about 280 MiB of 1.43 GiB of live data, 376 MiB at most) and blocks that wait for two checkpoints (80 MiB).
Of the 212 holes of such a file, copied in the middle of the run, 185 were smaller than the smallest chunk (chunks take 3.25 to 3.9 MiB). These fragments keep the file long.
How many rows may be dead is a choice of `maintain/policy.rs`: the fewer, the faster the scans, and the slower the writers. With a fifth dead, upserts ran at 400,000 a second (commit 77d0985).
A scan of rows of which some are dead has to compact the others; that and the new chunks make the factor.
""")

_SCANS = tuple(Row(case, label, target=target) for case, label, target in (
    ("TPC-H query 6", "TPC-H query 6", "1.0"), ("TPC-H query 6, cold", "TPC-H query 6, cold", "1.0"),
    ("TPC-H query 1", "TPC-H query 1", "1.0"), ("TPC-H query 1, cold", "TPC-H query 1, cold", "1.0"),
    ("sums of the numbers", "sums of the eleven numbers", ""),
    ("sums of the numbers, cold", "sums of the eleven numbers, cold", "")))
_DUCKDB = (("pelorus", "Pelorus"), ("duckdb", "DuckDB"))

SCAN_1 = Workload("scan-1", _SCANS, _DUCKDB, peer="duckdb", ratio_label="of DuckDB", spread="ratio",
                  title="Scans at scale factor 1: `make bench-scan`",
                  notes="""\
TPC-H's `lineitem`, Pelorus over its MySQL port, DuckDB in process; all results are equal. Sums without groups are slower here.
""")
SCAN_10 = Workload("scan-10", _SCANS, _DUCKDB, peer="duckdb", ratio_label="of DuckDB", spread="ratio",
                   title="Scans at scale factor 10: `BENCH_SCALE=10 make bench-scan`",
                   notes="""\
In the run with 1.10 for query 1 both systems had runs of a second, and of half a second otherwise.
""")
SCAN_LOAD = Workload(
    "scan-load",
    (Row("load, 60 million rows", "60 million rows by one `LOAD DATA`", "rows/s"),
     Row("load, 6 million rows", "6 million rows", "rows/s")),
    _DUCKDB, peer="duckdb", ratio_label="of DuckDB", title="Loading `lineitem`")

SIZES = Workload(
    "sizes",
    tuple(Row(f"{name}, {where}", f"{label}, {text}", "bytes/row", target)
          for where, text, target in (("disk", "on the disk", "1.0"), ("memory", "in memory", ""))
          for name, label in (("events", "events"), ("taxi", "taxi trips"), ("lineitem", "`lineitem`"))),
    (*_DUCKDB, ("clickhouse", "ClickHouse"), ("parquet, zstd", "Parquet, zstd")),
    peer="duckdb", ratio_label="of DuckDB", title="Bytes of a row: `make bench-sizes`",
    notes="""\
DuckDB and Parquet without a key, sorted by it; ClickHouse in one merged part. In memory: read whole after a start.
On the disk Pelorus packs numbers into bits and compresses texts. In memory codes take whole bytes and texts are not compressed, for the speed of scans and look-ups.
""")

POINT = Workload(
    "point",
    (Row("a look-up, median", "a row of 13 columns by its primary key, median", "µs", "10"),
     Row("a look-up, 99 %", "the same, 99 %", "µs"),
     Row("rows by look-ups of 1,000", "1,000 keys at once", "rows/s")),
    _IN_PROCESS, title="Look-ups: `make bench-point`",
    notes="In process, among 100 million resident rows.\n")

ALLOCATOR = Workload(
    "allocator",
    (Row("1,000,000 blocks: ns of a free and an allocation",
         "a free and an allocation in a file of a million blocks", "µs", factor=0.001),
     Row("nodes more for every doubling of blocks", "nodes more for every doubling of blocks", "nodes")),
    (("tree", "Pelorus"), ("linear", "linear first fit")),
    peer="linear", ratio_label="of linear", digits=3, title="Free space: `make bench-allocator`")

BUILD = Workload(
    "build",
    tuple(Row(case, case.replace("in query", "in `query`"), "minutes") for case in (
        "release build of everything, DataFusion included, on an idle machine", "the same on a busy machine",
        "build, Rust tests and drivers of other languages on a fresh clone",
        "the Python tests in one process", "the Python tests in two, on a busy machine",
        "incremental release build after a change in query")),
    (("time", "about"),))

SECTIONS = (
    ("Reference reports: `make bench-ontime`", """\
A generated `ontime` table of 10 million rows (20 columns, 1.3 GB) in a MariaDB whose buffer pool holds it.
The same queries run by MariaDB alone, through Pelorus, by DuckDB with its MySQL extension, and by Spark with Connector/J in 16 partitions by `id`.
Medians of five runs after one that is not counted; MariaDB and Pelorus take turns. Every answer of Pelorus is compared with MariaDB's, and none differed.
""", (ONTIME,)),
    ("Mirrors: `make bench-mirror`", """\
`BENCH_ROWS` (10 million), `BENCH_CHANGES` (2 million), `BENCH_SECONDS` (600) of load in `BENCH_TURNS` (4), and `BENCH_PARTS` (`snapshot,stream,latency,load,queries,peers`) change what is measured.
Targets of parts that are left out count as missed. All eleven targets were met when all parts were measured.
""", (MIRROR_FOLLOW, MIRROR_LOAD, MIRROR_QUERIES)),
    ("Native tables", """\
`BENCH_ROWS`, `BENCH_PEER_ROWS`, `BENCH_SECONDS`, `BENCH_SCALE` and `BENCH_PEERS` change the sizes.
""", (INGEST, WINDOWS, RECOVERY, UPDATE, SCAN_1, SCAN_10, SCAN_LOAD, SIZES, POINT, ALLOCATOR)),
    ("Build time", """\
On two virtual cores, with the features of this workspace.
""", (BUILD,)),
)
