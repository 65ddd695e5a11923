"""Requests that a provider refuses, in a real mitmdump: changed, or asked again."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.wire.json_text import dumps
from support import (
    LOOPBACK,
    PATIENCE,
    Http1Client,
    Mitmdump,
    Provider,
    Script,
    connect,
    tunnelled,
)

type Json = Any

KEY = "nvapi-wagtail-4711"
PROMPT = "wagtail-prompt"
HEADERS = {"authorization": f"Bearer {KEY}", "cookie": "session=wagtail-cookie"}
ASKED = {
    "model": "m",
    "stream": True,
    "seed": 7,
    "messages": [{"role": "user", "content": PROMPT, "x_note": "wagtail-note"}],
    "temperature": 1.10,
    "reasoning_budget": 100,
    "max_completion_tokens": 9,
}
EVENTS = [
    wire([chunk({"role": "assistant", "content": ""})]),
    wire([chunk({"content": "Hi"})]),
    wire([chunk({}, finish="stop")]),
    DONE,
]
GOOD = b"".join(EVENTS)


def refusal(text: str, status: int = 400, **more: Json) -> Script:
    body = dumps({"detail": text, **more})
    return Script("", [body], status, {"content-type": "application/json"}, "length")


def seed() -> Script:
    return refusal("Validation: Unsupported parameter(s): `seed`")


def limit() -> Script:
    place = {"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"]}
    return refusal("no", 422, errors=[{**place, "msg": "Extra", "input": PROMPT}])


def note() -> Script:
    text = "Extra inputs are not permitted, field: messages[0].x_note"
    return refusal(f"{text}, value: wagtail-note")


def asked(model: str, **more: Json) -> dict[str, Json]:
    """Return a request for a model of its own: what is learned is of that one."""
    return {**ASKED, "model": model, **more}


def ask(
    mitmdump: Mitmdump, script: Script, body: Json
) -> tuple[int, Mapping[str, str], bytes]:
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(script.path, body, HEADERS)
        return reply.status, reply.headers, reply.rest()


def bodies(script: Script) -> list[Json]:
    return [json.loads(each.body) for each in script.requests]


def without(body: Json, *keys: str) -> Json:
    return {key: value for key, value in body.items() if key not in keys}


def reported(
    mitmdump: Mitmdump, script: Script, count: int = 1
) -> tuple[Sequence[Json], Json]:
    """Return the request records and the flow record of the *count*th answer.

    Nothing that a request holds is there, and nowhere else either; the words of other
    modules' requests are others, since they share the proxy.
    """
    _until(lambda: len(_flows(mitmdump, script)) >= count)
    record = _flows(mitmdump, script)[count - 1]
    pairs = mitmdump.pairs()
    assert "wagtail" not in json.dumps(pairs) + mitmdump.printed()
    of_it = [each for each in pairs if each["flow"] == record["flow"]]
    assert of_it[-1] == record
    return [each for each in of_it if each["type"] == "request"], record


def _flows(mitmdump: Mitmdump, script: Script) -> list[Json]:
    pairs = mitmdump.pairs(None, '"type":"flow"')
    return [each for each in pairs if each["path"] == script.path]


def _until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


# -- learning ----------------------------------------------------------------------


def test_refused_parameters_are_dropped_and_the_next_request_goes_out_right(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    script = provider.script(
        EVENTS[0],
        gate,
        *EVENTS[1:],
        turns=[seed(), limit(), note(), Script("", EVENTS)],
    )
    body = asked("three")
    status, headers, answer = ask(reverse, script, body)
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert answer == GOOD
    right = without(body, "seed", "max_completion_tokens")
    right = {
        **right,
        "max_tokens": 9,
        "messages": [{"role": "user", "content": PROMPT}],
    }
    assert len(script.requests) == 4
    assert bodies(script)[-1] == right
    assert b'"temperature":1.1,' in script.requests[-1].body
    (record,), flow = reported(reverse, script)
    assert record == {
        "type": "request",
        "v": 1,
        "flow": flow["flow"],
        "host": f"{LOOPBACK}:{provider.port}",
        "model": "three",
        "fixes": ["parameter-learned"],
        "dropped": ["seed", "messages[*].x_note"],
        "changed": ["max_completion_tokens"],
    }
    assert (flow["fixes"], flow["status"], flow["end"]) == ({}, 200, "complete")
    # The next one is right at once, and streams.
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, body, HEADERS)
        assert reply.until(b"\n\n") == EVENTS[0]
        gate.set()
        assert reply.rest() == GOOD
    assert len(script.requests) == 5
    assert bodies(script)[-1] == right
    (record,), _ = reported(reverse, script, 2)
    assert record["dropped"] == ["seed", "messages[*].x_note"]
    rows = reverse.control(command="normalize.stats")
    assert [
        f"{LOOPBACK}:{provider.port}",
        "three",
        "2",
        "0",
        "request: parameter-learned",
        "2",
    ] in rows


def post(mitmdump: Mitmdump, script: Script, body: Json, key: str) -> int:
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(script.path, body, {"authorization": f"Bearer {key}"})
        reply.rest()
        return reply.status


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_behind_tls_the_same_server_is_asked_in_the_same_protocol(
    explicit: Mitmdump, secure: dict[str, Provider], protocol: str
) -> None:
    upstream = secure[protocol]
    script = upstream.script(*EVENTS, turns=[seed()])
    place = f"localhost:{upstream.port}"
    begun = len(upstream.protocols)
    with tunnelled(explicit, place, "h2") as client:
        reply = client.post(script.path, asked(protocol), HEADERS)
        assert (reply.status, reply.rest()) == (200, GOOD)
    assert upstream.protocols[begun:] == [protocol] * 2
    name = ":authority" if protocol == "h2" else "host"
    assert [each.headers[name] for each in script.requests] == [place] * 2
    assert json.loads(script.requests[1].body) == without(asked(protocol), "seed")
