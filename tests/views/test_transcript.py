import gzip
from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.test import tflow

from growth import MOST, growth
from llm_normalize.records.snapshot import KEY
from llm_normalize.repair.fix import (
    DONE,
    USAGE,
    calling,
    chunk,
    completion,
    head,
    rest,
    wire,
)
from llm_normalize.views.transcript import Transcript, native_contents
from llm_normalize.wire.json_text import dumps
from records.stored import RECORD

VIEW = Transcript()
OPENING = chunk({"role": "assistant", "content": ""})
STOP = chunk({}, finish="stop")


def answer(path: str = "/v1/chat/completions", **record: Any) -> contentviews.Metadata:
    flow = tflow.tflow(resp=True)
    flow.request.method, flow.request.path = "POST", path
    if record:
        flow.metadata[KEY] = record
    return contentviews.Metadata(flow=flow, http_message=flow.response)


def text(*events: Any, **record: Any) -> str:
    return VIEW.prettify(wire(events), answer(**record))


def test_a_stream_is_shown_as_one_text() -> None:
    parts = [chunk({"reasoning_content": each}) for each in ("Hm", ", so")]
    words = [chunk({"content": each}) for each in ("Hi\n", "you")]
    usage = chunk(None, usage=USAGE)
    assert text(OPENING, *parts, *words, STOP, usage, DONE).splitlines() == [
        "model acme-1, id chatcmpl-1",
        " ",
        "reasoning_content:",
        "  Hm, so",
        "text:",
        "  Hi",
        "  you",
        "finish: stop",
        " ",
        'usage: {"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}',
    ]


def test_calls_have_their_names_and_arguments() -> None:
    calls = [calling(head(0, "")), calling(rest(0, '{"a":')), calling(rest(0, "1}"))]
    reported = text(OPENING, *calls, chunk({}, finish="tool_calls"), DONE)
    assert 'call 0: f (call_0):\n  {"a":1}\nfinish: tool_calls\n' in reported


def test_a_body_is_shown_alike() -> None:
    body = dumps(completion({"role": "assistant", "content": "Hi"}))
    reported = VIEW.prettify(body, answer())
    assert "text:\n  Hi\nfinish: stop\n" in reported
    assert "usage: " in reported


@pytest.mark.parametrize(
    "data", [b"", wire([OPENING])[:30], b"data: {\n\n", b"\x00\xff"]
)
def test_what_says_nothing_is_no_error(data: bytes) -> None:
    assert VIEW.prettify(data, answer()).startswith("\n")


def test_a_stream_that_broke_off_has_no_finish_yet() -> None:
    reported = VIEW.prettify(wire([OPENING, chunk({"content": "Hi"})]), answer())
    assert "text:\n  Hi\nfinish: none yet\n" in reported


def test_errors_and_what_is_no_chunk_are_shown() -> None:
    busy = {"error": {"message": "Busy", "type": "t", "param": None, "code": None}}
    reported = text(OPENING, b'data: {"a":NaN}\n\n', busy)
    assert 'error:\n  {"message":"Busy"' in reported
    assert "1 events that are not chunks" in reported


def test_a_cut_body_says_so() -> None:
    assert "this is its beginning" in text(OPENING, **RECORD | {"is_cut": True})
    assert "this is its beginning" not in text(OPENING, **RECORD)


@pytest.mark.parametrize("encoding", ["", "gzip", "zstd", "compress"])
def test_a_stream_on_its_way_is_shown_as_far_as_it_has_arrived(encoding: str) -> None:
    asked = answer(**RECORD | {"end": "running"})
    assert isinstance(asked.flow, http.HTTPFlow)
    asked.flow.live = True
    sent = wire([OPENING, chunk({"content": "Hi"})])

    def refresh(flow: http.HTTPFlow) -> None:
        assert flow is asked.flow
        assert flow.response is not None
        if encoding:
            flow.response.headers["content-encoding"] = encoding
        made = gzip.compress(sent) if encoding == "gzip" else sent
        flow.response.data.content = made

    reported = Transcript(refresh).prettify(wire([OPENING]), asked)
    assert reported.splitlines()[2:] == [
        "text:",
        "  Hi",
        "finish: none yet",
        " ",
        "still running: there is more to come",
    ]


def test_hostile_text_commands_nothing() -> None:
    reported = text(OPENING, chunk({"content": "\x1b[31m\u202e<script>\r\nend"}), STOP)
    assert "  \\x1b[31m\\u202e<script>\n  end\n" in reported


def test_long_texts_are_bounded() -> None:
    reported = text(OPENING, chunk({"content": "x" * 20_000 + "\n" * 5000}), STOP)
    assert "… and 10,000 characters more" in reported
    assert "… and 3,000 lines more" in reported
    assert len(reported) < 20_000


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        (answer(), True),
        (answer("/v1/models"), False),
        (contentviews.Metadata(), False),
    ],
)
def test_only_answers_to_chat_completions_are_shown(
    metadata: contentviews.Metadata, shown: bool
) -> None:
    assert (VIEW.render_priority(b"data: ", metadata) > 0) is shown
    if not shown:
        with pytest.raises(ValueError, match="not an answer"):
            VIEW.prettify(b"", metadata)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.output_text.delta", "output_index": [1], "delta": "Hi"},
        {
            "type": "response.output_item.done",
            "output_index": {},
            "item": {"text": "Hi"},
        },
        {"type": "content_block_start", "content_block": {"content": 1, "text": "Hi"}},
        {"content": [{"content": True}, {"text": "Hi"}]},
    ],
)
def test_odd_answer_in_its_clients_protocol_is_shown_all_the_same(
    event: dict[str, Any],
) -> None:
    assert "  Hi" in VIEW.prettify(wire([event]), answer("/v1/responses"))


def test_figures_of_a_message_are_those_of_its_start_and_its_end() -> None:
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 5}}}
    ended = {"type": "message_delta", "usage": {"output_tokens": 2}}
    assert 'usage: {"input_tokens":5,"output_tokens":2}' in VIEW.prettify(
        wire([begun, ended]), answer("/v1/messages")
    )


def test_error_of_a_response_is_shown_once() -> None:
    error = {"type": "error", "error": {"message": "no heron"}}
    failed = {
        "type": "response.failed",
        "response": {"error": {"code": None, "message": "no heron"}},
    }
    shown = VIEW.prettify(wire([error, failed]), answer("/v1/responses"))
    assert shown.count("no heron") == 1


def test_long_answer_in_its_clients_protocol_costs_as_much_as_it_is_long() -> None:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"text": "x" * 300}}

    def make(count: int) -> bytes:
        return wire([delta] * count)

    assert growth(make, native_contents, 4_000) < MOST
