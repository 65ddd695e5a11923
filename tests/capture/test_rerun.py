import pytest

from llm_normalize.capture.rerun import differences, repair
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import DONE, chunk, completion, wire
from llm_normalize.wire.json_text import dumps

STREAM = Asked(stream=True)
OPENING = chunk({"role": "assistant", "content": ""})
CAME = wire(
    [OPENING, chunk({"role": None, "content": "Hi"}), chunk({}, finish="stop"), DONE]
)
LEFT = wire([OPENING, chunk({"content": "Hi"}), chunk({}, finish="stop"), DONE])


def test_body_is_repaired_by_its_status() -> None:
    body = dumps(completion({"role": "assistant", "content": None}))
    assert "content-null" in repair(body, Asked(), FIXES, is_stream=False).fixes
    error = repair(b'{"detail":"Busy"}', Asked(), FIXES, status=503, is_stream=False)
    assert b'"message":"Busy"' in error.out


def test_differences_are_reported_by_event_and_field() -> None:
    assert list(differences(CAME, LEFT)) == [
        "event 1: choices[0].delta.role: null → removed"
    ]
    assert list(differences(LEFT, LEFT[: -len(DONE)])) == [
        "event 3: event: data: [DONE] → removed"
    ]
    assert list(differences(LEFT[: -len(DONE)], LEFT)) == [
        "event 3: event: added data: [DONE]"
    ]
    assert list(differences(b'{"a":1}', b'{"a":2}', is_stream=False)) == ["a: 1 → 2"]


@pytest.mark.parametrize("at", range(0, len(LEFT), 37))
def test_beginning_of_an_answer_differs_nowhere(at: int) -> None:
    assert list(differences(LEFT[:at], LEFT, is_complete=False)) == []
