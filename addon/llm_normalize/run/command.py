"""What `llm-normalize` takes where no other tool is named: `llm-normalize run`.

Read on Python 3.8, too, before a checkout has its environment: see scripts/run.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .. import __version__, cli
from ..text.command_line import CHECKOUT, NAME
from ..text.console import complain
from ..text.network_address import LOCAL

DASHES = "-\u2010\u2013\u2014"  # also what a word processor makes of two
SWITCHES = ("pac", "system_proxy", "restore")
OTHERS = ("demo", "check", "script")


def parse(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is mitmproxy's."""
    words = list(given)
    parser = _parser()
    cut = words.index("--") if "--" in words else len(words)
    flags, rest = parser.parse_known_args(words[:cut])
    # mitmproxy would take -web for -w eb, and a longer dash for a filter.
    for each in rest:
        meant = each.lstrip(DASHES).replace("_", "-").lower()
        if each[0:1] in DASHES and meant.replace("-", "_") in vars(flags):
            parser.error(f"unknown flag {each}: did you mean --{meant}?")
    rest += words[cut + 1 :]
    asked = [name for name in (*SWITCHES, *OTHERS) if getattr(flags, name)]
    own = ["--" + name.replace("_", "-") for name in asked]
    if len(own) > 1:
        parser.error(f"{own[0]} does not go with {own[1]}")
    if flags.provider is not None:
        other = own[0] if own else "--upstream-proxy" if flags.upstream_proxy else ""
        if other and other != "--check":
            parser.error(f"--provider does not go with {other}")
    if flags.demo and (flags.console or flags.upstream_proxy or rest):
        # Only the names: what stands behind them may be a password.
        what = [each.partition("=")[0] for each in rest if each[:1] == "-"]
        other = "--console" if flags.console else "--upstream-proxy"
        parser.error(f"--demo goes with --web only, not with {what or rest or other}")
    return flags, rest


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, cli.TOOLS))
    tools = [f"  {name:{width}}  {tool.does}" for name, tool in cli.TOOLS.items()]
    parser = argparse.ArgumentParser(
        prog=NAME,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=f"{NAME} [run] [--web | --console] [--pac | --system-proxy]\n"
        "                           [--upstream-proxy URL] [ARGS]\n"
        f"       {NAME} PROVIDER [--web | --console] [ARGS]\n"
        f"       {NAME} [run] --restore | --check [ARGS] | --demo [--web]\n"
        f"       {NAME} --script | --version\n"
        f"       {NAME} TOOL [ARGS]",
        description="Start mitmdump with the addon, for programs on this machine only "
        f"(--listen-host\n{LOCAL}), and print what to do next.",
        epilog="\n".join(
            [
                "tools, each with a --help of its own:",
                *tools,
                "",
                "ARGS of run go to mitmproxy, for instance -p 8081, --set",
                "normalize_mode=observe or --listen-host 0.0.0.0; after -- everything does",
                "(-- --help shows its own). What --pac and --system-proxy change is restored",
                "when mitmproxy ends, or, if it was killed, at the next start.",
                *(_CHECKOUT if CHECKOUT.exists() else ()),
            ]
        ),
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="send one stream of an embedded provider through it and show before "
        "and after; no key and no network needed",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--web", action="store_true", help="start mitmweb instead")
    which.add_argument(
        "--console", action="store_true", help="start the mitmproxy console instead"
    )
    parser.add_argument(
        "--pac",
        action="store_true",
        help="while it runs, set it as the system's proxy by a PAC address, for the "
        "hosts it repairs only; everything else stays direct (which a network with a "
        "proxy of its own may not let pass: see --upstream-proxy)",
    )
    parser.add_argument(
        "--system-proxy",
        action="store_true",
        help="while it runs, make it the system's HTTP and HTTPS proxy, for all hosts "
        "(of the others it sees nothing but their names)",
    )
    parser.add_argument(
        "--upstream-proxy",
        metavar="URL",
        help="the proxy that the network has, http://HOST:PORT, to go through; one "
        "with a password as env:NAME, the variable that holds the URL",
    )
    parser.add_argument(
        "--provider",
        metavar="NAME",
        help="be a server in front of that provider, for clients that take a base URL: "
        "a name of doctor --list, or a base URL; the first word NAME alone does it, too",
    )
    parser.add_argument(
        "--restore",
        action="store_true",
        help="only restore the system's settings, after a start that was killed",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="check whether programs here reach the proxy and trust its CA",
    )
    parser.add_argument(
        "--script",
        action="store_true",
        help="print the path for mitmproxy's own -s, and end",
    )
    parser.add_argument(
        "--version",
        action="store_true",
        help="print the versions of it and of what it runs on, and end",
    )
    return parser


_CHECKOUT = (
    "",
    "In a checkout, write python3 scripts/run.py for llm-normalize; the first start makes",
    "the environment in .venv.",
)


def main(given: Sequence[str]) -> int:
    """Do what the flags ask for, and return the exit code, if it returns."""
    flags, arguments = parse(given)
    if flags.demo:
        return cli.main(["demo", *(["--web"] if flags.web else [])])
    if flags.check:
        return cli.main(["check", *given])
    # Here, since they bring mitmproxy.
    from mitmproxy.utils import debug  # noqa: PLC0415

    from ..desktop.machine import Machine  # noqa: PLC0415
    from ..desktop.mitmproxy_program import script  # noqa: PLC0415
    from ..desktop.processes import ProcessError  # noqa: PLC0415
    from ..desktop.proxy.settings import ProxyError  # noqa: PLC0415
    from . import start, system_proxy  # noqa: PLC0415
    from .start_error import StartError  # noqa: PLC0415

    if flags.version or flags.script:
        versions = f"llm_normalize: {__version__}\n{debug.dump_system_info()}"
        print(versions if flags.version else script())
        return 0
    machine = Machine()
    try:
        if flags.restore:  # whatever is wrong with the options
            return system_proxy.restore(machine)
        prepared = start.prepared(flags, arguments, machine)
        return system_proxy.begin(prepared, machine)
    except (StartError, ProxyError, ProcessError) as error:
        complain(error)
        return getattr(error, "code", 1)
