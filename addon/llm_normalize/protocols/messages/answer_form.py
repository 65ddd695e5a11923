"""What the stream and the body of an answer have in common."""

from typing import Literal

from ...wire.json_text import Json, loads, whole_number
from ..json_values import as_object, as_string, objects_in
from ..protocol import JsonObject

type BlockKind = Literal["thinking", "text", "tool_use"]

SIGNATURE = "llm-normalize"
"""Of thoughts: nobody but Anthropic can sign one so that Anthropic accepts it.

It must not be empty: pi takes thoughts without a signature for text. No client reads what
it says, and `request` ignores it, since the thoughts themselves come back beside it.
"""

_REASONS = {"length": "max_tokens", "content_filter": "refusal"}
_INVALID = "INVALID_JSON"
"""The key that Anthropic's documentation proposes for arguments that are no JSON."""


def message(message_id: str, model: Json) -> JsonObject:
    """Return a message that says nothing yet.

    Args:
        message_id: Its id.
        model: The model, as the request names it, whatever the answer says: Claude Code
            sends thoughts back only to the model whose name the message has.
    """
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": as_string(model),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage(None),
    }


def stop_reason(finish: Json, *, has_call: bool) -> str:
    """Return Anthropic's word for a finish reason.

    A message with calls stops for them, also where chat says `stop`, as it does where the
    request forced the call: clients only run a tool if the reason says so. Whether a stop
    sequence was found, chat does not say.
    """
    return _REASONS.get(str(finish)) or ("tool_use" if has_call else "end_turn")


def usage(given: Json) -> JsonObject:
    """Return Anthropic's figures; zeros where chat has none.

    Chat counts cached tokens among those of the prompt, Anthropic beside them: clients
    add them up.
    """
    figures = as_object(given)
    prompt = _count(figures, "prompt_tokens")
    details = as_object(figures.get("prompt_tokens_details"))
    # Some providers say more of them than there are: the sum is what counts.
    read = min(prompt, _count(details, "cached_tokens"))
    written = min(prompt - read, _count(details, "cache_write_tokens"))
    more = as_object(figures.get("completion_tokens_details"))
    thought = _count(more, "reasoning_tokens")
    found: JsonObject = {
        "input_tokens": prompt - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": _count(figures, "completion_tokens"),
    }
    if thought:
        found["output_tokens_details"] = {"thinking_tokens": thought}
    return found


def _count(figures: JsonObject, key: str) -> int:
    return max(0, whole_number(figures.get(key)) or 0)


def first_choice(answer: JsonObject) -> JsonObject | None:
    """Return the choice of an answer that counts, as Messages have one alone."""
    choices = objects_in(answer.get("choices"))
    return next((each for each in choices if each.get("index", 0) == 0), None)


def tool_input(arguments: str) -> JsonObject:
    """Return the arguments of a call as an object.

    Clients give the input of a tool to a program that expects an object. So what is none
    (text that breaks off, a list, a key that is there twice) becomes the only value of one,
    which a tool refuses and the model sees again, instead of a call without its arguments.
    """
    try:
        value = loads(arguments.strip().encode(errors="backslashreplace") or b"{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {_INVALID: arguments}
