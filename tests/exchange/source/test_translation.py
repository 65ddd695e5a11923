"""Requests in other protocols that are sent as chat, with the addon's hooks called directly."""

import gzip
import io
import json
from typing import Any

import pytest
from mitmproxy import contentviews, exceptions, http
from mitmproxy.io import FlowReader, FlowWriter

from exchange.source.second_answers import JSON
from exchange.source.test_second_answer import EVENTS, Rest, first, play
from llm_normalize.addon import Normalize
from llm_normalize.exchange.record.stored_flow import stored
from llm_normalize.exchange.source import translation, unserved_path
from llm_normalize.exchange.state.exchange import HANDED_OVER
from llm_normalize.mitm.second_request import Reply
from llm_normalize.native_fixes import message_events as events
from llm_normalize.native_fixes.native_fix import wire as native_wire
from llm_normalize.protocols.messages import Messages
from llm_normalize.protocols.messages.stream import MessagesAnswer
from llm_normalize.protocols.responses import Responses
from llm_normalize.repair.fix import DONE, chunk, completion, wire
from llm_normalize.views.before_after import BeforeAfter
from llm_normalize.views.transcript import Transcript
from llm_normalize.wire.json_text import dumps, loads
from proxies import (
    HOST,
    Proxy,
    broken,
    chat_flow,
    connected,
    fail,
    messages,
    response_of,
)

RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
COUNT = f"{MESSAGES}/count_tokens"
CHAT = "/v1/chat/completions"
BOTH = pytest.mark.parametrize("path", [RESPONSES, MESSAGES])
OTHER = "api.groq.com"
ASKED: dict[str, Any] = {
    RESPONSES: {"model": "m", "input": "heron?", "stream": True},
    MESSAGES: {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "heron?"}],
        "stream": True,
    },
}
STREAM = wire([
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Hi"}),
    chunk({}, finish="stop"),
    DONE,
])  # fmt: skip
BODY = dumps(completion({"role": "assistant", "content": "Hi"}))
MISSING = b"404 page not found\n"
UNEXPECTED = b'{"error":"Unexpected endpoint or method. (POST /v1/messages)"}'
LAST = {RESPONSES: b"response.completed", MESSAGES: b"message_stop"}


def flow(path: str = MESSAGES, *, host: str = HOST, **more: Any) -> http.HTTPFlow:
    """Return a flow whose request has not been sent."""
    asked = ASKED.get(path, ASKED[MESSAGES])
    made = chat_flow(host=host, path=path, request={**asked, **more})
    made.response = None
    return made


def send(proxy: Proxy, made: http.HTTPFlow) -> http.HTTPFlow:
    proxy.addon.requestheaders(made)
    if made.response is None:
        proxy.addon.request(made)
    return made


def answered(
    made: http.HTTPFlow,
    status: int = 200,
    kind: str = "text/event-stream",
    encoding: str = "",
) -> http.HTTPFlow:
    """Let the headers of an answer have arrived."""
    connected(made)
    made.server_conn.timestamp_start = 1.0
    made.response = chat_flow(status=status, headers={"content-type": kind}).response
    if encoding:
        response_of(made).headers["content-encoding"] = encoding
    return made


def asked_of(made: http.HTTPFlow) -> Any:
    return json.loads(made.request.content or b"")


def test_long_conversation_at_chats_path_has_more_values_as_chat(proxy: Proxy) -> None:
    proxy.set(normalize_models=["m=n"])
    given: list[Any] = [{"role": "user", "content": "heron?"}]
    for at in range(5000):
        call = {"call_id": f"c{at}", "name": "f", "arguments": "{}"}
        given += [
            {"type": "function_call", **call},
            {"type": "function_call_output", "call_id": f"c{at}", "output": "grey"},
        ]
    made = chat_flow(request={"model": "m", "input": given})
    made.response = None
    send(proxy, made)
    assert made.response is None
    sent = asked_of(made)
    assert (sent["model"], len(sent["messages"])) == ("n", 10_001)


# -- a host that serves chat alone ---------------------------------------------------


@BOTH
def test_request_leaves_as_chat_and_is_shown_as_it_was(proxy: Proxy, path: str) -> None:
    made = flow(f"{path}")
    made.request.headers["x-api-key"] = "nvapi-other"
    del made.request.headers["authorization"]
    before = made.request.content or b""
    made.request.headers["content-encoding"] = "gzip"
    made.request.raw_content = packed = gzip.compress(before)
    send(proxy, made)
    assert made.request.path == "/v1/chat/completions"
    assert made.request.headers["authorization"] == "Bearer nvapi-other"
    assert made.request.headers["accept-encoding"] == "identity"
    assert "x-api-key" not in made.request.headers
    assert "content-encoding" not in made.request.headers
    assert asked_of(made)["messages"] == [{"role": "user", "content": "heron?"}]
    out = proxy.stream(answered(made), STREAM)
    assert LAST[path] in out
    assert made.request.path == path
    assert made.request.headers["content-encoding"] == "gzip"
    assert made.request.raw_content == packed
    (record,) = proxy.records("flow")
    assert (record["path"], record["translated"]) == (path, True)


@BOTH
def test_request_that_is_only_observed_keeps_its_form(proxy: Proxy, path: str) -> None:
    for mode, sent in (("observe", path), ("repair", CHAT), ("observe", path)):
        proxy.set(normalize_mode=mode)
        assert send(proxy, flow(path)).request.path == sent


def test_first_event_leaves_with_its_chat_event(proxy: Proxy) -> None:
    made = answered(send(proxy, flow()))
    proxy.addon.responseheaders(made)
    head, text = STREAM.split(b"\n\n")[:2]
    proxy.feed(made, head + b"\n\n")
    out = proxy.feed(made, text + b"\n\n")
    assert b"text_delta" in out
    assert out.endswith(b"\n\n")


def test_own_authorization_comes_first(proxy: Proxy) -> None:
    made = flow()
    made.request.headers["x-api-key"] = "sk-other"
    send(proxy, made)
    assert made.request.headers["authorization"] == "Bearer nvapi-key"
    assert "x-api-key" not in made.request.headers


@BOTH
def test_body_and_error_are_the_protocols(proxy: Proxy, path: str) -> None:
    made = answered(send(proxy, flow(path, stream=False)), kind="application/json")
    body = loads(proxy.body(made, BODY) or b"")
    assert (body.get("type"), body.get("object")) == (
        ("message", None) if path == MESSAGES else (None, "response")
    )
    made = answered(send(proxy, flow(path, stream=False)), 429, "application/json")
    body = loads(proxy.body(made, b'{"detail":"slow down"}') or b"")
    assert body["error"]["message"] == "slow down"
    assert made.response is not None
    assert made.response.status_code == 429


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 200), (b"words", 200), (b"[1]", 200), (b'{"x":1}', 200), (b"", 500)],
)
def test_what_is_no_answer_is_an_error(proxy: Proxy, body: bytes, status: int) -> None:
    made = send(proxy, flow(stream=False))
    answered(made, status, "application/json")
    error = loads(proxy.body(made, body) or b"")
    assert error["type"] == "error"
    assert response_of(made).status_code == (502 if status == 200 else status)


def test_answer_that_failed_is_an_error_in_its_words(proxy: Proxy) -> None:
    made = answered(send(proxy, flow(stream=False)), kind="application/json")
    error = {"message": "out of memory", "code": 500}
    choice = {"index": 0, "message": {"content": "Half"}, "finish_reason": "error"}
    body = dumps({"model": "m", "choices": [{**choice, "error": error}]})
    told = loads(proxy.body(made, body) or b"")
    assert (told["type"], told["error"]["message"]) == ("error", "out of memory")
    assert response_of(made).status_code == 502


def test_bug_in_a_translator_is_an_error_of_the_answer(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(MessagesAnswer, "body", fail)
    made = answered(send(proxy, flow(stream=False)), kind="application/json")
    error = loads(proxy.body(made, BODY) or b"")["error"]
    assert error["message"] == "The proxy failed at translating the answer."
    assert "it cannot be translated" in caplog.text


@pytest.mark.parametrize(
    "value", [[], ["on/off"], ["off", "auto"], ["localhost:x"], ["https://a.test"]]
)
def test_option_says_what_it_takes(proxy: Proxy, value: list[str]) -> None:
    with pytest.raises(exceptions.OptionsError, match="auto, off or hosts"):
        proxy.set(normalize_translate=value)
    assert send(proxy, flow()).request.path == CHAT


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not valid JSON"),
        (b'{"model":"m","messages":1}', "messages"),
    ],
)
def test_request_that_cannot_be_translated_is_refused(
    proxy: Proxy, content: bytes, words: str
) -> None:
    made = flow()
    made.request.content = content
    send(proxy, made)
    response = response_of(made)
    body = loads(response.content or b"")
    assert (response.status_code, body["type"]) == (400, "error")
    assert words in body["error"]["message"]


def test_bug_in_a_translator_lets_no_request_out(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Messages, "translate", fail)
    response = response_of(send(proxy, flow()))
    assert (response.status_code, loads(response.content or b"")["type"]) == (
        500,
        "error",
    )


def test_provider_that_does_not_answer_is_an_error_in_the_protocol(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[http.Response | None] = []
    monkeypatch.setattr(
        "llm_normalize.exchange.unreachable_provider.end",
        lambda _, response, *__, **___: found.append(response),
    )
    made = send(proxy, flow())
    broken(made, "[Errno 111] Connect call failed")
    proxy.addon.error(made)
    (response,) = found
    assert response is not None
    assert loads(response.content or b"")["type"] == "error"


# -- other paths of Anthropic's ------------------------------------------------------


def test_tokens_are_counted_without_the_provider(proxy: Proxy) -> None:
    response = response_of(send(proxy, flow(COUNT)))
    assert loads(response.content or b"")["input_tokens"] > 0
    made = flow(COUNT)
    made.request.content = b"["
    response = response_of(send(proxy, made))
    assert (response.status_code, loads(response.content or b"")["type"]) == (
        400,
        "error",
    )


@pytest.mark.parametrize(
    ("status", "body"), [(404, MISSING), (405, MISSING), (200, UNEXPECTED)]
)
def test_tokens_are_counted_where_no_provider_does(
    proxy: Proxy, status: int, body: bytes
) -> None:
    made = answered(send(proxy, flow(COUNT, host=OTHER)), status, "application/json")
    response_of(made).headers["content-length"] = str(len(body))
    assert made.request.path == COUNT
    proxy.body(made, body)
    response = response_of(made)
    assert response.status_code == 200
    assert loads(response.content or b"")["input_tokens"] > 0
    # Nobody has answered it with success, so nothing is remembered.
    assert send(proxy, flow(COUNT, host=OTHER)).response is None


def test_tokens_are_counted_at_once_where_messages_are_not_served(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    learn(proxy, monkeypatch, replies, "one")
    assert response_of(send(proxy, asks("one", COUNT))).status_code == 200
    assert send(proxy, asks("two", COUNT)).response is None


@pytest.mark.parametrize(
    ("body", "status"), [(b'{"error":"no such model"}', 404), (b"{}", 200), (b"", 500)]
)
def test_provider_that_counts_answers(proxy: Proxy, body: bytes, status: int) -> None:
    made = answered(send(proxy, flow(COUNT, host=OTHER)), status, "application/json")
    assert proxy.body(made, body) == body


def test_refusal_that_passes_is_not_replaced(proxy: Proxy) -> None:
    made = answered(send(proxy, flow(COUNT, host=OTHER)), 404, "text/plain")
    proxy.addon.responseheaders(made)
    response_of(made).stream = True
    proxy.addon.response(made)
    assert response_of(made).status_code == 404


@BOTH
def test_request_with_too_many_values_gets_a_sentence(proxy: Proxy, path: str) -> None:
    response = response_of(send(proxy, flow(path, x=[[]] * 30_000)))
    error = loads(response.content or b"")["error"]
    assert response.status_code == 400
    assert error["type"] == "invalid_request_error"
    assert error["message"] == (
        "The body of the request is not read: it has too many values."
    )


# -- a host that says so -------------------------------------------------------------


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []

    async def send_retry(
        flow: http.HTTPFlow, body: bytes, *, live: bool, **_more: object
    ) -> Any:
        assert live
        assert "/v1/chat/completions" in flow.request.path
        assert loads(body)["messages"]
        return made.pop(0)

    monkeypatch.setattr(unserved_path, "send_retry", send_retry)
    return made


def first_refusal(
    proxy: Proxy, path: str, status: int = 404, **more: Any
) -> http.HTTPFlow:
    return answered(send(proxy, flow(path, host=OTHER, **more)), status, "text/plain")


@BOTH
def test_path_that_is_missing_is_asked_as_chat_and_remembered(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any], path: str
) -> None:
    client = first(monkeypatch, MISSING)
    replies.append(Reply(200, "OK", EVENTS, live_body=Rest(STREAM)))
    made = first_refusal(proxy, path)
    assert made.request.path == path
    response = play(proxy, made)
    assert (response.status_code, client.received) == (200, STREAM)
    assert LAST[path] in proxy.feed(made, STREAM)
    proxy.feed(made, b"")
    proxy.addon.response(made)
    assert made.request.path == path
    assert send(proxy, flow(path, host=OTHER)).request.path.endswith("/completions")


def test_unstreamed_request_is_asked_as_chat(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    client = first(monkeypatch, MISSING)
    replies.append(Reply(200, "OK", JSON, BODY))
    made = first_refusal(proxy, MESSAGES, stream=False)
    response = play(proxy, made)
    response.raw_content = client.received
    proxy.addon.response(made)
    assert loads(response.content or b"")["type"] == "message"


def asks(who: str, path: str = MESSAGES, **more: Any) -> http.HTTPFlow:
    """Return a flow of the client with this key."""
    made = flow(path, host=OTHER, **more)
    made.request.headers["authorization"] = f"Bearer {who}"
    return made


def learn(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[Any],
    who: str,
    status: int = 200,
    path: str = MESSAGES,
) -> None:
    """Let a client find that a path is not served."""
    first(monkeypatch, MISSING)
    replies.append(Reply(status, "OK", JSON, BODY))
    made = asks(who, path, stream=False)
    play(proxy, answered(send(proxy, made), 404, "text/plain"))
    assert "/chat/completions" in made.request.path


def is_translated(proxy: Proxy, made: http.HTTPFlow) -> bool:
    return "/chat/completions" in send(proxy, made).request.path


def test_what_one_client_was_told_changes_no_other_requests(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    learn(proxy, monkeypatch, replies, "one")
    assert is_translated(proxy, asks("one"))
    assert not is_translated(proxy, asks("one", model="other"))
    assert not is_translated(proxy, asks("one", RESPONSES))
    assert not is_translated(proxy, asks("two"))
    learn(proxy, monkeypatch, replies, "two")
    assert not is_translated(proxy, asks("three"))
    learn(proxy, monkeypatch, replies, "three")
    assert is_translated(proxy, asks("four"))  # several say so
    assert not is_translated(proxy, asks("four", model="other"))


def test_what_was_said_of_one_query_is_not_said_of_another(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    old, new = f"{MESSAGES}?api-version=1", f"{MESSAGES}?api-version=2"
    for who in ("one", "two", "three"):
        learn(proxy, monkeypatch, replies, who, path=f"{old}&key={who}")
    assert is_translated(proxy, asks("four", f"{old}&key=four"))
    assert not is_translated(proxy, asks("one", f"{new}&key=one"))
    assert not is_translated(proxy, asks("one"))


def test_clients_of_the_proxys_key_count_by_their_addresses(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    monkeypatch.setenv("A_KEY", "nvapi-canary-4711")
    proxy.set(normalize_keys=[f"{OTHER}=env:A_KEY"])
    # Their own keys go nowhere: anybody can make some up.
    at_once = [asks(who, stream=False) for who in ("one", "two", "three")]
    for made in [send(proxy, each) for each in at_once]:
        first(monkeypatch, MISSING)
        replies.append(Reply(200, "OK", JSON, BODY))
        play(proxy, answered(made, 404, "text/plain"))
    assert is_translated(proxy, asks("four"))
    other = asks("one")
    other.client_conn.peername = ("192.0.2.7", 1)
    assert not is_translated(proxy, other)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 422, 429, 503])
def test_path_is_learned_from_an_answer_alone(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any], status: int
) -> None:
    learn(proxy, monkeypatch, replies, "one", status)
    assert not is_translated(proxy, asks("one"))


BEGIN = [events.start(), events.block("text"), events.delta("text_delta", "Hi")]
NATIVE = native_wire([*BEGIN, events.end("stop"), events.STOP])
REPAIRED = native_wire([*BEGIN, events.stop(), events.end(), events.STOP])


def answers_as_asked(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, made: http.HTTPFlow, *replies: Reply
) -> tuple[http.Response, bytes]:
    """Let a request that was translated from memory be refused, and be sent as it came.

    Returns:
        The answer, and what mitmproxy receives of it.
    """
    left = [*replies]

    async def send_retry(*_: object, **__: object) -> Any:
        return left.pop(0)

    monkeypatch.setattr(unserved_path, "send_retry", send_retry)
    client = first(monkeypatch, b"")
    answered(send(proxy, made), 404, "application/json")
    assert made.request.path.endswith("/completions")
    response = play(proxy, made)
    assert not left
    return response, client.received


@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize("is_live", [True, False])
def test_request_that_was_translated_in_vain_is_sent_once_as_it_came(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[Any],
    status: int,
    is_live: bool,
) -> None:
    learn(proxy, monkeypatch, replies, "one")
    sent: list[Any] = []

    async def send_retry(
        flow: http.HTTPFlow, body: bytes, *, live: bool, **_more: object
    ) -> Any:
        sent.append((flow.request.path, {**flow.request.headers}, body))
        rest = Rest(NATIVE) if live and is_live else None
        return Reply(200, "OK", EVENTS, b"" if is_live else NATIVE, live_body=rest)

    monkeypatch.setattr(unserved_path, "send_retry", send_retry)
    client = first(monkeypatch, b'{"error":{"message":"no such model"}}')
    made = answered(send(proxy, asks("one")), status, "application/json")
    assert made.request.path.endswith("/completions")
    response = play(proxy, made)
    assert (response.status_code, client.received) == (200, NATIVE)
    ((path, headers, body),) = sent
    assert (path, loads(body)) == (MESSAGES, ASKED[MESSAGES])
    assert headers["authorization"] == "Bearer one"
    assert proxy.feed(made, NATIVE) + proxy.feed(made, b"") == REPAIRED
    proxy.addon.response(made)
    assert made.request.path == MESSAGES
    assert not is_translated(proxy, asks("one"))  # it is forgotten
    (record,) = [each for each in proxy.records("flow") if each["stream"]]
    assert (record["protocol"], record["changed"]) == ("messages", 1)
    assert "translated" not in record


def test_summary_that_was_asked_in_vain_in_translation_passes(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    learn(proxy, monkeypatch, replies, "one", path=RESPONSES)
    made = asks("one", f"{RESPONSES}/compact", input="heron?", stream=False)
    reply = Reply(200, "OK", JSON, b'{"output": []}')
    response, received = answers_as_asked(proxy, monkeypatch, made, reply)
    assert (response.stream, received) == (True, reply.body)


@pytest.mark.parametrize("reply", [Reply(404, "No", [], MISSING), "no connection"])
def test_words_of_chat_stay_where_the_path_is_missing_indeed(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any], reply: Any
) -> None:
    learn(proxy, monkeypatch, replies, "one")

    async def send_retry(*_: object, **__: object) -> Any:
        return reply

    monkeypatch.setattr(unserved_path, "send_retry", send_retry)
    words = b'{"error":{"message":"no such model"}}'
    first(monkeypatch, words)
    made = answered(send(proxy, asks("one")), 404, "application/json")
    response = play(proxy, made)
    response.raw_content = words
    proxy.addon.response(made)
    error = loads(response.content or b"")
    assert (response.status_code, error["type"]) == (404, "error")
    assert error["error"]["message"] == "no such model"
    assert made.request.path == MESSAGES


def test_host_that_is_known_is_never_asked_in_another_form(proxy: Proxy) -> None:
    made = answered(send(proxy, flow()), 404, "application/json")
    proxy.addon.responseheaders(made)
    assert made.request.path.endswith("/completions")


def test_key_of_a_client_goes_back_to_its_place(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    def keyed() -> http.HTTPFlow:
        made = flow(host=OTHER)
        del made.request.headers["authorization"]
        made.request.headers["x-api-key"] = "one"
        return made

    first(monkeypatch, MISSING)
    replies.append(Reply(200, "OK", EVENTS, live_body=Rest(STREAM)))
    play(proxy, answered(send(proxy, keyed()), 404, "text/plain"))
    sent: list[dict[str, str]] = []

    async def send_retry(flow: http.HTTPFlow, *_: object, **__: object) -> Any:
        sent.append({**flow.request.headers})
        return Reply(200, "OK", EVENTS, NATIVE)

    monkeypatch.setattr(unserved_path, "send_retry", send_retry)
    first(monkeypatch, MISSING)
    play(proxy, answered(send(proxy, keyed()), 404, "text/plain"))
    assert sent[0]["x-api-key"] == "one"
    assert "authorization" not in sent[0]


@pytest.mark.parametrize(
    "reply",
    [
        "no connection",
        Reply(404, "No", [], MISSING),
        Reply(405, "No", JSON, b'{"detail":"Method Not Allowed"}'),
        Reply(200, "OK", JSON, UNEXPECTED),
    ],
)
def test_first_answer_stays_where_chat_does_not_help(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[Any],
    caplog: pytest.LogCaptureFixture,
    reply: Any,
) -> None:
    first(monkeypatch, MISSING)
    replies.append(reply)
    made = first_refusal(proxy, MESSAGES)
    response = play(proxy, made)
    assert (response.status_code, response.raw_content) == (404, None)
    response.raw_content = MISSING
    proxy.addon.response(made)
    error = loads(response.content or b"")["error"]
    assert error["message"] == MISSING.decode().strip()
    assert asked_of(made) == ASKED[MESSAGES]
    assert send(proxy, flow(host=OTHER)).request.path == MESSAGES
    assert messages(caplog, "ERROR") == []
    (record,) = proxy.records("flow")
    assert "translated" not in record


def test_key_does_not_replace_the_one_of_a_client_of_anthropics(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "sk-ant-proxys-own")
    proxy.set(
        normalize_hosts=["api.anthropic.com"],
        normalize_keys=["api.anthropic.com=env:A_KEY"],
    )
    made = flow(host="api.anthropic.com")
    made.request.headers["x-api-key"] = "sk-ant-clients"
    assert send(proxy, made).request.headers["x-api-key"] == "sk-ant-clients"


@pytest.mark.parametrize("body", [None, b'{"error":"The model m is not there"}'])
def test_refusal_that_is_not_about_the_path_passes(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, body: bytes | None
) -> None:
    client = first(monkeypatch, body)
    response = play(proxy, first_refusal(proxy, MESSAGES))
    assert (response.status_code, client.is_forgotten) == (404, False)


def test_client_that_leaves_meanwhile_is_recorded(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    first(monkeypatch, MISSING)
    replies.append(None)
    play(proxy, first_refusal(proxy, MESSAGES))
    assert proxy.end() == "client-left"


def test_request_that_cannot_be_translated_gets_a_sentence(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first(monkeypatch, MISSING)
    made = first_refusal(proxy, RESPONSES, previous_response_id="resp_1")
    play(proxy, made)
    response_of(made).raw_content = MISSING
    proxy.addon.response(made)
    response = response_of(made)
    assert response.status_code == 400
    assert "previous_response_id" in str(loads(response.content or b""))


def test_request_with_too_many_values_gets_a_sentence_where_the_path_is_missing(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first(monkeypatch, MISSING)
    made = first_refusal(proxy, RESPONSES, x=[[]] * 30_000)
    play(proxy, made)
    response_of(made).raw_content = MISSING
    proxy.addon.response(made)
    assert response_of(made).status_code == 400
    assert b"is not read: it has too many values." in (response_of(made).content or b"")


def test_bug_in_a_translator_leaves_the_first_answer(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first(monkeypatch, MISSING)
    monkeypatch.setattr(Responses, "translate", fail)
    response = play(proxy, first_refusal(proxy, RESPONSES))
    assert (response.status_code, response.raw_content) == (404, None)
    assert "is not translated" in caplog.text


def test_answer_that_is_not_the_providers_passes(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first(monkeypatch, MISSING)
    made = first_refusal(proxy, MESSAGES)
    made.server_conn.timestamp_start = None  # a replay
    play(proxy, made)
    assert (made.request.path, response_of(made).status_code) == (MESSAGES, 404)
    made = first_refusal(proxy, MESSAGES)
    response_of(made).raw_content = MISSING  # another addon's
    assert proxy.addon.responseheaders(made) is None


def test_paths_that_are_remembered_are_bounded(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, replies: list[Any]
) -> None:
    monkeypatch.setattr(translation, "_MOST", 1)
    for who in ("one", "two"):
        learn(proxy, monkeypatch, replies, who, path=f"/{who}{MESSAGES}")
    assert is_translated(proxy, asks("two", f"/two{MESSAGES}"))
    assert not is_translated(proxy, asks("one", f"/one{MESSAGES}"))  # the oldest


# -- a provider with a protocol of its own, a route by model, a reload ----------------


def test_native_provider_is_asked_in_its_form(proxy: Proxy) -> None:
    route = (
        "api.anthropic.com=workers-ai:https://api.cloudflare.com/client/v4/accounts/1"
    )
    proxy.set(normalize_routes=[route])
    made = send(proxy, flow(host="api.anthropic.com", model="@cf/acme/brook"))
    assert made.request.path == "/client/v4/accounts/1/ai/run/@cf/acme/brook"
    out = proxy.stream(answered(made), b'data: {"response":"Hi"}\n\n', DONE)
    assert b"text_delta" in out
    assert made.request.path == MESSAGES
    response = response_of(send(proxy, flow(COUNT, host="api.anthropic.com")))
    assert response.status_code == 200


def test_list_of_models_has_the_form_of_its_client(proxy: Proxy) -> None:
    made = chat_flow(method="GET", path="/v1/models", headers=dict(JSON))
    made.request.headers["anthropic-version"] = "2023-06-01"
    made.response = None
    send(proxy, made)
    answered(made, kind="application/json")
    listed = b'{"object":"list","data":[{"id":"m"}]}'
    assert loads(proxy.body(made, listed) or b"")["data"][0]["type"] == "model"
    for other in (b'{"data":[{"id":"m"}],"has_more":false}', b"[]"):
        made = chat_flow(method="GET", path="/v1/models", headers=dict(JSON))
        made.request.headers["anthropic-version"] = "2023-06-01"
        made.response = None
        answered(send(proxy, made), kind="application/json")
        assert proxy.body(made, other) == other
    made = chat_flow(method="GET", path="/v1/models", headers=dict(JSON))
    made.response = None  # of a client of chat
    answered(send(proxy, made), kind="application/json")
    assert proxy.body(made, listed) == listed


def test_addon_that_is_loaded_next_translates_what_is_under_way(
    proxy: Proxy,
) -> None:
    made, other, lost = (send(proxy, flow()) for _ in range(3))
    other.request.headers["content-encoding"] = "gzip"
    proxy.addon.done()
    assert json.dumps(made.metadata[HANDED_OVER], default=repr)
    lost.metadata[HANDED_OVER][2][0] = "/v1/chat/completions"
    packed = gzip.compress(dumps(ASKED[MESSAGES]))
    other.metadata[HANDED_OVER][2][1:] = [packed, "gzip"]
    proxy.addon = addon = Normalize()
    proxy.context.master.addons.clear()
    proxy.context.configure(addon)
    for each in (made, other):
        assert b"message_stop" in proxy.stream(answered(each), STREAM)
        assert each.request.path == MESSAGES
    assert proxy.stream(answered(lost), STREAM) == STREAM


# -- what is seen --------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("from_file", [False, True])
def test_views_and_commands_know_what_the_provider_sent(
    proxy: Proxy, path: str, from_file: bool
) -> None:
    made = send(proxy, flow(path))
    proxy.stream(answered(made), STREAM)
    if from_file:
        file = io.BytesIO()
        FlowWriter(file).add(made)
        file.seek(0)
        (read,) = FlowReader(file).stream()
        assert isinstance(read, http.HTTPFlow)
        made = read
    response = response_of(made)
    metadata = contentviews.Metadata(flow=made, http_message=response)
    view, data = Transcript(), response.raw_content or b""
    assert view.prettify(data, metadata).splitlines()[-3:] == [
        "text:",
        "  Hi",
        "finish: stop",
    ]
    assert view.render_priority(data, metadata) == 0.5
    shown = BeforeAfter().prettify(data, metadata)
    assert '- data: {"id":' in shown
    assert "+ event: " in shown
    found = stored(made)
    assert (found.received, found.asked.model, found.fixes) == (STREAM, "m", {})
    assert found.is_translated
    rows = list(proxy.addon.rerun_command([made]))
    assert rows[1][3] == "translated: what was sent is not compared"


def test_flow_of_a_protocol_that_is_unknown_now_is_left_out(proxy: Proxy) -> None:
    made = send(proxy, flow())
    proxy.stream(answered(made), STREAM)
    made.request.path = "/v1/other"
    with pytest.raises(ValueError, match="protocol is not known"):
        stored(made)
