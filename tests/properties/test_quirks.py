"""Random streams of OpenAI's form, damaged, come back in the same form and meaning."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from judge.quirks import (
    AMBIGUOUS,
    BODY_QUIRKS,
    DONE,
    LATE,
    OPEN,
    QUIRKS,
    TEXT_QUIRKS,
    UNREAD,
    WAITING,
    Answer,
    Body,
    Quirk,
    Stream,
    answers,
    bodies,
    damaged,
    damaged_body,
    encode,
    fits,
)
from llm_normalize import conformance
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import Fix
from llm_normalize.wire.json_text import dumps
from streams import feed, paused, repaired
from workshop.judged import as_read, asked_of, meaning_of, request_of, taken
from workshop.soak.check import closed, whole_values

FEW = settings(
    max_examples=max(settings().max_examples // 20, 3),
    # Some quirks need what few answers have.
    suppress_health_check=[HealthCheck.filter_too_much],
)
SEEDS = st.integers(0, 999)


def each_of(quirks: list[Quirk]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "quirk", [pytest.param(q, id=q.name) for q in quirks]
    )


def mixed(out: bytes) -> list[str]:
    """Return what clients stumble over beyond the letter of the form."""
    found = []
    for choice in taken(out).choices.values():
        ids = [call.id for call in choice.calls]
        found += ["two calls have one id"] if len(set(ids)) < len(ids) else []
    for line in out.split(b"\n"):
        if b'"reasoning_content":"' in line:
            parts = json.loads(line.removeprefix(b"data: ")).get("choices", ())
            deltas = [part["delta"] for part in parts]
            if any(
                each.get("reasoning_content") and each.get("content") for each in deltas
            ):
                found.append("reasoning shares a delta with text")
    return found


def faults(stream: Stream) -> list[str]:
    """Return what is not as OpenAI would have sent it."""
    data, asked = stream.encode(), asked_of(stream.answer)
    note(f"{asked}\n{data.decode()}")
    out = repaired(data, asked)
    note(f"came out as\n{out.decode()}")
    found = conformance.check_stream(out, request_of(stream.answer))
    if not found:
        found = conformance.lost(as_read(stream.meaning), taken(out)) + mixed(out)
    # What keeps a stream alive overtakes what waits, and not the same the second time.
    again = b"".join(feed([out], asked))
    if _NEWLINES.sub(b"\n\n", again) != _NEWLINES.sub(b"\n\n", out):
        found.append("a second repair changes it")
    return found


_NEWLINES = re.compile(rb"\n{2,}")


def body_faults(body: Body) -> list[str]:
    data = body.encode()
    note(f"{asked_of(body.answer)}\n{data.decode()}")
    out = repair_body(data, 200, asked_of(body.answer), FIXES).after[0]
    note(f"came out as\n{out.decode()}")
    found = conformance.check_body(out, request_of(body.answer))
    found += conformance.lost(as_read(body.meaning), conformance.meaning_of_body(out))
    if repair_body(out, 200, asked_of(body.answer), FIXES).after[0] != out:
        found.append("a second repair changes it")
    return found


@st.composite
def several(draw: st.DrawFn, quirks: list[Quirk], answer: Answer) -> list[Quirk]:
    """Draw a few quirks that fit the answer and each other."""
    fitting = [quirk for quirk in quirks if quirk.needs <= answer.has]
    chosen: list[Quirk] = []
    for quirk in draw(st.lists(st.sampled_from(fitting), max_size=5)):
        if all(fits(quirk, other) for other in chosen):
            chosen.append(quirk)
    return chosen


# -- without quirks --------------------------------------------------------------


@given(answers())
def test_conforming_stream_leaves_byte_for_byte(answer: Answer) -> None:
    data = encode(answer.values)
    assert taken(data) == conformance.meaning_of_stream(data)
    assert conformance.check_stream(data, request_of(answer)) == []
    assert repaired(data, asked_of(answer)) == data


@given(bodies())
def test_conforming_body_leaves_byte_for_byte(answer: Answer) -> None:
    body = Body.of(answer)
    data = body.encode()
    assert as_read(body.meaning) == conformance.meaning_of_body(data)
    assert conformance.check_body(data, request_of(answer)) == []
    assert repair_body(data, 200, asked_of(answer), FIXES).after[0] == data


# -- one quirk -------------------------------------------------------------------


@each_of(QUIRKS)
@FEW
@given(data=st.data(), seed=SEEDS)
def test_stream_with_one_quirk_is_repaired(
    quirk: Quirk, data: st.DataObject, seed: int
) -> None:
    answer = data.draw(answers(quirk.needs))
    stream = damaged(answer, [quirk], seed)
    assume(stream.encode() != encode(answer.values))
    assert faults(stream) == []


def optional_faults(stream: Stream) -> list[str]:
    """Return what the optional repairs do not repair."""
    data, asked = stream.encode(), asked_of(stream.answer)
    note(f"{asked}\n{data.decode()}")
    out = repaired(data, asked, EVERY_FIX)
    note(f"came out as\n{out.decode()}")
    found = conformance.check_stream(out, request_of(stream.answer))
    return found + conformance.lost(as_read(stream.meaning), taken(out))


BESIDE = [
    *(
        q
        for q in QUIRKS
        if q.name in ("finish-early/every", "content-parts", "role/null")
    ),
    *(q for q in QUIRKS if q.name in ("done-missing", "finish-absent", "data-glued")),
]


@each_of(TEXT_QUIRKS)
@FEW
@given(data=st.data(), seed=SEEDS)
def test_call_as_text_is_repaired_beside_another_quirk(
    quirk: Quirk, data: st.DataObject, seed: int
) -> None:
    answer = data.draw(answers(quirk.needs))
    others = [each for each in BESIDE if each.needs <= answer.has]
    chosen = [quirk, *data.draw(st.lists(st.sampled_from(others), max_size=1))]
    stream = damaged(answer, chosen, seed)
    assert optional_faults(stream) == []


@each_of(BODY_QUIRKS)
@FEW
@given(data=st.data(), seed=SEEDS)
def test_body_with_one_quirk_is_repaired(
    quirk: Quirk, data: st.DataObject, seed: int
) -> None:
    answer = data.draw(bodies(quirk.needs))
    body = damaged_body(answer, [quirk], seed)
    assume(body.encode() != Body.of(answer).encode())
    assert body_faults(body) == []


# -- several quirks --------------------------------------------------------------


class Damage(RuleBasedStateMachine):
    """A stream that gets one quirk after another; each time it is repaired anew."""

    chosen: tuple[Quirk, ...] = ()

    @initialize(answer=answers(), seed=SEEDS)
    def send(self, answer: Answer, seed: int) -> None:
        self.answer = answer
        self.seed = seed

    def fitting(self) -> list[Quirk]:
        return [
            quirk
            for quirk in QUIRKS
            if quirk.needs <= self.answer.has
            and all(fits(quirk, other) for other in self.chosen)
        ]

    @rule(data=st.data())
    def add_quirk(self, data: st.DataObject) -> None:
        self.chosen += (data.draw(st.sampled_from(self.fitting()), "quirk"),)

    @precondition(lambda self: bool(self.chosen))
    @invariant()
    def comes_out_as_openai_sends_it(self) -> None:
        assert faults(damaged(self.answer, self.chosen, self.seed)) == []


def test_stream_is_repaired_with_each_quirk_added() -> None:
    count = max(settings().max_examples // 2, 5)
    # A failure shows its quirks one by one; making it smaller takes minutes.
    phases = set(Phase) - {Phase.shrink, Phase.explain}
    limits = settings(max_examples=count, stateful_step_count=6, phases=phases)
    run_state_machine_as_test(Damage, settings=limits)


@given(data=st.data(), seed=SEEDS)
def test_body_with_several_quirks_is_repaired(data: st.DataObject, seed: int) -> None:
    answer = data.draw(bodies())
    chosen = data.draw(several(BODY_QUIRKS, answer))
    assert body_faults(damaged_body(answer, chosen, seed)) == []


# -- an answer of the other kind ---------------------------------------------------


@given(data=st.data(), seed=SEEDS)
def test_stream_with_quirks_for_a_body_becomes_one(
    data: st.DataObject, seed: int
) -> None:
    answer = data.draw(answers())
    stream = damaged(answer, data.draw(several(QUIRKS, answer)), seed)
    asked = replace(asked_of(answer), stream=False, usage=False)
    wire = stream.encode()
    note(f"{asked}\n{wire.decode()}")
    step = repair_body(wire, 200, asked, FIXES)
    note(f"came out as\n{step.after[0].decode()}")
    after = conformance.meaning_of_body(step.after[0])
    if stream.meaning.errors:  # it is the answer, whatever was said before
        assert conformance.check_error_body(step.after[0]) == []
        said = replace(stream.meaning, choices={}, usage=None)
        assert conformance.lost(as_read(said), after) == []
        assert step.status is not None
        assert step.status >= 500
        return
    request = replace(request_of(answer), stream=False, include_usage=False)
    assert conformance.check_body(step.after[0], request) == []
    assert conformance.lost(as_read(stream.meaning), after) == []


# What tells a whole answer without a finish reason from the first of many chunks.
TELLS_A_BODY = {"body-object", "body-usage-hollow", "body-delta"}
FRAMES: list[Callable[[Chunk], bytes]] = [
    dumps,
    lambda value: b"\n\n" + dumps(value) + b"\n",
    lambda value: b" \r\n \r\n\t" + dumps(value) + b" \r\n",
    lambda value: json.dumps(value, indent=2).encode(),
    lambda value: json.dumps(value, indent=2).replace("\n", "\r").encode(),
    lambda value: encode([value]),
    lambda value: encode([value, DONE]),
    lambda value: b"\xef\xbb\xbf" + dumps(value) + encode([DONE]),
]


@given(data=st.data(), seed=SEEDS, usage=st.booleans(), framed=st.sampled_from(FRAMES))
def test_body_with_quirks_for_a_stream_becomes_one(
    data: st.DataObject, seed: int, usage: bool, framed: Callable[[Chunk], bytes]
) -> None:
    answer = data.draw(bodies())
    # Without an envelope it could as well be the first event of many.
    quirks = [quirk for quirk in BODY_QUIRKS if quirk.name != "body-native/bare"]
    chosen = data.draw(several(quirks, answer))
    names = {quirk.base for quirk in chosen}
    assume("body-finish-hollow" not in names or not names & TELLS_A_BODY)
    body = damaged_body(answer, chosen, seed)
    wire = framed(body.value)
    # So it could in an event, unless that is the last one.
    assume("body-native" not in names or wire != encode([body.value]))
    asked = replace(asked_of(answer), stream=True, usage=usage)
    note(f"{asked}\n{wire.decode()}")
    out = repaired(wire, asked)
    note(f"came out as\n{out.decode()}")
    has_usage = body.meaning.usage is not None
    wanted = usage if has_usage else None
    request = replace(request_of(answer), stream=True, include_usage=wanted)
    assert conformance.check_stream(out, request) == []
    assert conformance.lost(as_read(body.meaning), taken(out)) + mixed(out) == []


# -- fixes switched off, streams cut off ------------------------------------------


@given(data=st.data(), off=st.sampled_from(FIXES), seed=SEEDS)
def test_without_one_fix_no_quirk_costs_any_meaning(
    data: st.DataObject, off: type[Fix], seed: int
) -> None:
    answer = data.draw(answers())
    quirks = [quirk for quirk in QUIRKS if quirk.base not in UNREAD]
    stream = damaged(answer, data.draw(several(quirks, answer)), seed)
    wire = stream.encode()
    note(f"without {off.name}, {asked_of(answer)}\n{wire.decode()}")
    fixes = [fix for fix in FIXES if fix is not off]
    out = b"".join(feed([wire], asked_of(answer), fixes))
    note(f"came out as\n{out.decode()}")
    assert conformance.lost(meaning_of(wire), meaning_of(out)) == []


@given(data=st.data(), seed=SEEDS, part=st.floats(0, 1))
def test_stream_with_quirks_that_breaks_off_loses_and_forges_nothing(
    data: st.DataObject, seed: int, part: float
) -> None:
    answer = data.draw(answers())
    quirks = [each for each in QUIRKS if each.base not in {*WAITING, *UNREAD}]
    stream = damaged(answer, data.draw(several(quirks, answer)), seed)
    wire = stream.encode()
    wire = wire[: int(part * len(wire))]
    note(f"{asked_of(answer)}\n{wire.decode(errors='replace')}")
    pipeline = Pipeline(asked_of(answer), FIXES)
    out = b"".join([*pipeline.feed(wire), *pipeline.release(last=True)])
    note(f"came out as\n{out.decode(errors='replace')}")
    # Half an event has no meaning yet, and nothing can be sent after a break.
    whole = closed(wire)
    if not stream.prefix:  # a value is whole when more comes
        whole = whole_values(wire[:-1])
    after = meaning_of(out)
    # Usage has its place at the end: before it, there is none to send it in.
    before = replace(meaning_of(whole), usage=after.usage, unread=[])
    # The end says all there is to say before its line ends.
    before.done |= wire.rstrip(b"\r\n").endswith(b"[DONE]")
    assert conformance.lost(before, after, broke=True) == []


@given(data=st.data(), seed=SEEDS)
def test_stream_with_pauses_keeps_its_meaning_and_gets_openais_form(
    data: st.DataObject, seed: int
) -> None:
    answer = data.draw(answers())
    quirks = [each for each in QUIRKS if each.base not in {*LATE, *UNREAD}]
    stream = damaged(answer, data.draw(several(quirks, answer)), seed)
    wire = stream.encode()
    places = data.draw(st.lists(st.integers(0, len(wire)), max_size=8))
    starts = [0, *sorted(places)]
    reads = [wire[at:end] for at, end in zip(starts, [*starts[1:], None], strict=True)]
    note(f"{asked_of(answer)}\n{reads}")
    out = paused(reads, asked_of(answer))
    note(f"came out as\n{out.decode()}")
    assert conformance.check_stream(out, request_of(answer)) == []
    before, after = as_read(stream.meaning), taken(out)
    # What was not asked for has no place behind a finish that has been sent.
    usage = before.usage if asked_of(answer).usage else after.usage
    assert conformance.lost(replace(before, usage=usage), after) == []


def test_tables_name_quirks_that_exist() -> None:
    known = [*QUIRKS, *BODY_QUIRKS]
    names = {name for quirk in known for name in (quirk.name, quirk.base)}
    listed = {name for one, other, _ in AMBIGUOUS + OPEN for name in (one, other)}
    assert listed | set(WAITING) | set(UNREAD) <= names


def test_every_quirk_says_who_sends_it() -> None:
    for quirk in [*QUIRKS, *BODY_QUIRKS, *TEXT_QUIRKS]:
        assert re.fullmatch(r"[A-Z\w].*: .*[^.]\.", quirk.who), quirk.name
