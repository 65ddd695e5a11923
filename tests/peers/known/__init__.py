"""The peers of workshop/peer_table.py: how each is started, and what it is asked."""

import importlib

from peers.cases import Peer
from workshop import peer_table

PEERS: tuple[Peer, ...] = tuple(
    importlib.import_module(f"peers.known.{module}").PEER for module in peer_table.PEERS
)
