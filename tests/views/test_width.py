"""Lines of the views: mitmweb breaks none, so that each has to fit."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import contentviews
from mitmproxy.test import tflow

from growth import MOST, growth
from llm_normalize.records.snapshot import KEY
from llm_normalize.repair.fix import chunk, wire
from llm_normalize.views.answer_view import COLUMNS, Line, fitted
from llm_normalize.views.before_after import BeforeAfter
from llm_normalize.views.transcript import Transcript
from records.stored import RECORD, row

WORDS = "The mill brook runs past the old weir and on to the sea. " * 9
NAMES: dict[str, Any] = {
    "host": "a-long-name-of-a-host.that-goes-on.example.test:8443",
    "model": "a-provider/a-model-of-many-words-70b-instruct-2026-11-27",
    "fixes": [["role-null", 123_456], ["tool-call-whole", 7]],
    "request": [["reasoning-effort-unknown", "changed", "reasoning.effort"]],
}


def columns(line: str) -> int:
    return len(line) + sum(each >= "\u2e80" for each in line)


def flow(**record: Any) -> contentviews.Metadata:
    made = tflow.tflow(resp=True)
    made.request.method, made.request.path = "POST", "/v1/chat/completions"
    made.metadata[KEY] = RECORD | record
    return contentviews.Metadata(flow=made, http_message=made.response)


def test_before_and_after_fit() -> None:
    before = json.dumps(chunk({"role": None, "content": WORDS, "x" * 99: "y" * 999}))
    after = json.dumps(chunk({"content": WORDS}))
    data = [f"data: {each}\n\n".encode() for each in (before, after)]
    rows = [row(data[0], data[1]), row(data[0]), row(None, data[1], n=9)]
    text = BeforeAfter(columns=COLUMNS).prettify(b"", flow(pairs=rows, **NAMES))
    assert max(map(columns, text.splitlines())) <= COLUMNS
    # Nothing but blanks is lost where a line is broken.
    joined = "".join(text.split())
    for words in (NAMES["host"], NAMES["model"], "123,456xrole-null:delta.role"):
        assert words in joined


def test_a_transcript_fits() -> None:
    call = {"index": 0, "function": {"name": "f", "arguments": json.dumps([WORDS])}}
    stream = wire(
        [
            chunk({"role": "assistant", "content": WORDS + "\n" + "水" * 99}),
            chunk({"tool_calls": [{"id": "c" * 50, "type": "function", **call}]}),
            chunk({}, finish="tool_calls"),
        ]
    )
    text = Transcript(columns=COLUMNS).prettify(stream, flow())
    assert max(map(columns, text.splitlines())) <= COLUMNS
    assert "水" * 99 in "".join(text.split())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ["- "]),
        ("  indented", ["-   indented"]),
        (WORDS[:41], ["- The mill brook runs past the old", "    weir and"]),
        (
            "choices[0].delta.tool_calls[0].function.arguments: null",
            ["- choices[0].delta.tool_calls[0]", "    .function.arguments: null"],
        ),
        (
            '{"id":"chatcmpl-1","created":1790000000,"model":1}',
            ['- {"id":"chatcmpl-1",', '    "created":1790000000,"model":1}'],
        ),
        ('"a-names":1,' + "x" * 22 + ",", ['- "a-names":1,', "    " + "x" * 22 + ","]),
        ("x" * 40, ["- " + "x" * 34, "    " + "x" * 6]),
        ("水" * 20, ["- " + "水" * 17, "    " + "水" * 3]),
    ],
)
def test_where_a_line_is_broken(text: str, lines: list[str]) -> None:
    assert [*fitted(Line(text, "- ", "    "), COLUMNS)] == lines


@given(st.text(alphabet="a,:{.[ 水", max_size=200))
def test_any_text_fits_and_loses_blanks_alone(text: str) -> None:
    lines = [*fitted(Line(text, "  - ", "    "), COLUMNS)]
    assert max(map(columns, lines)) <= COLUMNS
    joined = "".join(line[4:] for line in lines)
    assert joined.replace(" ", "") == text.replace(" ", "")


def test_a_long_text_takes_no_longer_for_each_character() -> None:
    def fit(text: str) -> None:
        assert sum(1 for _ in fitted(Line(text), COLUMNS))

    assert growth(lambda n: "a," * n, fit, 20_000) < MOST
    assert growth(lambda n: "a" + " " * n, fit, 20_000) < MOST
