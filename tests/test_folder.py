"""The data folder: one Pelorus at a time, and the next one as soon as that has ended."""

from __future__ import annotations

import subprocess

import pytest
from pelorus_tools import processes, rows


@pytest.fixture(scope="module")
def server(linked_maker):
    """A Pelorus without links."""
    return linked_maker(name="pelorus-folder")


def _second(server) -> subprocess.CompletedProcess:
    """What a second Pelorus says that is started on the folder of a running one."""
    command = server.command()
    command[command.index("--listen") + 1] = f"127.0.0.1:{processes.free_port()}"
    return subprocess.run(command, capture_output=True, text=True, timeout=180,
                          stdin=subprocess.DEVNULL, check=False)


def test_a_second_server_on_one_folder_is_refused_and_harms_nothing(server):
    connection = rows.connect(server)
    for statement in ("CREATE DATABASE kept", "CREATE TABLE kept.t (id INT PRIMARY KEY)",
                      "INSERT INTO kept.t VALUES (1)"):
        assert rows.ask(connection, statement).error is None
    second = _second(server)
    assert second.returncode == 1
    assert "another Pelorus uses the data folder" in second.stderr
    assert str(server.folder / "data") in second.stderr
    assert "listening" not in second.stdout
    # The first one goes on, and so does the next after it, however it has ended.
    assert rows.ask(connection, "INSERT INTO kept.t VALUES (2)").error is None
    connection.close()
    server.process.kill()
    server.start()
    connection = rows.connect(server)
    assert len(rows.ask(connection, "SELECT id FROM kept.t").rows) == 2
    connection.close()
