"""The before/after log, counted: no line may be half, or gone without a word."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from faults.rig import DUE, SENT, Rig, whole

LINES = 5
"""What the log has of one answer (`rig.SENT`): four pairs and the flow."""
CANNOT = "cannot write the pairs log"
"""What mitmproxy's log says once."""


def records(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return what the logs at *paths* say; the oldest first."""
    found = []
    for path in paths:
        text = path.read_text("utf-8")
        assert not text or text.endswith("\n"), f"half a line: {text[-200:]!r}"
        found += [json.loads(line) for line in text.splitlines()]
    return found


def answered(rig: Rig, path: Path) -> None:
    """Have an answer, all of whose lines must be in the log at *path*, or its old files."""
    script = rig.provider.script(*SENT)
    assert rig.ask(script) == whole(DUE)
    flow = rig.mitmdump.records(script, path)[-1]["flow"]
    found = [each for each in records(rotated(path)) if each.get("flow") == flow]
    assert len(found) == LINES
    assert found[-1]["end"] == "complete"


def rotated(path: Path) -> list[Path]:
    """Return *path* and its old files; the oldest first."""
    old = [path.with_name(f"{path.name}.{number}") for number in (4, 3, 2, 1)]
    return [each for each in (*old, path) if each.is_file()]


def lost(found: Iterable[dict[str, Any]]) -> int:
    """Return how many lines the log says are missing."""
    return sum(int(each["count"]) for each in found if each["type"] == "lost")


def count(found: Iterable[dict[str, Any]]) -> int:
    """Return how many lines the log has or says are missing."""
    found = list(found)
    return lost(found) + len([each for each in found if each["type"] != "lost"])
