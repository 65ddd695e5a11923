"""Start mitmproxy with the addon, its environment made first."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

import _venv

LOCAL = "127.0.0.1"


def parse(given: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is mitmproxy's."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        usage="%(prog)s [--web | --console] [ARGS]\n       %(prog)s --demo [--web]",
        description=(
            "Start mitmdump with the addon, for programs on this machine only "
            f"(--listen-host {LOCAL})."
        ),
        epilog=(
            "ARGS go to mitmproxy, for instance -p 8081, --set normalize_mode=observe "
            "or --listen-host 0.0.0.0; after -- everything does (-- --help shows its "
            "own). The first start makes the environment in .venv."
        ),
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="send one stream of an embedded provider through it and show before "
        "and after; no key and no network needed",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="walk the path of a client and say of each step how it is",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--web", action="store_true", help="start mitmweb instead")
    which.add_argument(
        "--console", action="store_true", help="start the mitmproxy console instead"
    )
    cut = given.index("--") if "--" in given else len(given)
    flags, rest = parser.parse_known_args(given[:cut])
    rest += given[cut + 1 :]
    if flags.demo and (flags.console or rest):
        parser.error(f"--demo goes with --web only, not with {rest or '--console'}")
    return flags, rest


def value_of(arguments: list[str], *names: str) -> str | None:
    """Return the value that *arguments* give to an option, the last one if several.

    Args:
        arguments: As mitmproxy gets them.
        names: Spellings; one that ends in "=" is a `--set` of that option.
    """
    found = None
    for place, argument in enumerate(arguments):
        for name in names:
            if name.endswith("="):
                if argument.startswith((name, f"--set={name}")):
                    found = argument.partition(name)[2]
            elif argument == name:
                found = "".join(arguments[place + 1 : place + 2])
            elif name.startswith("--") and argument.startswith(name + "="):
                found = argument[len(name) + 1 :]
            elif name[1] != "-" and argument.startswith(name):
                found = argument[len(name) :]
    return found


def greeting(program: str, arguments: list[str]) -> str:
    """Return the line that says where it listens and where to read on."""
    readme = _venv.ROOT / "README.md"
    host = value_of(arguments, "--listen-host", "listen_host=") or LOCAL
    port = value_of(arguments, "-p", "--listen-port", "listen_port=") or "8080"
    mode = value_of(arguments, "-m", "--mode", "mode=") or "regular"
    where = f"as {mode} says" if "@" in mode else f"on {host}:{port}"
    return f"{program} listens {where}; how to point a program at it: {readme}"


def start(flags: argparse.Namespace, arguments: list[str]) -> NoReturn:
    """Become mitmproxy."""
    program = "mitmweb" if flags.web else "mitmproxy" if flags.console else "mitmdump"
    command = ["-s", str(_venv.ROOT / "addon" / "normalize.py")]
    if value_of(arguments, "--listen-host", "listen_host=") is None:
        command += ["--listen-host", LOCAL]
    _venv.say(greeting(program, arguments))
    path = _venv.program(Path(sys.prefix), program)
    _venv.become([str(path), *command, *arguments])


def main() -> int:
    """Do what was asked for and return the demo's exit code."""
    flags, arguments = parse(sys.argv[1:])
    _venv.ensure()
    if flags.check:
        import _check_run  # noqa: PLC0415 - it needs the environment

        port = int(value_of(arguments, "-p", "--listen-port", "listen_port=") or 8080)
        confdir = value_of(arguments, "confdir=") or "~/.mitmproxy"
        return _check_run.main(LOCAL, port, Path(confdir))
    if not flags.demo:
        start(flags, arguments)
    import demo  # noqa: PLC0415 - it needs the environment

    return demo.main(web=flags.web)


if __name__ == "__main__":
    sys.exit(main())
