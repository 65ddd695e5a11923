import json
from typing import Any

import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.stream_state import Asked
from llm_normalize.conformance import Request, check_stream, meaning_of_stream
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, USAGE, Fix, calling, chunk, head, rest, wire
from llm_normalize.repair.machine.machine import Machine
from llm_normalize.wire import sse
from llm_normalize.wire.event_boundary import EVENT
from llm_normalize.wire.json_text import dumps, loads
from llm_normalize.wire.sse import Event
from streams import ANY, STREAM, feed, repaired, without

OPENING = chunk({"role": "assistant", "content": None})
NULL_ROLE = chunk({"role": None, "content": "Hi"})
GOOD = wire([chunk({"role": "assistant", "content": "Hi"})])


def test_each_event_leaves_with_its_last_byte() -> None:
    pipe = Pipeline(STREAM, FIXES)
    text = wire([NULL_ROLE])
    assert pipe.feed(wire([OPENING])) != []
    assert pipe.feed(text[:-1]) == []
    assert pipe.feed(text[-1:]) == [wire([chunk({"content": "Hi"})])]


def test_crlf_event_leaves_with_its_carriage_return() -> None:
    pipe = Pipeline(STREAM, FIXES)
    assert pipe.feed(GOOD.replace(b"\n", b"\r\n")[:-1]) == [GOOD]
    assert pipe.feed(b"\n") == []


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


def test_comment_between_opening_and_tool_call_overtakes_the_opening() -> None:
    asked = Asked(stream=True, tools=True)
    opening, called = wire([OPENING]), wire([calling(head())])
    out = feed([opening, b": x\n\n", called], asked, ended=False)
    assert out == [b"", b"\n", opening + called]


def test_what_a_fix_holds_leaves_before_half_an_event() -> None:
    notes = wire([chunk(None, prompt_filter_results=[1])])
    out = repaired(notes + b'data: {"id":"chatcmpl-1"')
    assert out.endswith(b'\n\ndata: {"id":"chatcmpl-1"')
    assert out.count(b"prompt_filter_results") == 1


def test_whole_event_without_its_blank_line_is_repaired_and_closed() -> None:
    for done in (b"data: [DONE]", b"data: [DONE]\r"):
        assert repaired(GOOD + STOP + done) == GOOD + STOP + DONE


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


@pytest.mark.parametrize(
    ("last", "skipped"),
    [
        (wire([NULL_ROLE])[:60], ()),
        (b"xyz", ()),
        (b'{"a":1}', ()),
        (b": half a comment", ("comment-sent",)),
        (wire([chunk({"content": "!"})])[:-1], ("blank-line-missing",)),
    ],
)
@pytest.mark.parametrize("asked", [STREAM, USAGE_ASKED])
def test_nothing_is_glued_to_a_last_block_that_has_no_end(
    last: bytes, skipped: tuple[str, ...], asked: Asked
) -> None:
    fixes = without(*skipped)
    assert repaired(GOOD + STOP + last, asked, fixes) == GOOD + STOP + last


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


@pytest.mark.parametrize(
    ("event", "kind", "code"),
    [
        (
            {"Response": {"Error": {"Code": "AuthFailure", "Message": "No"}}},
            "authentication_error",
            "AuthFailure",
        ),
        ({"Message": "No"}, "server_error", None),
        ({"Code": "Throttling", "Message": "No"}, "rate_limit_error", "Throttling"),
        ({"status": 429, "title": "No", "detail": "No"}, "rate_limit_error", None),
        ({"type": "about:blank", "title": "No", "status": 410}, None, None),
        ({"error": {"message": "No", "type": "None", "code": "null"}}, None, None),
    ],
)
def test_error_in_a_stream_has_the_form_that_it_has_in_a_body(
    event: Chunk, kind: str | None, code: str | None
) -> None:
    expected = {"message": "No", "type": kind, "param": None, "code": code}
    out = b"".join(feed([wire([chunk({"content": "Hi"}), event])]))
    (body,) = repair_body(dumps(event), 200, Asked(), FIXES).after
    for data in (out.split(b"data: ")[-1], body):
        assert loads(data)["error"] == expected


def test_error_fix_that_fails_leaves_the_event_as_it_came() -> None:
    class Bad(Fix):
        name = "bad-error"

        def error(self, body: Any, status: int) -> Chunk | None:
            raise RuntimeError

    event = wire([{"error": "Overloaded"}])
    assert repaired(event + event, fixes=[Bad]) == event + event


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


# -- finish reasons that are no success ----------------------------------------------

SAID = chunk({"role": "assistant", "content": "Hi"})
FAILURES = ("error", "model_error", "engine_overloaded", "timeout", "failed", "crashed")


@pytest.mark.parametrize("done", [b"", DONE])
@pytest.mark.parametrize("word", FAILURES)
def test_failure_as_a_finish_reason_is_an_error_and_no_finish(
    word: str, done: bytes
) -> None:
    out = repaired(wire([SAID, chunk({}, finish=word), done]))
    assert check_stream(out, Request(stream=True)) == []
    meaning = meaning_of_stream(out)
    (error,) = meaning.errors
    assert word in error.message
    assert meaning.choices[0].finish_reason is None
    assert out.endswith(done)
    assert out.count(b"[DONE]") == done.count(b"[DONE]")


# -- errors that are chunks, too ---------------------------------------------------

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


def test_end_is_sent_though_a_value_amid_the_stream_has_no_line_end() -> None:
    value = b'{"a":1}x\n\n'
    usage = chunk(None, usage=dict(USAGE))
    out = repaired(wire([SAID]) + value + wire([usage]), Asked(stream=True, usage=True))
    assert out == wire([SAID]) + value + wire([usage])


def test_finish_before_an_event_that_is_called_an_error_fits_its_calls() -> None:
    called, stop = (chunk({}, finish=word) for word in ("tool_calls", "stop"))
    error = b"event: error\n" + wire([{"code": 1, "message": "Busy"}])
    assert repaired(wire([SAID, called]) + error).startswith(wire([SAID, stop]))


def test_no_success_is_forged_after_an_event_that_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1000)
    large = wire([{"error": {"message": "x" * 2000}}])
    assert repaired(wire([SAID]) + large + DONE) == wire([SAID]) + large + DONE
    assert repaired(wire([SAID]) + STOP + large) == wire([SAID]) + STOP + large


def test_notes_after_the_finish_leave_though_no_usage_comes() -> None:
    notes = chunk(None, prompt_filter_results=[{"prompt_index": 0}])
    events: list[Any] = [SAID, chunk({}, finish="stop"), notes, DONE]
    out = repaired(wire(events), Asked(stream=True, usage=True))
    assert out.index(b'"stop"') < out.index(b"prompt_filter_results")
    assert b'"choices":[]' not in out  # they ride on the finish


UNNAMED: Chunk = {"tool_calls": [{"id": "a"}]}
OTHER = chunk({}, finish="stop", index=1)


@pytest.mark.parametrize(
    "event",
    [
        chunk(UNNAMED, detail=DIED),
        chunk(UNNAMED, errors=DIED),
        chunk({}, finish=" ", detail=DIED),
        chunk({}, usage={"new": 0}, detail=DIED),
    ],
)
@pytest.mark.parametrize("before", [[], [SAID]])
def test_words_beside_what_does_not_leave_are_an_error(
    before: list[Chunk], event: Chunk
) -> None:
    out = repaired(wire([*before, event, chunk({}, finish="stop")]))
    (error,) = meaning_of_stream(out).errors
    assert error.message == DIED
    assert b"[DONE]" not in out
    assert repaired(out) == out


WORDS: list[Chunk] = [
    {"code": 503, "message": DIED},
    {"code": 503, "detail": DIED},
    {"errors": DIED},
    {"success": False, "message": DIED},
]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize(
    "again", [{"role": "assistant", "content": "Hi"}, {"content": "Hi you"}, "Hi"]
)
@pytest.mark.parametrize("end", [b"", DONE])
def test_words_beside_a_message_that_deltas_have_said_are_an_error(
    words: Chunk, again: Any, end: bytes
) -> None:
    choice = {"index": 0, "message": again, "finish_reason": None}
    out = repaired(wire([SAID, {"choices": [choice], **words}, end]))
    found = meaning_of_stream(out)
    (error,) = found.errors
    assert error.message == DIED
    assert found.choices[0].text == "Hi"
    assert repaired(out) == out


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


def test_bare_json_under_the_name_of_an_error_is_no_data() -> None:
    data = b"event: error\n" + dumps(SAID) + b"\n\n"
    assert repaired(data) == data
    for more in (b"{}{}", b"[done]"):
        data = b": \n" + dumps(SAID) + b"\ndata: " + more + b"\n\n"
        assert b'"Hi"' in repaired(data)


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


def test_unknown_event_beyond_the_budget_passes_unrepaired() -> None:
    pipe = Pipeline(STREAM, FIXES)
    pipe.feed(wire([OPENING]))
    pipe.parser.budget_left = EVENT
    other = chunk({"role": None, "reasoning": "Hm"})
    both = b"".join(pipe.feed(wire([NULL_ROLE, other])))
    assert both == wire([chunk({"content": "Hi"}), other])
    pipe.parser.budget_left = 10 * EVENT
    assert b"".join(pipe.feed(wire([NULL_ROLE]))) == wire([chunk({"content": "Hi"})])


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


@pytest.mark.parametrize("usage", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_arguments_behind_usage_are_those_of_the_call(usage: bool, again: bool) -> None:
    asked = Asked(stream=True, usage=usage)
    stop = chunk({}, finish="tool_calls")
    figures = {**(stop if again else chunk(None)), "usage": dict(USAGE)}
    events = [calling(head()), stop, figures]
    out = repaired(wire([*events, calling(rest(0, "[]")), DONE]), asked)
    (call,) = meaning_of_stream(out).choices[0].calls
    assert call.arguments == "[]"
    assert repaired(out, asked) == out
    out = repaired(wire([*events, DONE]), asked)
    (call,) = meaning_of_stream(out).choices[0].calls
    assert call.arguments == "{}"
    assert out.count(b"total_tokens") == 1
