"""Each delta brings the whole reasoning again, from its beginning."""

from collections.abc import Sequence

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.growing_text import GrowingTexts
from ...chat.state.stream_state import Asked, Seen
from ...repair.fix import Example, HoldingFix, chunk
from ...repair.look import Finding

_TEXTS = ("Tea ", "Tea comes ", "Tea comes from Asia", "Tea comes from Asia.")
_KEYS = ("reasoning_content", "reasoning")


class ReasoningCumulative(HoldingFix):
    """Send what is new, once the stream has proved that each delta repeats all before.

    Proof is three deltas in a row, each the whole one before and more. Earlier thoughts have
    been sent by then. A guess could cost text: "ha" then "haha" may be both meant. Two
    deltas that say something else are proof of the contrary.

    A host and model that have proved it are remembered: their later streams are repaired
    from the first event on, until one says the contrary (chat/chunks/growing_text.py has the
    rule).
    """

    name = "reasoning-cumulative"
    changes = (
        "`delta.reasoning_content`, `delta.reasoning` with all of it so far, three times -> "
        "what is new"
    )
    why = "The thoughts are shown again with each chunk."
    providers = ("MiniMax M2", "gateways to it")
    handles = Finding.REASONING
    sources = ("https://github.com/MiniMax-AI/MiniMax-M2/issues/95",)
    examples = (
        Example(
            "growing",
            [chunk({"reasoning_content": text}) for text in _TEXTS],
            [
                *[chunk({"reasoning_content": text}) for text in _TEXTS[:-1]],
                chunk({"reasoning_content": "."}),
            ],
            ended=False,
        ),
        Example.untouched(
            "blanks",
            [chunk({"reasoning_content": " " * 2**size}) for size in range(7)],
        ),
        Example.untouched(
            "twice",
            [chunk({"reasoning_content": "ha"}), chunk({"reasoning_content": "haha"})],
        ),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._texts = GrowingTexts(asked.growth, "reasoning")

    @property
    def watched(self) -> set[str]:
        """The reasoning, as long as it may turn out to be repeated."""
        return set() if self._texts.are_clear else {*_KEYS}

    def reads(self, index: int, keys: Sequence[str], text: str) -> bool:
        """Tell whether it may repeat the one before."""
        return not self._texts.pass_by(index, keys, text)

    @property
    def waiting(self) -> object:
        """What may be chance, or repeated."""
        return self._texts.waiting

    def edit(self, chunk: Chunk) -> bool:
        """Cut off what was sent before."""
        return self._texts.cut(chunk, _KEYS, self.seen.n)

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what is new of what waited."""
        return self._texts.release(indexes)

    def undo(self, n: int) -> None:
        """Know what was known before the event."""
        self._texts.undo(n)
