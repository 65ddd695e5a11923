"""What the stream and the body of an answer have in common, and the body that a stream says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...wire.call_arguments import arguments_in
from ...wire.json_text import Json, as_object, as_string, objects_in
from ..calls import CallIds, ToolNames
from ..protocol import JsonObject
from ..token_count import Counts, Figures
from .native.parts import INPUT, WORDS
from .tool_ids import plain

type BlockKind = Literal["thinking", "text", "tool_use"]

SIGNATURE = "llm-normalize"
"""Of thoughts: nobody but Anthropic can sign one so that Anthropic accepts it.

It must not be empty: pi takes thoughts without a signature for text. No client reads what
it says, and `request` ignores it, since the thoughts themselves come back beside it.
"""

_REASONS = {"length": "max_tokens", "content_filter": "refusal"}
_FOUND = ("stop_reason", "matched_stop")
"""Where vLLM and SGLang say which stop sequence they have found."""
_CITATIONS = "citations"

type _Block = tuple[JsonObject, dict[str, list[Any]]]
"""A block as it began, and the pieces of what it says, by key."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer has of its request.

    Attributes:
        message_id: The id of the message.
        model: The model that the request names.
        stops: Its stop sequences.
        tools: Chat's names for its tools.
        ids: Gives the calls their ids.
        figures: Counts tokens.
    """

    message_id: str
    model: Json
    stops: Sequence[Json]
    tools: ToolNames
    ids: CallIds
    figures: Figures


def message(asked: Asked, model: Json) -> JsonObject:
    """Return a message that says nothing yet.

    Args:
        asked: What was asked. Its model is the message's, whatever the answer says:
            Claude Code sends thoughts back only to the model whose name the message has.
        model: The model that the answer names, if the request names none.
    """
    return {
        "id": asked.message_id,
        "type": "message",
        "role": "assistant",
        "model": as_string(asked.model or model),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage(asked.figures.counts()),
    }


def tool_use(call: JsonObject, given: JsonObject, asked: Asked) -> JsonObject:
    """Return the block of a *call* by the client's name of its tool, with this input."""
    function = as_object(call.get("function"))
    return {
        "type": "tool_use",
        "id": plain(asked.ids.take(call.get("id"))),
        "name": asked.tools.called(as_string(function.get("name"))).name,
        "input": given,
    }


def ending(choice: JsonObject, stops: Sequence[Json], *, has_call: bool) -> JsonObject:
    """Return why an answer ends, in Anthropic's word, and which stop sequence did it.

    A message with calls stops for them, also where chat says `stop`, as it does where the
    request forced the call: clients only run a tool if the reason says so. Which stop
    sequence was found, chat does not say, but vLLM and SGLang do.

    Args:
        choice: The choice with its finish reason.
        stops: The stop sequences of the request.
        has_call: Whether it calls a tool.
    """
    found = (as_string(choice.get(key)) for key in _FOUND)
    stop = next((each for each in found if each and each in stops), None)
    reason = _REASONS.get(str(choice.get("finish_reason")))
    if reason or has_call:
        return {"stop_reason": reason or "tool_use", "stop_sequence": None}
    named = "end_turn" if stop is None else "stop_sequence"
    return {"stop_reason": named, "stop_sequence": stop}


def usage(counts: Counts) -> JsonObject:
    """Return Anthropic's figures.

    Chat counts cached tokens among those of the prompt, Anthropic beside them: clients
    add them up.
    """
    # Some providers say more of them than there are: the sum is what counts.
    read = min(counts.prompt, counts.cached)
    written = min(counts.prompt - read, counts.written)
    found: JsonObject = {
        "input_tokens": counts.prompt - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": counts.completion,
    }
    if counts.thought:
        found["output_tokens_details"] = {"thinking_tokens": counts.thought}
    return found


def first_choice(answer: JsonObject) -> JsonObject | None:
    """Return the choice of an answer that counts, as Messages have one alone."""
    choices = objects_in(answer.get("choices"))
    return next((each for each in choices if each.get("index", 0) == 0), None)


def message_in(events: Iterable[JsonObject]) -> JsonObject | None:
    """Return the message that *events* say, or the error; None if they break off."""
    message: JsonObject = {}
    blocks: list[_Block] = []
    for each in events:
        kind, delta = each.get("type"), as_object(each.get("delta"))
        if kind == "message_start":
            message = as_object(each.get("message"))
        elif kind == "content_block_start":
            blocks.append((as_object(each.get("content_block")), {}))
        elif kind == "content_block_delta" and blocks:
            _add(blocks[-1], delta)
        elif kind == "message_delta":
            usage = as_object(message.get("usage")) | as_object(each.get("usage"))
            message = {**message, **delta, "usage": usage}
        elif kind == "error":
            return each
        elif kind == "message_stop" and message:
            return {**message, "content": [*map(_read, blocks)]}
    return None


def _add(block: _Block, delta: JsonObject) -> None:
    _, pieces = block
    kind = as_string(delta.get("type"))
    if kind == "citations_delta":
        pieces.setdefault(_CITATIONS, []).append(delta.get("citation"))
    elif key := WORDS.get(kind):
        pieces.setdefault(key, []).append(as_string(delta.get(key)))


def _read(block: _Block) -> JsonObject:
    """A block that has ended."""
    begun, pieces = block
    made = {**begun}
    for key, found in pieces.items():
        if key == _CITATIONS:
            made[key] = [*(made.get(key) or ()), *found]
        else:
            made[key] = as_string(made.get(key)) + "".join(found)
    text = made.pop(WORDS[INPUT], "")
    return {**made, "input": arguments_in(text)} if text else made
