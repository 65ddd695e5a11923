"""Repair nearly OpenAI-compatible answers on the wire, inside mitmproxy.

The core (`sse`, `decoding`, `chunk`, `fixes`, `ending`, `pipeline`) does no I/O and
imports no mitmproxy; `addon` is what mitmproxy loads.
"""

__version__ = "0.1.0"
