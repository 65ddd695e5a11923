"""mitmdump as a child: how it is started, where it listens, and what it is asked."""

import re
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workshop import LOOPBACK, SCRIPTS
from workshop.child import START, Child, ChildError

type Place = tuple[str, int]
"""An address and a port."""
type Options = Mapping[str, str | Sequence[str]]
"""Values of mitmproxy's options, a list for several."""

LISTENS = re.compile(r"listening at (?:http://)?(\S*?):(\d+)\.?$")

_ALARMS = (
    "Traceback",
    "crashed",
    "exception was never retrieved",
    "Exception in",
    "repair failed",
    "passes as it is",
    "cannot be decoded",
    "cannot write the pairs log",
    "the pairs log cannot be opened",
)
"""Words that mitmdump's log must not have."""
GONE = "socket.send() raised exception."
"""asyncio's words, from the fifth on, for a write to a peer that has gone.

Harmless: the writer learns by other means that the peer has gone, and nobody reads any more.
Whoever went on writing without an end would show in what is left over.
"""
_AFTER_AN_ALARM = 25
"""Lines that are stored after such a one: what was raised comes last."""
_ALARMS_KEPT = 200
_TURNS = 3
"""Requests, one after the other, of which the last is answered by a proxy that stays."""

CONTROL = SCRIPTS / "workshop" / "control.py"
"""A script that takes what is posted to `CONTROL_URL`."""
CONTROL_URL = "http://control.invalid/_control"
"""In absolute form, which every mode takes."""


def command(
    scripts: Iterable[Path],
    options: Options,
    *arguments: str,
    program: str = "mitmdump",
    listen: Place | None = (LOOPBACK, 0),
) -> list[str]:
    """Return how to start mitmdump, of the environment that runs this.

    Args:
        scripts: What to load, in this order.
        options: What to set.
        arguments: More of its own.
        program: mitmdump or mitmweb.
        listen: Where it listens; None where a mode in *arguments* says that.
    """
    start = f"from mitmproxy.tools.main import {program}; {program}()"
    made = [sys.executable, "-c", start]
    if listen is not None:
        made += ["--listen-host", listen[0], "--listen-port", str(listen[1])]
    for path in scripts:
        made += ["-s", str(path)]
    for name, values in options.items():
        for value in [values] if isinstance(values, str) else values:
            made += ["--set", f"{name}={value}"]
    return [*made, *arguments]


def answers(port: int) -> bool:
    """Tell whether mitmproxy on *port* answers what is no request.

    After an error in a script or an option it listens, and ends.
    """
    try:
        with socket.create_connection((LOOPBACK, port), START) as connection:
            connection.sendall(b"?\r\n\r\n")  # no request, so that no flow comes of it
            return b" 400 " in connection.recv(99)
    except OSError:
        return False


class Mitmdump(Child):
    """A mitmdump, of use once it listens and answers.

    Attributes:
        places: Where it listens.
        alarms: Lines of its log that must not be there.
    """

    modes = 1
    """How many times it listens."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path | None = None,
        **more: Any,
    ) -> None:
        super().__init__(name, command, folder, **more)
        self.places: list[Place] = []
        self.alarms: list[str] = []
        self._goes_on = 0

    @property
    def port(self) -> int:
        """The port of its first mode; 0 until it is there."""
        return self.places[0][1] if self.places else 0

    def start(self, **more: Any) -> None:
        """Start it, once more where it was stopped."""
        self.places.clear()
        super().start(**more)

    def hear(self, line: str) -> None:
        """Take a line: it may say where it listens, or that something is wrong."""
        if any(word in line for word in _ALARMS):
            self._goes_on = _AFTER_AN_ALARM
        if self._goes_on and len(self.alarms) < _ALARMS_KEPT:
            self._goes_on -= 1
            if not line.endswith(GONE):
                self.alarms.append(line)
        if found := LISTENS.search(line):
            self.places.append((found[1], int(found[2])))

    def ready(self) -> None:
        """Wait until it serves.

        Raises:
            ChildError: It ended, or took too long.
        """
        self.until(lambda: len(self.places) >= self.modes or None, START, "a port")
        # Its last look for errors comes a few turns of its event loop after it listens.
        if not all(answers(self.port) for _ in range(_TURNS)):
            self.stop()
            raise ChildError(f"{self.name} ended as it started", self.lines)
