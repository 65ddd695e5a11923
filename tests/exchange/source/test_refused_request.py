from typing import Any

import pytest

from exchange.source.second_answers import JSON, SecondAnswers, play
from llm_normalize.exchange.request.adapted_request import client_of, key_of
from llm_normalize.exchange.source import refused_request
from llm_normalize.exchange.source.refused_request import MAX_RETRIES
from llm_normalize.mitm.second_request import Reply, UpstreamError
from llm_normalize.records.snapshot import KEY
from llm_normalize.wire.json_text import dumps, loads
from proxies import GOOD_BODY, Proxy, broken, chat_flow, messages, response_of

SEED = b'{"error":{"message":"Unknown parameter: \'seed\'"}}'
STORE = b'{"error":{"message":"Unknown parameter: \'store\'"}}'
ASKED = {"model": "m", "seed": 7, "store": True, "stream": False}


def refused(body: bytes = SEED, request: Any = ASKED, **more: Any) -> Any:
    made = chat_flow(request=request, status=400, headers=dict(JSON), **more)
    response_of(made).raw_content = body
    return made


FAILED = Reply(500, "", JSON, b'{"error":{"message":"Internal server error"}}')


@pytest.mark.parametrize(
    "reply",
    [
        Reply(429, "", JSON, b"{}"),
        Reply(400, "", JSON, SEED),
        Reply(307),
        FAILED,
        Reply(404, "", JSON, b'{"error":{"message":"no route"}}'),
    ],
)
def test_what_did_not_help_is_not_learned(
    proxy: Proxy, upstream: SecondAnswers, reply: Reply
) -> None:
    upstream.replies = [reply]
    assert play(proxy, refused()).status_code == reply.status
    assert len(upstream.asked) == 1
    made = refused()
    made.response = None
    proxy.addon.request(made)
    assert loads(made.request.content) == ASKED


def test_answer_that_is_not_ready_is_not_followed(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    upstream.replies = [Reply(202, "", [*JSON, ("nvcf-reqid", "r-1")], b"{}")]
    assert play(proxy, refused()).status_code == 202
    assert len(upstream.asked) == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UpstreamError("https://a.test: it broke off"), "https://a.test: it broke off"),
        (RuntimeError("Bearer canary"), "RuntimeError"),
    ],
)
def test_without_an_answer_the_refusal_stays(
    proxy: Proxy,
    upstream: SecondAnswers,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    said: str,
) -> None:
    upstream.replies = [Reply(400, "", JSON, STORE), error]
    made = refused()
    response = play(proxy, made)
    assert response.status_code == 400
    assert loads(response.content)["error"]["message"] == "Unknown parameter: 'store'"
    assert messages(caplog) == [f"normalize: cannot ask again: {said}"]
    assert made.metadata[KEY]["request"] == [["parameter-learned", "dropped", "seed"]]
    assert "store" in loads(made.request.content)


def test_answer_that_takes_too_long_leaves_the_refusal(
    proxy: Proxy, upstream: SecondAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_request, "TIMEOUT", 0)
    upstream.replies = [Reply(200, "OK", JSON, b"{}")]
    assert play(proxy, refused()).status_code == 400


def test_client_that_leaves_gets_nothing_and_nothing_is_learned(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    made = refused()
    upstream.meanwhile = lambda: broken(made, "Client disconnected.")
    upstream.replies = [Reply(200, "OK", JSON, b"{}")]
    assert play(proxy, made).status_code == 400
    assert proxy.end() == "client-left"
    again = refused()
    again.response = None
    proxy.addon.request(again)
    assert loads(again.request.content) == ASKED


def test_observing_tells_what_would_go(proxy: Proxy, upstream: SecondAnswers) -> None:
    proxy.set(normalize_mode="observe")
    made = refused()
    before = made.request.content
    response = play(proxy, made)
    assert (response.status_code, response.content) == (400, SEED)
    assert (upstream.asked, made.request.content) == ([], before)
    (request,) = proxy.records("request")
    assert (request["mode"], request["dropped"]) == ("observe", ["seed"])
    assert made.comment.endswith("request: seed would be dropped")


def test_what_helped_is_learned_though_more_is_refused_than_tries(
    upstream: SecondAnswers, proxy: Proxy
) -> None:
    learned = proxy.addon._answers._replacements.learned
    names = ["seed", "a", "b", "c", "d"]
    made = refused(request={"model": "m"} | dict.fromkeys(names, 1))
    upstream.replies = [
        Reply(400, "", JSON, SEED.replace(b"seed", name.encode())) for name in names[1:]
    ]
    play(proxy, made)
    assert len(upstream.asked) == MAX_RETRIES == 3
    known = learned.of(key_of(made.request, {"model": "m"}, client_of(made)))
    assert [each.path for each in known] == [("seed",), ("a",), ("b",)]
    assert b"'c'" in (response_of(made).content or b"")


def test_form_that_is_changed_once_may_be_refused_after_the_last_try(
    upstream: SecondAnswers, proxy: Proxy
) -> None:
    names = ["seed", "a", "b"]
    said = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    made = refused(request={"model": "m", "messages": [said]} | dict.fromkeys(names, 1))
    words = b"messages.0.content: Input should be a valid string"
    upstream.replies = [
        *(Reply(400, "", JSON, SEED.replace(b"seed", each)) for each in (b"a", b"b")),
        Reply(400, "", JSON, b'{"error":{"message":"%b"}}' % words),
        Reply(200, "OK", JSON, dumps(GOOD_BODY)),
    ]
    assert play(proxy, made).status_code == 200
    assert len(upstream.asked) == MAX_RETRIES + 1
    messages_sent = loads(upstream.asked[-1].content or b"")["messages"]
    assert messages_sent == [{"role": "user", "content": "Hi"}]
