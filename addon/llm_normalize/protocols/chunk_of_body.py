"""A whole answer as the one chunk of a stream that says the same."""

from .json_values import as_object, objects_in
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
