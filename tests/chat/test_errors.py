from typing import Any

import pytest

from llm_normalize.chat.errors.errors import (
    code_of,
    kind_of,
    message_of,
    phrase,
    status_of,
    text_of,
    words_of,
    words_of_page,
    wrapped,
)

SPIKE = {
    "faultstring": "Spike arrest violation. Allowed rate : 10ps",
    "detail": {"errorcode": "policies.ratelimit.SpikeArrestViolation"},
}
UNSIGNED = {"Error": {"Code": "AuthFailure.SecretIdNotFound", "Message": "No id"}}


def test_wrapped_error_has_the_four_keys_in_openais_order() -> None:
    assert list(wrapped("m", "t", None, "c")["error"].items()) == [
        ("message", "m"),
        ("type", "t"),
        ("param", None),
        ("code", "c"),
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"title": "Not Found", "detail": "No f-1"}, "Not Found: No f-1"),
        ({"title": "Busy", "detail": "Busy"}, "Busy"),
        ({"detail": [{"loc": ["body", 0], "msg": "no", "input": "x"}]}, "body.0: no"),
        ({"errors": [{"code": 7}]}, '{"code":7}'),
        ({"base_resp": {"status_code": 1008, "status_msg": "no tea"}}, "no tea"),
        ({"error": "Loading", "requestId": "r-1"}, "Loading (request r-1)"),
        ({"message": "No", "request_id": 7}, "No (request 7)"),
        ({}, "Service Unavailable"),
        ({"errors": [{"message": "no"}, {"message": "nor that"}]}, "no; nor that"),
        ({"reason": "quota"}, "quota"),
        ({"err": "no"}, "no"),
        ({"fault": SPIKE}, SPIKE["faultstring"]),
        ({"Response": {**UNSIGNED, "RequestId": "r"}}, "No id"),
        ({"ResponseMetadata": {"RequestId": "r"}, "message": "no"}, "no"),
        ({"result": {"error": {"message": "no"}}}, "no"),
        ({"header": {"code": 11200, "message": "no", "sid": "s"}}, "no"),
        ({"fault": {"code": 7}}, '{"fault":{"code":7}}'),
    ],
)
def test_message_keeps_the_providers_words(body: dict[str, object], words: str) -> None:
    assert message_of(body, 503) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), ("", None), ([], None), ({}, None), (0, "0"), ("x", "x"), (5, "5")],
)
def test_value_as_text(value: object, text: str | None) -> None:
    assert text_of(value) == text


def test_phrase_of_a_status_that_http_does_not_know() -> None:
    assert phrase(404) == "Not Found"
    assert phrase(599) == "HTTP status 599"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (429, "rate_limit_error"),
        (499, "invalid_request_error"),
        (500, "server_error"),
        (599, "server_error"),
    ],
)
def test_kind_follows_the_status(status: int, kind: str) -> None:
    assert kind_of(status) == kind


def test_words_of_a_page_are_what_it_shows() -> None:
    page = """<!DOCTYPE html><html><head><style>b{}</style><title>502 Bad&nbsp;Gateway
    </title><script>x = "<b>"</script></head><body><!-- no --><h1>Oops</h1></body>"""
    assert words_of_page(page) == "502 Bad Gateway Oops"
    assert len(words_of_page("<p>" + "x" * 9000)) == 2000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"code": 502, "message": "x"}}, 502),
        ({"error": {"code": "429"}}, 429),
        ({"error": "x", "status": 404}, 404),
        ({"error": {"code": 200}}, 500),
        ({"error": {"type": "invalid_request_error"}}, 400),
        ({"error": {"code": "rate_limit_exceeded"}}, 429),
        ({"error": {"code": "model_not_found"}}, 404),
        ({"error": {"type": "authentication_error"}}, 401),
        ({"error": {"type": "overloaded_error"}}, 503),
        ({"error": "Unexpected endpoint"}, 500),
        ({"error": "No credits left"}, 402),
        ({"error": {"code": "429", "message": "not found"}}, 429),
        ({"status": "449", "msg": "You exceeded your rate limit"}, 429),
        ({"success": False, "errors": [{"message": "Authentication error"}]}, 401),
        ({"errors": [{"code": 7009, "message": "Service unavailable"}]}, 503),
        ({"base_resp": {"status_code": 1008, "status_msg": "?"}}, 402),
        ({"base_resp": {"status_code": 1000, "status_msg": "time out"}}, 504),
        ({"base_resp": {"status_code": 1000, "status_msg": "?"}}, 500),
        ({"status": "439", "msg": "Your API Token has expired."}, 401),
        ({"msg": "The token is expired"}, 401),
        ({"error": {"code": "1002", "message": "?"}}, 401),
        ({"error": {"code": "1113", "message": "insufficient balance"}}, 429),
        ({"error": {"code": "1211", "message": "?"}}, 404),
        ({"error": {"code": "1214", "message": "?"}}, 400),
        ({"error": {"code": "1301", "message": "?"}}, 400),
        ({"error": {"code": "1308", "message": "?"}}, 429),
        ({"error": {"code": 1211, "message": "?"}}, 500),
        ({"error": [{"code": 2009, "message": "Unauthorized"}]}, 401),
        ({"error": [{"code": 404, "message": "?"}]}, 404),
        ({"errors": [{"code": 404, "message": "?"}]}, 404),
        ({"fault": SPIKE}, 429),
        ({"Response": UNSIGNED}, 401),
        ({"result": {"error": {"message": "?", "code": 503}}}, 503),
        ({"header": {"code": 11200, "message": "AppIdNoAuthError"}}, 401),
        # by the code of the provider's own
        ({"success": False, "errors": [{"code": 3036, "message": "used up"}]}, 429),
        ({"success": False, "errors": {"code": 5006, "message": "Bad input"}}, 400),
        ({"success": False, "errors": [{"message": "AiError: 3007: late"}]}, 408),
        ({"success": False, "errors": [{"code": 1, "message": "not found"}]}, 404),
        ({"errors": [{"code": 3036, "message": "used up"}]}, 500),
        ({"name": "E", "internalCode": 5006, "httpCode": 400, "message": "no"}, 400),
    ],
)
def test_status_is_what_the_error_tells(body: dict[str, Any], status: int) -> None:
    assert status_of(body) == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"code": 5}, 5),
        ({"errors": [{"code": 7009}], "success": False}, 7009),
        ({"base_resp": {"status_code": 1008}}, 1008),
        ({"errors": "x"}, None),
        ({"error": [{"code": 2009, "message": "no"}]}, 2009),
        ({"fault": SPIKE}, "policies.ratelimit.SpikeArrestViolation"),
        ({"Response": UNSIGNED}, "AuthFailure.SecretIdNotFound"),
    ],
)
def test_code_of_a_flat_error(body: dict[str, Any], code: object) -> None:
    assert code_of(body) == code


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (SPIKE, SPIKE["faultstring"]),
        ({"detail": {"at": 7}}, '{"detail":{"at":7}}'),
        ([{"detail": {"at": 7}}, None, {"msg": "no"}], '{"detail":{"at":7}}; no'),
        ({"errors": [{"at": 7}, {"msg": "no"}]}, "no"),
        ([], None),
        ({}, None),
    ],
)
def test_words_go_before_json(value: Any, words: str | None) -> None:
    assert words_of(value) == words


@pytest.mark.parametrize("key", ["error", "detail", "errors", "result", "message"])
def test_depth_costs_no_error_its_status(key: str) -> None:
    deep: Any = "no"
    for _ in range(400):
        deep = {key: [deep]}
    assert status_of(deep) == 500
