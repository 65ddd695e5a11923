"""Show the addon at work: an embedded provider, a real mitmdump, one client."""

import argparse
import contextlib
import json
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..desktop.mitmproxy_program import script
from ..fixes import FIXES
from ..records.difference import excerpts
from ..text.command_line import command_line
from ..text.console import complain, say, styled
from . import client
from . import provider as demo_provider
from . import proxy as demo_proxy
from .provider import HOST, MODEL
from .proxy import DemoError, Proxy

PREFIX = "llm-normalize-demo-"
SHOWN = 6  # faults
_WIDTH = 99
_BOLD, _DIM, _BEFORE, _AFTER = "1", "2", "31", "32"
_WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
_ASKED: dict[str, dict[str, Any]] = {
    "A text": {
        "model": MODEL,
        "stream": True,
        "messages": [{"role": "user", "content": "What are streams?"}],
    },
    "A tool call, usage asked for": {
        "model": MODEL,
        "stream": True,
        "messages": [{"role": "user", "content": "How is the weather in Lisbon?"}],
        "stream_options": {"include_usage": True},
        "tools": [_WEATHER],
    },
}
"""The requests to send, by what they are for."""


def main(given: Sequence[str]) -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="llm-normalize demo",
        description="Send one text and one tool call of an embedded provider through a "
        "real mitmdump, show before and after, and judge it. No key and no network is "
        "needed.",
    )
    parser.add_argument(
        "--web", action="store_true", help="show the flows in mitmweb until Ctrl-C"
    )
    web = parser.parse_args(given).web
    try:
        with _log_folder() as folder:
            _show(folder / "pairs-demo.jsonl", web=web)
    except DemoError as error:
        for line in error.lines:
            say("    " + line)
        complain(error)
        return 1
    return 0


@contextlib.contextmanager
def _log_folder() -> Iterator[Path]:
    """Make a folder in which nothing but the pairs log stays; without one it goes."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        yield folder
    finally:
        for path in folder.iterdir():
            if path.suffix != ".jsonl":
                path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()


def _print(text: str = "", style: str = "") -> None:
    print(styled(text, style), flush=True)


def _show(pairs: Path, *, web: bool) -> None:
    program = "mitmweb" if web else "mitmdump"
    _print("llm_normalize: nearly OpenAI-compatible streams, repaired on the wire")
    _print()
    with contextlib.ExitStack() as stack:
        made = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made))
        provider = stack.enter_context(demo_provider.running(folder))
        _print(
            f"Started a provider with NVIDIA NIM's dialect on {HOST}:{provider.port}"
        )
        _print(f"Starting {program} -s {script()} …")
        start = time.monotonic()
        proxy = stack.enter_context(
            demo_proxy.running(folder / "conf", pairs, provider, web=web)
        )
        seconds = time.monotonic() - start
        _print(f"It listens on {HOST}:{proxy.port} (after {seconds:.1f} s)")
        answers = {
            title: [*demo_proxy.stream(asked, provider, proxy)]
            for title, asked in _ASKED.items()
        }
        records = _read_log(pairs, proxy)
        flows = [record for record in records if record["type"] == "flow"]
        for number, (title, flow) in enumerate(zip(_ASKED, flows, strict=True), 1):
            _print()
            _print(f"{number}. {title}: each event before and after", _BOLD)
            for record in records:
                if record["type"] == "pair" and record["flow"] == flow["flow"]:
                    _print_pair(record)
        _sum_up(flows)
        _print()
        _print(f"The pairs log, event by event: {pairs}")
        _judge(answers, proxy)
        _next()
        if web:
            _wait(proxy)


def _read_log(pairs: Path, proxy: Proxy) -> list[dict[str, Any]]:
    """The records of the pairs log, which is written a little later.

    Raises:
        DemoError: They do not come.
    """
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            lines = pairs.read_text(encoding="utf-8").split("\n")[:-1]
            records = [json.loads(line) for line in lines]
            if sum(record["type"] == "flow" for record in records) == len(_ASKED):
                return records
        time.sleep(0.05)
    raise DemoError(f"the pairs log {pairs} was not written.", proxy.last)


def _print_pair(pair: dict[str, Any]) -> None:
    """Print what differs in an event that was changed."""
    before = (pair["before"] or "").split("\n")
    after = [line for block in pair["after"] for line in block.split("\n")]
    gone, come = excerpts([*filter(None, before)], [*filter(None, after)])
    for line in gone:
        _print(f"  - {line}", _BEFORE)
    for line in come:
        _print(f"  + {line}", _AFTER)
    if not come:
        _print("    (dropped)", _DIM)


def _sum_up(flows: Sequence[dict[str, Any]]) -> None:
    counts = Counter[str]()
    for flow in flows:
        counts.update(flow["fixes"])
    changed = sum(flow["changed"] for flow in flows)
    events = sum(flow["events"] for flow in flows)
    _print()
    _print(f"What was repaired: {changed} of {events} events, by these fixes", _BOLD)
    names = max((len(name) for name in counts), default=0)
    for fix in FIXES:
        if fix.name in counts:
            head = f"  {counts[fix.name]:2}  {fix.name:{names}}  "
            indent = " " * len(head)
            text = textwrap.wrap(
                fix.changes, _WIDTH, initial_indent=head, subsequent_indent=indent
            )
            _print("\n".join(text))


def _judge(answers: dict[str, list[str]], proxy: Proxy) -> None:
    """Judge the repaired streams by the form that OpenAI gives them.

    Raises:
        DemoError: They differ.
    """
    found = [
        f"{title}: {fault}"
        for title, events in answers.items()
        for fault in client.faults(events, _ASKED[title])
    ]
    if found:
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        raise DemoError(
            "what the proxy sent is not what OpenAI would have sent "
            f"({'; '.join([*found[:SHOWN], *more])}).",
            proxy.last,
        )


def _next() -> None:
    _print("Checked: what the proxy sent is what OpenAI would have sent.")
    _print()
    _print("Use it for real", _BOLD)
    _print(f"  {command_line('nvidia')}   for a client that takes a base URL")
    _print(f"  {command_line('')}          as a proxy, for any other")


def _wait(proxy: Proxy) -> None:
    _print()
    _print("The flows, until you press Ctrl-C:", _BOLD)
    _print(f"  {proxy.page}")
    with contextlib.suppress(KeyboardInterrupt):
        while proxy.alive():
            time.sleep(0.5)
        _print("mitmweb has ended.")
    _print()
    _print("Everything is stopped.")
