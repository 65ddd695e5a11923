"""A message that stops without a reason."""

from ..message_events import STOP, block, delta, end, start, stop
from ..native_fix import MessagesExample, NativeFix

_COUNTED = {
    "input_tokens": 5,
    "output_tokens": 1,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_CALL = [block("tool_use"), delta("input_json_delta", "{}"), stop()]


class MessageDeltaMissing(NativeFix):
    """Put in the reason before its end, which the provider has sent: a call, or the end of the turn."""

    name = "message-delta-missing"
    changes = "`message_stop` without `message_delta` -> one before it"
    why = "The AI SDK and Claude Code know of no reason: a call is not run."
    providers = (
        "gateways",
        "AIClient2API",
    )
    sources = ("https://github.com/praxis-proxy/ai/issues/935",)
    examples = (
        MessagesExample(
            "of a call",
            [start(), *_CALL, STOP],
            [start(), *_CALL, end("tool_use", usage=_COUNTED), STOP],
        ),
        MessagesExample.untouched("there", [start(), *_CALL, end("tool_use"), STOP]),
        MessagesExample.untouched("broken off", [start(), *_CALL], ended=False),
    )
