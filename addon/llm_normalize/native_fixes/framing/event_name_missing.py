"""An event without its name, or with another than its type."""

from ..message_events import start
from ..native_fix import MessagesExample, NativeFix

_EVENT = b'data: {"type":"ping"}\n\n'


class EventNameMissing(NativeFix):
    """Name it as its type says."""

    name = "event-name-missing"
    changes = "no `event:` line, or another name -> the `type`"
    why = (
        "Anthropic's SDKs and pi dispatch by the name, and drop all events without one."
    )
    providers = (
        "gateways",
        "cc-switch",
    )
    sources = (
        "https://github.com/earendil-works/pi/issues/4381",
        "https://github.com/openclaw/openclaw/pull/37617",
    )
    examples = (
        MessagesExample("none", [start(), _EVENT], [start(), {"type": "ping"}]),
        MessagesExample.untouched("there", [start(), {"type": "ping"}]),
    )
