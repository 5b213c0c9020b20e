"""A full disk: what is refused there, what is not, and a start. Takes root, to mount a disk."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest
from pelorus_tools import rows

DISK_FULL = 1021


@pytest.fixture(scope="module")
def server(linked_maker):
    """A Pelorus whose data folder is a small disk."""
    if os.geteuid() != 0:
        pytest.skip("mounting takes root")
    server = linked_maker(name="pelorus-full")
    server.stop()
    data, copy = server.folder / "data", server.folder / "copy"
    data.rename(copy)
    data.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(data)],
                             capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        data.rmdir()
        copy.rename(data)
        pytest.skip(f"no disk can be mounted: {mounted.stderr}")
    shutil.copytree(copy, data, dirs_exist_ok=True)
    server.start()
    yield server
    server.stop()
    subprocess.run(["umount", "--lazy", str(data)], check=False)


def _fill(server) -> None:
    """Takes all space that there is."""
    with (server.folder / "data" / "filler").open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def _well(connection, statement: str) -> list:
    answer = rows.ask(connection, statement)
    assert answer.error is None, (statement[:200], answer.error)
    return answer.rows


def _refused(connection, statement: str) -> None:
    error = rows.ask(connection, statement).error
    assert error is not None and error[0] == DISK_FULL, (statement, error)
    assert "the disk is full" in error[1], (statement, error)


def _insert_until_full(connection) -> None:
    for _ in range(2000):
        error = rows.ask(connection, "INSERT INTO full.kept (v) VALUES (1)").error
        if error is not None:
            assert error[0] == DISK_FULL, error
            return
    pytest.fail("the disk was never full")


def test_a_full_disk(server):
    connection = rows.connect(server)
    partitions = ", ".join(f"PARTITION p{i} VALUES LESS THAN ({(i + 1) * 100})" for i in range(4))
    for statement in (
            "CREATE DATABASE full",
            "CREATE TABLE full.kept (id BIGINT PRIMARY KEY AUTO_INCREMENT, v INT)",
            "CREATE TABLE full.gone (id BIGINT PRIMARY KEY AUTO_INCREMENT, v INT)",
            "CREATE TABLE full.emptied (id BIGINT PRIMARY KEY AUTO_INCREMENT, v INT)",
            f"CREATE TABLE full.parts (id INT PRIMARY KEY) PARTITION BY RANGE (id) ({partitions})",
            "INSERT INTO full.gone (v) VALUES (1), (2), (3)",
            "INSERT INTO full.emptied (v) VALUES (1), (2), (3)",
            "INSERT INTO full.parts VALUES (1), (101), (201), (301)",
            "ANALYZE TABLE full.gone"):
        _well(connection, statement)
    _fill(server)
    _insert_until_full(connection)
    kept = _well(connection, "SELECT COUNT(*), MAX(id) FROM full.kept")
    for number in range(3):
        _refused(connection, f"CREATE TABLE full.new_{number} (id INT PRIMARY KEY)")
    _refused(connection, "CREATE USER somebody IDENTIFIED BY 'secret-Passw0rd'")

    _well(connection, "ALTER TABLE full.parts TRUNCATE PARTITION p1")
    _well(connection, "ALTER TABLE full.parts DROP PARTITION p0")
    _well(connection, "TRUNCATE TABLE full.emptied")
    _well(connection, "DROP TABLE full.gone")
    assert [int(id) for (id,) in _well(connection, "SELECT id FROM full.parts ORDER BY id")] == [
        201, 301]
    assert _well(connection, "SELECT * FROM full.emptied") == []
    assert _well(connection, "SELECT COUNT(*), MAX(id) FROM full.kept") == kept

    # Nothing can be written at the end, and next to nothing at the start.
    _fill(server)
    _insert_until_full(connection)
    kept = _well(connection, "SELECT COUNT(*), MAX(id) FROM full.kept")
    connection.close()
    server.kill()
    server.start()
    connection = rows.connect(server)
    assert _well(connection, "SELECT COUNT(*), MAX(id) FROM full.kept") == kept
    # What is kept for that is there again.
    _fill(server)
    _well(connection, "ALTER TABLE full.parts DROP PARTITION p2")
    (server.folder / "data" / "filler").unlink()
    _well(connection, "INSERT INTO full.kept (v) VALUES (2)")
    _well(connection, "INSERT INTO full.emptied (v) VALUES (9)")
    _well(connection, "CREATE TABLE full.new_0 (id INT PRIMARY KEY)")
    connection.close()
    server.stop()
    server.start()
    connection = rows.connect(server)
    assert [bytes(id) for (id,) in _well(connection, "SELECT id FROM full.emptied")] == [b"1"]
    tables = {bytes(name) for (name,) in _well(connection, "SHOW TABLES FROM full")}
    assert tables == {b"kept", b"emptied", b"parts", b"new_0"}
    connection.close()


def test_what_failed_on_a_full_disk_takes_no_room_of_others(server):
    """A start needs no space, a DROP has some, and what it frees is there at once."""
    connection = rows.connect(server)
    (server.folder / "data" / "filler").unlink(missing_ok=True)
    _well(connection, "CREATE TABLE full.large (id BIGINT PRIMARY KEY AUTO_INCREMENT, v CHAR(200))")
    gone = [f"full.gone_{number}" for number in range(3)]
    for table in gone:
        _well(connection, f"CREATE TABLE {table} (id BIGINT PRIMARY KEY AUTO_INCREMENT, v CHAR(200))")
    chance = random.Random(1)
    for _ in range(10):
        values = ", ".join(f"('{chance.randbytes(90).hex()}')" for _ in range(2000))
        for table in ("full.large", *gone):
            _well(connection, f"INSERT INTO {table} (v) VALUES {values}")
    for table in gone:
        _well(connection, f"OPTIMIZE TABLE {table}")
    for table in gone:
        _fill(server)
        _insert_until_full(connection)
        answer = _well(connection, "OPTIMIZE TABLE full.large")
        assert any(b"the disk is full" in row[3] for row in answer), answer
        rows.ask(connection, "DELETE FROM full.large LIMIT 5")
        count = _well(connection, "SELECT COUNT(*), SUM(id) FROM full.large")
        connection.close()
        for _ in range(2):
            server.kill()
            server.start()
        connection = rows.connect(server)
        assert _well(connection, "SELECT COUNT(*), SUM(id) FROM full.large") == count
        _well(connection, f"DROP TABLE {table}")
        _well(connection, "INSERT INTO full.kept (v) VALUES (3)")
    connection.close()
