from hypothesis import given
from hypothesis import strategies as st

from growth import MOST, growth
from llm_normalize.scanner import plain_lines, texts


def found(text: str) -> list[tuple[str, tuple[str | int, ...]]]:
    for each in texts(text):
        assert text[each.start :].startswith(each.raw)
    return [(each.raw, each.path) for each in texts(text)]


def test_strings_and_numbers_are_found_with_their_path() -> None:
    assert found('data: {"a":[1.5,{"b c":"x\\"y"},["z"]],"d":null,"e":true}\n\n') == [
        ("1.5", ("a", 0)),
        ('x\\"y', ("a", 1, "b c")),
        ("z", ("a", 2, 0)),
    ]


def test_choices_and_calls_are_told_by_their_index_wherever_it_stands() -> None:
    event = (
        'data: {"choices":[{"delta":{"tool_calls":[{"index":3,"id":"i"}]},"index":1}]}'
    )
    assert [path for raw, path in found(event) if raw == "i"] == [
        ("choices", "#1", "delta", "tool_calls", "#3", "id")
    ]
    assert found('{"choices":[{"text":"t"}]}') == [("t", ("choices", 0, "text"))]


def test_each_event_begins_anew() -> None:
    assert found('data: {"a":{"b":"cut\n\ndata: {"c":"x"}\r\n\r\n') == [("x", ("c",))]
    assert found('data: {"a":"x"}data: {"b":"y"}') == [("x", ("a",)), ("y", ("b",))]


def test_body_may_span_lines() -> None:
    assert found('{\n "a": {\n\n  "b": "x"\n }\n}') == [("x", ("a", "b"))]


def test_words_outside_of_json_are_no_strings() -> None:
    assert found(': say "hello", 5\n\n"x"\n') == []


def test_plain_lines_are_what_is_no_json() -> None:
    stream = 'event: error\ndata: Busy now\n\n: "x"\nid: 1\n\ndata: [DONE]\n\ndata: {"a":1}\n\n'
    assert [line for _, line in plain_lines(stream)] == ["Busy now"]
    page = "<h1>Bad gateway</h1>\nTry later\n"
    lines = list(plain_lines(page))
    assert [line for _, line in lines] == ["<h1>Bad gateway</h1>", "Try later"]
    assert all(page[start:].startswith(line) for start, line in lines)


@given(st.text(alphabet='{}[],:"\\ a1\n', max_size=60))
def test_any_text_can_be_scanned(text: str) -> None:
    found(text)
    found(f"data: {text}")
    list(plain_lines(text))


def test_deep_nesting_takes_no_longer_for_each_level() -> None:
    assert growth(lambda n: "[" * n + '"x"' * n, lambda t: list(texts(t)), 2_000) < MOST
