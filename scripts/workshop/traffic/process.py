"""The processes of a measurement: mitmdump and providers, and what they print."""

import asyncio
import contextlib
import json
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Self

from workshop import LOOPBACK, MODULES, child, mitmdump, module, variables
from workshop.child import ChildError
from workshop.mitmdump import Place
from workshop.traffic.client import connect, rest
from workshop.traffic.http1 import FramingError
from workshop.traffic.memory import cpu_seconds

PATIENCE = 60.0
"""Seconds for a start, and for an answer to a control request."""
HOST = LOOPBACK
GLANCE = 0.02
"""Seconds between two looks at a child that starts or ends."""
AGAIN = 1.0
"""Seconds after which a signal to end is sent once more."""
QUIET = 0.5
"""Seconds after which a mitmdump is idle if it has hardly worked."""
_HARDLY = 0.01
"""Seconds of CPU meanwhile: it may be silent and busy, in a collection of garbage."""

_ALARMS = (
    "Traceback",
    "crashed",
    "exception was never retrieved",
    "Exception in",
    "repair failed",
    "passes as it is",
    "cannot be decoded",
    "cannot write the pairs log",
    "there is no pairs log",
)
"""Words that mitmdump's log must not have."""
_GONE = "socket.send() raised exception."
"""asyncio's words, from the fifth on, for a write to a peer that has gone.

Harmless: the writer learns by other means that the peer has gone, and nobody reads any more.
Whoever went on writing without an end would show in what is left over.
"""
_AFTER_AN_ALARM = 25
"""Lines that are stored after such a one: what was raised comes last."""
_ALARMS_KEPT = 200

STREAMING = '''\
"""mitmproxy alone, as it streams best."""


def responseheaders(flow):
    flow.response.stream = True
'''


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


def run[T](work: Coroutine[Any, Any, T]) -> T | None:
    """Run *work* to its end, and the processes it starts to theirs, whatever happens.

    Returns:
        What it returns; None if it could not be done: why is printed.
    """

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, task.cancel, "SIGTERM")
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError as error:
        print(f"llm_normalize: ended ({error})", file=sys.stderr)
        sys.exit(128 + signal.SIGTERM)
    except ChildError as error:
        for line in error.lines:
            print("    " + line, file=sys.stderr)
        print(f"llm_normalize: {error}", file=sys.stderr)
        return None


async def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    """Wait until *is_so*, which a thread or a process brings about; tell whether it is."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(GLANCE)
    return True


class Child(child.Child):
    """A child of a measurement, as long as it is entered.

    Attributes:
        is_ready: Set when it is of use.
    """

    patience = 15.0

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, **more: Any
    ) -> None:
        # A Ctrl-C in the terminal is for the process that has the figures.
        super().__init__(name, command, folder, start_new_session=True, **more)
        self.is_ready = threading.Event()

    async def __aenter__(self) -> Self:
        self.start()
        try:
            is_over = await within(
                PATIENCE, lambda: self.is_ready.is_set() or self.code is not None
            )
            self.check()
            if not is_over:
                message = f"{self.name} does not start"
                raise ChildError(message, self.lines)  # noqa: TRY301 - ended below
        except BaseException:
            await self.end()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def end(self) -> None:
        """End it, by force where it does not follow."""
        await asyncio.to_thread(self.stop)


class ProviderProcess(Child):
    """A provider in a process of its own.

    Attributes:
        ports: Those it listens on, by name, once it is ready.
    """

    def __init__(self, name: str, folder: Path, *args: str) -> None:
        env = variables(**MODULES)
        super().__init__("the provider", module(name, *args), folder, env=env)
        self.ports: dict[str, int] = {}
        self.alarms: list[str] = []

    def hear(self, line: str) -> None:
        """Take a line of its output: its ports, or else an error of its own."""
        if line.startswith("@"):
            self.ports = json.loads(line[1:])
            self.is_ready.set()
        elif not line.endswith(_GONE):
            self.alarms.append(line)


class Mitmdump(mitmdump.Mitmdump, Child):
    """A mitmdump on free ports of loopback.

    Args:
        folder: For its files; made.
        modes: What it listens as.
        scripts: Paths of scripts to load.
        options: Values of options, a list for several.
        has_control: Whether it can be controlled. Its addons see all flows then.

    Attributes:
        alarms: Lines of its log that must not be there.
        loaded: Set when a script has been loaded.
    """

    def __init__(
        self,
        folder: Path,
        modes: Sequence[str],
        scripts: Sequence[Path],
        options: mitmdump.Options | None = None,
        *,
        has_control: bool = True,
    ) -> None:
        folder.mkdir(parents=True)
        control = folder / "control.py"
        control.write_text(mitmdump.CONTROL)
        scripts = [*scripts, control] if has_control else scripts
        self.confdir = folder / "conf"
        every = {"confdir": str(self.confdir), "flow_detail": "0", **(options or {})}
        # A loopback address each: mitmproxy takes port 0 of one for the same place.
        places = [f"{mode}@127.0.0.{number}:0" for number, mode in enumerate(modes, 1)]
        listen = [word for each in places for word in ("--mode", each)]
        made = mitmdump.command(scripts, every, *listen, listen=None)
        super().__init__("mitmdump", made, folder)
        self.modes = len(modes)
        self._has_control = has_control
        self.alarms: list[str] = []
        self.loaded = threading.Event()
        self._goes_on = 0
        self._busy = self._used = 0.0  # when it had last worked, and how much by then

    async def end(self) -> None:
        """Ask it to end, and end it by force where it does not follow.

        A single signal gets lost in a busy one: asyncio hears of it by a pipe, which is
        full of log lines when thousands of clients leave at once. So it gets the time to
        write them.
        """
        if self._has_control and self.places and self.code is None:
            with contextlib.suppress(ChildError, OSError, FramingError):
                await self.control(end=True)
            await within(self.patience, lambda: self.code is not None)
        elif self.code is None:
            with contextlib.suppress(OSError):
                await within(self.patience, self._is_idle)
        deadline = time.monotonic() + self.patience
        while self.process is not None and time.monotonic() < deadline:
            self.process.terminate()
            if await within(AGAIN, lambda: self.code is not None):
                break
        await super().end()

    def _is_idle(self) -> bool:
        """Tell whether it has hardly worked for a while. OSError if it has ended."""
        now, used = time.monotonic(), cpu_seconds(self.pid)
        if used > self._used + _HARDLY:
            self._busy, self._used = now, used
        return now > self._busy + QUIET

    def hear(self, line: str) -> None:
        """Take a line of its log."""
        super().hear(line)
        if any(word in line for word in _ALARMS):
            self._goes_on = _AFTER_AN_ALARM
        if self._goes_on and len(self.alarms) < _ALARMS_KEPT:
            self._goes_on -= 1
            if not line.endswith(_GONE):
                self.alarms.append(line)
        if "Loading script" in line:
            self.loaded.set()
        elif len(self.places) == self.modes:
            self.is_ready.set()

    async def control(self, **asked: Any) -> Any:
        """Change options (`set`), or count objects (`census`).

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
        answer = await client.ask(path, json.dumps(asked).encode())
        body = await rest(answer)
    if answer.status != 200 or not answer.done:  # noqa: PLR2004
        raise ChildError(f"{place} answers {path} with {answer.status}: {body!r}")
    return body
