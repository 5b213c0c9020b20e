"""The differential test: the same statements on a real server and through Pelorus.

`python -m pelorus_tools.sqldiff --oracle PORT --pelorus PORT FILE...` runs files against servers
that are there already; `tests/test_sql.py` runs them all against private ones.
"""

from __future__ import annotations

import argparse
import collections
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from . import machine, recorded, rows, sqlfile
from .processes import wait_for
from .servers import Server

SQL = machine.ROOT / "tests" / "sql"
UNSUPPORTED = 1235


@dataclass
class Report:
    """What came of the statements; kept over all files."""

    counts: collections.Counter = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        """Takes over the findings of another report."""
        self.counts.update(other.counts)
        self.failures += other.failures

    def line(self) -> str:
        """The counts on one line."""
        return ", ".join(f"{self.counts[key]} {key}" for key in (
            "same", "same values only", "refused as stated", "other server only", "differ",
            "refused without a directive", "broke the connection"))


class Pair:
    """A real server and a Pelorus that is linked to it."""

    def __init__(self, oracle: Server, pelorus: Server):
        self.oracle = oracle
        self.pelorus = pelorus
        self._prepared: set[str] = set()

    def run(self, path: Path, mode: str | None = None) -> Report:
        """Runs a file in one mode, or in all that it asks for."""
        folder = path.parent.relative_to(SQL).as_posix() if path.is_relative_to(SQL) else "other"
        parsed = sqlfile.parse(path, ["usual", "split"] if folder == "linked" else None)
        report = Report()
        # What Pelorus computes itself, it computes as MySQL does; MariaDB has its own types and rules.
        only = parsed.only or (None if folder in ("linked", "other") else "mysql")
        if only not in (None, self.oracle.kind):
            report.counts["other server only"] += sum(not s.setup for s in parsed.statements)
            return report
        database = "sql_" + folder.replace("/", "_")
        self._prepare_folder(database, path.parent / "setup.sql")
        for one in [mode] if mode else parsed.modes:
            self._run_mode(parsed, database, one, report)
        return report

    def _prepare_folder(self, database: str, setup: Path) -> None:
        if database in self._prepared:
            return
        self._prepared.add(database)
        character_set = "CHARACTER SET utf8mb4"
        self.oracle.run(f"DROP DATABASE IF EXISTS {database}",
                        f"CREATE DATABASE {database} {character_set}")
        if setup.exists():
            parsed = sqlfile.parse(setup)
            self.oracle.run(*(s.text for s in parsed.statements
                              if s.only in (None, self.oracle.kind)), database=database)

    def _run_mode(self, parsed: sqlfile.SqlFile, database: str, mode: str, report: Report) -> None:
        direct = self._open(self.oracle, database)
        through = None
        # A file's set-up is done once, though its statements run in several modes.
        fresh = str(parsed.path) not in self._prepared
        self._prepared.add(str(parsed.path))
        recording = _recording(parsed.path) if fresh and self.oracle.kind == "mysql" else None
        for statement in parsed.statements:
            if statement.only not in (None, self.oracle.kind):
                report.counts["other server only"] += not statement.setup
                continue
            if statement.setup:
                if fresh:
                    self._must(direct, statement, parsed.path)
                continue
            try:
                if through is None:
                    through = self._open_linked(database, mode, direct)
                expected = rows.ask(direct, statement.text)
                if recording:
                    recording.result(statement.text, statement.ordered, lambda: recorded.Result(expected))
                given = rows.ask(through, statement.text)
            except (pymysql.MySQLError, TimeoutError) as error:
                report.counts["broke the connection"] += 1
                report.failures.append(self._failure(parsed.path, statement, mode,
                                                     f"the connection broke: {error!r}"))
                through = None
                # A server that is gone would make every further statement wait in vain.
                process = self.pelorus.process
                if process is not None and not process.alive():
                    break
                continue
            self._judge(statement, expected, given, parsed.path, mode, report)
        if recording:
            report.failures += recording.close()
        direct.close()
        if through is not None:
            through.close()

    @staticmethod
    def _must(connection, statement: sqlfile.Statement, path: Path) -> None:
        done = rows.ask(connection, statement.text)
        if done.error:
            raise RuntimeError(f"{path}:{statement.line}: the set-up failed: {done.error}")

    def _judge(self, statement, expected, given, path: Path, mode: str, report: Report) -> None:
        error = given.error and given.error[0]
        if statement.refused is not None:
            if error == statement.refused:
                report.counts["refused as stated"] += 1
                return
            found = [f"should be refused with {statement.refused}, but got {rows._outcome(given)}"]
        else:
            found = rows.differences(expected, given, statement.ordered)
            if statement.values_only:
                found = rows.without_types(found)
        if not found:
            report.counts["same values only" if statement.values_only else "same"] += 1
            return
        unstated = error == UNSUPPORTED and statement.refused is None
        report.counts["refused without a directive" if unstated else "differ"] += 1
        report.failures.append(self._failure(path, statement, mode, "\n    ".join(found)))

    def _failure(self, path: Path, statement, mode: str, text: str) -> str:
        where = path.relative_to(machine.ROOT) if path.is_relative_to(machine.ROOT) else path
        how = "" if mode == "usual" else f", {mode}"
        shown = " ".join(statement.text.split())
        return f"{where}:{statement.line} ({self.oracle.kind}{how}): {shown[:400]}\n    {text[:1500]}"

    def _open(self, server: Server, database: str):
        connection = rows.connect(server, database=database)
        collation = "utf8mb4_0900_ai_ci" if self.oracle.kind == "mysql" else "utf8mb4_general_ci"
        with connection.cursor() as cursor:
            cursor.execute(f"SET NAMES utf8mb4 COLLATE {collation}")
            cursor.execute("SET time_zone = '+00:00'")
            # A TIME as a DATE has the current date: recorded results must be the same tomorrow.
            cursor.execute("SET timestamp = 1767323045")
        return connection

    def _open_linked(self, database: str, mode: str, direct):
        through = wait_for(f"database {database} to appear in Pelorus",
                           lambda: self._open(self.pelorus, database))
        with through.cursor() as cursor:
            # One sql_mode for both, whatever the defaults are.
            cursor.execute("SELECT @@sql_mode")
            sql_mode = cursor.fetchone()[0].decode()
            if mode == "split":
                cursor.execute("SET pelorus_min_split_rows = 0")
        with direct.cursor() as cursor:
            cursor.execute(f"SET sql_mode = '{sql_mode}'")
        return through


def _recording(path: Path) -> recorded.Recording | None:
    """The recorded results of a file of the test-suite."""
    if not path.is_relative_to(SQL):
        return None
    return recorded.Recording(f"sql/{path.relative_to(SQL).with_suffix('').as_posix()}")


class OnNativeTables(Pair):
    """A Pelorus whose native tables hold what `setup.sql` says, and the recorded results of a MySQL: what runs
    without a server. Statements that native tables refuse are counted."""

    # What native tables have not, and what the set-up has instead.
    INSTEAD = (
        ("SET sql_mode = '';", "SET sql_mode = '', sql_generate_invisible_primary_key = ON;"),
        ("UNIQUE KEY by_code", "KEY by_code"),
        ("JSON_OBJECT('n', n % 3, 'name', CONCAT('x', n % 4))", "CONCAT('{\"n\": ', n % 3, ', \"name\": \"x', n % 4, '\"}')"),
    )

    def __init__(self, pelorus: Server):
        super().__init__(_Recorded("mysql"), pelorus)

    def run(self, path: Path, mode: str | None = None) -> Report:
        """Runs a file once."""
        report = Report()
        parsed = sqlfile.parse(path)
        if parsed.only == "mariadb":
            report.counts["other server only"] += sum(not s.setup for s in parsed.statements)
            return report
        database = "native_" + path.parent.relative_to(SQL).as_posix()
        self._prepare(database, path.parent / "setup.sql")
        connection = self._open(self.pelorus, database)
        recording = recorded.Recording(f"sql/{path.relative_to(SQL).with_suffix('').as_posix()}", "recorded")
        for statement in parsed.statements:
            if statement.only == "mariadb":
                report.counts["other server only"] += not statement.setup
            elif statement.setup:
                self._must(connection, statement, path)
            else:
                expected = recording.result(statement.text, statement.ordered, None).answer
                self._judge(statement, expected, rows.ask(connection, statement.text), path, "native tables", report)
        connection.close()
        report.failures = [text for text in report.failures if f"got error {UNSUPPORTED} " not in text]
        return report

    def _prepare(self, database: str, setup: Path) -> None:
        if database in self._prepared:
            return
        self._prepared.add(database)
        self.pelorus.run(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        if setup.exists():
            connection = self._open(self.pelorus, database)
            for statement in sqlfile.parse(setup).statements:
                if statement.only in (None, "mysql"):
                    text = f"{statement.text};"
                    for one, other in self.INSTEAD:
                        text = text.replace(one, other)
                    statement.text = text[:-1]
                    self._must(connection, statement, setup)
            connection.close()


def files(*patterns: str) -> list[Path]:
    """All SQL files of the test-suite, without the folders' set-ups."""
    return sorted(path for path in SQL.rglob("*.sql") if path.name != "setup.sql")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="compare Pelorus with a real server")
    parser.add_argument("--oracle", type=int, required=True, help="port of the real server")
    parser.add_argument("--kind", choices=["mysql", "mariadb"], default="mysql")
    parser.add_argument("--pelorus", type=int, required=True, help="port of Pelorus")
    parser.add_argument("--user", default="dev", help="account of the real server")
    parser.add_argument("--password", default="dev")
    parser.add_argument("--pelorus-user", default="root")
    parser.add_argument("--pelorus-password", default="")
    parser.add_argument("--mode", choices=["usual", "split"])
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args()
    pair = Pair(_There(given.kind, given.oracle, given.user, given.password),
                _There("pelorus", given.pelorus, given.pelorus_user, given.pelorus_password))
    whole = Report()
    for path in given.files or files():
        report = pair.run(path.resolve(), given.mode)
        print(f"{path}: {report.line()}", flush=True)
        whole.add(report)
    for failure in whole.failures:
        print(failure)
    print(f"all: {whole.line()}")
    sys.exit(1 if whole.failures else 0)


class _Recorded(Server):
    """A server whose results are recorded."""

    def __init__(self, kind: str):
        super().__init__(kind)
        self.kind = kind


class _There(Server):
    """A server that somebody else runs."""

    def __init__(self, kind: str, port: int, user: str, password: str):
        super().__init__(kind)
        self.kind = kind
        self.port = port
        self._login = (user, password)

    def connect(self, user: str = "", password: str = "", **more):
        return super().connect(*self._login, **more)


if __name__ == "__main__":
    main()
