"""What is sent, with what has to be sent before it."""

from ...chat.chunks.chunk import Chunk, chunk_of, deltas, envelope_of
from ...chat.chunks.chunk_content import stands_for_text
from ...chat.chunks.finish_words import finished_of
from ...chat.conversion import counts
from ...chat.errors.errors import lost as error_of_loss
from ...chat.tool_calls.blank_arguments import blank_call
from ..outcome import EventRecord, Outgoing
from . import extra_fields, finish, lost_events, usage
from .state import State

_BLANK = "tool-call-arguments-blank"
_NULL = "content-null"
LOST_END = error_of_loss("the end")
_LOST_CALL = error_of_loss("a tool call")
_LOST = "event-lost"


def hold_opening(state: State, outgoing: Outgoing, new: set[int]) -> bool:
    """Hold a chunk that the next event explains; tell whether it is one."""
    chunk = outgoing.chunk
    may_call = bool(new) and state.asked.tools and _NULL in state.on
    if may_call and _is_open_null(chunk, new):
        state.is_blank = False
    elif _BLANK in state.on and (
        blank := blank_call(chunk, state.seen, state.asked.declared)
    ):
        state.is_blank, state.seen.blank = True, blank
    else:
        return False
    state.opening = state.sender.hold(outgoing)
    return True


def send_opening(state: State, following: Chunk | None = None) -> None:
    """Send the held opening, if any; a `{}` is dropped if real arguments follow.

    Args:
        state: The state of the stream.
        following: The chunk behind it, if one has come.
    """
    outgoing, state.opening = state.opening, None
    if outgoing is None:
        return
    blank, state.seen.blank = state.seen.blank, None
    if state.is_blank and blank is None:
        outgoing.fixed(_BLANK)
        extra_fields.hold(state, outgoing.chunk, _BLANK)
        state.sender.drop(outgoing)
        return
    if _NULL in state.on and _open_texts(outgoing.chunk, following or {}):
        outgoing.fixed(_NULL)
    state.sender.release(outgoing)


# -- a finish --------------------------------------------------------------


def send_bare_finish(state: State, outgoing: Outgoing) -> None:
    """Send a finish that nothing stands beside, or hold it."""
    release_finish(state)
    is_last = state.all_finished and not (state.asked.usage or state.usage_sent)
    may_follow = not state.on.isdisjoint((finish.REPEATED, usage.UNASKED))
    if finish.waits(state, outgoing):
        _hold_finish(state, outgoing)
    elif is_last and counts(state.usage):
        outgoing.fixed(state.usage_fix)
        usage.attach(state, outgoing.chunk)
        _send_finish(state, outgoing)
    elif is_last and may_follow:
        _hold_finish(state, outgoing)
    else:
        _send_finish(state, outgoing)


def _hold_finish(state: State, outgoing: Outgoing) -> None:
    state.suspects = state.is_one_of_many(outgoing)
    state.finish = state.sender.hold(outgoing)
    state.extra_size = 0


def release_finish(state: State) -> None:
    """Send the held finish, if any."""
    outgoing, state.finish = state.finish, None
    if outgoing is not None:
        _send_finish(state, outgoing)
        state.sender.drop(outgoing)


def finish_fails(state: State, outgoing: Outgoing) -> bool:
    """Send the held finish; tell whether an error was sent, and *outgoing* goes with it."""
    release_finish(state)
    return state.has_failed and is_lost(state, outgoing)


def _send_finish(state: State, outgoing: Outgoing) -> None:
    """Send a finish, after what the calls of its choice still lack.

    First arguments where there are none, then calls that never got a name.
    """
    if not (state.seen.holes and is_lost(state, outgoing)):
        if state.seen.calls:
            _complete_calls(state, outgoing)
        send_closed(state, outgoing, finished_of(outgoing.chunk))


def send_closed(state: State, outgoing: Outgoing, finished: set[int]) -> None:
    """Send *outgoing*, which ends choices, after what the fixes hold of them."""
    state.close(outgoing.record, finished)
    finish.fit_calls(state, outgoing)
    state.sender.send(outgoing)


def _complete_calls(state: State, outgoing: Outgoing) -> None:
    """Send `{}` for each call without arguments that the finish in *outgoing* ends.

    Nothing where an error cut the call short, or they may have been lost: its
    arguments are not known.
    """
    name, record = "tool-call-arguments-missing", outgoing.record
    if name not in state.on or state.seen.error or state.may_lack:
        return
    for index, at, call in state.hollow_calls(outgoing.chunk):
        call.add("{}")
        delta = {"tool_calls": [{"index": at, "function": {"arguments": "{}"}}]}
        chunk = chunk_of(envelope_of(outgoing.chunk), index, delta)
        if record.before is None:
            state.sender.add(record.n, chunk, name)
        else:
            record.fixed(name)
            state.sender.send(Outgoing(record, chunk, None))


def add_finish(state: State, index: int, n: int) -> None:
    """Send the finish reason that the provider left out, behind event *n*."""
    record = EventRecord(n, None, fixes=["finish-missing"])
    reason = state.reason(index)
    choice = {"index": index, "delta": {}, "finish_reason": reason}
    outgoing = Outgoing(record, state.envelope() | {"choices": [choice]}, None)
    state.finished |= {index}
    _complete_calls(state, outgoing)
    close_choices(state, n, {index})
    finish.fit_calls(state, outgoing)
    if state.usage and state.all_finished and not state.asked.usage:
        usage.attach(state, outgoing.chunk)
    extra_fields.attach(state, outgoing.chunk)
    state.sender.send(outgoing)
    state.sender.close(record)


def close_choices(
    state: State, n: int, indexes: set[int] | None = None, *, briefly: bool = False
) -> None:
    """Send what the fixes hold of choices that end, all if None, after event *n*."""
    record = EventRecord(n, None)
    state.close(record, indexes, briefly=briefly)
    if record.fixes:
        state.sender.close(record)


# -- a lost event ------------------------------------------------------------


def is_lost(state: State, outgoing: Outgoing) -> bool:
    """Send an error for what may lack a lost event; tell whether *outgoing* goes."""
    seen = state.seen
    if not (seen.holes and _LOST in state.on):
        return False
    if state.has_failed:
        outgoing.fixed(_LOST)
        return True
    if seen.error or not lost_events.is_hit(state.asked, seen, outgoing.chunk):
        return False
    fail(state, outgoing)
    return True


def fail(state: State, outgoing: Outgoing, error: Chunk = _LOST_CALL) -> None:
    """Send *error* in place of *outgoing*, after what is not about it."""
    n = outgoing.record.n - 1
    if state.seen.error or _LOST not in state.on:
        return
    state.finished -= finished_of(outgoing.chunk)  # it is not sent
    send_opening(state)
    if state.finish is not None:
        held, state.finish = state.finish, None
        held.fixed(_LOST)
        state.sender.drop(held)
    close_choices(state, n)
    usage.flush(state, n)
    state.seen.error = state.has_failed = True
    outgoing.record.fixed(_LOST)
    state.sender.send(Outgoing(outgoing.record, error, None))
    state.sender.close(outgoing.record)


# -- all that is held --------------------------------------------------------


def send_all(state: State, n: int) -> None:
    """Send what is held, except usage, before event *n* is over."""
    if state.holds_chunk:
        settle(state)
    if state.extra:
        extra_fields.flush(state, n)
    close_choices(state, n)


def settle(state: State, *, last: bool = True) -> None:
    """Send what is held; attach usage to the finish if that is the *last* one."""
    send_opening(state)
    if last:
        attach_usage_to_finish(state)
    release_finish(state)


def attach_usage_to_finish(state: State) -> None:
    """Attach the held usage to the held finish, and send that.

    A finish whose call, or whose arguments, may follow still waits.
    """
    held = state.finish
    if held is None or not state.all_finished or state.asked.usage:
        return
    if state.usage:
        held.fixed(state.usage_fix)
        usage.attach(state, held.chunk)
        if not lacks_part(state, held):
            release_finish(state)


def lacks_part(state: State, held: Outgoing | None) -> bool:
    """Tell whether a *held* finish ends a call that may follow it, or its arguments."""
    return state.lacks_arguments(held) or finish.lacks_its_call(state, held)


def _is_open_null(chunk: Chunk, new: set[int]) -> bool:
    """Tell whether *chunk* has only roles and null, of choices that are *new*.

    What opens so may be a text or a tool call.
    """
    found = deltas(chunk)
    return bool(found) and all(
        index in new
        and delta.get("content", "") is None
        and choice.get("finish_reason") is None
        and not any(value for key, value in delta.items() if key != "role")
        for index, choice, delta in found
    )


def _open_texts(opening: Chunk, following: Chunk) -> bool:
    """Let *opening* open a text where *following* calls no tool; tell whether any is.

    Args:
        opening: The chunk with null, changed in place.
        following: The one behind it; empty if there is none.
    """
    called = {
        index
        for index, _, delta in deltas(following)
        if stands_for_text(delta) and not delta.get("content")
    }
    texts = [
        delta
        for index, _, delta in deltas(opening)
        if delta.get("content", "") is None and index not in called
    ]
    for delta in texts:
        delta["content"] = ""
    return bool(texts)
