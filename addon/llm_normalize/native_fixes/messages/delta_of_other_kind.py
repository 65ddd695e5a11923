"""Thoughts in a block of text, or text in one of a call."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix

_TEXT = [start(), block("text"), delta("text_delta", "Hi")]


class DeltaOfOtherKind(NativeFix):
    """Begin a block of their own for them."""

    name = "delta-of-other-kind"
    changes = "a delta of another kind in an open block -> a block of its kind"
    why = (
        "SDKs drop or mix what they say; Claude Code asks everything again, unstreamed."
    )
    providers = (
        "LiteLLM",
        "SGLang",
    )
    sources = (
        "https://github.com/BerriAI/litellm/issues/33224",
        "https://github.com/BerriAI/litellm/pull/32105",
    )
    examples = (
        MessagesExample(
            "thoughts in text",
            [*_TEXT, delta("thinking_delta", "Hm")],
            [
                *_TEXT,
                stop(),
                block("thinking", 1),
                delta("thinking_delta", "Hm", 1),
            ],
        ),
        MessagesExample.untouched("of its kind", _TEXT),
    )
