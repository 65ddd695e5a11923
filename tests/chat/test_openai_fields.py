from llm_normalize.chat.chunks.openai_fields import (
    CALL,
    CHOICE,
    FUNCTION,
    MESSAGE,
    TOP,
    USAGE,
    parts,
)
from llm_normalize.repair.fix import chunk, completion, head


def test_parts_are_the_top_each_choice_and_its_delta() -> None:
    made = chunk({"content": "Hi"})
    choice = made["choices"][0]
    assert list(parts(made)) == [
        (made, TOP),
        (choice, CHOICE),
        (choice["delta"], MESSAGE),
    ]


def test_parts_of_a_body_are_its_messages() -> None:
    made = completion({"content": "Hi", "tool_calls": [head()]})
    assert [known for _, known in parts(made)] == [
        TOP,
        USAGE,
        CHOICE,
        MESSAGE,
        CALL,
        FUNCTION,
    ]


def test_what_is_no_object_is_no_part() -> None:
    made = {"choices": [{"delta": None}]}
    assert [known for _, known in parts(made)] == [TOP, CHOICE]
