"""A bug in the addon itself: a fix raises, or an observer, or the record."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from faults.rig import ASKED, DUE, SENT, WHOLE, Rig, whole
from faults.table import faults
from llm_normalize.repair.fix import DONE, calling, chunk, completion, head, rest, wire
from llm_normalize.wire.json_text import dumps
from support import BrokenEndError, Json, Mitmdump, Provider

BUGS = '''\
"""Puts bugs into the addon, for requests whose model is `bug PLACE ERROR`."""

import builtins
import importlib

PLACES = {
    "edit": ("fixes.content", "ContentNull", "edit"),
    "replace": ("fixes.finish_place", "FinishWithDelta", "edit"),
    "event": ("fixes.lines", "FieldNotData", "event"),
    "held": ("repair.engine.assembled_calls", "AssembledCalls", "end"),
    "body": ("fixes.content", "ContentNull", "body"),
    "error": ("fixes.error_bodies", "ErrorFields", "error"),
    "init": ("fixes.cumulative", "ContentCumulative", "__init__"),
    "machine": ("repair.machine.machine", "Machine", "chunk"),
    "step": ("exchange.record.answer_record", "AnswerRecord", "add_event"),
    "count": ("exchange.record.answer_record", "AnswerRecord", "count"),
    "close": ("exchange.record.answer_record", "AnswerRecord", "close"),
    "stats": ("records.statistics", "Stats", "add"),
}


def endless(number):
    return endless(number + 1)


def fail(error):
    if error == "nonsense":
        return [None, 7]
    if error == "RecursionError":
        endless(0)
    raise getattr(builtins, error)("on purpose")


def models(values):
    for value in values:
        yield value
        state = getattr(value, "state", None)
        every = [(value, "asked"), (value, "_asked"), (state, "asked")]
        for holder in (value, *(getattr(each, at, None) for each, at in every)):
            yield getattr(holder, "model", "")


def buggy(place, real):
    def method(*values):
        for model in models(values):
            if isinstance(model, str) and model.startswith(f"bug {place} "):
                return fail(model.split()[-1])
        return real(*values)
    return method


for place, (module, owner, name) in PLACES.items():
    at = getattr(importlib.import_module(f"llm_normalize.{module}"), owner)
    setattr(at, name, buggy(place, getattr(at, name)))
'''

ERRORS = ("RuntimeError", "MemoryError", "RecursionError")
NULL = dumps(completion({"role": "assistant", "content": None}))
NUMBER = dumps({"error": {"message": "Busy", "type": "t", "param": None, "code": 503}})
WORDS = [f" {number}" for number in range(20)]
LONG = [
    *SENT[:2],
    *(wire([chunk({"role": None, "content": w})]) for w in WORDS),
    *SENT[2:],
]
LONG_DUE = [*DUE[:2], *(wire([chunk({"content": w})]) for w in WORDS), *DUE[2:]]
OPENING = {"role": "assistant", "content": None, "tool_calls": [head(0)]}
CALLED = [
    *(wire([each]) for each in (chunk(OPENING), calling(rest(0)))),
    *(wire([each]) for each in (chunk({}, finish="tool_calls"), DONE)),
]
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Bug:
    """A bug, and what the client must get all the same.

    Attributes:
        place: Which function has it.
        gets: The events.
        error: What it raises; "nonsense" is returned instead.
        sent: What the provider sends.
        logged: How often the log tells of it; None for more than once.
        asked: The request.
        more: What else the provider's answer is made of.
        recorded: Whether there is a flow record.
    """

    place: str
    gets: Sequence[bytes]
    error: str = "RuntimeError"
    sent: Sequence[bytes] = SENT
    logged: int | None = 1
    asked: Json = field(default_factory=lambda: ASKED)
    more: Json = field(default_factory=dict)
    recorded: bool = True


@pytest.fixture(scope="module")
def buggy(
    tmp_path_factory: pytest.TempPathFactory,
    mitm_ca: Path,
    provider: Provider,
    to_provider: Sequence[str],
) -> Iterator[Rig]:
    """A mitmdump whose addon has bugs, for those who ask for them."""
    folder = tmp_path_factory.mktemp("buggy")
    with Mitmdump(folder, mitm_ca, *to_provider, scripts=[BUGS]) as mitmdump:
        yield Rig(mitmdump, provider)


@faults(
    {
        "fix-raises": {
            **{f"edit {e}": Bug("edit", [SENT[0], *DUE[1:]], e) for e in ERRORS},
            "replace": Bug("replace", [*DUE[:3], *SENT[3:]]),
            "event": Bug("event", [b"id: 7\n\n", *DUE], sent=[b"id: 7\n\n", *SENT]),
            "held": Bug("held", CALLED, sent=CALLED),
            "init": Bug("init", DUE),
            "body": Bug(
                "body", [NULL], sent=[NULL], asked=WHOLE, more={"headers": JSON}
            ),
            "error": Bug(
                "error",
                [NUMBER],
                sent=[NUMBER],
                asked=WHOLE,
                more={"headers": JSON, "status": 503},
            ),
        },
        "fix-returns-nonsense": {
            "edit": Bug("edit", [SENT[0], *DUE[1:]], "nonsense"),
            "replace": Bug("replace", [*DUE[:3], *SENT[3:]], "nonsense"),
            "event": Bug(
                "event",
                [b"id: 7\n\n", *SENT],
                "nonsense",
                sent=[b"id: 7\n\n", *SENT],
                logged=None,
            ),
            **{f"machine {e}": Bug("machine", SENT, e) for e in ERRORS},
        },
        "observer-raises": {
            "step": Bug("step", DUE, logged=4),
            "count": Bug("count", LONG_DUE, sent=LONG, logged=None),
            "record": Bug("close", DUE, logged=None, recorded=False),
            "figures": Bug("stats", DUE, logged=None),
        },
    }
)
def test_bug_costs_what_has_it_and_never_the_answer(buggy: Rig, scenario: Bug) -> None:
    asked = {**scenario.asked, "model": f"bug {scenario.place} {scenario.error}"}
    script = buggy.provider.script(*scenario.sent, **scenario.more)
    with buggy.bystander(bugs=scenario.logged):
        assert buggy.ask(script, asked) == whole(scenario.gets)
        if scenario.recorded:
            *_, flow = buggy.mitmdump.records(script)
            assert flow["end"] == "complete"
            assert flow["bytes_out"] == len(whole(scenario.gets))


@pytest.mark.fault("fix-exits")
@pytest.mark.alone("mitmdump itself ends")
@pytest.mark.parametrize("error", ["SystemExit", "KeyboardInterrupt"])
def test_exit_is_no_bug_but_an_end(start: Callable[..., Rig], error: str) -> None:
    rig = start(scripts=[BUGS])
    never = threading.Event()
    other = rig.provider.script(*SENT[:3], never)
    script = rig.provider.script(*SENT)
    with rig.client() as client:
        reply = client.post(other.path, ASKED)
        reply.until(whole(DUE[:3]))
        asked = {**ASKED, "model": f"bug edit {error}"}
        with rig.client() as exits, pytest.raises(BrokenEndError):
            exits.post(script.path, asked).rest()
        assert reply.broken() == whole(DUE[:3])
    never.set()
    rig.mitmdump.ended()
    pairs = [each for each in rig.mitmdump.pairs() if each["type"] == "pair"]
    assert [pair["n"] for pair in pairs] == [0, 1, 2]
