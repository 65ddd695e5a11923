"""The names of the events of a response, and what some providers call them instead."""

from ....wire.json_text import as_object, as_string
from ...protocol import JsonObject
from ..spoken_items import PARTS
from .form import Does
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
