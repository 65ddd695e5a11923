"""Which Node this machine has, and whether its programs follow the proxy variables."""

import os
from pathlib import Path

from .machine import Machine

SWITCH = "NODE_USE_ENV_PROXY"
"""Set to 1, it has Node's own `fetch` and `https` follow them."""
SINCE = "22.21 and 24.5"
_MOST = 128
"""Bytes of a first line that names the interpreter."""
_KNOWS = (
    "process.stdout.write(process.version + "
    "(process.allowedNodeEnvironmentFlags.has('--use-env-proxy') ? ' ok' : ''))"
)


def version(machine: Machine) -> tuple[str, bool]:
    """Return Node's version, empty without one that starts, and whether it knows `SWITCH`."""
    if machine.find("node") is None:
        return "", False
    asked = machine.run(["node", "-e", _KNOWS], timeout=5)
    found, _, knows = asked.out.strip().partition(" ")
    return ("", False) if asked.code else (found, bool(knows))


def ignores(found: str) -> str:
    """A sentence on the programs of a Node that does not know `SWITCH`."""
    return (
        f"Node {found} ignores proxy variables ({SINCE} follow them): "
        "its programs go past the proxy, unrepaired"
    )


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
