"""`llm-normalize env`: the variables of `exec`, as lines for a shell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..text.command_line import command_line
from ..text.console import complain
from ..text.network_address import add_port

PROG = "llm-normalize env"


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        description="Print the lines by which the programs of a shell use the proxy that "
        "runs, and trust its CA beside all other roots.",
        epilog='In a POSIX shell: eval "$(llm-normalize env)"; in PowerShell: '
        "llm-normalize env | Invoke-Expression. Ends with 1, and prints no line, if no "
        "proxy listens on the port.",
    )
    add_port(parser)
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """Print the lines and return the exit code."""
    flags = parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    from ..desktop.machine import Machine  # noqa: PLC0415
    from ..home.trust_advice import setting  # noqa: PLC0415
    from ..run.start_error import StartError  # noqa: PLC0415
    from . import proxy  # noqa: PLC0415
    from .variables import variables  # noqa: PLC0415

    machine = Machine()
    try:
        found = proxy.running(flags.port)
    except StartError as error:
        complain(error)
        return error.code
    if found is None:
        at = [] if flags.port == 8080 else ["-p", str(flags.port)]  # noqa: PLR2004
        start = command_line("", *at, system=machine.system)
        complain(f"no proxy listens on port {flags.port}; to start it: {start}")
        return 1
    more = variables(machine, found.port, found.confdir)
    for name, value in more.items():
        print(setting({name: value}, system=machine.system))
    return 0
