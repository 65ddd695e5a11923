"""`llm-normalize exec`: one program through the proxy, and no other change.

This process becomes the program, so that signals, the terminal and the exit code are its.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..text.command_line import command_line
from ..text.console import complain
from ..text.network_address import add_port

PROG = "llm-normalize exec"
NOT_FOUND = 127
"""As a shell says it."""


def parse(given: Sequence[str]) -> tuple[argparse.Namespace, list[str], list[str]]:
    """Return our flags, the arguments for a proxy, and the program with its arguments."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        usage="%(prog)s [-p PORT] [ARGS] -- PROGRAM ...",
        allow_abbrev=False,
        description="Start a program with variables by which it uses the proxy and trusts "
        "its CA beside all other roots. The system is not changed.",
        epilog="The proxy is the one that listens on the port. If none does, or with ARGS, "
        "which are those of run (--set normalize_mode=observe), one is started that ends "
        "with the program. Without ARGS, the -- may be left out. Ends as the program does, "
        "with 127 if there is none of that name, with 1 if no proxy starts.",
    )
    add_port(parser)
    words = list(given)
    cut = words.index("--") if "--" in words else len(words)
    ours, program = words[:cut], words[cut + 1 :]
    if ours and not ours[0].startswith("-"):
        ours, program = [], words
    flags, rest = parser.parse_known_args(ours)
    if not program:
        parser.error("expected a program, behind --")
    return flags, rest, program


def main(given: Sequence[str]) -> int:
    """Become the program; return an exit code only if that fails."""
    flags, arguments, program = parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    import os  # noqa: PLC0415

    from ..desktop import node  # noqa: PLC0415
    from ..desktop.machine import Machine  # noqa: PLC0415
    from ..run.child import become  # noqa: PLC0415
    from ..run.start_error import StartError  # noqa: PLC0415
    from . import proxy  # noqa: PLC0415
    from .variables import variables  # noqa: PLC0415

    machine = Machine()
    if machine.find(program[0]) is None:
        complain(f"{program[0]} is not found")
        return NOT_FOUND
    try:
        found = None if arguments else proxy.running(flags.port)
        if found is None:
            found = proxy.started(machine, arguments)
            complain(
                f"{program[0]} goes through a proxy on port {found.port}, which ends with "
                f"it; its log: {proxy.log_of(found.confdir)}"
            )
        if node.is_node(machine, program[0]):
            version, knows = node.version(machine)
            if version and not knows:
                base = command_line("nvidia", system=machine.system)
                complain(
                    f"{node.ignores(version)}. Use a newer Node, or a base URL: {base}"
                )
        more = variables(machine, found.port, found.confdir)
        become(program, {**os.environ, **more})
    except StartError as error:
        complain(error)
        return error.code
