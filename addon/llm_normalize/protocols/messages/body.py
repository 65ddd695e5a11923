"""A whole answer, as a message."""

from ...wire.json_text import Json
from ..call_arguments import arguments_in
from ..json_values import as_object, as_string, objects_in
from ..protocol import JsonObject
from .answer_form import (
    SIGNATURE,
    Asked,
    ending,
    first_choice,
    message,
    tool_use,
    usage,
)


def message_of(completion: JsonObject, asked: Asked) -> JsonObject:
    """Translate a repaired `chat.completion`.

    Args:
        completion: The answer.
        asked: What was asked.
    """
    found = message(asked, completion.get("model"))
    choice = first_choice(completion) or {}
    said = as_object(choice.get("message"))
    content: list[Json] = found["content"]
    thought = as_string(said.get("reasoning_content"))
    if thought:
        block = {"type": "thinking", "thinking": thought, "signature": SIGNATURE}
        content.append(block)
    text = as_string(said.get("content")) + as_string(said.get("refusal"))
    calls = objects_in(said.get("tool_calls"))
    if text.strip() or (text and not calls):
        content.append({"type": "text", "text": text})
    spelled = [_arguments(each) for each in calls]
    content += [
        tool_use(call, arguments_in(text), asked)
        for call, text in zip(calls, spelled, strict=True)
    ]
    asked.figures.take(completion.get("usage"))
    asked.figures.write("".join([thought, text, *spelled]))
    found |= ending(choice, asked.stops, has_call=bool(calls))
    found["usage"] = usage(asked.figures.counts())
    return found


def _arguments(call: JsonObject) -> str:
    return as_string(as_object(call.get("function")).get("arguments"))
