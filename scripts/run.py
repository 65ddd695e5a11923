"""`llm-normalize` in a checkout: its environment made first, then all of its tools."""

from __future__ import annotations

import importlib
import re
import sys

import _bootstrap

ADDON = _bootstrap.ROOT / "addon"


def versions() -> str:
    """Return the versions of what is here, and make nothing."""
    text = (ADDON / "llm_normalize" / "__init__.py").read_text("utf-8")
    ours = re.findall(r'__version__ = "(.+)"', text)
    folder = _bootstrap.ROOT / ".venv"
    packages = sorted(folder.glob("[Ll]ib*/**/site-packages/mitmproxy-*.dist-info"))
    if not packages or not (folder / _bootstrap.STAMP).exists():
        return f"llm_normalize {ours[0]}\nThe first start makes .venv with mitmproxy."
    made = (folder / "pyvenv.cfg").read_text("utf-8")
    python = re.findall(r"(?m)^version(?:_info)? = (.+)$", made)
    used = packages[0].name[len("mitmproxy-") : -len(".dist-info")]
    return f"llm_normalize {ours[0]}\nmitmproxy {used} on Python {python[0]}, in .venv"


def main(*given: str) -> int:
    """Do what `llm-normalize` does with the arguments *given*; return the exit code."""
    # Not this folder: what is in it has names of other packages' modules.
    sys.path[0] = str(ADDON)
    from llm_normalize import cli  # noqa: PLC0415 - its folder is known now

    tool, words = cli.chosen(given)
    if tool == "run":
        before = words[: words.index("--")] if "--" in words else words
        if "--version" in before:
            print(versions())
            return 0
    if tool != "demo":  # which has next to no arguments
        command = importlib.import_module(f"llm_normalize.{cli.TOOLS[tool].module}")
        flags = command.parse(words)  # what is wrong is printed before anything is made
        if tool == "doctor" and flags.list:
            return cli.main(["doctor", *words])
    _bootstrap.ensure(_bootstrap.RUNTIME)
    return cli.main(given)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
