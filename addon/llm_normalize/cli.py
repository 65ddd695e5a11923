"""The command `llm-normalize`: `run` unless another tool is named first.

In a checkout `scripts/run.py` hands over to this once it has made the environment; before
that it has the command line read by `chosen`, on whatever Python there is (3.8, perhaps).
"""

from __future__ import annotations

import difflib
import importlib
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple

from .routing.known_providers import PROVIDERS
from .text.console import complain, say

INTERRUPTED = 130
USAGE = 2


class Tool(NamedTuple):
    """One of the tools.

    Attributes:
        module: Whose `main` takes its arguments and returns the exit code.
        does: What it is for.
        interrupted: What a user who pressed Ctrl-C should know.
    """

    module: str
    does: str
    interrupted: str = ""


_ENDED = "nothing is left running"
TOOLS = {
    "run": Tool("run.command", "start mitmproxy with the addon (the default)"),
    "exec": Tool("client.exec", "start one program that goes through it"),
    "env": Tool("client.env", "print the same for a shell, as lines to run"),
    "demo": Tool("demo.command", "show a repaired stream: no key, no network", _ENDED),
    "check": Tool("check.command", "do programs here reach it, and trust it?", _ENDED),
    "status": Tool("setup.status", "tell what runs, and what is set up"),
    "trust": Tool(
        "desktop.trust.command",
        "let this machine trust mitmproxy's CA",
        "trust remove takes away what was begun",
    ),
    "doctor": Tool("doctor.command", "ask a provider: what do its answers break?"),
    "report": Tool("report.command", "sum up pairs logs: a terminal, a page, JSON"),
    "service": Tool("desktop.service.command", "start it at every login"),
    "completion": Tool(
        "setup.completion.command", "print what completes it in a shell"
    ),
    "uninstall": Tool("setup.uninstall", "take away all that was set up"),
}
_FLAGS = (
    "help", "version", "web", "console", "pac", "system-proxy", "upstream-proxy",
    "provider", "restore", "script",
)  # fmt: skip
"""Flags of `run` that somebody may write like a tool."""
_TOOLS_AS_FLAGS = {"--demo", "--check"}
"""What `run` knows by the name of a tool."""
_WORD = re.compile(r"[A-Za-z][A-Za-z-]*")
"""What somebody takes for a tool: a filter of mitmproxy's is hardly ever one such word."""


def chosen(given: Sequence[str]) -> tuple[str, list[str]]:
    """Return the tool that a command line names, and that tool's arguments.

    Ends the process if the first word looks like a tool's name but is unknown.
    """
    words = list(given)
    if not words:
        return "run", words
    first = words[0]
    if first in TOOLS:
        return first, words[1:]
    # To mitmproxy, a URL would be a filter of what it shows.
    if first in PROVIDERS or first.lower().startswith(("http://", "https://")):
        return "run", ["--provider", *words]
    if first.startswith("-"):
        word = first.lstrip("-").lower()
        if word in TOOLS and first not in _TOOLS_AS_FLAGS:
            _refuse(first, f"did you mean {word}?")
    elif _WORD.fullmatch(first):
        meant = {name: name for name in (*TOOLS, *PROVIDERS)}
        meant.update({name: f"--{name}" for name in _FLAGS})  # `|` is newer than 3.8
        near = difflib.get_close_matches(first.lower(), meant, 1)
        _refuse(
            first,
            f"did you mean {meant[near[0]]}?"
            if near
            else "--help lists them; a filter for mitmproxy goes behind run",
        )
    return "run", words


def _refuse(word: str, hint: str) -> None:
    complain(f"unknown tool {word}: {hint}")
    sys.exit(USAGE)


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    name, words = chosen(sys.argv[1:] if given is None else given)
    tool = TOOLS[name]
    _end_on_signals()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console may lack a letter
        sys.stdout.reconfigure(errors="replace")
    code = 1
    try:
        code = importlib.import_module(f".{tool.module}", __package__).main(words)
        print(end="", flush=True)  # noqa: T201 - also where there is no stdout
    except KeyboardInterrupt:
        if tool.interrupted:
            say(f"\nllm_normalize: interrupted; {tool.interrupted}")
        return INTERRUPTED
    except BrokenPipeError:  # into `head`: Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _end_on_signals() -> None:
    """Let a signal to end unwind the `with` blocks first, and let Ctrl-C interrupt."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # What is ignored already, as under nohup, stays so.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _exit)
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _exit(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
