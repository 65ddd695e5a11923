"""The peers' servers, and a mitmdump with the addon before each of them."""

import json
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clients import servers

LISTENS = re.compile(r"listening at (?:http://)?(127\.0\.0\.1:\d+)")
WAIT = 60  # seconds, for a machine that is busy with other things

type Json = dict[str, Any]


class Program:
    """A process that says where it listens, until it is ended."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=servers.environment(),
        )
        self._found: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def url(self) -> str:
        """Wait until it says where it listens, and return that; once."""
        try:
            address = self._found.get(timeout=WAIT)
        except queue.Empty:
            address = ""
        if not address:
            raise AssertionError("it does not listen:\n" + "\n".join(self.lines))
        return f"http://{address}"

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip())
            if address := LISTENS.search(line):
                self._found.put(address[1])
        self._found.put("")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Addon(Program):
    """A mitmdump with the addon, a reverse proxy of *upstream*."""

    def __init__(self, upstream: str, folder: Path) -> None:
        self._pairs = folder / "pairs.jsonl"
        super().__init__(
            [
                *(sys.executable, "-c", servers.MITMDUMP, "-s", str(servers.ADDON)),
                *("--mode", f"reverse:{upstream}"),
                *("--listen-host", "127.0.0.1", "--listen-port", "0"),
                *("--set", f"confdir={folder}"),
                *("--set", f"normalize_pairs={self._pairs}"),
            ]
        )

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
