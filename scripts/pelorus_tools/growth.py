"""How processor time and memory of a real Pelorus grow with each element of the grammar.

Run as a program it tries every element of `grammar` from 10 to 100,000, prints a table, and fails
where time or memory grow faster than linearly by more than half, or a statement fails with an error
that is no limit. For statements that take long it also prints how long `KILL QUERY` takes, and the
slowest `SELECT 1` of another client meanwhile.
"""

from __future__ import annotations

import argparse
import bisect
import math
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pymysql
from pymysql.constants import CLIENT

from . import machine
from .grammar import ELEMENTS, LIMITS, LINKED, SETUP, Element
from .pelorus import Pelorus, build
from .servers import MySql, Server

# The greatest exponent of n with which time and memory may grow.
SLOPE = 1.5
# Seconds and bytes below which a measure is noise: as the smaller, and as the larger of a pair.
SECONDS = (0.02, 0.25)
BYTES = (16 << 20, 96 << 20)
# Memory that each element may take, however it grows.
BYTES_EACH = 32 << 10
# Seconds of planning that are allowed to what grows faster, of which there cannot be many.
PLANNING = 2.0
# How often what seems too steep is measured again: other processes make a measure larger, never
# smaller.
AGAIN = 4
# Statements that take so long are run once more to be killed.
LONG = 0.4


@dataclass
class Point:
    """What a statement of `n` elements took."""

    n: int
    seconds: float
    bytes: int
    wall: float
    error: int = 0


@dataclass
class Figures:
    """What the server did while a long statement ran."""

    n: int
    kill: float
    other: float
    ended: bool


@dataclass
class Result:
    """Everything that was seen of an element."""

    element: Element
    points: list[Point] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    figures: Figures | None = None

    def line(self) -> str:
        """A line of the table."""
        def of(point: Point) -> str:
            error = f" E{point.error}" if point.error else ""
            return f"{point.n}: {point.seconds:.2f} s {point.bytes >> 20} MiB{error}"
        shown = [point for point in self.points if point.seconds >= SECONDS[0]][-3:]
        shown = shown or self.points[-1:]
        figures = self.figures and (f"; killed in {self.figures.kill * 1000:.0f} ms, SELECT 1 in "
                                    f"{self.figures.other * 1000:.0f} ms")
        return f"{self.element.name}: {', '.join(map(of, shown))}{figures or ''}"


class Meter:
    """Processor time and memory of a process."""

    def __init__(self, pid: int):
        # The clock of a process, as `clock_getcpuclockid` makes it.
        self._clock = (~pid << 3) | 2
        self._folder = Path(f"/proc/{pid}")

    def seconds(self) -> float:
        """The time that all its threads have run."""
        return time.clock_gettime(self._clock)

    def _status(self, name: str) -> int:
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        return 0

    def begin(self) -> int:
        """Forgets the peak of memory; returns what is used now."""
        (self._folder / "clear_refs").write_text("5")
        return self._status("VmRSS:")

    def peak(self) -> int:
        """The most memory since `begin`."""
        return self._status("VmHWM:")


def slope(few: int, many: int, small: float, large: float) -> float:
    """The exponent of n between two measures."""
    return math.log(large / small) / math.log(many / few)


def steepest(measures: list[tuple[int, float]], floor: tuple[float, float]) -> tuple[float, str]:
    """The steepest growth between two measures that are no noise, and what they are."""
    worst = (0.0, "")
    for at, (many, large) in enumerate(measures):
        if large < floor[1]:
            continue
        for few, small in measures[:at]:
            if few * 3 <= many:
                grown = slope(few, many, max(small, floor[0]), large)
                worst = max(worst, (grown, f"{small:.3g} of {few:,} and {large:.3g} of {many:,}"))
    return worst


# Errors of a linked server that refuses what is too large for it, in addition to `LIMITS`.
REFUSED_THERE = (1030, 1038, 1056, 1105, 3170)


class Growth:
    """Runs elements on a server, on its own tables or on those of a server that it is linked to."""

    def __init__(self, server: Pelorus, sizes: list[int], budget: float, patience: float,
                 figures: bool = True, far: Server | None = None):
        self.server = server
        self._database = "far" if far else "growth"
        self._errors = REFUSED_THERE if far else ()
        # Whatever the server thinks of its size, a query is put together here if it can be.
        self._first = "SET pelorus_min_split_rows = 0" if far else None
        self.sizes = sizes
        # An element is not made larger when it has taken so many seconds.
        self._budget = budget
        # A statement is killed when it has run so many seconds.
        self._patience = patience
        self._figures = figures
        (far or server).run(*(text.replace("growth", self._database) for text in SETUP))
        self._meter = Meter(server.process.pid)

    def _connect(self, **more) -> pymysql.Connection:
        flag = CLIENT.MULTI_STATEMENTS if more.pop("multi", False) else 0
        return self.server.connect(database=self._database, client_flag=flag,
                                   init_command=self._first,
                                   read_timeout=self._patience + 60, **more)

    def _execute(self, connection: pymysql.Connection, sql: str) -> int:
        """Runs a text with all its results; returns the number of its error, or 0."""
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                while cursor.nextset():
                    pass
        except pymysql.err.MySQLError as error:
            if error.args[0] in (2006, 2013):
                raise
            return error.args[0]
        return 0

    def _prepare(self, connection: pymysql.Connection, statements: tuple[str, ...]) -> None:
        for statement in statements:
            self._execute(connection, statement)

    def measure(self, element: Element, n: int) -> Point:
        """Runs a statement of `n` elements."""
        sql = element.text(n)
        connection = self._connect(multi=element.multi)
        try:
            self._prepare(connection, element.before)
            killer = threading.Timer(self._patience, self._kill, [connection.thread_id()])
            killer.start()
            used, seconds, begun = self._meter.begin(), self._meter.seconds(), time.monotonic()
            try:
                error = self._execute(connection, sql)
            finally:
                killer.cancel()
            wall = time.monotonic() - begun
            seconds = self._meter.seconds() - seconds
            grown = max(0, self._meter.peak() - used)
            self._prepare(connection, element.after)
            return Point(n, seconds, grown, wall, error)
        finally:
            connection.close()

    def _kill(self, thread: int) -> None:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"KILL QUERY {thread}")

    def watch(self, element: Element, n: int, wall: float) -> Figures:
        """Runs a long statement once more and kills it, while another client asks for 1."""
        sql = element.text(n)
        other, connection = self._connect(), self._connect(multi=element.multi)
        ended: list[tuple[float, int]] = []

        def run() -> None:
            error = self._execute(connection, sql)
            ended.append((time.monotonic(), error))
        try:
            self._prepare(connection, element.before)
            thread = threading.Thread(target=run)
            thread.start()
            begun, slowest = time.monotonic(), 0.0
            while time.monotonic() - begun < wall * 0.4 and thread.is_alive():
                asked = time.monotonic()
                self._execute(other, "SELECT 1")
                slowest = max(slowest, time.monotonic() - asked)
            killed = time.monotonic()
            self._execute(other, f"KILL QUERY {connection.thread_id()}")
            slowest = max(slowest, time.monotonic() - killed)
            thread.join(self._patience)
            if not ended:
                return Figures(n, self._patience, slowest, False)
            when, _ = ended[0]
            self._prepare(connection, element.after)
            # It may have ended by itself.
            return Figures(n, max(0.0, when - killed), slowest, True)
        finally:
            other.close()
            connection.close()

    def grow(self, element: Element) -> Result:
        """Tries an element in growing numbers."""
        result = Result(element)
        # What is compiled and cached at the first use is no growth.
        self._warm(element)
        sizes = sorted({*self.sizes, *element.also})
        for n in sizes[:bisect.bisect(sizes, element.most)]:
            try:
                point = self.measure(element, n)
            except pymysql.err.MySQLError as error:
                result.failures.append(f"{n:,} of them: {error}")
                self._revive()
                return result
            if point.error == 1317:
                result.failures.append(f"{n:,} of them took longer than {self._patience} s")
                return result
            result.points.append(point)
            if point.error and point.error not in (*LIMITS, *element.errors, *self._errors):
                result.failures.append(f"{n:,} of them: error {point.error}")
                break
            if max(point.seconds, point.wall) > self._budget:
                break
        self._judge(result)
        self._figure(result)
        return result

    def _warm(self, element: Element) -> None:
        try:
            self.measure(element, min(3, self.sizes[0]))
        except pymysql.err.MySQLError:
            self._revive()

    def _figure(self, result: Result) -> None:
        longest = max(result.points, key=lambda point: point.wall, default=None)
        if not self._figures or longest is None or longest.wall < LONG:
            return
        try:
            result.figures = self.watch(result.element, longest.n, longest.wall)
        except pymysql.err.MySQLError as error:
            result.failures.append(f"it cannot be killed: {error}")
            self._revive()
            return
        if not result.figures.ended or result.figures.kill > 2:
            result.failures.append(f"KILL QUERY took {result.figures.kill:.1f} s")
        if result.figures.other > 2:
            result.failures.append(f"SELECT 1 took {result.figures.other:.1f} s meanwhile")

    def _judge(self, result: Result) -> None:
        """Says which growth is too steep, after what seemed so was measured again."""
        for _ in range(AGAIN):
            if not list(self._too_steep(result)):
                return
            self._measure_again(result)
        result.failures += self._too_steep(result)

    def _measure_again(self, result: Result) -> None:
        for at, point in enumerate(result.points):
            if point.n * 100 < result.points[-1].n:
                continue
            try:
                new = self.measure(result.element, point.n)
            except pymysql.err.MySQLError:
                self._revive()
                return
            result.points[at] = Point(point.n, min(point.seconds, new.seconds),
                                      min(point.bytes, new.bytes), min(point.wall, new.wall),
                                      point.error)

    def _too_steep(self, result: Result):
        for refused in (False, True):
            points = [point for point in result.points if bool(point.error) == refused]
            seconds = [(point.n, point.seconds) for point in points]
            if result.element.planning_second:
                seconds = [it for it in seconds if it[1] > PLANNING]
                if seconds:
                    yield f"{seconds[0][0]:,} of them took {seconds[0][1]:.1f} s"
            else:
                grown, pair = steepest(seconds, SECONDS)
                if grown > SLOPE:
                    yield f"time grows with the power {grown:.2f} ({pair}, seconds)"
            memory = [(point.n, float(max(point.bytes, point.n * BYTES_EACH)))
                      for point in points]
            grown, pair = steepest(memory, BYTES)
            if grown > SLOPE:
                yield f"memory grows with the power {grown:.2f} ({pair}, bytes)"

    def _revive(self) -> None:
        """Starts the server again where a statement has ended it or goes on for ever."""
        if self.server.process.alive():
            self.server.kill()
        self.server.start()
        self._meter = Meter(self.server.process.pid)


def sizes(least: int, most: int, digits: tuple[int, ...] = (1, 3)) -> list[int]:
    """Numbers from `least` to `most` that are one of these digits and zeros."""
    powers = range(len(str(most)))
    return [n for power in powers for digit in digits if least <= (n := digit * 10**power) <= most]


def main() -> int:
    """`make growth`"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="elements whose names contain this")
    parser.add_argument("--most", type=int, default=500_000)
    parser.add_argument("--budget", type=float, default=4.0)
    parser.add_argument("--patience", type=float, default=60.0)
    chosen = parser.parse_args()
    build()
    far = MySql("mysql-growth") if machine.mysql_root()[0] else None
    server = Pelorus(links=[far.url()] if far else [], name="pelorus-growth")
    numbers = sorted({*sizes(10, chosen.most), chosen.most})
    limits = (numbers, chosen.budget, chosen.patience)
    failed = _try_all(Growth(server, *limits), ELEMENTS, chosen.only, "")
    if far:
        failed += _try_all(Growth(server, *limits, far=far), LINKED, chosen.only, "linked: ")
    print(f"{failed} elements fail" if failed else "no element grows faster than it may")
    server.stop()
    if far:
        far.stop()
    return 1 if failed else 0


def _try_all(growth: Growth, elements: list[Element], only: str, where: str) -> int:
    """Prints the table of some elements; returns how many fail."""
    failed = 0
    for element in elements:
        if only not in where + element.name:
            continue
        result = growth.grow(element)
        mark = "FAILS " if result.failures else "ok    "
        print(mark + where + result.line(), flush=True)
        for failure in result.failures:
            print(f"      {failure}", flush=True)
        failed += bool(result.failures)
    return failed


if __name__ == "__main__":
    sys.exit(main())
