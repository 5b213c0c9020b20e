"""Tools and frameworks as programs: migrations, what they read of a schema, their queries, through links
to a MariaDB and a MySQL and over mirrors. Each prints what it finds, which must be what it finds on the
server itself. `make test-clients` installs and runs them."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pelorus_tools import machine, pelorus, servers
from pelorus_tools.mirrored import OF_PELORUS, Mirrored

HERE = Path(__file__).resolve().parent
JAVA = machine.TARGET / "clients-java"


@dataclass(frozen=True)
class Tool:
    """A program: `folder` is where it runs, `needs` what must have been installed for it."""

    name: str
    folder: str
    command: tuple[str, ...]
    needs: tuple[Path, ...]
    # Tables without a primary key, which are not mirrored.
    without_key: frozenset[str] = frozenset()
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    # Whether it has queries that only read.
    reads: bool = True


def _java(name: str) -> tuple[str, ...]:
    classpath = JAVA / "classpath"
    path = f"{JAVA}/classes:{classpath.read_text()}" if classpath.exists() else ""
    # Each run is short.
    return ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, f"pelorus.{name}")


def _node(name: str) -> Tool:
    return Tool(name, "node", ("node", f"{name}.mjs"), (HERE / "node/node_modules" / name,),
                frozenset({"typeorm_metadata"}))


TOOLS = (
    Tool("flyway", "java", _java("FlywayTool"), (JAVA / "classpath",), reads=False),
    Tool("hibernate", "java", _java("HibernateTool"), (JAVA / "classpath",),
         frozenset({"Customer_words", "Invoice_SEQ", "invoice_SEQ"})),
    Tool("gorm", "go", (str(machine.TARGET / "tools/gorm"),), (machine.TARGET / "tools/gorm",)),
    _node("knex"),
    _node("sequelize"),
    _node("typeorm"),
    Tool("django", "python", (sys.executable, "django_site.py"), (machine.DJANGO / "django",),
         environment={"PYTHONPATH": str(machine.DJANGO)}),
    # Its tables have no primary keys, so that they are not mirrored.
    Tool("dbt", "python", (sys.executable, "dbt_project.py"), (machine.DBT / "dbt",),
         environment={"PYTHONPATH": str(machine.DBT)}, reads=False),
    Tool("laravel", "php", ("php", "laravel.php"), (Path("/usr/share/php/Illuminate/Database/autoload.php"),)),
    Tool("rails", "ruby", ("ruby", "rails.rb"), (Path("/usr/share/doc/ruby-activerecord"),),
         frozenset({"customers_labels"})),
)


class Runs:
    """Runs of one tool on one database of a server and through Pelorus."""

    def __init__(self, tool: Tool, pair: Mirrored, folder: Path):
        missing = [path for path in tool.needs if not path.exists()]
        if missing or machine.find(tool.command[0]) is None:
            pytest.skip(f"{tool.name} is not installed (make test-clients)")
        self.tool, self.pair, self.folder = tool, pair, folder
        self.database = f"by_{tool.name}"

    def run(self, where: servers.Server, phase: str) -> list[str]:
        """What the tool finds on a server, line by line."""
        user, password = servers.USER, servers.PASSWORD
        if where.kind == "pelorus":
            user, password = "root", pelorus.ROOT_PASSWORD
        environment = {
            **os.environ, "PELORUS_HOST": "127.0.0.1", "PELORUS_PORT": str(where.port), "PELORUS_USER": user,
            "PELORUS_PASSWORD": password, "PELORUS_DATABASE": self.database,
            "PELORUS_KIND": self.pair.server.kind, "PELORUS_FOLDER": str(self.folder), "LC_ALL": "C.UTF-8",
            "PATH": os.pathsep.join([os.environ.get("PATH", ""), *machine.PATH_MORE]),
            **self.tool.environment}
        done = subprocess.run([*self.tool.command, phase], cwd=HERE / self.tool.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, \
            f"{self.tool.name} {phase} on {where.name}:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
        return done.stdout.splitlines()

    def same(self, phase: str) -> None:
        """Asserts that the tool finds on both what it finds on the server."""
        expected, found = self.run(self.pair.server, phase), self.run(self.pair.through, phase)
        assert expected, "the tool has shown nothing"
        different = list(difflib.unified_diff(expected, found, "server", "pelorus", lineterm="", n=0))
        assert not different, "\n".join(different)

    def begin(self) -> None:
        """Makes the database empty."""
        self.pair.begin(self.database)

    def mirror(self) -> None:
        """Mirrors what there is, and waits until it is live."""
        self.pair.through.run(f"MIRROR DATABASE {self.database}")
        live = [name for name in self.pair.of_database(self.database) if name not in self.tool.without_key]
        self.pair.wait_live(self.database, *live)

    def queries(self) -> int:
        """How many queries mirrors have answered."""
        return sum(int(row["Queries"]) for row in self.pair.of_database(self.database).values())


@pytest.fixture(params=TOOLS, ids=lambda tool: tool.name)
def runs(request, pair, tmp_path):
    """A tool with a database for it; the database goes away at the end."""
    made = Runs(request.param, pair, tmp_path)
    yield made
    if pair.of_database(made.database):
        pair.through.run(f"UNMIRROR DATABASE IF EXISTS {made.database}")
    pair.server.run(f"DROP DATABASE IF EXISTS {made.database}")


def test_through_a_link_and_over_mirrors(runs):
    runs.begin()
    expected = runs.run(runs.pair.server, "write")
    assert expected, "the tool has shown nothing"
    runs.begin()
    found = runs.run(runs.pair.through, "write")
    different = list(difflib.unified_diff(expected, found, "server", "pelorus", lineterm="", n=0))
    assert not different, "\n".join(different)
    if not runs.tool.reads:
        return
    runs.mirror()
    # Sessions of the tool take what the whole server has.
    settings = [sql.removeprefix("SET ") for sql in OF_PELORUS if "pelorus_" in sql]
    before = {name: runs.pair.through.run(f"SELECT @@GLOBAL.{name}")[0][0]
              for name in (setting.split(" = ")[0] for setting in settings)}
    runs.pair.through.run(*(f"SET GLOBAL {setting}" for setting in settings))
    try:
        runs.same("read")
    finally:
        runs.pair.through.run(*(f"SET GLOBAL {name} = {value}" for name, value in before.items()))
    assert runs.queries() > 0, "mirrors have answered nothing"
