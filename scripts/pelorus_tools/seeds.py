"""Seeds of the random tests: `tests/seeds.txt` records those of every run, the environment gives others.

`python -m pelorus_tools.seeds TEST SEED REASON` records one more (`make keep-seed`). `PELORUS_SEEDS=7` runs a
test with seed 7, `PELORUS_SEEDS=1000:50` with the 50 seeds from 1000; a variable with the name of the
test, such as `PELORUS_RANDOM_QUERIES`, is for that test alone.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from . import machine

FILE = machine.ROOT / "tests" / "seeds.txt"


def asked(test: str) -> list[int]:
    """The seeds that a test runs with: those of the environment, otherwise the recorded ones."""
    text = os.environ.get(f"PELORUS_{test.upper()}") or os.environ.get("PELORUS_SEEDS")
    if not text:
        return recorded(test)
    first, _, count = text.partition(":")
    return list(range(int(first), int(first) + int(count or 1)))


def recorded(test: str, file: Path = FILE) -> list[int]:
    """The recorded seeds of a test."""
    return [int(match[2]) for match in _lines(file) if match[1] == test]


def keep(test: str, seed: int, reason: str, file: Path = FILE) -> bool:
    """Records a seed after the others of its test; whether it is new."""
    if seed in recorded(test, file):
        return False
    last = max((match.end() for match in _lines(file) if match[1] == test), default=None)
    if last is None:
        known = sorted({match[1] for match in _lines(file)})
        raise SystemExit(f"there is no test {test}; the tests are {', '.join(known)}")
    text = file.read_text()
    file.write_text(f"{text[:last]}\n{test} {seed}  # {reason}{text[last:]}")
    return True


def _lines(file: Path) -> list[re.Match]:
    return list(re.finditer(r"^(\w+) (\d+)( *#.*)?$", file.read_text(), re.MULTILINE))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="record a seed of a random test")
    parser.add_argument("test", help="the first word of a line of tests/seeds.txt")
    parser.add_argument("seed", type=int)
    parser.add_argument("reason", nargs="+", help="what the seed found")
    given = parser.parse_args()
    new = keep(given.test, given.seed, " ".join(given.reason))
    print(f"{FILE.relative_to(machine.ROOT)}: {given.test} {given.seed} {'recorded' if new else 'is there already'}")


if __name__ == "__main__":
    main()
