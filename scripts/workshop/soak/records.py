"""The pairs logs of a soak, read while they are written and rotated."""

import json
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_CHUNK = 4 * 1024 * 1024
_HEAD = 128
"""Bytes that tell one file from another: a record names its flow."""


class Records:
    """Follows all pairs logs in a folder, whatever name an instance took.

    Attributes:
        flows: How the flow records say that it ended, by the number of their stream.
        pairs: How many pairs there were.
        faults: What was wrong with the logs, in words.

    Args:
        folder: Where the logs are.
        secret: What must not be in them.
    """

    def __init__(self, folder: Path, secret: str) -> None:
        self.flows: dict[int, list[str]] = defaultdict(list)
        self.pairs = 0
        self.faults: list[str] = []
        self._folder = folder
        self._secret = secret.encode()
        self._read: dict[bytes, int] = {}

    def poll(self, *, last: bool = False) -> None:
        """Read what is new; for the *last* time what is short, too."""
        for path in self._folder.glob("pairs-*.jsonl*"):
            with suppress(FileNotFoundError):  # rotated meanwhile; it has another name
                self._follow(path, last=last)

    def _follow(self, path: Path, *, last: bool) -> None:
        with path.open("rb") as file:
            # Its beginning tells a file: names rotate, and inodes are used again.
            head = file.read(_HEAD)
            if len(head) < _HEAD and not last:
                return
            read = self._read.get(head, 0)
            file.seek(read)
            while data := file.read(_CHUNK):
                whole = data[: data.rfind(b"\n") + 1]
                if not whole:
                    break
                for line in whole.splitlines():
                    self._check_line(line)
                read += len(whole)
                file.seek(read)
            self._read[head] = read

    def _check_line(self, line: bytes) -> None:
        if line.startswith(b'{"type":"pair"'):
            self.pairs += 1
        elif line.startswith(b'{"type":"flow"'):
            record = json.loads(line)
            number = record["path"].split("/")[1]
            if number.isdigit():
                self.flows[int(number)].append(record["end"])
        elif not line.startswith(b'{"type":"refusal"'):
            self._say(f"the pairs log says {line[:200]!r}")
        if self._secret in line:
            self._say(f"the pairs log has the key: {line[:200]!r}")

    def _say(self, text: str) -> None:
        if len(self.faults) < 20:  # noqa: PLR2004 - more tell nothing new
            self.faults.append(text)
