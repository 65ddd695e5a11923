"""Whether a program is one for Node."""

import os
from pathlib import Path

from ..desktop.machine import Machine

_MOST = 128
"""Bytes of a first line that names the interpreter."""


def is_node(machine: Machine, program: str) -> bool:
    """Tell whether *program* is Node, or a script that names it in its first line."""
    path = Path(os.path.realpath(machine.find(program) or program))
    if path.stem.lower() in ("node", "nodejs"):
        return True
    try:
        with path.open("rb") as file:
            first = file.read(_MOST).split(b"\n")[0]
    except OSError:
        return False
    return first.startswith(b"#!") and b"node" in first
