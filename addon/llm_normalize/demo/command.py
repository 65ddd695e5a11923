"""Show the addon at work: an embedded provider, a real mitmdump, one client."""

import argparse
import contextlib
import json
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..desktop.mitmproxy_program import script
from ..fixes import FIXES
from ..text.command_line import command_line
from ..text.console import complain, say
from . import client
from . import provider as demo_provider
from . import proxy as demo_proxy
from .provider import HOST, MODEL, Provider
from .proxy import DemoError, Proxy
from .view import View, aligned

PREFIX = "llm-normalize-demo-"
SHOWN = 6  # faults
_WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class _Sample(NamedTuple):
    """One request, and the two answers to it.

    Attributes:
        title: What is asked.
        asked: The request's body.
        before: The events straight from the provider.
        after: The events through the proxy.
    """

    title: str
    asked: dict[str, Any]
    before: list[str]
    after: list[str]


def _samples() -> list[_Sample]:
    """The requests to send."""
    text = [{"role": "user", "content": "What are streams?"}]
    tool = [{"role": "user", "content": "How is the weather in Lisbon?"}]
    base = {"model": MODEL, "stream": True}
    more = {"stream_options": {"include_usage": True}, "tools": [_WEATHER]}
    return [
        _Sample("A text", {**base, "messages": text}, [], []),
        _Sample(
            "A tool call, usage asked for", {**base, "messages": tool, **more}, [], []
        ),
    ]


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
            _show(View(), folder / "pairs-demo.jsonl", web=web)
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


def _show(view: View, pairs: Path, *, web: bool) -> None:
    program = "mitmweb" if web else "mitmdump"
    view.say("llm_normalize: nearly OpenAI-compatible streams, repaired on the wire")
    view.say()
    with contextlib.ExitStack() as stack:
        made = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made))
        provider = stack.enter_context(demo_provider.running(folder))
        view.say(
            f"Started a provider with NVIDIA NIM's dialect on {HOST}:{provider.port}"
        )
        view.say(f"Starting {program} -s {script()} {view.dots}")
        start = time.monotonic()
        proxy = stack.enter_context(
            demo_proxy.running(folder / "conf", pairs, provider, web=web)
        )
        seconds = time.monotonic() - start
        view.say(f"It listens on {HOST}:{proxy.port} (after {seconds:.1f} s)")
        done = _samples()
        for number, sample in enumerate(done, 1):
            view.say()
            view.say(f"{number}. {sample.title}", "bold")
            _send(view, sample, provider, proxy)
        records = _read_log(pairs, len(done), proxy)
        _sum_up(view, done, records)
        view.say()
        view.say(f"The pairs log, event by event: {pairs}")
        _judge(done, proxy)
        _next(view)
        if web:
            _wait(view, proxy)


def _send(view: View, sample: _Sample, provider: Provider, proxy: Proxy) -> None:
    """Send one request both ways and print what comes, as it comes."""
    sample.before.extend(demo_proxy.stream(sample.asked, provider, None))

    def arriving() -> Iterator[str]:
        for event in demo_proxy.stream(sample.asked, provider, proxy):
            sample.after.append(event)
            yield event

    head = f"{'before: straight from the provider':<{view.width}} {view.bar}"
    view.say(f"{head} after: through the proxy", "bold")
    for before, after in aligned(sample.before, arriving()):
        view.row(before, after)


def _read_log(pairs: Path, flows: int, proxy: Proxy) -> list[dict[str, Any]]:
    """The flow records of the pairs log, which is written a little later.

    Raises:
        DemoError: They do not come.
    """
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            lines = pairs.read_text(encoding="utf-8").split("\n")[:-1]
            records = [json.loads(line) for line in lines]
            found = [record for record in records if record["type"] == "flow"]
            if len(found) == flows:
                return found
        time.sleep(0.05)
    raise DemoError(f"the pairs log {pairs} was not written.", proxy.last)


def _sum_up(
    view: View, done: Sequence[_Sample], records: Sequence[dict[str, Any]]
) -> None:
    counts = Counter[str]()
    for record in records:
        counts.update(record["fixes"])
    changed = sum(record["changed"] for record in records)
    events = sum(record["events"] for record in records)
    view.say()
    view.say(f"What was repaired: {changed} of {events} events, by these fixes", "bold")
    names = max((len(name) for name in counts), default=0)
    for fix in FIXES:
        if fix.name in counts:
            head = f"  {counts[fix.name]:2}  {fix.name:{names}}  "
            indent = " " * len(head)
            width = view.columns - 1
            view.say(
                textwrap.fill(
                    fix.changes, width, initial_indent=head, subsequent_indent=indent
                )
            )
    view.say()
    view.say("What simple clients make of it", "bold")
    _compare(view, 'a page that appends str(delta["content"])', client.shown, done[0])
    _compare(view, "an agent that stops at the finish reason", client.called, done[1])
    _compare(view, "a meter that adds up usage", _tokens, done[1])


def _tokens(events: Sequence[str]) -> str:
    return f"{client.counted(events)} tokens"


def _compare(
    view: View, who: str, reads: Callable[[Sequence[str]], str], sample: _Sample
) -> None:
    view.say(f"  {who}")
    view.say(f"    before: {reads(sample.before)}", "before")
    view.say(f"    after:  {reads(sample.after)}", "after")


def _judge(done: Sequence[_Sample], proxy: Proxy) -> None:
    """Judge the repaired streams by the form that OpenAI gives them.

    Raises:
        DemoError: They differ.
    """
    found = [
        f"{sample.title}: {fault}"
        for sample in done
        for fault in client.faults(sample.after, sample.asked)
    ]
    if found:
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        raise DemoError(
            "what the proxy sent is not what OpenAI would have sent "
            f"({'; '.join([*found[:SHOWN], *more])}).",
            proxy.last,
        )


def _next(view: View) -> None:
    view.say("Checked: what the proxy sent is what OpenAI would have sent.")
    view.say()
    view.say("Use it for real", "bold")
    view.say(f"  {command_line('nvidia')}   for a client that takes a base URL")
    view.say(f"  {command_line('')}          as a proxy, for any other")


def _wait(view: View, proxy: Proxy) -> None:
    view.say()
    view.say("The flows, until you press Ctrl-C:", "bold")
    view.say(f"  {proxy.page}")
    with contextlib.suppress(KeyboardInterrupt):
        while proxy.alive():
            time.sleep(0.5)
        view.say("mitmweb has ended.")
    view.say()
    view.say("Everything is stopped.")
