"""Extra fields of dropped chunks: all but their choices and usage.

They go on the held finish, on the next chunk, or on one of their own at the end.
"""

from ...chat.chunks.chunk import ENVELOPE, Chunk, drop_other_usage
from ...chat.chunks.chunk_content import chunk_has_content
from ...chat.errors.chunk_errors import errors_in
from ...chat.extra_fields import MAX_EXTRA_BYTES, fails, size_of
from ...wire.json_text import Json
from ..outcome import Outgoing
from .state import State

_FRAME = ENVELOPE | {"choices", "usage", "obfuscation"}


def hold(state: State, chunk: Chunk, fix: str) -> None:
    """Hold the extra fields of *chunk*, which *fix* drops; send them if they are many."""
    drop_other_usage(rest := dict(chunk))
    empty: tuple[Json, ...] = (None, "", [], {})
    extra = {k: v for k, v in rest.items() if k not in _FRAME and v not in empty}
    if not extra:
        return
    if state.finish is None and not state.extra:
        state.extra_size = 0
    known = {k: state.extra[k] for k in extra if k in state.extra}
    state.extra_size += size_of(extra) - size_of(known)
    is_much = state.extra_size > MAX_EXTRA_BYTES
    if state.finish is not None and not is_much:
        state.finish.fixed(fix)
        _put(state, extra, state.finish.chunk)
        return
    state.extra |= extra
    state.extra_fix = fix
    if is_much:
        goes_on = state.finish is not None or state.opened - state.finished
        found = state.bare_choices() if goes_on or not state.asked.usage else []
        send(state, state.seen.n, {**state.envelope(), "choices": found})


def strip(state: State, chunk: Chunk, fix: str) -> None:
    """Move the extra fields off *chunk*, which would be an error with them."""
    hold(state, chunk, fix)
    for key in chunk.keys() - _FRAME:
        del chunk[key]


def add(state: State, outgoing: Outgoing) -> None:
    """Attach the extra fields to a provider's chunk unless that makes it an error."""
    if state.extra and not fails({**state.extra, **outgoing.chunk}):
        outgoing.fixed(state.extra_fix)
        attach(state, outgoing.chunk)


def attach(state: State, chunk: Chunk) -> None:
    """Attach the extra fields to *chunk*."""
    extra, state.extra = state.extra, {}
    _put(state, extra, chunk)


def _put(state: State, extra: Chunk, chunk: Chunk) -> None:
    for key, value in extra.items():
        chunk.setdefault(key, value)
    if state.asked.usage and chunk_has_content(extra):
        chunk.setdefault("usage", None)  # as where usage is taken off a chunk


def flush(state: State, n: int) -> None:
    """Send the extra fields after event *n* if a choice has not finished yet.

    Repairing the output again would not hold them either: held chunks follow them.
    """
    if state.extra and state.opened - state.finished:
        chunk = {**state.envelope(), "choices": state.bare_choices()}
        if state.usage and errors_in({**state.extra, **chunk}):
            return  # they are sent with the usage: beside it they are not an error
        send(state, n, chunk)


def send(state: State, n: int, chunk: Chunk) -> None:
    """Send the extra fields on *chunk*, except those that would make it an error."""
    state.extra = {
        key: value
        for key, value in state.extra.items()
        if not fails({**chunk, key: value})
    }
    if state.extra:
        attach(state, chunk)
        state.sender.add(n, chunk, state.extra_fix)
