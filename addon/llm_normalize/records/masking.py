"""Blocks as text for the log, without what a provider echoes of the request."""

import json
import re
from collections.abc import Iterable
from typing import Any

from ..text.echo import ECHO_FIELD, ECHO_KEYS, MASK, Echo

_MASK = rf"\1: {MASK}"
_DECODER = json.JSONDecoder()
_ECHO = re.compile(rf"({ECHO_FIELD})\s*:\s*.*|\binput_value=.*", re.DOTALL)
# What an answer has, whosever form it is in; what only an error has.
_ANSWER = (
    "choices", "response", "output", "data", "content", "text", "delta", "candidates",
    "completion", "generated_text", "tool_calls", "result", "usage",
)  # fmt: skip
_FAILED = (
    "error", "errors", "detail", "msg", "err", "error_msg", "error_message",
    "error_code", "fault",
)  # fmt: skip
_FINE = (None, 0, 200, "", "0", "200")
# Of a chunk: what the model says, and what every chunk has.
_ANSWER_KEYS = frozenset(("delta", "message", "text", "logprobs", "index"))
_ENVELOPE = frozenset((
    "id", "object", "created", "model", "usage", "system_fingerprint", "service_tier",
))  # fmt: skip
# Of a `response` object, which repeats most of its request: what is the answer's own.
_RESPONSE = frozenset((
    "id", "object", "created_at", "completed_at", "status", "model", "output", "usage",
    "error", "incomplete_details",
))  # fmt: skip
_REASON = 20  # characters of a finish reason


def text_of(block: bytes) -> str:
    r"""*block* as text; of one that is not UTF-8, other bytes as `\xNN`."""
    try:
        return block.decode()
    except UnicodeDecodeError:
        return block.replace(b"\\", b"\\\\").decode(errors="backslashreplace")


SHORTEST_ECHO = len("input_value")
"""Characters that a text without quotes has at least if it repeats a field."""


def is_clean(text: str, secrets: Iterable[str] = ()) -> bool:
    """Tell whether *text* surely has nothing to mask, sooner than `mask` can."""
    if ('"' in text or "'" in text or "input_value" in text) and (
        "input" in text
        or "request" in text
        or "body" in text
        or "ctx" in text
        or "url" in text
    ):  # each of ECHO_KEYS has one of these in it
        return False
    for secret in secrets:  # noqa: SIM110 - a third of what `any` takes
        if secret in text:
            return False
    return True


def is_chunk(text: str) -> bool:
    """Tell whether *text* surely is a chunk without an error, sooner than `mask` can."""
    return (
        '"choices"' in text
        and "rror" not in text
        and '"detail' not in text
        and '"msg"' not in text
        and '"message":"' not in text
    )


def mask(
    text: str,
    secrets: Iterable[str] = (),
    echo: Echo | None = None,
    *,
    is_error: bool = False,
) -> str:
    """Return *text* without what a provider echoes of the request.

    Args:
        text: An event or a body, as it goes into the log.
        secrets: Strings of the request that must not be there, such as its key.
        echo: Finds all strings of the request. A model's text may repeat them.
        is_error: Whether the answer's status says that it is an error.
    """
    for secret in secrets:
        text = text.replace(secret, MASK)
    if echo is None and not _ECHO.search(text):
        return text
    out = []
    at = 0  # what is before it is in `out`: a copy of the rest each time is quadratic
    while (start := text.find("{", at)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
            spelled = _object(text[start:end], value, echo, is_error=is_error)
        except (ValueError, RecursionError):
            break
        out += [_hidden(text[at:start], echo), spelled]
        at = end
    return "".join(out) + _hidden(_ECHO.sub(_MASK, text[at:]), echo)


def _hidden(text: str, echo: Echo | None) -> str:
    return text if echo is None else echo.hidden(text)


def _object(
    text: str, value: dict[str, Any], echo: Echo | None, *, is_error: bool
) -> str:
    """Return *text*, which is the object *value*, without what it echoes."""
    if "response" in value or "object" in value:
        own = _without_request(value)
        value, text = own, text if own == value else _spelled(own)
    if "choices" in value and not is_error:
        # Whatever a model says, only what stands around it is an echo.
        masked = _around(value, echo)
        return text if masked == value else _spelled(masked)
    if echo is None:
        return _spelled(_masked(value))
    if _is_answer(value) and not is_error:
        return text
    masked = _masked(value)
    return echo.hidden(text if masked == value else _spelled(masked))


def _without_request(value: dict[str, Any]) -> dict[str, Any]:
    """An event or a body of the Responses API without its request's fields."""
    inside = value.get("response")
    if isinstance(inside, dict):
        return {**value, "response": _without_request(inside)}
    if value.get("object") != "response":
        return value
    return {
        key: MASK if _may_echo(each) and key not in _RESPONSE else each
        for key, each in value.items()
    }


def _may_echo(value: Any) -> bool:
    return bool(value) and isinstance(value, str | list | dict)


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_answer(value: dict[str, Any]) -> bool:
    kind = " ".join(
        str(value.get(key)) for key in ("type", "object", "event", "status")
    )
    if (
        any(value.get(key) for key in _FAILED)
        or value.get("success") is False
        or value.get("code") not in _FINE
        or re.search("error|fail", kind, re.IGNORECASE)
    ):
        return False
    message = value.get("message")
    return isinstance(message, dict) or any(value.get(key) for key in _ANSWER)


def _around(chunk: dict[str, Any], echo: Echo | None) -> dict[str, Any]:
    """Return *chunk* without what stands around the model's words and is an echo."""
    found = dict(chunk)
    for key in found.keys() - _ENVELOPE:
        if key != "choices":
            found[key] = _value(found[key], echo, is_error=key == "error")
    if isinstance(chunk["choices"], list):
        found["choices"] = [_choice(each, echo) for each in chunk["choices"]]
    return found


def _choice(choice: Any, echo: Echo | None) -> Any:
    if not isinstance(choice, dict):
        return choice
    return {
        key: each
        if key in _ANSWER_KEYS or (key == "finish_reason" and len(str(each)) <= _REASON)
        else _value(each, echo, is_error=key == "error")
        for key, each in choice.items()
    }


def _value(value: Any, echo: Echo | None, *, is_error: bool) -> Any:
    """Return a part of a chunk without what it echoes."""
    value = _masked(value) if is_error else value
    if echo is None or not isinstance(value, str | list | dict):
        return value
    try:
        return json.loads(echo.hidden(_spelled(value)))
    except ValueError:
        return MASK


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: MASK if key in ECHO_KEYS else _masked(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if isinstance(value, str):
        return _ECHO.sub(_MASK, value)
    return value
