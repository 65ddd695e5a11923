"""Providers that serve Responses themselves, nearly, with a real mitmdump."""

import json
import threading
from typing import Any

import pytest

from end_to_end.test_native import spaced
from end_to_end.test_translation import RESPONSES, ask, events_in
from judge.responses import check_events, check_response, meaning_of
from native_faults import ALL, CALLS, REQUEST, RIGHT, Data, made, stream
from support import Break, Http1Client, Mitmdump, Part, Provider, Script, connect

JSON = {"content-type": "application/json"}
FAULTS = [
    "P1: another id in each event",
    "P2: no item added",
    "P2: only completed",
    "P3: hardly a response",
    "P4: no output_index",
    "P5: chat's names",
    "P6: empty",
    "P7: arguments in done",
    "P8: text alone",
    "P9: response.done",
]


def provided(provider: Provider, *parts: Part, **more: Any) -> Script:
    return provider.script(*parts, path=f"/v1{RESPONSES}", **more)


def told(body: bytes, right: list[Data] = RIGHT) -> None:
    events = events_in(body)
    assert check_events(events) == []
    assert meaning_of(events[-1][1]["response"]) == meaning_of(right[-1]["response"])


def test_right_response_leaves_byte_for_byte_at_once(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    data = spaced(RIGHT)
    cut = data.index(b"Hel") + 1
    script = provided(provider, data[:cut], gate, data[cut:])
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, REQUEST, {})
        reply.until(b"response.output_item.added")
        gate.set()
        reply.rest()
    assert reply.body == data


@pytest.mark.parametrize("fault", FAULTS)
def test_response_is_repaired_in_place(
    reverse: Mitmdump, provider: Provider, fault: str
) -> None:
    script = provided(provider, spaced(made(RIGHT, ALL[fault])))
    status, headers, body = ask(reverse, script.path, REQUEST)
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    told(body)
    flow = reverse.records(script)[-1]
    assert flow["protocol"] == "responses"
    assert flow["fixes"]
    assert "translated" not in flow


def test_events_without_names_and_chat_s_end(
    reverse: Mitmdump, provider: Provider
) -> None:
    data = spaced(RIGHT, named=False) + b"data: [DONE]\n\n"
    _, _, body = ask(reverse, provided(provider, data).path, REQUEST)
    assert b"[DONE]" not in body
    told(body)


def test_response_that_breaks_off_gets_no_end(
    reverse: Mitmdump, provider: Provider
) -> None:
    script = provided(provider, spaced(RIGHT[:5]), Break.CUT)
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, REQUEST, {})
        reply.until(b"Hm")
    assert b"response.completed" not in reply.body
    assert b"response.failed" not in reply.body


def test_error_in_mid_stream_is_told_by_the_response(
    reverse: Mitmdump, provider: Provider
) -> None:
    error = b'data: {"error":{"message":"no heron","type":"server_error"}}\n\n'
    script = provided(provider, spaced(RIGHT[:2]) + error)
    _, _, body = ask(reverse, script.path, REQUEST)
    *_, (_, wrong), (name, failed) = events_in(body)
    assert wrong["error"]["message"] == "no heron"
    assert name == "response.failed"
    assert failed["response"]["error"]["message"] == "no heron"


def test_one_whole_response_becomes_a_stream(
    reverse: Mitmdump, provider: Provider
) -> None:
    right = stream(CALLS[:3])
    data = json.dumps(right[-1]["response"]).encode()
    for framing in ("length", "chunked"):
        script = provided(provider, data, headers=JSON, framing=framing)
        status, headers, body = ask(reverse, script.path, REQUEST)
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        told(body, right)


def test_body_is_repaired_whole(reverse: Mitmdump, provider: Provider) -> None:
    whole = made(RIGHT)[-1]["response"]
    whole["output"][2].update(arguments={"a": 1}, call_id=None)
    del whole["usage"], whole["tools"]
    data = json.dumps(whole).encode()
    script = provided(provider, data, headers=JSON, framing="length")
    _, _, body = ask(reverse, script.path, {**REQUEST, "stream": False})
    assert check_response(json.loads(body)) == []


def test_observe_changes_nothing_and_tells_what_it_would(
    reverse: Mitmdump, provider: Provider
) -> None:
    data = spaced(made(RIGHT, ALL["P6: empty"]))
    script = provided(provider, data)
    with reverse.options(normalize_mode="observe"):
        assert ask(reverse, script.path, REQUEST)[2] == data
    flow = reverse.records(script)[-1]
    assert flow["mode"] == "observe"
    assert "completed-output-empty" in flow["fixes"]


def test_fix_that_is_skipped_leaves_its_quirk(
    reverse: Mitmdump, provider: Provider
) -> None:
    data = spaced(made(RIGHT, ALL["P6: empty"]))
    script = provided(provider, data)
    with reverse.options(normalize_skip=["completed-output-empty"]):
        assert ask(reverse, script.path, REQUEST)[2] == data
    assert ask(reverse, script.path, REQUEST)[2] != data
