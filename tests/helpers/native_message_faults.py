"""What providers get wrong in streams of Messages that are right otherwise."""

import copy
import itertools
import json
from collections.abc import Callable
from typing import Any

from native_faults import Change, Data, every, made, without

REASONS = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}


def of_each(kind: str, change: Callable[[Data], object]) -> Change:
    """Return what changes the events of a kind in place."""

    def changed(events: list[Data]) -> None:
        for event in every(events, kind):
            change(event)

    return changed


def in_start(change: Callable[[Data], object]) -> Change:
    return of_each("message_start", lambda event: change(event["message"]))


def blocks(events: list[Data]) -> list[list[Data]]:
    """The events of each block."""
    with_index = [event for event in events if "index" in event]
    groups = itertools.groupby(with_index, lambda event: event["index"])
    return [[*group] for _, group in groups]


def numbered(number: Callable[[int, int], Any]) -> Change:
    """Blocks that have other indexes: see the arguments of *number*."""

    def changed(events: list[Data]) -> None:
        for at, event in enumerate(event for event in events if "index" in event):
            event["index"] = number(event["index"], at)
            if event["index"] is None:
                del event["index"]

    return changed


def both(*changes: Change) -> Change:
    def changed(events: list[Data]) -> list[Data]:
        return made(events, *changes)

    return changed


def in_one_block(events: list[Data]) -> list[Data]:
    """All of what is said and thought is in the first block, which is one of text."""
    spoken, calls = list[Data](), list[Data]()
    for group in blocks(events):
        is_call = group[0]["content_block"]["type"] == "tool_use"
        (calls if is_call else spoken).extend(group)
    if not spoken:
        return events
    deltas = [
        {**event, "index": 0}
        for event in every(spoken, "content_block_delta")
        if event["delta"]["type"] != "signature_delta"
    ]
    empty = {"type": "text", "text": ""}
    opened = {"type": "content_block_start", "index": 0, "content_block": empty}
    rest = [event for event in events if "index" not in event]
    first = [event for event in rest if event["type"] in ("message_start", "ping")]
    stop = {"type": "content_block_stop", "index": 0}
    return [*first, opened, *deltas, stop, *calls, *rest[len(first) :]]


def without_last_start(events: list[Data]) -> list[Data]:
    """The block of text goes on where the one of thoughts was."""
    gone = [
        group[0]
        for group in blocks(events)
        if group[0]["content_block"]["type"] == "text"
    ]
    return [event for event in events if not any(event is x for x in gone)]


def unended(events: list[Data]) -> list[Data]:
    """Calls begin in what is said."""
    calls = {
        group[0]["index"]
        for group in blocks(events)
        if group[0]["content_block"]["type"] == "tool_use"
    }
    return [
        event
        for event in events
        if event["type"] != "content_block_stop" or event["index"] in calls
    ]


def input_in_start(as_text: bool = False) -> Change:
    def changed(events: list[Data]) -> list[Data]:
        gone = list[Data]()
        for first, *rest in blocks(events):
            if first.get("content_block", {}).get("type") == "tool_use":
                deltas = every(rest, "content_block_delta")
                text = "".join(event["delta"]["partial_json"] for event in deltas)
                given = text if as_text else json.loads(text or "{}")
                first["content_block"]["input"] = given
                gone += deltas
        return [event for event in events if not any(event is x for x in gone)]

    return changed


def unsigned(events: list[Data]) -> list[Data]:
    for start in every(events, "content_block_start"):
        start["content_block"].pop("signature", None)
    return [
        event
        for event in events
        if event.get("delta", {}).get("type") != "signature_delta"
    ]


def blank_signature(events: list[Data]) -> None:
    for event in every(events, "content_block_delta"):
        if event["delta"]["type"] == "signature_delta":
            event["delta"]["signature"] = ""


def twice(kind: str, later: int = 0) -> Change:
    """An event that is repeated *later* events behind itself."""

    def changed(events: list[Data]) -> list[Data]:
        first = next(at for at, event in enumerate(events) if event["type"] == kind)
        place = first + 1 + later
        return [*events[:place], copy.deepcopy(events[first]), *events[place:]]

    return changed


def reason(words: dict[str, str]) -> Change:
    def changed(event: Data) -> None:
        said = event["delta"]["stop_reason"]
        event["delta"]["stop_reason"] = words.get(said, said)

    return of_each("message_delta", changed)


def tool_ids(name: Callable[[int], str | None]) -> Change:
    def changed(events: list[Data]) -> None:
        starts = every(events, "content_block_start")
        calls = [x for x in starts if x["content_block"]["type"] == "tool_use"]
        for at, event in enumerate(calls):
            event["content_block"]["id"] = name(at)

    return changed


def unused(event: Data) -> None:
    """Figures that say nothing."""
    event["usage"] |= {"input_tokens": 0, "output_tokens": 0}


def in_chat(usage: Data) -> Data:
    prompt, said = usage.get("input_tokens", 0), usage["output_tokens"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": said,
        "total_tokens": prompt + said,
    }


P: dict[str, dict[str, Change]] = {
    "P10": {
        "no usage in the start": in_start(lambda x: x.pop("usage")),
        "null in the start": in_start(lambda x: x.update(usage=None)),
        "no usage at the end": of_each("message_delta", lambda x: x.pop("usage")),
        "none at all": both(
            in_start(lambda x: x.pop("usage")),
            of_each("message_delta", lambda x: x.pop("usage")),
        ),
        "zeros": both(in_start(unused), of_each("message_delta", unused)),
        "chat's names": of_each(
            "message_delta", lambda x: x.update(usage=in_chat(x["usage"]))
        ),
    },
    "P11": {
        "thoughts in a text": in_one_block,
        "text in thoughts": both(
            without_last_start,
            lambda x: [
                e for e in x if e["type"] != "content_block_stop" or e["index"] != 0
            ],
            numbered(lambda index, _: max(index - 1, 0)),
        ),
        "a call in a text": unended,
    },
    "P12": {
        "two starts": twice("message_start"),
        "a late second start": twice("message_start", 4),
        "no start": without("message_start"),
        "no start of the text": without_last_start,
        "no stops": without("content_block_stop"),
        "two stops": twice("content_block_stop"),
        "one index": numbered(lambda _, __: 0),
        "from one": numbered(lambda index, _: index + 1),
        "no index": numbered(lambda _, __: None),
    },
    "P13": {
        "input in the start": input_in_start(),
        "spelled in the start": input_in_start(as_text=True),
        "unsigned": unsigned,
        "an empty signature": blank_signature,
    },
    "P14": {
        "chat's words": reason(REASONS),
        "an end of the turn": reason({"tool_use": "end_turn"}),
        "a stop sequence": reason({"tool_use": "stop_sequence"}),
        "capitals": reason({x: x.upper() for x in REASONS}),
        "no delta": without("message_delta"),
        "no stop": without("message_stop"),
        "done": lambda events: [*events, {"type": "[DONE]"}],
    },
    "P15": {
        "chat's id": in_start(lambda x: x.update(id="chatcmpl-1")),
        "one id": in_start(lambda x: x.update(id="msg_1")),
        "no id": in_start(lambda x: x.pop("id")),
        "no content": in_start(lambda x: x.pop("content")),
        "ids of functions": tool_ids(lambda at: f"functions.f:{at}"),
        "one id for all calls": tool_ids(lambda _: "call_0"),
        "no ids of calls": tool_ids(lambda _: None),
    },
}
"""What providers do, by the number of the report: see `addon/llm_normalize/native_fixes`."""
ALL = {f"{p}: {name}": change for p, made in P.items() for name, change in made.items()}
