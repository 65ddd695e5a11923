"""The fixes of answers in a client's own protocol, Responses or Messages.

They are declarations. The reader of the protocol (`protocols/PROTOCOL/native.py`) repairs
under their names: what must follow what is one thing, and known in one place.
"""

from ..repair.declaration import declared
from .native_fix import NativeFix

_MESSAGES = """
messages.message_usage_missing
"""
_RESPONSES = """
"""

NATIVE_FIXES: tuple[type[NativeFix], ...] = (
    *declared(__name__, _MESSAGES),
    *declared(__name__, _RESPONSES),
)
