"""Repair nearly OpenAI-compatible answers on the wire, inside mitmproxy.

Each folder is a room, whose docstring says what is inside; tests/test_layout.py states
which room may import from which. `addon` is what mitmproxy loads.
"""

__version__ = "0.1.0"
