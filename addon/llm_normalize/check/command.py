"""`llm-normalize check`: walk the path of a client's request, and judge each step.

Nothing on the machine is changed, and nothing is left running.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..text.command_line import command_line
from ..text.console import complain


def parse(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is `run`'s."""
    parser = argparse.ArgumentParser(
        prog="llm-normalize check",
        usage="%(prog)s [--provider NAME] [--upstream-proxy URL] [--json] [ARGS]",
        allow_abbrev=False,
        description="Look whether this machine's programs get to the proxy and trust it: "
        "a line for each step, with the repair of what fails. Nothing is changed.",
        epilog="The proxy is the one that `llm-normalize run` would start with the same "
        "arguments, such as -p 8081. Ends with 0 if no step failed, with 1 if one did, "
        "with 2 for a wrong call.",
    )
    parser.add_argument(
        "--provider",
        metavar="NAME",
        help="ask that provider, too, through the proxy that runs and without a key: a "
        "name of doctor --list, or a base URL",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    words = list(given)
    cut = words.index("--") if "--" in words else len(words)
    flags, rest = parser.parse_known_args(words[:cut])
    return flags, rest + words[cut:]


def main(given: Sequence[str]) -> int:
    """Check the path to the proxy that `run` would start; return the exit code."""
    flags, rest = parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    from ..desktop.local_server import reachable  # noqa: PLC0415
    from ..desktop.machine import Machine  # noqa: PLC0415
    from ..routing import known_providers  # noqa: PLC0415
    from ..run import command, start  # noqa: PLC0415
    from ..run.start_error import CallError, StartError  # noqa: PLC0415
    from ..text.network_address import LOCAL  # noqa: PLC0415
    from .finding import Report  # noqa: PLC0415
    from .steps import walk  # noqa: PLC0415

    machine = Machine()
    base = known_providers.named(flags.provider) if flags.provider else ""
    try:
        if flags.provider and not base:
            raise CallError(known_providers.unknown(flags.provider))
        of_run, arguments = command.parse(["--check", *rest])
        plan = start.prepared(of_run, arguments, machine).plan
    except StartError as error:
        complain(error)
        return error.code
    listens = plan.forward if plan else None
    if plan is None or listens is None or not listens.port:
        complain(
            "check walks the way to a proxy (the regular mode, or --upstream-proxy) on a "
            f"port of its own; {command_line('doctor')} asks a reverse proxy, or a provider"
        )
        return CallError.code
    report = Report(is_json=flags.json)
    for findings in walk(machine, reachable(LOCAL), listens.port, plan.confdir, base):
        report.add(findings)
    return report.end()
