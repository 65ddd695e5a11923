"""A `function_call` or `audio` whose every value is empty, and nulls in an `audio`."""

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    function,
    in_deltas,
    in_messages,
    put_calls,
)
from ...repair.fix import HI, Example, Fix, chunk, completion
from ...repair.look import Finding

_CALL = {"name": "", "arguments": ""}
_AUDIO = {"id": "", "data": "", "expires_at": 0, "transcript": ""}


class FieldHollow(Fix):
    """Leave the key out; of an `audio` that says something, the nulls."""

    name = "field-hollow"
    changes = (
        "`function_call`, `audio` of empty values alone, nulls in `audio` -> removed"
    )
    why = "Clients that look whether it is there call a function without a name."
    providers = ("Snowflake", "Xiaomi MiMo")
    handles = Finding.FUNCTION_CALL | Finding.AUDIO
    sources = (
        "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_body(
            "body",
            completion({**HI, "audio": _AUDIO, "function_call": _CALL}),
            completion(HI),
        ),
        Example.of_event("stream", chunk({**HI, "function_call": _CALL}), chunk(HI)),
        Example.of_body(
            "audio with nulls",
            completion(
                {**HI, "audio": {"id": "a", "data": "AA==", "transcript": None}}
            ),
            completion({**HI, "audio": {"id": "a", "data": "AA=="}}),
        ),
        Example.untouched(
            "arguments to come",
            [chunk({"function_call": {"name": "f", "arguments": ""}})],
        ),
        Example.untouched("later", [chunk({"function_call": {"arguments": ""}})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys from the deltas."""
        return in_deltas(chunk, _drop)

    def body(self, body: Chunk) -> bool:
        """Drop the keys from the messages."""
        dropped = in_messages(body, _drop_calls)
        return in_messages(body, _drop) or dropped


def _drop(part: Chunk) -> bool:
    hollow = [
        key
        for key, identity in (("function_call", "name"), ("audio", "id"))
        if isinstance(part.get(key), dict)
        and identity in part[key]
        and not any(part[key].values())
    ]
    for key in hollow:
        del part[key]
    audio = part.get("audio")
    found = audio if isinstance(audio, dict) else {}
    nulls = [key for key, value in found.items() if value is None]
    for key in nulls:
        del found[key]
    return bool(hollow or nulls)


def _drop_calls(message: Chunk) -> bool:
    found = calls(message)
    remaining = [call for call in found if _is_called(call)]
    if len(remaining) == len(found):
        return False
    put_calls(message, remaining)
    return True


def _is_called(call: Chunk) -> bool:
    fields = {**call, **function(call)}
    return any(
        fields[key] for key in fields if key not in ("index", "type", "function")
    )
