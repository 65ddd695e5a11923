"""What an answer's headers say about when its provider takes requests again."""

import re
import time
from collections.abc import Iterable, Mapping
from email.utils import mktime_tz, parsedate_tz

_REMAINING, _RESET = "x-ratelimit-remaining", "x-ratelimit-reset"
"""Behind each may stand of what: `-requests`, `-tokens`.

https://platform.openai.com/docs/guides/rate-limits
"""
_BUSY = (429, 503)
_PART = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)?", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "": 1.0}
_DATES = 1e9
"""Numbers from here on are times, in seconds since 1970; a thousand times that, in ms."""


def pause_of(status: int, fields: Iterable[tuple[str, str]]) -> float:
    """The seconds for which a provider takes no request, by its answer; mostly 0.

    Args:
        status: The answer's status.
        fields: Its headers.
    """
    headers = {name.lower(): value for name, value in fields}
    asked = retry_after(headers) if status in _BUSY else None
    return max(asked or 0.0, _exhausted(headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a provider asks to wait for, in either form; None without any.

    https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
    """
    text = headers.get("retry-after", "")
    exact, seconds = _number(headers.get("retry-after-ms", "")), _number(text)
    if exact is not None:
        return exact / 1000
    if seconds is not None:
        return seconds
    try:
        date = parsedate_tz(text)
        return max(mktime_tz(date) - time.time(), 0.0) if date is not None else None
    except (ValueError, OverflowError):  # a year that no calendar has
        return None


def _number(text: str) -> float | None:
    """The number that *text* is, at least 0; None if it is none, or has no end."""
    try:
        number = float(text)
    except ValueError:
        return None
    return max(number, 0.0) if number < float("inf") else None


def _exhausted(headers: Mapping[str, str]) -> float:
    """The seconds until a limit is lifted of which nothing remains; else 0."""
    waits = [0.0]
    for name, value in headers.items():
        if name.startswith(_REMAINING) and value.strip() == "0":
            waits.append(
                _until(headers.get(_RESET + name.removeprefix(_REMAINING), ""))
            )
    return max(waits)


def _until(text: str) -> float:
    """The seconds that `6m0s`, `250ms`, a number of them or a time means; else 0."""
    text = text.strip()
    parts = _PART.findall(text)
    if "".join(map("".join, parts)) != text:
        return 0.0
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds >= _DATES * 1000:
        seconds /= 1000
    return max(seconds - time.time(), 0.0) if seconds >= _DATES else seconds
