"""How programs of this folder show what they found: a line of JSON for each step."""

from __future__ import annotations

import json


def _plain(value: object) -> object:
    return bytes(value).hex() if isinstance(value, (bytes, memoryview)) else str(value)


def show(what: str, found: object) -> None:
    """Prints one step."""
    print(f"{what}: {json.dumps(found, default=_plain, ensure_ascii=False, sort_keys=True)}")
