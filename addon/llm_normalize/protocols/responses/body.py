"""A whole answer as the one chunk of a stream that says the same."""

from ...wire.json_text import Json
from ..protocol import JsonObject


def chunk_of(completion: JsonObject) -> JsonObject:
    """Return the chunk that says what a `chat.completion` says."""
    given = completion.get("choices")
    return {**completion, "choices": [_choice(each) for each in given or ()]}


def _choice(choice: JsonObject) -> JsonObject:
    message = {**(choice.get("message") or {})}
    calls: list[Json] = message.get("tool_calls") or []
    message["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
    return {**choice, "delta": message}


def failure_in(completion: JsonObject) -> JsonObject | None:
    """Return the error in an answer whose choice has failed."""
    found = [completion, *(completion.get("choices") or ())]
    errors = (each.get("error") for each in found if isinstance(each, dict))
    return next((each for each in errors if isinstance(each, dict)), None)
