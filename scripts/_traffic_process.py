"""The processes of a measurement: mitmdump and providers, and what they say."""

import abc
import asyncio
import collections
import contextlib
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from _traffic_http1 import FramingError, ResponseReader

PATIENCE = 60.0
"""Seconds for a start, and for an answer to a control request."""
HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parent.parent
ADDON = ROOT / "addon"

_START = "from mitmproxy.tools.main import mitmdump; mitmdump()"
_LISTENS = re.compile(r"listening at (127\.0\.0\.\d+):(\d+)")
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

Harmless: that the peer has gone, the writer is told by itself, and nobody is left to read.
Whoever went on writing without an end would show in what is left over.
"""
_AFTER_AN_ALARM = 25
"""Lines that are kept with such a one: what was raised comes last."""
_ALARMS_KEPT = 200

STREAMING = '''\
"""mitmproxy alone, as it streams best."""


def responseheaders(flow):
    flow.response.stream = True
'''

CONTROL = '''\
"""Changes options while mitmdump runs, and counts what it keeps."""

import gc
import json
from collections import Counter

from mitmproxy import ctx, http


def tls_clienthello(data):
    """Offer both protocols upstream, whatever the client speaks: the provider picks."""
    data.context.server.alpn_offers = (b"h2", b"http/1.1")


def census():
    """Count the living objects that stand for an answer."""
    gc.collect()
    found = Counter()
    for each in gc.get_objects():
        kind = type(each)
        if kind is http.HTTPFlow or kind.__module__ in (
            "llm_normalize.repair.pipeline", "llm_normalize.exchange.running_answer", "llm_normalize.exchange.answer_record"
        ):
            found[kind.__name__] += 1
    return found


def request(flow):
    if flow.request.path != "/_control":
        return
    asked = json.loads(flow.request.content)
    try:
        ctx.options.update(**asked.get("set", {}))
        if "end" in asked:
            ctx.master.shutdown()
        answer = {"census": census()} if "census" in asked else {}
    except Exception as error:
        answer = {"error": str(error)}
    flow.response = http.Response.make(200, json.dumps(answer))
'''


type Place = tuple[str, int]
"""An address and a port."""


class TrafficError(Exception):
    """What went wrong, as one sentence; `lines` are the last that were said."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


def allow_files(count: int) -> None:
    """Let this process, and those it starts, have *count* files open.

    Raises:
        TrafficError: The system does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count or soft == resource.RLIM_INFINITY:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(hard, count)))
    except (OSError, ValueError) as error:
        raise TrafficError(
            f"{count} open files are needed and {hard} are allowed: raise the limit "
            f"(ulimit -n {count}), or ask for fewer streams ({error})"
        ) from None


def run[T](work: Coroutine[Any, Any, T]) -> T | None:
    """Run *work* to its end, and the processes it starts to theirs, whatever happens.

    Returns:
        What it returns; None if it could not be done, which is said.
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
    except TrafficError as error:
        for line in error.lines:
            print("    " + line, file=sys.stderr)
        print(f"llm_normalize: {error}", file=sys.stderr)
        return None


class Child(abc.ABC):
    """A process that this one started, and whose output it reads.

    Args:
        name: What to call it.
        command: How to start it.
        folder: Where.

    Attributes:
        last: The last lines that it printed.
        patience: Seconds that it may take to end.
        ready: Set when it is of use.
    """

    patience = 15.0

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.last: collections.deque[str] = collections.deque(maxlen=40)
        self.ready = asyncio.Event()
        self._command = command
        self._folder = folder

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self._folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=1024 * 1024,
            # A Ctrl-C in the terminal is for the process that has the figures.
            start_new_session=True,
        )
        self._reading = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(PATIENCE):
                await self.ready.wait()
            self.check()
        except TimeoutError:
            await self.stop()
            raise TrafficError(f"{self.name} does not start", self.last) from None
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End it, by force where it does not follow."""
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), self.patience)
            except TimeoutError:
                self._process.kill()
        await self._process.wait()
        await asyncio.wait([self._reading], timeout=5)
        self._reading.cancel()

    def check(self) -> None:
        """See that it still runs.

        Raises:
            TrafficError: It does not.
        """
        if self._reading.done() or self._process.returncode is not None:
            raise TrafficError(f"{self.name} has ended", self.last)

    @abc.abstractmethod
    def hear(self, line: str) -> None:
        """Take a line that it printed."""

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for raw in self._process.stdout:
            line = raw.decode(errors="replace").rstrip()
            self.last.append(line)
            self.hear(line)
        self.ready.set()  # so that nobody waits for a process that has ended


class Provider(Child):
    """A provider in a process of its own.

    Attributes:
        said: What it told at its start: its ports.
    """

    def __init__(self, script: str, folder: Path, *args: str) -> None:
        path = str(ROOT / "scripts" / script)
        super().__init__("the provider", [sys.executable, path, *args], folder)
        self.said: dict[str, int] = {}
        self.alarms: list[str] = []

    def hear(self, line: str) -> None:
        """Take what it tells; anything else is an error of its own."""
        if line.startswith("@"):
            self.said = json.loads(line[1:])
            self.ready.set()
        elif not line.endswith(_GONE):
            self.alarms.append(line)


class Mitmdump(Child):
    """A mitmdump on free ports of loopback.

    Args:
        folder: For its files; made.
        modes: What it listens as.
        scripts: Paths of scripts to load.
        options: Values of options, a list for several.

    Attributes:
        places: Where it listens.
        alarms: Lines of its log that must not be there.
        loaded: Set when a script has been loaded.
    """

    def __init__(
        self,
        folder: Path,
        modes: Sequence[str],
        scripts: Sequence[Path],
        options: Mapping[str, str | Sequence[str]] | None = None,
    ) -> None:
        folder.mkdir(parents=True)
        control = folder / "control.py"
        control.write_text(CONTROL)
        command = [sys.executable, "-c", _START]
        # A loopback address each: mitmproxy takes port 0 of one for the same place.
        for number, mode in enumerate(modes, 1):
            command += ["--mode", f"{mode}@127.0.0.{number}:0"]
        for path in (*scripts, control):
            command += ["-s", str(path)]
        self.confdir = folder / "conf"
        every = {"confdir": str(self.confdir), "flow_detail": "0", **(options or {})}
        for name, values in every.items():
            for value in [values] if isinstance(values, str) else values:
                command += ["--set", f"{name}={value}"]
        super().__init__("mitmdump", command, folder)
        self.places: list[Place] = []
        self.alarms: list[str] = []
        self.loaded = asyncio.Event()
        self._goes_on = 0
        self._modes = len(modes)

    async def stop(self) -> None:
        """Ask it to end, and end it by force where it does not follow.

        A signal alone gets lost in a busy one: asyncio hears of it by a pipe, which is
        full of log lines when thousands of clients leave at once.
        """
        if self.places and self._process.returncode is None:
            with contextlib.suppress(TrafficError, OSError, FramingError):
                await self.control(end=True)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), self.patience)
        await super().stop()

    def hear(self, line: str) -> None:
        """Take a line of its log."""
        if any(word in line for word in _ALARMS):
            self._goes_on = _AFTER_AN_ALARM
        if self._goes_on and len(self.alarms) < _ALARMS_KEPT:
            self._goes_on -= 1
            if not line.endswith(_GONE):
                self.alarms.append(line)
        if "Loading script" in line:
            self.loaded.set()
        elif found := _LISTENS.search(line):
            self.places.append((found[1], int(found[2])))
            if len(self.places) == self._modes:
                self.ready.set()

    async def control(self, **asked: Any) -> dict[str, Any]:
        """Change options (`set`), or count objects (`census`).

        Raises:
            TrafficError: It refused.
        """
        # In absolute form, which every mode takes.
        url = "http://control.invalid/_control"
        answer = json.loads(await ask(self.places[0], url, asked))
        if "error" in answer:
            raise TrafficError(f"mitmdump refused {asked}: {answer['error']}")
        return dict(answer)


async def ask(place: Place, path: str, asked: Any) -> bytes:
    """Send *asked* as JSON to a server of ours, and return what it answers.

    Raises:
        TrafficError: There was no whole answer.
    """
    data = json.dumps(asked).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
    reply = ResponseReader()
    body = b""
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*place)
        try:
            writer.write(head.encode() + data)
            while not reply.done and (data := await reader.read(65536)):
                body += reply.feed(data)
        finally:
            writer.close()
    if reply.status != 200 or not reply.done:  # noqa: PLR2004
        raise TrafficError(f"{place} answers {path} with {reply.status}: {body!r}")
    return body
