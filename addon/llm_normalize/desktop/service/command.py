"""`llm-normalize service`: the proxy as this user's systemd unit, restarted after a crash."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...text.console import say
from ...text.network_address import add_port

if TYPE_CHECKING:
    from ..machine import Machine

PROG = "llm-normalize service"
EXAMPLES = """ARGS go to mitmdump, for instance
  llm-normalize service install --set normalize_mode=observe
  llm-normalize service install --mode reverse:https://integrate.api.nvidia.com
after -- everything does. Keys belong neither here nor in the unit: an option takes one as
env:NAME, and the unit reads NAME=VALUE lines from normalize/service.env in mitmproxy's
folder (~/.mitmproxy), which should be mode 0600.

Ends with 1 where something cannot be done, and with 2 for a bad argument; `status` ends
with 1 if the service does not run.
"""


def parse(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is mitmdump's."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        usage="%(prog)s install [-p PORT] [--dry-run] [--force] [ARGS]\n"
        "       %(prog)s remove [--force]\n       %(prog)s status",
        description="Run mitmdump with the addon as a service of this user (systemd), for "
        "programs on this machine only. On macOS and Windows, `install` prints what to "
        "do there.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("install", "remove", "status"))
    add_port(parser, "where it listens, on 127.0.0.1 (default: 8080)", "--listen-port")
    parser.add_argument(
        "--dry-run", action="store_true", help="show the unit, and change nothing"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace or remove a unit of ours that was changed by hand",
    )
    parser.add_argument(
        "--json", action="store_true", help="with status: print one JSON object"
    )
    words = list(given)
    cut = words.index("--") if "--" in words else len(words)
    flags, rest = parser.parse_known_args(words[:cut])
    rest += words[cut + 1 :]
    if flags.json and flags.what != "status":
        parser.error("--json goes with status")
    if rest and flags.what != "install":
        parser.error(
            f"{flags.what} takes no arguments of mitmdump's, such as {rest[0]}"
        )
    return flags, rest


def main(given: Sequence[str], machine: Machine | None = None) -> int:
    """Do what the command line asks for and return the exit code.

    Args:
        given: Its words.
        machine: The machine, if it is another than this one.
    """
    flags, arguments = parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    from ..machine import Machine  # noqa: PLC0415
    from . import actions  # noqa: PLC0415
    from .plan import ServiceError  # noqa: PLC0415
    from .unit import UnitError  # noqa: PLC0415

    machine = machine or Machine()
    try:
        if flags.what == "status":
            return actions.status(machine, is_json=flags.json)
        if flags.what == "remove":
            actions.remove(machine, force=flags.force)
        else:
            actions.install(machine, flags, arguments)
    except (ServiceError, UnitError) as error:
        for line in getattr(error, "lines", ()):
            print(line)
        say(f"{PROG}: {error}")
        return getattr(error, "code", 1)
    except OSError as error:
        where = error.filename or actions.path_of(machine)
        say(f"{PROG}: {where}: {error.strerror or error}")
        return 1
    return 0
