"""`llm-normalize trust`: let this system trust mitmproxy's CA, and take that back."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ...text.console import say

PROG = "llm-normalize trust"
STORES = ("system", "nss", "firefox")


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        description=(
            "Install mitmproxy's certificate authority (CA) where this system's "
            "programs look for the ones they trust, remove it again, or show where it "
            "is trusted. It is made first if there is none yet."
        ),
        epilog=(
            "Stores: system (what curl, Go and Python's ssl read), nss (Chrome and "
            "Chromium), firefox (its profiles). On macOS and Windows it changes nothing, "
            "and prints the commands to run. install and remove ask first, and end with 0 if all went "
            "well, 1 if something failed or you did not agree. status ends with 0 if "
            "every store trusts the CA, else with 1."
        ),
    )
    parser.add_argument("act", choices=("install", "remove", "status"))
    parser.add_argument(
        "--yes", action="store_true", help="do not ask: what is shown is agreed to"
    )
    parser.add_argument(
        "--confdir",
        type=Path,
        metavar="DIR",
        help="mitmproxy's folder (default: ~/.mitmproxy)",
    )
    parser.add_argument(
        "--store",
        action="append",
        choices=STORES,
        metavar="NAME",
        help=f"only this one, of {', '.join(STORES)}; can be given more than once",
    )
    parser.add_argument(
        "--json", action="store_true", help="with status: print one JSON object"
    )
    flags = parser.parse_args(given)
    if flags.json and flags.act != "status":
        parser.error("--json goes with status")
    return flags


def main(given: Sequence[str]) -> int:
    """Do what the command line asks for and return the exit code."""
    flags = parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    from ..machine import Machine  # noqa: PLC0415
    from .actions import Actions  # noqa: PLC0415
    from .authority import AuthorityError  # noqa: PLC0415
    from .record import RecordError  # noqa: PLC0415
    from .session import BusyError, Refused  # noqa: PLC0415

    actions = Actions(flags, Machine())
    try:
        actions.act()
    except (Refused, AuthorityError, BusyError, RecordError, OSError) as error:
        say(f"{PROG}: {error}")
        return 1
    return int(actions.failed)
