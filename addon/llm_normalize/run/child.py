"""A program that this one starts and outlives by a moment, whatever signals come.

Ctrl-C in a terminal goes to both; kill only to this one. Either way the `with` block is
left first, so that what it has set up can be taken down, and then the child is ended.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from ..desktop.proxy.settings import ProxyError

START = 60.0  # seconds that it has to come up
END = 8.0  # seconds that it has to end, with answers under way
GRACE = 2.0
"""Seconds in which it may end by itself: a terminal, or systemd, has told both of us, and a
second signal at its very end would cut that short."""
STEP = 0.1
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class _Told(Exception):  # noqa: N818 - nothing went wrong
    """This process was told to end."""


class Child:
    """A running program.

    Attributes:
        code: Its exit code, as a shell tells it; None as long as it runs.
    """

    def __init__(self, command: Sequence[str], *, owns_terminal: bool = False) -> None:
        """Start *command*.

        Args:
            command: The program and its arguments.
            owns_terminal: Whether Ctrl-C is the child's to interpret.
        """
        self._command = command
        self._owns_terminal = owns_terminal
        self._is_told = False
        self._may_raise = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # What is ignored already, as under nohup, stays so.
            if number is None or signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._tell)
        environ = {
            name: value
            for name, value in os.environ.items()
            if name not in {"PYTHONHOME", "__PYVENV_LAUNCHER__"}
        }
        try:
            self._process = subprocess.Popen(list(self._command), env=environ)
        except OSError as error:
            self._hear_again()
            sentence = f"{self._command[0]} cannot be started: {error.strerror}"
            raise ProxyError(sentence) from error
        return self

    def _tell(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and self._owns_terminal:
            return
        self._is_told = True
        if self._may_raise:
            self._may_raise = False
            raise _Told

    def _listen(self) -> None:
        """From here on a signal leaves the block."""
        self._may_raise = True
        if self._is_told:
            raise _Told

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def code(self) -> int:
        """Its exit code, as a shell tells it; it has to have ended."""
        code = self._process.returncode
        return 128 - code if code < 0 else code

    def wait_until(self, is_up: Callable[[], bool]) -> None:
        """Return when it is up.

        Raises:
            ProxyError: It ended, or took too long.
        """
        self._listen()
        end = time.monotonic() + START
        while not is_up():
            if self._process.poll() is not None:
                raise ProxyError(
                    f"it ended with code {self.code}: nothing was switched"
                )
            if time.monotonic() > end:
                sentence = f"it did not answer within {START:g} s: nothing was switched"
                raise ProxyError(sentence)
            time.sleep(STEP)

    def wait(self) -> None:
        """Return when it has ended."""
        while self._process.poll() is None:
            # On Windows a wait without end cannot be interrupted.
            timeout = 1 if sys.platform == "win32" else None
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                continue

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ignore_signals(self) -> None:
        """Let nothing interrupt what follows, nor the commands that it runs."""
        self._may_raise = False
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def _hear_again(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.ignore_signals()
        if not (self._is_told and self._ends_within(GRACE)):
            self._process.terminate()  # which does nothing where it has ended
            if not self._ends_within(END):
                self._process.kill()
                self._process.wait()
        self._hear_again()
        return isinstance(error, _Told)
