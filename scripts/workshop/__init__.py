"""What the benchmark, the load and soak tests, the fuzzer and the release share.

It imports the package, what is shipped for a deployment, and of the tests their
independent judge (`judge`) alone: all are put on the path here, and nowhere else.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
ADDON = ROOT / "addon"
NORMALIZE = ADDON / "normalize.py"
"""What mitmproxy's -s takes."""

RECORDED = Path(os.environ.get("LLM_CAPTURES") or ROOT.parent / "shared" / "captures")
"""Answers of real providers: other people's words, so they are not in the repository."""

LOOPBACK = "127.0.0.1"

for _folder in map(str, (ADDON, SCRIPTS / "deploy", ROOT / "tests")):
    if _folder not in sys.path:
        sys.path.append(_folder)


MODULES = {"PYTHONPATH": str(SCRIPTS)}
"""What a child needs in its environment that is a module of the workshop."""


def module(name: str, *arguments: str, python: str = sys.executable) -> "list[str]":
    """Return how to start the module *name* of the workshop; it needs `MODULES`."""
    return [python, "-m", name, *arguments]


def variables(**more: str) -> "dict[str, str]":
    """Return the environment of a child: this one's, and *more*."""
    return {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        **more,
    }
