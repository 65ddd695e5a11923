"""Usage: where it is taken off a chunk, what of it is held, and when that is sent."""

from collections.abc import Iterator

from ...chat.chunks.chunk import Chunk, choices, drop_other_usage, usage_of
from ...chat.chunks.chunk_content import has_answer
from ...chat.conversion import counts
from ...chat.errors.chunk_errors import errors_in
from ...wire.json_text import Json
from ..outcome import Outgoing
from . import extra_fields
from .state import State

EVERY = "usage-every-chunk"
BESIDE = "usage-with-choices"
EARLY = "usage-early"
REPEATED = "usage-repeated"
UNASKED = "usage-unasked"


def take_off_choices(state: State, outgoing: Outgoing, finished: set[int]) -> bool:
    """Take usage off a chunk with choices where OpenAI would not have put it.

    Returns:
        Whether it was taken off.
    """
    chunk, asked, on = outgoing.chunk, state.asked, state.on
    if not (finished and (asked.usage or state.all_finished)):
        if EVERY not in on:
            return False
        found = _figures_of(state, usage_of(chunk))
        if found and state.figures:
            _drop_figures(state, later=True)
        _take_off(state, outgoing, EVERY)
        if any(map(has_answer, choices(chunk))):
            state.figures |= found
        return True
    if asked.usage:
        if BESIDE in on:
            _take_off(state, outgoing, BESIDE)
        return BESIDE in on
    # Here it belongs, once.
    if EVERY in on and _comes_again(state, usage_of(chunk)):
        _take_off(state, outgoing, EVERY)
        return True
    if REPEATED in on and state.usage_sent:
        outgoing.fixed(REPEATED)
        drop_other_usage(chunk, chunk.pop("usage"))
        return True
    if counts(usage_of(chunk)):
        mark_sent(state)  # zeros may precede the real usage
    return False


def take_unasked(state: State, outgoing: Outgoing) -> bool:
    """Take a chunk without choices, with usage that was not requested, if it goes."""
    chunk = outgoing.chunk
    if EVERY in state.on and _comes_again(state, usage_of(chunk)):
        outgoing.fixed(EVERY)
        extra_fields.hold(state, chunk, EVERY)
        return True
    if UNASKED not in state.on:
        return False
    outgoing.fixed(UNASKED)
    hold(state, chunk["usage"], UNASKED)
    extra_fields.hold(state, chunk, UNASKED)
    return True


def _comes_again(state: State, usage: Json) -> bool:
    """Tell whether unrequested figures come again: then none is sent.

    Figures that chunks with content have brought, and that come again, are on every
    chunk. Figures of the end alone, such as the cost, have come once: they are sent.
    """
    found = _figures_of(state, usage)
    if not (found and state.figures):
        return False
    is_again = found <= state.figures
    _drop_figures(state, later=is_again)
    return is_again


def _drop_figures(state: State, *, later: bool) -> None:
    """Let nothing be sent of the figures so far, and no *later* ones either."""
    if state.finish is not None and usage_of(state.finish.chunk):
        take_back(state, state.finish)
    mark_sent(state)
    state.usage_sent = later


def _figures_of(state: State, usage: Json) -> frozenset[str]:
    """The paths of the unrequested figures in *usage*."""
    is_figure = not state.asked.usage and counts(usage)
    return frozenset(_paths(usage)) if is_figure else frozenset()


def _paths(usage: Json, path: str = "") -> Iterator[str]:
    for key, value in usage.items() if isinstance(usage, dict) else ():
        if isinstance(value, dict):
            yield from _paths(value, f"{path}{key}.")
        elif value is not None:
            yield path + key


def _take_off(state: State, outgoing: Outgoing, fix: str) -> None:
    """Take the usage off *outgoing*, which has choices, and hold it."""
    chunk = outgoing.chunk
    hold(state, chunk["usage"], fix)
    # Amid the answer not even as a copy: the repaired chunk would bring figures again.
    drop_other_usage(chunk, None if fix == EVERY else state.usage or chunk["usage"])
    if state.asked.usage:
        chunk["usage"] = None  # as in OpenAI's own chunks before the last
    else:
        del chunk["usage"]
    if errors_in(chunk):  # words that are an error without usage beside them
        extra_fields.strip(state, chunk, fix)
    outgoing.fixed(fix)


def take_back(state: State, finish: Outgoing) -> None:
    """Take the usage off a held *finish* that is not the last chunk, and hold it."""
    state.usage_fix = EVERY
    state.usage, state.usage_sent = finish.chunk.pop("usage"), False
    drop_other_usage(finish.chunk)
    finish.fixed(EVERY)


def hold(state: State, usage: Json, fix: str) -> None:
    """Hold *usage*, which *fix* takes off its chunk; zeros replace nothing.

    Unrequested usage is dropped if the finish was sent because its hold time was over.
    """
    if state.waited_enough and state.all_finished and not state.asked.usage:
        return
    if state.finish is not None and usage_of(state.finish.chunk):
        if counts(usage):
            state.finish.fixed(fix)
            state.finish.chunk["usage"] = usage
            mark_sent(state)
    elif not state.usage_sent and (counts(usage) or not state.usage):
        state.usage, state.usage_fix = usage, fix


def mark_sent(state: State) -> None:
    """Record that a chunk with usage of its own is sent."""
    state.usage = None
    state.usage_sent = True


def hold_chunk(state: State, outgoing: Outgoing) -> None:
    """Hold *outgoing*, a usage chunk that is early."""
    drop_chunk(state)
    state.usage_chunk = state.sender.hold(outgoing)


def drop_chunk(state: State) -> None:
    """Drop the held usage chunk, if any: there is a later one."""
    outgoing, state.usage_chunk = state.usage_chunk, None
    if outgoing is not None:
        outgoing.fixed(EARLY)
        state.sender.drop(outgoing)
        extra_fields.hold(state, outgoing.chunk, EARLY)


def flush(state: State, n: int) -> None:
    """Send usage that is still held when event *n* is over, and what goes with it."""
    envelope = state.envelope()
    if state.usage_chunk is not None:
        outgoing, state.usage_chunk = state.usage_chunk, None
        extra_fields.add(state, outgoing)
        mark_sent(state)
        state.sender.release(outgoing)
    if state.usage and not state.opened - state.finished:
        _add(state, n, envelope)
    extra_fields.flush(state, n)
    if state.extra and state.asked.usage and state.opened:
        extra_fields.send(state, n, {**envelope, "choices": []})
    elif state.extra and state.waited_enough:  # the finish has been sent
        extra_fields.send(state, n, {**envelope, "choices": state.bare_choices()})
    if state.usage:  # on its own: it does not stay on a chunk that goes on
        _add(state, n, envelope)
    if state.extra:  # no other chunk is left to attach them to
        opening = {"role": "assistant", "content": ""}
        opened = {"index": 0, "delta": opening, "finish_reason": None}
        envelope["choices"] = state.bare_choices() or [opened]
        extra_fields.send(state, n, envelope)


def _add(state: State, n: int, envelope: Chunk) -> None:
    found = [] if state.asked.usage else state.bare_choices()
    chunk = {**envelope, "choices": found}
    extra_fields.attach(state, chunk)
    attach(state, chunk)
    state.sender.add(n, chunk, state.usage_fix)


def attach(state: State, chunk: Chunk) -> None:
    """Attach the held usage to *chunk*."""
    chunk["usage"] = state.usage
    mark_sent(state)
