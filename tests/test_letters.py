import html
import json
import re
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.letters import Folded, folded

SPELLED = [
    ("Straße 7", "strasse7"),
    ("a\u200bb\n\tc-d_e", "abcde"),
    (r"a\nb \\n \t\"c\"", "abc"),
    (r"\u00e9 \\u00e9 \xe9 \xc3\xa9 \303\251", "é" * 5),
    (r"\ud83d\ude00", "😀😀"),
    (r"\ud83d", "\ufffd\ufffd"),
    ("&eacute;&#233;&#xe9;&lt;&nonsense;", "ééénonsense"),
    ("caf%C3%A9%20b", "caféb"),
    ("a<br/>b</p><p>c", "abc"),
    ("data: a\nevent: b\n: c", "abc"),
    ("我的", "我我的的"),
]


@pytest.mark.parametrize(("text", "letters"), SPELLED)
def test_letters_of_a_text_however_it_is_spelled(text: str, letters: str) -> None:
    assert folded(text) == letters
    assert Folded(text).text == letters


@given(st.text(max_size=60) | st.text("\\\\ux0aé&;%<br>\n ", max_size=60))
def test_letters_are_the_same_with_their_places(text: str) -> None:
    found = Folded(text)
    assert found.text == folded(text)
    spans = found.spans([(0, len(found.text), True)])
    assert [each.size for each in spans] == [len(found.text)] * bool(found.text)
    assert all(0 <= each.start < each.end <= len(text) for each in spans)


@given(st.text(st.characters(codec="ascii", exclude_characters="\\\\%&<"), max_size=60))
def test_a_spelling_changes_no_letter(text: str) -> None:
    for spelled in (json.dumps(text), html.escape(text), urllib.parse.quote(text)):
        assert folded(spelled) in (folded(text), folded(f'"{text}'))


def test_places_that_touch_are_one() -> None:
    found = Folded("ab, cd: ef")
    assert found.text == "abcdef"
    marks = found.merged([(4, 6, False), (0, 2, True), (2, 3, False)])
    assert marks == [(0, 3, True), (4, 6, False)]
    assert [(each.start, each.end, each.size) for each in found.spans(marks)] == [
        (0, 5, 3),
        (8, 10, 2),
    ]
    assert [found.begins_word(at) for at in range(7)] == [1, 0, 1, 0, 1, 0, 1]
    assert (found.ends(re.compile(",")), found.starts(re.compile(":"))) == ({2}, {4})
