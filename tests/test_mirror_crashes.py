"""Pelorus ends in the middle of statements that its mirrors follow, after each of the syncs to disk
that they take: what it finds when it starts again is made up for, and the stream goes on."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

import pymysql
import pytest
from pelorus_tools.crash_point import CrashPoint
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import Process, wait_for

# No statement here takes more syncs.
MOST = 6
# Seconds to wait for the first crash, which must come, and the least for each later one, after which there is none:
# the syncs come in milliseconds.
FIRST, LEAST = 60.0, 1.0

T = ("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
SWAP = "RENAME TABLE t TO _t_del, _t_gho TO t"


@dataclass
class Case:
    """A database, what is done to it when Pelorus ends, and what is done to it later."""

    begin: tuple[str, ...]
    steps: tuple[str, ...]
    later: tuple[str, ...]


CASES = {
    # The copy that the crash leaves without a mirror has the name that the next swap wants.
    "swap": Case(
        (*T, "CREATE TABLE other (id INT PRIMARY KEY)", "CREATE TABLE _t_gho LIKE t",
         "INSERT INTO _t_gho SELECT * FROM t"),
        (SWAP,),
        ("INSERT INTO t VALUES (3, 3)", "DROP TABLE _t_del", "CREATE TABLE _t_gho LIKE t",
         "ALTER TABLE _t_gho ADD z INT DEFAULT 1", "INSERT INTO _t_gho SELECT t.*, 5 FROM t", SWAP,
         "INSERT INTO t VALUES (4, 4, 4)", "INSERT INTO other VALUES (5)")),
    # A table has another name before it is read.
    "come": Case(
        T, ("CREATE TABLE n LIKE t", "RENAME TABLE n TO n2"), ("INSERT INTO n2 VALUES (7, 7)",)),
    # A foreign key that is no longer there changes no rows.
    "foreign_key": Case(
        ("CREATE TABLE p (id INT PRIMARY KEY, x INT)",
         "CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES p (id) "
         "ON DELETE CASCADE)",
         "INSERT INTO p VALUES (1, 1), (2, 2)", "INSERT INTO c VALUES (1, 1), (2, 2)"),
        ("ALTER TABLE c DROP FOREIGN KEY fk, ADD COLUMN n INT DEFAULT 3",),
        ("DELETE FROM p WHERE id = 1", "INSERT INTO c VALUES (3, 1, 1)")),
}


class Patience:
    """How long to wait for a crash: ten times as long as the slowest one took."""

    def __init__(self):
        self.seconds = FIRST
        self._slowest = 0.0

    def ended(self, seconds: float) -> None:
        """Notes that a crash took so long."""
        self._slowest = max(self._slowest, seconds)
        self.seconds = min(FIRST, max(LEAST, 10 * self._slowest))


@pytest.fixture
def patience():
    """How long a test waits for a crash."""
    return Patience()


@pytest.fixture(scope="module")
def crash_point():
    """Where Pelorus ends."""
    if not CrashPoint.is_available():
        pytest.skip("no C compiler")
    return CrashPoint()


@pytest.fixture(params=["mariadb", "native_mysql"])
def own(request, crash_point, linked_maker):
    """A server that does not log what foreign keys do, and a Pelorus that can be ended."""
    server = request.getfixturevalue(request.param)
    through = linked_maker(server.url(), name=f"pelorus-crashes-{request.param}",
                           environment=crash_point.environment)
    yield Mirrored(server, through)
    through.stop()


def ends(pair: Mirrored, crash_point: CrashPoint, patience: Patience, syncs: int, database: str,
         steps: tuple[str, ...]) -> bool:
    """Runs statements that Pelorus finds all at once; whether it has ended after so many syncs."""
    process = pair.through.process
    # What the mirrors' beginning has left to be synced is not counted.
    time.sleep(0.1)
    pair.through.freeze()
    try:
        pair.server.run("SET sql_mode = ''", *steps, database=database)
        crash_point.arm(syncs)
    finally:
        pair.through.thaw()
    return has_ended(process, crash_point, patience)


def has_ended(process: Process, crash_point: CrashPoint, patience: Patience) -> bool:
    """Whether a process ends in time by the syncs that it was given."""
    begun = time.monotonic()
    with contextlib.suppress(TimeoutError):
        wait_for("the process to end", lambda: not process.alive(), patience.seconds, pause=0.01)
        patience.ended(time.monotonic() - begun)
    crash_point.arm(0)
    # The last sync may be running.
    time.sleep(0.1)
    return not process.alive()


def all_live(pair: Mirrored, database: str) -> None:
    """Waits until everything has come through the stream; all tables are mirrored, and the same."""
    pair.server.run("CREATE TABLE last_of_all (id INT PRIMARY KEY)", database=database)
    tables = sorted(row[0] for row in pair.server.run(f"SHOW TABLES FROM {database}"))
    pair.wait_live(database, *tables)
    assert sorted(pair.of_database(database)) == tables
    pair.same_tables(database, *tables)


@pytest.mark.parametrize("name", CASES)
def test_after_every_sync(own, crash_point, patience, name):
    case, databases = CASES[name], {syncs: f"crash_{name}_{syncs}" for syncs in range(1, MOST + 1)}
    for database in databases.values():
        own.server.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}",
                       f"USE {database}", *case.begin)
    for database in databases.values():
        own.wait_for_database(database)
        own.through.run(f"MIRROR DATABASE {database}")
    for database in databases.values():
        own.wait_live(database)
    done = []
    for syncs, database in databases.items():
        done.append(database)
        if not ends(own, crash_point, patience, syncs, database, case.steps):
            break
        own.through.kill()
        own.through.start()
        own.wait_for_database(database)
        own.wait_live(database)
    # Else nothing was tested.
    assert len(done) > 1
    for database in done:
        own.server.run("SET sql_mode = ''", *case.later, database=database)
    failures = []
    for syncs, database in enumerate(done, 1):
        try:
            all_live(own, database)
        except (AssertionError, TimeoutError) as error:
            failures.append(f"after {syncs} syncs: {str(error)[:600]}")
    assert not failures, "\n".join(failures)
    for database in databases.values():
        own.through.run(f"UNMIRROR DATABASE {database}")
        own.server.run(f"DROP DATABASE {database}")


def test_ended_when_binlogs_were_begun_anew(own, crash_point, patience):
    """What was given the same positions and GTIDs in the new series is not taken for what was there."""
    reset = "RESET MASTER" if own.server.kind == "mariadb" else "RESET BINARY LOGS AND GTIDS"
    for syncs in range(1, MOST + 1):
        database = f"crash_series_{syncs}"
        own.server.run(reset)
        own.begin(database, *T)
        own.through.run(f"MIRROR DATABASE {database}")
        own.wait_live(database)
        # Files are told apart by the second in which they were begun.
        time.sleep(1.1)
        more = (f"INSERT INTO t VALUES ({number}, 0)" for number in range(3, 300))
        ended = ends(own, crash_point, patience, syncs, database, (reset, *more))
        if ended:
            own.through.kill()
            own.through.start()
            own.wait_for_database(database)
        wait_for("another load", lambda name=database: own.state(name, "t")["Loads"] > 1)
        own.wait_live(database)
        own.same_tables(database, "t")
        own.through.run(f"UNMIRROR DATABASE {database}")
        own.server.run(f"DROP DATABASE {database}")
        if not ended:
            break
    assert syncs > 1


def test_ended_while_a_mirror_is_dropped(own, crash_point, patience):
    """It is there and live, or it is not there."""
    own.begin("crash_drop", *T)
    for syncs in range(1, MOST + 1):
        own.through.run("MIRROR TABLE crash_drop.t")
        own.wait_live("crash_drop", "t")
        crash_point.arm(syncs)
        try:
            own.through.run("UNMIRROR TABLE crash_drop.t")
        except (OSError, pymysql.MySQLError):
            # The connection was lost.
            pass
        if not has_ended(own.through.process, crash_point, patience):
            break
        own.through.kill()
        own.through.start()
        own.wait_for_database("crash_drop")
        if own.of_database("crash_drop"):
            own.wait_live("crash_drop", "t")
            own.through.run("UNMIRROR TABLE crash_drop.t")
    assert syncs > 1 and not own.of_database("crash_drop")
    own.server.run("DROP DATABASE crash_drop")
