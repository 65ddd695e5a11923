from typing import Any

import pytest

from llm_normalize.failure import tells_only_failure

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
