"""The command `llm-normalize` of an installed package: mitmproxy with the addon.

`scripts/run.py` is the same for a checkout, and does more; this one needs nothing but
the package.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import __version__

LOCAL = "127.0.0.1"
_PACKAGE = Path(__file__).parent


def script() -> Path:
    """Return what mitmproxy's `-s` takes.

    In a wheel it has a folder of its own: mitmproxy puts the script's folder first on
    `sys.path` and leaves it there (mitmproxy/addons/script.py), where this package's
    modules would be found under names that are not theirs.
    """
    installed = _PACKAGE / "script" / "normalize.py"
    return installed if installed.exists() else _PACKAGE.parent / "normalize.py"


def arguments(given: Sequence[str]) -> list[str]:
    """Return mitmproxy's arguments: the addon, on loopback unless *given* says where."""
    where = ("--listen-host", "listen_host=", "--set=listen_host=")
    local = [] if any(each.startswith(where) for each in given) else [where[0], LOCAL]
    return ["-s", str(script()), *local, *given]


def parse(given: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is mitmproxy's."""
    parser = argparse.ArgumentParser(
        prog="llm-normalize",
        allow_abbrev=False,
        usage="%(prog)s [--web | --console] [ARGS]\n       %(prog)s --script | --version",
        description="Start mitmdump with the addon, for programs on this machine only "
        f"(--listen-host {LOCAL}).",
        epilog="ARGS go to mitmproxy, for instance -p 8081 or --set "
        "normalize_mode=observe; after -- everything does (-- --help shows its own).",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--web", action="store_true", help="start mitmweb instead")
    which.add_argument(
        "--console", action="store_true", help="start the mitmproxy console instead"
    )
    which.add_argument(
        "--script",
        action="store_true",
        help="print the path for mitmproxy's own -s, and end",
    )
    which.add_argument(
        "--version", action="version", version=f"llm_normalize {__version__}"
    )
    cut = given.index("--") if "--" in given else len(given)
    flags, rest = parser.parse_known_args(given[:cut])
    for each in rest:  # mitmproxy would take -web for -w eb
        if each[:1] == "-" and (meant := each.lstrip("-")) in vars(flags):
            parser.error(f"there is no flag {each}: did you mean --{meant}?")
    if flags.console and not sys.stdout.isatty():
        parser.error("--console needs a terminal: start it in one, or without it")
    return flags, rest + given[cut + 1 :]


def main(given: list[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    flags, rest = parse(sys.argv[1:] if given is None else given)
    if flags.script:
        print(script())  # noqa: T201 - it is what was asked for
        return 0
    from mitmproxy.tools import main as tools  # noqa: PLC0415 - slow, and not for --help

    start: Callable[[list[str]], int | None] = tools.mitmdump
    if flags.web or flags.console:
        start = tools.mitmweb if flags.web else tools.mitmproxy
    return start(arguments(rest)) or 0
