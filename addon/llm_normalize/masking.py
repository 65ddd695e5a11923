"""Blocks as text for the log, without what a provider echoes of the request."""

import json
import re
from collections.abc import Iterable
from typing import Any

_MASK = r"\1: ***"
_DECODER = json.JSONDecoder()
_MASKED = frozenset(("input", "ctx", "body", "request"))
# Quoted at any depth: an error message may be JSON in a JSON string.
_ECHO = re.compile(
    r"""(['"](?:input|ctx|body|request)\\*['"])\s*:\s*.*|\binput_value=.*""", re.DOTALL
)


def text_of(block: bytes) -> str:
    r"""Return *block* as text; of one that is no UTF-8, other bytes as `\xNN`."""
    try:
        return block.decode()
    except UnicodeDecodeError:
        return block.replace(b"\\", b"\\\\").decode(errors="backslashreplace")


def is_clean(text: str, secrets: Iterable[str] = ()) -> bool:
    """Tell whether *text* surely has nothing to mask, sooner than `mask` can."""
    if ('"' in text or "'" in text or "input_value" in text) and (
        "input" in text or "request" in text or "body" in text or "ctx" in text
    ):
        return False
    for secret in secrets:  # noqa: SIM110 - a third of what `any` takes
        if secret in text:
            return False
    return True


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Return *text* without what a provider echoes of the request.

    Args:
        text: An event or a body, as it goes into the log.
        secrets: Strings of the request that must not be there, such as its key.
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    if not _ECHO.search(text):
        return text
    out = []
    at = 0  # what is before it is in `out`: a copy of the rest each time is quadratic
    while (start := text.find("{", at)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
            if "choices" in value:
                # Whatever a model says, only an error is an echo.
                unchanged = not value.get("error")
                masked = value | {"error": _masked(value.get("error"))}
            else:
                masked, unchanged = _masked(value), False
            spelled = json.dumps(masked, ensure_ascii=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            break
        out += [text[at:start], text[start:end] if unchanged else spelled]
        at = end
    return "".join(out) + _ECHO.sub(_MASK, text[at:])


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "***" if key in _MASKED else _masked(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if isinstance(value, str):
        return _ECHO.sub(_MASK, value)
    return value
