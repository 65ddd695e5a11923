import io

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader, FlowWriter

from llm_normalize.exchange.record.stored_flow import stored
from llm_normalize.records.snapshot import KEY
from llm_normalize.wire.json_text import dumps
from proxies import BAD, BAD_BODY, GOOD, HOST, Proxy, broken, chat_flow, response_of


def loaded(made: http.HTTPFlow) -> http.HTTPFlow:
    """Return *made* as it comes back from a file."""
    file = io.BytesIO()
    FlowWriter(file).add(made)
    file.seek(0)
    (read,) = FlowReader(file).stream()
    assert isinstance(read, http.HTTPFlow)
    return read


@pytest.mark.parametrize("from_file", [False, True])
def test_stream_is_what_came_and_what_left(proxy: Proxy, from_file: bool) -> None:
    made = chat_flow()
    proxy.stream(made, BAD)
    reported = stored(loaded(made) if from_file else made)
    assert (reported.received, reported.sent, reported.fixes) == (
        BAD,
        GOOD,
        {"data-space-missing": 4},
    )
    assert (reported.host, reported.asked.model, reported.status) == (HOST, "m", 200)
    assert (reported.is_stream, reported.is_complete, reported.is_observed) == (
        True,
        True,
        False,
    )
    assert "nvapi-key" in reported.secrets
    assert "nvapi-key" not in repr(reported)


def test_stream_that_was_right_came_as_it_left(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.stream(made, GOOD)
    assert stored(made).received == GOOD
    assert made.metadata[KEY]["received"] == []


def test_usage_was_asked_for_though_that_was_not_sent(proxy: Proxy) -> None:
    asked = {"model": "mistral-7b", "stream": True}
    made = chat_flow(request=asked | {"stream_options": {"include_usage": True}})
    response, made.response = made.response, None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    assert made.request.content == dumps(asked)
    made.response = response
    proxy.stream(made, BAD)
    assert stored(made).asked.usage
    assert made.metadata[KEY]["request"] == [
        ["stream-options-refused", "dropped", "stream_options"]
    ]


def test_status_is_the_providers(proxy: Proxy) -> None:
    made = chat_flow(
        request={"model": "m"}, headers={"content-type": "application/json"}
    )
    proxy.body(made, b'{"error":{"message":"Busy","code":503}}')
    assert response_of(made).status_code == 503
    assert stored(made).status == 200


def test_stream_that_broke_off_is_not_whole(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, BAD[:200])
    broken(made, "connection closed")
    proxy.addon.error(made)
    reported = stored(made)
    assert (reported.received, reported.is_complete) == (BAD[:200], False)


def test_flow_that_was_never_repaired_came_as_it_left() -> None:
    made = chat_flow()
    response_of(made).content = BAD
    reported = stored(made, strict=True)
    assert (reported.received, reported.sent, reported.fixes) == (BAD, BAD, None)
    assert reported.asked.strict


def test_what_nobody_could_look_at_is_not_kept(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_normalize.answer_settings.is_shown", lambda: False)
    made = chat_flow()
    proxy.stream(made, BAD)
    with pytest.raises(ValueError, match="the original answer is not stored"):
        stored(made)


def test_body_that_is_not_whole_cannot_be_looked_at(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_normalize.records.snapshot.MAX_STORED", 10)
    made = chat_flow(
        request={"model": "m"}, headers={"content-type": "application/json"}
    )
    proxy.body(made, dumps(BAD_BODY))
    with pytest.raises(ValueError, match="too long"):
        stored(made)


def test_what_cannot_be_looked_at_says_why(proxy: Proxy) -> None:
    for made, why in (
        (chat_flow(path="/v1/models"), "no chat completion"),
        (chat_flow(), "no answer is stored"),
        (chat_flow(), "still running"),
        (chat_flow(), "the original answer is damaged"),
    ):
        if "running" in why:
            proxy.addon.responseheaders(made)
            proxy.feed(made, BAD)
        if "damaged" in why:
            proxy.stream(made, BAD)
            made.metadata[KEY]["received"] = [b"no zlib"]
        with pytest.raises(ValueError, match=why):
            stored(made)
