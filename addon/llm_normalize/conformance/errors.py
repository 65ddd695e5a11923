"""Errors in any of the shapes that providers use, read tolerantly."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .json_values import as_dict, as_list


@dataclass(frozen=True)
class Error:
    """One error: everything it says in words, and its code."""

    texts: tuple[str, ...]
    code: str = ""

    @property
    def message(self) -> str:
        """The words as one text."""
        return "; ".join(self.texts)


def error_in(value: dict[str, object]) -> Error | None:
    """Find the error in an object, in any of the shapes that providers use."""
    code: object
    texts: tuple[str, ...]
    error = value.get("error")
    status = as_dict(value.get("base_resp"))
    if error:
        inner = as_dict(error)
        code = inner.get("code", value.get("code"))
        texts = _error_texts(error, _IN_ERRORS) or tuple(leaves(error))
        texts += tuple(leaves(value.get("errors")))  # they stay beside it
    elif _tells_errors(value):
        several = value["errors"]
        first = next(filter(None, as_list(several)), several)
        code = as_dict(first).get("code")
        texts = _error_texts(several, _IN_ERRORS) or tuple(leaves(several))
    elif status.get("status_code") not in (0, None):
        code, texts = status["status_code"], _error_texts(status.get("status_msg"))
    elif not {"choices", "response", "result", "tool_calls", "usage"} & set(value):
        code, texts = value.get("code"), _error_texts(value)
    else:
        return None
    if not texts and not (error or _tells_errors(value)):
        return None  # of those, there has to be an error even without words
    is_code = isinstance(code, str | int) and not isinstance(code, bool)
    return Error(texts, "" if not is_code or code in _NONE else str(code))


_NONE = ("None", "null")  # as text


def _tells_errors(value: dict[str, object]) -> bool:
    """Say whether `errors` tells of one, and is no count or note beside an answer."""
    several = value.get("errors")
    if value.get("success") is False or value.get("choices") == []:
        return any(several) if isinstance(several, list) else bool(several)
    return "choices" in value and isinstance(several, list) and any(several)


def has_notes(value: dict[str, object]) -> bool:
    """Say whether `errors` stand beside choices, or words beside some that say nothing.

    Of a notice and an error in words alone, nobody can say which it is.
    """
    if "choices" in value and value.get("errors"):
        return True
    parts = [as_dict(choice) for choice in as_list(value.get("choices"))]
    messages = [
        as_dict(part.get(key)) for part in parts for key in ("delta", "message")
    ]
    keys = ("text", "finish_reason", "logprobs")
    return (
        "choices" in value
        and not any(part.get(key) for part in parts for key in keys)
        and not any(
            each for part in messages for key, each in part.items() if key != "role"
        )
        and any(value.get(key) for key in WORDS)
    )


def leaves(value: object) -> Iterator[str]:
    """Yield what stands in an error that has no words under the keys for them."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    elif value and isinstance(value, str | int) and not isinstance(value, bool):
        # They are written as JSON, in which some characters are written in other ways.
        yield from filter(None, re.split(r'["\\\x00-\x1f\ud800-\udfff]+', str(value)))


WORDS = ("message", "msg", "detail", "errors", "title", "error", "error_msg")


_IN_ERRORS = (
    *WORDS[:-1], "status_msg", "Message", "Error", "faultstring", "description",
    "error_message", "error_msg", "err", "reason",
)  # fmt: skip


def _error_texts(value: object, keys: tuple[str, ...] = WORDS) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    if type(value) is int and keys is _IN_ERRORS:
        return (str(value),)
    if isinstance(value, list):
        return tuple(text for entry in value for text in _error_texts(entry, keys))
    record = as_dict(value)
    for key in keys:
        texts = _error_texts(record[key], keys) if key in record else ()
        if texts:
            return texts
    return ()
