"""Clients of other protocols and a provider of chat completions, with a real mitmdump."""

import gzip
import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from end_to_end.test_routing import KEY, OPENAI, TOKEN, Start
from llm_normalize.repair.fix import DONE, chunk, completion, wire
from llm_normalize.wire.json_text import dumps
from support import (
    LOOPBACK,
    Break,
    BrokenEndError,
    Http1Client,
    Http1Reply,
    Http2Client,
    Mitmdump,
    Part,
    Provider,
    Script,
    body_script,
    connect,
    starting,
    to,
)
from test_public_names import NAMES

type Json = Any

RESPONSES, MESSAGES = "/responses", "/messages"
BOTH = pytest.mark.parametrize("end", [RESPONSES, MESSAGES])
ASKED: dict[str, Json] = {
    RESPONSES: {
        "model": "m",
        "input": "heron?",
        "stream": True,
        "metadata": {"note": "wagtail"},
    },
    MESSAGES: {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "heron?"}],
        "stream": True,
    },
}
HEAD = wire([chunk({"role": "assistant", "content": None})])
TEXT = wire([chunk({"content": "Hi"})])
MORE = wire([chunk({"content": " there"})])
FINISH = wire([chunk({}, finish="stop")])
EVENTS = (HEAD, TEXT, MORE, FINISH, DONE)
LAST = {RESPONSES: "response.completed", MESSAGES: "message_stop"}
DELTA = {RESPONSES: b"response.output_text.delta", MESSAGES: b"text_delta"}
UNKNOWN = body_script(b"404 page not found\n", 404, "text/plain")


@pytest.fixture
def start(
    tmp_path: Path, mitm_ca: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Start a mitmdump of the test's own, with a key and a token in its environment."""
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("A_TOKEN", TOKEN)
    with starting(tmp_path, mitm_ca) as begin:
        yield begin


def chat_only(
    provider: Provider, *parts: Part, refusal: Script = UNKNOWN, **more: Json
) -> tuple[Script, dict[str, tuple[str, Script]]]:
    """Return a script of chat completions, and the paths beside it that are not served."""
    script = provider.script(*parts, **more)
    base = script.path.removesuffix("/chat/completions")
    others = {}
    for end in (RESPONSES, MESSAGES, f"{MESSAGES}/count_tokens"):
        path = base + end
        missing = Script(
            path, refusal.parts, refusal.status, refusal.headers, refusal.framing
        )
        provider.alias(missing, path)
        others[end] = path, missing
    return script, others


def events_in(body: bytes) -> list[tuple[str, Json]]:
    """Return the events of a stream, each with its name."""
    found = []
    for block in body.decode().split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if line]
        if lines:
            fields = {name: value for name, _, value in lines}
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def ask(
    mitmdump: Mitmdump, path: str, body: Json, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(path, body, named)
        return reply.status, reply.headers, reply.rest()


def text_in(end: str, body: bytes) -> str:
    if end == RESPONSES:
        kind = "response.output_text.delta"
        return "".join(data["delta"] for name, data in events_in(body) if name == kind)
    deltas = (data.get("delta", {}) for _, data in events_in(body))
    return "".join(each.get("text", "") for each in deltas)


# -- once refused, chat from then on -------------------------------------------------


@BOTH
def test_path_that_is_not_served_is_asked_as_chat_at_once_and_from_then_on(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    gate = threading.Event()
    script, others = chat_only(provider, HEAD, TEXT, gate, MORE, FINISH, DONE)
    path, refused = others[end]
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(path, ASKED[end], {"authorization": f"Bearer {KEY}"})
        assert reply.status == 200
        assert reply.headers["content-type"] == "text/event-stream"
        reply.until(DELTA[end])  # live: the rest has not been sent
        gate.set()
        body = reply.rest()
    assert text_in(end, reply.body) == "Hi there", body
    assert events_in(reply.body)[-1][0] == LAST[end]
    assert len(refused.requests) == 1
    (chat,) = script.requests
    assert json.loads(chat.body)["messages"] == [{"role": "user", "content": "heron?"}]
    assert chat.headers["authorization"] == f"Bearer {KEY}"
    status, _, again = ask(reverse, path, ASKED[end], authorization=f"Bearer {KEY}")
    assert (status, text_in(end, again)) == (200, "Hi there")
    assert (len(refused.requests), len(script.requests)) == (1, 2)
    records = reverse.records(refused)
    flow = records[-1]
    assert list(flow) == NAMES["log"]["flow of a translation"]
    assert (flow["protocol"], flow["translated"], flow["end"]) == (
        end.removeprefix("/"),
        True,
        "complete",
    )
    pairs = [each for each in records if each["type"] == "pair"]
    assert all(each["fixes"][-1] == "translated" for each in pairs)
    assert "".join(each["before"] for each in pairs).encode() == b"".join(EVENTS)
    logged = "".join(text for each in pairs for text in each["after"]).encode()
    names = [name for name, _ in events_in(logged)]
    assert names == [name for name, _ in events_in(reply.body)]
    assert text_in(end, logged) == "Hi there"
    assert "wagtail" not in json.dumps(records)


@BOTH
def test_request_that_was_translated_in_vain_is_sent_as_it_came(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    """Its host serves the path by now, or another model there."""
    chat = Script("", EVENTS)
    script, others = chat_only(provider, *EVENTS, turns=[chat])
    script.parts, script.status = [MISSING_MODEL], 404
    path, refused = others[end]
    native = b"event: own\ndata: {}\n\n"
    refused.turns = [Script("", refused.parts, 404)]
    refused.parts, refused.status = [native], 200
    asked = {**ASKED[end], "user": "wagtail"}
    assert text_in(end, ask(reverse, path, asked)[2]) == "Hi there"
    for _ in range(2):
        assert ask(reverse, path, asked)[::2] == (200, native)
    assert (len(refused.requests), len(script.requests)) == (3, 2)
    assert all(json.loads(each.body) == asked for each in refused.requests)


@BOTH
def test_unstreamed_request_is_answered_by_one_body(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    body = dumps(completion({"role": "assistant", "content": "Hi"}))
    script, others = chat_only(
        provider, body, headers={"content-type": "application/json"}, framing="length"
    )
    path, refused = others[end]
    for _ in range(2):
        status, headers, answer = ask(reverse, path, {**ASKED[end], "stream": False})
        assert (status, headers["content-type"]) == (200, "application/json")
        assert int(headers["content-length"]) == len(answer)
        assert b'"Hi"' in answer
        assert json.loads(answer)["id"].startswith(("resp_", "msg_"))
    assert (len(refused.requests), len(script.requests)) == (1, 2)
    assert reverse.records(refused)[-1]["translated"] is True


# -- what is none of its business ----------------------------------------------------


MISSING_MODEL = dumps(
    {"error": {"message": "The model `m` does not exist.", "code": "model_not_found"}}
)


@BOTH
def test_missing_model_is_the_clients_error_and_is_not_asked_again(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    script, others = chat_only(
        provider, *EVENTS, refusal=body_script(MISSING_MODEL, 404)
    )
    path, refused = others[end]
    for _ in range(2):
        assert ask(reverse, path, ASKED[end])[::2] == (404, MISSING_MODEL)
    assert (len(refused.requests), len(script.requests)) == (2, 0)


def test_first_refusal_stays_where_chat_is_not_served_either(
    reverse: Mitmdump, provider: Provider
) -> None:
    script, others = chat_only(provider, b"404 page not found\n", status=404)
    path, refused = others[RESPONSES]
    for count in (1, 2):
        status, _, body = ask(reverse, path, ASKED[RESPONSES])
        assert (status, body) == (404, UNKNOWN.bytes)
        assert (len(refused.requests), len(script.requests)) == (count, count)
    assert reverse.pairs(None, path) == []


@BOTH
@pytest.mark.parametrize("stream", [True, False])
def test_model_that_is_on_no_path_is_an_error_in_the_clients_form(
    reverse: Mitmdump, provider: Provider, end: str, *, stream: bool
) -> None:
    words = "Function '0f3a': Not found for account 'a9'"  # NIM's
    body = dumps({"status": 404, "title": "Not Found", "detail": words})
    script, others = chat_only(provider, body, status=404, framing="length")
    path, refused = others[end]
    for count in (1, 2):  # it says nothing about the paths
        status, _, got = ask(reverse, path, {**ASKED[end], "stream": stream})
        assert (status, len(refused.requests), len(script.requests)) == (
            404,
            count,
            count,
        )
        said = json.loads(got)
        assert said["error"]["message"] == f"Not Found: {words}"
        if end == MESSAGES:
            assert (said["type"], said["error"]["type"]) == ("error", "not_found_error")
        else:
            assert said["error"].keys() == {"message", "type", "param", "code"}


@BOTH
def test_provider_that_serves_the_protocol_gets_it_untouched(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    sent = b'event: other\ndata:{"x":1}\n\n'
    script = provider.script(sent, path=f"/v1{end}")
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED[end], {"x-api-key": "sk-own"})
        assert (reply.status, reply.rest()) == (200, sent)
    (request,) = script.requests
    assert json.loads(request.body) == ASKED[end]
    assert request.headers["x-api-key"] == "sk-own"


@pytest.mark.parametrize(
    "options", [{"normalize_translate": ["off"]}, {"normalize_mode": "observe"}]
)
def test_nothing_is_translated_that_shall_not_be(
    reverse: Mitmdump, provider: Provider, options: dict[str, Any]
) -> None:
    script, others = chat_only(provider, *EVENTS)
    path, refused = others[RESPONSES]
    with reverse.options(**options):
        status, _, body = ask(reverse, path, ASKED[RESPONSES])
    assert (status, body) == (404, UNKNOWN.bytes)
    assert (len(refused.requests), len(script.requests)) == (1, 0)


# -- errors, breaks, silence ---------------------------------------------------------


REFUSED = dumps({"detail": "no such luck"})


@BOTH
@pytest.mark.parametrize("stream", [True, False])
def test_error_has_the_form_of_the_protocol(
    reverse: Mitmdump, provider: Provider, end: str, stream: bool
) -> None:
    json_body = {"content-type": "application/json"}
    _, others = chat_only(
        provider, REFUSED, status=401, headers=json_body, framing="length"
    )
    path, refused = others[end]
    for _ in range(2):
        status, headers, body = ask(reverse, path, {**ASKED[end], "stream": stream})
        assert (status, headers["content-type"]) == (401, "application/json")
        error = json.loads(body)
        assert error["error"]["message"] == "no such luck"
        assert (error.get("type") == "error") == (end == MESSAGES)
    assert len(refused.requests) == 2  # a refusal says nothing about the path
    assert reverse.records(refused)[-1]["status"] == 401


@BOTH
def test_error_in_mid_stream_is_an_event_and_nothing_is_completed(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    failed = b'data: {"error":{"message":"overloaded","code":503}}\n\n'
    _, others = chat_only(provider, HEAD, TEXT, failed, DONE)
    _, _, body = ask(reverse, others[end][0], ASKED[end])
    *_, (name, data) = events_in(body)
    assert name == {RESPONSES: "response.failed", MESSAGES: "error"}[end]
    assert "overloaded" in json.dumps(data)
    assert LAST[end].encode() not in body


@BOTH
def test_break_off_forges_no_end(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    _, others = chat_only(provider, HEAD, TEXT, Break.CUT)
    path, refused = others[end]
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(path, ASKED[end])
        assert reply.status == 200
        with pytest.raises(BrokenEndError):
            reply.rest()
        assert text_in(end, reply.body) == "Hi"
        assert LAST[end].encode() not in reply.body
    assert reverse.records(refused)[-1]["end"] == "upstream-broke"


@BOTH
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ((FINISH, DONE), "complete"),
        ((b'data: {"error":{"message":"overloaded"}}\n\n',), "complete"),
        ((FINISH,), "client-left"),
    ],
)
def test_client_that_hangs_up_behind_the_last_event_has_all_of_it(
    reverse: Mitmdump,
    provider: Provider,
    end: str,
    sent: Sequence[bytes],
    expected: str,
) -> None:
    never = threading.Event()
    _, others = chat_only(provider, HEAD, TEXT, *sent, never)
    path, refused = others[end]
    failed = {RESPONSES: "response.failed", MESSAGES: "event: error"}[end]
    last = LAST[end] if DONE in sent else failed if FINISH not in sent else "Hi"
    with Http1Client(connect(reverse.port)) as client:
        client.post(path, ASKED[end]).until(last.encode())
    assert reverse.records(refused)[-1]["end"] == expected
    never.set()


@BOTH
def test_clean_end_without_done_forges_no_end(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    _, others = chat_only(provider, HEAD, TEXT)
    _, _, body = ask(reverse, others[end][0], ASKED[end])
    assert text_in(end, body) == "Hi"
    assert LAST[end].encode() not in body


@BOTH
def test_silent_provider_lets_its_client_know_in_the_protocols_way(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    gate = threading.Event()
    _, others = chat_only(provider, HEAD, TEXT, gate, FINISH, DONE)
    with (
        reverse.options(normalize_keepalive=1),
        Http1Client(connect(reverse.port)) as client,
    ):
        reply = client.post(others[end][0], ASKED[end])
        reply.until(DELTA[end])
        (alive,) = events_in(reply.next_part())
        gate.set()
        reply.rest()
    assert alive[1]["type"] in ("ping", "response.output_text.delta")
    assert alive[1].get("delta", "") == ""
    assert events_in(reply.body)[-1][0] == LAST[end]


@BOTH
def test_body_in_the_place_of_a_stream_becomes_one(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    body = dumps(completion({"role": "assistant", "content": "Hi"}))
    headers = {"content-type": "application/json"}
    _, others = chat_only(provider, body, headers=headers, framing="length")
    for _ in range(2):
        status, answered, stream = ask(reverse, others[end][0], ASKED[end])
        assert (status, answered["content-type"]) == (200, "text/event-stream")
        assert events_in(stream)[-1][0] == LAST[end]


@BOTH
def test_answer_that_is_no_completion_is_an_error(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    headers = {"content-type": "application/json"}
    _, others = chat_only(provider, b'{"x":1}', headers=headers, framing="length")
    body = {**ASKED[end], "stream": False}
    status, _, answer = ask(reverse, others[end][0], body)
    assert status == 502
    assert "not a chat completion" in json.loads(answer)["error"]["message"]


@BOTH
@pytest.mark.parametrize("size", [1, 7])
def test_encoded_stream_that_is_cut_anywhere_is_translated(
    reverse: Mitmdump, provider: Provider, end: str, size: int
) -> None:
    packed = gzip.compress(b"".join(EVENTS))
    parts = [packed[at : at + size] for at in range(0, len(packed), size)]
    _, others = chat_only(provider, *parts, headers={"content-encoding": "gzip"})
    for _ in range(2):
        _, headers, body = ask(reverse, others[end][0], ASKED[end])
        assert "content-encoding" not in headers
        assert (text_in(end, body), events_in(body)[-1][0]) == ("Hi there", LAST[end])


def test_refused_parameter_is_dropped_as_for_chat(
    reverse: Mitmdump, provider: Provider
) -> None:
    refusal = dumps({"detail": "Validation: Unsupported parameter(s): `temperature`"})
    script, others = chat_only(
        provider, turns=[body_script(refusal, 400), Script("", EVENTS)]
    )
    path, refused = others[RESPONSES]
    asked = {**ASKED[RESPONSES], "model": "warm", "temperature": 1}
    _, _, body = ask(reverse, path, asked)
    assert text_in(RESPONSES, body) == "Hi there"
    assert [b"temperature" in each.body for each in script.requests] == [True, False]
    kinds = {each["type"]: each for each in reverse.records(refused)}
    assert kinds["request"]["dropped"] == ["metadata", "temperature"]


def test_request_that_chat_has_no_place_for_is_refused(
    reverse: Mitmdump, provider: Provider
) -> None:
    script, others = chat_only(provider, *EVENTS)
    path, _ = others[RESPONSES]
    asked = {**ASKED[RESPONSES], "previous_response_id": "resp_1"}
    for _ in range(2):
        status, _, body = ask(reverse, path, asked)
        assert status == 400
        assert "previous_response_id" in json.loads(body)["error"]["param"]
        assert script.requests == []
        ask(reverse, path, ASKED[RESPONSES])
        script.requests.clear()


# -- Anthropic's other paths ---------------------------------------------------------


def test_tokens_are_counted_for_who_serves_chat_alone(
    reverse: Mitmdump, provider: Provider
) -> None:
    _, others = chat_only(provider, *EVENTS)
    path, refused = others[f"{MESSAGES}/count_tokens"]
    for _ in range(2):
        status, headers, body = ask(reverse, path, ASKED[MESSAGES])
        assert (status, headers["content-type"]) == (200, "application/json")
        assert json.loads(body)["input_tokens"] > 0
    assert len(refused.requests) == 2  # as long as no message has been answered
    ask(reverse, others[MESSAGES][0], ASKED[MESSAGES])
    assert ask(reverse, path, ASKED[MESSAGES])[0] == 200
    assert len(refused.requests) == 2


def test_list_of_models_has_the_form_that_is_asked_for(
    reverse: Mitmdump, provider: Provider
) -> None:
    listed = dumps({"object": "list", "data": [{"id": "m", "object": "model"}]})
    script = provider.script(
        listed,
        path="/v1/models",
        headers={"content-type": "application/json"},
        framing="length",
    )
    found = []
    for headers in ({}, {"anthropic-version": "2023-06-01"}):
        with Http1Client(connect(reverse.port)) as client:
            request = f"GET {script.path} HTTP/1.1\r\nhost: localhost\r\n"
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            client.socket.sendall(f"{request}{lines}\r\n".encode())
            reply = Http1Reply(client)
            found.append(json.loads(reply.rest()))
    assert found[0] == json.loads(listed)
    assert [each["type"] for each in found[1]["data"]] == ["model"]
    assert found[1]["has_more"] is False


# -- ways to the provider ------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_client_with_a_host_wired_in_is_routed_and_translated(
    start: Start, provider: Provider, tmp_path: Path, end: str, alpn: str
) -> None:
    script, others = chat_only(provider, *EVENTS)
    for each in (script, others[end][1]):
        provider.alias(each, f"{each.path}?beta=true")
    base = script.path.removesuffix("/chat/completions")
    flows = tmp_path / "flows"
    mitmdump = start(
        *("-w", str(flows)),
        normalize_routes=f"{OPENAI}=http://{LOOPBACK}:{provider.port}{base}",
        normalize_models="gpt-*=acme/brook-8b",
        normalize_keys=f"{LOOPBACK}=env:A_KEY",
    )
    raw = connect(mitmdump.port, tunnel=f"{OPENAI}:443", ca=mitmdump.ca, alpn=[alpn])
    client: Http1Client | Http2Client
    client = Http2Client(raw, OPENAI) if alpn == "h2" else Http1Client(raw, OPENAI)
    own = {"x-api-key": "sk-the-clients-own", "anthropic-version": "2023-06-01"}
    with client:
        for _ in range(2):
            asked = {**ASKED[end], "model": "gpt-7"}
            body = client.post(f"/v1{end}?beta=true", asked, own).rest()
            assert text_in(end, body) == "Hi there"
            assert b"gpt-7" in body
            assert b"acme" not in body
    assert len(others[end][1].requests) == 1
    for got in script.requests:
        assert got.headers["authorization"] == f"Bearer {KEY}"
        assert "x-api-key" not in got.headers
        assert json.loads(got.body)["model"] == "acme/brook-8b"
    mitmdump.terminate()
    stored = flows.read_bytes()
    assert f"/v1{end}?beta=true".encode() in stored
    for secret in (KEY, "sk-the-clients-own"):
        assert secret not in mitmdump.log
        assert secret.encode() not in stored


@BOTH
@pytest.mark.parametrize("now", [200, 404])
def test_request_that_is_sent_as_it_came_has_the_models_name_and_a_hidden_key(
    start: Start, provider: Provider, tmp_path: Path, end: str, now: int
) -> None:
    script, others = chat_only(provider, *EVENTS, turns=[Script("", EVENTS)])
    script.parts, script.status = [MISSING_MODEL], 404
    path, refused = others[end]
    refused.turns = [Script("", refused.parts, 404)]
    refused.status = now
    flows = tmp_path / "flows"
    mitmdump = start(
        *("-w", str(flows)),
        *to(provider),
        normalize_models="gpt-*=acme/brook-8b",
        normalize_keys=f"{LOOPBACK}=env:A_KEY",
    )
    own = {"x_api_key": "sk-the-clients-own"}
    body = {**ASKED[end], "model": "gpt-7"}
    assert text_in(end, ask(mitmdump, path, body, **own)[2]) == "Hi there"
    assert ask(mitmdump, path, body, **own)[0] == now
    asked = [*refused.requests, *script.requests]
    assert len(asked) == 4
    for got in asked:
        assert got.headers["authorization"] == f"Bearer {KEY}"
        assert "x-api-key" not in got.headers
        assert json.loads(got.body)["model"] == "acme/brook-8b"
    assert json.loads(refused.requests[-1].body) == {**body, "model": "acme/brook-8b"}
    mitmdump.terminate()
    stored = flows.read_bytes()
    assert stored.count(path.encode()) == 2
    for secret in (KEY, "sk-the-clients-own"):
        assert secret.encode() not in stored
        assert secret not in mitmdump.log


@BOTH
@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_selected_host_is_translated_directly(
    explicit: Mitmdump, secure: dict[str, Provider], end: str, alpn: str
) -> None:
    provider = secure[alpn]
    script, others = chat_only(provider, *EVENTS)
    place = f"localhost:{provider.port}"
    raw = connect(explicit.port, tunnel=place, ca=explicit.ca, alpn=[alpn])
    client: Http1Client | Http2Client
    client = Http2Client(raw, place) if alpn == "h2" else Http1Client(raw, place)
    path, refused = others[end]
    with client:
        for _ in range(2):
            body = client.post(path, ASKED[end], {"x-api-key": "sk-own"}).rest()
            assert text_in(end, body) == "Hi there"
    assert len(refused.requests) == 1
    assert [each.headers["authorization"] for each in script.requests] == [
        "Bearer sk-own"
    ] * 2


@pytest.mark.parametrize(
    ("header", "scheme"), [("authorization", "Bearer "), ("x-api-key", "")]
)
def test_gate_knows_both_headers(
    start: Start, provider: Provider, header: str, scheme: str
) -> None:
    script, others = chat_only(provider, *EVENTS)
    path, _ = others[MESSAGES]
    mitmdump = start(
        *to(provider),
        normalize_gate="env:A_TOKEN",
        normalize_keys=f"{LOOPBACK}=env:A_KEY",
    )
    status, _, body = ask(mitmdump, path, ASKED[MESSAGES], **{header: f"{scheme}wrong"})
    assert (status, json.loads(body)["type"]) == (401, "error")
    assert provider.requests[-1].path != path
    status, _, body = ask(mitmdump, path, ASKED[MESSAGES], **{header: scheme + TOKEN})
    assert (status, text_in(MESSAGES, body)) == (200, "Hi there")
    (got,) = script.requests
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert TOKEN not in str(got.headers)
    mitmdump.terminate()
    assert TOKEN not in mitmdump.log


# -- who does not ask for it ----------------------------------------------------------


def test_messages_of_a_thread_are_no_messages_of_anthropics(
    reverse: Mitmdump, provider: Provider
) -> None:
    refused = dumps({"error": {"message": "No thread found with id 'thread_1'."}})
    script, others = chat_only(provider, *EVENTS)
    path = others[MESSAGES][0].replace(MESSAGES, "/threads/thread_1/messages")
    refusal = body_script(refused, 404)
    missing = Script(
        path, refusal.parts, refusal.status, refusal.headers, refusal.framing
    )
    provider.alias(missing, path)
    body = {"role": "user", "content": "heron?"}
    assert ask(reverse, path, body)[::2] == (404, refused)
    assert (len(missing.requests), len(script.requests)) == (1, 0)


# -- the end -------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    "parts",
    [(*EVENTS, 8.0), (*EVENTS[:-1], 8.0), (*EVENTS[:-1], 0.3, Break.RESET)],
    ids=["stays", "falls silent", "resets"],
)
def test_stream_ends_with_its_protocols_last_event(
    reverse: Mitmdump, provider: Provider, end: str, parts: Sequence[Part]
) -> None:
    script, others = chat_only(provider, *parts)
    path, refused = others[end]
    with (
        reverse.options(normalize_keepalive=1),
        Http1Client(connect(reverse.port)) as client,
    ):
        for _ in range(2):  # the second time the path is known
            begun = time.monotonic()
            body = client.post(path, ASKED[end]).rest()
            assert events_in(body)[-1][0] == LAST[end]
            assert time.monotonic() - begun < 5
            flow = reverse.records(refused)[-1]
            assert (flow["type"], flow["end"]) == ("flow", "complete")
    assert len(script.requests) == 2
