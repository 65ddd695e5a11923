"""The peers' servers, and a mitmdump with the addon before each of them."""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clients import servers
from workshop import LOOPBACK
from workshop.child import Child

LISTENS = re.compile(rf"listening at (?:http://)?({re.escape(LOOPBACK)}:\d+)")
WAIT = 60  # seconds, for a machine that is busy with other things

type Json = dict[str, Any]


class Program(Child):
    """A process that says where it listens, until it is ended."""

    patience = 10.0

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__("the peer", command, env=servers.environment())

    def url(self) -> str:
        """Wait until it says where it listens, and return that."""
        return f"http://{self.find(LISTENS, WAIT)[1]}"


class Addon(servers.Proxy):
    """A mitmdump with the addon, a reverse proxy of *upstream*."""

    def __init__(self, upstream: str, folder: Path) -> None:
        super().__init__(upstream, folder)
        self._pairs = folder / "pairs.jsonl"

    def flows(self) -> list[Json]:
        """Return what the log says of each answer so far."""
        if not self._pairs.exists():
            return []
        whole = self._pairs.read_text("utf-8").split("\n")[:-1]  # the last may be half
        return [record for record in map(json.loads, whole) if record["type"] == "flow"]

    def next_flow(self, known: int) -> Json:
        """Return what the log says of the answer after the first *known*."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            flows = self.flows()
            if len(flows) > known:
                assert len(flows) == known + 1
                return flows[known]
            time.sleep(0.01)
        raise AssertionError("the log does not say how the answer ended")
