"""A message that stops twice."""

from ..message_events import STOP, end, start
from ..native_fix import MessagesExample, NativeFix


class MessageStopRepeated(NativeFix):
    """Drop the second stop."""

    name = "message-stop-repeated"
    changes = "a second `message_stop` -> removed"
    why = "Clients take what follows the end for a message that has not begun."
    providers = ("gateways",)
    sources = ("https://github.com/anthropics/claude-code/issues/67809",)
    examples = (
        MessagesExample("twice", [start(), end(), STOP, STOP], [start(), end(), STOP]),
        MessagesExample.untouched("once", [start(), end(), STOP]),
    )
