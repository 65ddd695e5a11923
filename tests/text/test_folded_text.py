import base64
import html
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.text.folded_text import Folded, folded, may_pack, places_of

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
    (r"\u{61}\u{1F600} \U00000062 \U00110000", "a😀😀b\ufffd\ufffd"),
    ("a%2562%25252563%2", "abc2"),
    ("\uff57\uff49\uff44\uff45\uff0d\uff17", "wide7"),
]


@pytest.mark.parametrize(("text", "letters"), SPELLED)
def test_letters_of_a_text_however_it_is_spelled(text: str, letters: str) -> None:
    assert folded(text) == letters
    assert Folded(text).text == letters


KEY = "nvapi-canary+4711"


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        KEY.upper(),
        KEY.replace("-", "%2D"),
        KEY.replace("+", "%25252B"),
        KEY.replace("-", r"\u002d"),
        KEY.replace("-", "&#45;"),
        KEY.encode().hex(),
        KEY.encode().hex(" ").upper(),
        base64.b64encode(KEY.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(f"Bearer {KEY}".encode()).decode(),
        base64.b64encode(f"{{'key': {KEY!r}}}".encode()).decode(),
    ],
)
def test_places_of_a_secret_however_it_is_spelled(spelled: str) -> None:
    text = f"key '{spelled}', no?"
    ((start, end),) = places_of(KEY, text)
    assert text[start:end] == spelled
    assert places_of(KEY, text.replace(spelled[len(spelled) // 2 :], "")) == []


@given(st.text(st.characters(codec="ascii", exclude_characters="\\\\%&<"), max_size=60))
def test_a_spelling_changes_no_letter(text: str) -> None:
    for spelled in (json.dumps(text), html.escape(text), urllib.parse.quote(text)):
        assert folded(spelled) in (folded(text), folded(f'"{text}'))


def test_secret_is_found_quickly_in_what_packs_it() -> None:
    for before in ("", "a", "ab", "Bearer "):
        data = f"{before}{KEY}, no".encode()
        for packed in (
            base64.b64encode(data).decode(),
            base64.urlsafe_b64encode(data).decode(),
            data.hex(),
            data.hex(":").upper(),
        ):
            assert may_pack(f"key {packed}", KEY)
            assert not may_pack(f"key {packed[:-20]}", KEY)
