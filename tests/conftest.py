"""Servers that the tests share. Each is started once, when the first test asks for it; of several
processes that share the tests, by each of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from pelorus_tools import machine, mirrored, pelorus, processes, recorded, servers, sqldiff  # noqa: E402

_report = sqldiff.Report()
# Every Pelorus that was started, and those that tests share and so must never end.
_all: list[pelorus.Pelorus] = []
_shared: list[pelorus.Pelorus] = []


def _needs_servers() -> None:
    """Skips a test that has no recorded results, where those answer instead of servers."""
    if recorded.without_servers():
        pytest.skip("PELORUS_SERVERS=recorded: needs a server")


def _needs_mysql() -> None:
    """Skips a test where there is no MySQL."""
    _needs_servers()
    root, reason = machine.mysql_root()
    if root is None:
        pytest.skip(f"no MySQL: {reason}")


@pytest.fixture(scope="session")
def mariadb():
    """A private MariaDB."""
    _needs_servers()
    server = servers.MariaDb()
    yield server
    # Its data is deleted; a MySQL takes seconds to stop.
    server.kill()


@pytest.fixture(scope="session")
def mysql():
    """A private MySQL 9; tests that ask for it are skipped where there is none."""
    _needs_mysql()
    server = servers.MySql()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def native_mysql():
    """A MySQL whose InnoDB carries foreign keys out by itself, as all did before 9.6."""
    _needs_mysql()
    server = servers.MySql("mysql-native", 13, options=("--innodb-native-foreign-keys=ON",))
    yield server
    server.kill()


@pytest.fixture(scope="session")
def pelorus_mariadb(mariadb):
    """A Pelorus linked to the private MariaDB."""
    server = pelorus.Pelorus(links=[mariadb.url()], name="pelorus-mariadb")
    _all.append(server)
    _shared.append(server)
    yield server
    _shared.remove(server)
    server.stop()


@pytest.fixture(scope="session")
def pelorus_mysql(mysql):
    """A Pelorus linked to the private MySQL."""
    server = pelorus.Pelorus(links=[mysql.url()], name="pelorus-mysql")
    _all.append(server)
    _shared.append(server)
    yield server
    _shared.remove(server)
    server.stop()


@pytest.fixture(params=["mariadb", "mysql"])
def linked(request):
    """(server, Pelorus linked to it), for MariaDB and for MySQL."""
    server = request.getfixturevalue(request.param)
    return server, request.getfixturevalue(f"pelorus_{request.param}")


@pytest.fixture(scope="session")
def plain_mysql():
    """A private MySQL without GTIDs."""
    _needs_mysql()
    server = servers.MySql("mysql-plain", 12, options=(
        "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"))
    yield server
    server.kill()


@pytest.fixture
def pair(linked):
    """A server and a Pelorus that may mirror its tables, for MariaDB and for MySQL."""
    return mirrored.Mirrored(*linked)


@pytest.fixture(scope="session")
def linked_maker():
    """Makes a Pelorus with other links or options; it is stopped when the tests end."""
    made = []

    def make(*links: str, **more) -> pelorus.Pelorus:
        server = pelorus.Pelorus(links=list(links), **more)
        made.append(server)
        _all.append(server)
        return server
    yield make
    for server in made:
        server.stop()


@pytest.fixture(autouse=True)
def _pelorus_survives():
    """After every test the shared servers still run, and nothing has panicked anywhere."""
    yield
    for server in _shared:
        assert server.process.alive(), f"{server.name} ended:\n{server.process.tail()}"
    for server in _all:
        assert "panicked at" not in server.log(), f"{server.name} panicked:\n{server.log()[-5000:]}"


@pytest.fixture
def sql_report() -> sqldiff.Report:
    """Where the differential test adds up its counts."""
    return _report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Adds up what the processes have counted that share the tests."""
    counts, failures = getattr(node, "workeroutput", {}).get("sql", ({}, []))
    _report.counts.update(counts)
    _report.failures.extend(failures)


# The files that take longest, each more than a minute: processes that share the tests begin with them, so
# that none of them is left over at the end.
LONGEST = ("test_mirror.py", "test_mirror_ddl.py", "test_native.py", "test_mirror_failover.py", "test_mirror_trouble.py",
           "test_mirror_types.py", "test_mirror_cascade.py", "test_mirror_crashes.py", "test_mirror_images.py",
           "test_mirror_repair.py", "test_mirror_answers.py", "test_growth.py", "test_links.py", "test_sql.py")


def pytest_collection_modifyitems(items):
    """Orders files, and no tests of a file."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


def pytest_sessionstart():
    """No test is skipped because its server is missing, unless the environment allows it."""
    root, reason = machine.mysql_root()
    if root is None and machine.requires_servers() and not recorded.without_servers():
        pytest.exit(f"no MySQL: {reason}. PELORUS_WITHOUT_SERVERS=1 leaves its tests out, "
                    "PELORUS_SERVERS=recorded runs those that have recorded results.",
                    returncode=1)


def pytest_terminal_summary(terminalreporter):
    """Prints the counts of the differential test, and keeps its failures in a file."""
    if not _report.counts:
        return
    terminalreporter.section("SQL statements on real servers and through Pelorus")
    terminalreporter.write_line(_report.line())
    path = machine.TARGET / "sql-differences.txt"
    path.write_text("\n".join(_report.failures) + "\n")
    if _report.failures:
        terminalreporter.write_line(f"every difference: {path}")


def pytest_sessionfinish(session):
    """Nothing that was started here outlives the run; of several processes, each tells its counts."""
    processes.stop_all()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["sql"] = (dict(_report.counts), _report.failures)
