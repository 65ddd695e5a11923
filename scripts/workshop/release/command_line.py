"""What is generated of the command's parsers: completions for shells, and a manual."""

import argparse
import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest import mock

import shtab

from llm_normalize import cli
from llm_normalize.routing.known_providers import PROVIDERS
from llm_normalize.setup.completion.command import SHELLS
from workshop import ADDON

FOLDER = ADDON / "llm_normalize" / "setup" / "completion"
FILES = ("PAIRS", "FILE")
"""What stands for a file in the help."""


class _FoundError(Exception):
    """Ends a parse; its argument is the parser."""


def _found(parser: argparse.ArgumentParser, *_: Any) -> None:
    raise _FoundError(parser)


def parser_of(tool: str) -> argparse.ArgumentParser:
    """Return the parser of a tool: the one that parses its arguments."""
    module = importlib.import_module(f"llm_normalize.{cli.TOOLS[tool].module}")
    with mock.patch.object(argparse.ArgumentParser, "parse_known_args", _found):
        try:
            module.main([])
        except _FoundError as found:
            return cast("argparse.ArgumentParser", found.args[0])
    raise AssertionError(f"{tool} parses no arguments")


def whole() -> argparse.ArgumentParser:
    """Return one parser of the command, with its tools as subcommands."""
    root = parser_of("run")
    root.description = "Start mitmdump with the addon, or one of its tools."
    parsers = {name: parser_of(name) for name in cli.TOOLS}
    for each in (root, *parsers.values()):
        for action in each._actions:  # noqa: SLF001 - there is no other way to them
            if "--provider" in action.option_strings:
                action.choices = sorted(PROVIDERS)
            if action.metavar in FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    tools = root.add_subparsers()
    for name, parser in parsers.items():
        does = cli.TOOLS[name].does
        tools.add_parser(name, help=does, parents=[parser], add_help=False)
    for name, (base, _) in sorted(PROVIDERS.items()):
        provider = tools.add_parser(name, help=base)
        provider.add_argument("--web", action="store_true")
        provider.add_argument("--console", action="store_true")
    return root


def _roff(text: str, *, is_filled: bool = True) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"(?m)^([.'])", r"\\&\1", text.strip())
    return text if is_filled else f".PP\n.nf\n{text}\n.fi"


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - likewise
        listed = "|".join(action.choices) if action.choices else action.dest.upper()
        value = "" if action.nargs == 0 else action.metavar or listed
        head = " ".join(filter(None, [", ".join(action.option_strings), str(value)]))
        does = (action.help or "") % {"default": action.default, "prog": parser.prog}
        yield f".TP\n.B {_roff(head)}\n{_roff(does)}"


def _section(tool: str) -> str:
    parser = parser_of(tool)
    is_raw = parser.formatter_class is argparse.RawDescriptionHelpFormatter
    # On every version of Python, in whatever terminal.
    with mock.patch.dict(os.environ, {"COLUMNS": "80", "NO_COLOR": "1"}):
        usage = parser.format_usage().removeprefix("usage: ")
    parts = [
        f".SH {tool.upper()}",
        _roff(parser.description or ""),
        _roff(usage.replace("\n       ", "\n"), is_filled=False),
        *_options(parser),
        ".PP",
        _roff(parser.epilog or "", is_filled=not is_raw),
    ]
    return "\n".join(filter(None, parts))


def manual() -> str:
    """Return the manual page of the command and its tools."""
    does = "repair the answers of nearly OpenAI-compatible providers"
    head = f".TH LLM\\-NORMALIZE 1\n.SH NAME\n{_roff(f'llm-normalize - {does}')}"
    return "\n".join([head, *map(_section, cli.TOOLS)]) + "\n"


def documents() -> dict[Path, str]:
    """Return the generated files as they should be."""
    made = {
        FOLDER / file: shtab.complete(whole(), shell) for shell, file in SHELLS.items()
    }
    return {**made, ADDON / "man" / "llm-normalize.1": manual()}
