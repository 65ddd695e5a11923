import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.protocols.responses.custom_input import CustomInput


def read(*parts: str) -> list[str]:
    reader = CustomInput("patch")
    return [*map(reader.feed, parts), reader.end()]


def cut(text: str, places: list[int]) -> list[str]:
    starts = [0, *sorted(place % (len(text) + 1) for place in places)]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)


@given(
    TEXTS, st.booleans(), st.lists(st.integers(0, 999), max_size=9), st.integers(0, 3)
)
def test_text_is_the_same_however_it_is_written_and_cut(
    text: str, is_ascii: bool, places: list[int], indent: int
) -> None:
    written = json.dumps({"input": text}, ensure_ascii=is_ascii, indent=indent or None)
    # A lone pair of surrogates is a character in JSON.
    meant = json.loads(written)["input"]
    assert "".join(read(*cut(written, places))) == meant


@given(st.text('{}":\\ inputx\nu0d8c`', max_size=30), st.lists(st.integers(0, 99)))
def test_cut_changes_nothing_of_what_is_malformed(text: str, places: list[int]) -> None:
    assert "".join(read(*cut(text, places))) == "".join(read(text))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (['{"in', 'put"', ': "', "a", "b", '"}'], ["", "", "", "a", "b", "", ""]),
        (['{"input":"a\\', "n", '"}'], ["a", "\n", "", ""]),
        (['{"input":"\\u00', "e4", "x"], ["", "ä", "x", ""]),
        (['{"input":"\\ud83d', "\\ude00"], ["", "😀", ""]),
        (['{"input":"\\ud83d', "\\ud", "e00", '"}'], ["", "", "😀", "", ""]),
        (['{"input":"\\ud83d', "x"], ["", "\ud83dx", ""]),
        (['{"input":"\\ud83d\\n"}'], ["\ud83d\n", ""]),
    ],
)
def test_nothing_waits_longer_than_it_must(
    parts: list[str], expected: list[str]
) -> None:
    assert read(*parts) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("*** Begin Patch", "*** Begin Patch"),
        ('{"patch": "x"}', "x"),
        ('{"cmd": ["patch", "x"]}', "x"),
        ('{"input": ["x", "y"]}', "x\ny"),
        ('{"input": {"diff": "x"}}', "x"),
        ('{"why": "z", "patch": "x"}', "x"),
        ('["patch", "x"]', "x"),
        ('"x"', "x"),
        ('{"input": "```diff\\nx\\n```\\n"}', "x"),
        ('{"input": "```x"}', "```x"),
        ('```\n{"patch": "x"}\n```', "x"),
        ("```\nx\n```", "x"),
        ("```\nx\n```\ny\n```", "```\nx\n```\ny\n```"),
        ('{"why": "z", "what": "x"}', '{"why": "z", "what": "x"}'),
        ('{"patch": "x', '{"patch": "x'),
        ('{"input": 7}', '{"input": 7}'),
        ('{"inp', '{"inp'),
        (" " * 2000, " " * 2000),
        ("{ }", ""),
        ("", ""),
        ('{"input":"a","more":1}', "a"),
        ('{"input":"cut', "cut"),
        ('{"input":"cut\\u12', "cut\\u12"),
        ('{"input":"cut\\', "cut\\"),
        (r'{"input":"C:\dir\u1x"}', r"C:\dir\u1x"),
        (r'{"input":"\\\dir\\\\u0041\q\\"}', r"\\dir\\u0041\q" + "\\"),
        ('{"input":"say "hi" now"}', 'say "hi" now"}'),
    ],
)
def test_malformed_arguments_are_not_lost(given: str, expected: str) -> None:
    assert "".join(read(given)) == expected
    assert "".join(read(*given)) == expected
