"""A whole answer, as a message."""

from ...wire.json_text import Json
from ..call_ids import CallIds
from ..json_values import as_object, as_string, objects_in
from ..protocol import JsonObject
from .answer_form import (
    SIGNATURE,
    first_choice,
    message,
    stop_reason,
    tool_input,
    usage,
)


def message_of(
    completion: JsonObject, message_id: str, model: Json, ids: CallIds
) -> JsonObject:
    """Translate a repaired `chat.completion`.

    Args:
        completion: The answer.
        message_id: The id of the message.
        model: The model that the request names.
        ids: Gives the calls their ids.
    """
    found = message(message_id, model or completion.get("model"))
    choice = first_choice(completion) or {}
    said = as_object(choice.get("message"))
    content: list[Json] = found["content"]
    thought = as_string(said.get("reasoning_content"))
    if thought:
        block = {"type": "thinking", "thinking": thought, "signature": SIGNATURE}
        content.append(block)
    text = as_string(said.get("content")) + as_string(said.get("refusal"))
    if text:
        content.append({"type": "text", "text": text})
    calls = objects_in(said.get("tool_calls"))
    content += [_tool_use(each, ids) for each in calls]
    found["stop_reason"] = stop_reason(
        choice.get("finish_reason"), has_call=bool(calls)
    )
    found["usage"] = usage(completion.get("usage"))
    return found


def _tool_use(call: JsonObject, ids: CallIds) -> JsonObject:
    function = as_object(call.get("function"))
    return {
        "type": "tool_use",
        "id": ids.take(call.get("id")),
        "name": as_string(function.get("name")),
        "input": tool_input(as_string(function.get("arguments"))),
    }
