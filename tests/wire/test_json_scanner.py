import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import MOST, growth
from llm_normalize.wire.json_scanner import text_at, tokens


def found(text: str, *kinds: str) -> list[tuple[str, tuple[str | int, ...]]]:
    for each in tokens(text):
        assert text[each.start :].startswith(each.raw)
    wanted = kinds or ("string", "number")
    return [(each.raw, each.path) for each in tokens(text) if each.kind in wanted]


def words(text: str, *kinds: str) -> list[str]:
    return [raw for raw, _ in found(text, *kinds)]


def test_choices_and_calls_are_distinguished_by_their_index_wherever_it_stands() -> (
    None
):
    event = (
        'data: {"choices":[{"delta":{"tool_calls":[{"index":3,"id":"i"}]},"index":1}]}'
    )
    assert [path for raw, path in found(event) if raw == "i"] == [
        ("choices", "#1", "delta", "tool_calls", "#3", "id")
    ]
    assert found('{"choices":[{"text":"t"}]}') == [("t", ("choices", 0, "text"))]


def test_body_may_span_lines() -> None:
    assert found('{\n "a": {\n\n  "b": "x"\n }\n}') == [("x", ("a", "b"))]


def test_comments_and_ids_are_distinguished() -> None:
    stream = ': say "hello"\nid: 5\nretry: 7\nevent: x\ndata: [done]\n\n'
    assert words(stream, "comment") == [' say "hello"']
    assert words(stream, "id") == ["5"]
    assert words(stream, "plain", "string", "number") == []


@given(st.text(alphabet='{}[],:"\\ a1\n', max_size=60))
def test_any_text_can_be_scanned(text: str) -> None:
    found(text)
    found(f"data: {text}")


def test_nothing_takes_longer_the_longer_it_is() -> None:
    def scan(text: str) -> None:
        list(tokens(text))

    for make in (
        lambda n: "[" * n + '"x"' * n,
        lambda n: '{"a":"' + '\\"' * n,
        lambda n: '"' * n,
        lambda n: 'data: {"a":x}\n\n' * n,
    ):
        assert growth(make, scan, 2_000) < MOST


@pytest.mark.parametrize(
    ("text", "key", "raw"),
    [
        (' { "b" : {"a":"no"} , "a" : "x\\"y" , "c', "a", 'x\\"y'),
        ('{"a":"first","a":"second"}', "a", "first"),
        ('{"\\u0061":"x"}', "a", "x"),
        ('{"a":1}', "a", None),
        ('{"b":[1,' + "1" * 5000 + ',1e5],"a":"x"}', "a", "x"),
        ('{"b":1}', "a", None),
        ('{"b"', "a", None),
        ('{"b":', "a", None),
        ("{b", "a", None),
        ("[]", "a", None),
        ("", "a", None),
        ('{"b":' + "[" * 100_000, "a", None),
    ],
    ids=range(12),
)
def test_text_at_a_key_is_found(text: str, key: str, raw: str | None) -> None:
    place = text_at(text, key)
    assert (place and text[place[0] : place[1]]) == raw
