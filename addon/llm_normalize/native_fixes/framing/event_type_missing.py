"""Data without the type that its event's name says."""

from ..message_events import STOP, end, start
from ..native_fix import MessagesExample, NativeFix

_BARE = b"event: message_stop\ndata: {}\n\n"
_NULL = b'event: message_stop\ndata: {"type":null}\n\n'


class EventTypeMissing(NativeFix):
    """Put it in."""

    name = "event-type-missing"
    changes = "no `type` in the data -> the event's name"
    why = "SDKs that read the data alone do not know the event."
    providers = ("gateways",)
    sources = ("https://platform.claude.com/docs/en/build-with-claude/streaming",)
    examples = (
        MessagesExample("none", [start(), end(), _BARE], [start(), end(), STOP]),
        MessagesExample("null", [start(), end(), _NULL], [start(), end(), STOP]),
        MessagesExample.untouched("there", [start(), end(), STOP]),
        MessagesExample.untouched(
            "of no event that is known", [b"event: odd\ndata: {}\n\n"]
        ),
    )
