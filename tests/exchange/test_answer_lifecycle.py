import asyncio
import gc
import json
import threading
import zlib
from collections.abc import Awaitable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest
from mitmproxy import flow, http

from llm_normalize.exchange.delivery import buffered_answer
from llm_normalize.exchange.source import pending_result
from llm_normalize.exchange.state import running_answer
from llm_normalize.fixes import FIXES
from llm_normalize.mitm.second_request import Reply
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
from llm_normalize.wire.json_text import dumps
from proxies import (
    BAD,
    BAD_BODY,
    CHAT,
    FINISH,
    GOOD,
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


# -- ends --------------------------------------------------------------------------


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
def test_ended_stream_and_its_flow_are_parted(proxy: Proxy, breaks: bool) -> None:
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


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2.0"])
def test_trailers_are_for_clients_that_take_them(proxy: Proxy, version: str) -> None:
    made = chat_flow()
    made.request.http_version = version
    response_of(made).trailers = http.Headers(x="y")
    proxy.stream(made, GOOD)
    assert (response_of(made).trailers is None) is (version == "HTTP/1.1")


# -- answers that are not ready ------------------------------------------------------


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


def test_bug_in_what_slows_a_provider_down_costs_no_stream(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running_answer, "slow_down", fail)
    assert proxy.stream(chat_flow(), BAD) == GOOD
    (said,) = messages(caplog, "ERROR")
    assert said.endswith(": its provider is not slowed down")
    assert proxy.end() == "complete"


@pytest.mark.parametrize(
    "host", ["api.openai.com", "eu.api.openai.com", "api.openai.com."]
)
def test_what_openais_libraries_read_stays_as_it_is(proxy: Proxy, host: str) -> None:
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
