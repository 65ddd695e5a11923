"""A message that begins with another event than `message_start`."""

from ..message_events import MADE_ID, STOP, block, delta, end, start, stop
from ..native_fix import MessagesExample, NativeFix

_TEXT = [block("text"), delta("text_delta", "Hi"), stop()]
_NONE = {
    "input_tokens": 1,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_MADE = start(id=MADE_ID, usage=_NONE)


class MessageStartMissing(NativeFix):
    """Begin it: id, model and an estimate of the prompt are what is known."""

    name = "message-start-missing"
    changes = "no `message_start` -> one before the first event"
    why = "Anthropic's SDKs raise on an event before it, and Claude Code asks everything again, unstreamed."
    providers = (
        "AIClient2API",
        "praxis",
    )
    sources = ("https://github.com/praxis-proxy/ai/issues/935",)
    examples = (
        MessagesExample("none", [*_TEXT, end(), STOP], [_MADE, *_TEXT, end(), STOP]),
        MessagesExample.untouched("there", [start(), *_TEXT, end(), STOP]),
        MessagesExample.untouched("a ping before it", [{"type": "ping"}, start()]),
    )
