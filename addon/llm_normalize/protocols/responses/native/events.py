"""The events of a response: their names, and what a client gets in the place of its provider's own.

The last of those that are due is the provider's own, which is changed only where it departs
from that; those before it are missing, and put in. With a fix switched off the same is
known, and what that fix would send is not sent.
"""

from collections.abc import Iterable
from typing import override

from ....wire.json_text import as_object, as_string
from ...native_reader import NativeAsked, NativeReader
from ...protocol import JsonObject, ServerEvent
from ..spoken_items import PARTS
from .form import Does, fitted
from .response import UNFINISHED, response_in

TEXTS = {f"response.{form.text}": kind for kind, form in PARTS.items()}
"""What the names of a text's events begin with, and the kind of its part."""
CALLS = {
    "response.function_call_arguments": "function_call",
    "response.custom_tool_call_input": "custom_tool_call",
}
"""Likewise of a call, and the kind of its item."""
_FOREIGN = {
    "response.reasoning.delta": "response.reasoning_text.delta",
    "response.reasoning.done": "response.reasoning_text.done",
    "response.reasoning_part.added": "response.content_part.added",
    "response.reasoning_part.done": "response.content_part.done",
    "response.reasoning_summary.part.added": "response.reasoning_summary_part.added",
    "response.reasoning_summary.part.done": "response.reasoning_summary_part.done",
    "response.reasoning_summary.delta": "response.reasoning_summary_text.delta",
    "response.reasoning_summary.done": "response.reasoning_summary_text.done",
    "response.text.delta": "response.output_text.delta",
    "response.text.done": "response.output_text.done",
    "response.error": "error",
}
"""Names that OpenAI does not have, or no longer, and its own."""
_ENDS = ("completed", "incomplete", "failed")
_DONE = ("response.done", "response.completed")
"""Names of the end of a response, whose status says what end it is."""
_FIELDS = "event-fields-missing"
_INNER = (("item", "item-fields-missing"), ("part", _FIELDS))
"""What an event may be about, and the fix of what that lacks."""
_MISSING = {
    "response.output_item.added": "item-added-missing",
    "response.output_item.done": "item-done-missing",
    "response.content_part.added": "part-added-missing",
    "response.content_part.done": "part-done-missing",
    "response.reasoning_summary_part.added": "part-added-missing",
    "response.reasoning_summary_part.done": "part-done-missing",
}
"""The fixes that put in events that are neither text nor its end."""


def named(name: str, value: JsonObject, does: Does) -> JsonObject | None:
    """An event by OpenAI's name; None for none that is known by one.

    Args:
        name: The name on its own line; empty without one.
        value: Its data.
        does: Tells which fixes are on.
    """
    kind = value.get("type")
    if not isinstance(kind, str):
        is_named = name.startswith("response.")
        kind = "error" if value.get("error") and not is_named else name
        if not (is_named or kind == "error") or not does("event-type-missing"):
            return None
        value = {"type": kind, **value, **({"type": kind} if "type" in value else {})}
    due = _FOREIGN.get(kind)
    if kind in _DONE:
        status = response_in(value).get("status") or "completed"
        status = "completed" if status in UNFINISHED else status
        due = f"response.{status}" if status in _ENDS else None
        due = None if due == kind else due
    if due is None or not does("event-name-foreign"):
        return value
    return {**value, "type": due, **_words(value)}


def _words(value: JsonObject) -> JsonObject:
    """The text of an event that has it in an object."""
    delta = as_object(value.get("delta"))
    return {"delta": as_string(delta.get("text"))} if delta else {}


class EventReader(NativeReader):
    """Sends events with their numbers. See `ResponsesReader`."""

    def __init__(self, asked: NativeAsked) -> None:
        super().__init__(asked)
        self._number = 0
        self._lost = 0
        """Events that were lost since the last one that has a number."""

    @override
    def lose(self) -> None:
        super().lose()
        self._number += 1
        self._lost += 1

    def _numbered(self, value: JsonObject) -> None:
        """Send an event of the provider's with its number."""
        said, due = value.get("sequence_number"), self._number
        if type(said) is int and due - self._lost <= said <= due:
            due = said  # not all of them may have had one
        self._number, self._lost = due + 1, 0
        if type(said) is int and said == due:
            self._send(value)
        elif self._does("sequence-number-wrong"):
            self._send({**value, "sequence_number": due})
        else:
            self._send(value)

    def _put_in(self, events: Iterable[ServerEvent], fix: str = "") -> None:
        """Send events that are missing."""
        for kind, fields in events:
            if self._does(fix or _fix_for(kind)):
                number = self._number - self._lost  # that of what was lost
                if self._lost:
                    self._lost -= 1
                else:
                    self._number += 1
                self._send({"type": kind, "sequence_number": number, **fields})

    def _own(
        self, value: JsonObject, events: Iterable[ServerEvent], *optional: str
    ) -> JsonObject:
        """Send the provider's own event in the place of the last one, and put in the others.

        Args:
            value: The event.
            events: What there has to be.
            optional: Keys that it need not have.

        Returns:
            The event as it was sent.
        """
        *missing, (_, due) = events
        if missing:
            self._put_in(missing)
        for key in optional:
            due.pop(key, None)
        for key, other in _INNER:
            if key in due:
                given = as_object(value.get(key))
                made = fitted(given, due.pop(key), self._does, other)
                if made is not value.get(key):
                    value = {**value, key: made}
        made = fitted(value, due, self._does, _FIELDS)
        self._numbered(made)
        return made


def _fix_for(kind: str) -> str:
    if kind.endswith(".delta"):
        return "text-delta-missing"
    return _MISSING.get(kind, "text-done-missing")
