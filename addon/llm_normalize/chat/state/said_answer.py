"""What an answer has said that its client may not send back: reasoning, fields of calls.

Of the first choice alone, the one that goes on. Its text is stored behind reasoning only:
it is needed to recognise that answer.
"""

from collections.abc import Sequence

from ...wire.json_text import Json, dumps, loads
from ..chunks.chunk import REASONING, Chunk, calls, index_of

TEXT = "content"
_STORED = 256 * 1024  # bytes of a text; a longer one is not remembered
_CALLS = 128
_ID = 1000  # characters of the id of a call; one that is longer is not remembered
_OWN = {"index", "id", "type", "function", "custom"}


class GrowingText:
    """A text as it is spelled in JSON; nothing once it is too long."""

    __slots__ = ("_text", "size")

    def __init__(self) -> None:
        self._text: bytes | bytearray = b""  # most answers have none
        self.size = 0
        """Its bytes, even those that are no longer stored."""

    def add(self, part: bytes) -> None:
        """Add what comes next."""
        self.size += len(part)
        if self.size > _STORED:
            self._text = b""
            return
        self._text = self._text or bytearray()
        self._text += part

    def __str__(self) -> str:
        return str(loads(b'"' + self._text + b'"'))


class SaidAnswer:
    """What one answer has said so far.

    Attributes:
        calls: The ids of its calls, each with the fields that OpenAI does not define.
    """

    __slots__ = ("_extra", "_reasoning", "_text", "calls")

    def __init__(self) -> None:
        self.calls: dict[int, tuple[str, dict[str, Json]]] = {}
        self._reasoning = GrowingText()
        self._text = GrowingText()
        self._extra = 0  # bytes of fields that OpenAI does not define

    @property
    def reasoning(self) -> str:
        """Its reasoning; empty if that is too long."""
        return str(self._reasoning)

    @property
    def text(self) -> str:
        """Its text, if it has reasoning."""
        return str(self._text)

    def __bool__(self) -> bool:
        return self._reasoning.size > 0 or any(
            extra for _, extra in self.calls.values()
        )

    def note(self, delta: Chunk) -> None:
        """Record a delta, or a message, as it is sent."""
        first, other = REASONING
        thought = delta.get(first) or delta.get(other)
        if isinstance(thought, str):
            self._reasoning.add(dumps(thought)[1:-1])
        text = delta.get(TEXT)
        if self._reasoning.size and text and isinstance(text, str):
            self._text.add(dumps(text)[1:-1])
        if "tool_calls" in delta:
            for call in calls(delta):
                self._note_call(call)

    def _note_call(self, call: Chunk) -> None:
        at = index_of(call)
        identity, extra = self.calls.get(at, ("", {}))
        if at not in self.calls and len(self.calls) >= _CALLS:
            return
        given = call.get("id")
        more = {key: value for key, value in call.items() if key not in _OWN}
        self._extra += len(dumps(more)) if more else 0
        if self._extra > _STORED:
            extra = more = {}
        if not identity and isinstance(given, str) and len(given) <= _ID:
            identity = given
        self.calls[at] = identity, {**extra, **more}

    def growing(self, keys: Sequence[str]) -> GrowingText | None:
        """The text that grows with these *keys* of a delta, if it is stored."""
        if TEXT in keys:
            return self._text if self._reasoning.size else None
        return self._reasoning if keys else None

    @classmethod
    def of(cls, message: Json) -> "SaidAnswer":
        """Return what a whole *message* says."""
        made = cls()
        if isinstance(message, dict):
            listed = enumerate(calls(message))
            made.note(
                {
                    **message,
                    "tool_calls": [{**call, "index": at} for at, call in listed],
                }
            )
        return made
