"""Programs that this one starts: ended with it, or taking its place.

Ctrl-C in a terminal goes to both; kill only to this one. Either way the `with` block ends
first, so that what it has set up can be taken down, and then the child is ended.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType
from typing import IO, Any, NoReturn, Self

from .start_error import StartError

START = 60.0  # seconds that it has to come up
END = 8.0  # seconds that it has to end, with answers under way
GRACE = 2.0
"""Seconds in which it may end by itself: a terminal, or systemd, has signalled both of us,
and a second signal at its very end would cut that short."""
STEP = 0.1
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class Child:
    """A running program, which ends with the `with` block at the latest."""

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str] | None = None,
        output: IO[bytes] | None = None,
    ) -> None:
        """Start *command* at the beginning of the block.

        Args:
            command: The program and its arguments.
            variables: What it has beside the environment of this process.
            output: The file that gets all that it says, if not the terminal; it gets no
                input then.
        """
        self._command = command
        self._variables = variables or {}
        self._output = output

    def __enter__(self) -> Self:
        files: dict[str, Any] = {}
        if self._output is not None:
            files = {"stdin": subprocess.DEVNULL, "stdout": self._output}
            files["stderr"] = subprocess.STDOUT
        env = environ(self._variables)
        try:
            self._process = subprocess.Popen(list(self._command), env=env, **files)
        except OSError as error:
            raise _not_started(self._command, error) from error
        return self

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def code(self) -> int:
        """Its exit code, as a shell shows it; it has to have ended."""
        code = self._process.returncode
        return 128 - code if code < 0 else code

    def wait(self) -> None:
        """Return when it has ended."""
        while self.is_running:
            # On Windows a wait without end cannot be interrupted.
            timeout = 1 if sys.platform == "win32" else None
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                continue

    def comes_up(self, seconds: float, is_up: Callable[[], bool]) -> bool:
        """Wait that long for it to come up, and tell whether it has."""
        end = time.monotonic() + seconds
        while not is_up():
            if not self.is_running or time.monotonic() > end:
                return False
            time.sleep(STEP)
        return True

    def ends_within(self, seconds: float) -> bool:
        """Wait that long for its end, and tell whether it has ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            self._process.terminate()  # which does nothing where it has ended
            self.ends_within(END)
        finally:  # also when a second Ctrl-C cuts the waiting short
            self._process.kill()
            self._process.wait()
        return None


class _Signalled(Exception):  # noqa: N818 - nothing went wrong
    """This process got a signal to end."""


class Supervised(Child):
    """A running program that is ended in order, whatever signals this process gets."""

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str] | None = None,
        *,
        owns_terminal: bool = False,
    ) -> None:
        """Start *command* at the beginning of the block.

        Args:
            command: The program and its arguments.
            variables: What it has beside the environment of this process.
            owns_terminal: Whether Ctrl-C is the child's to interpret.
        """
        super().__init__(command, variables)
        self._owns_terminal = owns_terminal
        self._is_signalled = False
        self._may_raise = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # What is ignored already, as under nohup, stays so.
            if number is None or signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._signalled)
        try:
            return super().__enter__()
        except StartError:
            self._restore_handlers()
            raise

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and self._owns_terminal:
            return
        self._is_signalled = True
        if self._may_raise:
            self._may_raise = False
            raise _Signalled

    def wait_until(self, is_up: Callable[[], bool]) -> None:
        """Return when it is up; from here on a signal ends the block.

        Raises:
            StartError: It ended, or took too long.
        """
        self._may_raise = True
        if self._is_signalled:
            raise _Signalled
        if not self.comes_up(START, is_up):
            why = f"it did not answer within {START:g} s"
            if not self.is_running:
                why = f"it ended with code {self.code}"
            raise StartError(f"{why}: nothing was switched")

    def ignore_signals(self) -> None:
        """Let nothing interrupt what follows, nor the commands that it runs."""
        self._may_raise = False
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def _restore_handlers(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.ignore_signals()
        if not (self._is_signalled and self.ends_within(GRACE)):
            super().__exit__(kind, error, trace)
        self._restore_handlers()
        return isinstance(error, _Signalled)


def become(command: Sequence[str], variables: Mapping[str, str]) -> NoReturn:
    """Let *command* take the place of this process.

    Args:
        command: The program, found by PATH if need be, and its arguments.
        variables: What it has beside the environment of this process.

    Raises:
        StartError: It cannot be started.
    """
    sys.stdout.flush()
    if sys.platform == "win32":  # its execv returns to the shell at once
        with Supervised(command, variables) as child:
            child.wait()
        sys.exit(child.code)
    try:
        os.execvpe(command[0], list(command), environ(variables))  # noqa: S606 - no shell wanted
    except OSError as error:
        raise _not_started(command, error) from error


def environ(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what would lead a program's Python astray."""
    dropped = {"PYTHONHOME", "__PYVENV_LAUNCHER__"}
    others = {each: os.environ[each] for each in os.environ if each not in dropped}
    return {**others, **variables}


def _not_started(command: Sequence[str], error: OSError) -> StartError:
    return StartError(f"{command[0]} cannot be started: {error.strerror}")
