"""One whole answer where a stream was asked for."""

from ...wire.json_text import dumps
from ..message_events import FIGURES, STOP, block, delta, end, message, start, stop
from ..native_fix import MessagesExample, NativeFix

_WHOLE = dumps(message({"type": "text", "text": "Hi"}))
_TEXT = [block("text"), delta("text_delta", "Hi"), stop()]


class AnswerNotStreamed(NativeFix):
    """Make its events."""

    name = "answer-not-streamed"
    changes = "a body for a stream -> its events"
    why = "Clients find no event in it, and Claude Code asks everything again, unstreamed."
    providers = ("gateways without streaming",)
    sources = ("https://platform.claude.com/docs/en/build-with-claude/streaming",)
    examples = (
        MessagesExample(
            "a message",
            [_WHOLE],
            [start(), *_TEXT, end(usage=dict(FIGURES)), STOP],
        ),
        MessagesExample.untouched("a stream", [start(), *_TEXT, end(), STOP]),
        MessagesExample.untouched("no answer", [b'{"heron": 1}']),
    )
