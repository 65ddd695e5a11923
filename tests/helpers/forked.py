"""Many a mitmdump, quickly: each is forked of a process that has imported it already.

Nine tenths of what a start costs is importing mitmproxy and the addon. Here that is done
once, in a process that does nothing else (multiprocessing's forkserver); what is forked of
it then runs mitmdump's own main, with arguments, environment, folder and output of its own.
Hundreds of tests start one; what measures a process, or its start, does it otherwise.
"""

import atexit
import functools
import importlib.abc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import ModuleType
from typing import Any

from cryptography.hazmat.primitives import serialization

from workshop import ADDON, ROOT, SCRIPTS

IMPORTED = (
    "mitmproxy.tools.main",
    "mitmproxy.tools.dump",
    "mitmproxy.tools.web.master",
    "llm_normalize.addon",
)
PACKAGE = "llm_normalize"
TESTS = ROOT / "tests"
HELPERS = TESTS / "helpers"


def available() -> bool:
    """Tell whether this system can."""
    return sys.platform == "linux"


@functools.cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *IMPORTED])
    # Older Pythons do not tell it where we find modules (python/cpython gh-117378).
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        map(str, (SCRIPTS, ADDON, TESTS, HELPERS))
    )
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH", None)
        if before is not None:
            os.environ["PYTHONPATH"] = before
    return context


def _main(
    output: Connection,
    program: str,
    arguments: Sequence[str],
    folder: Path | None,
    env: Mapping[str, str],
) -> None:
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    output.close()
    # As PYTHONUNBUFFERED and PYTHONUTF8 would have it.
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    if folder is not None:
        os.chdir(folder)
    sys.argv = ["-c", *arguments]
    # As in a new process: where pytest finds modules is none of its business.
    sys.path[:] = ["", *(each for each in sys.path if each and each not in _OURS)]
    sys.meta_path.insert(0, _Imported())
    # Both only where they are imported already.
    from mitmproxy import certs  # noqa: PLC0415
    from mitmproxy.tools import main  # noqa: PLC0415

    certs.load_pem_private_key = functools.partial(_key, certs.load_pem_private_key)
    # A new process does this at its end, a child of multiprocessing does not: the log would
    # lose what its thread has not written by then.
    atexit._clear()
    try:
        getattr(main, program)()
    finally:
        atexit._run_exitfuncs()


def _key(proven: Callable[..., Any], data: bytes, password: bytes | None) -> Any:
    """Load the key of the CA, which a start does twice, without proving it each time.

    That it is a sound one takes as long to prove as the rest of the start.
    """
    if password is not None:
        return proven(data, password)
    return serialization.load_pem_private_key(
        data, None, unsafe_skip_rsa_key_validation=True
    )


_OURS = {str(each) for each in (ROOT, SCRIPTS, ADDON, TESTS, HELPERS)}


class _Imported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the package that was imported before the fork to whoever imports it first.

    Until then its modules are not in `sys.modules`. A copy of the package elsewhere is
    imported as ever, and so is what a reload of the addon imports.
    """

    def __init__(self) -> None:
        names = [each for each in sys.modules if each.partition(".")[0] == PACKAGE]
        self._modules = {name: sys.modules.pop(name) for name in names}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return what "loads" the package, once, and if it would be found where it was."""
        if fullname != PACKAGE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(PACKAGE)
        package = self._modules.get(PACKAGE)
        if spec is None or package is None or spec.origin != package.__file__:
            return None
        self._spec = package.__spec__
        return ModuleSpec(PACKAGE, self, origin=spec.origin, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the package."""
        return self._modules[PACKAGE]

    def exec_module(self, module: ModuleType) -> None:
        """Put all that is in it where it would be had it been imported now."""
        module.__spec__ = self._spec
        sys.modules.update(self._modules)


class Forked:
    """A program of mitmproxy's, to be used as a `subprocess.Popen` is.

    Args:
        program: mitmdump or mitmweb.
        arguments: What its command line has.
        folder: Its working folder.
        env: Its environment.
    """

    stdin = None

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        folder: Path | None,
        env: Mapping[str, str],
    ) -> None:
        self._lock = threading.Lock()
        ours, theirs = _context().Pipe(duplex=False)
        given = (theirs, program, arguments, folder, dict(env))
        self._process = _context().Process(target=_main, args=given, daemon=True)
        self._process.start()
        theirs.close()
        self.stdout = os.fdopen(
            os.dup(ours.fileno()), encoding="utf-8", errors="replace"
        )
        ours.close()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        with self._lock:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended, and return its exit code.

        Raises:
            TimeoutExpired: It has not.
        """
        with self._lock:
            self._process.join(timeout)
            code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("mitmdump", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it by force."""
        self.send_signal(signal.SIGKILL)
