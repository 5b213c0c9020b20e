"""`pelorus fsck` and `pelorus inspect`: what they say, and their exit codes."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from pelorus_tools import rows


@pytest.fixture(scope="module")
def server(linked_maker):
    """A Pelorus without links, with a table of two partitions in its file."""
    server = linked_maker(name="pelorus-tools")
    connection = rows.connect(server)
    for statement in (
            "CREATE DATABASE kept",
            "CREATE TABLE kept.t (id INT PRIMARY KEY, v VARCHAR(30)) "
            "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000), "
            "PARTITION p1 VALUES LESS THAN MAXVALUE)",
            "INSERT INTO kept.t VALUES " + ",".join(f"({id}, 'value {id}')" for id in range(3000)),
            "OPTIMIZE TABLE kept.t"):
        assert rows.ask(connection, statement).error is None
    connection.close()
    return server


@pytest.fixture(scope="module")
def data(server, tmp_path_factory):
    """A copy of its data folder, made while it is stopped."""
    server.stop()
    copy = tmp_path_factory.mktemp("tools") / "data"
    shutil.copytree(server.folder / "data", copy, ignore=lambda _, names: [
        name for name in names if name.endswith(".sock")])
    (copy / "lock").unlink()
    server.start()
    return copy


def _run(server, *words) -> subprocess.CompletedProcess:
    return subprocess.run([server.command()[0], *map(str, words)], capture_output=True, text=True,
                          errors="replace", timeout=180, check=False)


def _last_line(done: subprocess.CompletedProcess) -> str:
    return done.stdout.splitlines()[-1]


def test_the_files_of_a_running_server_are_left_alone(server):
    for words in (("fsck", "--data", server.folder / "data"),
                  ("inspect", server.folder / "data" / "native" / "table-1.blocks")):
        done = _run(server, *words)
        assert done.returncode == 2, done
        assert "another Pelorus uses the data folder" in done.stderr
        assert str(server.folder / "data") in done.stderr
        assert done.stdout == ""


def test_sound_files(server, data):
    done = _run(server, "fsck", "--data", data)
    assert (done.returncode, _last_line(done)) == (0, "sound"), done
    assert "table 1 (kept.t): " in done.stdout
    assert not (data / "lock").exists(), "a check writes nothing"
    for name in ("table-1.blocks", "catalog.blocks"):
        done = _run(server, "inspect", data / "native" / name)
        assert (done.returncode, _last_line(done)) == (0, "sound"), done
    assert "table 1 (kept.t): " in done.stdout


def test_no_data_folder(server, tmp_path):
    done = _run(server, "fsck", "--data", tmp_path / "none")
    assert done.returncode == 2
    assert "is no data folder" in done.stderr and str(tmp_path / "none") in done.stderr


def test_what_is_no_file_of_a_table(server, data, tmp_path):
    table = (data / "native" / "table-1.blocks").read_bytes()
    files = {"missing": None, "empty": b"", "rubbish": b"rubbish\n" * 20_000,
             "short": table[:5000], "truncated": table[:70_000]}
    for name, content in files.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        done = _run(server, "inspect", path)
        assert done.returncode == 1, (name, done)
        assert _last_line(done).startswith("DAMAGED: "), (name, done.stdout)
        assert str(path) in done.stderr, (name, done.stderr)
    done = _run(server, "inspect", data)
    assert done.returncode == 1
    assert f"{data} is a folder" in done.stderr


def test_a_damaged_block(server, data, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    path = copy / "native" / "table-1.blocks"
    lines = [line.split() for line in _run(server, "inspect", path).stdout.splitlines()]
    number, _, offset = next(line for line in lines if line[1:2] == ["chunk"])[:3]
    with path.open("r+b") as file:
        file.seek(int(offset) + 200)
        byte = file.read(1)[0]
        file.seek(int(offset) + 200)
        file.write(bytes([byte ^ 1]))
    done = _run(server, "inspect", path)
    assert done.returncode == 1
    assert _last_line(done).startswith("DAMAGED: the block is damaged: the checksum"), done.stdout
    assert f"block {number}, " in done.stdout
    done = _run(server, "fsck", "--data", copy)
    assert done.returncode == 1
    assert _last_line(done).startswith("DAMAGED: "), done.stdout


def test_a_server_names_the_table_of_a_damaged_block(server):
    server.stop()
    path = server.folder / "data" / "native" / "table-1.blocks"
    whole = path.read_bytes()
    lines = [line.split() for line in _run(server, "inspect", path).stdout.splitlines()]
    damaged = bytearray(whole)
    for line in lines:
        if line[1:2] == ["chunk"] and line[0].isdigit():
            begin = int(line[2]) + 72
            damaged[begin:begin + 1000] = bytes(1000)
    path.write_bytes(damaged)
    server.start()
    connection = rows.connect(server)
    error = rows.ask(connection, "SELECT id, v FROM kept.t ORDER BY v").error
    assert error is not None and error[0] == 1034, error
    assert "table kept.t: " in error[1] and "restore the data folder" in error[1], error
    connection.close()
    server.stop()
    path.write_bytes(whole)
    server.start()


def test_a_start_without_a_catalog_says_what_to_do(server):
    server.stop()
    catalog = server.folder / "data" / "native" / "catalog.blocks"
    whole = catalog.read_bytes()
    for content in (b"", b"\xa5" * 8192 + whole[8192:]):
        catalog.write_bytes(content)
        done = subprocess.run(server.command(), capture_output=True, text=True, timeout=180,
                              stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 1
        assert "put back the original file, or restore the data folder" in done.stderr, done.stderr
    catalog.write_bytes(whole)
    server.start()
