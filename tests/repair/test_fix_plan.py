"""Fixes are asked by the shape of a chunk: what they say of shapes has to be true."""

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest

from fixes.test_fixes import attributes_of
from llm_normalize.chat.chunks.chunk import Chunk, is_chunk, is_readable
from llm_normalize.chat.chunks.chunk_shape import shape_of
from llm_normalize.chat.stream_state import Asked, Seen
from llm_normalize.fixes import FIXES
from llm_normalize.repair import fix_plan
from llm_normalize.repair.call_fix import AssembledCalls
from llm_normalize.repair.fix import Fix, calling, chunk, head, rest
from llm_normalize.repair.fix_plan import Dispatch, FixPlan, plan_of
from llm_normalize.repair.outcome import Outcome
from llm_normalize.repair.payload import decode
from llm_normalize.wire.json_text import Json, Number

CAPTURES = sorted(Path(__file__).parents[1].glob("captures/*/*/response.sse"))
EDITS = [each for each in plan_of(FIXES).edits if each is not AssembledCalls]
ASKS = (
    Asked(stream=True),
    Asked(stream=True, usage=True, tools=True, model="m", id="1"),
    Asked(stream=True, strict=True, n=2, is_mapped=True, model="m", legacy=True),
)
ODD: list[Json] = [None, 0, "", "x", [], {}, [{}], {"a": None}, True, 7, "null"]
KEYS = ("role", "content", "reasoning", "tool_calls", "function_call", "audio", "x")


def _captured() -> Iterator[Chunk]:
    for path in CAPTURES:
        for line in path.read_bytes().splitlines():
            value, outcome = decode(line.removeprefix(b"data: "))
            if outcome is Outcome.UNDERSTOOD:
                yield value


def _examples() -> Iterator[Chunk]:
    for fix in FIXES:
        for example in fix.examples:
            yield from (each for each in example.before if isinstance(each, dict))


def _odd() -> Iterator[Chunk]:
    for odd in ODD:
        for key in KEYS:
            yield chunk({"content": "Hi", key: odd})
            yield chunk({key: odd}, choice={"message": {key: odd}})
        for key in ("message", "text", "delta", "index", "finish_reason", "error"):
            yield chunk({"content": "Hi"}, choice={key: odd})
        for key in ("usage", "error", "errors", "choices", "created", "id", "response"):
            yield chunk({"content": "Hi"}) | {key: odd}
    yield calling(head(0), rest(0), head(1))


@cache
def chunks() -> list[Chunk]:
    """Return one chunk of each shape that captures, examples and odd values have."""
    every = [*_captured(), *_examples(), *_odd()]
    found = [each for each in every if is_chunk(each) and is_readable(each)]
    return [*{shape_of(each): each for each in found}.values()]


WORDS = ("", "error", "null", "assistant", "stop", "chat.completion")


def with_other(value: Json, turn: int, key: str = "") -> Json:
    """Return *value* in the same shape, with other words and numbers."""
    if isinstance(value, dict):
        return {k: with_other(each, turn + len(k), k) for k, each in value.items()}
    if isinstance(value, list):
        return [with_other(each, turn) for each in value]
    if isinstance(value, str) and value:
        return WORDS[turn % len(WORDS)] or value[::-1]
    if isinstance(value, Number):
        return Number(f"{turn}.5")
    is_plain = type(value) is int and value and key != "index"
    return value + turn if is_plain else value


def alike(value: Chunk) -> Iterator[Chunk]:
    """Yield chunks of the shape of *value*."""
    for turn in range(len(WORDS)):
        other = with_other(value, turn)
        assert shape_of(other) == shape_of(value)
        yield other


@pytest.mark.unmeasured
@pytest.mark.parametrize("fix", EDITS, ids=lambda fix: fix.name)
def test_whether_a_fix_may_act_depends_on_the_shape_alone(fix: type[Fix]) -> None:
    for value in chunks():
        due = fix.may_act(value)
        assert {fix.may_act(each) for each in alike(value)} == {due}, value


@pytest.mark.unmeasured
@pytest.mark.parametrize("fix", EDITS, ids=lambda fix: fix.name)
def test_a_fix_that_is_not_asked_would_do_nothing(fix: type[Fix]) -> None:
    plan = FixPlan([fix])
    for value in chunks():
        if dispatch_of(plan, value).behind(-1):
            continue
        for other in alike(value) if not fix.only_on_changed else ():
            for asked in ASKS:
                made, given = fix(asked, Seen()), copy.deepcopy(other)
                before = attributes_of(made)
                assert not made.edit(given), given
                assert made.replace(given) is None, given
                assert given == other
                assert attributes_of(made) == before


@pytest.mark.unmeasured
@pytest.mark.parametrize("fix", EDITS, ids=lambda fix: fix.name)
def test_a_request_that_a_fix_does_not_serve_gets_nothing_of_it(fix: type[Fix]) -> None:
    for asked in ASKS:
        for value in chunks() if not fix.serves(asked) else ():
            made, given = fix(asked, Seen()), copy.deepcopy(value)
            assert not made.edit(given)
            assert made.replace(given) is None
            assert given == value


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "fix", [each for each in EDITS if each.makes_one_shape], ids=lambda fix: fix.name
)
def test_a_fix_makes_one_shape_of_each(fix: type[Fix]) -> None:
    changed = 0
    for value in chunks():
        made = [copy.deepcopy(each) for each in alike(value)]
        was = [fix(asked, Seen()).edit(each) for each in made for asked in ASKS[:1]]
        assert len(set(was)) == 1
        assert len(set(map(shape_of, made))) == 1
        changed += was[0]
    assert changed


class Keyed(Fix):
    name = "keyed"
    key: ClassVar[str | tuple[str, ...]] = "keyed"

    def edit(self, chunk: Chunk) -> bool:
        raise AssertionError


class Riding(Keyed):
    name = "riding"
    key = ""
    only_on_changed = True


class Reading(Keyed):
    name = "reading"
    key = ("any", "model")


class Doubtful(Keyed):
    name = "doubtful"
    key = ""

    @classmethod
    def may_act(cls, chunk: Chunk) -> bool:
        raise RuntimeError(chunk)


def dispatch_of(plan: FixPlan, value: Chunk) -> Dispatch:
    shape = shape_of(value)
    return plan.known_dispatch(shape) or plan.add_dispatch(shape, value)


def names(plan: FixPlan, value: Chunk, behind: int = -1) -> list[str]:
    return [each.name for _, each in dispatch_of(plan, value).behind(behind)]


def test_fixes_are_asked_by_keys_and_by_what_was_changed() -> None:
    plan, text = FixPlan([Keyed, Riding, Reading, Doubtful]), chunk({})
    assert names(plan, text) == ["reading", "doubtful"]
    assert names(plan, text, 0) == ["riding", "reading", "doubtful"]
    assert names(plan, text, 1) == ["reading", "doubtful"]
    keyed = text | {"keyed": 1}
    assert names(plan, keyed) == ["keyed", "reading", "doubtful"]
    assert names(plan, text | {"keyed": None}) == names(plan, text)


def test_of_shapes_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix_plan, "_SHAPES", 2)
    plan = FixPlan([Keyed])
    one, two, three = ({"choices": [], key: 1} for key in "abc")
    found = [dispatch_of(plan, each) for each in (one, two, three)]
    assert plan.known_dispatch(shape_of(one)) is None
    assert [dispatch_of(plan, each) for each in (two, three)] == found[1:]
