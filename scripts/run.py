"""Start mitmproxy with the addon, its environment made first; lead the system to it."""

from __future__ import annotations

import argparse
import json
import re
import sys

import _bootstrap

LOCAL = "127.0.0.1"
DASHES = "-\u2010\u2013\u2014"  # also what a word processor makes of two


def parse(given: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is mitmproxy's."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        usage="%(prog)s [--web | --console] [--pac | --system-proxy] "
        "[--upstream-proxy URL] [ARGS]\n"
        "       %(prog)s --restore | --check [ARGS]\n"
        "       %(prog)s --demo [--web]\n"
        "       %(prog)s --version",
        description=(
            "Start mitmdump with the addon, for programs on this machine only "
            f"(--listen-host {LOCAL}), and say what to do next."
        ),
        epilog=(
            "ARGS go to mitmproxy, for instance -p 8081, --set normalize_mode=observe "
            "or --listen-host 0.0.0.0; after -- everything does (-- --help shows its "
            "own). What --pac and --system-proxy change is put back when mitmproxy "
            "ends, or, had it no time for that, at the next start. The first start "
            "makes the environment in .venv."
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
    lead = parser.add_mutually_exclusive_group()
    lead.add_argument(
        "--pac",
        action="store_true",
        help="while it runs, lead the system's programs to it by a PAC address: for "
        "the hosts it repairs only, everything else goes straight (which a network "
        "with a proxy of its own may not let pass: see --upstream-proxy)",
    )
    lead.add_argument(
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
        "--restore",
        action="store_true",
        help="only put back the system's settings, if a start that was killed has not",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="look whether this machine's programs get to it, and trust it",
    )
    parser.add_argument(
        "--version",
        action="store_true",
        help="print the versions, also before there is an environment",
    )
    cut = given.index("--") if "--" in given else len(given)
    flags, rest = parser.parse_known_args(given[:cut])
    # mitmproxy would take -web for -w eb, and a longer dash for a filter.
    for each in rest:
        meant = each.lstrip(DASHES).replace("_", "-").lower()
        if each[0:1] in DASHES and meant.replace("-", "_") in vars(flags):
            parser.error(f"there is no flag {each}: did you mean --{meant}?")
    rest += given[cut + 1 :]
    own = [
        f"--{name}"
        for name in ("demo", "pac", "system-proxy", "restore", "check")
        if getattr(flags, name.replace("-", "_"))
    ]
    if len(own) > 1:
        parser.error(f"{own[0]} does not go with {own[1]}")
    if flags.demo and (flags.console or flags.upstream_proxy or rest):
        # Only the names: what stands behind them may be a password.
        what = [each.partition("=")[0] for each in rest if each[:1] == "-"]
        other = "--console" if flags.console else "--upstream-proxy"
        parser.error(f"--demo goes with --web only, not with {what or rest or other}")
    return flags, rest


def versions() -> str:
    """Return the versions of what is here, and make nothing."""
    text = (_bootstrap.ROOT / "addon" / "llm_normalize" / "__init__.py").read_text("utf-8")
    ours = re.findall(r'__version__ = "(.+)"', text)
    folder = _bootstrap.ROOT / ".venv"
    packages = sorted(folder.glob("[Ll]ib*/**/site-packages/mitmproxy-*.dist-info"))
    try:
        python = json.loads((folder / _bootstrap.STAMP).read_text("utf-8"))["version"]
        used = packages[0].name[len("mitmproxy-") : -len(".dist-info")]
    except (OSError, ValueError, KeyError, IndexError):
        return f"llm_normalize {ours[0]}\nThe first start makes .venv with mitmproxy."
    return f"llm_normalize {ours[0]}\nmitmproxy {used} on Python {python}, in .venv"


def main() -> int:
    """Do what was asked for and return the exit code."""
    flags, arguments = parse(sys.argv[1:])
    if flags.version:
        print(versions())
        return 0
    _bootstrap.ensure()
    if flags.demo:
        from llm_normalize.demo import command as demo  # noqa: PLC0415 - it needs the environment

        return demo.main(web=flags.web)
    from llm_normalize.run import start as proxy_run  # noqa: PLC0415 - likewise

    return proxy_run.main(flags, arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
