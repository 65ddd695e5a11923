from typing import Any

import pytest

from llm_normalize.chat.stream_state import Seen
from llm_normalize.repair.fast_path.learned_templates import Templates
from llm_normalize.repair.fast_path.patching import EventPatcher
from llm_normalize.repair.fast_path.template import Template
from llm_normalize.repair.fast_path.template_candidate import learn
from llm_normalize.repair.fix import calling, chunk, rest, wire
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.repair.output import Output
from llm_normalize.wire.sse import EventParser


def nim(word: str) -> bytes:
    return wire([chunk({"role": None, "content": word})])


def good(word: str) -> bytes:
    return wire([chunk({"content": word})])


def template(before: bytes, after: bytes) -> Template:
    fixes = [] if before == after else ["a-fix"]
    found = learn(EventRecord(0, before, [after], fixes))
    assert found is not None
    return found.template


class Way:
    """The short way of a stream that knows some templates, and what is told of it."""

    def __init__(self, *known: Template, will_do: bool = True) -> None:
        self.counted: list[Any] = []
        self.steps: list[EventRecord] = []
        self.parser = EventParser()
        self.seen = Seen()
        self.output = Output(self.steps.append, "label", verbatim=True)

        def count(*reported: Any) -> bool:
            self.counted.append(reported)
            return will_do

        templates = Templates("label")
        templates.known[:] = known
        self.patcher = EventPatcher(
            templates, self.parser, self.seen, self.output, count, "label"
        )


NIM = template(nim("Hi"), good("Hi"))
GOOD = template(good("Hi"), good("Hi"))


def test_template_that_changes_nothing_or_did_so_before_is_expected() -> None:
    assert Way().patcher.expected is None
    assert Way(GOOD).patcher.expected is GOOD
    way = Way(NIM)
    assert way.patcher.expected is None
    way.patcher.count_repeats()
    assert way.patcher.patch_event(nim(" so")) == good(" so")
    assert way.patcher.expected is NIM


def test_an_event_that_is_known_is_counted_and_nothing_else() -> None:
    way = Way(GOOD)
    event = good(" so")
    assert way.patcher.patch_event(event) is event
    assert (way.parser.count, way.counted, way.steps) == (1, [], [])


def test_a_changed_one_is_told() -> None:
    way = Way(GOOD, NIM)
    assert way.patcher.patch_event(good(" a")) == good(" a")
    assert way.patcher.patch_event(nim(" b")) == good(" b")
    assert way.counted == [(1, nim(" b"), good(" b"), NIM)]
    assert way.steps == []


def test_it_becomes_a_step_if_that_will_not_do() -> None:
    way = Way(NIM, will_do=False)
    way.patcher.patch_event(nim(" b"))
    (step,) = way.steps
    assert (step.n, step.before, step.after, step.fixes) == (
        0,
        nim(" b"),
        [good(" b")],
        ["a-fix"],
    )


@pytest.mark.parametrize("known", [(), (NIM,)])
def test_nothing_happens_to_what_is_not_known(known: tuple[Template, ...]) -> None:
    way = Way(*known)
    assert way.patcher.patch_event(good(" a")) is None
    assert way.patcher.patch_event(b"") is None
    assert (way.parser.count, way.counted) == (0, [])


def test_what_comes_behind_half_an_event_is_none() -> None:
    way = Way(GOOD)
    way.parser.feed(b"data: ")
    assert way.patcher.patch_event(good(" a")) is None


def test_what_has_been_parsed_has_its_number() -> None:
    way = Way(NIM)
    way.parser.feed(b"data: ")
    assert way.patcher.patch_event(nim(" a"), 7) == good(" a")
    assert way.parser.count == 0
    assert way.counted[0][0] == 7


def test_what_is_too_large_is_for_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way(GOOD)
    monkeypatch.setattr(
        "llm_normalize.repair.fast_path.patching.LIMIT", len(good("12"))
    )
    assert way.patcher.patch_event(good("123")) is None
    assert way.patcher.patch_event(good("12")) is not None


def test_newlines_behind_leave_as_they_come_unless_the_event_was_changed() -> None:
    way = Way(GOOD, NIM)
    for event, verbatim in ((nim("a"), False), (good("a"), True), (nim("b"), False)):
        way.patcher.patch_event(event)
        assert way.output.verbatim is verbatim


def test_arguments_are_told_and_usage_is_kept() -> None:
    call = wire([calling(rest(0, "a"))])
    used = wire([{**chunk({"content": "a"}), "usage": {"completion_tokens": 3}}])
    way = Way(template(call, call), template(used, used))
    reported: list[Any] = []
    way.seen.add_arguments = lambda *each: reported.append(each)  # type: ignore[method-assign]
    assert way.patcher.patch_event(wire([calling(rest(0, "b}"))])) == wire(
        [calling(rest(0, "b}"))]
    )
    assert (
        way.patcher.patch_event(wire([calling(rest(0, "{}"))])) is None
    )  # it may come again
    assert reported == [(0, 0, "b}")]
    event = used.replace(b"3", b"4")
    assert way.patcher.patch_event(event) == event
    assert way.patcher.counted is not None
    assert (way.patcher.counted.raw, way.patcher.counted.n) == (event, 1)


def test_who_cannot_count_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> bool:
        raise RuntimeError

    way = Way(NIM)
    way.patcher._count = fail
    assert way.patcher.patch_event(nim("a")) == good("a")
    assert way.patcher.patch_event(nim("b")) == good("b")
    assert way.steps == []
    assert caplog.messages == [f"label: event {n} is not recorded" for n in (0, 1)]
