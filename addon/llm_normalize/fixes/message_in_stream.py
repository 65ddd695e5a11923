"""`message` beside or instead of `delta` in a stream, often all that was said so far."""

from ..chunk import Chunk, choices, index_of, news, repeats, says
from ..fix import Example, Fix, chunk
from ..stream_state import MANY, Asked, Seen

_MOST = 8  # choices whose last message is kept


def _each(key: str, *texts: str) -> list[Chunk]:
    choice = {"index": 0, "finish_reason": None}
    said = [{**choice, key: {"content": text}} for text in texts]
    return [chunk(None, choices=[each]) for each in said]


_NEWS = _each("delta", "Hi", " you")


class MessageInStream(Fix):
    """Send what a message adds as the delta, where no delta says it.

    A message that begins with the whole message before it has it all again.
    """

    name = "message-in-stream"
    changes = "`message` in a stream -> removed beside a delta, else its news as one"
    why = "Clients read the delta, and show nothing or the whole text again."
    providers = ("Perplexity", "servers that ignore `stream`")
    sources = (
        "https://github.com/MacPaw/OpenAI/issues/317",
        "https://docs.perplexity.ai/guides/streaming-responses",
    )
    examples = (
        Example(
            "beside",
            [chunk({"content": "Hi"}, choice={"message": {"content": "Hi"}})],
            [chunk({"content": "Hi"})],
            ended=False,
        ),
        Example("growing", _each("message", "Hi", "Hi you"), _NEWS, ended=False),
        Example("news only", _each("message", "Hi", " you"), _NEWS, ended=False),
        Example.untouched("none", [chunk({"content": "Hi"})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._told: dict[int, Chunk | None] = {}  # the message before, if they grow
        self._by_delta: set[int] = set()

    def edit(self, chunk: Chunk) -> bool:
        """Replace the messages by deltas."""
        changed = False
        for choice in choices(chunk):
            index = index_of(choice)
            delta = choice.get("delta")
            if isinstance(delta, dict) and says(delta) and len(self._by_delta) < MANY:
                self._by_delta.add(index)
            message = choice.pop("message", None)
            changed |= message is not None
            if isinstance(message, dict) and index not in self._by_delta:
                choice["delta"] = self._news(index, message)
        return changed

    def _news(self, index: int, message: Chunk) -> Chunk:
        old = self._told.get(index, {})
        grows = old is not None and repeats(old, message)
        if index in self._told or len(self._told) < _MOST:
            self._told[index] = {**(old or {}), **message} if grows else None
        return news(old, message) if old and grows else message
