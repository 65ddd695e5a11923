from typing import Any

import pytest

from llm_normalize.chat.errors.chunk_errors import errors_in, is_error, take_errors
from llm_normalize.chat.errors.failed_body import fails_instead, tells_only_failure

SPIKE = {
    "faultstring": "Spike arrest violation. Allowed rate : 10ps",
    "detail": {"errorcode": "policies.ratelimit.SpikeArrestViolation"},
}
UNSIGNED = {"Error": {"Code": "AuthFailure.SecretIdNotFound", "Message": "No id"}}


@pytest.mark.parametrize(
    "value",
    [
        {"error": "no"},
        {"error": {"message": "no"}, "choices": []},
        {"error": "no", "choices": [{"message": {"role": "assistant", "content": ""}}]},
        {"error": "no", "choices": [None]},
        [{"error": {"message": "no"}}],
        {"message": "no"},
        {"message": "no", "choices": None},
        {"message": "no", "status": "failed"},
        {"message": "no", "status": ["failed"]},
        {"error_message": "no", "error_code": 7},
        {"ok": False, "reason": "no"},
        {"err": "no"},
        {"success": 0, "msg": "no"},
        {"success": "false", "msg": "no"},
        {"ResponseMetadata": {"RequestId": "r", **UNSIGNED}},
        {"Response": UNSIGNED},
        {"fault": SPIKE},
        {"result": {"error": "no"}},
        {"result": {"errors": ["no"]}},
        {"header": {"code": 11200, "message": "no"}},
        {"code": 500, "message": "no", "data": {"trace": "x"}},
    ],
)
def test_a_body_with_words_and_no_answer_tells_only_failure(value: Any) -> None:
    assert tells_only_failure(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "no",
        [],
        {},
        [[{"error": "no"}]],
        [{"error": "no"}, {"error": "no"}],
        {"id": "x", "object": "chat.completion"},
        {"object": "chat.completion", "message": "x"},
        {"error": "no", "choices": [{"message": {"content": "Hi"}}]},
        {"error": "no", "choices": [{"delta": {"content": "Hi"}}]},
        {"message": {"role": "assistant", "content": "Hi"}},
        {"message": {"content": "Hi"}},
        {"choices": [{"text": "Hi"}], "message": "x"},
        {"output": {"text": "Hi"}, "message": "x"},
        {"data": {"choices": []}, "code": 200, "message": "x"},
        {"data": {"choices": []}, "code": 1, "message": "success"},
        {"result": {"response": "Hi"}, "success": True},
        {"result": "Hi", "message": "x"},
        {"Response": {"Choices": []}, "message": "x"},
        {"status": "ok"},
        {"status": "ok", "message": "x"},
        {"status": "queued", "message": "please wait"},
        {"status": 200, "message": "x"},
        {"success": True, "message": "x"},
        {"success": 1, "msg": "x"},
        {"ok": True, "reason": "x"},
        {"message": " OK "},
        {"err": 0},
        {"message": 7},
        {"title": "A page"},
        {"ok": False},
        {"base_resp": {"status_code": 0, "status_msg": "success"}},
        {"header": {"code": 0, "message": "Success"}, "payload": {}},
    ],
)
def test_a_body_that_may_be_an_answer_is_no_failure(value: Any) -> None:
    assert not tells_only_failure(value)


@pytest.mark.parametrize("key", ["error", "detail", "errors", "result", "message"])
def test_depth_is_bounded(key: str) -> None:
    deep: Any = "no"
    for _ in range(400):
        deep = {key: [deep]}
    assert tells_only_failure(deep) is (key in ("error", "errors", "detail"))


USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


@pytest.mark.parametrize(
    ("value", "before", "after"),
    [
        ({"choices": [], "message": "Model is loading", "type": "queue"}, False, True),
        ({"choices": [], "success": False}, True, True),
        ({"choices": [], "status": 503, "note": "x"}, True, True),
        ({"choices": [], "usage": USAGE, "success": False}, False, False),
        ({"choices": [], "message": "ok", "code": "Success"}, False, False),
        ({"choices": [{"index": 0}], "success": False}, False, False),
        ([], False, False),
    ],
)
def test_event_without_choices_may_be_a_notice(
    value: Any, before: bool, after: bool
) -> None:
    assert fails_instead(value, has_begun=False) is before
    assert fails_instead(value, has_begun=True) is after


def test_usage_and_words_of_success_are_no_error() -> None:
    last: dict[str, Any] = {"choices": [], "usage": USAGE, "message": "ok"}
    assert not is_error({**last, "code": "Success"})
    assert not is_error({**last, "code": 10000, "message": "queued up"})
    assert is_error({**last, "errors": ["no"]})
    assert is_error({"choices": [], "message": "no", "code": 10000})
    quiet = {"choices": [{"index": 0, "delta": {}}], "object": "chat.completion.chunk"}
    assert errors_in({**quiet, "code": 10000, "message": "success"}) == []
    assert errors_in({**quiet, "code": 10000, "message": "no"})


def test_words_beside_an_error_are_not_lost() -> None:
    beside: dict[str, Any] = {
        "choices": [{"index": 0, "delta": {"content": "x"}}],
        "error": {"message": "bad"},
        "detail": "try later",
    }
    assert take_errors(beside) == [{"message": "bad"}]
    assert beside["detail"] == "try later"
    bare: dict[str, Any] = {
        "choices": [{"index": 0, "delta": {}}],
        "error": {"code": 502},
        "message": "Upstream overloaded",
    }
    assert take_errors(bare) == [{"code": 502, "message": "Upstream overloaded"}]
    assert "message" not in bare
