"""Failures: before an answer, in its midst, and in its place."""

from collections.abc import Iterator

from clients.families.shapes import (
    WHOLE,
    Answer,
    Family,
    Json,
    after_words,
    around,
    chunk,
    data,
    dumps,
    error,
    error_of,
    whole,
)

INVALID = "invalid_request_error"
BUSY = "All workers are taken"


def completed(said: Json) -> Json:
    """Return an error with all keys; those that it had stay in their order."""
    return {**said, "code": str(said["code"]), "type": None, "param": None}


def families() -> Iterator[Family]:
    yield from nim()
    yield from of_others()
    yield from not_json()
    yield from under_200()
    yield from in_streams()


def nim() -> Iterator[Family]:
    detail = "Function '0f3a': Not found for account 'a9'"
    problem = {"status": 404, "title": "Not Found", "detail": detail}
    lost = error(404, f"Not Found: {detail}", INVALID)
    yield Family("nim-error-404", whole(problem, 404), lost)
    yield Family("nim-error-404-body", whole(problem, 404), lost, WHOLE)
    yield Family(
        "nim-error-429",
        whole({"status": 429, "title": "Too Many Requests"}, 429),
        error(429, "Too Many Requests", "rate_limit_error"),
    )
    words = "ResourceExhausted: all 8 places of the worker are taken"
    said = {"message": words, "type": "Service Unavailable", "code": 503}
    yield Family(
        "nim-error-503",
        whole({"error": said}, 503),
        whole({"error": {**said, "code": "503", "param": None}}, 503),
    )
    refused = "[{'type': 'extra_forbidden', 'loc': ('body', 'seed')}]"
    yield Family(
        "nim-error-string",
        whole({"error": refused}, 400),
        error(400, refused, INVALID),
    )
    yield Family(
        "nim-error-flat",
        whole(
            {"message": "No place", "type": "internal_server_error", "code": 500}, 500
        ),
        error(500, "No place", "internal_server_error", "500"),
    )


def of_others() -> Iterator[Family]:
    """Yield refusals as other servers write them."""
    yield Family(
        "chatglm-error",
        whole({"detail": "invalid history size"}, 400),
        error(400, "invalid history size", INVALID),
    )
    place = {"type": "missing", "loc": ["body", "messages"], "msg": "Field required"}
    yield Family(
        "fastapi-error",
        whole({"detail": [place]}, 422),
        whole(
            {**error_of("body.messages: Field required", INVALID), "detail": [place]},
            422,
        ),
    )


def not_json() -> Iterator[Family]:
    plain = "text/plain; charset=utf-8"
    yield Family(
        "nim-error-404-plain",
        Answer((b"404 page not found\n",), 404, plain),
        error(404, "404 page not found", INVALID),
    )
    page = b"<html><head><title>502 Bad Gateway</title></head><body>gate</body></html>"
    yield Family(
        "gateway-error-page",
        Answer((page,), 502, "text/html"),
        error(502, "502 Bad Gateway gate", "server_error"),
    )


def under_200() -> Iterator[Family]:
    """Yield failures that come as a success."""
    failed = {"error": {"message": "Provider failed", "code": 502}}
    yield Family(
        "error-under-200-body",
        whole(failed),
        whole({"error": completed(failed["error"])}, 502),
        WHOLE,
    )
    yield Family(
        "error-under-200",
        whole(failed),
        whole({"error": completed(failed["error"])}, 502),
    )
    upstream = [{"code": 7009, "message": "Upstream is away"}]
    cloudflare = {"result": None, "success": False, "errors": upstream, "messages": []}
    yield Family(
        "workers-ai-error-body",
        whole(cloudflare),
        whole(
            {
                **error_of("Upstream is away", "server_error", "7009"),
                "errors": upstream,
            },
            500,
        ),
        WHOLE,
    )
    poor = {"status_code": 1008, "status_msg": "insufficient balance"}
    yield Family(
        "minimax-error-body",
        whole({"id": "0f", "choices": None, "base_resp": poor}),
        error(402, "insufficient balance", "invalid_request_error", "1008"),
        WHOLE,
    )


def in_streams() -> Iterator[Family]:
    """Yield failures after the first words."""
    nim_said = {
        "object": "error",
        "message": BUSY,
        "type": "internal_server_error",
        "param": None,
        "code": 500,
    }
    kind = "internal_server_error"
    yield Family(
        "nim-error-in-stream",
        after_words(data({"error": nim_said})),
        after_words(data({"error": {**nim_said, "code": "500"}})),
    )
    bare = after_words(data(error_of(BUSY, "server_error")))
    yield Family("error-string-in-stream", after_words(data({"error": BUSY})), bare)
    yield Family(
        "error-flat-in-stream",
        after_words(data({"message": BUSY, "type": kind, "code": 500})),
        after_words(data(error_of(BUSY, kind, "500"))),
    )
    said = {"message": BUSY, "code": 502}
    reported = after_words(data({"error": completed(said)}))
    yield Family(
        "error-without-choices-in-stream",
        after_words(data(around([], error=said))),
        reported,
    )
    yield Family(
        "openrouter-error-in-stream",
        after_words(
            data(chunk({"role": "assistant", "content": ""}, "error", error=said))
        ),
        reported,
    )
    yield Family(
        "error-event",
        after_words(b"event: error\n" + data({"error": said})),
        reported,
    )
    yield Family(
        "error-line",
        after_words(b"error: " + dumps(said) + b"\n\n"),
        reported,
    )
