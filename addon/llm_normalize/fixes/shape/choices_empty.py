"""A chunk without choices that brings no usage."""

from ...chat.chunks.chunk import ENVELOPE, Chunk, usage_of
from ...chat.extra_fields import MAX_EXTRA_BYTES, fails, size_of
from ...chat.state.stream_state import Asked, Seen
from ...repair.fix import TEXT, USAGE, Example, HoldingFix, chunk
from ...repair.look import Finding

_EXTRA = {"prompt_filter_results": [{"prompt_index": 0}]}
_BARE = chunk(None, **_EXTRA)
_OPENING = {"role": "assistant", "content": ""}
_FRAME = ENVELOPE | {"choices", "obfuscation", "usage"}


class ChoicesEmpty(HoldingFix):
    """Drop the chunk; move its other fields to the next one.

    If no other chunk follows, add a choice, so that no loop over choices fails at it.

    OpenAI's own moderation chunks have no choices, and stay.
    """

    name = "choices-empty"
    changes = "chunk with `choices: []`, no usage -> its other fields on the next chunk"
    why = "Loops copied from guides fail with an IndexError at `choices[0]`."
    providers = ("Azure (content filter results)", "GitHub Copilot")
    handles = Finding.EMPTY_CHOICES
    sources = (
        "https://github.com/continuedev/continue/issues/5580",
        "https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-streaming",
    )
    examples = (
        Example("first", [_BARE, TEXT], [{**TEXT, **_EXTRA}], ended=False),
        Example("alone", [_BARE], [{**_BARE, "choices": chunk(_OPENING)["choices"]}]),
        Example(
            "two alone",
            [{**_BARE, "first": 1}, _BARE],
            [{**_BARE, "first": 1, "choices": chunk(_OPENING)["choices"]}],
        ),
        Example("nothing", [TEXT, chunk(None)], [TEXT], ended=False),
        Example.untouched(
            "usage",
            [TEXT, chunk({}, finish="stop"), chunk(None, usage=USAGE)],
            asked=Asked(stream=True, usage=True),
            ended=False,
        ),
        Example.untouched("moderation", [TEXT, chunk(None, moderation={})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._extra: Chunk = {}
        self._frame: Chunk = {}
        self._size = 0

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Drop such a chunk; add its extra fields to one that follows."""
        if chunk.get("choices") == [] and not usage_of(chunk):
            return "moderation" not in chunk and self._hold(chunk)
        if not self._extra:
            return False
        is_last = usage_of(chunk) and not fails({**self._extra, **chunk})
        if not (chunk.get("choices") or is_last):
            return False
        for key, value in self._extra.items():
            chunk.setdefault(key, value)
        self._extra, self._size = {}, 0
        return True

    def _hold(self, chunk: Chunk) -> list[Chunk]:
        """Hold the extra fields of *chunk*; return them if that would be too much."""
        extra = {
            key: value
            for key, value in chunk.items()
            if key not in _FRAME and value not in (None, "", [], {})
        }
        known = {key: self._extra[key] for key in extra if key in self._extra}
        self._size += size_of(extra) - size_of(known)
        self._extra |= extra
        self._frame = dict(chunk)
        return self.flush() if self._size > MAX_EXTRA_BYTES else []

    def flush(self) -> list[Chunk]:
        """Send the extra fields of a stream without any choice: they may explain it."""
        extra, self._extra, self._size = self._extra, {}, 0
        if not extra:
            return []
        if self.seen.choices:  # they are attached to a held chunk, or sent alone
            return [{**self._frame, **extra, "choices": []}]
        opened = {"index": 0, "delta": dict(_OPENING), "finish_reason": None}
        return [{**self._frame, **extra, "choices": [opened]}]
