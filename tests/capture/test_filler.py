import re

from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.capture.filler import Arguments, Filler, chars_of


def filled(raw: str, place: int = 0, of: str = "") -> str:
    return Filler().of(chars_of(raw), place, of)


def test_letters_stay_what_they_are_and_keep_their_length() -> None:
    out = filled("Ab9ä水\U0001d41a-:! ")
    assert re.fullmatch(r"[A-Z][a-z]\d[à-ö][一-丟][𠀀-𠀏]-:! ", out)


def test_place_decides_and_a_name_if_there_is_one() -> None:
    filler = Filler()
    text = list("abcabcabcabc")
    assert filler.of(text, 0) == filler.of(text, 0)
    assert filler.of(text, 0)[:5] == filler.of(text[:5], 0)
    assert filler.of(text, 0)[3:] == filler.of(text[3:], 3)
    assert filler.of(text, 0) != filler.of(text, 0, "name")
    assert filler.of(text, 0, "one") != filler.of(text, 0, "other")
    assert filler.of(text, 0) != Filler().of(text, 0)


def test_tags_and_what_is_kept_stay() -> None:
    assert re.fullmatch(
        "<think>[A-Z]{2}</think>[A-Z]{2}", filled("<think>AB</think>CD")
    )
    assert Filler().of(list("abc"), 0, unchanged=[1])[1] == "b"


@given(st.text())
def test_any_text_keeps_its_length(text: str) -> None:
    out = filled(text)
    assert len(out) == len(text)
    assert len(out.encode(errors="surrogatepass")) == len(
        text.encode(errors="surrogatepass")
    )


def test_arguments_keep_literals_numbers_and_marks() -> None:
    chars = list('{"ab":true,"c":[12,null],x:false,trump}')
    kept = {*Arguments().of(chars)}
    shown = "".join(char if at in kept else "_" for at, char in enumerate(chars))
    assert shown == '{"__":true,"_":[11,null],_:false,tru__}'


def test_arguments_go_on_from_fragment_to_fragment() -> None:
    state = Arguments()
    shown = ""
    for fragment in ('{"a', 'b":t', 'rue,"c":"\\\\', '"d\\\\u00', '41e"}'):
        chars = chars_of(fragment)
        kept = {*state.of(chars)}
        shown += "".join(char if at in kept else "_" for at, char in enumerate(chars))
    assert shown == '{"__":true,"_":"\\\\"_\\\\u0041_"}'
