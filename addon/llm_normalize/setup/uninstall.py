"""`llm-normalize uninstall`: take away everything that was set up, and say what is left."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..text.console import complain
from ..text.network_address import add_port

PROG = "llm-normalize uninstall"


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        description="Take away what llm-normalize has set up for this user: the service, "
        "the trust in the CA, the system's proxy settings, the CA, logs, and the "
        "environments of a checkout. It shows all of it and asks first.",
        epilog="What else is in mitmproxy's folder stays. Ends with 0 if all is gone, with 1 "
        "if something is left or you did not agree.",
    )
    add_port(
        parser,
        "where a proxy may still listen, which is to be stopped first (default: 8080, "
        "and the ports of its logs)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not ask: what is shown is agreed to"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would go, and change nothing"
    )
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """Do it and return the exit code."""
    flags = parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    from ..desktop.machine import Machine  # noqa: PLC0415
    from .leftovers import Leftovers  # noqa: PLC0415

    found = Leftovers(Machine(), flags.port)
    for line in found.lines():
        print(line)
    if flags.dry_run or not found:
        return 0
    if not flags.yes:
        try:
            agreed = input("Remove all of that? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            complain("no terminal to ask on: add --yes to agree in advance")
            return 1
        if not agreed:
            print("Nothing was changed.")
            return 1
    return int(not found.remove())
