import re
from pathlib import Path
from typing import Any

import pytest

from judge.strict import chunks
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, USAGE, Wire, calling, chunk, head, rest, wire
from llm_normalize.repair.machine import machine
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import dumps
from streams import STREAM, feed, paused, repaired, without

TEXT = chunk({"role": "assistant", "content": "Hi"})
MORE = chunk({"content": " you"})
EMPTY = chunk({"content": ""})
STOP = chunk({}, finish="stop")
USED = chunk(None, usage=USAGE)

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


def test_finish_of_a_call_waits_for_its_arguments_through_pauses() -> None:
    called = chunk({}, finish="tool_calls")
    events: Wire = [calling(head()), called, calling(rest(0, '{"a":1}')), DONE]
    takes = {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}
    body = {"stream": True, "tools": [{"type": "function", "function": takes}]}
    asked = Asked.from_body(dumps(body))
    through = paused([wire([each]) for each in events], asked)
    assert through == b"".join(run(events, asked))


def _with_logprobs(chunk: Chunk, token: str) -> Chunk:
    (choice,) = chunk["choices"]
    said = [{"token": token, "logprob": -1, "top_logprobs": []}]
    return {**chunk, "choices": [{**choice, "logprobs": {"content": said}}]}


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


# -- what waits, where something else comes ------------------------------------------


TOOLS = Asked(stream=True, tools=True)
OPENING = chunk({"role": "assistant", "content": None})


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
def test_line_feed_that_comes_late_joins_what_waits(name: str) -> None:
    events, asked = WAITING[name]
    data = wire(events).replace(b"\n", b"\r\n")
    fixes = without("line-end-cr")
    pipeline = Pipeline(asked, fixes)
    pipeline.feed(data[:-1])
    assert pipeline.feed(data[-1:]) == []
    assert data.endswith(pipeline.rescue())
    assert pipeline.abandon() is False


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
