"""Instances of mitmdump with the addon, each a reverse proxy of one provider."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from llm_normalize.desktop.service.plan import LONG_RUNNING
from workshop import LOOPBACK, NORMALIZE, child
from workshop.mitmdump import Mitmdump, command

SETTINGS = (
    # A health check is no reason to call the provider.
    "connection_strategy=lazy",
    *LONG_RUNNING,
)
"""What every instance behind a load balancer is started with."""


class Instance(Mitmdump):
    """One instance, in a folder of its own; its log is `mitmdump.log` there.

    Args:
        folder: Made if it is missing; holds its CA and its pairs log, too.
        upstream: The provider's URL.
        arguments: More of mitmdump's.
        port: Where it is to listen; 0 for any.
    """

    def __init__(
        self,
        folder: Path,
        upstream: str,
        arguments: Sequence[str] = (),
        port: int = 0,
    ) -> None:
        self.folder = folder
        self._upstream = upstream
        self._arguments = arguments
        self._port = port
        log = folder / "mitmdump.log"
        super().__init__("mitmdump", self._made(), log=log)

    @property
    def port(self) -> int:
        """Where it listens, or listened, or is to listen."""
        return super().port or self._port

    @property
    def pairs(self) -> Path:
        """Where its pairs log is, if no option says otherwise."""
        return self.folder / "normalize" / f"pairs-{self.port}.jsonl"

    def _made(self) -> list[str]:
        # mitmproxy refuses an option that is given twice: the user's word counts.
        given = {each.removeprefix("--set=").split("=")[0] for each in self._arguments}
        options = dict(each.split("=") for each in SETTINGS)
        options["confdir"] = str(self.folder)
        own = {name: value for name, value in options.items() if name not in given}
        mode = ("--mode", f"reverse:{self._upstream}")
        listen = (LOOPBACK, self._port)
        return command([NORMALIZE], own, *mode, *self._arguments, listen=listen)

    def start(self, **more: Any) -> None:
        """Start it, where it listened before; `ready` waits until it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._port = self.port
        self.command = self._made()
        super().start(**more)


@contextlib.contextmanager
def running(
    count: int, folder: Path, upstream: str, arguments: Sequence[str] = ()
) -> Iterator[list[Instance]]:
    """Run *count* instances, started side by side, and end them whatever happens.

    Raises:
        ChildError: One of them did not start.
    """
    made = [
        Instance(folder / f"instance-{at + 1}", upstream, arguments)
        for at in range(count)
    ]
    with child.running(made):
        yield made
