"""Random tests with new seeds for a stated time (`make fresh`).

The jobs take turns: the one that has run least is next, until the time is over; a job that has begun is
finished. Each failing seed is printed with the command that repeats it, and the output of its job is in
`target/fresh`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import machine, processes

LOGS = machine.TARGET / "fresh"
PYTEST = [str(machine.PYTHON), "-m", "pytest", "-c", "tests/pytest.ini", "--rootdir", "tests", "-q", "--tb=short"]
WITH_SERVERS = [str(machine.PYTHON), "-m", "pelorus_tools.with_servers"]


@dataclass
class Job:
    """A command that runs tests with the seeds that one variable gives it."""

    name: str
    command: list[str]
    variable: str
    # `{seed}` and `{last}` are the first seed and the last one.
    value: str = "{seed}"
    seeds: int = 1
    # How a failing seed is repeated, with `{seed}`.
    repeat: str = ""
    # Whether `make keep-seed` records its seeds.
    is_recorded: bool = False
    # Seeds are less than this.
    below: int = 10**9
    spent: float = 0.0
    runs: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, seed: int) -> bool:
        """Runs the tests with seeds from this one on; whether all passed."""
        seed %= self.below
        value = self.value.format(seed=seed, last=seed + self.seeds - 1)
        LOGS.mkdir(parents=True, exist_ok=True)
        log = LOGS / f"{self.name}-{seed}.log"
        begun = time.monotonic()
        process = processes.Process(self.name, self.command, log, {**os.environ, self.variable: value})
        code = process.child.wait()
        self.spent += time.monotonic() - begun
        self.runs += 1
        print(f"{self.name}: {self.variable}={value}: {'passed' if code == 0 else 'failed'} "
              f"({time.monotonic() - begun:.0f} s)", flush=True)
        if code == 0:
            log.unlink()
            return True
        for failed in self._failed(log, seed):
            repeat = self.repeat.format(seed=failed)
            text = f"{self.name}: seed {failed} failed ({log}); repeat it with\n    {repeat}"
            if self.is_recorded:
                text += f"\n  record it with\n    make keep-seed TEST={self.name} SEED={failed} REASON=\"...\""
            print(text, flush=True)
            self.failures.append(text)
        return False

    def _failed(self, log: Path, seed: int) -> list[int]:
        """The seeds that failed, by the names of tests; the first one if their names do not say it."""
        text = log.read_text(errors="replace")
        names = " ".join(re.findall(r"^FAILED \S+?\[(\S+?)\]", text, re.MULTILINE))
        asked = range(seed, seed + self.seeds)
        found = {int(number) for number in re.findall(r"\d+", names) if int(number) in asked}
        found |= {int(number) for number in re.findall(r"^seed (\d+) fails", text, re.MULTILINE)}
        return sorted(found) or [seed]


def _pytest(name: str, tests: list[str], seeds: int) -> Job:
    variable = f"PELORUS_{name.upper()}"
    return Job(name, [*PYTEST, *tests], variable, "{seed}:" + str(seeds), seeds,
               f'{variable}={{seed}} make test-python TESTS="{" ".join(tests)}"', is_recorded=True)


def _part(name: str, parts: int) -> Job:
    variable, test = f"PELORUS_{name.upper()}", f"tests/test_{name}.py"
    return Job(name, [*PYTEST, test], variable, "{seed}/" + str(parts),
               repeat=f"{variable}={{seed}}/{parts} make test-python TESTS={test}", below=parts)


def jobs() -> list[Job]:
    """All random tests."""
    crates = sorted(path.parent.name for path in (machine.ROOT / "crates").glob("*/Cargo.toml")
                    if re.search(r"^proptest\b", path.read_text(), re.MULTILINE))
    packages = [word for crate in crates for word in ("--package", f"pelorus-{crate}")]
    tested = ["cargo", "test", "--release", *packages]
    return [
        _pytest("random_queries", ["tests/test_random_queries.py"], 20),
        Job("property_tests", [*WITH_SERVERS, *tested], "PROPTEST_RNG_SEED",
            repeat=f"PROPTEST_RNG_SEED={{seed}} PYTHONPATH=scripts {machine.PYTHON} -m pelorus_tools.with_servers "
                   f"{' '.join(tested)}"),
        _pytest("random_alters", ["tests/test_random_alters.py"], 10),
        _pytest("mirror_soak", ["tests/test_mirror.py::test_soak"], 1),
        _pytest("random_names", ["tests/test_names.py::test_names_by_chance"], 20),
        Job("simulation", ["make", "--no-print-directory", "simulation"], "PELORUS_SIMULATION_SEED",
            "{seed}..{last}", 500, "PELORUS_SIMULATION_SEED={seed} make simulation"),
        _pytest("mirror_cascade", ["tests/test_mirror_cascade.py::test_random_changes"], 1),
        _part("mixed_types", 40),
        _pytest("mirror_images", ["tests/test_mirror_images.py::test_while_a_table_is_read"], 1),
        _pytest("mirror_swaps",
                ["tests/test_mirror.py::TestRestarts::test_killed_after_tables_have_changed_places"], 1),
        _part("result_types", 60),
        _pytest("bad_input", ["tests/test_bad_input.py::TestRubbish"], 5),
        _pytest("edge", ["tests/attack/test_edge.py::TestStrangers::test_random_bytes",
                         "tests/attack/test_edge.py::TestCommands::test_random_commands"], 3),
    ]


def main() -> int:
    """The command line."""
    chosen = {job.name: job for job in jobs()}
    parser = argparse.ArgumentParser(description="run the random tests with new seeds")
    parser.add_argument("minutes", type=float, help="how long; a job that has begun is finished")
    parser.add_argument("--only", action="append", choices=chosen, help="some of the tests")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**9, help="the first seed; the time by default")
    given = parser.parse_args()
    os.chdir(machine.ROOT)
    asked = [job for name, job in chosen.items() if name in (given.only or chosen)]
    seed, end = given.seed, time.monotonic() + 60 * given.minutes
    print(f"new seeds from {seed} on, for {given.minutes:g} minutes", flush=True)
    while time.monotonic() < end:
        job = min(asked, key=lambda it: it.spent)
        job.run(seed)
        seed += max(job.seeds, 1)
    failures = [text for job in asked for text in job.failures]
    for job in asked:
        print(f"{job.name}: {job.runs} runs, {job.spent:.0f} s, {len(job.failures)} seeds failed")
    print("\n".join(["", *failures]) if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        processes.stop_all()
