"""What a flow's metadata records of its answer, checked: a file may come from anywhere."""

from collections.abc import Callable, Mapping
from typing import Any

from .pair_rows import FIRST, LAST
from .snapshot import KEY, VERSION

type AnswerMetadata = dict[str, Any]
"""What `AnswerRecord.metadata` returns, and what `RunningAnswer` adds."""

ENDS = {
    "client-left": "the client left",
    "upstream-broke": "the provider broke off",
    "error": "no answer arrived",
}
"""How an answer ended that is not complete, in words."""

_RENAMED = {"came": "received", "came_status": "received_status"}
"""Names in older files."""
_MOST = 1000  # fixes, and blocks of one pair
_LARGE = 10**15  # milliseconds, events


def read_metadata(
    metadata: Mapping[str, Any], *, is_live: bool
) -> AnswerMetadata | None:
    """The record of an answer in a flow's *metadata*; None without one.

    An answer that runs can only be that of a flow that is live.
    """
    found = metadata.get(KEY)
    if not isinstance(found, dict) or found.get("v") != VERSION:
        return None
    found = {_RENAMED.get(key, key): value for key, value in found.items()}
    if not all(check(found.get(key)) for key, check in _CHECKS.items()):
        return None
    if found["end"] == "running" and not is_live:
        return found | {"end": "unfinished"}
    return found


def status_change(received: int | None, sent: int | None) -> str:
    """Return the status that was *sent*, with the one that was *received* if it differs."""
    return f"{sent}" if received in (None, sent) else f"{received} -> {sent}"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _LARGE


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _LARGE


def _or_none(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


def _is(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)


def _list_of(check: Callable[[object], bool], most: int) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, list) and len(value) <= most and all(map(check, value))
    )


def _made_of(*checks: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(checks)
        and all(check(each) for check, each in zip(checks, value, strict=True))
    )


_BLOCKS = _list_of(_is(bytes), _MOST)
_LAST = _made_of(_is_count, _or_none(_is(bytes)), _BLOCKS)
_ROW = _made_of(
    _is_count,
    _is_time,
    _list_of(_is(str), _MOST),
    _or_none(_is(bytes)),
    _BLOCKS,
    _is_count,
    lambda value: value == [] or _LAST(value),
)
_CHECKS: dict[str, Callable[[object], bool]] = {
    "observe": _is(bool),
    "host": _is(str),
    "model": _is(str),
    "status": _or_none(_is_count),
    "stream": _is(bool),
    "events": _is_count,
    "changed": _is_count,
    "first_ms": _or_none(_is_time),
    "total_ms": _is_time,
    "end": _is(str),
    "fixes": _list_of(_made_of(_is(str), _is_count), _MOST),
    "request": _list_of(_made_of(_is(str), _is(str), _is(str)), _MOST),
    "usage": _is(bool),
    "mapped_model": _or_none(_is(str)),
    "pairs": _list_of(_ROW, FIRST + LAST),
    "left_out": _is_count,
    "left_out_at": _is_count,
    "why": _or_none(_is(str)),
    "is_cut": _is(bool),
    "received": _or_none(_list_of(_is(bytes), _MOST)),
    "received_status": _or_none(_is_count),
    "protocol": _or_none(_is(str)),
    "native": _or_none(_is(str)),
}
