"""Arguments that a provider sends more than once: each part of them is sent once."""

import json
from dataclasses import replace
from typing import Any

import pytest

from judge.strict import taken
from llm_normalize import conformance
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.chat.state.repeated_arguments import (
    begins_object,
    decoded,
    new_suffix,
    without_repeats,
)
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import DONE, calling, chunk, completion, head, rest, wire
from llm_normalize.wire.json_text import dumps
from streams import feed, repaired

ASKED = Asked(stream=True, tools=True, declared=Tools(frozenset("fg")))
REQUEST = conformance.Request(tools=True)
WHOLE = '{"city":"Oslo","n":[1,{"a":null}],"code":"x = {\\"b\\"}"}'
TWICE = json.dumps(WHOLE)


def answer(
    *fragments: str, last: str | None = None, head_on_all: bool = False
) -> bytes:
    """Return a stream with these arguments, the *last* beside its finish."""
    first = {**head(), "id": "call_a"}
    events = [chunk({"role": "assistant", "content": None}), calling(first)]
    for each in fragments:
        fragment = rest(0, each)
        events.append(calling(head(0, each, id="call_a") if head_on_all else fragment))
    end = {} if last is None else {"tool_calls": [rest(0, last)]}
    return wire([*events, chunk(end, finish="tool_calls"), DONE])


def arguments_in(data: bytes, asked: Asked = ASKED) -> str:
    """Return the arguments of the one call that a strict client takes."""
    out = repaired(data, asked)
    assert conformance.check_stream(out, REQUEST) == []
    assert b"".join(feed([out], asked)) == out
    (call,) = taken(out).choices[0].calls
    return call.arguments


def growing(text: str, *ends: int) -> list[str]:
    return [text[:end] for end in ends] + [text]


REPEATED: dict[str, list[str]] = {
    "begin, then whole": ['{"city":"Os', WHOLE],
    "bracket, then whole": ["{", WHOLE],
    "bracket and quote": ['{"', WHOLE],
    "in a value": ['{"city":', WHOLE],
    "in a list": ['{"city":"Oslo","n":[', WHOLE],
    "behind a comma": ['{"city":"Oslo",', WHOLE],
    "whole, then whole": [WHOLE, WHOLE],
    "whole three times": [WHOLE, WHOLE, WHOLE],
    "whole, then spaced": [WHOLE, json.dumps(json.loads(WHOLE))],
    "in fragments, then whole": ['{"ci', 'ty":"Os', 'lo","n":[1,', WHOLE],
    "growing": growing(WHOLE, 1, 2, 9, 12, 19, 24, 30, 40),
    "growing, every character": growing(WHOLE, *range(1, len(WHOLE))),
    "growing, and the end again": [*growing(WHOLE, 5, 20), WHOLE],
    "again in fragments": ['{"city":"Oslo"', '{"ci', 'ty":"Oslo","n', WHOLE[17:]],
    "whole, again in fragments": [WHOLE, WHOLE[:5], WHOLE[5:20], WHOLE[20:]],
    "as a string of themselves": [WHOLE, TWICE],
    "begin, then as a string": ['{"city":"Os', TWICE],
    "encoded twice": [TWICE],
    "encoded twice, in fragments": [TWICE[:1], TWICE[1:7], TWICE[7:30], TWICE[30:]],
    "encoded twice, every character": [*TWICE],
    "encoded twice, then a blank": [TWICE[:7], TWICE[7:], " "],
    "whole, then its begin": [WHOLE, WHOLE[:9]],
    "empty first": ["{}", WHOLE],
    "empty first, then in fragments": ["{}", *WHOLE],
    "empty first, twice": ["{}", "{}", WHOLE],
    "empty first, then growing": ["{}", *growing(WHOLE, 3, 12)],
    "empty text first": ["", WHOLE, WHOLE],
    "empty in one fragment": ["{}" + WHOLE],
    "doubled in one fragment": [WHOLE + WHOLE],
}


OTHERS = {
    "whole": ['{"path":"a"}', '{"path":"b/c"}'],
    "in fragments": ['{"path":', '"a"}', '{"path":', '"b/c"}'],
    "in one fragment": ['{"path":"a"}{"path":"b/c"}'],
    "over the end": ['{"path":"a', '"}{"path":"b', '/c"}'],
    "every character": [*'{"path":"a"}{"path":"b/c"}'],
    "with a repeat between": ['{"path":"a"}', '{"path":"a"}', '{"path":"b/c"}'],
}


@pytest.mark.parametrize("fragments", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("n", [1, 2])
def test_another_object_is_a_call_of_its_own(fragments: list[str], n: int) -> None:
    asked = replace(ASKED, n=n)
    events = [
        chunk({"role": "assistant", "content": None}, index=at) for at in range(n)
    ]
    for each in ("", *fragments):
        for at in range(n):
            call = rest(0, each) if each else head(0, id=f"call_{at}")
            events.append(chunk({"tool_calls": [call]}, index=at))
    events += [chunk({}, index=at, finish="tool_calls") for at in range(n)]
    out = repaired(wire([*events, DONE]), asked)
    assert conformance.check_stream(out, replace(REQUEST, n=n)) == []
    for choice in taken(out).choices.values():
        assert [(each.name, each.arguments) for each in choice.calls] == [
            ("f", '{"path":"a"}'),
            ("f", '{"path":"b/c"}'),
        ]


@pytest.mark.parametrize("fragments", REPEATED.values(), ids=REPEATED)
@pytest.mark.parametrize("head_on_all", [False, True])
@pytest.mark.parametrize("with_finish", [False, True])
def test_arguments_are_sent_once(
    fragments: list[str], head_on_all: bool, with_finish: bool
) -> None:
    last = fragments[-1] if with_finish else None
    sent = fragments[:-1] if with_finish else fragments
    assert arguments_in(answer(*sent, last=last, head_on_all=head_on_all)) == WHOLE


OWN: list[list[str]] = [
    ["{}"],
    [WHOLE],
    [*WHOLE],
    ['{"a":', '{"a":1}', "}"],
    ['{"a":', '{"a"', ":1}", "}"],
    ['{"a":[', '{"a":[]}', "]}"],
    ['{"a":"', "{", '\\"a\\"', '}"}'],
    ['{"a":"', '{"', ',"b":1}'],
    ['{"a":[{"b":1},', '{"b":1}', "]}"],
    ['{"a":1}', "  "],
    ['{"a":1', "}"],
    ['{"a":-', "1.", "5e", '+3,"b":tr', 'ue,"c":"\\u00', 'e9"}'],
]


@pytest.mark.parametrize("fragments", OWN)
def test_arguments_that_are_json_pass_unchanged(fragments: list[str]) -> None:
    assert arguments_in(answer(*fragments)) == "".join(fragments)
    assert repaired(answer(*fragments), ASKED).count(b"tool_calls") >= 2


@pytest.mark.parametrize(
    "fragments",
    [
        ['{"a":1}', '{"b":2}'],
        ['{"a":1}', '{"a"', ":2}"],
        ['{"a":1', '{"b":2}'],
        ["[1]", "[1]"],
        ["x", '{"a":1}'],
        ['"x"', '"x"'],
        ['"{', "x"],
        ['"', "x"],
        ['{"a":1', '{"a', '{"b"'],
    ],
)
def test_what_makes_no_sense_is_not_lost(fragments: list[str]) -> None:
    text = "".join(fragments)
    out = repaired(answer(*fragments), ASKED)
    got = "".join(each.arguments for each in taken(out).choices[0].calls)
    assert got == (text.replace('"{', "{") if text == '"{x' else text)


def test_an_ambiguous_end_is_decided_by_what_parses() -> None:
    assert arguments_in(answer('{"a":', '{"a":1}')) == '{"a":1}'
    assert arguments_in(answer('{"a":', '{"a":1}', '{"a":1,"b":2}')) == '{"a":1,"b":2}'
    assert arguments_in(answer('{"a":', '{"a":1}}')) == '{"a":{"a":1}}'


def test_arguments_that_grow_by_blanks_are_sent_once() -> None:
    whole = '{"a": "b", "c": 1}'
    assert arguments_in(answer('{"a":', '{"a": ', whole)) == whole


BODIES = [
    WHOLE + WHOLE,
    WHOLE * 3,
    "{}" + WHOLE,
    WHOLE + " " + json.dumps(json.loads(WHOLE)),
    TWICE,
    WHOLE + TWICE,
    '{"city":"Os' + WHOLE,
    "{" + WHOLE,
    "{" + '{"city"' + '{"city":"Oslo"' + WHOLE,
    '{"city":"Os' + TWICE,
]


@pytest.mark.parametrize("text", BODIES)
@pytest.mark.parametrize("legacy", [False, True])
def test_a_body_has_the_arguments_once(text: str, legacy: bool) -> None:
    call = {"name": "f", "arguments": text}
    fields = {"id": "a", "type": "function", "function": call}
    said: Any = {"function_call": call} if legacy else {"tool_calls": [fields]}
    body = dumps(completion({"role": "assistant", "content": None, **said}))
    out = repair_body(body, 200, Asked(), FIXES).after[0]
    message = json.loads(out)["choices"][0]["message"]
    found = message["function_call"] if legacy else message["tool_calls"][0]["function"]
    assert json.loads(found["arguments"]) == json.loads(WHOLE)
    assert repair_body(out, 200, Asked(), FIXES).after[0] == out


@pytest.mark.parametrize(
    "text",
    ["", "x", WHOLE, '{"a":1}{"b":2}', '{"a":1', '"x"', "[1][1]", '{"a":1}x', '{"a"{"b":1}', "{" * 100, '{"a":1} 2'],
)  # fmt: skip
def test_what_is_said_once_or_makes_no_sense_stays(text: str) -> None:
    assert without_repeats(text) == text


def test_what_is_repeated_is_found_in_any_spelling() -> None:
    assert new_suffix('{"a": 1', '{"a":1}') == "}"
    assert new_suffix('{"a":1', '{ "a" : 1, "b":2}') == ', "b":2}'
    assert new_suffix('{"a":"\u00e9"}', '{"a":"é"}') == ""
    assert new_suffix('{"a":1', '{"a":2}') is None
    assert new_suffix("{" + " " * 40 + "}", "{ }") is None
    assert new_suffix(" ", "\n") == "\n"
    assert decoded(json.dumps(json.dumps("x"))) == json.dumps(json.dumps("x"))
    assert begins_object(' "{')
