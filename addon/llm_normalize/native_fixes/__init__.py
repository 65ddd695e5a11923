"""The fixes of answers in a client's own protocol, Responses or Messages.

They are declarations. The reader of the protocol (`protocols/PROTOCOL/native`) repairs
under their names: what must follow what is one thing, and known in one place.
"""

from ..repair.declaration import declared_in
from . import framing
from .messages import blocks, message
from .native_fix import NativeFix
from .responses import calls, completed, events, items, response, text

_MODULES = (framing, message, blocks, response, events, items, text, calls, completed)
NATIVE_FIXES: tuple[type[NativeFix], ...] = tuple(
    each for module in _MODULES for each in declared_in(module)
)
