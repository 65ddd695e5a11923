"""What is recorded and shown of answers in their client's own protocol."""

import re
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews

from llm_normalize.native_fixes import response_events as responses
from llm_normalize.native_fixes.message_events import (
    STOP,
    block,
    delta,
    end,
    message,
    start,
    stop,
)
from llm_normalize.native_fixes.native_fix import wire
from llm_normalize.views.before_after import BeforeAfter
from llm_normalize.views.transcript import Transcript
from llm_normalize.wire.json_text import dumps, loads
from proxies import HOST, Proxy, chat_flow, connected, response_of

PATH = "/v1/messages"
CALL = [block("tool_use", 1), delta("input_json_delta", "{}", 1), stop(1)]
TEXT = [block("text"), delta("text_delta", "Hi"), stop()]
BAD = wire([start(), *TEXT[:2], *CALL, end("tool_calls"), STOP])
GOOD = wire([start(), *TEXT, *CALL, end("tool_use"), STOP])
BUSY = {"type": "overloaded_error", "message": "Busy: overloaded"}
ERROR = {"type": "error", "sequence_number": 2, "error": {**BUSY, "code": "overloaded"}}
CITED = delta("text_delta", "", 1)
CITED["delta"] = {"type": "citations_delta", "citation": {"title": "a"}}
FIXES = ["block-stop-missing", "stop-reason-foreign"]


def asked(**more: Any) -> Any:
    return chat_flow(path=PATH, **more)


def test_stream_has_pairs_and_a_flow_record(proxy: Proxy) -> None:
    assert proxy.stream(asked(), BAD) == GOOD
    records = proxy.records()
    assert [name for each in records[:-1] for name in each["fixes"]] == FIXES
    flow = records[-1]
    assert (flow["protocol"], flow["changed"]) == ("messages", 2)
    assert "translated" not in flow
    assert (flow["prompt_tokens"], flow["completion_tokens"]) == (5, 2)


def test_answer_that_is_pending_is_not_fetched(proxy: Proxy) -> None:
    made = asked(status=202, headers={"nvcf-reqid": "r1"})
    response_of(made).raw_content = b'{"a": 1}'
    proxy.addon.responseheaders(made)
    assert proxy.addon.response(made) is None
    assert response_of(made).status_code == 202


def test_statistics_name_the_protocol(proxy: Proxy) -> None:
    proxy.stream(asked(), BAD)
    rows = [row[-2:] for row in proxy.addon.stats.rows()]
    assert ["protocol: messages", "1"] in rows
    assert ["block-stop-missing", "1"] in rows


def test_views_show_it(proxy: Proxy) -> None:
    made = asked()
    proxy.stream(made, BAD)
    shown = contentviews.Metadata(flow=made, http_message=response_of(made))
    content = response_of(made).raw_content or b""
    assert "block-stop-missing" in BeforeAfter().prettify(content, shown)
    assert Transcript().render_priority(content, shown) > 0
    assert Transcript().prettify(content, shown).splitlines() == [
        "model acme-1, id msg_1",
        " ",
        "text:",
        "  Hi",
        "call: f (toolu_1):",
        "  {}",
        "finish: tool_use",
        " ",
        'usage: {"input_tokens":5,"output_tokens":2}',
    ]


def test_rerun_and_capture_know_it(proxy: Proxy, tmp_path: Path) -> None:
    made = asked()
    proxy.stream(made, BAD)
    (row,) = proxy.addon.rerun_command([made])[1:]
    assert row == [made.id[:8], HOST, "m", "the same"]
    proxy.set(normalize_skip=["stop-reason-foreign"])
    (row, *_) = proxy.addon.rerun_command([made])[1:]
    assert row[-1] == "stop-reason-foreign: 1 then, 0 now"
    (row,) = proxy.addon.capture_command([made], str(tmp_path / "captures"))[1:]
    folder = Path(row[0])
    about = (folder / "about.toml").read_text("utf-8")
    assert 'protocol = "messages"' in about
    assert "block-stop-missing" in about
    assert b"content_block_stop" in (folder / "expected.sse").read_bytes()


def test_body_is_rerun_too(proxy: Proxy) -> None:
    made = asked(request={"model": "m"}, headers={"content-type": "application/json"})
    whole = message({"type": "text", "text": "Hi"}, stop_reason="stop")
    assert proxy.body(made, dumps(whole)) == dumps({**whole, "stop_reason": "end_turn"})
    (row,) = proxy.addon.rerun_command([made])[1:]
    assert row[-1] == "the same"


def body_of(proxy: Proxy, path: str, data: bytes) -> tuple[int, Any]:
    """Return the status and the body that a stream becomes where a body was asked."""
    made = chat_flow(path=path, request={"model": "m"})
    out = proxy.body(made, data) or b""
    response = response_of(made)
    if out != data:
        assert response.headers["content-type"] == "application/json"
    return response.status_code, out if out == data else loads(out)


def test_stream_where_a_body_was_asked_becomes_one(proxy: Proxy) -> None:
    told: list[Any] = [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "text", "text": "Hi there", "citations": [{"title": "a"}]},
        {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "toolu_3", "name": "f", "input": {}},
    ]
    stream = [
        start(),
        block("thinking"),
        delta("thinking_delta", "Hm"),
        delta("signature_delta", "s"),
        stop(),
        block("text", 1),
        delta("text_delta", "Hi", 1),
        delta("text_delta", " there", 1),
        CITED,
        stop(1),
        block("tool_use", 2),
        delta("input_json_delta", '{"a":', 2),
        delta("input_json_delta", "1}", 2),
        block("tool_use", 3),  # not stopped before
        stop(3),
        end("tool_calls"),
        STOP,
    ]
    whole = {**message(*told), "stop_reason": "tool_use"}
    whole["usage"] = {"input_tokens": 5, "output_tokens": 2}
    assert body_of(proxy, PATH, wire(stream)) == (200, whole)
    fixes = proxy.records()[0]["fixes"]
    assert {"stream-in-body", "block-stop-missing", "stop-reason-foreign"} == {*fixes}


LOST = b'data: {"type":"content_blo\n\n'


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        (PATH, wire([start(), *TEXT]), 200),  # broken off
        (PATH, b"event: odd\ndata: Busy\n\n" + GOOD, 200),
        ("/v1/responses", wire(responses.WHOLE[:-1]), 200),
        (PATH, wire([start()]) + LOST + wire([*TEXT, end(), STOP]), 502),
        ("/v1/responses", LOST + wire(responses.WHOLE), 502),
        (PATH, wire([start(), {"type": "error", "error": BUSY}]), 503),
        ("/v1/responses", wire([*responses.begin(), ERROR]), 503),
    ],
)
def test_stream_that_says_no_answer_becomes_none(
    proxy: Proxy, path: str, data: bytes, status: int
) -> None:
    found, body = body_of(proxy, path, data)
    assert found == status
    if status == 200:
        assert body == data
    else:
        assert body["error"]["message"].startswith("B")
        assert (body.get("type") == "error") is (path == PATH)
        assert "content" not in body


def test_stream_stays_where_that_fix_is_off(proxy: Proxy) -> None:
    proxy.set(normalize_skip=["stream-in-body"])
    assert body_of(proxy, PATH, GOOD) == (200, GOOD)


@pytest.mark.parametrize("host", ["api.anthropic.com", "example.com"])
def test_who_made_the_protocol_and_other_hosts_pass(proxy: Proxy, host: str) -> None:
    proxy.set(normalize_hosts=["api.anthropic.com", HOST])
    made = asked(host=host)
    proxy.addon.responseheaders(made)
    assert not callable(response_of(made).stream)
    assert proxy.records() == []


def test_id_of_an_answer_to_another_request_is_made_new(proxy: Proxy) -> None:
    data = wire([start(id="msg_proxy"), *TEXT, end(), STOP])
    again = {"model": "m", "stream": True, "messages": [{"role": "user"}]}
    assert proxy.stream(asked(), data) == data
    more = {"model": "other", "stream": True}
    assert proxy.stream(asked(request=more), data) == data  # from a cache, say
    assert b"msg_proxy" not in proxy.stream(asked(request=again), data)


def test_answer_names_the_model_that_was_asked_for(proxy: Proxy) -> None:
    proxy.set(normalize_models=["m=acme-1"], normalize_hosts=["example.com"])
    made = asked(host="example.com")
    response, made.response = made.response, None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    assert loads(made.request.content)["model"] == "acme-1"
    connected(made)
    made.response = response
    data = wire([start(), *TEXT, end(), STOP])
    assert proxy.stream(made, data) == data.replace(b'"acme-1"', b'"m"')


def test_provider_gets_its_own_ids_of_calls_back(proxy: Proxy) -> None:
    proxy.set(normalize_hosts=["example.com"])
    call = block("tool_use", id="functions.f:0")
    stream = wire([start(), call, stop(), end("tool_use"), STOP])
    out = proxy.stream(asked(host="example.com"), stream)
    (named,) = re.findall(rb'"id":"(toolu-[^"]*)"', out)
    use = {"type": "tool_use", "id": named.decode(), "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": named.decode(), "content": "ok"}
    talk = [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    again = asked(host="example.com", request={"model": "m", "messages": talk})
    again.response = None
    proxy.addon.requestheaders(again)
    proxy.addon.request(again)
    sent = loads(again.request.content)["messages"]
    assert sent[0]["content"][0]["id"] == "functions.f:0"
    assert sent[1]["content"][0]["tool_use_id"] == "functions.f:0"
