"""`llm-normalize doctor`: whether a provider answers as OpenAI would, and what repairs it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import traceback
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..routing.known_providers import PROVIDERS
from ..text.console import say
from ..text.network_address import is_loopback
from ..text.printable import escaped

if TYPE_CHECKING:
    from .asked_provider import Provider
    from .card import Card

PROG = "llm-normalize doctor"

REQUESTS = (
    "plain",
    "stream",
    "usage",
    "tools",
    "forced-tool",
    "bad-model",
    "bad-parameter",
)
PATH = "/chat/completions"
TIMEOUT = 60.0
_COULD_NOT_ASK = 3
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; its key is in `secret`."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        usage="%(prog)s (URL | --provider NAME) --model M [--key env:NAME|file:PATH]",
        description=(
            "Ask a provider a handful of small requests, one after the other, and "
            "report which rules of OpenAI's form its answers break, which fixes of "
            "the addon repair that, and what is left."
        ),
        epilog=(
            "Ends with 0 if nothing is left that no fix repairs, 1 if something "
            "is, 2 for a bad command line, 3 if nothing could be asked."
        ),
    )
    parser.add_argument(
        "given",
        nargs="*",
        metavar="URL",
        help="a base URL (https://host/v1), or one that ends in /chat/completions",
    )
    parser.add_argument(
        "--provider", metavar="NAME", help="a known base URL; see --list"
    )
    parser.add_argument("--list", action="store_true", help="print the known providers")
    parser.add_argument("--model", metavar="M", help="the model to ask")
    parser.add_argument(
        "--key",
        metavar="env:NAME|file:PATH",
        help="where the key is (with --provider: its usual variable, if that is set)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--timeout",
        default=f"{TIMEOUT:g}",
        metavar="SECONDS",
        help=f"what one request may take, from first to last (default: {TIMEOUT:g})",
    )
    parser.add_argument(
        "--only",
        default=",".join(REQUESTS),
        metavar="NAMES",
        help=f"requests to send, of: {','.join(REQUESTS)}",
    )
    parser.add_argument(
        "--insecure-http",
        action="store_true",
        help="let the key travel unencrypted to another machine",
    )
    flags, unknown = parser.parse_known_intermixed_args([*given])
    if unknown:
        # By name: what stands behind it may be a key.
        names = [each.partition("=")[0] for each in unknown if each[:1] == "-"]
        parser.error("unknown option: " + (", ".join(names) or "-"))
    flags.secret = ""
    if flags.list:
        return flags
    flags.only = _names(parser, flags.only)
    flags.timeout = _seconds(parser, flags.timeout)
    _target(parser, flags)
    return flags


def _names(parser: argparse.ArgumentParser, given: str) -> list[str]:
    wanted = {name.strip() for name in given.split(",") if name.strip()}
    if not wanted or not wanted <= set(REQUESTS):
        parser.error(f"--only takes names out of {','.join(REQUESTS)}")
    return [name for name in REQUESTS if name in wanted]


def _seconds(parser: argparse.ArgumentParser, given: str) -> float:
    try:
        value = float(given)
    except ValueError:
        value = 0
    if not 0 < value < 86400:  # noqa: PLR2004 - a day; also no "nan"
        parser.error("--timeout takes a number of seconds above 0")
    return value


def _target(parser: argparse.ArgumentParser, flags: argparse.Namespace) -> None:
    """Find the URL and the key of the provider."""
    if not all(map(_URL.match, flags.given)):
        parser.error(
            "a provider is named by its URL, https://HOST/...; llm-normalize report "
            "sums up before/after logs"
        )
    urls, variable = flags.given, ""
    if flags.provider is not None:
        if flags.provider not in PROVIDERS:
            parser.error("--provider takes a name that --list prints")
        base, variable = PROVIDERS[flags.provider]
        urls.append(base)
    if len(urls) != 1:
        parser.error("expected one URL, or one --provider")
    flags.url = _url(parser, urls[0])
    if not flags.model:
        parser.error("--model is missing: the name of the model to ask")
    flags.secret = _key(parser, flags.key, variable)
    parts = urllib.parse.urlsplit(flags.url)
    plain = parts.scheme == "http" and not is_loopback(parts.hostname or "")
    if plain and flags.secret and not flags.insecure_http:
        parser.error(
            "http:// would send the key unencrypted to another machine: use https://, "
            "or add --insecure-http"
        )


def _url(parser: argparse.ArgumentParser, given: str) -> str:
    """The address of chat/completions under the URL *given*."""
    try:
        parts = urllib.parse.urlsplit(given)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or not given.isprintable():
        parser.error("the URL must be http://HOST/... or https://HOST/...")
    if "@" in parts.netloc:
        parser.error("the URL may hold no name or password: the key goes with --key")
    path = parts.path.rstrip("/")
    path = path if path.endswith(PATH) else path + PATH
    return urllib.parse.urlunsplit(parts._replace(path=path, fragment=""))


def _key(parser: argparse.ArgumentParser, given: str | None, variable: str) -> str:
    """The key; no message quotes what was given, which may be one."""
    if given is None:
        key = os.environ.get(variable, "") if variable else ""
    elif given.startswith("env:"):
        key = os.environ.get(given[4:], "")
        if not key.strip():
            parser.error("the environment variable that --key names is not set")
    elif given.startswith("file:"):
        try:
            key = Path(given[5:]).expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            parser.error(f"the file that --key names cannot be read: {why}")
    else:
        parser.error(
            "--key takes env:NAME or file:PATH; the key itself would stay in the "
            "history of the shell"
        )
    key = key.strip()
    if given is not None and not key:
        parser.error("the file that --key names is empty")
    if not all("!" <= char <= "~" for char in key):
        parser.error("the key has characters that no key has, such as blanks")
    return key


def main(given: Sequence[str]) -> int:
    """Do what the command line asks for and return the exit code."""
    flags = parse(given)
    if flags.list and flags.json:
        known = {
            name: {"base_url": base, "key": of}
            for name, (base, of) in PROVIDERS.items()
        }
        _write(json.dumps(known, indent=1))
        return 0
    if flags.list:
        rows = (f"{name:12} {base:56} {of}" for name, (base, of) in PROVIDERS.items())
        _write("\n".join(map(str.rstrip, rows)))
        return 0
    # Here, since they need what parse does not: see scripts/run.py.
    from .asked_card import asked_card  # noqa: PLC0415
    from .asked_provider import AskError, Provider  # noqa: PLC0415

    provider = Provider(flags.url, flags.secret, flags.timeout)
    try:
        return _print(flags, asked_card(provider, flags.only, flags.model), provider)
    except AskError as error:
        return _sorry(flags, provider.secrets.masked(str(error)))
    except Exception:  # noqa: BLE001 - what an exception says may quote the key
        trace = provider.secrets.masked(traceback.format_exc())
        for line in trace.splitlines():
            say(escaped(line))
        return _sorry(flags, "that is a mistake in the doctor itself")


def _print(flags: argparse.Namespace, card: Card, provider: Provider) -> int:
    from .card_text import as_text  # noqa: PLC0415 - likewise
    from .verdict import LEFT, NONE  # noqa: PLC0415 - likewise

    code = _COULD_NOT_ASK if card.verdict == NONE else int(card.verdict == LEFT)
    if flags.json:
        text = json.dumps({"exit": code, "cards": [card.as_json()]}, indent=1)
    else:
        text = "\n".join(as_text(card))
    # Once more at the end: nothing that was forgotten on the way gets out.
    _write(provider.secrets.masked(text))
    return code


def _write(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # into `head`: the verdict counts
        print(text, flush=True)


def _sorry(flags: argparse.Namespace, sentence: str) -> int:
    if flags.json:
        made = {"exit": _COULD_NOT_ASK, "error": sentence, "cards": []}
        _write(json.dumps(made, indent=1))
    else:
        say(f"{PROG}: {sentence}")
    return _COULD_NOT_ASK
