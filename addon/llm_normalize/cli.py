"""The command `llm-normalize`: `run` unless another tool is named first.

`scripts/run.py` makes the environment of a checkout and hands over to this.
"""

import importlib
import sys
from collections.abc import Sequence

TOOLS = {
    "run": "run.command",
    "demo": "demo.command",
    "check": "desktop.check.command",
    "trust": "desktop.trust.command",
    "doctor": "doctor.command",
    "report": "report.command",
    "service": "desktop.service.command",
}
"""Each tool and the module whose `main` takes its arguments and returns the exit code."""
INTERRUPTED = 130


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    words = list(sys.argv[1:] if given is None else given)
    name = words.pop(0) if words and words[0] in TOOLS else "run"
    tool = importlib.import_module(f".{TOOLS[name]}", __package__)
    try:
        code: int = tool.main(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code
