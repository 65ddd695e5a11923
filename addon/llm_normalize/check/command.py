"""`llm-normalize check`: walk the path of a client's request, and judge each step.

Nothing on the machine is changed, and nothing is left running.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..text.command_line import command_line
from ..text.console import complain


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
    parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    from ..desktop.local_server import reachable  # noqa: PLC0415
    from ..desktop.machine import Machine  # noqa: PLC0415
    from ..run import command, start  # noqa: PLC0415
    from ..run.start_error import StartError  # noqa: PLC0415
    from ..text.loopback import LOCAL  # noqa: PLC0415
    from .finding import Report  # noqa: PLC0415
    from .steps import walk  # noqa: PLC0415

    machine = Machine()
    flags, arguments = command.parse(["--check", *given])
    try:
        plan = start.prepared(flags, arguments, machine).plan
    except StartError as error:
        complain(error)
        return 1
    listens = plan.forward if plan else None
    if plan is None or listens is None or not listens.port:
        complain(
            "check walks the way to a proxy (the regular mode, or --upstream-proxy) on a "
            f"port of its own; {command_line('doctor')} asks a reverse proxy, or a provider"
        )
        return 1
    report = Report()
    for findings in walk(machine, reachable(LOCAL), listens.port, plan.confdir):
        report.add(findings)
    return report.end()
