"""Runs programs to their end, and the scripts in the environment at hand."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest

from workshop import SCRIPTS

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="it measures by way of /proc"
)

# Without _bootstrap.main, which would go to .venv first: this environment will do.
# Whoever runs the suite in the background may have had Ctrl-C ignored.
_HERE = """
import signal
import sys
from importlib import import_module
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
script = import_module(sys.argv[2])
sys.exit(script.run(script.parse(sys.argv[3:])))
"""


def command(script: str, *arguments: str) -> list[str]:
    """Return how to start *script*."""
    return [sys.executable, "-c", _HERE, str(SCRIPTS), script, *arguments]


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run *script* to its end."""
    return ended(command(script, *arguments))


def ended(
    command: Sequence[str], *, check: bool = False, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run *command* to its end, and return it with what it said as text."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.run(command, check=check, **{**piped, "timeout": 300, **more})


def is_empty(group: int) -> bool:
    """Tell whether no process of a process group is left, soon."""
    for _ in range(100):  # each has had its signal; some take a moment to end
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
