from typing import Any

import pytest

from judge.strict import chunks
from llm_normalize.chat.chunks.chunk import Chunk, usage_of
from llm_normalize.chat.finish_words import finished_of, is_bare_finish
from llm_normalize.chat.stream_state import Asked, Seen
from llm_normalize.fixes import FIXES
from llm_normalize.repair.ending.end_hook import EndHook
from llm_normalize.repair.ending.end_state import EndState
from llm_normalize.repair.fix import DONE, USAGE, Fix, calling, chunk, head, wire
from llm_normalize.repair.fix_chain import Chain
from llm_normalize.repair.outcome import ChunkSender, EventRecord, Outgoing
from streams import repaired

STREAM = Asked(stream=True)
ON = {"finish-stop-with-calls", "finish-missing"}
STOP = chunk({}, finish="stop")
OTHER_STOP = chunk({}, finish="stop", index=1)


def both(first: Chunk, second: Chunk) -> Chunk:
    return {**first, "choices": [*first["choices"], *second["choices"]]}


class Stream:
    """The end of one stream, and what was sent of it."""

    def __init__(self, asked: Asked = STREAM, on: set[str] = ON) -> None:
        self.seen = Seen()
        self.sent: list[bytes] = []
        self.closed: list[EventRecord] = []
        sender = ChunkSender(lambda _, data: self.sent.append(data), self.closed.append)
        fixes = Chain(
            [fix for fix in FIXES if fix.name in on], asked, self.seen, "test"
        )
        self.end = EndState(asked, self.seen, fixes, sender, lambda *_, **__: None)

    def hold(self, held: Chunk) -> Outgoing:
        outgoing = Outgoing(EventRecord(0, b"raw"), held, b"raw")
        self.end.hold_finish(outgoing)
        return outgoing

    def call(self, index: int = 0) -> None:
        """Note that choice *index* has called a tool."""
        self.seen.note(chunk({"tool_calls": [head()]}, index=index))


def reasons(outgoing: Outgoing) -> list[Any]:
    return [choice["finish_reason"] for choice in outgoing.chunk["choices"]]


# -- what a chunk finishes ---------------------------------------------------------


@pytest.mark.parametrize(
    ("finishing", "indexes"),
    [
        (STOP, {0}),
        (both(STOP, OTHER_STOP), {0, 1}),
        (both(STOP, chunk({}, index=1)), {0}),
        (chunk({"content": "Hi"}), set()),
        (chunk({}, finish=0), set()),
        (calling(head()), set()),
        (chunk(None), set()),
        ({"choices": [{"finish_reason": "stop"}]}, {0}),
    ],
)
def test_choice_is_finished_by_a_reason_in_words(
    finishing: Chunk, indexes: set[int]
) -> None:
    assert finished_of(finishing) == indexes


@pytest.mark.parametrize(
    ("finishing", "bare"),
    [
        (STOP, True),
        (both(STOP, OTHER_STOP), True),
        ({"choices": [{"index": 0, "finish_reason": "stop"}]}, True),
        ({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}, True),
        (chunk({"content": "!"}, finish="stop"), False),
        (chunk({}), False),
        (both(STOP, chunk({}, index=1)), False),
        (both(STOP, STOP), False),
    ],
)
def test_finish_is_bare_if_every_choice_has_one_and_nothing_else(
    finishing: Chunk, bare: bool
) -> None:
    assert is_bare_finish(finishing) is bare


# -- which choices have theirs -----------------------------------------------------


@pytest.mark.parametrize(
    ("opened", "finished", "n", "expected"),
    [
        (set(), set(), 1, False),
        ({0}, set(), 1, False),
        ({0}, {0}, 1, True),
        ({0, 1}, {0}, 1, False),
        ({0, 1}, {0, 1}, 1, True),
        ({0}, {0}, 2, False),
        ({0, 1}, {0, 1}, 2, True),
    ],
)
def test_all_have_finished_if_those_that_began_and_were_asked_for_have(
    opened: set[int], finished: set[int], n: int, expected: bool
) -> None:
    end = Stream(Asked(stream=True, n=n)).end
    end.opened, end.finished = opened, finished
    assert end.all_finished is expected


def test_reason_of_a_choice_is_what_it_did() -> None:
    stream = Stream()
    stream.call(1)
    assert (stream.end.reason(0), stream.end.reason(1)) == ("stop", "tool_calls")


def test_reason_after_a_forced_tool_is_stop() -> None:
    stream = Stream(Asked(stream=True, tools=True, forced_tool=True))
    stream.call()
    assert stream.end.reason(0) == "stop"


# -- the one that waits ------------------------------------------------------------


def test_finish_that_waited_leaves_as_it_came_and_once() -> None:
    stream = Stream()
    outgoing = stream.hold(STOP)
    assert (stream.sent, outgoing.record.waiting) == ([], 1)
    stream.end.release_finish()
    assert (stream.sent, stream.closed) == ([b"raw"], [outgoing.record])
    assert (stream.end.finish, outgoing.record.waiting) == (None, 0)
    stream.end.release_finish()
    assert stream.sent == [b"raw"]


@pytest.mark.parametrize(
    ("asked", "on", "reason", "after"),
    [
        (STREAM, ON, "stop", "tool_calls"),
        (STREAM, ON, "length", "length"),
        (STREAM, set(), "stop", "stop"),
        (Asked(stream=True, forced_tool=True), ON, "stop", "stop"),
    ],
)
def test_stop_that_waited_while_a_tool_was_called_becomes_tool_calls(
    asked: Asked, on: set[str], reason: str, after: str
) -> None:
    stream = Stream(asked, on)
    outgoing = stream.hold(chunk({}, finish=reason))
    stream.call()
    stream.end.release_finish()
    changed = after != reason
    assert reasons(outgoing) == [after]
    assert outgoing.record.fixes == (["finish-stop-with-calls"] if changed else [])
    assert (stream.sent == [b"raw"]) is not changed


def test_stop_of_a_choice_without_calls_stays_beside_one_with_them() -> None:
    stream = Stream()
    outgoing = stream.hold(both(chunk({}, finish="stop"), OTHER_STOP))
    stream.call(0)
    stream.end.release_finish()
    assert reasons(outgoing) == ["tool_calls", "stop"]


@pytest.mark.parametrize(
    ("first", "second", "after"),
    [
        ("stop", "length", "length"),
        ("stop", "stop", "stop"),
        ("length", "tool_calls", "length"),
        ("tool_calls", "stop", "tool_calls"),
    ],
)
def test_stop_that_waits_gives_way_to_a_more_telling_reason(
    first: str, second: str, after: str
) -> None:
    stream = Stream()
    outgoing = stream.hold(chunk({}, finish=first))
    stream.end.overrule(chunk({}, finish=second), "some-fix")
    assert reasons(outgoing) == [after]
    assert outgoing.record.fixes == (["some-fix"] if after != first else [])
    assert stream.sent == []


def test_reason_of_one_choice_does_not_overrule_another_s() -> None:
    stream = Stream()
    outgoing = stream.hold(both(chunk({}, finish="stop"), chunk({}, finish="stop")))
    outgoing.chunk["choices"][1]["index"] = 1
    stream.end.overrule(chunk({}, finish="length", index=1), "some-fix")
    assert reasons(outgoing) == ["stop", "length"]


def test_nothing_is_overruled_where_nothing_waits() -> None:
    stream = Stream()
    stream.end.overrule(STOP, "some-fix")
    assert stream.end.finish is None
    assert stream.sent == []


# -- what was left out -------------------------------------------------------------


def test_choices_that_began_and_did_not_finish_were_left_out() -> None:
    end = Stream().end
    end.opened, end.finished = {2, 0, 1}, {1}
    assert end.unfinished == [0, 2]


def test_after_an_error_nothing_was_left_out() -> None:
    stream = Stream()
    stream.end.opened = {0}
    stream.seen.error = True
    assert stream.end.unfinished == []


def test_without_its_fix_nothing_was_left_out() -> None:
    end = Stream(on=set()).end
    end.opened = {0}
    assert end.unfinished == []


def test_known_choices_are_bounded() -> None:
    end = Stream().end
    for index in range(3000):
        end.begin(Outgoing(EventRecord(0, b""), chunk({}, index=index), b""), {index})
    assert len(end.opened) == 1024


@pytest.mark.parametrize(
    ("forced", "reason"), [(False, "function_call"), (True, "stop")]
)
def test_reason_after_a_legacy_call_is_function_call(forced: bool, reason: str) -> None:
    stream = Stream(Asked(forced_tool=forced))
    stream.seen.note(chunk({"function_call": {"name": "f", "arguments": ""}}))
    assert stream.end.reason(0) == reason


# -- usage -------------------------------------------------------------------------

ASKED = Asked(stream=True, usage=True)


def used() -> Outgoing:
    return Outgoing(EventRecord(0, b""), chunk({}, usage=dict(USAGE)), b"")


@pytest.mark.parametrize("value", [None, {}, 0])
def test_usage_that_says_nothing_is_none(value: object) -> None:
    assert usage_of({"usage": value}) is None
    assert usage_of({}) is None


@pytest.mark.parametrize("asked", [ASKED, STREAM])
def test_usage_is_taken_off_where_openai_has_none(asked: Asked) -> None:
    end, outgoing = Stream(asked).end, used()
    end.take_usage_off(outgoing, "a-fix")
    assert outgoing.record.fixes == ["a-fix"]
    assert (end.held_usage, end.held_usage_fix, end.usage_sent) == (
        USAGE,
        "a-fix",
        False,
    )
    assert outgoing.chunk.get("usage", "gone") == (None if asked.usage else "gone")


def test_later_usage_replaces_earlier_until_it_is_sent() -> None:
    end = Stream().end
    end.hold_usage({"usage": {"total_tokens": 1}}, "a")
    end.hold_usage({"usage": {"total_tokens": 2}}, "b")
    target: dict[str, object] = {}
    end.attach_usage(target)
    assert target == {"usage": {"total_tokens": 2}}
    assert (end.held_usage, end.usage_sent, end.held_usage_fix) == (None, True, "b")
    end.hold_usage({"usage": {"total_tokens": 3}}, "c")
    assert end.held_usage is None


def test_zeros_do_not_replace_usage() -> None:
    end = Stream().end
    end.hold_usage({"usage": {"total_tokens": 0}}, "a")
    assert end.held_usage == {"total_tokens": 0}
    end.hold_usage({"usage": {"total_tokens": 2}}, "b")
    end.hold_usage({"usage": {"total_tokens": 0}}, "c")
    assert (end.held_usage, end.held_usage_fix) == ({"total_tokens": 2}, "b")


# -- the fixes that act there --------------------------------------------------------


@pytest.mark.parametrize("fix", [fix for fix in FIXES if fix.end_hooks])
def test_a_fix_that_acts_at_the_end_names_its_moments(fix: type[Fix]) -> None:
    assert fix.at_end is not Fix.at_end
    assert len(set(fix.end_hooks)) == len(fix.end_hooks)


def test_every_moment_is_some_fix_s_and_the_others_act_at_none() -> None:
    assert {each for fix in FIXES for each in fix.end_hooks} == set(EndHook)
    idle = [fix for fix in FIXES if not fix.end_hooks]
    assert all(fix.at_end is Fix.at_end for fix in idle)
    end = Stream().end
    assert not any(
        fix(STREAM, Seen()).at_end(EndHook.FINISH, end, used()) for fix in idle
    )


def test_usage_among_extra_fields_is_named_null_where_usage_was_asked_for() -> None:
    extra = {"x_other": {"usage": {"total_tokens": 3}}}
    for asked in (STREAM, Asked(stream=True, usage=True)):
        end = Stream(asked).end
        end.hold_extra_fields(chunk(None, **extra), "choices-empty")
        outgoing: Chunk = {"choices": []}
        end.attach_extra_fields(outgoing)
        null = {"usage": None} if asked.usage else {}
        assert outgoing == {"choices": [], **extra, **null}


def test_extra_fields_that_alone_would_be_an_error_are_not_sent() -> None:
    stream = Stream(ASKED)
    stream.end.extra_fields = {"error": {"message": "No"}}
    stream.end.flush_usage(3)
    assert (stream.sent, stream.end.extra_fields) == ([], {})


def test_words_beside_usage_and_a_choice_that_has_finished_ride_on_its_finish() -> None:
    late = chunk(None, choices=[{}], usage=dict(USAGE), errors="slow")
    text = chunk({"role": "assistant", "content": "Hi"})
    out = repaired(wire([text, STOP, late, DONE]), STREAM)
    (_, finish) = chunks(out)
    assert (finish["errors"], finish["usage"]) == ("slow", USAGE)
    assert out.endswith(DONE)
