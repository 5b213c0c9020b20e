"""What CI runs again."""

from __future__ import annotations

from pelorus_tools import rust_tests


def test_the_rust_targets_that_failed_are_found_in_what_cargo_prints():
    printed = [
        "     Running tests/it/main.rs (target/release/deps/it-91c5)\n",
        "error: test failed, to rerun pass `-p pelorus-link --test it`\n",
        "error: doctest failed, to rerun pass `--doc`\n",
        "error: 2 targets failed:\n",
        "    `-p pelorus-link --test it`\n",
        "    `-p pelorus-types --doc`\n",
    ]
    assert list(dict.fromkeys(rust_tests.failed(printed))) == [
        "-p pelorus-link --test it", "-p pelorus-types --doc"]
    assert rust_tests.failed(["error: could not compile `pelorus-link` (lib)\n"]) == []
