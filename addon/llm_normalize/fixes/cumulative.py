"""Texts of which each delta brings all again, from the beginning."""

from ..chat.chunks.chunk import Chunk
from ..repair.cumulative_text import CumulativeTextFix
from ..repair.fix import Example, chunk
from ..repair.look import Finding


def _examples(key: str) -> tuple[Example, ...]:
    def each(*texts: str) -> list[Chunk]:
        return [chunk({key: text}) for text in texts]

    texts = ("Tea ", "Tea comes ", "Tea comes from Asia")
    return (
        Example("growing", each(*texts, "Tea comes from Asia."), each(*texts, ".")),
        Example.untouched("blanks", each(*(" " * 2**size for size in range(7)))),
        Example.untouched("twice", each("ha", "haha")),
    )


# Each delta brings the whole text again, from its beginning.
class ContentCumulative(CumulativeTextFix):
    """Send what is new, once the stream has proved that each delta repeats all before.

    Proof is three deltas in a row, each the whole one before and more. Earlier text
    has been sent by then. A guess could cost text: "ha" then "haha" may be both meant. Two
    deltas that say something else are proof of the contrary.

    A host and model that have proved it are remembered: their later streams are repaired
    from the first event on, until one says the contrary (repair/cumulative_text.py has the
    rule).
    """

    name = "content-cumulative"
    changes = "`delta.content` with all text so far, three times -> what is new"
    why = "The answer is shown again with each chunk."
    providers = ("DashScope without incremental output", "Gemini bridges")
    kind = "content"
    keys = ("content",)
    handles = Finding.CONTENT
    sources = (
        "https://github.com/QwenLM/qwen-code/issues/3896",
        "https://github.com/tashfeenahmed/freellmapi/issues/1007",
    )
    examples = _examples("content")


# Each delta brings the whole reasoning again, from its beginning.
class ReasoningCumulative(CumulativeTextFix):
    """Send what is new, once the stream has proved that each delta repeats all before.

    Proof is three deltas in a row, each the whole one before and more. Earlier thoughts have
    been sent by then. A guess could cost text: "ha" then "haha" may be both meant. Two
    deltas that say something else are proof of the contrary.

    A host and model that have proved it are remembered: their later streams are repaired
    from the first event on, until one says the contrary (repair/cumulative_text.py has the
    rule).
    """

    name = "reasoning-cumulative"
    changes = (
        "`delta.reasoning_content`, `delta.reasoning` with all of it so far, three times -> "
        "what is new"
    )
    why = "The thoughts are shown again with each chunk."
    providers = ("MiniMax M2", "gateways to it")
    kind = "reasoning"
    keys = ("reasoning_content", "reasoning")
    handles = Finding.REASONING
    sources = ("https://github.com/MiniMax-AI/MiniMax-M2/issues/95",)
    examples = _examples("reasoning_content")
