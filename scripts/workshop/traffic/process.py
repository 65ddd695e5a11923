"""The processes of a measurement: mitmdump and providers, and what they print."""

import asyncio
import contextlib
import json
import resource
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workshop import MODULES, mitmdump, module, variables
from workshop.child import START, Child, ChildError
from workshop.mitmdump import Place
from workshop.traffic.client import connect, rest
from workshop.traffic.memory import settle

PATIENCE = 60.0
"""Seconds for an answer to a control request."""


def allow_files(count: int) -> None:
    """Let this process, and those it starts, have *count* files open.

    Raises:
        ChildError: The system does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count or soft == resource.RLIM_INFINITY:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(hard, count)))
    except (OSError, ValueError) as error:
        raise ChildError(
            f"{count} open files are needed and {hard} are allowed: raise the limit "
            f"(ulimit -n {count}), or ask for fewer streams ({error})"
        ) from None


class ProviderProcess(Child):
    """A provider in a process of its own.

    Attributes:
        ports: Those it listens on, by name, once it is ready.
        alarms: What else it printed: errors of its own.
    """

    def __init__(self, name: str, folder: Path, *args: str) -> None:
        command, env = module(name, *args), variables(**MODULES)
        # A Ctrl-C in the terminal is for the process that has the figures.
        super().__init__(
            "the provider", command, folder, env=env, start_new_session=True
        )
        self.ports: dict[str, int] = {}
        self.alarms: list[str] = []

    def ready(self) -> None:
        """Wait until it listens.

        Raises:
            ChildError: It ended, or took too long.
        """
        self.until(lambda: self.ports or None, START, "its ports")

    def hear(self, line: str) -> None:
        """Take a line of its output: its ports, or else an error of its own."""
        if line.startswith("@"):
            self.ports = json.loads(line[1:])
        elif not line.endswith(mitmdump.GONE):
            self.alarms.append(line)


class Mitmdump(mitmdump.Mitmdump):
    """A mitmdump on free ports of loopback.

    Args:
        folder: For its files; made.
        modes: What it listens as.
        scripts: Paths of scripts to load.
        options: Values of options, a list for several.
        name: Tells it from others.

    Attributes:
        loaded: Set when a script has been loaded.
    """

    patience = 15.0

    def __init__(
        self,
        folder: Path,
        modes: Sequence[str],
        scripts: Sequence[Path],
        options: mitmdump.Options | None = None,
        *,
        name: str = "",
    ) -> None:
        folder.mkdir(parents=True)
        self.confdir = folder / "conf"
        every = {"confdir": str(self.confdir), "flow_detail": "0", **(options or {})}
        # A loopback address each: mitmproxy takes port 0 of one for the same place.
        places = [f"{mode}@127.0.0.{number}:0" for number, mode in enumerate(modes, 1)]
        listen = [word for each in places for word in ("--mode", each)]
        made = mitmdump.command(scripts, every, *listen, listen=None)
        # A proxy for all programs would come between us and our own machine.
        env = {
            key: value
            for key, value in variables().items()
            if not key.upper().endswith("_PROXY")
        }
        title = f"mitmdump ({name})" if name else "mitmdump"
        super().__init__(title, made, folder, env=env, start_new_session=True)
        self.modes = len(modes)
        self.loaded = threading.Event()

    def stop(self) -> None:
        """End it once it rests: it may have much to write when its clients have left."""
        if self.process and self.code is None:
            with contextlib.suppress(OSError):  # it has ended
                settle([self.pid], self.patience)
        super().stop()

    def hear(self, line: str) -> None:
        """Take a line of its log."""
        super().hear(line)
        if "Loading script" in line:
            self.loaded.set()

    async def control(self, **asked: Any) -> Any:
        """Change options (`set`), or count objects (`census`): it has to load `CONTROL`.

        Raises:
            ChildError: It refused.
        """
        answer = json.loads(await ask(self.places[0], mitmdump.CONTROL_URL, asked))
        if "error" in answer:
            raise ChildError(f"mitmdump refused {asked}: {answer['error']}")
        return answer["answer"]


async def ask(place: Place, path: str, asked: Any) -> bytes:
    """Send *asked* as JSON to a server of ours, and return what it answers.

    Raises:
        ChildError: There was no whole answer.
    """
    async with asyncio.timeout(PATIENCE), await connect(place) as client:
        answer = client.ask(path, json.dumps(asked).encode())
        body = await rest(answer)
    if answer.status != 200 or not answer.done:  # noqa: PLR2004
        raise ChildError(f"{place} answers {path} with {answer.status}: {body!r}")
    return body
