"""Answers that real providers sent, repaired and translated to Responses.

The recordings are other people's words: see tests/properties/test_recorded.py.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from each_case import each_case
from judge.meaning import Call, Meaning
from judge.responses import (
    Event,
    check_events,
    check_response,
    meaning_of,
    meaning_of_deltas,
)
from llm_normalize import conformance
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.protocols.responses import RESPONSES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.wire.json_text import dumps, loads
from properties import test_recorded as recorded
from properties.test_recorded import ENTRIES, FOLDER, data_of, select
from streams import feed

# Recorded with a function forced, and so with `stop`: the request is not translated here.
FORCED = {
    "azure/gpt-4.1-2025-04-14-object-streaming.sse",
    "openai/gpt-4o-2024-05-13-object-streaming.sse",
}

pytestmark = pytest.mark.skipif(
    not ENTRIES,
    reason=f"no recorded answers in {FOLDER}; LLM_CAPTURES names a folder",
)


def asked_of(entry: dict[str, Any]) -> Asked:
    """Return what the request asked, with what a translated one asks."""
    return replace(recorded.asked_of(entry), usage=bool(entry["stream"]), tools=True)


def events_of(stream: bytes) -> Iterator[Event]:
    answer = RESPONSES.translate({"model": "m", "input": "Hi", "stream": True}).answer
    for event in conformance.events(stream):
        payload = event.strip().removeprefix(b"data: ")
        if payload == b"[DONE]":
            yield from answer.done()
        elif payload.startswith(b"{"):
            value = loads(payload)
            error = value.get("error")
            yield from answer.error(error) if error else answer.chunk(value)


def plain(value: Any) -> Any:
    """Return *value* as JSON says it: numbers may keep their spelling."""
    return json.loads(dumps(value))


def differences(
    chat: conformance.Meaning, response: Meaning, *, forced: bool
) -> list[str]:
    was = chat.choices.get(0, conformance.Choice())
    now = response.choices[0]
    calls = [
        Call(call.id, call.name, call.arguments or "{}", call.as_object)
        for call in was.calls
    ]
    found = [
        name
        for name in ("text", "reasoning", "refusal")
        if getattr(was, name) != getattr(now, name)
        # Blanks before a call say nothing.
        and not (calls and not f"{getattr(was, name)}{getattr(now, name)}".strip())
    ]
    found += ["calls"] * (calls != now.calls)
    tokens = [
        [(each["token"], each["logprob"]) for each in plain(x.logprobs)]
        for x in (was, now)
    ]
    found += ["logprobs"] * (tokens[0] != tokens[1])
    if chat.errors:
        # One is the end; what a status means in words is in test_stream.py.
        code, given = response.errors[0].code, chat.errors[0].code
        found += ["error"] * (response.errors[0].texts != chat.errors[0].texts)
        found += ["code"] * (code != given and not (given.isdigit() or not given))
        return found
    found += ["finish"] * (was.finish_reason != now.finish_reason and not forced)
    return [*found, *usage_differences(chat.usage, response.usage)]


def usage_differences(was: Any, now: Any) -> Iterator[str]:
    if was is None or not was.get("prompt_tokens"):  # it is estimated
        if now is None or now["prompt_tokens"] <= 0:
            yield "usage"
        return
    for name, value in now.items():
        if isinstance(value, int) and value != was.get(name):
            yield name
    for name in ("prompt_tokens_details", "completion_tokens_details"):
        for key, value in (was.get(name) or {}).items():
            if key in now[name] and now[name][key] != (value or 0):
                yield f"{name}.{key}"


@each_case(select(stream=True))
def test_stream_has_the_form_and_says_the_same(entry: dict[str, Any]) -> None:
    data = data_of(entry)
    repaired = b"".join(feed([data], asked_of(entry)))
    events = [*events_of(repaired)]
    chat = conformance.meaning_of_stream(repaired)
    ends = chat.done or bool(chat.errors)
    assert check_events(plain([[*each] for each in events]), complete=ends) == []
    if not ends:  # it breaks off: that is all that can be said
        assert not [name for name, _ in events if name.endswith("completed")]
        return
    forced = entry["file"] in FORCED
    assert differences(chat, meaning_of_deltas(events), forced=forced) == []
    if not chat.errors:
        whole = meaning_of(events[-1][1]["response"])
        assert differences(chat, whole, forced=forced) == []


@each_case(select(stream=False))
def test_body_has_the_form_and_says_the_same(entry: dict[str, Any]) -> None:
    data = data_of(entry)
    step = repair_body(data, entry["http_status"], asked_of(entry), FIXES)
    value = loads(step.after[0])
    if "choices" not in value:
        assert RESPONSES.error_body(400, value["error"])["error"] == value["error"]
        return
    answer = RESPONSES.translate({"model": "m", "input": "Hi"}).answer
    response = answer.body(value)
    assert check_response(plain(response)) == []
    chat = conformance.meaning_of_body(step.after[0])
    forced = entry["file"] in FORCED
    assert differences(chat, meaning_of(response), forced=forced) == []
