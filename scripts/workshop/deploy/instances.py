"""Instances of mitmdump with the addon, each a reverse proxy of one provider."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Self

import _bootstrap

LOCAL = "127.0.0.1"
SETTINGS = (
    # A health check is no reason to call the provider.
    "connection_strategy=lazy",
    # A model may be silent for long; mitmproxy's own 10 minutes would cut it off.
    "tcp_timeout=1800",
    # Of what is kept whole: requests, and answers that are no streams.
    "body_size_limit=64m",
    # What passes is in the pairs log; a URL's query may hold a key.
    "flow_detail=0",
)
"""What every instance behind a load balancer is started with."""

_LISTENS = re.compile(r"proxy to \S+ listening at \S+:(\d+)")
_PATIENCE = 60  # seconds for a start, on a machine that is busy with many of them


class DeployError(Exception):
    """What went wrong, as one sentence; `lines` are the last that the program said."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


class Instance:
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
        self.port = port
        self._upstream = upstream
        self._arguments = arguments
        self.process: subprocess.Popen[str] | None = None

    @property
    def pairs(self) -> Path:
        """Where its pairs log is, if no option says otherwise."""
        return self.folder / "normalize" / f"pairs-{self.port}.jsonl"

    @property
    def command(self) -> list[str]:
        """How it is started."""
        made = [str(_bootstrap.program(Path(sys.prefix), "mitmdump"))]
        made += ["-s", str(_bootstrap.ROOT / "addon" / "normalize.py")]
        made += ["--mode", f"reverse:{self._upstream}"]
        made += ["--listen-host", LOCAL, "--listen-port", str(self.port)]
        # mitmproxy refuses an option that is given twice: the user's word counts.
        given = {each.removeprefix("--set=").split("=")[0] for each in self._arguments}
        for setting in (f"confdir={self.folder}", *SETTINGS):
            if setting.split("=")[0] not in given:
                made += ["--set", setting]
        return [*made, *self._arguments]

    def start(self) -> None:
        """Start it; `wait` tells when it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"},
            )
        except OSError as error:
            raise DeployError(f"mitmdump cannot be started: {error}") from error
        assert self.process.stdout is not None
        self._said = Said(self.process.stdout, self.folder / "mitmdump.log")

    def wait(self) -> None:
        """Wait until it serves, and learn its port.

        Raises:
            DeployError: It ended, or took too long.
        """
        assert self.process is not None
        found = self._said.wait_for(_LISTENS, self.process)
        self.port = int(found[1])
        # After an error in an option it listens, and ends.
        if not answers(self.port):
            self.end()
            raise DeployError("mitmdump ended as it started", self._said.lines[-8:])

    def end(self, seconds: float = 5) -> None:
        """End it, by force if it takes longer than *seconds*."""
        if self.process is None:
            return
        end(self.process, seconds)
        self._said.close()

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


@contextlib.contextmanager
def running(
    count: int, folder: Path, upstream: str, arguments: Sequence[str] = ()
) -> Iterator[list[Instance]]:
    """Run *count* instances, started side by side, and end them whatever happens.

    Raises:
        DeployError: One of them did not start.
    """
    made = [
        Instance(folder / f"instance-{at + 1}", upstream, arguments)
        for at in range(count)
    ]
    try:
        for each in made:
            each.start()
        for each in made:
            each.wait()
        yield made
    finally:
        for each in made:
            if each.process is not None:
                each.process.terminate()
        for each in made:
            each.end()


def answers(port: int) -> bool:
    """Tell whether mitmproxy on *port* answers what is no request, as HAProxy asks it."""
    try:
        with socket.create_connection((LOCAL, port), _PATIENCE) as asking:
            asking.sendall(b"?\r\n\r\n")
            return b" 400 " in asking.recv(99)
    except OSError:
        return False


class Said:
    """What a program says, read to its end and kept in a file: a full pipe would stop it."""

    def __init__(self, output: IO[str], path: Path) -> None:
        self._changed = threading.Condition()
        self.lines: list[str] = []
        self._output = output
        self._path = path
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            for line in self._output:
                file.write(line)
                file.flush()
                with self._changed:
                    if len(self.lines) < 200:  # noqa: PLR2004 - the start is what counts
                        self.lines.append(line.rstrip())
                    self._changed.notify_all()

    def wait_for(
        self, pattern: re.Pattern[str], process: "subprocess.Popen[str]"
    ) -> re.Match[str]:
        """Return where *pattern* is in one of its lines.

        Raises:
            DeployError: The program ended before, or took too long.
        """
        deadline = time.monotonic() + _PATIENCE
        with self._changed:
            while True:
                found = next(filter(None, map(pattern.search, self.lines)), None)
                if found is not None:
                    return found
                over = process.poll() is not None and not self._thread.is_alive()
                if over or time.monotonic() > deadline:
                    name = Path(str(process.args[0])).name  # type: ignore[index]
                    code = process.poll()
                    how = "is silent" if code is None else f"ended with code {code}"
                    raise DeployError(
                        f"{name} did not start: it {how}", self.lines[-8:]
                    )
                self._changed.wait(0.1)

    def close(self) -> None:
        """Wait for its end."""
        self._thread.join(5)
        self._output.close()


def end(process: "subprocess.Popen[str]", seconds: float) -> None:
    """End *process*, by force if it takes longer than *seconds*."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
