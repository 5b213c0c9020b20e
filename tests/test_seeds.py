"""Seeds of the random tests: recorded ones, those that are asked for, one more, and those that fail."""

from __future__ import annotations

import sys

import pytest
from pelorus_tools import fresh, seeds


def test_recorded_and_asked(monkeypatch):
    assert seeds.asked("random_names") == seeds.recorded("random_names") == [2, 3, 4, 19, 35]
    monkeypatch.setenv("PELORUS_SEEDS", "7")
    assert seeds.asked("random_names") == [7]
    monkeypatch.setenv("PELORUS_RANDOM_NAMES", "1000:3")
    assert seeds.asked("random_names") == [1000, 1001, 1002] and seeds.asked("edge") == [7]


def test_one_more_is_kept(tmp_path):
    file = tmp_path / "seeds.txt"
    file.write_text("# Seeds\na 1\na 2  # found\n\nb 1\n")
    assert seeds.keep("a", 3, "why", file) and not seeds.keep("a", 2, "again", file)
    assert file.read_text() == "# Seeds\na 1\na 2  # found\na 3  # why\n\nb 1\n"
    with pytest.raises(SystemExit, match="there is no test c; the tests are a, b"):
        seeds.keep("c", 1, "why", file)


def test_every_recorded_test_gets_new_seeds():
    recorded = {job.name for job in fresh.jobs() if job.is_recorded}
    assert recorded == {match[1] for match in seeds._lines(seeds.FILE)}


def test_seeds_that_fail_are_named(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(fresh, "LOGS", tmp_path)
    code = "import sys; print('FAILED tests/a.py::test_x[mysql-{}] - E'.format(sys.argv[1])); sys.exit(1)"
    job = fresh.Job("x", [sys.executable, "-c", code, "1003"], "PELORUS_X", "{seed}:5", 5, "PELORUS_X={seed} make x")
    assert not job.run(1000)
    assert len(job.failures) == 1 and "seed 1003 failed" in job.failures[0]
    assert "PELORUS_X=1003 make x" in job.failures[0]
    passes = fresh.Job("y", [sys.executable, "-c", "import os; assert os.environ['PELORUS_Y'] == '7'"], "PELORUS_Y")
    assert passes.run(7) and not passes.failures
