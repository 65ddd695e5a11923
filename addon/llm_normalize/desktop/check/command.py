"""`llm-normalize check`: walk the path of a client's request, and judge each step.

Nothing on the machine is changed, and nothing is left running.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ...text.console import say

INTERRUPTED = 130


def parse(given: Sequence[str]) -> None:
    """Show the help if it is asked for: everything else is `run`'s."""
    parser = argparse.ArgumentParser(
        prog="llm-normalize check",
        usage="%(prog)s [--upstream-proxy URL] [ARGS]",
        allow_abbrev=False,
        description="Look whether this machine's programs get to the proxy and trust it: "
        "a line for each step, with the repair of what fails. Nothing is changed.",
        epilog="The proxy is the one that `llm-normalize run` would start with the same "
        "arguments, such as -p 8081. Ends with 0 if no step failed, else with 1.",
    )
    words = list(given)
    parser.parse_known_args(words[: words.index("--") if "--" in words else None])


def main(given: Sequence[str]) -> int:
    """Check the path to the proxy that `run` would start; return the exit code."""
    from ...run import command  # noqa: PLC0415 - which imports this one for `--check`

    parse(given)
    return command.main(["--check", *given])


def check(host: str, port: int, confdir: Path) -> int:
    """Check the path through the proxy at *host* and *port*; return the exit code.

    Args:
        host: Where the proxy listens, or is to listen.
        port: Likewise.
        confdir: mitmproxy's folder.
    """
    # Here, since they need what parse does not: see scripts/run.py.
    from ...run.child import end_on_signals  # noqa: PLC0415
    from ..local_server import reachable  # noqa: PLC0415
    from ..machine import Machine  # noqa: PLC0415
    from .finding import Report  # noqa: PLC0415
    from .steps import walk  # noqa: PLC0415

    end_on_signals()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    report = Report()
    try:
        folder = confdir.expanduser().absolute()
        for findings in walk(Machine(), reachable(host), port, folder):
            report.tell(findings)
        return report.end()
    except KeyboardInterrupt:
        say("\nllm_normalize: interrupted; nothing is left running")
        return INTERRUPTED
    except BrokenPipeError:  # into `head`: Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
