import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.chunks.chunk_shape import has_shape, keys_of, shape_of
from llm_normalize.repair.fix import calling, chunk, head, rest
from llm_normalize.wire.json_text import Json, Number, dumps, loads

TEXT = chunk({"content": "Hi"})


def delta(value: Json) -> Chunk:
    return chunk({"content": value})


def choice(**fields: Json) -> Chunk:
    return chunk({}, choice=fields)


def listed(*values: Json) -> Chunk:
    return {"found": [*values]}


ALIKE = {
    "words": (TEXT, chunk({"content": "Guten Tag"}, model="other")),
    "numbers": (choice(at=17), choice(at=4)),
    "spelled numbers": (choice(at=Number("1.50")), choice(at=Number("2e9"))),
    "words of a call": (calling(rest(0, "{")), calling(rest(0, '"a":1'))),
    "more of the same": (listed("a", "b"), listed("c", "d", "e")),
    "more numbers": (listed(1, 2), listed(3, 4, 5)),
    "more objects": (listed({"a": 1}, {"a": 2}), listed(*[{"a": 3}] * 9)),
}
DIFFERENT = {
    "order of keys": ({"a": "x", "b": "x"}, {"b": "x", "a": "x"}),
    "a key less": (TEXT, {key: TEXT[key] for key in TEXT if key != "id"}),
    "null": (delta(None), delta("")),
    "no text": (delta(""), delta("x")),
    "zero": (choice(at=0), choice(at=1)),
    "false": (choice(at=False), choice(at=0)),
    "true": (choice(at=True), choice(at=1)),
    "number with a point": (choice(at=Number("1.0")), choice(at=1)),
    "no keys": (delta({}), delta({"a": 1})),
    "no elements": (delta([]), delta({})),
    "index": (choice(index=1), choice(index=2)),
    "first index": (choice(index=0), choice(index=1)),
    "index that is true": (choice(index=True), choice(index=1)),
    "index that is a text": (choice(index="1"), choice(index=1)),
    "index of a call": (calling(rest(1)), calling(rest(2))),
    "empty text in a list": (delta([""]), delta(["x"])),
    "null in a list": (listed(None, "x"), listed("", "x")),
    "zero in a list": (listed(0), listed(1)),
    "no keys in a list": (listed({}), listed({"a": ""})),
    "one and several": (listed("a"), listed("a", "b")),
    "several kinds": (listed("a", 1), listed("a", "b")),
    "one object and several": (listed({"a": 1}), listed({"a": 1}, {"a": 1})),
    "list in a list": (listed(["a"]), listed("a")),
    "keys deep inside": (listed({"a": {"b": "x"}}), listed({"a": {"c": "x"}})),
}


@pytest.mark.parametrize("name", ALIKE)
def test_shape_is_the_same_whatever_the_words_and_numbers(name: str) -> None:
    one, other = ALIKE[name]
    assert shape_of(one) == shape_of(other)
    assert hash(shape_of(one)) == hash(shape_of(other))


@pytest.mark.parametrize("name", DIFFERENT)
def test_shape_tells_keys_and_kinds_apart(name: str) -> None:
    one, other = DIFFERENT[name]
    assert shape_of(one) != shape_of(other)


def test_shape_of_what_is_read_is_that_of_what_is_made() -> None:
    made = calling(head(0, "{"), rest(1))
    assert shape_of(loads(dumps(made))) == shape_of(made)


def test_keys_are_found_at_any_depth() -> None:
    found, filled = keys_of({"a": [{"b": None}, [{"c": {"d": ""}}]], "e": 0})
    assert found == {"a", "b", "c", "d", "e"}
    assert filled == {"a", "c", "d", "e"}
    assert keys_of("text") == (set(), set())


def test_nothing_is_in_an_empty_list_of_calls_alone() -> None:
    value: Chunk = {"tool_calls": [], "choices": []}
    assert keys_of(value) == ({"tool_calls", "choices"}, {"choices"})
    assert keys_of([value, {"tool_calls": [{}]}])[1] == {"choices", "tool_calls"}


def test_shape_of_a_large_chunk_is_kept_if_it_has_few_keys() -> None:
    many = dumps({f"key{at}": at for at in range(300)})
    assert has_shape(dumps(TEXT))
    assert has_shape(dumps(delta("word " * 1000)))
    assert not has_shape(dumps(delta("word " * 4000)))
    assert not has_shape(many)
    assert not has_shape(dumps(listed(*[[]] * 600)))
    assert has_shape(dumps(listed(*range(600))))


def test_a_number_that_a_fix_has_made_has_a_kind() -> None:
    assert shape_of({"logprob": 0.0}) == shape_of({"logprob": -9999.0})
