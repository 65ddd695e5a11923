"""Events of a response, for examples and tests."""

from typing import Any

from ..protocols.protocol import JsonObject
from ..protocols.responses.response_object import frame_of
from .native_fix import REQUEST

USAGE: JsonObject = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 2,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 7,
}


def response(
    status: str = "in_progress", *output: JsonObject, **more: Any
) -> JsonObject:
    """Return a response; *more* goes into it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "model": "acme-1",
        **frame_of(REQUEST),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "output": [*output],
        "usage": dict(USAGE) if status == "completed" else None,
        **more,
    }


def event(kind: str, number: int, **more: Any) -> JsonObject:
    """Return an event by the end of its name."""
    return {"type": f"response.{kind}", "sequence_number": number, **more}


def begin(**more: Any) -> list[JsonObject]:
    """Return the events of a beginning; *more* goes into the response."""
    return [
        event(kind, number, response=response(**more))
        for number, kind in enumerate(("created", "in_progress"))
    ]


def message(text: str = "", **more: Any) -> JsonObject:
    """Return a message; one that has begun without *text*."""
    content = [part(text)] if text else []
    status = "completed" if text else "in_progress"
    return {
        "id": "msg_0",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
        **more,
    }


def call(arguments: str = "", **more: Any) -> JsonObject:
    """Return a call; one that has begun without *arguments*."""
    return {
        "id": "fc_0",
        "type": "function_call",
        "status": "completed" if arguments else "in_progress",
        "call_id": "call_1",
        "name": "f",
        "arguments": arguments,
        **more,
    }


def part(text: str = "", **more: Any) -> JsonObject:
    """Return a part of a message."""
    return {
        "type": "output_text",
        "text": text,
        "annotations": [],
        "logprobs": [],
        **more,
    }


def added(number: int, item: JsonObject, index: int = 0) -> JsonObject:
    """Return the event of an item's beginning."""
    return event("output_item.added", number, output_index=index, item=item)


def done(number: int, item: JsonObject) -> JsonObject:
    """Return the event of an item's end."""
    return event("output_item.done", number, output_index=0, item=item)


def in_part(kind: str, number: int, **more: Any) -> JsonObject:
    """Return an event of the message's part."""
    place = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
    return event(kind, number, **{**place, **more})


def of_call(what: str, number: int, **more: Any) -> JsonObject:
    """Return an event of the call's arguments."""
    place = {"item_id": "fc_0", "output_index": 0}
    return event(f"function_call_arguments.{what}", number, **{**place, **more})


def end(number: int, *output: JsonObject, **more: Any) -> JsonObject:
    """Return the last event; *more* goes into its response."""
    return event("completed", number, response=response("completed", *output, **more))


def without(value: JsonObject, *keys: str) -> JsonObject:
    """Return an object without some of its keys."""
    return {key: each for key, each in value.items() if key not in keys}


def put(events: list[JsonObject], at: int, event: JsonObject) -> list[JsonObject]:
    """Return events of which the one *at* a place is another."""
    made = [*events]
    made[at] = event
    return made


def changed(events: list[JsonObject], at: int, **more: Any) -> list[JsonObject]:
    """Return events of which the one *at* a place says something else."""
    return put(events, at, {**events[at], **more})


WHOLE: list[JsonObject] = [
    *begin(),
    added(2, message()),
    in_part("content_part.added", 3, part=part()),
    in_part("output_text.delta", 4, delta="Hi", logprobs=[]),
    in_part("output_text.done", 5, text="Hi", logprobs=[]),
    in_part("content_part.done", 6, part=part("Hi")),
    done(7, message("Hi")),
    end(8, message("Hi")),
]
"""A response that says `Hi`."""
CALLED: list[JsonObject] = [
    *begin(),
    added(2, call()),
    of_call("delta", 3, delta="{}"),
    of_call("done", 4, arguments="{}"),
    done(5, call("{}")),
    end(6, call("{}")),
]
"""A response that calls `f`."""
