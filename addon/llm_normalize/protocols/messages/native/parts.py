"""What the reader of native messages knows of their parts: blocks, reasons, figures."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ....wire.json_text import Json, as_object, as_string, dumps, whole_number
from ...object_end import ObjectEnd
from ...protocol import JsonObject

INPUT = "input_json_delta"
SIGNED = "signature_delta"
EMPTY: dict[str, JsonObject] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
"""What the start of a block has, by its kind."""
KINDS = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    SIGNED: "thinking",
}
"""The kind of block that a delta belongs to; a call's input may be of several."""
WORDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    SIGNED: "signature",
    INPUT: "partial_json",
}
"""The key of a delta's text."""
_REASONS = {
    "stop": "end_turn",
    "eos": "end_turn",
    "eos_token": "end_turn",
    "end": "end_turn",
    "completed": "end_turn",
    "length": "max_tokens",
    "max_length": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_new_tokens": "max_tokens",
    "model_length": "max_tokens",
    "tool_call": "tool_use",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "safety": "refusal",
}
"""Reasons of OpenAI and others, and what Anthropic says."""
_OWN = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal")
_CHAT = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
NO_CACHE: JsonObject = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
USES = "tool_use"
"""What the kinds of blocks end with that have an input."""


@dataclass(slots=True)
class Block:
    """A block that has not been sent to its end.

    Attributes:
        given: Its index as the provider says it.
        kind: What it is.
        index: Its index as it is sent.
        call: The id of a call, as the provider says it.
        said: What its start says that belongs into deltas.
        waiting: Its events, while one before it is open.
        end: Where its input ends.
        fix: The fix that has begun it, if its start was missing.
        has_delta: Whether any delta of it has come.
        is_hit: Whether a part of its input may have been lost.
        is_signed: Whether it has a signature.
        has_ended: Whether it is complete.
    """

    given: Json
    kind: str
    index: int
    call: Json = None
    said: list[JsonObject] = field(default_factory=list)
    waiting: list[JsonObject] = field(default_factory=list)
    end: ObjectEnd = field(default_factory=ObjectEnd)
    fix: str = ""
    has_delta: bool = False
    is_hit: bool = False
    is_signed: bool = False
    has_ended: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing more can belong to it, once another block follows."""
        return bool(not self.kind.endswith(USES) or self.said or self.end.is_reached)

    def is_same(self, value: JsonObject, given: JsonObject) -> bool:
        """Tell whether a start says what its own has said, and nothing was between."""
        is_named = self.given == value.get("index") and self.kind == given.get("type")
        return is_named and self.call == given.get("id") and not self.has_delta


class Parted(NamedTuple):
    """A whole block as its start and its deltas.

    Attributes:
        start: The block as its start has it.
        deltas: The rest.
    """

    start: JsonObject
    deltas: list[JsonObject]


def parted(block: JsonObject) -> Parted:
    """Return what a start of *block* has, and the deltas of what it says beyond that."""
    kind = as_string(block.get("type"))
    if kind == USES:
        # Anthropic itself sends the input of a call by another tool in its start.
        given = block.get("input") if use_in(block) == USES else None
        text = given if isinstance(given, str) else dumps(given).decode()
        deltas: list[JsonObject] = [{"type": INPUT, "partial_json": text}]
        return Parted({**block, "input": {}}, deltas) if given else Parted(block, [])
    keys = [key for key in EMPTY.get(kind, {}) if as_string(block.get(key))]
    deltas = [{"type": f"{key}_delta", key: block[key]} for key in keys]
    return Parted({**block, **EMPTY.get(kind, {})} if deltas else block, deltas)


def own_reason(given: Json) -> str | None:
    """Return the reason of an end in Anthropic's words, whatever there was before it."""
    if not isinstance(given, str):
        return "end_turn" if given else None  # the number of a token, say
    said = given.lower()
    return _REASONS.get(said) or (said if said in _OWN else given)


def use_in(block: JsonObject) -> str:
    """Return the kind of *block*: a call by another tool is not the model's own."""
    kind = as_string(block.get("type"))
    caller = as_object(block.get("caller")).get("type", "direct")
    return kind if kind != USES or caller == "direct" else f"programmatic_{USES}"


def reason_of(
    given: Json, stop: Json, stops: Collection[str], kinds: Iterable[str]
) -> Json:
    """Return the reason of the end of a message in Anthropic's words.

    Args:
        given: The reason as the provider says it.
        stop: The stop sequence, likewise.
        stops: Those of the request.
        kinds: The kinds of blocks that the message has.
    """
    known = [*kinds]
    has_call = USES in known
    found = own_reason(given)
    if found in ("end_turn", "stop_sequence") and has_call:
        return USES
    if found == "end_turn" and isinstance(stop, str) and stop in stops:
        return "stop_sequence"
    if found == USES and not any(each.endswith(USES) for each in known):
        return "end_turn"
    return found or None


def by_own_names(usage: JsonObject) -> JsonObject:
    """Return figures, as numbers, with Anthropic's names beside chat's."""
    made = {**usage}
    for name in ("input_tokens", "output_tokens", *NO_CACHE):
        if isinstance(usage.get(name), str):
            made[name] = whole_number(usage[name])
    for foreign, name in _CHAT.items():
        figure = whole_number(usage.get(foreign))
        if figure is not None and whole_number(usage.get(name)) is None:
            made[name] = figure
    return made


def prompt_in(usage: JsonObject) -> int:
    """Return the tokens of the prompt, those of the cache among them."""
    names = ("input_tokens", *NO_CACHE)
    return sum(whole_number(usage.get(name)) or 0 for name in names)
