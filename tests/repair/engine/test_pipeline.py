import json

import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.conformance import meaning_of_stream
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.page_or_stream import PageOrStream
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, USAGE, Fix, chunk, wire
from llm_normalize.repair.machine.machine import Machine
from llm_normalize.wire import sse
from llm_normalize.wire.sse import Event
from streams import ANY, STREAM, feed, repaired

OPENING = chunk({"role": "assistant", "content": None})
NULL_ROLE = chunk({"role": None, "content": "Hi"})
GOOD = wire([chunk({"role": "assistant", "content": "Hi"})])


def test_each_event_leaves_with_its_last_byte() -> None:
    pipe = Pipeline(STREAM, FIXES)
    text = wire([NULL_ROLE])
    assert pipe.feed(wire([OPENING])) != []
    assert pipe.feed(text[:-1]) == []
    assert pipe.feed(text[-1:]) == [wire([chunk({"content": "Hi"})])]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (b'data: {"choices":[{"delta":{"role":null,"a":NaN}}]}\n\n', "not-json"),
        (b"data: " + b"[" * 900 + b"]" * 900 + b"\n\n", "not-json"),
        (b'data: {"choices":[{"delta":{"role":null,"role":""}}]}\n\n', "repeated-key"),
        (b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n', "bad-encoding"),
        (b'data: {"choices":[{"delta":{"tool_calls":7}}]}\n\n', "not-a-chunk"),
        (b'event: a\ndata: {"choices":[{"delta":7}]}\n\n', "not-a-chunk"),
        (b'{"status":"ok"}\n\n', "not-a-chunk"),
        (b'choices: [{"delta":{"role":null}}]\n\n', "foreign-line"),
    ],
)
def test_event_that_is_not_understood_passes_as_it_is(
    event: bytes, reason: str
) -> None:
    assert repaired(event) == event
    pipe = Pipeline(STREAM, FIXES)
    pipe.feed(event)
    pipe.end()
    assert dict(pipe.raw_events) == {reason: 1}


STOP = wire([chunk({}, finish="stop")])


def test_keep_alive_overtakes_a_finish_that_waits() -> None:
    out = feed([GOOD, STOP, b": ping\n\n", DONE])
    assert out == [GOOD, b"", b"\n", STOP + DONE, b""]


def test_repaired_event_keeps_numbers_surrogates_and_key_order() -> None:
    keep = b'"content":"\\ud83d","z":1.10,"y":1e400,"x":-0,"w":%b' % (b"9" * 5000)
    event = (
        b'data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m",'
        b'"choices":[{"index":0,"finish_reason":null,'
        b'"delta":{"role":"assistant",%b}}]}\n\n'
    )
    nulls = b'"tool_calls":null,' + keep
    assert repaired(event % nulls, ended=False) == event % keep


USAGE_ASKED = Asked(stream=True, usage=True)


def test_nothing_is_glued_to_an_event_too_large_that_has_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 500)
    large = b"data: " + b"x" * 600
    assert repaired(GOOD + STOP + large) == GOOD + STOP + large


@pytest.mark.parametrize(
    "event",
    [
        wire([{"message": "No GPU", "type": "internal_server_error", "code": 500}]),
        b"data: Internal Server Error\n\n",
        wire([chunk({}, choice={"error": {"message": "no"}})]),
    ],
)
def test_no_success_is_forged_after_what_may_be_an_error(event: bytes) -> None:
    for asked in (STREAM, USAGE_ASKED):
        out = repaired(GOOD + event + DONE, asked)
        assert b'"finish_reason":"' not in out
        assert out.endswith(DONE)
        assert DONE not in repaired(GOOD + event, asked)


# -- bugs ----------------------------------------------------------------------


class Boom(Fix):
    name = "boom-now"
    handles = ANY

    def event(self, event: Event) -> list[Event] | None:
        if b"frame" in event.raw:
            raise RuntimeError(event.raw)
        return None

    def edit(self, chunk: Chunk) -> bool:
        if "boom" in json.dumps(chunk):
            chunk["half"] = "done"
            raise RuntimeError(chunk)
        return False


BOOM = wire([chunk({"role": None, "content": "boom"})])


def fail(*_: object) -> None:
    raise RuntimeError


def test_fix_that_fails_costs_itself_and_leaves_the_event_raw(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = GOOD + BOOM + BOOM + wire([NULL_ROLE])
    out = repaired(data, fixes=[*FIXES, Boom], ended=False)
    text = wire([chunk({"content": "boom"}), chunk({"content": "Hi"})])
    assert out == GOOD + BOOM + text
    assert [each.message for each in caplog.records if "whole" not in each.message] == [
        "stream: fix boom-now failed and is off for this answer"
    ] * 2  # once for each of the two ways to feed


def test_bug_outside_of_the_fixes_passes_the_rest_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    comment = b": x\n\n"
    pipe = Pipeline(STREAM, FIXES)
    assert pipe.feed(GOOD + STOP) == [GOOD]
    monkeypatch.setattr(Machine, "chunk", fail)
    assert pipe.feed(GOOD) == [STOP, GOOD]
    monkeypatch.undo()
    assert pipe.feed(BOOM + comment) == [BOOM, comment]
    assert pipe.end() == []
    assert "the rest passes as it is" in caplog.text


def test_bug_at_the_end_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipeline(STREAM, FIXES)
    pipe.feed(GOOD + STOP)
    monkeypatch.setattr(Machine, "end", fail)
    assert pipe.end() == [STOP]


def test_bug_in_a_pause_sends_no_newline_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipeline(STREAM, FIXES)
    assert b"".join(pipe.feed(GOOD + b"\n")) == GOOD + b"\n"
    monkeypatch.setattr(Machine, "release", fail)
    assert not b"".join(pipe.release())


def test_bug_at_the_end_sends_no_words_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = PageOrStream(STREAM, FIXES)
    assert pipe.feed(b"\xff\xfewords") == []
    monkeypatch.setattr(sse.EventParser, "cut", fail)
    out = b"".join(pipe.release(last=True)) + pipe.rescue()
    assert out == b"\xff\xfewords"


# -- errors that are chunks, too ---------------------------------------------------

SAID = chunk({"role": "assistant", "content": "Hi"})
DIED = "upstream died"


@pytest.mark.parametrize("before", [[SAID], [SAID, chunk({}, finish="stop")]])
@pytest.mark.parametrize(
    "event",
    [
        {"choices": [], "errors": [{"code": 7009, "message": DIED}]},
        {"choices": [], "detail": DIED},
        {"choices": [], "message": DIED},
        {"choices": None, "code": 50501, "msg": DIED},
        {"choices": [], "success": False, "errors": [{"message": DIED}]},
        {"choices": [], "success": False, "note": DIED},
        {"choices": [], "code": 500, "note": DIED},
        chunk(None, message=DIED, code=500),
        chunk(None, error={"message": DIED}, usage=dict(USAGE)),
        chunk({}, error=DIED),
        chunk({}, errors=[{"message": DIED}]),
        chunk({}, code=500, msg=DIED),
        chunk({}, x_groq={"id": "req_1", "error": DIED}),
        chunk(None, x_groq={"id": "req_1", "error": {"message": DIED}}),
        chunk({}, base_resp={"status_code": 1002, "status_msg": DIED}),
    ],
)
def test_error_that_is_a_chunk_too_arrives_as_an_error_and_nothing_is_forged(
    before: list[Chunk], event: Chunk
) -> None:
    for done in (b"", DONE):
        out = repaired(wire([*before, event, done]))
        (error,) = meaning_of_stream(out).errors
        assert DIED in error.message
        sent = wire(before) + done
        assert out.count(b'"finish_reason":"') == sent.count(b'"finish_reason":"')
        assert out.count(b"[DONE]") == done.count(b"[DONE]")


def test_no_success_is_forged_after_an_event_that_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1000)
    large = wire([{"error": {"message": "x" * 2000}}])
    assert repaired(wire([SAID]) + large + DONE) == wire([SAID]) + large + DONE
    assert repaired(wire([SAID]) + STOP + large) == wire([SAID]) + STOP + large


OTHER = chunk({}, finish="stop", index=1)


@pytest.mark.parametrize(
    "events",
    [
        [chunk({}, finish="stop"), chunk({}, finish="stop", detail="a"), OTHER],
        [SAID, chunk(None, usage={"new": 6}, detail="a")],
        [SAID, chunk({}, usage={"new": 6}, detail="a")],
        [SAID, chunk({}, usage={"new": 6}, detail="a"), OTHER],
    ],
)
def test_words_beside_what_leaves_elsewhere_stay_a_notice(events: list[Chunk]) -> None:
    asked = Asked(stream=True, n=2)
    out = repaired(wire(events), asked)
    assert meaning_of_stream(out).errors == []
    assert out.count(b'"detail":"a"') == 1
    assert repaired(out, asked) == out


def test_bug_in_what_waits_costs_the_repair_and_no_byte(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pipe = Pipeline(Asked(stream=True, tools=True), FIXES)
    opening = wire([chunk({"role": "assistant", "content": None})])
    assert pipe.feed(opening) == []
    monkeypatch.setattr(
        type(pipe._machine.state), "mark", property(lambda _: 1 // 0), raising=True
    )
    assert pipe.waiting is None
    assert "repair failed, the rest passes as it is" in caplog.text
    assert b"".join(pipe.feed(b"data: x\n\n")) == opening + b"data: x\n\n"


def test_bug_in_what_is_remembered_costs_no_repair(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    data = wire([OPENING, NULL_ROLE, NULL_ROLE])
    pipe = Pipeline(STREAM, FIXES)
    monkeypatch.setattr(pipe._memory, "learn", fail)
    assert pipe.feed(data) == Pipeline(STREAM, FIXES).feed(data)
    assert caplog.messages == ["stream: nothing is remembered"] * 2


def test_usage_leaves_a_finish_that_is_not_the_last() -> None:
    more = [{"index": at, "delta": {"content": "Hi"}} for at in (0, 1)]
    stop = chunk({}, finish="stop", usage={**USAGE, "completion_tokens": 0})
    out = repaired(wire([stop, chunk(None, choices=more), OTHER]))
    *_, last, _ = out.split(b"\n\n")[:-1]
    assert out.count(b"total_tokens") == last.count(b"total_tokens") == 1
    assert repaired(out) == out


def test_data_behind_a_comment_in_data_is_read() -> None:
    out = repaired(b"data:event:\ndata::\n" + wire([SAID]))
    assert out == wire([SAID])
