"""Events of any protocol but chat: their names, and what does not belong there."""

from ..wire.json_text import dumps
from .message_events import FIGURES, STOP, block, delta, end, message, start, stop
from .native_fix import MessagesExample, NativeFix

_EVENT = b'data: {"type":"ping"}\n\n'


# An event without its name, or with another than its type.
class EventNameMissing(NativeFix):
    """Name it as its type says."""

    name = "event-name-missing"
    changes = "no `event:` line, or another name -> the `type`"
    why = (
        "Anthropic's SDKs and pi dispatch by the name, and drop all events without one."
    )
    providers = ("gateways", "cc-switch")
    sources = (
        "https://github.com/earendil-works/pi/issues/4381",
        "https://github.com/openclaw/openclaw/pull/37617",
    )
    examples = (
        MessagesExample("none", [start(), _EVENT], [start(), {"type": "ping"}]),
    )


_BARE = b"event: message_stop\ndata: {}\n\n"
_NULL = b'event: message_stop\ndata: {"type":null}\n\n'


# Data without the type that its event's name says.
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
        MessagesExample.untouched(
            "of no event that is known", [b"event: odd\ndata: {}\n\n"]
        ),
    )


_DONE = b"data: [DONE]\n\n"


# Chat's `[DONE]` in another protocol.
class DoneForeign(NativeFix):
    """Drop it; a message whose reason is known stops there."""

    name = "done-foreign"
    changes = "`data: [DONE]` -> removed"
    why = "Clients try to decode it as an event, and raise behind a whole answer."
    providers = ("vLLM", "TensorRT-LLM", "gateways")
    sources = ("https://github.com/praxis-proxy/ai/issues/935",)
    examples = (
        MessagesExample.begun("behind it", [end(), STOP, _DONE], [end(), STOP]),
    )


_WHOLE = dumps(message({"type": "text", "text": "Hi"}))
_TEXT = [block("text"), delta("text_delta", "Hi"), stop()]


# One whole answer where a stream was asked for.
class AnswerNotStreamed(NativeFix):
    """Make its events."""

    name = "answer-not-streamed"
    changes = "a body for a stream -> its events"
    why = "Clients find no event in it, and Claude Code asks everything again, unstreamed."
    providers = ("gateways without streaming",)
    sources = ("https://platform.claude.com/docs/en/build-with-claude/streaming",)
    examples = (
        MessagesExample(
            "a message", [_WHOLE], [start(), *_TEXT, end(usage=dict(FIGURES)), STOP]
        ),
        MessagesExample.untouched("no answer", [b'{"heron": 1}']),
    )
