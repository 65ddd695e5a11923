import json
import re
from pathlib import Path
from typing import Any

import pytest

from judge.strict import chunks
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.chat.state.stream_state import Asked
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.fixes.tool_call_arguments import (
    ToolCallArgumentsBlank,
)
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import (
    DONE,
    USAGE,
    Wire,
    calling,
    chunk,
    head,
    rest,
    wire,
)
from llm_normalize.repair.machine import machine
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import dumps
from streams import STREAM, feed, repaired, without

TEXT = chunk({"role": "assistant", "content": "Hi"})
MORE = chunk({"content": " you"})
EMPTY = chunk({"content": ""})
STOP = chunk({}, finish="stop")
USED = chunk(None, usage=USAGE)

ERROR = wire(
    [{"error": {"message": "Overloaded", "type": None, "param": None, "code": None}}]
)
ASKED = Asked(stream=True, usage=True)
TWO = Asked(stream=True, n=2)
OTHER = chunk({"role": "assistant", "content": "Ho"}, index=1)

OTHER_STOP = chunk({}, finish="stop", index=1)


def with_usage(chunk: Chunk) -> Chunk:
    return {**chunk, "usage": USAGE}


def run(events: Wire, asked: Asked = STREAM) -> list[bytes]:
    """Return what leaves at each event, and at the end."""
    return feed([wire([event]) for event in events], asked)


def after_a_pause(first: Wire, second: Wire, asked: Asked = STREAM) -> bytes:
    """Return what *second* adds to *first*, what waited having been sent by then."""
    pipeline = Pipeline(asked, FIXES)
    out = [*pipeline.feed(wire(first)), *pipeline.release()]
    assert pipeline.waiting is None
    out += [*pipeline.feed(wire(second)), *pipeline.end()]
    return b"".join(out)


def test_what_waited_long_enough_is_sent_once() -> None:
    assert after_a_pause([TEXT, STOP], [DONE]) == wire([TEXT, STOP, DONE])
    usage = after_a_pause([TEXT, with_usage(STOP)], [USED, DONE], ASKED)
    assert usage == wire([TEXT, {**STOP, "usage": None}, USED, DONE])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_event_with_one_line_end_is_sent_once(end: bytes) -> None:
    line = wire([TEXT]).rstrip() + end
    parted = [line, wire([STOP]).rstrip() + end, DONE.rstrip() + end]
    assert after_a_pause(parted[:1], parted[1:]) == wire([TEXT, STOP, DONE])
    # The blank line that follows has been sent.
    for more in (end, end + b"\n"):
        sent = wire([TEXT]) + more.removeprefix(end)
        assert after_a_pause([line], [more, STOP, DONE]) == sent + wire([STOP, DONE])
    pipeline = Pipeline(STREAM, FIXES)
    out = [*pipeline.feed(line), *pipeline.release(last=True)]
    assert b"".join(out) == wire([TEXT])


def test_unasked_usage_after_its_finish_waited_long_enough_is_dropped() -> None:
    late: Wire = [{**USED, "cost": 1}, DONE]
    noted = {**chunk({}), "cost": 1}
    assert after_a_pause([TEXT, STOP], late) == wire([TEXT, STOP, noted, DONE])
    assert after_a_pause([TEXT, STOP], [USED, DONE]) == wire([TEXT, STOP, DONE])


def test_what_waits_is_sent_before_a_break() -> None:
    pipeline = Pipeline(ASKED, FIXES)
    out = pipeline.feed(wire([with_usage(TEXT), STOP]))
    assert pipeline.holds
    out += pipeline.release(last=True)
    assert b"".join(out) == wire([{**TEXT, "usage": None}, STOP, USED])
    assert not pipeline.abandon()


@pytest.mark.parametrize(
    ("events", "asked"),
    [([TEXT, STOP], ASKED), ([with_usage(TEXT), STOP], STREAM)],
    ids=["usage asked for", "usage seen before"],
)
def test_finish_waits_where_only_the_end_can_follow(events: Wire, asked: Asked) -> None:
    *_, waits, end = run(events, asked)
    assert (waits, b'"finish_reason":"stop"' in end) == (b"", True)


def test_finish_that_nothing_takes_for_a_repeated_one_follows_the_one_that_waits() -> (
    None
):
    events: Wire = [TEXT, STOP, STOP, DONE]
    fixes = without("finish-repeated")
    out = feed([wire([event]) for event in events], STREAM, fixes)
    assert b"".join(out) == wire(events)


def test_finish_with_its_own_usage_leaves_at_once() -> None:
    out = run([TEXT, with_usage(STOP), USED, DONE])
    assert out[1:] == [wire([with_usage(STOP)]), b"", DONE, b""]


@pytest.mark.parametrize("asked", [STREAM, ASKED, TWO])
def test_finish_of_a_call_without_arguments_waits_for_them(asked: Asked) -> None:
    called = with_usage(CALLED) if asked is STREAM else CALLED
    out = run([calling(head()), called, calling(rest()), DONE], asked)
    assert out[1:3] == [b"", wire([calling(rest())])]
    assert b"".join(out).count(b"{}") == 2  # the arguments, and the delta of the finish


def test_call_that_an_error_cut_short_gets_no_arguments() -> None:
    opened = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})
    data = wire([opened, CALLED]) + ERROR
    assert repaired(data) == data
    assert repaired(data + wire([calling(rest())])) == data + wire([calling(rest())])


def _with_logprobs(chunk: Chunk, token: str) -> Chunk:
    (choice,) = chunk["choices"]
    said = [{"token": token, "logprob": -1, "top_logprobs": []}]
    return {**chunk, "choices": [{**choice, "logprobs": {"content": said}}]}


def test_extra_fields_of_a_repeated_finish_follow_one_that_was_sent() -> None:
    late = {**_with_logprobs(chunk({}, index=1), "a"), "note": "x"}
    again = {**_with_logprobs(OTHER_STOP, "a"), "note": "x"}
    used = with_usage(OTHER_STOP)
    events: Wire = [TEXT, OTHER, STOP, used]
    out = after_a_pause(events, [again, DONE], TWO)
    assert out == wire([*events, late, DONE])
    out = repaired(wire([*events, again, DONE]), TWO)
    assert out.count(b'"note":"x"') == out.count(b'"token":"a"') == 1


def test_words_of_a_repeated_finish_are_no_error_by_themselves() -> None:
    again = {**STOP, "detail": "a", "note": "x"}
    noted = {**chunk({}, index=1), "note": "x"}
    first: Wire = [TEXT, STOP]
    said = {**OTHER, "detail": "a", "note": "x"}
    assert after_a_pause(first, [again, OTHER], TWO) == wire([*first, said])
    empty = chunk({"role": "assistant", "content": ""}, index=1)
    assert after_a_pause(first, [again, empty], TWO) == wire([*first, empty, noted])


def test_chunks_after_done_pass() -> None:
    data = wire([TEXT, STOP, DONE, USED])
    assert repaired(data) == data


def test_choice_that_is_over_and_says_nothing_does_not_pass_after_done() -> None:
    events: Wire = [TEXT, STOP, DONE]
    late = chunk({}, choice={"logprobs": None})
    fixes = without("event-empty")
    assert repaired(wire([*events, late]), STREAM, fixes) == wire(events)


BEFORE = with_usage(MORE)
COST = {**USAGE, "cost": {"request_cost": 0.005}}


def usage_in(out: bytes) -> list[Any]:
    events = out.removesuffix(DONE).decode().split("\n\n")
    found = [json.loads(each.removeprefix("data: ")) for each in filter(None, events)]
    return [each["usage"] for each in found if each.get("usage")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([with_usage(TEXT), BEFORE, STOP, DONE], []),
        ([with_usage(TEXT), STOP, USED, DONE], []),
        ([with_usage(TEXT), BEFORE, with_usage(STOP), USED, DONE], []),
        ([TEXT, BEFORE, with_usage(STOP), DONE], []),
        # Once is not on every chunk, wherever it is.
        ([TEXT, BEFORE, STOP, DONE], [USAGE]),
        ([with_usage(TEXT), STOP, DONE], [USAGE]),
        ([with_usage(chunk({"role": "assistant", "content": ""})), TEXT, STOP, USED, DONE], [USAGE]),
        ([TEXT, with_usage(STOP), DONE], [USAGE]),
        ([TEXT, STOP, USED, DONE], [USAGE]),
        ([with_usage(TEXT), DONE], [USAGE]),
        ([with_usage(TEXT), BEFORE, {**STOP, "usage": COST}, DONE], [COST]),
        ([with_usage(TEXT), BEFORE, STOP, chunk(None, usage=COST), DONE], [COST]),
    ],
)  # fmt: skip
def test_usage_on_every_chunk_that_nobody_asked_for_is_dropped(
    before: Wire, after: list[Any]
) -> None:
    steps: list[EventRecord] = []
    out = repaired(wire(before), STREAM, steps=steps)
    assert usage_in(out) == after
    assert b'"finish_reason":"stop"' in out
    if not after:
        assert b'"usage"' not in out
        assert [step.fixes for step in steps if b"usage" in (step.before or b"")] == [
            ["usage-every-chunk"]
        ] * sum("usage" in each for each in before if isinstance(each, dict))
    last = [
        each["usage"] for each in before if isinstance(each, dict) and "usage" in each
    ]
    assert usage_in(repaired(wire(before), ASKED)) == last[-1:]


OFF: dict[str, tuple[Wire, Asked]] = {
    "usage-every-chunk": ([with_usage(TEXT), STOP, DONE], ASKED),
    "usage-with-choices": ([TEXT, with_usage(STOP), DONE], ASKED),
    "usage-unasked": ([TEXT, STOP, USED, DONE], STREAM),
    "usage-early": ([TEXT, USED, STOP, DONE], ASKED),
    "usage-repeated": ([TEXT, STOP, USED, USED, DONE], ASKED),
    "finish-repeated": ([TEXT, STOP, STOP, USED, DONE], ASKED),
    "finish-missing": ([TEXT, DONE], STREAM),
    "done-missing": ([TEXT, STOP], STREAM),
    "done-repeated": ([TEXT, STOP, DONE, DONE], STREAM),
}


@pytest.mark.parametrize("name", OFF)
def test_skipped_fix_of_the_machine_changes_nothing(name: str) -> None:
    events, asked = OFF[name]
    assert repaired(wire(events), asked, without(name)) == wire(events)
    assert repaired(wire(events), asked) != wire(events)


def fixes_that_ran(events: Wire, skipped: str) -> set[str]:
    """Return the names of the fixes that a stream records if one is skipped."""
    records: list[EventRecord] = []
    pipeline = Pipeline(ASKED, without(skipped), records.append)
    sent = [*pipeline.feed(wire(events)), *pipeline.end()]
    assert b"x_other" in b"".join(sent)
    return {name for record in records for name in record.fixes}


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([TEXT, {**USED, "x_other": 1}, USED, STOP, DONE], "usage-early"),
        ([TEXT, STOP, USED, {**USED, "x_other": 1}, DONE], "usage-repeated"),
        ([TEXT, STOP, {**EMPTY, "x_other": 1}, DONE], "choice-after-finish"),
    ],
)
def test_extra_fields_are_recorded_under_the_fix_that_held_them(
    events: Wire, name: str
) -> None:
    assert fixes_that_ran(events, "choices-empty") == {name}


def test_extra_fields_of_one_of_several_chunks_are_those_of_its_fix() -> None:
    first = {**EMPTY, "x_a": 1}
    second = {**chunk({"role": None, "content": ""}), "object": "x", "x_b": 2}
    glued = b"data: " + dumps(first) + dumps(second) + b"\n\n"
    records: list[EventRecord] = []
    pipeline = Pipeline(STREAM, FIXES, records.append)
    pipeline.feed(wire([TEXT, with_usage(STOP)]) + glued)
    (out,) = pipeline.feed(wire([MORE]))
    assert b'"x_a":1' in out
    assert b'"x_b":2' in out
    assert [each.fixes for each in records if each.n == 3] == [["choice-after-finish"]]


def test_extra_fields_of_a_held_opening_are_those_of_the_fix_that_drops_it() -> None:
    example = ToolCallArgumentsBlank.examples[0]  # its blank arguments, then real ones
    at = example.before.index(calling(rest()))
    events = [*example.before]
    events[at] = {**calling(rest()), "x_other": 1}
    records: list[EventRecord] = []
    pipeline = Pipeline(example.asked, FIXES, records.append)
    out = b"".join([*pipeline.feed(wire(events)), *pipeline.end()])
    assert out.count(b'"x_other":1') == 1
    changed = {name for each in records for name in each.fixes}
    assert changed == {ToolCallArgumentsBlank.name}


# -- what waits, where something else comes ------------------------------------------


TOOLS = Asked(stream=True, tools=True)
OPENING = chunk({"role": "assistant", "content": None})

CALLED = chunk({}, finish="tool_calls")


def waiting(events: Wire, asked: Asked) -> Pipeline:
    """Return a pipeline whose last event waits."""
    pipeline = Pipeline(asked, FIXES)
    pipeline.feed(wire(events[:-1]))
    assert pipeline.feed(wire(events[-1:])) == []
    return pipeline


WAITING: dict[str, tuple[Wire, Asked]] = {
    "opening": ([OPENING], TOOLS),
    "finish": ([TEXT, STOP], STREAM),
    "usage": ([TEXT, USED], ASKED),
}


@pytest.mark.parametrize("name", WAITING)
def test_what_waits_leaves_as_it_came_when_the_repair_is_over(name: str) -> None:
    events, asked = WAITING[name]
    assert waiting(events, asked).rescue() == wire(events[-1:])


@pytest.mark.parametrize("name", WAITING)
def test_what_waits_in_a_stream_that_broke_off_is_lost_unless_it_is_an_opening(
    name: str,
) -> None:
    events, asked = WAITING[name]
    pipeline = waiting(events, asked)
    assert pipeline.abandon() is (name != "opening")
    assert pipeline.abandon() is False


@pytest.mark.parametrize("name", WAITING)
def test_line_feed_that_comes_late_joins_what_waits(name: str) -> None:
    events, asked = WAITING[name]
    data = wire(events).replace(b"\n", b"\r\n")
    fixes = without("line-end-cr")
    pipeline = Pipeline(asked, fixes)
    pipeline.feed(data[:-1])
    assert pipeline.feed(data[-1:]) == []
    assert data.endswith(pipeline.rescue())
    assert pipeline.abandon() is False


@pytest.mark.parametrize("silence", [b": ping\n\n", b"\n"])
def test_arguments_that_may_be_a_placeholder_wait_for_the_next_event(
    silence: bytes,
) -> None:
    declared = Asked(stream=True, tools=True, declared=Tools(frozenset("f")))
    blank = wire([calling(rest())])
    pipeline = Pipeline(declared, FIXES)
    pipeline.feed(wire([calling(head())]))
    assert pipeline.feed(blank) == []
    assert pipeline.feed(silence) == [b"\n"]
    assert (pipeline.waiting, pipeline.release()) == (None, [])
    assert pipeline.holds
    assert b"".join(pipeline.release(silent=True)) == blank


def test_usage_on_the_finish_of_a_text_is_sent_after_a_pause() -> None:
    pipeline = Pipeline(Asked(stream=True, usage=True), FIXES)
    opening, text = (
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hi"}),
    )
    pipeline.feed(wire([opening, text]))
    pipeline.feed(wire([chunk({}, finish="stop", usage=USAGE)]))
    # A choice that has sent nothing may have a finish on every chunk: that waits.
    assert b'"total_tokens"' in b"".join(pipeline.release())


def test_unasked_usage_rides_on_a_finish_that_need_not_wait() -> None:
    events: Wire = [TEXT, USED, STOP]
    out = feed([wire([each]) for each in events], fixes=without("finish-early"))
    assert out[:3] == [wire([TEXT]), b"", wire([with_usage(STOP)])]


# Extra fields under ever new names


def noted(number: int) -> Chunk:
    return {f"note{number}": "x" * 100}


def of_choice(number: int) -> Chunk:
    return chunk({}, finish="stop", choice=noted(number))


NO_FIGURES = dict.fromkeys(USAGE, 0)
WITH_EXTRA_FIELDS = {
    "nothing before": ([], lambda n: chunk(None, **noted(n)), []),
    "a choice is open": ([TEXT], lambda n: chunk(None, **noted(n)), [STOP]),
    "a finish waits": ([TEXT, STOP], lambda n: chunk(None, **noted(n)), []),
    "repeated finish": ([TEXT], lambda n: chunk({}, finish="stop", **noted(n)), []),
    "choices of a repeated finish": ([TEXT], of_choice, []),
    "usage": ([TEXT, STOP], lambda n: chunk(None, usage=NO_FIGURES, **noted(n)), []),
    "early usage": ([TEXT], lambda n: chunk(None, usage=USAGE, **noted(n)), [STOP]),
    "changed": ([TEXT], lambda n: {**chunk(None, **noted(n)), "id": ""}, [STOP]),
}

# With usage asked for, their finish is sent at once: nothing follows that the last can ride on.
ENDED = {"repeated finish", "choices of a repeated finish", "usage"}


@pytest.mark.parametrize("asked", [STREAM, ASKED], ids=["not asked", "usage asked"])
@pytest.mark.parametrize("case", WITH_EXTRA_FIELDS)
def test_extra_fields_under_ever_new_names_are_bounded_and_all_sent(
    monkeypatch: pytest.MonkeyPatch, case: str, asked: Asked
) -> None:
    for module in (
        "repair.machine.extra_fields",
        "repair.machine.finish",
        "fixes.choices",
    ):
        monkeypatch.setattr(f"llm_normalize.{module}.MAX_EXTRA_BYTES", 1000)
    before, made, after = WITH_EXTRA_FIELDS[case]
    out = run([*before, *map(made, range(40)), *after, DONE], asked)
    sent = b"".join(out)
    if asked is STREAM or case not in ENDED:
        assert [n for n in range(40) if b'"note%d"' % n not in sent] == []
    # What waits at the end is no more than what may.
    assert len(b"".join(out[-3:])) < 3000
    assert repaired(sent, asked) == sent


def reasons(events: Wire, asked: Asked = STREAM, fixes: Any = FIXES) -> list[Any]:
    """Return the finish reasons that are sent, in order."""
    found = chunks(repaired(wire(events), asked, fixes))
    reasons = [
        choice["finish_reason"] for each in found for choice in each.get("choices", [])
    ]
    return [each for each in reasons if each]


CALL = chunk({"role": "assistant", "content": None, "tool_calls": [head(0, "{}")]})
FORCED = Asked(stream=True, tools=True, forced_tool=True)


@pytest.mark.parametrize(
    ("first", "second", "after"),
    [
        ("stop", "length", "length"),
        ("stop", "stop", "stop"),
        ("length", "content_filter", "length"),
        ("length", "stop", "length"),
    ],
)
def test_stop_that_is_held_gives_way_to_a_more_specific_reason(
    first: str, second: str, after: str
) -> None:
    events: Wire = [TEXT, chunk({}, finish=first), chunk({}, finish=second), DONE]
    assert reasons(events) == [after]


@pytest.mark.parametrize(
    ("asked", "reason", "skipped", "after"),
    [
        (STREAM, "stop", "", "tool_calls"),
        (STREAM, "length", "", "length"),
        (STREAM, "stop", "finish-stop-with-calls", "stop"),
        (FORCED, "stop", "", "stop"),
    ],
)
def test_stop_that_is_held_while_a_tool_is_called_becomes_tool_calls(
    asked: Asked, reason: str, skipped: str, after: str
) -> None:
    fixes = without(skipped)
    events: Wire = [TEXT, chunk({}, finish=reason), CALL, DONE]
    assert reasons(events, asked, fixes) == [after]


def test_known_choices_are_bounded() -> None:
    pipeline = Pipeline(STREAM, FIXES)
    for index in range(1500):
        pipeline.feed(wire([chunk({"content": "Hi"}, index=index)]))
    assert len(pipeline._machine.state.opened) == 1024


@pytest.mark.parametrize("asked", [STREAM, ASKED], ids=["not asked", "usage asked"])
def test_usage_among_extra_fields_is_null_where_usage_was_asked_for(
    asked: Asked,
) -> None:
    extra = {"x_other": {"usage": {"total_tokens": 3}}}
    repeated = chunk({}, finish="stop", **extra)
    other = [chunk({"content": "Ho"}, index=1), OTHER_STOP]
    both = Asked(stream=True, n=2, usage=asked.usage)
    sent = chunks(repaired(wire([TEXT, STOP, repeated, *other, DONE]), both))
    (found,) = [each for each in sent if "x_other" in each]
    assert ("usage" in found) is asked.usage


def test_words_beside_usage_and_a_choice_that_has_finished_ride_on_its_finish() -> None:
    late = chunk(None, choices=[{}], usage=dict(USAGE), errors="slow")
    out = repaired(wire([TEXT, STOP, late, DONE]), STREAM)
    (_, finish) = chunks(out)
    assert (finish["errors"], finish["usage"]) == ("slow", USAGE)
    assert out.endswith(DONE)


# -- the table -------------------------------------------------------------------------

ROOM = Path(machine.__file__).parent
TABLE = [
    [each.strip() for each in line.strip("|").split("|")]
    for line in (machine.__doc__ or "").splitlines()
    if line.startswith("| ") and "---" not in line
][1:]
CODE = "".join(path.read_text(encoding="utf-8") for path in ROOM.glob("*.py"))


def test_table_names_the_quirks_of_the_machine_and_its_transitions() -> None:
    known = {fix.name for fix in EVERY_FIX}
    named = {name for row in TABLE for name in row[4].split(", ") if name}
    assert named <= known
    assert {name for name in known if f'"{name}"' in CODE} - named == {
        "finish-stop-with-calls",  # of a finish that is sent: below the table
        "finish-call-cut",
        "tool-call-name-late",  # of a finish that is held: a fragment of a call waits
        "tool-call-arguments-missing",
    }
    for row in TABLE:
        name = row[3].strip("`").split(".")[-1]
        assert re.search(rf"def {name}\(|self\.{name} =", CODE), row


def test_log_probabilities_of_a_repeated_finish_follow_those_of_the_first() -> None:
    events: Wire = [TEXT, _with_logprobs(STOP, "a"), _with_logprobs(STOP, "b"), DONE]
    first = _with_logprobs(chunk({}), "a")
    assert repaired(wire(events)) == wire([TEXT, first, *events[2:]])


def test_second_usage_with_a_finish_is_taken_off() -> None:
    fixes = without("finish-repeated")
    data = wire([TEXT, with_usage(STOP), with_usage(STOP), DONE])
    assert repaired(data, fixes=fixes) == wire([TEXT, with_usage(STOP), STOP, DONE])


def test_usage_of_a_finish_that_was_no_end_goes_with_its_copy() -> None:
    def with_copy(each: Chunk) -> Chunk:
        return {**with_usage(each), "x_groq": {"usage": USAGE}}

    finish = with_copy(chunk({}, finish="tool_calls"))
    once = repaired(
        wire([TEXT, finish, with_copy(MORE), with_copy(MORE), DONE]), STREAM
    )
    assert repaired(once, STREAM) == once
