"""Every text and every number that came in is in what left, unless a repair drops it.

What may go is listed here, by the key that it stands under, with the reason.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from each_case import each_case
from fixes import test_captures as own
from judge.quirks import QUIRKS, answers, damaged
from llm_normalize import conformance
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import DONE, USAGE, chunk, wire
from llm_normalize.repair.outcome import EventRecord
from properties import test_recorded as recorded
from properties.test_quirks import several
from streams import feed
from workshop.judged import asked_of

ENVELOPE = {"id", "object", "created", "model", "system_fingerprint", "service_tier"}
"""The same on all chunks: what the first one says stands, a placeholder goes."""
GOES: dict[str, set[str]] = {
    "the envelope is the same on all chunks": ENVELOPE,
    "padding": {"obfuscation", "p"},
    "numbered anew": {"index"},
    "said once, in OpenAI's word": {
        "role",
        "type",
        "finish_reason",
        "stop_reason",
        "name",
    },
    "the provider's word beside a finish reason that is dropped": {
        "native_finish_reason"
    },
    "the HTTP status has it": {"status", "raw_status_code"},
}
OTHER_ARGUMENTS = {
    "call-arguments-again",
    "call-arguments-blank",
    "call-arguments-encoded",
}
"""Quirks of arguments that are sent again, or spelled otherwise than they leave: what they
mean is compared in test_quirks.py."""
UNREADABLE = "data-unreadable"
CONTEXT_LENGTH = "context_length_exceeded"
ALLOWED = frozenset().union(*GOES.values())
# Figures that later ones replace, and what else counts what is done so far.
FIGURES = re.compile(r".*(tokens|_time|_ms|_per_second|_per_token_ms|_n|tokens_.*)$")
NAME = re.compile(rb"^(?:data: ?)+|^error: ?")


def values(data: bytes) -> Iterator[Any]:
    """Yield the JSON values in *data*, a body or a stream, however it is framed."""
    try:
        yield json.loads(data)
    except ValueError:
        pass
    else:
        return
    for block in conformance.events(data):
        lines = [NAME.sub(b"", line) for line in re.split(rb"\r\n?|\n", block) if line]
        for text in {b"\n".join(lines), *lines}:
            try:
                yield json.loads(text)
            except ValueError:
                continue


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield (key, text) of all that *value* says, numbers as they are spelled."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, key)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield key, str(value)


def swallowed(
    data: bytes, out: bytes, steps: Sequence[EventRecord] = ()
) -> list[tuple[str, str]]:
    """Return what *data* says and *out* does not, but what the log has of unread events."""
    unread = [step.before or b"" for step in steps if UNREADABLE in step.fixes]
    logged = {each for event in unread for each in leaves(list(values(event)))}
    said = list(leaves(list(values(out))))
    known = {text for _, text in said}
    joined = dict.fromkeys([key for key, _ in said], "")  # a text may come in parts
    for key, text in said:
        joined[key] += text
    everything = "\0".join(joined.values())
    return [
        (key, text)
        for key, text in leaves(list(values(data)))
        if text not in known
        and text not in everything
        # What came as an object may leave as its JSON.
        and json.dumps(text, ensure_ascii=False)[1:-1] not in everything
        and key not in ALLOWED
        and (key, text) not in logged
        # OpenAI's own code, on which clients make their request shorter, is in its place.
        and not (key == "code" and CONTEXT_LENGTH in known)
        and not FIGURES.match(key)
    ]


def after(
    data: bytes,
    asked: Asked,
    status: int = 200,
    steps: list[EventRecord] | None = None,
) -> bytes:
    if asked.stream and status < 400:
        return b"".join(feed([data], asked, steps=steps))
    return repair_body(data, status, asked, FIXES).after[0]


@each_case(own.FOLDERS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_nothing_of_a_capture_is_swallowed(path: Any) -> None:
    info = own.about(path)
    data, out, _ = own.run(path.parent, info)
    assert swallowed(data, out) == []


@pytest.mark.skipif(not recorded.ENTRIES, reason="no recorded answers")
@each_case([*recorded.select(stream=True), *recorded.select(stream=False)])
def test_nothing_of_a_recorded_answer_is_swallowed(entry: dict[str, Any]) -> None:
    data, asked = recorded.data_of(entry), recorded.asked_of(entry)
    steps: list[EventRecord] = []
    assert swallowed(data, after(data, asked, entry["http_status"], steps)) == []
    for step in steps:  # what no fix changed is as it was
        same = b"".join(step.after) == step.before
        assert step.fixes or same


@given(data=st.data(), seed=st.integers(0, 999))
def test_nothing_of_a_stream_with_quirks_is_swallowed(
    data: st.DataObject, seed: int
) -> None:
    answer = data.draw(answers())
    quirks = data.draw(several(QUIRKS, answer))
    stream = damaged(answer, quirks, seed)
    wired = stream.encode()
    note(f"{asked_of(answer)}\n{wired.decode()}")
    steps: list[EventRecord] = []
    out = after(wired, asked_of(answer), steps=steps)
    lost = swallowed(wired, out, steps)
    if any(each.base in OTHER_ARGUMENTS for each in quirks):
        lost = [(key, text) for key, text in lost if key != "arguments"]
    assert lost == []


# -- one by one ----------------------------------------------------------------------

OPEN = chunk({"role": "assistant", "content": "Hi"})
STOP = chunk({}, finish="stop")
LOGS = {
    "content": [{"token": "Hi", "logprob": -0.125, "bytes": None, "top_logprobs": []}]
}
NOTES = {"citations": ["https://a.example"], "cost": "0.25", "search": {"hits": 7}}


@pytest.mark.parametrize("usage", [False, True])
@pytest.mark.parametrize(
    "events",
    [
        [OPEN, STOP, chunk(None, **NOTES)],
        [OPEN, STOP, {"choices": [], **NOTES}],
        [OPEN, STOP, chunk(None, usage=dict(USAGE), **NOTES)],
        [OPEN, chunk(None, usage=dict(USAGE), **NOTES), STOP],
        [OPEN, chunk(None, **NOTES)],
        [OPEN, chunk(None, usage=dict(USAGE), **NOTES)],
        [OPEN, STOP, {**STOP, **NOTES}],
        [OPEN, STOP, chunk({}, finish="stop", logprobs=LOGS)],
        [OPEN, chunk({}, finish="stop", logprobs=LOGS), STOP],
        [
            OPEN,
            STOP,
            chunk(
                {},
                finish="stop",
                choice={"annotations": [{"url": "https://a.example"}]},
            ),
        ],
    ],
)
def test_notes_and_log_probabilities_at_the_end_arrive(
    events: list[Chunk], usage: bool
) -> None:
    asked = Asked(stream=True, usage=usage)
    data = wire([*events, DONE])
    out = after(data, asked)
    assert swallowed(data, out) == []
    assert after(out, asked) == out
