import asyncio
import gc
import gzip
import io
import json
import threading
import weakref
import zlib
from collections.abc import Awaitable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from mitmproxy import contentviews, flow, http
from mitmproxy.flow import Error
from mitmproxy.io import FlowReader, FlowWriter

from llm_normalize.chat.state.stream_state import Asked
from llm_normalize.exchange.delivery import answer_streams, buffered_answer
from llm_normalize.exchange.record.answer_record import AnswerRecord
from llm_normalize.exchange.source import pending_result
from llm_normalize.exchange.state import running_answer
from llm_normalize.fixes import FIXES
from llm_normalize.mitm.second_request import Reply
from llm_normalize.records.snapshot import KEY
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import (
    DONE,
    Example,
    Fix,
    Wire,
    chunk,
    completion,
    head,
    wire,
)
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import dumps
from proxies import (
    BAD,
    BAD_BODY,
    CHAT,
    FINISH,
    GOOD,
    GOOD_BODY,
    HEAD,
    HOST,
    SSE,
    TEXT,
    Proxy,
    broken,
    chat_flow,
    fail,
    headers_of,
    messages,
    response_of,
)


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(tmp_path) as made:
        yield made


# -- what the fixes declare of whole answers ---------------------------------------

EXAMPLES = [
    pytest.param(fix, example, id=f"{fix.name}/{example.name}")
    for fix in FIXES
    for example in fix.examples
    if example.kind == "answer"
]


def parted(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of an HTTP answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ") for line in lines), body


def received(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, example: Example
) -> tuple[int, dict[str, str], bytes]:
    """Return what a client receives for the answer of *example*."""

    async def ready(*_: object) -> Reply:
        status, headers, body = parted(example.after[0])
        return Reply(status, "", list(headers.items()), body)

    monkeypatch.setattr(pending_result, "result_of", ready)
    status, headers, body = parted(example.before[0])
    asked = {"model": "m", "stream": example.asked.stream}
    made = chat_flow(request=asked, status=status, headers=headers)
    proxy.addon.responseheaders(made)
    if response_of(made).stream:
        out = proxy.feed(made, body) + proxy.feed(made, b"")
        proxy.addon.response(made)
        return response_of(made).status_code, headers_of(made), out
    response_of(made).raw_content = body
    proxy.respond(made)
    content = response_of(made).raw_content or b""
    return response_of(made).status_code, headers_of(made), content


@pytest.mark.parametrize(("fix", "example"), EXAMPLES)
def test_example_of_an_answer_comes_out_as_declared(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, fix: type[Fix], example: Example
) -> None:
    assert received(proxy, monkeypatch, example) == parted(example.after[0])
    if example.changes:
        proxy.set(normalize_skip=[fix.name])
        assert received(proxy, monkeypatch, example) == parted(example.before[0])
        proxy.set(normalize_skip=[], normalize_mode="observe")
        assert received(proxy, monkeypatch, example) == parted(example.before[0])


# -- streams -----------------------------------------------------------------------


def test_a_stream_is_repaired_as_it_passes(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    half = BAD.index(b"\n\n") + 2
    assert proxy.feed(made, BAD[:half]) == wire([HEAD])
    assert proxy.feed(made, BAD[half:]) == wire([TEXT, FINISH, DONE])
    assert proxy.feed(made, b"") == b""
    proxy.addon.response(made)
    *pairs, record = proxy.records()
    assert [(each["type"], each["n"]) for each in pairs] == [
        ("pair", 0),
        ("pair", 1),
        ("pair", 2),
        ("pair", 3),
    ]
    assert pairs[3]["before"] == "data:[DONE]\n\n"
    assert pairs[3]["after"] == ["data: [DONE]\n\n"]
    expected = {
        "type": "flow",
        "flow": made.id,
        "host": HOST,
        "path": CHAT,
        "status": 200,
        "model": "m",
        "stream": True,
        "events": 4,
        "changed": 4,
        "fixes": {"data-space-missing": 4},
        "bytes_in": len(BAD),
        "bytes_out": len(GOOD),
        "end": "complete",
    }
    assert {key: record[key] for key in expected} == expected
    assert "mode" not in record


def test_a_good_stream_passes_unchanged_and_has_a_record(proxy: Proxy) -> None:
    assert proxy.stream(chat_flow(), GOOD[:50], GOOD[50:]) == GOOD
    (record,) = proxy.records()
    assert (record["changed"], record["fixes"], record["end"]) == (0, {}, "complete")


def test_what_was_sent_and_changed_is_kept_with_the_flow(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.stream(made, BAD)
    assert response_of(made).raw_content == GOOD
    assert made.metadata[KEY]["changed"] == 4
    assert made.metadata[KEY]["end"] == "complete"
    file = io.BytesIO()
    FlowWriter(file).add(made)
    file.seek(0)
    (read,) = FlowReader(file).stream()
    assert read.metadata[KEY] == made.metadata[KEY]


def test_a_body_that_mitmproxy_stored_stays(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, BAD)
    response_of(made).data.content = b"stored"  # store_streamed_bodies
    proxy.addon.response(made)
    assert response_of(made).raw_content == b"stored"


def test_a_view_shows_all_that_was_sent_so_far(proxy: Proxy) -> None:
    made, body = chat_flow(), chat_flow(request={"model": "m"})
    proxy.addon.responseheaders(made)
    proxy.addon.responseheaders(body)

    def look(at: http.HTTPFlow) -> None:
        data = contentviews.Metadata(flow=at, http_message=at.response)
        contentviews.registry["before/after"].render_priority(b"", data)

    for at in range(0, len(BAD), 9):
        proxy.feed(made, BAD[at : at + 9])
    look(made)
    assert response_of(made).raw_content == GOOD
    assert made.metadata[KEY]["changed"] == 4
    look(body)  # nothing of it has left
    look(chat_flow())
    assert KEY not in body.metadata


def test_an_answer_is_reported_in_one_line(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    proxy.stream(chat_flow(), BAD)
    proxy.stream(chat_flow(), GOOD)
    assert messages(caplog, "INFO") == [
        f"normalize: {HOST} m: 4 of 4 events repaired (data-space-missing 4)",
        f"normalize: {HOST} m: nothing to repair",
    ]


def test_an_encoded_stream_leaves_decoded(proxy: Proxy) -> None:
    made = chat_flow(headers={"content-type": SSE, "content-encoding": "gzip"})
    assert proxy.stream(made, gzip.compress(BAD)) == GOOD
    assert headers_of(made) == {"content-type": SSE}


def test_secrets_of_the_request_are_in_no_log(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = chat_flow(status=401, headers={"content-type": "text/plain"})
    secrets = {
        "authorization": "bearer nvapi-SECRET1",
        "api-key": "SECRET2",
        "x-api-key": "SECRET3",
        "x-goog-api-key": "SECRET4",
        "cookie": "a=SECRET5",
        "proxy-authorization": "Basic SECRET6",
    }
    for name, value in secrets.items():
        made.request.headers[name] = value
    reported = "bad keys: nvapi-SECRET1 SECRET2 SECRET3 SECRET4 a=SECRET5 SECRET6"
    body = proxy.body(made, reported.encode())
    assert body is not None
    assert b"SECRET1" in body  # the client gets the provider's words
    proxy.close()
    assert "SECRET" not in proxy.log.read_text()
    assert "SECRET" not in caplog.text


def test_a_placeholder_for_a_key_leaves_the_log_readable(proxy: Proxy) -> None:
    # Clients of local servers have to send some key, and send "x" or "none".
    made = chat_flow()
    made.request.headers["authorization"] = "Bearer x"
    proxy.stream(made, wire([chunk({"content": "x"})]).replace(b"data: ", b"data:"))
    assert '"content":"x"' in proxy.records("pair")[0]["before"]


def test_an_answer_that_another_addon_made_is_repaired_too(proxy: Proxy) -> None:
    # Nor does a server replay pass the rewriter.
    made = chat_flow()
    proxy.addon.responseheaders(made)
    response_of(made).data.content = BAD
    proxy.addon.response(made)
    assert response_of(made).raw_content == GOOD
    assert proxy.end() == "complete"


def test_a_request_that_mitmproxy_did_not_keep_holds_no_stream_back(
    proxy: Proxy,
) -> None:
    # stream_large_bodies: what the request asked is gone.
    made = chat_flow()
    made.request.raw_content = None
    proxy.addon.responseheaders(made)
    assert response_of(made).stream


# -- what passes -------------------------------------------------------------------


def test_a_stream_that_another_addon_streams_stays(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat_flow()
    response_of(made).stream = bytes.upper
    proxy.addon.responseheaders(made)
    assert response_of(made).stream == bytes.upper
    assert messages(caplog) == [
        f"normalize: another addon streams {HOST}; it stays as it is"
    ]
    proxy.addon.response(made)
    assert proxy.end() == "complete"


def test_a_body_that_another_addon_streams_stays(proxy: Proxy) -> None:
    made = chat_flow(request={"model": "m"})
    response_of(made).stream = bytes.upper
    proxy.addon.responseheaders(made)
    response_of(made).raw_content = dumps(BAD_BODY)  # store_streamed_bodies
    proxy.addon.response(made)
    assert response_of(made).raw_content == dumps(BAD_BODY)
    assert [line["type"] for line in proxy.records()] == ["flow"]


def test_an_encoding_that_cannot_be_undone_passes_streamed(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"content-type": SSE, "content-encoding": "what", "content-length": "9"}
    made = chat_flow(headers=headers)
    proxy.addon.responseheaders(made)
    assert response_of(made).stream is True
    assert headers_of(made) == headers
    assert "unsupported encoding (what)" in messages(caplog)[0]
    proxy.addon.response(made)
    (record,) = proxy.records()
    assert (record["end"], record["changed"]) == ("complete", 0)


def test_what_was_streamed_already_is_not_repaired_in_the_saved_flow(
    proxy: Proxy,
) -> None:
    # mitmproxy streams what is large (stream_large_bodies), and may store it as well.
    made = chat_flow(request={"model": "m"})
    response_of(made).stream = True
    proxy.addon.responseheaders(made)
    response_of(made).raw_content = dumps(BAD_BODY)
    proxy.addon.response(made)
    assert response_of(made).raw_content == dumps(BAD_BODY)
    assert [line["type"] for line in proxy.records()] == ["flow"]


def test_a_bug_in_the_repair_of_a_body_lets_it_pass_and_keeps_its_record(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffered_answer, "repair_body", fail)
    made = chat_flow(request={"model": "m"})
    assert proxy.body(made, dumps(BAD_BODY)) == dumps(BAD_BODY)
    assert proxy.end() == "complete"


# -- observe -----------------------------------------------------------------------


def test_observing_changes_neither_bytes_nor_headers(proxy: Proxy) -> None:
    proxy.set(normalize_mode="observe")
    data = gzip.compress(BAD)
    headers = {
        "content-type": SSE,
        "content-encoding": "gzip",
        "content-length": str(len(data)),
    }
    made = chat_flow(headers=headers)
    assert proxy.stream(made, data[:30], data[30:]) == data
    assert headers_of(made) == headers
    assert response_of(made).content == BAD
    *pairs, record = proxy.records()
    assert len(pairs) == 4
    assert {each["mode"] for each in (*pairs, record)} == {"observe"}
    assert record["bytes_out"] == len(data)


def test_observing_leaves_a_body_alone(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    proxy.set(normalize_mode="observe")
    made = chat_flow(request={"model": "m"}, headers={"content-type": "text/plain"})
    assert proxy.body(made, dumps(BAD_BODY)) == dumps(BAD_BODY)
    assert headers_of(made) == {"content-type": "text/plain"}
    assert "1 of 1 events would be repaired" in messages(caplog, "INFO")[0]
    record = proxy.records("flow")[0]
    assert (record["mode"], record["changed"]) == ("observe", 1)


# -- bodies ------------------------------------------------------------------------


def test_a_body_is_repaired_whole(proxy: Proxy) -> None:
    made = chat_flow(
        request={"model": "m"}, headers={"content-type": "application/json; x=y"}
    )
    before = dumps(BAD_BODY)
    body = proxy.body(made, before)
    assert body is not None
    assert json.loads(body)["choices"][0]["message"]["content"] == ""
    assert headers_of(made) == {
        "content-type": "application/json; x=y",
        "content-length": str(len(body)),
    }
    pair, record = proxy.records()
    assert (pair["n"], pair["before"], pair["after"]) == (
        0,
        before.decode(),
        [body.decode()],
    )
    expected = {
        "stream": False,
        "events": 1,
        "changed": 1,
        "bytes_in": len(before),
        "bytes_out": len(body),
        "end": "complete",
    }
    assert {key: record[key] for key in expected} == expected
    assert made.metadata[KEY]["changed"] == 1


def test_a_body_with_only_an_error_gets_its_status(proxy: Proxy) -> None:
    made = chat_flow(request={"model": "m"}, headers={"content-type": "text/json"})
    proxy.body(made, b'{"error":{"message":"Busy","code":503}}')
    response = response_of(made)
    assert (response.status_code, response.reason) == (503, "Service Unavailable")
    assert b'"code":"503"' in (response.content or b"")
    *_, record = proxy.records()
    assert record["status"] == 503


def test_a_good_body_passes_unchanged(proxy: Proxy) -> None:
    data = json.dumps(GOOD_BODY, indent=1).encode()
    headers = {"content-type": "application/json"}
    made = chat_flow(request={"model": "m"}, headers=headers)
    assert proxy.body(made, data) == data
    assert headers_of(made) == headers
    (record,) = proxy.records()
    assert (record["events"], record["changed"]) == (1, 0)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (dumps(GOOD_BODY), "application/json"),
        (b"[]", "application/json"),
        (b"...", "text/plain"),
        (b"7", "text/plain"),
    ],
)
def test_a_body_is_called_json_if_it_is(proxy: Proxy, data: bytes, kind: str) -> None:
    made = chat_flow(request={"model": "m"}, headers={"content-type": "text/plain"})
    assert proxy.body(made, data) == data
    assert headers_of(made)["content-type"] == kind


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_a_refused_stream_is_buffered(proxy: Proxy, status: int) -> None:
    made = chat_flow(status=status, headers={"content-type": "text/plain"})
    body = proxy.body(made, b"no such model")
    assert body is not None
    assert json.loads(body)["error"]["message"] == "no such model"
    assert response_of(made).status_code == status
    assert headers_of(made) == {
        "content-type": "application/json",
        "content-length": str(len(body)),
    }


@pytest.mark.parametrize("data", [dumps(BAD_BODY), dumps(GOOD_BODY), b"hello"])
def test_an_encoded_body_is_decoded_as_it_was_asked_to_be(
    proxy: Proxy, data: bytes
) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    made = chat_flow(request={"model": "m"}, headers=headers)
    body = proxy.body(made, gzip.compress(data))
    assert body == repair_body(data, 200, Asked(id=made.id), FIXES).after[0]
    assert "content-encoding" not in headers_of(made)
    assert headers_of(made)["content-length"] == str(len(body))


def test_a_corrupt_body_passes_as_it_is(proxy: Proxy) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    made = chat_flow(status=400, headers=headers)
    assert proxy.body(made, b"no gzip at all") == b"no gzip at all"
    assert headers_of(made) == headers
    assert proxy.end() == "complete"


def test_an_empty_body_stays_empty(proxy: Proxy) -> None:
    made = chat_flow(request={"model": "m"})
    assert proxy.body(made, b"") == b""
    (record,) = proxy.records()
    assert (record["events"], record["bytes_out"]) == (0, 0)


def test_an_empty_error_body_says_what_http_says(proxy: Proxy) -> None:
    made = chat_flow(request={"model": "m"}, status=503)
    body = proxy.body(made, b"")
    assert body is not None
    assert json.loads(body)["error"]["message"] == "Service Unavailable"
    assert headers_of(made)["content-type"] == "application/json"


def test_events_that_passed_unread_are_reported(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    made = chat_flow()
    proxy.stream(made, b'data: {"a":NaN}\n\n' * 2)
    reported = f"normalize: {HOST}: 2 events passed unread (not-json 2)"
    assert reported in caplog.messages


# -- ends --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "connected", "end"),
    [
        (
            "peer closed connection without sending complete body",
            True,
            "upstream-broke",
        ),
        ("Server disconnected.", True, "upstream-broke"),
        ("Client disconnected.", True, "client-left"),
        ("Stream was reset", False, "client-left"),
        # What follows is the upstream's own text.
        (
            "HTTP/2 connection closed: <ConnectionTerminated b'max_clients'>",
            True,
            "upstream-broke",
        ),
    ],
)
def test_a_stream_that_broke_off_says_who_left(
    proxy: Proxy, message: str, connected: bool, end: str
) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, BAD[:-20])
    broken(made, message, connected=connected)
    proxy.addon.error(made)
    assert response_of(made).raw_content == wire([HEAD, TEXT])
    (record,) = proxy.records("flow")
    assert (record["end"], record["status"]) == (end, 200)
    assert record["events"] >= 2


def reachable(start: object) -> Iterator[object]:
    """Yield all that *start* refers to, directly or not, but what all share."""
    seen, left = set[int](), [start]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, (type, ModuleType)):
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, FunctionType):
            left += each.__closure__ or ()
        else:
            left += gc.get_referents(each)


@pytest.mark.parametrize("breaks", [False, True])
def test_stream_that_is_over_and_its_flow_forget_one_another(
    proxy: Proxy, breaks: bool
) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    stream = response_of(made).stream
    assert any(each is made for each in reachable(stream))
    if breaks:
        proxy.feed(made, BAD.removesuffix(b"data:[DONE]\n\n"))
        broken(made, "Server disconnected.")
        proxy.addon.error(made)
    else:
        for read in (BAD, b""):
            proxy.feed(made, read)
        proxy.addon.response(made)
    assert response_of(made).stream is True  # it has been sent, mitmproxy says so
    assert not any(each is made for each in reachable(stream))
    assert proxy.end() == ("upstream-broke" if breaks else "complete")


def test_nothing_is_stored_of_an_answer_that_nobody_can_look_at(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("is_shown", "is_stored"):
        monkeypatch.setattr(f"llm_normalize.addon.{name}", lambda: False)
    flows = [chat_flow(), chat_flow()]
    for made in flows:
        assert proxy.stream(made, BAD) == GOOD
        assert KEY not in made.metadata
        assert not response_of(made).raw_content
    assert [each["changed"] for each in proxy.records("flow")] == [4, 4]


def test_nothing_of_a_stream_that_is_over_waits_for_the_collector(proxy: Proxy) -> None:
    for word in ("a", "bb", "ccc"):
        made = chat_flow()
        proxy.addon.responseheaders(made)
        running = proxy.addon._exchanges.of(made).running
        assert running is not None
        assert running.rewriter is not None
        pipeline = weakref.ref(running.rewriter.pipeline)
        del running
        gc.collect()
        gc.disable()
        try:
            texts = [chunk({"content": f"{n} {word}"}) for n in range(8)]
            events: Wire = [HEAD, *texts, FINISH, DONE]
            for each in events:
                proxy.feed(made, wire([each]))
            proxy.feed(made, b"")
            proxy.addon.response(made)
            assert pipeline() is None
        finally:
            gc.enable()


def test_a_lost_finish_reason_is_reported(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    assert FINISH["choices"][0]["finish_reason"].encode() not in proxy.feed(
        made, wire([HEAD, TEXT, FINISH])
    )
    broken(made, "Server disconnected.")
    proxy.addon.error(made)
    assert messages(caplog) == [
        f"normalize: {HOST} broke off while a finish reason or usage waited"
    ]


def test_nothing_is_said_when_nothing_waited(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, wire([HEAD, TEXT]))
    broken(made, "Server disconnected.")
    proxy.addon.error(made)
    assert messages(caplog) == []


def test_a_body_that_broke_off_has_a_record(proxy: Proxy) -> None:
    made = chat_flow(request={"model": "m"})
    proxy.addon.responseheaders(made)
    broken(made, "Server disconnected.")
    proxy.addon.error(made)
    (record,) = proxy.records()
    assert (record["end"], record["stream"]) == ("upstream-broke", False)


def test_an_error_without_words_is_the_upstream_s(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    made.error = None
    proxy.addon.error(made)
    assert proxy.end() == "upstream-broke"


@pytest.mark.parametrize(
    ("message", "status", "words"),
    [
        ("Client disconnected.", None, "the client left before an answer"),
        (
            "Server disconnected.",
            502,
            f"No answer from {HOST}: it closed the connection before its answer was whole",
        ),
    ],
)
def test_log_says_why_no_answer_arrived(
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    message: str,
    status: int | None,
    words: str,
) -> None:
    caplog.set_level("INFO")
    made = chat_flow()
    made.response = None
    proxy.addon.requestheaders(made)
    broken(made, message)
    proxy.addon.error(made)
    assert messages(caplog, "INFO") == [f"normalize: {HOST} m: {words}"]
    (record,) = proxy.records()
    assert (record["end"], record["status"]) == ("error", status)


def test_a_lost_finish_reason_is_not_the_providers_fault_if_the_client_left(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, wire([HEAD, TEXT, FINISH]))
    broken(made, "Client disconnected.")
    proxy.addon.error(made)
    reported = (
        f"normalize: the client of {HOST} left while a finish reason or usage waited"
    )
    assert messages(caplog) == [reported]


def test_an_answer_that_never_arrived_is_an_error(proxy: Proxy) -> None:
    made = chat_flow()
    made.response = None
    proxy.addon.requestheaders(made)
    broken(made, "Name or service not known")
    proxy.addon.error(made)
    (record,) = proxy.records()
    assert (record["end"], record["status"], record["events"]) == ("error", 502, 0)
    assert (record["model"], record["stream"]) == ("m", True)


def test_an_answer_that_mitmproxy_refused_has_a_record(proxy: Proxy) -> None:
    # Bad headers: the response is there, but its headers hook was never called.
    made = chat_flow()
    proxy.addon.requestheaders(made)
    broken(made, "Received header from server, refusing to prevent attacks")
    proxy.addon.error(made)
    assert len(proxy.records("flow")) == 1


def test_a_flow_with_an_error_from_a_file_has_no_new_record(proxy: Proxy) -> None:
    made = chat_flow()
    made.live = False
    proxy.addon.requestheaders(made)
    broken(made, "no")
    proxy.addon.error(made)
    assert proxy.records() == []


def test_each_answer_has_one_record(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.stream(made, GOOD)
    proxy.addon.response(made)
    proxy.addon.error(made)
    assert len(proxy.records("flow")) == 1


def test_a_corrupt_stream_is_broken_off_and_said_to_be(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat_flow(headers={"content-type": SSE, "content-encoding": "gzip"})
    made.live = True
    deflate = zlib.compressobj(wbits=31)
    data = deflate.compress(wire([HEAD, TEXT])) + deflate.flush(zlib.Z_FULL_FLUSH)
    assert proxy.stream(made, data, b"\xff" * 9) == wire([HEAD, TEXT])
    assert made.error is not None
    assert made.error.msg == flow.Error.KILLED_MESSAGE
    assert len(messages(caplog)) == 1
    assert proxy.end() == "upstream-broke"


def test_done_closes_what_is_open_and_writes_the_logs(proxy: Proxy) -> None:
    stream, body = chat_flow(), chat_flow(request={"model": "m"})
    for each in (stream, body):
        proxy.addon.responseheaders(each)
    proxy.feed(stream, BAD[:-20])
    records = proxy.records("flow")
    assert {each["flow"]: each["end"] for each in records} == {
        stream.id: "upstream-broke",
        body.id: "upstream-broke",
    }
    assert proxy.addon.logs.current is not None
    assert not proxy.addon.logs.current._thread.is_alive()


def test_streams_that_outlive_the_addon_are_repaired_and_recorded_to_their_end(
    proxy: Proxy,
) -> None:
    # A reload: open streams finish on the old code, without its hooks.
    flows = [chat_flow(), chat_flow()]
    for made in flows:
        proxy.addon.responseheaders(made)
    proxy.addon.done()
    for made in flows:
        assert proxy.feed(made, BAD) + proxy.feed(made, b"") == GOOD
    lines = [json.loads(line) for line in proxy.log.read_text().splitlines()]
    ends = {line["flow"]: line["end"] for line in lines if line["type"] == "flow"}
    assert ends == {made.id: "complete" for made in flows}


def test_a_log_may_be_missing(proxy: Proxy) -> None:
    proxy.set(normalize_pairs="")
    made = chat_flow()
    assert proxy.stream(made, BAD) == GOOD
    assert made.metadata[KEY]["fixes"] == [["data-space-missing", 4]]
    assert not proxy.log.exists()


# -- answers that are not ready ------------------------------------------------------


def pending_flow(stream: Any = None) -> Any:
    asked = {"model": "m", "stream": stream} if stream else {"model": "m"}
    made = chat_flow(request=asked, status=202, headers={"nvcf-reqid": "r-1"})
    response_of(made).raw_content = b"{}"
    return made


def test_a_result_is_streamed_in_one_piece_to_whom_asked_for_a_stream(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ready(*_: object) -> Reply:
        return Reply(200, "", [("content-type", "application/json")], dumps(GOOD_BODY))

    monkeypatch.setattr(pending_result, "result_of", ready)
    made = pending_flow(stream=True)
    proxy.addon.responseheaders(made)
    proxy.respond(made)
    content = response_of(made).raw_content or b""
    assert content.startswith(b"data: {")
    assert content.endswith(DONE)
    assert headers_of(made)["content-type"] == SSE
    *pairs, record = proxy.records()
    assert pairs[0]["fixes"] == ["answer-pending"]
    assert (record["status"], record["end"]) == (200, "complete")


def test_an_answer_that_has_left_already_is_not_fetched(proxy: Proxy) -> None:
    made = pending_flow()
    proxy.addon.responseheaders(made)
    response_of(made).stream = True
    assert proxy.addon.response(made) is None
    assert proxy.end() == "complete"


def test_the_logs_stay_open_for_an_answer_that_is_fetched_during_a_reload(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ready(*_: object) -> Reply:
        return Reply(200, "", [("content-type", "application/json")], dumps(GOOD_BODY))

    monkeypatch.setattr(pending_result, "result_of", ready)
    made = pending_flow()
    proxy.addon.responseheaders(made)
    waits = proxy.addon.response(made)
    assert waits is not None
    proxy.addon.done()
    proxy.context.master.event_loop.run_until_complete(waits)
    assert proxy.end() == "complete"


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2.0"])
def test_trailers_are_for_clients_that_can_be_sent_them(
    proxy: Proxy, version: str
) -> None:
    made = chat_flow()
    made.request.http_version = version
    response_of(made).trailers = http.Headers(x="y")
    proxy.stream(made, GOOD)
    assert (response_of(made).trailers is None) is (version == "HTTP/1.1")


def test_a_stream_that_breaks_off_after_a_reload_has_its_record(proxy: Proxy) -> None:
    made = chat_flow(status=201)
    proxy.addon.responseheaders(made)
    proxy.feed(made, BAD.removesuffix(b"data:[DONE]\n\n"))
    proxy.addon.done()
    broken(made, "Client disconnected.")
    # Another addon has taken over meanwhile, and knows nothing of it.
    proxy.addon.error(made)
    (record,) = proxy.records("flow")
    assert (record["end"], record["status"]) == ("client-left", 201)
    assert record["events"] == 3


@pytest.mark.parametrize(
    "message", ["Client disconnected.", "Server disconnected.", Error.KILLED_MESSAGE]
)
@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("reload", [False, True])
def test_stream_that_breaks_off_behind_its_last_event_is_complete(
    proxy: Proxy, message: str, *, observed: bool, reload: bool
) -> None:
    proxy.set(normalize_mode="observe" if observed else "repair")
    made = chat_flow()
    proxy.addon.responseheaders(made)
    assert proxy.feed(made, BAD) == (BAD if observed else GOOD)
    if reload:
        proxy.addon.done()
    broken(made, message)
    proxy.addon.error(made)
    assert made.metadata[KEY]["end"] == "complete"
    assert [each["end"] for each in proxy.records("flow")] == ["complete"]


def test_stream_that_outlives_a_reload_is_kept_whole(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    half = len(BAD) // 2
    out = proxy.feed(made, BAD[:half])
    proxy.addon.done()
    out += proxy.feed(made, BAD[half:]) + proxy.feed(made, b"")
    assert out == GOOD == response_of(made).raw_content
    assert made.metadata[KEY]["end"] == "complete"


def test_stream_that_runs_when_mitmproxy_ends_is_kept_as_broken_off(
    proxy: Proxy,
) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    out = proxy.feed(made, BAD[: len(BAD) - 20])
    proxy.context.master.should_exit.set()
    proxy.addon.done()
    assert response_of(made).raw_content == out
    assert made.metadata[KEY]["end"] == "upstream-broke"
    assert made.comment.endswith("; mitmproxy ended")


def waiting(proxy: Proxy, made: http.HTTPFlow, data: bytes) -> Awaitable[None]:
    """Play an answer in one piece that is repaired aside."""
    proxy.addon.responseheaders(made)
    response_of(made).raw_content = data
    waits = proxy.addon.response(made)
    assert waits is not None
    return waits


@pytest.mark.parametrize("pairs", [True, False])
def test_large_body_is_repaired_in_a_thread_while_other_answers_pass(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, pairs: bool
) -> None:
    if not pairs:
        proxy.set(normalize_pairs="")
    begun, go_on = threading.Event(), threading.Event()
    threads = set[int]()

    def repair(*given: Any) -> Any:
        threads.add(threading.get_ident())
        begun.set()
        assert go_on.wait(10)
        return repair_body(*given)

    monkeypatch.setattr(buffered_answer, "repair_body", repair)
    body = {**BAD_BODY, "padding": "x" * 7_000_000}
    made = chat_flow(request={"model": "m"}, headers={"content-type": "text/plain"})

    async def play() -> bytes:
        task = asyncio.ensure_future(waiting(proxy, made, dumps(body)))
        await asyncio.to_thread(begun.wait)
        other = proxy.stream(chat_flow(), BAD)  # the loop is free
        assert not task.done()
        go_on.set()
        await task
        return other

    assert proxy.context.master.event_loop.run_until_complete(play()) == GOOD
    assert threads
    assert threading.get_ident() not in threads
    response = response_of(made)
    assert json.loads(response.content or b"")["choices"][0]["message"]["content"] == ""
    assert response.headers["content-type"] == "application/json"
    kinds = [each["type"] for each in proxy.records()]
    assert kinds.count("flow") == 2 * pairs
    assert kinds.index("pair") < kinds.index("flow") if pairs else not kinds


def test_large_body_whose_client_leaves_meanwhile_is_not_complete(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = chat_flow(request={"model": "m"})

    def repair(*given: Any) -> Any:
        broken(made, "Client disconnected.", connected=False)
        return repair_body(*given)

    monkeypatch.setattr(buffered_answer, "repair_body", repair)
    body = dumps({**BAD_BODY, "padding": "x" * 7_000_000})
    proxy.context.master.event_loop.run_until_complete(waiting(proxy, made, body))
    *_, record = proxy.records()
    assert (record["end"], record["status"]) == ("client-left", None)
    assert (record["bytes_in"], record["bytes_out"]) == (len(body), 0)


def test_large_native_answer_becomes_a_stream_in_a_thread(proxy: Proxy) -> None:
    proxy.set(normalize_routes=["api.openai.com=workers-ai:https://cf.test/base"])
    made = chat_flow(
        host="api.openai.com",
        request={
            "model": "m",
            "messages": [{"role": "user", "content": "?"}],
            "stream": True,
        },
        headers={"content-type": "application/json"},
    )
    response, made.response = made.response, None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    made.response = response
    text = "word " * 600_000
    data = dumps({"result": {"response": text}, "success": True})
    proxy.context.master.event_loop.run_until_complete(waiting(proxy, made, data))
    out = response_of(made).content or b""
    assert out.startswith(b"data: ")
    assert out.endswith(b"data: [DONE]\n\n")
    chunks = [json.loads(each[6:]) for each in out.split(b"\n\n")[:-2]]
    said = [each["choices"][0]["delta"].get("content", "") for each in chunks]
    assert "".join(said) == text


@pytest.mark.unmeasured
def test_reads_of_one_turn_share_what_may_be_looked_at(proxy: Proxy) -> None:
    made = chat_flow()
    odd = [chunk({"content": "a"}, **{f"k{at}": 1}) for at in range(2000)]
    reads = [wire([each]).replace(b"data: ", b"data:") for each in odd]

    async def one_turn() -> bytes:
        return b"".join(proxy.feed(made, each) for each in reads)

    async def many_turns() -> bytes:
        out = b""
        for each in reads:
            out += proxy.feed(made, each)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return out

    run = proxy.context.master.event_loop.run_until_complete
    proxy.addon.responseheaders(made)
    out = run(one_turn())
    assert 300 < out.count(b"data: ") < 700
    assert out.count(b"data:") == 2000
    made = chat_flow()
    proxy.addon.responseheaders(made)
    assert run(many_turns()).count(b"data: ") == 2000


def other_made(made: http.HTTPFlow) -> None:
    """Let another addon have put a large stream in the place of the answer."""
    odd = [chunk({"content": "a"}, **{f"k{at}": 1}) for at in range(2000)]
    response_of(made).stream = False
    response_of(made).raw_content = wire(odd).replace(b"data: ", b"data:")


def test_large_stream_under_repair_when_mitmproxy_ends_has_one_record(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    step = AnswerRecord.add_event

    def slow(self: AnswerRecord, taken: EventRecord) -> None:
        step(self, taken)
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            assert go_on.wait(10)

    monkeypatch.setattr(AnswerRecord, "add_event", slow)
    made, other = chat_flow(), chat_flow()

    async def play() -> list[Any]:
        proxy.addon.responseheaders(made)
        other_made(made)
        waits = proxy.addon.response(made)
        assert waits is not None
        task = asyncio.ensure_future(waits)
        await asyncio.to_thread(begun.wait)
        proxy.addon.responseheaders(other)
        records = proxy.records()
        log = proxy.addon.logs.current
        assert log is not None
        monkeypatch.setattr(log, "write", fail)
        go_on.set()
        await task
        return records

    records = proxy.context.master.event_loop.run_until_complete(play())
    assert [each["flow"] for each in records] == [made.id, other.id]
    assert records[0]["end"] == "upstream-broke"
    assert (records[0]["changed"], records[0]["fixes"]) == (0, {})
    assert messages(caplog, "ERROR") == []


def test_bug_in_one_record_costs_no_other_when_mitmproxy_ends(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    flows = [chat_flow(), chat_flow()]
    for made in flows:
        proxy.addon.responseheaders(made)
    running = proxy.addon._exchanges.of(flows[0]).running
    assert running is not None
    assert running.rewriter is not None
    monkeypatch.setattr(running.rewriter.pipeline, "abandon", fail)
    (record,) = proxy.records("flow")
    assert record["flow"] == flows[1].id
    assert messages(caplog, "ERROR") == [
        f"normalize: {HOST}: an answer has no record",
    ]


@pytest.mark.unmeasured
def test_large_answer_of_another_addon_slows_no_provider_down(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    threads = set[threading.Thread]()

    def slow_down(*_: object) -> None:
        threads.add(threading.current_thread())

    monkeypatch.setattr(answer_streams, "slow_down", slow_down)
    monkeypatch.setattr(running_answer, "show_anew", slow_down)
    made = chat_flow()
    proxy.addon.responseheaders(made)
    other_made(made)
    proxy.respond(made)
    assert (response_of(made).raw_content or b"").count(b"data: ") == 2000
    assert threads == {threading.main_thread()}
    assert messages(caplog, "ERROR") == []


def test_bug_in_what_slows_a_provider_down_costs_no_stream(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(answer_streams, "slow_down", fail)
    assert proxy.stream(chat_flow(), BAD) == GOOD
    (said,) = messages(caplog, "ERROR")
    assert said.endswith(": its provider is not slowed down")
    assert proxy.end() == "complete"


@pytest.mark.unmeasured
def test_large_answer_of_another_addon_has_one_record_after_a_reload(
    proxy: Proxy,
) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    other_made(made)
    waits = proxy.addon.response(made)
    assert waits is not None
    proxy.addon.done()
    proxy.context.master.event_loop.run_until_complete(waits)
    assert proxy.end() == "complete"


@pytest.mark.parametrize(
    "host", ["api.openai.com", "eu.api.openai.com", "api.openai.com."]
)
def test_what_openais_own_libraries_read_stays_as_openai_sends_it(
    proxy: Proxy, host: str
) -> None:
    proxy.set(normalize_hosts=[host.rstrip("."), "other.test"])
    audio = {"id": "audio_1", "transcript": "Hi"}
    events: Wire = [
        chunk({"role": "assistant", "content": None, "refusal": None}),
        chunk({"role": "assistant", "content": None, "audio": audio}),
        chunk({"content": None, "audio": {"data": "AAAA"}}),
        chunk({}, finish="stop"),
        DONE,
    ]
    data = wire(events)
    assert proxy.stream(chat_flow(host=host), data) == data
    assert proxy.stream(chat_flow(host="other.test"), data) != data
    called = completion(
        {"role": "assistant", "content": None, "tool_calls": [head(None, "{}")]}
    )
    made = chat_flow(host=host, request={"model": "m", "tool_choice": "required"})
    assert proxy.body(made, dumps(called)) == dumps(called)


def test_a_chunk_of_openais_without_choices_is_dropped(proxy: Proxy) -> None:
    proxy.set(normalize_hosts=["api.openai.com"])
    opening = chunk({"role": "assistant", "content": ""})
    bare = {key: each for key, each in opening.items() if key != "choices"}
    out = proxy.stream(chat_flow(host="api.openai.com"), wire([opening, bare, DONE]))
    assert out == wire([opening, chunk({}, finish="stop"), DONE])
