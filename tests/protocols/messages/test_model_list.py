from typing import Any

import pytest

from llm_normalize.protocols.messages.model_list import model_list
from llm_normalize.wire.json_text import Number

EPOCH = "1970-01-01T00:00:00Z"


def model(name: str) -> Any:
    return {"type": "model", "id": name, "display_name": name, "created_at": EPOCH}


def test_models_are_on_one_page() -> None:
    given = [
        {"id": "a/b", "object": "model", "created": 1_760_000_000, "owned_by": "x"},
        {"id": "c", "name": "C"},
    ]
    assert model_list({"object": "list", "data": given}) == {
        "data": [
            {**model("a/b"), "created_at": "2025-10-09T08:53:20Z"},
            {**model("c"), "display_name": "C"},
        ],
        "has_more": False,
        "first_id": "a/b",
        "last_id": "c",
    }


@pytest.mark.parametrize(
    "body", [{}, {"data": []}, {"data": {}}, {"data": ["x", {"id": ""}, {"id": 5}]}]
)
def test_no_models(body: Any) -> None:
    ids = {"first_id": None, "last_id": None}
    assert model_list(body) == {"data": [], "has_more": False, **ids}


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        (Number("1760000000.5"), "2025-10-09T08:53:20Z"),
        (1_760_000_000_000, EPOCH),
        (-5, EPOCH),
        (0, EPOCH),
        ("x", EPOCH),
        (None, EPOCH),
        (Number("1e400"), EPOCH),
    ],
)
def test_time(created: Any, expected: str) -> None:
    (found,) = model_list({"data": [{"id": "a", "created": created}]})["data"]
    assert found["created_at"] == expected


def test_a_name_that_is_no_text_is_not_shown() -> None:
    (found,) = model_list({"data": [{"id": "a", "display_name": 5}]})["data"]
    assert found["display_name"] == "a"


def test_one_model_has_the_same_form() -> None:
    assert model_list({"id": "c", "object": "model"}) == model("c")
