"""A process that this one started: what it prints is read, and it does not outlive us."""

import collections
import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import _bootstrap
import _uv
from workshop import variables

START = 60.0
"""Seconds for a start: a machine may be busy with many of them."""
STOP = 5.0
AGAIN = 1.0
"""Seconds after which a process is asked once more to end."""
_LINES = 200
_FIRST_LINES = 50
"""Of these, the first ones that it printed: what went wrong often stands there."""
INTERRUPTED = 130


class ChildError(_uv.SetupError):
    """What went wrong, as one sentence; `lines` are what a child printed."""


class Child:
    """A process whose output is read to the end, since a full pipe would stop it.

    Args:
        name: What errors call it.
        command: How to start it.
        folder: Its working folder.
        env: Its whole environment; None for ours.
        log: A file to which what it prints is added.
        more: More arguments of `Popen`.

    Attributes:
        lines: The first and the last lines that it printed.
        patience: Seconds that it may take to end.
        process: The process, once it was started.
    """

    patience = STOP

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path | None = None,
        *,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        **more: Any,
    ) -> None:
        self.name = name
        self.lines: collections.deque[str] = collections.deque()
        self.command = command
        self._folder = folder
        self._env = env
        self._log = log
        self._more = more
        self._changed = threading.Condition()
        self.process: subprocess.Popen[str] | None = None

    # -- its life ----------------------------------------------------------------------

    def start(self, **more: Any) -> None:
        """Start it, with *more* arguments of `Popen`.

        Raises:
            ChildError: The system does not.
        """
        self.lines.clear()
        try:
            self.process = self.spawn(
                variables() if self._env is None else self._env, **self._more, **more
            )
        except OSError as error:
            raise ChildError(f"{self.name} cannot be started: {error}.") from error
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def spawn(self, env: Mapping[str, str], **more: Any) -> subprocess.Popen[str]:
        """Return the process, which has this environment."""
        return subprocess.Popen(
            self.command,
            cwd=self._folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            **more,
        )

    def ready(self) -> None:
        """Wait until it is of use; what that means is for those derived from this.

        Raises:
            ChildError: It ended, or took too long.
        """

    def __enter__(self) -> Self:
        self.start()
        try:
            self.ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, by force where it does not follow.

        It is asked repeatedly: asyncio hears of a signal by a pipe, and in a mitmdump that
        thousands of clients leave at once that is full of log lines.
        """
        if self.process is None:
            return
        end = time.monotonic() + self.patience
        try:
            while self.code is None and (left := end - time.monotonic()) > 0:
                self.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(min(left, AGAIN))
        finally:  # also when a second Ctrl-C cut the waiting short
            self.process.kill()
            self.process.wait()
        self.close()

    def close(self) -> None:
        """Read what is still to be read of a process that has ended."""
        assert self.process is not None
        self._reader.join(STOP)
        if self.process.stdout is not None:
            self.process.stdout.close()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self.process is not None
        return self.process.pid

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        assert self.process is not None
        return self.process.poll()

    def check(self) -> None:
        """See that it still runs.

        Raises:
            ChildError: It does not.
        """
        if self.code is not None:
            self._reader.join(STOP)  # its last words
            raise self.gone()

    def gone(self) -> ChildError:
        """Return the error that it has ended."""
        return ChildError(f"{self.name} has ended (exit code {self.code}).", self.lines)

    # -- what it prints ---------------------------------------------------

    def hear(self, line: str) -> None:
        """Take a line, without its end, in the thread that reads them."""

    def _read(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        with (
            contextlib.suppress(ValueError),  # closed by `stop`
            contextlib.nullcontext()
            if self._log is None
            else self._log.open("a", encoding="utf-8") as log,
        ):
            for text in self.process.stdout:
                line = text.rstrip()
                if log:
                    log.write(text)
                    log.flush()
                self.hear(line)
                with self._changed:
                    if len(self.lines) == _LINES:
                        del self.lines[_FIRST_LINES]
                    self.lines.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def until[T](
        self, found: Callable[[], T | None], patience: float, what: str = "a line"
    ) -> T:
        """Return what *found* finds, called after each line.

        Raises:
            ChildError: It ended without, or took longer than *patience* seconds.
        """
        end = time.monotonic() + patience
        with self._changed:
            while (result := found()) is None:
                if not self._reader.is_alive():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        assert self.process is not None
                        self.process.wait(STOP)
                    raise self.gone()
                left = end - time.monotonic()
                if left <= 0:
                    raise ChildError(
                        f"{self.name} did not print {what} in {patience:.0f} s.",
                        self.lines,
                    )
                self._changed.wait(min(left, 0.1))
        return result

    def find(self, pattern: re.Pattern[str], patience: float = START) -> re.Match[str]:
        """Return the first match of *pattern* in one of its lines.

        Raises:
            ChildError: It ended without, or took too long.
        """

        def found() -> re.Match[str] | None:
            return next(filter(None, map(pattern.search, self.lines)), None)

        return self.until(found, patience, repr(pattern.pattern))


@contextlib.contextmanager
def running(children: Sequence[Child]) -> Iterator[None]:
    """Run *children*, started side by side, and end them whatever happens.

    Raises:
        ChildError: One of them did not start.
    """
    try:
        for each in children:
            each.start()
        for each in children:
            each.ready()
        yield
    finally:
        for each in children:
            if each.process is not None:
                each.process.terminate()
        for each in children:
            each.stop()


def guarded(work: Callable[[], int], *known: type[Exception]) -> int:
    """Return the exit code of *work*; however it ends, it can end what it started.

    Args:
        work: What is to be done.
        known: What else than a `ChildError` ends it with a sentence.
    """
    expected: tuple[type[Exception], ...] = (ChildError, *known)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda at, _: sys.exit(128 + at))
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return work()
    except expected as error:
        _uv.tell(error)
        return 1
    except KeyboardInterrupt:
        _bootstrap.say("\nllm_normalize: interrupted; nothing is left running")
        return INTERRUPTED


def measured(work: Callable[[], int], *known: type[Exception]) -> int:
    """Return the exit code of *work* as `guarded`, where there is what it measures with."""
    if not sys.platform.startswith("linux"):
        _bootstrap.say("llm_normalize: this measures with /proc, which only Linux has")
        return 1
    return guarded(work, *known)
