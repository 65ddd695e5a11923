"""Walk the path that a client's request takes, and say of each step how it is.

Nothing on the machine is changed, and nothing is left running.
"""

import io
import os
import signal
import sys
from pathlib import Path
from typing import Any

import _bootstrap

INTERRUPTED = 130


def main(host: str, port: int, confdir: Path) -> int:
    """Check the path through the proxy at *host* and *port*; return the exit code.

    Args:
        host: Where the proxy listens, or is to listen.
        port: Likewise.
        confdir: mitmproxy's folder.
    """
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _end)
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    # Who listens everywhere is asked here.
    where = "127.0.0.1" if host in {"", "0.0.0.0", "::"} else host  # noqa: S104
    try:
        return _report(where, port, confdir.expanduser().absolute())
    except KeyboardInterrupt:
        _bootstrap.say("\nllm_normalize: interrupted; nothing is left running")
        return INTERRUPTED
    except BrokenPipeError:  # into `head`: Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _report(host: str, port: int, confdir: Path) -> int:
    sys.path.append(str(_bootstrap.ROOT / "addon"))
    # Here, since they take their time, in which a Ctrl-C may come.
    from .finding import Report  # noqa: PLC0415
    from .steps import walk  # noqa: PLC0415
    from ..machine import Machine  # noqa: PLC0415

    report = Report()
    for findings in walk(Machine(), host, port, confdir):
        report.tell(findings)
    return report.end()


def _end(number: int, _: Any) -> None:
    sys.exit(128 + number)
