"""The peers of compatibility.md: how each is started, and what it is asked."""

import importlib
from pathlib import Path

from peers.cases import Peer

_MODULES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
PEERS: tuple[Peer, ...] = tuple(
    importlib.import_module(f"peers.known.{module}").PEER for module in _MODULES
)
