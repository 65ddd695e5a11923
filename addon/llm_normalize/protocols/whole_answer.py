"""A whole answer of chat: as the one chunk of a stream that says the same, and its failure.

The repair puts an error beside what has been said, or a finish reason that says so. Status
and form are those of an answer, so who reads no further takes it for one.
"""

from ..wire.json_text import as_object, objects_in
from .protocol import JsonObject


def chunk_of(completion: JsonObject) -> JsonObject:
    """Return the chunk that says what a `chat.completion` says."""
    choices = objects_in(completion.get("choices"))
    return {**completion, "choices": [_choice(each) for each in choices]}


def _choice(choice: JsonObject) -> JsonObject:
    message = {**as_object(choice.get("message"))}
    calls = objects_in(message.get("tool_calls"))
    message["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
    return {**choice, "delta": message}


def failure_in(completion: JsonObject) -> JsonObject | None:
    """Return the error in an answer whose choice has failed."""
    found = [completion, *objects_in(completion.get("choices"))]
    error = next(filter(None, (each.get("error") for each in found)), None)
    return {"message": error} if isinstance(error, str) else as_object(error) or None
