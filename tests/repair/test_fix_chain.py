import copy
import json
import logging
from typing import Any

import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.stream_state import Asked, Seen
from llm_normalize.fixes import FIXES
from llm_normalize.repair import fix_chain
from llm_normalize.repair.fix import Fix, chunk
from llm_normalize.repair.fix_chain import Chain
from llm_normalize.repair.fix_plan import Dispatch
from llm_normalize.repair.outcome import EventRecord, Outgoing
from llm_normalize.wire.sse import Event
from streams import alone, run_example

TEXT = chunk({"content": "Hi"})
RAW = b"raw"


class Mark(Fix):
    """Writes its letter into the chunk."""

    letter = "m"

    def edit(self, chunk: Chunk) -> bool:
        chunk["marks"] = chunk.get("marks", "") + self.letter
        return True


class A(Mark):
    name = "mark-a"
    letter = "a"


class B(Mark):
    name = "mark-b"
    letter = "b"


class Twice(Fix):
    name = "chunk-twice"

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        return [{**chunk, "part": 1}, {**chunk, "part": 2}]


class Again(Twice):
    name = "chunk-again"


class Rider(Mark):
    name = "mark-rider"
    letter = "r"
    only_on_changed = True


class Broken(Fix):
    name = "always-broken"

    def event(self, event: Event) -> list[Event] | None:
        raise RuntimeError

    def edit(self, chunk: Chunk) -> bool:
        chunk.clear()
        raise RuntimeError


class Idle(Fix):
    name = "always-idle"


def chain_of(*fixes: type[Fix]) -> Chain:
    return Chain(fixes, Asked(), Seen(), "a stream")


def run(*fixes: type[Fix]) -> tuple[list[Outgoing], EventRecord]:
    chain = chain_of(*fixes)
    step = EventRecord(0, RAW)
    payload = json.dumps(TEXT).encode()
    return list(chain.run(step, json.loads(payload), payload, RAW)), step


def marks(made: list[Outgoing]) -> list[Any]:
    return [
        (outgoing.chunk.get("part"), outgoing.chunk.get("marks")) for outgoing in made
    ]


def test_untouched_chunk_keeps_its_bytes() -> None:
    made, step = run(Idle, Rider)
    assert [outgoing.raw for outgoing in made] == [RAW]
    assert step.fixes == []


def test_fixes_act_in_order() -> None:
    made, step = run(B, A)
    assert marks(made) == [(None, "ba")]
    assert step.fixes == ["mark-b", "mark-a"]
    assert made[0].raw is None


def test_what_a_fix_adds_runs_through_the_fixes_after_it_only() -> None:
    assert marks(run(A, Twice, B)[0]) == [(1, "ab"), (2, "ab")]
    assert marks(run(Twice, Again)[0]) == [(1, None), (2, None)] * 2


def test_rider_acts_only_behind_another_change() -> None:
    assert marks(run(Rider, A)[0]) == [(None, "a")]
    assert marks(run(A, Rider)[0]) == [(None, "ar")]
    assert marks(run(Twice, Rider)[0]) == [(1, "r"), (2, "r")]


def test_fix_that_fails_leaves_the_event_as_it_came(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made, step = run(A, Broken)
    assert [(outgoing.raw, outgoing.chunk) for outgoing in made] == [(RAW, TEXT)]
    assert step.fixes == []
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
    assert "fix always-broken failed" in caplog.text


def test_fix_that_fails_after_a_part_has_left_is_passed_over() -> None:
    class Second(Fix):
        name = "second-part"

        def edit(self, chunk: Chunk) -> bool:
            if chunk.get("part") == 2:
                raise RuntimeError
            return False

    chain = chain_of(Twice, Second)
    step = EventRecord(0, RAW)
    parts = []
    for outgoing in chain.run(step, dict(TEXT), b"{}", RAW):
        step.after.append(b"left")
        parts.append(outgoing.chunk["part"])
    assert parts == [1, 2]


def test_what_rides_is_applied_to_what_was_changed_after_all_fixes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Fails(Broken):
        only_on_changed = True

    chain = chain_of(A, Fails, Rider)
    for _ in range(2):
        piece = Outgoing(EventRecord(0, RAW), {"x": 1}, None)
        chain.ride(piece)
        assert piece.chunk["marks"] == "r"
        assert piece.record.fixes == ["mark-rider"]
    assert len(caplog.records) == 1
    silent = chain_of(Idle, B)
    silent.ride(piece)
    assert piece.chunk["marks"] == "r"


def test_fix_that_fails_is_named_once_and_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chain = chain_of(Broken, Twice, Broken)
    event = Event(b"data: x\n\n", 0)
    assert chain.frame(EventRecord(0, b""), event) == [event]
    payload = json.dumps(TEXT).encode()
    made = list(chain.run(EventRecord(0, RAW), dict(TEXT), payload, RAW))
    assert [outgoing.chunk["part"] for outgoing in made] == [1, 2]
    assert len(caplog.records) == 1


def test_fix_that_fails_twice_in_one_event_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chain = chain_of(Twice, Broken)
    step = EventRecord(0, RAW, waiting=1)
    assert len(list(chain.run(step, dict(TEXT), b"{}", RAW))) == 2
    assert len(caplog.records) == 1


def test_framing_fixes_see_what_the_one_before_made() -> None:
    class Split(Fix):
        name = "event-split"

        def event(self, event: Event) -> list[Event] | None:
            return [Event(b"a", 0), Event(b"b", 0)] if event.raw == b"ab" else None

    class Drop(Fix):
        name = "event-drop"

        def event(self, event: Event) -> list[Event] | None:
            return [] if event.raw == b"a" else None

    chain = chain_of(Split, Drop)
    step = EventRecord(0, b"ab")
    assert [each.raw for each in chain.frame(step, Event(b"ab", 0))] == [b"b"]
    assert step.fixes == ["event-split", "event-drop"]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "fix", [fix for fix in FIXES if fix.key], ids=lambda fix: fix.name
)
def test_a_fix_is_asked_for_each_of_its_repairs_though_it_names_a_key(
    fix: type[Fix], monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = [each for each in fix.examples if each.kind == "stream"]
    with_key = [run_example(each, alone(fix)) for each in examples]
    monkeypatch.setattr(fix, "key", "")
    assert [run_example(each, alone(fix)) for each in examples] == with_key


ASKED_OF = {
    b'{"a":1}': False,
    b'{"tool_calls":1}': True,
    b'{"tool\\u005fcalls":1}': True,
    b'{"tool_calls":null}': False,
    b'{"tool_calls" : [ ] }': False,
    b'{"tool_calls":[{}]}': True,
    b'{"a":"tool_calls","b":null}': False,
    b'{"a":"\\"tool_calls\\":null"}': False,
    b'{"tool_calls":null,"a":{"tool_calls":1}}': True,
    b'{"old_tool_calls":null}': False,
    b'{"old_tool_calls":[]}': True,
}
"""What a fix with the key `tool_calls` is asked of."""


@pytest.mark.parametrize("payload", ASKED_OF)
@pytest.mark.parametrize("on_null", [False, True])
def test_a_fix_is_not_asked_where_its_key_is_not_there_or_empty(
    payload: bytes, *, on_null: bool
) -> None:
    asked: list[Chunk] = []

    class Keyed(Fix):
        name = "keyed"
        key = "tool_calls"
        acts_on_null = on_null

        def edit(self, chunk: Chunk) -> bool:
            asked.append(chunk)
            return False

    chain, value = chain_of(Keyed), json.loads(payload)
    assert len([*chain.run(EventRecord(0, b""), value, payload, b"")]) == 1
    is_there = ASKED_OF[payload] or (
        on_null and b'tool_calls":' in payload.replace(b" ", b"")
    )
    assert asked == [value] * is_there


def keys_of(fix: type[Fix]) -> tuple[str, ...]:
    return (fix.key,) if isinstance(fix.key, str) else fix.key


_KEYS = (
    "tool_calls", "function_call", "finish_reason", "reasoning", "reasoning_content",
    "reasoning_details", "reasoning_text", "logprobs", "usage", "created", "text", "role",
    "service_tier", "system_fingerprint",
)  # fmt: skip
EMPTY: list[Chunk] = [{"tool_calls": []}, *({key: None} for key in _KEYS)]
"""Fields with nothing in them, in a choice, in its delta and beside the choices."""


@pytest.mark.parametrize(
    "fix",
    [fix for fix in FIXES if fix.key and not fix.acts_on_null],
    ids=lambda fix: fix.name,
)
def test_a_fix_has_nothing_to_do_where_its_key_is_empty(fix: type[Fix]) -> None:
    for empty in EMPTY:
        for asked in (Asked(stream=True), Asked(stream=True, usage=True, strict=True)):
            made = fix(asked, Seen())
            for place in ("chunk", "choice", "delta"):
                value = chunk({"content": "Hi"})
                choice = value["choices"][0]
                parts = {"chunk": value, "choice": choice, "delta": choice["delta"]}
                if not any(key in next(iter(empty)) for key in keys_of(fix)):
                    continue
                parts[place].update(empty)
                before = copy.deepcopy(value)
                assert not made.edit(value), (empty, place)
                assert made.replace(value) is None, (empty, place)
                assert value == before


def test_a_fix_that_fails_at_once_is_off_for_its_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(A):
        name = "broken"

        def __init__(self, asked: Asked, seen: Seen) -> None:
            raise RuntimeError

    made, step = run(Broken, A)
    assert (marks(made), step.fixes) == ([(None, "a")], ["mark-a"])
    assert "a stream: fix broken failed and is off for this stream" in caplog.text


def test_what_was_held_is_sent_though_no_fix_can_be_asked_any_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Holds(A):
        name = "holds"

        def flush(self) -> list[Chunk]:
            return [dict(TEXT)]

    def fail(*_: object) -> None:
        raise RuntimeError

    chain = chain_of(Holds, B)
    assert marks(list(chain.run(EventRecord(0, RAW), dict(TEXT), b"{}", RAW)))
    monkeypatch.setattr(Chain, "_dispatch_of", fail)
    assert marks(list(chain.flush(EventRecord(0, None)))) == [(None, None)]
    assert "a stream: what was held passes as it is" in caplog.text


def test_fix_that_fails_to_undo_is_off(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck(A):
        name = "stuck"

        def undo(self, n: int) -> None:
            raise RuntimeError

    chain = chain_of(Stuck, B)
    assert list(chain.run(EventRecord(0, RAW), dict(TEXT), b"{}", RAW))
    chain.undo(0)
    assert "fix stuck failed and is off" in caplog.text
    (outgoing,) = chain.run(EventRecord(1, RAW), dict(TEXT), b"{}", RAW)
    assert marks([outgoing]) == [(None, "b")]


class Counting(Fix):
    """Counts the chunks that it is asked about."""

    name = "counting"

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self.count = 0

    def edit(self, chunk: Chunk) -> bool:
        self.count += 1
        return False


def counted(chain: Chain, *chunks: Chunk) -> int:
    """Return about how many of *chunks* the `Counting` fix of *chain* has been asked."""
    (fix,) = (each for each in chain._plan.edits if issubclass(each, Counting))
    before = made.count if isinstance(made := chain._made.get(fix), fix) else 0
    for value in chunks:
        payload = json.dumps(value).encode()
        given = json.loads(payload)
        for outgoing in chain.run(EventRecord(0, RAW), given, payload, RAW):
            chain._seen.note(outgoing.chunk)
    return (made.count if isinstance(made := chain._made.get(fix), fix) else 0) - before


def test_fix_that_does_not_serve_a_request_is_not_made() -> None:
    class Wanted(A):
        @classmethod
        def serves(cls, asked: Asked) -> bool:
            return asked.strict

    assert marks(run(Wanted, B)[0]) == [(None, "b")]
    strict = Chain([Wanted], Asked(strict=True), Seen(), "a stream")
    payload = json.dumps(TEXT).encode()
    made = strict.run(EventRecord(0, RAW), json.loads(payload), payload, RAW)
    assert marks([*made]) == [(None, "a")]


def test_steps_of_what_a_fix_makes_of_a_shape_are_found_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Makes(A):
        makes_one_shape = True

    sought: list[Chunk] = []
    find = Chain._dispatch_of

    def dispatch_of(chain: Chain, part: Chunk, *, is_long: bool) -> Dispatch:
        sought.append(part)
        return find(chain, part, is_long=is_long)

    monkeypatch.setattr(Chain, "_dispatch_of", dispatch_of)
    chain = chain_of(Makes, Counting)
    assert counted(chain, TEXT) == 1
    assert len(sought) == 2
    assert counted(chain, TEXT, chunk({"content": "ho"})) == 2
    assert len(sought) == 4  # as they were received
    assert counted(chain, chunk({}, finish="stop")) == 1
    assert len(sought) == 6


def test_shape_of_what_was_held_is_not_kept_for_it_may_be_large() -> None:
    class Holds(Fix):
        name = "holds"

        def edit(self, chunk: Chunk) -> bool:
            return False

        def flush(self) -> list[Chunk]:
            return [{**TEXT, **{f"x{at}": at for at in range(1000)}}]

    chain = chain_of(Holds, B)
    payload = json.dumps(TEXT).encode()
    assert list(chain.run(EventRecord(0, RAW), dict(TEXT), payload, RAW))
    known = len(chain._plan._by_shape)
    assert marks(list(chain.flush(EventRecord(0, None)))) == [(None, "b")]
    assert len(chain._plan._by_shape) == known > 0


class Once(A):
    """Changes the first chunk that it is asked about."""

    name = "once"

    def edit(self, chunk: Chunk) -> bool:
        is_first, self.is_over = not getattr(self, "is_over", False), True
        return is_first and super().edit(chunk)


def test_stream_adds_shapes_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix_chain, "_SHAPES", 3)

    class Keyed(Counting):
        key = "x0"

    chain = chain_of(Keyed)
    several = [{**TEXT, f"x{at}": at} for at in range(7)]
    assert counted(chain, *several[1:4]) == 0
    assert counted(chain, *several[4:]) == 3  # all fixes are asked about others
    assert counted(chain, *several[1:4]) == 0
    assert len(chain._plan._by_shape) == 3
    other = Chain(chain._plan, Asked(), Seen(), "another stream")
    assert counted(other, *several[4:]) == 0


def test_fix_that_makes_one_shape_does_so_of_shapes_that_are_known_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fix_chain, "_SHAPES", 0)

    class Makes(A):
        makes_one_shape = True

    chain = chain_of(Makes, Counting)
    assert counted(chain, TEXT, {**TEXT, "x": 1}) == 2
    assert chain._plan.dispatch_to_all.then == {}


def held_back(chain: Chain, value: Chunk) -> tuple[list[Outgoing], list[str]]:
    """Return what *chain* makes of a chunk of which a part has been sent already."""
    record = EventRecord(0, RAW, after=[b"part"])
    payload = json.dumps(value).encode()
    return list(chain.run(record, json.loads(payload), payload, RAW)), record.fixes


def test_what_was_changed_before_a_fix_failed_is_sent_as_it_is_then() -> None:
    class Begins(Fix):
        name = "begins"

        def edit(self, chunk: Chunk) -> bool:
            chunk["begun"] = True
            raise RuntimeError

    class Asks(A):
        key = "begun"

    made, fixes = held_back(chain_of(B, Begins, Asks), TEXT)
    assert marks(made) == [(None, "ba")]  # there was no such key before
    assert fixes == ["mark-b", "mark-a"]


def test_what_a_fix_changed_before_it_failed_to_part_it_is_recorded() -> None:
    class Half(A):
        def replace(self, chunk: Chunk) -> list[Chunk] | None:
            raise RuntimeError

    made, fixes = held_back(chain_of(Half, Rider), TEXT)
    assert marks(made) == [(None, "ar")]
    assert (made[0].raw, fixes) == (None, ["mark-a", "mark-rider"])


def test_fix_that_failed_reads_no_words() -> None:
    class Ends(A):
        times = 0

        @property
        def watched(self) -> tuple[str, ...]:
            return ("content",)

        def edit(self, chunk: Chunk) -> bool:
            self.times += 1
            if self.times > 1:
                raise RuntimeError
            return super().edit(chunk)

    chain = chain_of(Ends)
    payload = json.dumps(TEXT).encode()
    for watched in ({"content"}, set[str]()):
        assert list(chain.run(EventRecord(0, RAW), dict(TEXT), payload, RAW))
        assert chain.watched == watched
