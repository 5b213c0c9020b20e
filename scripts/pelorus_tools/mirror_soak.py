"""Random changes of rows and definitions on a server, and random trouble for it and its mirrors, while
questions whose answers are known are asked all the time. Every transaction keeps
`sum(left.v) + sum(right.v)` at zero.

`make soak SECONDS=7200`, or `python -m pelorus_tools.mirror_soak 7200 [--seed N] [--server mariadb]`,
does it for as long as wanted, with servers of its own, and says every half minute how far it is.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pymysql

from . import machine, pelorus, processes, servers
from .mirrored import Mirrored, is_of_mirrors, plan_of
from .soak_definitions import GONE, Definitions

DATABASE = "soak"
TABLES = ("lefts", "rights", "bag", "ticks")
LAYOUT = (
    "CREATE TABLE lefts (id BIGINT PRIMARY KEY, v BIGINT NOT NULL, note VARCHAR(40))",
    "CREATE TABLE rights (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci "
    "PRIMARY KEY, v BIGINT NOT NULL, w DECIMAL(20,5))",
    "CREATE TABLE bag (x INT, y VARBINARY(8), payload TEXT, at DATETIME(3), PRIMARY KEY (x, y))",
    "CREATE TABLE ticks (id INT PRIMARY KEY, n BIGINT NOT NULL)",
    "INSERT INTO ticks VALUES (1, 0)",
    "INSERT INTO lefts SELECT seq, 0, 'first' FROM (WITH RECURSIVE s AS (SELECT 1 AS seq UNION ALL "
    "SELECT seq + 1 FROM s WHERE seq < 900) SELECT seq FROM s) AS numbers",
)
WITH_PRIMARY_KEY = ("SELECT table_name FROM information_schema.table_constraints WHERE table_schema = "
                    f"'{DATABASE}' AND constraint_name = 'PRIMARY'")
# There is such a mirror; there is none.
THERE, UNKNOWN = 1050, 1051
SUM = "SELECT (SELECT COALESCE(SUM(v), 0) FROM lefts) + (SELECT COALESCE(SUM(v), 0) FROM rights)"


class Worker(threading.Thread):
    """A thread whose failure is kept, and that ends when it is told to."""

    def __init__(self, seed: str, stop: threading.Event):
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.ended = stop
        self.error: BaseException | None = None
        self.done = 0

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                self.step()
                self.done += 1
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.error = error
            self.ended.set()

    def step(self) -> None:
        raise NotImplementedError


class Writer(Worker):
    """One session that changes tables."""

    def __init__(self, server, number: int, seed: str, stop: threading.Event, folder: Path):
        super().__init__(f"{seed}/{number}", stop)
        self.number = number
        self.file = folder / f"soak-{number}.csv"
        self.server = server
        self.connection: pymysql.Connection | None = None
        # Lost to another session, a row that is there already, a definition that has just changed.
        self.refused: Counter[int] = Counter()

    def step(self) -> None:
        roll = self.random
        try:
            if self.connection is None:
                # A writer that waits for another's row, which waits behind an ALTER, which waits for
                # the first: no server notices such a circle.
                self.connection = self.server.connect(
                    database=DATABASE, autocommit=False, local_infile=True,
                    init_command="SET innodb_lock_wait_timeout = 1")
                self.cursor = self.connection.cursor()
            if roll.random() < 0.1:
                # Between transactions; what they log changes with it.
                self.sql("SET binlog_row_image = %s", roll.choice(("FULL", "MINIMAL", "NOBLOB")))
            for _ in range(roll.choice((1, 1, 2, 5))):
                roll.choice((self.move, self.move, self.make, self.drop, self.rekey, self.replace,
                             self.upsert, self.many, self.undone, self.bulk, self.fill, self.bags,
                             self.bags))()
            if roll.random() < 0.1:
                self.connection.rollback()
            else:
                self.connection.commit()
        except pymysql.MySQLError as error:
            self.refused[error.args[0]] += 1
            try:
                if error.args[0] not in GONE:
                    self.connection.rollback()
                    return
            except pymysql.MySQLError:
                # It was killed in between.
                pass
            self.connection = None
            time.sleep(0.1)

    def sql(self, text: str, *values) -> int:
        return self.cursor.execute(text, values)

    def left(self) -> int:
        return self.random.choice((self.random.randint(1, 1200),
                                   self.random.randint(1, 40) + 10_000 * self.number))

    def right(self) -> str:
        # The same key in several spellings, and spaces behind it.
        word = f"key{self.random.randint(1, 60)}"
        return self.random.choice((word, word.upper(), word.title(), word + " "))

    def give(self, by: int) -> None:
        """Adds to `rights`, whether the row is there or not."""
        self.sql("INSERT INTO rights (k, v, w) VALUES (%s, %s, %s) ON DUPLICATE KEY UPDATE v = v + %s",
                 self.right(), by, by / 8, by)

    def move(self) -> None:
        by = self.random.randint(-1000, 1000)
        if self.sql("UPDATE lefts SET v = v + %s WHERE id = %s", by, self.left()):
            self.give(-by)

    def make(self) -> None:
        by = self.random.randint(-1000, 1000)
        self.sql("INSERT INTO lefts (id, v, note) VALUES (%s, %s, %s)", self.left(), by, None)
        self.give(-by)

    def value_of(self, key: int) -> int | None:
        self.sql("SELECT v FROM lefts WHERE id = %s FOR UPDATE", key)
        row = self.cursor.fetchone()
        return row[0] if row else None

    def drop(self) -> None:
        key = self.left()
        value = self.value_of(key)
        if value is not None:
            self.sql("DELETE FROM lefts WHERE id = %s", key)
            self.give(value)

    def rekey(self) -> None:
        self.sql("UPDATE lefts SET id = %s, note = 'moved' WHERE id = %s", self.left(), self.left())
        self.sql("UPDATE rights SET k = UPPER(k) WHERE k = %s", self.right())

    def replace(self) -> None:
        key = self.left()
        value = self.value_of(key)
        self.sql("REPLACE INTO lefts (id, v, note) VALUES (%s, %s, 'replaced')", key, (value or 0) + 3)
        self.give(-3)

    def upsert(self) -> None:
        self.sql("INSERT INTO lefts (id, v, note) VALUES (%s, 2, 'a'), (%s, 2, 'b') ON DUPLICATE KEY "
                 "UPDATE v = v + 2, note = CONCAT('u', v)", self.left(), self.left())
        self.give(-4)

    def many(self) -> None:
        changed = self.sql("UPDATE lefts SET v = v + 1 WHERE id %% 37 = %s",
                           self.random.randint(0, 36))
        self.give(-changed)

    def undone(self) -> None:
        self.move()
        self.sql("SAVEPOINT here")
        self.sql("UPDATE lefts SET v = v + 99 WHERE id = %s", self.left())
        self.make()
        self.sql("ROLLBACK TO SAVEPOINT here")

    def bulk(self) -> None:
        if self.random.random() < 0.2:
            base = 100_000 * (self.number + 1)
            self.sql("INSERT IGNORE INTO lefts (id, v, note) SELECT id + %s, 0, 'bulk' FROM lefts "
                     "WHERE id < 1000", base)
            self.sql("DELETE FROM lefts WHERE id > %s AND id < %s AND v = 0 AND id %% 3 = %s",
                     base, base + 1000, self.random.randint(0, 2))

    def fill(self) -> None:
        if self.random.random() < 0.2:
            with open(self.file, "w") as out:
                for at in range(300):
                    out.write(f"{self.random.randint(1, 3000)}\tk{at % 5}\tloaded {at}\t"
                              "2026-01-02 03:04:05.678\n")
            self.sql(f"LOAD DATA LOCAL INFILE '{self.file}' REPLACE INTO TABLE bag "
                     "(x, y, payload, at)")

    def bags(self) -> None:
        x = self.random.randint(1, 3000)
        y = self.random.randbytes(self.random.randint(0, 8))
        self.random.choice((
            lambda: self.sql("REPLACE INTO bag (x, y, payload, at) VALUES (%s, _binary %s, "
                             "REPEAT('é', %s), NOW(3))", x, y, self.random.randint(0, 300)),
            lambda: self.sql("DELETE FROM bag WHERE x = %s", x),
            lambda: self.sql("UPDATE bag SET payload = NULL WHERE x BETWEEN %s AND %s", x, x + 20),
            lambda: self.sql("UPDATE IGNORE bag SET x = x + 1 WHERE x BETWEEN %s AND %s ORDER BY "
                             "x DESC", x, x + 5)))()


class Definer(Worker):
    """One session that changes definitions."""

    def __init__(self, server, seed: str, stop: threading.Event):
        super().__init__(f"{seed}/define", stop)
        self.server = server
        self.definitions: Definitions | None = None
        self.counts: tuple[Counter[str], Counter[int]] = (Counter(), Counter())

    def step(self) -> None:
        time.sleep(self.random.uniform(0.0, 0.4))
        try:
            if self.definitions is None:
                self.definitions = Definitions(self.server, DATABASE, self.random)
                self.definitions.done, self.definitions.refused = self.counts
            self.definitions.change()
        except pymysql.MySQLError as error:
            # The server is gone, or something is in the way of cleaning up: both are tried again.
            self.counts[1][error.args[0]] += 1
            self.definitions = None


class Asker(Worker):
    """Asks through Pelorus, which may be killed at any time, what is known."""

    # What a question that no mirror answers may meet at the server: it is gone, or a definition has
    # changed since the question began.
    OF_LINKS = {1158, 1159, 1160, 1161, 1412, 1429, 1430}

    def __init__(self, pair: Mirrored, seed: str, stop: threading.Event):
        super().__init__(f"{seed}/ask", stop)
        self.pair = pair
        self.connection: pymysql.Connection | None = None
        self.source: pymysql.Connection | None = None
        self.tick = 0
        self.refused: Counter[int] = Counter()
        self.of_mirrors = 0

    def step(self) -> None:
        try:
            if self.connection is None:
                self.connection = self.pair.through.connect(
                    database=DATABASE, read_timeout=60, init_command="SET pelorus_mirror_timeout = 2000")
            if self.source is None:
                self.source = self.pair.server.connect(database=DATABASE)
            self.ask()
        except pymysql.MySQLError as error:
            self.refused[error.args[0]] += 1
            if error.args[0] not in GONE | self.OF_LINKS:
                raise
            self.connection = self.source = None
            time.sleep(0.05)

    def ask(self) -> None:
        with self.connection.cursor() as cursor:
            most = self.random.choice((0, 0, 3600))
            cursor.execute(f"SET pelorus_max_staleness = {most}")
            cursor.execute(SUM)
            found = cursor.fetchone()[0]
            assert found == 0, (
                f"a torn transaction: {found} (staleness {most}, {self.done} asked; on the server "
                f"{self.pair.server.run(SUM, database=DATABASE)}, here again "
                f"{self.pair.through.run(SUM, database=DATABASE)}, {plan_of(self.connection, SUM)}, "
                f"{self.pair.of_database(DATABASE)})")
            if self.random.random() < 0.3:
                self.of_mirrors += is_of_mirrors(plan_of(self.connection, SUM))
            self.tick += 1
            with self.source.cursor() as there:
                there.execute("UPDATE ticks SET n = %s", (self.tick,))
            cursor.execute("SET pelorus_max_staleness = 0")
            cursor.execute("SELECT n FROM ticks")
            found = cursor.fetchone()[0]
            assert found == self.tick, f"tick {self.tick} was committed, {found} is shown"


class Trouble(Worker):
    """What goes wrong with mirrors and their server, or is done to them."""

    def __init__(self, pair: Mirrored, seed: str, stop: threading.Event):
        super().__init__(f"{seed}/trouble", stop)
        self.pair = pair
        self.seen: Counter[str] = Counter()

    def step(self) -> None:
        time.sleep(self.random.uniform(0.2, 2.0))
        what = self.random.choice((self.resync, self.resync, self.pause, self.pause, self.pause,
                                   self.pause, self.anew, self.anew, self.no_dump, self.no_dump,
                                   self.crash, self.crash, self.crash, self.server_crash))
        what()
        self.seen[what.__name__] += 1

    def sql(self, text: str, *harmless: int) -> None:
        """Runs a statement until it succeeds, or ends with one of some errors: the table has another
        name for a moment. The server may have been killed just before."""
        def done() -> bool:
            try:
                self.pair.through.run(text, database=DATABASE)
            except pymysql.MySQLError as error:
                return error.args[0] in harmless
            return True
        processes.wait_for(text, done, pause=0.2)

    def table(self) -> str:
        return self.random.choice(TABLES)

    def resync(self) -> None:
        self.sql(f"ALTER MIRROR TABLE {self.table()} RESYNC", UNKNOWN)

    def pause(self) -> None:
        table = self.table()
        self.sql(f"ALTER MIRROR TABLE {table} PAUSE", UNKNOWN)
        time.sleep(self.random.uniform(0.0, 1.0))
        self.sql(f"ALTER MIRROR TABLE {table} RESUME", UNKNOWN)

    def anew(self) -> None:
        table = self.table()
        self.sql(f"UNMIRROR TABLE {table}", UNKNOWN)
        self.sql(f"MIRROR TABLE {table}", THERE)

    def no_dump(self) -> None:
        kill_dumps(self.pair.server)

    def crash(self) -> None:
        self.pair.through.process.kill()
        self.pair.through.start()
        self.pair.wait_for_database(DATABASE)

    def server_crash(self) -> None:
        self.pair.server.kill()
        time.sleep(self.random.uniform(0.0, 1.0))
        self.pair.server.start()


def kill_dumps(server) -> None:
    """Ends the connections on which a server sends its binlog."""
    found = server.run("SELECT id FROM information_schema.processlist "
                       "WHERE command LIKE 'Binlog Dump%'")
    for (number,) in found:
        try:
            server.run(f"KILL {number}")
        except pymysql.MySQLError as error:
            # It has ended by itself.
            if error.args[0] != 1094:
                raise


def wait_live(pair: Mirrored, tables: list[str]) -> None:
    """Waits until tables are mirrored and live, and does what the reasons of mirrors that failed tell a
    user to do: MariaDB leaves generated columns out of rows that are logged in part, as writers here
    want it. Nothing is written any more, so that it helps."""
    def live() -> bool:
        found = pair.of_database(DATABASE)
        assert all(name in found for name in tables), f"mirrored: {list(found)}"
        for name, row in found.items():
            if row["State"] == "failed" and name in tables:
                reason = row["Reason"]
                assert pair.server.kind == "mariadb" and "without the generated column" in reason, found
                pair.through.run(f"ALTER MIRROR TABLE {name} RESYNC", database=DATABASE)
        states = [(name, found[name]["State"], found[name]["Reason"]) for name in tables]
        assert all(state == "live" for _, state, _ in states), states
        return True
    processes.wait_for("mirrors to be live", live, 300, pair.through.process, pause=0.5)


def soak(pair: Mirrored, seed: str, seconds: float, folder: Path, tell_every: float = 0.0) -> str:
    """Runs it, and compares all tables at the end. Returns what was done, in words; says so every
    `tell_every` seconds, too, unless that is 0."""
    pair.begin(DATABASE, *LAYOUT)
    pair.through.run(f"MIRROR DATABASE {DATABASE}")
    stop = threading.Event()
    writers = [Writer(pair.server, number, seed, stop, folder) for number in range(3)]
    asker, trouble = Asker(pair, seed, stop), Trouble(pair, seed, stop)
    definer = Definer(pair.server, seed, stop)
    workers: list[Worker] = [*writers, asker, definer]
    for worker in workers:
        worker.start()

    def done() -> str:
        refused = sum((writer.refused for writer in writers), Counter())
        return (f"{sum(writer.done for writer in writers)} transactions (refused: {dict(refused)}), "
                f"{asker.done} questions (refused: {dict(asker.refused)}), {asker.of_mirrors} plans of "
                f"mirrors; {dict(trouble.seen)}; definitions: {dict(definer.counts[0])}, refused: "
                f"{dict(definer.counts[1])}")

    def tell() -> None:
        begun = time.monotonic()
        while not stop.wait(tell_every):
            print(f"{time.monotonic() - begun:7.0f} s: {done()}", flush=True)
    if tell_every:
        threading.Thread(target=tell, daemon=True).start()
    timer = threading.Timer(seconds, stop.set)
    timer.daemon = True
    timer.start()
    # In this thread: a process ends with the thread that started it.
    trouble.run()
    for worker in workers:
        worker.join(300)
        assert not worker.is_alive(), f"{type(worker).__name__} hangs"
    for worker in [*workers, trouble]:
        if worker.error is not None:
            raise worker.error
    tables = [name for (name,) in pair.server.run(WITH_PRIMARY_KEY)]
    wait_live(pair, tables)
    others = {name: found for name, found in pair.of_database(DATABASE).items() if name not in tables}
    assert all("no primary key" in found["Reason"] for found in others.values()), others
    pair.same_tables(DATABASE, *tables)
    pair.same(DATABASE, SUM)
    return done()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Random changes and trouble for mirrors.")
    parser.add_argument("seconds", type=float, help="how long, for each server")
    parser.add_argument("--seed", default=str(random.randrange(10**6)), help="which changes")
    parser.add_argument("--server", choices=("mariadb", "mysql"), action="append",
                        help="on which server; on both without it")
    chosen = parser.parse_args()
    kinds = {"mariadb": servers.MariaDb, "mysql": servers.MySql}
    if machine.mysql_root()[0] is None and not chosen.server:
        print(f"without MySQL: {machine.mysql_root()[1]}")
        del kinds["mysql"]
    try:
        for kind in chosen.server or kinds:
            print(f"{kind}, seed {chosen.seed}, {chosen.seconds:.0f} s", flush=True)
            server = kinds[kind](f"{kind}-soak", 61)
            through = pelorus.Pelorus(links=[server.url()], name=f"pelorus-soak-{kind}")
            with tempfile.TemporaryDirectory() as folder:
                said = soak(Mirrored(server, through), chosen.seed, chosen.seconds, Path(folder), 30)
            assert "panicked at" not in through.log(), through.log()[-5000:]
            print(f"{kind}: all tables are the same. {said}", flush=True)
            through.stop()
            server.stop()
        return 0
    finally:
        processes.stop_all()


if __name__ == "__main__":
    sys.exit(main())
