"""Loss of power on real file systems: `make power-loss`.

Pelorus runs on a file system whose disk notes every write and flush (`recorded_disk`). From the
record come the disks that a loss of power could have left: everything up to a flush, and of what was
written since then any part, cut at sectors. On each of them the file system is mounted, which runs
its own recovery, Pelorus is started, and its tables must be as they were after the last statement
that was acknowledged before that moment, or after the one that was on its way. Then the second
decoder must find no fault, and the tables must take rows.

Takes root, FUSE and loop devices. POWER_IMAGES (100) disks for each of POWER_SYSTEMS (ext4,xfs,btrfs).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from . import machine, pelorus, processes
from .recorded_disk import FLUSH, MARK, WRITE, Entry, entries
from .show import Step

BYTES = 512 << 20
#: What a disk writes whole or not at all.
SECTOR = 4096
STEPS = 150
#: How each file system is made and mounted.
SYSTEMS = {
    "ext4": (["mkfs.ext4", "-q"], []),
    "xfs": (["mkfs.xfs", "-q"], ["-o", "nouuid"]),
    "btrfs": (["mkfs.btrfs", "-q"], []),
}
TABLES = ("a", "b")


class OnDisk(pelorus.Pelorus):
    """A server whose data lie on a mounted file system."""

    def __init__(self, mounted: Path):
        self.mounted = mounted
        super().__init__()

    def command(self) -> list[str]:
        command = super().command()
        command[command.index("--data") + 1] = str(self.mounted / "data")
        return command


class Mounted:
    """A file system on a loop device, as long as it is needed."""

    def __init__(self, system: str, disk: Path, folder: Path, make: bool = False):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.device = run("losetup", "--sector-size", str(SECTOR), "--find", "--show", str(disk)).strip()
        make_it, options = SYSTEMS[system]
        try:
            if make:
                run(*make_it, self.device)
            run("mount", *options, self.device, str(folder))
        except BaseException:
            run("losetup", "--detach", self.device)
            raise

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *_) -> None:
        run("umount", str(self.folder))
        run("losetup", "--detach", self.device)


def run(*command: str) -> str:
    """What a command prints; its error ends the test."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Model:
    """What the tables hold after so many steps of a session."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.rows: dict[str, dict[int, int]] = {name: {} for name in TABLES}
        self.columns = 3

    def state(self) -> tuple:
        """To be compared."""
        return tuple(tuple(sorted(self.rows[name].items())) for name in TABLES) + (self.columns,)

    def step(self, number: int) -> list[str]:
        """The statements of the next step, which is one commit or one change of the schema."""
        draw = self.random.random()
        if draw < 0.70:
            ids = self.random.sample(range(3000), 40)
            return ["BEGIN", *(self._replace(name, ids, number) for name in TABLES), "COMMIT"]
        if draw < 0.80:
            low = self.random.randrange(3000)
            return ["BEGIN", *(self._delete(name, low) for name in TABLES), "COMMIT"]
        if draw < 0.92:
            return [f"OPTIMIZE TABLE {self.random.choice(TABLES)}"]
        if draw < 0.96:
            self.rows["b"].clear()
            return ["TRUNCATE TABLE b"]
        self.columns += 1
        return [f"ALTER TABLE a ADD COLUMN c{self.columns} INT NOT NULL DEFAULT {number}"]

    def _replace(self, name: str, ids: list[int], number: int) -> str:
        self.rows[name].update((id, number) for id in ids)
        note = f"step {number} " * 8
        values = ", ".join(f"({id}, {number}, '{note}{id}')" for id in ids)
        return f"REPLACE INTO {name} (id, v, note) VALUES {values}"

    def _delete(self, name: str, low: int) -> str:
        rows = self.rows[name]
        for id in [id for id in rows if low <= id < low + 200]:
            del rows[id]
        return f"DELETE FROM {name} WHERE id >= {low} AND id < {low + 200}"


def found(server: OnDisk) -> tuple:
    """The state as a server shows it."""
    connection = server.connect(database="d")
    with connection, connection.cursor() as cursor:
        rows = []
        for name in TABLES:
            cursor.execute(f"SELECT id, v FROM {name} ORDER BY id")
            rows.append(tuple(cursor.fetchall()))
        cursor.execute("SHOW COLUMNS FROM a")
        return (*rows, len(cursor.fetchall()))


def work(server: OnDisk, mark: Path, seed: int) -> list[tuple]:
    """Lets a session change the tables, marking each step that is acknowledged; gives the state
    after each number of steps."""
    model = Model(seed)
    connection = server.connect(autocommit=True)
    with connection, connection.cursor() as cursor, open(mark, "wb", buffering=0) as marks:
        cursor.execute("CREATE DATABASE d")
        cursor.execute("USE d")
        columns = "(id BIGINT PRIMARY KEY, v BIGINT NOT NULL, note VARCHAR(200))"
        cursor.execute(f"CREATE TABLE a {columns}")
        cursor.execute(f"CREATE TABLE b {columns} PARTITION BY HASH(id) PARTITIONS 3")
        states = [model.state()]
        marks.write(b"0")
        for number in range(1, STEPS + 1):
            for statement in model.step(number):
                cursor.execute(statement)
            states.append(model.state())
            marks.write(str(number).encode())
    return states


def record(system: str, folder: Path, seed: int) -> list[tuple]:
    """Runs a server on a recorded disk."""
    seen = folder / "seen"
    seen.mkdir()
    command = [sys.executable, "-m", "pelorus_tools.recorded_disk", str(seen), str(folder), str(BYTES)]
    recorder = processes.Process("recorded disk", command, folder / "recorder.log", dict(os.environ))
    processes.wait_for("the recorded disk", (seen / "disk").exists, 30, recorder)
    try:
        with Mounted(system, seen / "disk", folder / "fs", make=True) as mounted:
            server = OnDisk(mounted)
            states = work(server, seen / "mark", seed)
            server.process.kill()
    finally:
        run("umount", str(seen))
        recorder.child.wait(30)
    return states


class Disks:
    """The disks that a loss of power could have left, in the order of its moments."""

    def __init__(self, folder: Path, seed: int):
        self.folder = folder
        self.random = random.Random(seed)
        self.all = list(entries(folder / "record"))
        self.record = open(folder / "record", "rb")
        self.flushed = folder / "flushed"
        with open(self.flushed, "wb") as file:
            file.truncate(BYTES)
        self.applied = 0

    def moments(self, count: int) -> list[int]:
        """Moments after the first mark; half of them just before or after a flush."""
        first = next(at for at, entry in enumerate(self.all) if entry.what == MARK)
        flushes = [at for at, entry in enumerate(self.all) if entry.what == FLUSH and at > first]
        near = [self.random.choice(flushes) + self.random.randint(0, 1) for _ in range(count // 2)]
        any_ = [self.random.randrange(first + 1, len(self.all)) for _ in range(count - len(near))]
        return sorted(near + any_)

    def left_at(self, moment: int) -> tuple[Path, int, str]:
        """A disk, how many steps were acknowledged, and what became of unflushed writes."""
        told = self.all[:moment]
        last = max(at for at, entry in enumerate(told) if entry.what == FLUSH)
        with open(self.flushed, "r+b") as file:
            for entry in self.all[self.applied:last]:
                self._apply(file, entry, lambda: True)
        self.applied = max(self.applied, last)
        disk = self.folder / "left"
        run("cp", "--sparse=always", str(self.flushed), str(disk))
        kind = self.random.choice(["none", "all", "some", "sectors"])
        with open(disk, "r+b") as file:
            for entry in told[last:]:
                whole = self.random.random() < 0.5
                keep = {"none": lambda: False, "all": lambda: True, "some": lambda: whole,
                        "sectors": lambda: self.random.random() < 0.5}[kind]
                self._apply(file, entry, keep)
        marks = sum(entry.what == MARK for entry in told) - 1
        return disk, marks, kind

    def _apply(self, file, entry: Entry, keep) -> None:
        """Writes the sectors of a write that are kept."""
        if entry.what != WRITE:
            return
        self.record.seek(entry.at)
        data = self.record.read(entry.length)
        for begin in range(0, entry.length, SECTOR):
            if keep():
                file.seek(entry.offset + begin)
                file.write(data[begin:begin + SECTOR])


def check(system: str, folder: Path, disk: Path, acknowledged: int, states: list[tuple]) -> None:
    """Mounts a disk, starts a server on it, and compares."""
    with Mounted(system, disk, folder / "fs") as mounted:
        server = OnDisk(mounted)
        try:
            compare(server, acknowledged, states)
            if server.process.stop() != 0:
                raise AssertionError(f"it did not stop cleanly:\n{server.process.tail()}")
            run(str(server.command()[0]), "fsck", "--data", str(mounted / "data"))
        finally:
            server.process.kill()
            shutil.rmtree(server.folder, ignore_errors=True)


def compare(server: OnDisk, acknowledged: int, states: list[tuple]) -> None:
    """What a server shows must be a state that is allowed, and it must go on from there."""
    state = found(server)
    if state not in states[acknowledged:acknowledged + 2]:
        near = [number for number, it in enumerate(states) if it == state]
        raise AssertionError(f"after {acknowledged} acknowledged steps the tables are as after "
                             f"{near or 'no number of steps'}")
    connection = server.connect(database="d", autocommit=True)
    with connection, connection.cursor() as cursor:
        cursor.execute("REPLACE INTO a (id, v, note) VALUES (-1, -1, 'after')")
        cursor.execute("CHECK TABLE a, b")
        told = [row for row in cursor.fetchall() if row[2:] != ("status", "OK")]
        if told:
            raise AssertionError(f"CHECK TABLE says {told}")


def test(system: str, count: int, seed: int) -> None:
    """All of it on one file system."""
    folder = processes.folder("power")
    with Step(f"{system}: {STEPS} steps on a recorded disk"):
        states = record(system, folder, seed)
    disks = Disks(folder, seed)
    kinds: dict[str, int] = {}
    with Step(f"{system}: {count} losses of power") as step:
        for number, moment in enumerate(disks.moments(count)):
            disk, acknowledged, kind = disks.left_at(moment)
            kinds[kind] = kinds.get(kind, 0) + 1
            try:
                check(system, folder, disk, acknowledged, states)
            except BaseException:
                kept = machine.TARGET / "power-loss"
                kept.mkdir(exist_ok=True)
                shutil.copy(disk, kept / "disk")
                print(f"\nseed {seed}, moment {moment} ({kind} of the unflushed writes), "
                      f"{system}; the disk is {kept / 'disk'}", file=sys.stderr)
                raise
            step.note(f"{number + 1} of {count}, step {acknowledged} of {STEPS}")
        flushes = sum(entry.what == FLUSH for entry in disks.all)
        writes = sum(entry.what == WRITE for entry in disks.all)
    print(f"  {system}: {writes} writes, {flushes} flushes, {count} disks ({kinds}), nothing lost")


def main() -> None:
    """Runs the test on every file system."""
    devices = [path for path in ("/dev/fuse", "/dev/loop-control") if not Path(path).exists()]
    if os.geteuid() != 0 or devices:
        raise SystemExit(f"power-loss takes root, FUSE and loop devices; missing: {devices or 'root'}")
    seed = int(os.environ.get("POWER_SEED", time.time_ns() % 1_000_000))
    count = int(os.environ.get("POWER_IMAGES", "100"))
    for system in os.environ.get("POWER_SYSTEMS", ",".join(SYSTEMS)).split(","):
        test(system, count, seed)
    processes.stop_all()


if __name__ == "__main__":
    main()
