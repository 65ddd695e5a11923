"""Notations of calls other than JSON."""

from typing import Any

import pytest

from llm_normalize.chat.tool_calls.written_values import (
    MalformedError,
    gemma_call,
    m3_calls,
    python_calls,
)

M3 = "]<]minimax[>["


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("f()", [("f", {})]),
        ("[f(a=1,), g(b=[1, 'x',],)]", [("f", {"a": 1}), ("g", {"b": [1, "x"]})]),
        ("print(x.f(a=-15))\ng()", [("x.f", {"a": -15}), ("g", {})]),
        (
            r"""f(a="\u00e9\x41\n\t\"\\\/\d", b='''it's "x"''', c=(True, None, false))""",
            [("f", {"a": 'éA\n\t"\\/\\d', "b": 'it\'s "x"', "c": [True, None, False]})],
        ),
        ("f(a={'k': {}, 1: null,})", [("f", {"a": {"k": {}, "1": None}})]),
        ('f(a="x\\\ny")', [("f", {"a": "xy"})]),
    ],
)
def test_calls_in_python_are_read(text: str, calls: Any) -> None:
    assert python_calls(text) == calls


def test_values_in_values_are_bounded() -> None:
    with pytest.raises(MalformedError):
        python_calls("f(a=" + "[" * 99 + "]" * 99 + ")")


@pytest.mark.parametrize(
    "text", ["f{}", "call:f", "call:f{a:<escape>x}", "call:f{a:x}"]
)
def test_other_text_is_no_call_of_gemma(text: str) -> None:
    with pytest.raises(MalformedError):
        gemma_call(text)


def invoked(text: str) -> str:
    return f'{M3}<invoke name="f">{text.replace("<", M3 + "<")}{M3}</invoke>\n'


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        ("<a>x</a>", {"a": "x!"}),
        ("<a></a>", {"a": "!"}),
        ("<a><item>1</item><item>x</item></a>", {"a": [1, "x"]}),
        (
            "<a><k>1</k><k>2</k><m><n>true</n></m></a>",
            {"a": {"k": [1, 2], "m": {"n": True}}},
        ),
        ("<a>1</a><a>2</a>", {"a": [1, 2]}),
    ],
)
def test_tags_of_minimax_m3_are_read(text: str, fields: Any) -> None:
    assert m3_calls(invoked(text), lambda *said: said[2] + "!") == [("f", fields)]


def test_tags_may_end_without_their_token() -> None:
    text = f'{M3}<invoke name="f">{M3}<a>x</a>{M3}<b>y{M3}</b></invoke>'
    assert m3_calls(text, lambda *said: said[2]) == [("f", {"a": "x", "b": "y"})]


@pytest.mark.parametrize(
    "text", ["x", invoked("<a>x"), invoked("x"), invoked("<a>" * 99), invoked("") + "x"]
)
def test_other_text_is_no_call_of_minimax_m3(text: str) -> None:
    with pytest.raises(MalformedError):
        m3_calls(text, lambda *said: said[2])
