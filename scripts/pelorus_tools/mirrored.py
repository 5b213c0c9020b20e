"""A server, a Pelorus with mirrors of its tables, and the question whether both say the same."""

from __future__ import annotations

import pymysql

from . import pelorus, rows, servers
from .processes import wait_for

# Every query through Pelorus shows what was committed before it, and waits long for that, also where the
# machine is busy: one that goes to the server instead would prove nothing.
OF_PELORUS = ("SET pelorus_max_staleness = 0", "SET pelorus_mirror_timeout = 120000",
              "SET time_zone = '+00:00'", "SET sql_mode = ''")
OF_SERVER = ("SET time_zone = '+00:00'", "SET sql_mode = ''")


class Mirrored:
    """One server and one Pelorus that mirrors some of it."""

    def __init__(self, server: servers.Server, through: pelorus.Pelorus):
        self.server, self.through = server, through

    def begin(self, database: str, *statements: str) -> None:
        """Makes a database anew on the server, and waits until Pelorus shows it."""
        if self.of_database(database):
            self.through.run(f"UNMIRROR DATABASE IF EXISTS {database}")
        self.server.run(f"DROP DATABASE IF EXISTS {database}",
                        f"CREATE DATABASE {database} CHARACTER SET utf8mb4", f"USE {database}",
                        *OF_SERVER, *statements)
        self.wait_for_database(database)

    def wait_for_database(self, database: str) -> None:
        """Waits until Pelorus shows a database of the server."""
        wait_for(f"{database} to appear", lambda: self.through.run(f"SHOW DATABASES LIKE '{database}'"))

    def of_database(self, database: str) -> dict[str, dict]:
        """SHOW MIRRORS of a database, by table."""
        with self.through.connect(cursorclass=pymysql.cursors.DictCursor) as connection:
            with connection.cursor() as cursor:
                cursor.execute("SHOW MIRRORS")
                found = cursor.fetchall()
        return {row["Table"]: row for row in found if row["Database"] == database}

    def state(self, database: str, table: str) -> dict:
        """The row of SHOW MIRRORS for a table; empty when it is not mirrored."""
        return self.of_database(database).get(table, {})

    def wait_live(self, database: str, *tables: str, seconds: float = 180.0) -> None:
        """Waits until tables are mirrored and live; of all that are mirrored, without names."""
        def live() -> bool:
            found = self.of_database(database)
            names = tables or tuple(found)
            assert names and all(name in found for name in names), f"mirrored: {list(found)}"
            assert all(found[name]["State"] == "live" for name in names), [
                (name, found[name]["State"], found[name]["Reason"]) for name in names]
            return True
        wait_for(f"mirrors of {database} to be live", live, seconds, self.through.process)

    def wait_state(self, database: str, table: str, word: str, seconds: float = 180.0) -> dict:
        """Waits for a state, and returns the row of SHOW MIRRORS."""
        def reached() -> dict | None:
            found = self.state(database, table)
            assert found.get("State") == word, found
            return found
        return wait_for(f"{database}.{table} to be {word}", reached, seconds, self.through.process)

    def open(self, database: str) -> pymysql.Connection:
        """A connection to Pelorus that waits for its mirrors."""
        return self._open(self.through, database, OF_PELORUS)

    @staticmethod
    def _open(server: servers.Server, database: str, settings: tuple[str, ...]):
        connection = rows.connect(server, database=database)
        for statement in settings:
            answer = rows.ask(connection, statement)
            assert answer.error is None, (statement, answer.error)
        return connection

    def same(self, database: str, *statements: str, ordered: bool = False,
             typed: bool = True) -> None:
        """Asserts that statements have the same rows on the server and in the mirrors, and that
        it is the mirrors that answer. The types of expressions are those of a MySQL: they may be
        left out."""
        source, ours = self._open(self.server, database, OF_SERVER), self.open(database)
        with source, ours:
            for statement in statements:
                expected = rows.ask(source, statement)
                plan = plan_of(ours, statement)
                given = rows.ask(ours, statement)
                for column in expected.columns:
                    # MariaDB says so of these.
                    column.unsigned &= column.type != "TIMESTAMP"
                found = [text for text in rows.differences(expected, given, ordered)
                         if typed or not text.startswith("column types")]
                assert not found, f"{statement}\n" + "\n".join(found)
                assert is_of_mirrors(plan), \
                    f"{statement} was not answered by mirrors:\n{plan}\n{self.of_database(database)}"

    def same_tables(self, database: str, *tables: str) -> None:
        """Asserts that whole tables are the same."""
        self.same(database, *(f"SELECT * FROM `{table}`" for table in tables))


def plan_of(connection: pymysql.Connection, statement: str) -> list[tuple[str, str]]:
    """What EXPLAIN says: who does each step, and what."""
    answer = rows.ask(connection, f"EXPLAIN {statement}")
    assert answer.error is None, (statement, answer.error)
    return [tuple(value.decode() if isinstance(value, bytes) else value or "" for value in row[1:3])
            for row in answer.rows]


def is_of_mirrors(plan: list[tuple[str, str]]) -> bool:
    """Whether a plan reads copies and no linked server."""
    return all(where == "pelorus" for where, _ in plan) and any(
        what.strip() == "NativeExec" for _, what in plan)
