"""Each delta brings the whole text again, from its beginning."""

from ...chat.chunk import Chunk, deltas
from ...chat.stream_state import Asked, Seen
from ...repair.fix import Example, Fix, chunk

_TEXTS = ("Tea ", "Tea comes ", "Tea comes from Asia", "Tea comes from Asia.")
_PROOF = 3  # deltas in a row that begin with the whole one before them
_LENGTH = 16  # characters of the last of those
_LETTERS = 5  # different ones: a growing line of dashes or blanks proves nothing
_MOST = 8  # choices that are watched
_DOUBTS = 2  # deltas of a choice that are anything else: it does not tell all again
_NEW = ("", 0, 0)


class ContentCumulative(Fix):
    """Send what is new, once the stream has proved that each delta repeats all before.

    Proof is three deltas in a row, each the whole one before and more. Earlier text
    has been sent by then. A guess could cost text: "ha" then "haha" may be both meant. Two
    deltas that say something else are proof of the contrary.
    """

    name = "content-cumulative"
    changes = "`delta.content` with all text so far, three times -> what is new"
    why = "The answer is shown again with each chunk."
    providers = ("DashScope without incremental output", "Gemini bridges")
    sources = (
        "https://github.com/QwenLM/qwen-code/issues/3896",
        "https://github.com/tashfeenahmed/freellmapi/issues/1007",
    )
    examples = (
        Example(
            "growing",
            [chunk({"content": text}) for text in _TEXTS],
            [
                *[chunk({"content": text}) for text in _TEXTS[:-1]],
                chunk({"content": "."}),
            ],
            ended=False,
        ),
        Example.untouched(
            "blanks",
            [chunk({"content": " " * 2**size}) for size in range(7)],
        ),
        Example.untouched(
            "twice", [chunk({"content": "ha"}), chunk({"content": "haha"})]
        ),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        # The last text, how often it grew, how often not; None once it is clear.
        self._texts: dict[int, tuple[str, int, int] | None] = {}

    def state(self) -> object:
        """Return what is known of the texts so far."""
        return tuple(self._texts.items())

    @property
    def watched(self) -> tuple[str, ...]:
        """The text, as long as it may turn out to be repeated."""
        return ("content",) if not self._texts or any(self._texts.values()) else ()

    def edit(self, chunk: Chunk) -> bool:
        """Cut off what was sent before."""
        changed = False
        for index, _, delta in deltas(chunk):
            text = delta.get("content")
            if not isinstance(text, str) or not text:
                continue
            state = self._texts.get(index, None if len(self._texts) >= _MOST else _NEW)
            if state is None:
                continue
            last, times, doubts = state
            grew = bool(last) and len(text) > len(last) and text.startswith(last)
            times = times + 1 if grew or (times >= _PROOF and text == last) else 0
            doubts += bool(last) and not times
            self._texts[index] = (text, times, doubts) if doubts < _DOUBTS else None
            if times >= _PROOF and len(last) >= _LENGTH and len(set(last)) >= _LETTERS:
                delta["content"] = text[len(last) :]
                changed = True
        return changed
