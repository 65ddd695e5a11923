"""Fixes are asked where a look finds what they handle: elsewhere they have nothing to do."""

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fixes.test_fixes import attributes_of
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.chunks.chunk_form import is_chunk, is_readable
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.fixes import EVERY_FIX
from llm_normalize.repair.engine.fix_plan import plan_of
from llm_normalize.repair.engine.payload import decode
from llm_normalize.repair.fix import Fix, HoldingFix, calling, chunk, head, rest
from llm_normalize.repair.look import Finding, look
from llm_normalize.repair.outcome import Outcome
from llm_normalize.wire.json_text import Json, Number, dumps


def bits_of(number: int) -> Iterator[int]:
    while number:
        bit = number & -number
        number ^= bit
        yield bit


CAPTURES = sorted(Path(__file__).parents[2].glob("captures/*/*/response.sse"))
assert CAPTURES
EDITS = plan_of(EVERY_FIX).edits
ASKS = (
    Asked(stream=True),
    Asked(stream=True, usage=True, tools=True, model="m", id="1"),
    Asked(stream=True, strict=True, n=2, is_mapped=True, model="m", legacy=True),
)
SENT: tuple[list[Chunk], ...] = (
    [],
    [chunk({"role": "assistant", "content": "Hi"})],
    [chunk({"role": "assistant", "content": None}), calling(head())],
    [calling(head()), calling(rest(0, '{"a":'))],
)
"""What a stream has sent before."""
ODD: list[Json] = [
    None, 0, "", "x", [], {}, [{}], [None], {"a": None}, True, 7, "null", "x" * 300,
    Number("1.5"),
]  # fmt: skip
KEYS = (
    "role", "content", "reasoning", "reasoning_content", "reasoning_details", "refusal",
    "tool_calls", "function_call", "audio", "annotations", "x",
)  # fmt: skip
BESIDE = (
    "id", "object", "created", "model", "service_tier", "system_fingerprint", "usage",
    "error", "errors", "message", "x_groq", "response", "result", "data", "choices",
)  # fmt: skip
IN_CHOICE = (
    "message", "text", "delta", "index", "finish_reason", "error", "usage", "logprobs", "x",
)  # fmt: skip


def _captured() -> Iterator[Chunk]:
    for path in CAPTURES:
        for line in path.read_bytes().splitlines():
            value, outcome = decode(line.removeprefix(b"data: "))
            if outcome is Outcome.UNDERSTOOD:
                yield value


def _examples() -> Iterator[Chunk]:
    for fix in EVERY_FIX:
        for example in fix.examples:
            yield from (each for each in example.before if isinstance(each, dict))


def _odd() -> Iterator[Chunk]:
    for odd in ODD:
        for key in KEYS:
            yield chunk({"content": "Hi", key: odd})
            yield chunk({key: odd}, choice={"message": {key: odd}})
        for key in IN_CHOICE:
            yield chunk({"content": "Hi"}, choice={key: odd})
        for key in BESIDE:
            yield chunk({"content": "Hi"}) | {key: odd}
        yield calling(head(0), {**rest(0), "id": odd, "x": odd})
        yield calling({**rest(0), "id": odd})
        yield calling({"index": 0, "function": {"arguments": odd}})
        yield chunk({"content": odd, "tool_calls": [rest(0, "1}")]})
        yield chunk({}, finish="stop", usage={"prompt_tokens": odd, "x": odd})
    for key in BESIDE:
        yield {k: v for k, v in chunk({"content": "Hi"}).items() if k != key}
    yield calling(head(0), rest(0), head(1))


@cache
def chunks() -> list[Chunk]:
    """Return the chunks of captures and examples, and some with odd values, each once."""
    every = [*_captured(), *_examples(), *_odd()]
    found = [each for each in every if is_chunk(each) and is_readable(each)]
    return [*{dumps(each): each for each in found}.values()]


def seen_of(sent: list[Chunk], asked: Asked) -> Seen:
    seen = Seen()
    for each in sent:  # with the model's name as fixes leave it
        seen.note(each | {"model": asked.model or each["model"]})
    seen.n = len(sent)
    return seen


@pytest.mark.parametrize("sent", SENT, ids=("nothing", "text", "call", "arguments"))
@pytest.mark.parametrize("asked", ASKS)
def test_a_fix_that_is_not_asked_would_do_nothing(
    sent: list[Chunk], asked: Asked
) -> None:
    asked_of = 0
    seen = seen_of(sent, asked)
    idle = [(fix, fix(asked, seen)) for fix in EDITS]
    before = [attributes_of(made) for _, made in idle]
    for value in chunks():
        found = look(value, asked, seen, is_changed=False)
        given = copy.deepcopy(value)
        for fix, made in idle:
            if fix.handles & found or fix.handles & Finding.LEFT:
                asked_of += 1
                continue
            assert made.edit(given) in (False, None), (fix.name, given)
            assert given == value, fix.name
    assert [attributes_of(made) for _, made in idle] == before
    assert asked_of


@pytest.mark.parametrize("asked", ASKS)
def test_so_would_one_that_is_not_asked_about_what_was_changed(asked: Asked) -> None:
    for value in chunks():
        found = look(value, asked, Seen(), is_changed=True)
        for fix in EDITS:
            if fix.handles & Finding.LEFT and not fix.handles & found:
                given = copy.deepcopy(value)
                assert fix(asked, Seen()).edit(given) in (False, None), given


def test_every_fix_that_edits_chunks_says_what_it_handles() -> None:
    assert [fix.name for fix in EDITS if not fix.handles] == []
    every = {value for key, value in vars(Finding).items() if key.isupper()}
    bits = {bit for value in every for bit in bits_of(value)}
    assert sum(bits) == (1 << len(bits)) - 1
    handled = {bit for fix in EDITS for bit in bits_of(fix.handles)}
    unhandled = {Finding.USAGE, Finding.FINISH, Finding.ARGUMENTS, Finding.FIRST_ROLE}
    assert bits - handled == unhandled


def test_fix_that_holds_data_says_so() -> None:
    more = vars(HoldingFix).keys() - vars(Fix).keys()
    for fix in EVERY_FIX:
        assert issubclass(fix, HoldingFix) or not any(hasattr(fix, x) for x in more)


def test_arguments_that_go_on_are_told_from_other_fragments() -> None:
    sent, seen = SENT[3], seen_of(SENT[3], ASKS[0])
    seen.choices[0].calls.plain = 0
    more = look(calling(rest(0, "1}")), ASKS[0], seen, is_changed=False)
    assert more & Finding.ARGUMENTS
    assert not more & Finding.CALLS
    whole = [*sent, calling(rest(0, "1}"))]
    for before, value in (
        (sent, calling(rest(1, "1}"))),  # of no call
        (sent, calling(rest(0, ""))),
        (sent, calling({**rest(0, "1}"), "id": "x"})),
        (sent, calling(rest(0, "1"), rest(0, "}"))),
        (sent, chunk({"content": "Hi", "tool_calls": [rest(0, "1}")]})),
        (SENT[2], calling(rest(0, "{"))),  # the first ones
        (whole, calling(rest(0, "{}"))),
    ):
        seen = seen_of(before, ASKS[0])
        seen.choices[0].calls.plain = 0
        found = look(value, ASKS[0], seen, is_changed=False)
        assert found & Finding.CALLS, value
