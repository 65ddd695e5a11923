"""A provider that pauses between any two events sends the same answer as without.

Recorded answers are damaged as local servers damage theirs, so that something waits in all
of them. What waits for the next event is not sent by the clock (`Pipeline.release`).
"""

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from llm_normalize import conformance
from llm_normalize.chat.chunks.chunk import Chunk, calls, choices, function
from llm_normalize.chat.chunks.text_growth import GOES_ON, Growth, ProvedGrowth
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.wire.json_text import dumps
from llm_normalize.wire.sse import encode
from properties.test_recorded import ENTRIES, asked_of, data_of, select

type Damage = Callable[[list[Chunk]], Iterator[Chunk]]

pytestmark = pytest.mark.skipif(
    not ENTRIES, reason="no recorded answers; LLM_CAPTURES names a folder"
)


def only_call(chunk: Chunk) -> Chunk:
    """Return the call that *chunk* says something of, if it is one; else nothing."""
    found = [call for each in choices(chunk) for call in calls(each.get("delta") or {})]
    return found[0] if len(found) == 1 else {}


def more_of(chunk: Chunk, fragment: Chunk) -> Chunk:
    """Return a chunk like *chunk* that brings nothing but *fragment* of its call."""
    made = copy.deepcopy(chunk)
    index = {key: only_call(chunk)[key] for key in {"index"} & only_call(chunk).keys()}
    made["choices"][0]["delta"] = {"tool_calls": [{**index, "function": fragment}]}
    made["choices"][0]["finish_reason"] = None
    made.pop("usage", None)
    return made


def halved_names(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Yield *chunks* with each name in two parts."""
    for chunk in chunks:
        inner = function(only_call(chunk))
        name = inner.get("name") or ""
        is_whole = len(name) < len("ab") or inner.get("arguments")
        if not is_whole:
            inner["name"] = name[: len(name) // 2]
        yield chunk
        if not is_whole:
            yield more_of(chunk, {"name": name[len(name) // 2 :], "arguments": ""})


def blank_arguments(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Yield *chunks* with `{}` before the arguments of each call."""
    head: Chunk = {}
    for chunk in chunks:
        inner = function(only_call(chunk))
        if head and inner.get("arguments"):
            yield more_of(head, {"arguments": "{}"})
        if inner.get("arguments"):
            head = {}
        elif inner.get("name"):
            head = chunk
        yield chunk


def early_finishes(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Yield *chunks* with the finish reason on each that says something."""
    reasons = [
        each["finish_reason"]
        for chunk in chunks
        for each in choices(chunk)
        if each.get("finish_reason")
    ]
    for chunk in chunks:
        if len(choices(chunk)) == 1 and len(reasons) == 1:
            choices(chunk)[0]["finish_reason"] = reasons[0]
        yield chunk


def damaged(data: bytes, damage: Damage) -> list[bytes]:
    """Return the events of a stream with this *damage*."""
    payloads = [
        line.removeprefix(b"data:").strip()
        for line in data.splitlines()
        if line.startswith(b"data:")
    ]
    chunks = [json.loads(each) for each in payloads if each.startswith(b"{")]
    done = [b"[DONE]"] if b"[DONE]" in payloads else []
    return [encode(each) for each in [*map(dumps, damage(chunks)), *done]]


def answer(
    events: list[bytes], asked: Asked, share: float, draw: random.Random
) -> conformance.Meaning:
    """Return what is sent where the provider pauses after this *share* of its events."""
    pipeline = Pipeline(asked, FIXES)
    out: list[bytes] = []
    for event in events:
        out += pipeline.feed(event)
        if draw.random() < share:
            out += pipeline.release()
            assert pipeline.waiting is None
    return conformance.meaning_of_stream(b"".join([*out, *pipeline.end()]))


def declaring(asked: Asked, chunks: bytes) -> Asked:
    """Return *asked* with the tools that an answer calls, each with an argument."""
    meaning = conformance.meaning_of_stream(chunks)
    names = {call.name for each in meaning.choices.values() for call in each.calls}
    found = frozenset(filter(None, names))
    declared = Tools(found | asked.declared.names)
    return replace(asked, tools=bool(declared.names), declared=declared)


@pytest.mark.parametrize("damage", [halved_names, blank_arguments, early_finishes])
@pytest.mark.parametrize("entry", select(stream=True))
def test_answer_is_the_same_whatever_pauses_its_provider_makes(
    entry: dict[str, Any], damage: Damage
) -> None:
    data = data_of(entry)
    asked = declaring(asked_of(entry), data)
    proved = ProvedGrowth()
    if damage is early_finishes:  # an earlier answer has shown what the host does
        proved.add(("host", GOES_ON))
    growth = Growth(proved, "host")
    draw = random.Random(entry["file"])
    events, undamaged = damaged(data, damage), damaged(data, iter)
    plain = answer(undamaged, asked, 0, draw)
    for share in (0, 1, 0.3):
        after = answer(events, replace(asked, growth=growth), share, draw)
        usage = plain.usage if asked.usage and damage is not early_finishes else None
        assert replace(after, usage=usage) == replace(plain, usage=usage)
