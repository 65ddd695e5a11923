"""The command `llm-normalize`: `run` unless another tool is named first.

In a checkout `scripts/run.py` hands over to this once it has made the environment; before
that it has the command line read by `chosen`, on whatever Python there is (3.8, perhaps).
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from .text.console import complain

INTERRUPTED = 130
USAGE = 2


class Tool(NamedTuple):
    """One of the tools.

    Attributes:
        module: Whose `main` takes its arguments and returns the exit code.
        does: What it is for.
    """

    module: str
    does: str


TOOLS = {
    "run": Tool("run.command", "start mitmproxy with the addon (the default)"),
    "demo": Tool("demo.command", "show a repaired stream: no key, no network"),
    "check": Tool("desktop.check.command", "do programs here reach it, and trust it?"),
    "trust": Tool("desktop.trust.command", "let this machine trust mitmproxy's CA"),
    "doctor": Tool("doctor.command", "ask a provider: what do its answers break?"),
    "report": Tool("report.command", "sum up pairs logs: a terminal, a page, JSON"),
    "service": Tool("desktop.service.command", "start it at every login"),
}


def chosen(given: Sequence[str]) -> tuple[str, list[str]]:
    """Return the tool that a command line names, and that tool's arguments.

    Ends the process where the first word is nearly a tool's name.
    """
    words = list(given)
    if not words:
        return "run", words
    if words[0] in TOOLS:
        return words[0], words[1:]
    word = words[0].lstrip("-").lower()
    # mitmproxy takes a filter there, which is hardly ever one short word.
    is_flag = words[0].startswith("-")
    near = difflib.get_close_matches(word, TOOLS, 1, 0.99 if is_flag else 0.6)
    if near and word.isalpha() and words[0] not in _FLAGS:
        complain(f"there is no tool {words[0]}: did you mean {near[0]}?")
        sys.exit(USAGE)
    return "run", words


_FLAGS = {"--demo", "--check"}
"""What `run` knows by the name of a tool."""


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    name, words = chosen(sys.argv[1:] if given is None else given)
    try:
        tool = importlib.import_module(f".{TOOLS[name].module}", __package__)
        code: int = tool.main(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code
