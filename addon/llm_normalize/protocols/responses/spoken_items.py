"""The items of text in an answer's output: its thoughts, and what it says."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...wire.json_text import Json
from ..protocol import JsonObject, ServerEvent
from .content import packed
from .output_items import IN_PROGRESS, OutputItem


class PartForm(NamedTuple):
    """How a part of an item is sent.

    Attributes:
        text: What the names of its text's events begin with.
        part: Likewise, of its own events.
        place: The key of the item under which it is.
        key: The key of its text.
        more: What else it has.
    """

    text: str
    part: str
    place: str
    key: str = "text"
    more: tuple[str, ...] = ()


PARTS = {
    "output_text": PartForm(
        "output_text", "content_part", "content", more=("annotations", "logprobs")
    ),
    "refusal": PartForm("refusal", "content_part", "content", key="refusal"),
    "reasoning_text": PartForm("reasoning_text", "content_part", "content"),
    "summary_text": PartForm(
        "reasoning_summary_text", "reasoning_summary_part", "summary"
    ),
}
"""The forms of parts, by their type."""


_MEANT = {
    ("message", "content"): ("output_text", "refusal"),
    ("reasoning", "content"): ("reasoning_text",),
    ("reasoning", "summary"): ("summary_text",),
}
"""The kinds of parts that an item may have: by its type and key, the usual one first."""
_ANY_TEXT = ("text", "output_text", "reasoning_text", "summary_text")


def part_kind(item: str, place: str, given: Json) -> str | None:
    """The kind of a part that its provider calls *given*; None for none of text.

    Args:
        item: The type of its item.
        place: The key of the item under which it is.
        given: The type of the part.
    """
    kinds = _MEANT.get((item, place), ())
    if given in kinds:
        return str(given)
    return kinds[0] if kinds and (given is None or given in _ANY_TEXT) else None


def empty_part(kind: str) -> JsonObject:
    """A part of this kind that has no text yet."""
    form = PARTS[kind]
    return {"type": kind, form.key: "", **{each: [] for each in form.more}}


class Spoken(OutputItem):
    """Text, in parts of which one at most is open."""

    def __init__(self, seed: str, index: int, name: str = "") -> None:
        super().__init__(seed, index, name)
        self.parts: dict[str, list[JsonObject]] = {"content": [], "summary": []}
        self.open_part: JsonObject | None = None
        self.is_said = False
        """Whether the end of the open part's text has been sent."""
        self.ended = set[str]()
        """What the parts that have ended say."""
        self._texts: list[str] = []

    def is_in(self, kind: str) -> bool:
        """Tell whether a part of this kind is open, whose text goes on."""
        part = self.open_part
        return part is not None and part["type"] == kind and not self.is_said

    def begin(self, kind: str) -> Iterator[ServerEvent]:
        """Yield the events after which a part of this kind is open."""
        if self.is_in(kind):
            return
        yield from self.parts_closed()
        form, part = PARTS[kind], empty_part(kind)
        self.parts[form.place].append(part)
        self.open_part = part
        yield self._part_event(f"{form.part}.added", part=_copied(part))

    def write(self, text: str, logprobs: Sequence[Json] = ()) -> ServerEvent:
        """The event of more text in the open part."""
        self.keep(text)
        part = self._part()
        if "logprobs" not in part:
            return self._text_event("delta", delta=text)
        part["logprobs"] += logprobs
        return self._text_event("delta", delta=text, logprobs=[*logprobs])

    def keep(self, text: str) -> None:
        """Take more text in the open part."""
        self._texts.append(text)

    @property
    def has_logprobs(self) -> bool:
        """Whether its open part has any."""
        return bool(self._part().get("logprobs"))

    @property
    def text(self) -> str:
        """The text of the open part."""
        return "".join(self._texts)

    def say(self, text: str | None = None) -> Iterator[ServerEvent]:
        """Yield the event of the end of the open part's text, which is *text* if given."""
        if self.is_said:
            return
        self.is_said = True
        part = self._part()
        key = PARTS[part["type"]].key
        part[key] = self.text if text is None else text
        more: JsonObject = (
            {"logprobs": [*part["logprobs"]]} if "logprobs" in part else {}
        )
        yield self._text_event("done", **{key: part[key]}, **more)

    def parts_closed(self) -> Iterator[ServerEvent]:
        """Yield the events of the end of the open part."""
        if self.open_part is None:
            return
        yield from self.say()
        part = self.open_part
        event = self._part_event(f"{PARTS[part['type']].part}.done", part=_copied(part))
        self.ended.add(part[PARTS[part["type"]].key])
        self.open_part, self.is_said, self._texts = None, False, []
        yield event

    def still_open(self) -> Iterator[ServerEvent]:
        """Yield an event that changes nothing."""
        yield self.write("")

    def part_place(self) -> JsonObject:
        """What the events of the open part have in common."""
        place = PARTS[self._part()["type"]].place
        return {**self._place, f"{place}_index": len(self.parts[place]) - 1}

    def _part(self) -> JsonObject:
        assert self.open_part is not None
        return self.open_part

    def _text_event(self, what: str, **fields: Json) -> ServerEvent:
        return self._part_event(f"{PARTS[self._part()['type']].text}.{what}", **fields)

    def _part_event(self, kind: str, **fields: Json) -> ServerEvent:
        return f"response.{kind}", {**self.part_place(), **fields}


class Thoughts(Spoken):
    """Thoughts: parts of a summary, or the thoughts themselves."""

    prefix = "rs"

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        content = self.parts["content"]
        return {
            **self._head("reasoning"),
            "summary": [*self.parts["summary"]],
            **({"content": [*content]} if content else {}),
        }


class Reasoning(Thoughts):
    """Thoughts, as one part of a summary: that is what clients show."""

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        texts = "".join(part["text"] for part in self.parts["summary"])
        is_done = self.status != IN_PROGRESS
        return {
            **super().value(),
            "encrypted_content": packed(texts) if is_done else None,
        }

    def add(self, text: str) -> Iterator[ServerEvent]:
        """Yield the events of more text."""
        yield from self.begin("summary_text")
        yield self.write(text)


class Message(Spoken):
    """What the assistant says: parts of text, and of a refusal."""

    prefix = "msg"

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        content = [*self.parts["content"]]
        return {**self._head("message"), "role": "assistant", "content": content}

    def add(self, text: str, logprobs: list[JsonObject]) -> Iterator[ServerEvent]:
        """Yield the events of more text."""
        yield from self.begin("output_text")
        yield self.write(text, logprobs)

    def refuse(self, text: str) -> Iterator[ServerEvent]:
        """Yield the events of more words of a refusal."""
        yield from self.begin("refusal")
        yield self.write(text)

    def annotate(self, annotation: Json) -> Iterator[ServerEvent]:
        """Yield the events of a citation."""
        yield from self.begin("output_text")
        found = self._part()["annotations"]
        kind, at = "output_text.annotation.added", len(found)
        found.append(annotation)
        yield self._part_event(kind, annotation=annotation, annotation_index=at)


def _copied(part: JsonObject) -> JsonObject:
    """Return a part whose lists do not grow any more: events may be written later."""
    return {
        key: [*each] if isinstance(each, list) else each for key, each in part.items()
    }
