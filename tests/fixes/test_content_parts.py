import pytest

from llm_normalize.fixes.delta.content_parts import join_parts


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ([], ("", "", [])),
        (["Hi", {"type": "text", "text": "!"}], ("Hi!", "", [])),
        ([{"text": "Hi"}], ("Hi", "", [])),
        ([{"type": "thinking", "thinking": "so"}], ("", "so", [])),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}],
            ("", "so", []),
        ),
        (
            [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]}],
            ("", "a", []),
        ),
        ([{"type": "thinking", "thinking": 7}], ("", "", [])),
        ([None, 7, {"type": "image"}], ("", "", [None, 7, {"type": "image"}])),
    ],
)
def test_parts_are_joined(parts: list[object], joined: tuple[object, ...]) -> None:
    assert join_parts(parts) == joined
