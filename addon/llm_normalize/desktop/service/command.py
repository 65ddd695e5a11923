"""Run the proxy as a service of this user: a systemd unit, restarted after a crash."""

from __future__ import annotations

import argparse
import io
import sys

import _bootstrap

EXAMPLES = """ARGS go to mitmdump, for instance
  python3 scripts/service.py install --set normalize_mode=observe
  python3 scripts/service.py install --mode reverse:https://integrate.api.nvidia.com
after -- everything does. Keys belong neither here nor in the unit: an option takes one as
env:NAME, and the unit reads NAME=VALUE lines from normalize/service.env in mitmproxy's
folder (~/.mitmproxy), which should be mode 0600.

Ends with 1 where something cannot be done, and with 2 for a bad argument; `status` ends
with 1 if the service does not run. The first start makes the environment in .venv.
"""


def parse(given: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is mitmdump's."""
    parser = argparse.ArgumentParser(
        prog="service.py",
        allow_abbrev=False,
        usage="%(prog)s install [-p PORT] [--dry-run] [--force] [ARGS]\n"
        "       %(prog)s remove [--force]\n       %(prog)s status",
        description="Run mitmdump with the addon as a service of this user (systemd), for "
        "programs on this machine only. On macOS and Windows, `install` says what to do "
        "there.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("install", "remove", "status"))
    parser.add_argument(
        "-p",
        "--port",
        "--listen-port",
        type=int,
        default=8080,
        help="where it listens, on 127.0.0.1 (default: 8080)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show the unit, and change nothing"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace or remove a unit of ours that was changed by hand",
    )
    cut = given.index("--") if "--" in given else len(given)
    flags, rest = parser.parse_known_args(given[:cut])
    rest += given[cut + 1 :]
    if flags.port not in range(1, 65536):
        parser.error(f"-p {flags.port}: a port is a number from 1 to 65535")
    if rest and flags.what != "install":
        parser.error(
            f"{flags.what} takes no arguments of mitmdump's, such as {rest[0]}"
        )
    return flags, rest


def main() -> int:
    """Do what the command line asks for and return the exit code."""
    flags, arguments = parse(sys.argv[1:])
    _bootstrap.ensure()
    from . import actions as service_run  # noqa: PLC0415 - it needs the environment

    if isinstance(sys.stdout, io.TextIOWrapper):  # no letter ends it half-way
        sys.stdout.reconfigure(errors="replace")
    return service_run.run(flags, arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
