"""A record as flows store it, and a row of its pairs."""

from typing import Any

from llm_normalize.records.snapshot import VERSION

RECORD: dict[str, Any] = {
    "v": VERSION,
    "observe": False,
    "host": "api.test",
    "model": "acme-1",
    "status": 200,
    "stream": True,
    "events": 3,
    "changed": 1,
    "first_ms": 312.4,
    "total_ms": 4210.0,
    "end": "complete",
    "fixes": [["content-null", 2]],
    "request": [],
    "usage": False,
    "pairs": [],
    "left_out": 0,
    "left_out_at": 0,
    "is_cut": False,
    "received": [],
    "received_status": 200,
}


def row(before: bytes | None, *after: bytes, n: int = 7, alike: Any = ()) -> list[Any]:
    """Return a row; *alike* is how many more there were, and the last of them."""
    more, *last = alike or (0,)
    fixes = ["content-null", "role-null"]
    return [n, 12.5, fixes, before, list(after), more, *(last or [[]])]
