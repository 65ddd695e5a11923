"""A process beside mitmproxy that waits until it serves, says what to do next, and ends.

`run` becomes mitmproxy itself, so that signals and exit codes are mitmproxy's own.
"""

import os
import sys
import threading
import time
from collections.abc import Callable

from ..desktop import processes
from . import ports as proxy_port
from .child import START, STEP
from .mitmproxy_options import FORWARD, Listens
from .start_error import StartError

SETTLED = 1.0
IDLE = 0.03
"""Without a page of ours to ask: seconds to listen, and of work in them at most. The port
is open before the addon is loaded, and until a start that failed has ended."""


def beside(act: Callable[[], object]) -> None:
    """Run *act* in the background; this process may become another program."""
    if sys.platform == "win32":  # where it only waits for that other one
        threading.Thread(target=act, daemon=True).start()
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        if not os.fork():  # nobody has to wait for that one
            act()
    finally:
        os._exit(0)


def until_serving(pid: int, listens: Listens) -> Listens | None:
    """Return where a process serves, as soon as it does; None if it ended before.

    Args:
        pid: The process; one that it started counts, too.
        listens: Its first mode; the port may be any.

    Raises:
        StartError: It did not within a minute.
    """
    if listens.port == 0:
        try:
            processes.needed()
        except processes.ProcessError as error:
            raise StartError(
                f"which port it listens on is not known: {error}"
            ) from None
    end = time.monotonic() + START
    looked, worked = 0.0, 0.0
    while (now := time.monotonic()) < end:
        if not processes.is_alive(pid):
            return None
        port = _port(pid, listens)
        work = processes.work(pid)
        is_busy = listens.mode not in FORWARD and work - worked > IDLE
        if port is None or not looked or is_busy:
            looked, worked = now if port is not None else 0.0, work
        # The second answer counts: a start that fails may give one before it ends.
        elif listens.mode in FORWARD or now - looked > SETTLED:
            return listens._replace(port=port or listens.port)
        time.sleep(STEP)
    raise StartError(f"it did not answer as llm_normalize within {START:g} s")


def _port(pid: int, listens: Listens) -> int | None:
    """Return the port on which a process serves, 0 if it has none; None for not yet."""
    if listens.mode in FORWARD:
        return proxy_port.serving(pid, listens) or None
    if listens.port is None:
        return 0
    return proxy_port.has_any(pid, listens) or None
