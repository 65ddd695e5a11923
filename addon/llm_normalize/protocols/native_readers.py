"""The reader of a provider's own answer, by the protocol that its client speaks."""

from collections.abc import Collection
from functools import cache, partial
from typing import Any

from ..wire.json_text import as_list, as_string, objects_in
from .messages.native.message_reader import MessagesReader
from .native_reader import NativeAsked, NativeReader
from .protocol import JsonObject
from .responses.native.response_reader import ResponsesReader
from .token_count import tokens_in


def native_reader(
    protocol: str,
    request: JsonObject,
    seed: str,
    skipped: Collection[str] = (),
    **known: Any,
) -> NativeReader:
    """Return the reader of one answer.

    Args:
        protocol: The name of its client's protocol.
        request: What the client asked.
        seed: What made-up ids have in common: one exchange's alone.
        skipped: The names of fixes that are off.
        known: What else is known, by the names of `NativeAsked`.
    """
    turns = objects_in(request.get("messages"))
    asked = NativeAsked(
        seed,
        as_string(request.get("model")),
        cache(partial(_tokens_asked, request)),
        [
            as_string(block.get("id"))
            for turn in turns
            for block in objects_in(turn.get("content"))
            if block.get("type") == "tool_use"
        ],
        [
            each
            for each in as_list(request.get("stop_sequences"))
            if isinstance(each, str)
        ],
        skipped,
        **known,
    )
    if protocol == "messages":
        return MessagesReader(asked)
    return ResponsesReader(asked, request)


def _tokens_asked(request: JsonObject) -> int:
    """About how many tokens the prompt of a request in either protocol has."""
    counted = {
        "system": request.get("system", request.get("instructions")),
        "messages": request.get("messages", request.get("input")),
        "tools": request.get("tools"),
    }
    return tokens_in({key: each for key, each in counted.items() if each})
