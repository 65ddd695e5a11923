"""Start several instances behind HAProxy on this machine, to try it.

What it starts is what scripts/deploy is for: the same configuration of HAProxy and the
same settings of mitmdump.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _bootstrap
from workshop import arguments

PORT = 8080


def parse(given: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is mitmdump's."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        usage="%(prog)s --upstream URL [--instances N] [--port P] [ARGS]",
        description="Start several instances of mitmdump with the addon behind HAProxy, "
        "on this machine, with what scripts/deploy ships.",
        epilog="ARGS go to each mitmdump, for instance --set normalize_mode=observe. "
        "HAProxy has to be installed. The first start makes the environment in .venv.",
    )
    parser.add_argument("--upstream", required=True, metavar="URL", help="the provider")
    parser.add_argument(
        "--instances",
        type=arguments.at_least(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many (default: one for each core)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        metavar="P",
        help=f"where HAProxy listens on 127.0.0.1 (default: {PORT}; 0: any)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="for logs and CAs, one folder an instance (default: a new one in "
        f"{tempfile.gettempdir()}, which stays)",
    )
    cut = given.index("--") if "--" in given else len(given)
    flags, rest = parser.parse_known_args(given[:cut])
    rest += given[cut + 1 :]
    stray = [each for each in rest if not each.startswith("-")]
    if rest and rest[0] in stray:
        parser.error(f"{rest[0]!r} is no argument; mitmdump's begin with a dash")
    return flags, rest


def serve(flags: argparse.Namespace, arguments: list[str]) -> int:
    """Run the instances until Ctrl-C, or until none is left."""
    from workshop.deploy import haproxy, instances  # noqa: PLC0415 - it needs the environment

    folder = flags.folder or Path(tempfile.mkdtemp(prefix="llm-normalize-"))
    folder.mkdir(parents=True, exist_ok=True)
    haproxy.find()
    _bootstrap.say(f"llm_normalize: starting {flags.instances} x mitmdump ... ", end="")
    begun = time.monotonic()
    with instances.running(flags.instances, folder, flags.upstream, arguments) as made:
        ports = [each.port for each in made]
        with haproxy.Haproxy(folder, ports, flags.port) as balancer:
            _bootstrap.say(f"{time.monotonic() - begun:.1f} s")
            _bootstrap.say(
                f"HAProxy listens on 127.0.0.1:{balancer.port}; "
                f"base URL: http://127.0.0.1:{balancer.port}/v1\n"
                f"instances on {', '.join(map(str, ports))}; logs in {folder}\n"
                f"admin socket: {balancer.admin}\n"
                "Ctrl-C ends all of it"
            )
            _watch(made, balancer)
    return 1


def _watch(made: list[Any], balancer: Any) -> None:
    """Say when an instance has ended; return when nothing is left."""
    left = list(made)
    while left and balancer.child.code is None:
        for each in list(left):
            code = each.process.poll()
            if code is not None:
                left.remove(each)
                _bootstrap.say(
                    f"the instance on {each.port} ended with code {code}: "
                    f"{len(left)} left; see {each.folder / 'mitmdump.log'}"
                )
        time.sleep(0.2)
    _bootstrap.say("llm_normalize: nothing is left to serve")


def main() -> int:
    """Do what was asked for and return the exit code."""
    flags, arguments = parse(sys.argv[1:])
    _bootstrap.ensure(_bootstrap.RUNTIME)
    from workshop.child import guarded  # noqa: PLC0415 - it needs the environment

    return guarded(lambda: serve(flags, arguments))


if __name__ == "__main__":
    sys.exit(main())
