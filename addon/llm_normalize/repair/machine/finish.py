"""Finish reasons: which wait, which go on, and what they say when they are sent."""

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    choices,
    deltas,
    envelope_of,
    index_of,
    usage_of,
)
from ...chat.chunks.chunk_content import choice_has_content
from ...chat.chunks.finish_words import finished_of, is_bare_finish, rest_of
from ...chat.extra_fields import MAX_EXTRA_BYTES, size_of
from ...wire.json_text import Json
from ..outcome import Outgoing
from . import extra_fields, usage
from .state import State

AFTER = "choice-after-finish"
CUT = "finish-call-cut"
EARLY = "finish-early"
REPEATED = "finish-repeated"
STOP = "finish-stop-with-calls"
WITHOUT_CALL = "finish-without-call"
_CALLED = ("tool_calls", "function_call")


def waits(state: State, outgoing: Outgoing) -> bool:
    """Tell whether a bare finish waits for the next event, whatever that may be.

    Of those that end no call, only the last one, unless nothing can be added to it.
    """
    on, is_last = state.on, state.all_finished
    if EARLY in on:
        may_follow = state.asked.usage or not usage_of(outgoing.chunk)
        if is_last and (may_follow or state.is_one_of_many(outgoing)):
            return True
        if state.lacks_arguments(outgoing):
            return True
    if lacks_its_call(state, outgoing):
        return True
    return bool(state.figures) and is_last and not state.usage_sent


def lacks_its_call(state: State, outgoing: Outgoing | None) -> bool:
    """Tell whether *outgoing* finishes with a call that may follow it."""
    if outgoing is None or WITHOUT_CALL not in state.on:
        return False
    wrong = {
        index_of(choice)
        for choice in choices(outgoing.chunk)
        if _lacks_call(state, choice)
    }
    # What waits for a name does so until the end.
    return bool(wrong - state.seen.unnamed)


def overtake(state: State, held: Outgoing, outgoing: Outgoing) -> bool:
    """Tell whether *outgoing*, which goes on with its choice, is sent before a *held* finish."""
    fix = _overtakes(state, held, outgoing)
    if not fix:
        return False
    state.note_continued()
    state.overtaken += 1
    held.record.fixed(fix)
    held.record.moved = True
    is_amid = usage.EVERY in state.on and not state.all_finished
    if is_amid and usage_of(held.chunk):
        usage.take_back(state, held)
    return True


def _overtakes(state: State, held: Outgoing, outgoing: Outgoing) -> str:
    """Return which fix lets *outgoing* be sent before the *held* finish of its choice."""
    over = finished_of(held.chunk)
    found = [each for each in choices(outgoing.chunk) if index_of(each) in over]
    if EARLY in state.on and any(map(choice_has_content, found)):
        return EARLY
    if WITHOUT_CALL in state.on and any(
        index in over and (calls(delta) or delta.get("function_call"))
        for index, _, delta in deltas(outgoing.chunk)
    ):
        return WITHOUT_CALL
    return ""


def fit_calls(state: State, outgoing: Outgoing) -> None:
    """Let each reason fit the calls of its choice, all of which have been sent."""
    on, seen = state.on, state.seen
    for choice in choices(outgoing.chunk):
        index, reason = index_of(choice), choice.get("finish_reason")
        sent = seen.choice(index)
        if not sent.has_call and reason not in _CALLED:
            continue
        is_plain = reason in ("stop", "function_call")
        if STOP in on and is_plain and state.reason(index) == "tool_calls":
            reason = choice["finish_reason"] = "tool_calls"
            outgoing.fixed(STOP)
        if state.may_lack:
            continue
        if WITHOUT_CALL in on and _lacks_call(state, choice):
            choice["finish_reason"] = "stop"
            outgoing.fixed(WITHOUT_CALL)
        elif (
            CUT in on
            and reason in (*_CALLED, "stop")
            and not seen.error
            and any(call.is_cut for call in sent.calls.values())
        ):
            choice["finish_reason"] = "length"
            outgoing.fixed(CUT)


def _lacks_call(state: State, choice: Chunk) -> bool:
    is_called = choice.get("finish_reason") in _CALLED
    return is_called and not state.seen.choice(index_of(choice)).has_call


# -- what follows it ---------------------------------------------------------------


def drop_finished(state: State, outgoing: Outgoing) -> bool:
    """Take out the choices that are over, and say nothing; tell whether any is."""
    found = choices(outgoing.chunk)
    some = [
        each
        for each in found
        if index_of(each) not in state.finished or choice_has_content(each)
    ]
    if AFTER not in state.on or len(some) == len(found):
        return False
    outgoing.chunk["choices"] = some
    outgoing.fixed(AFTER)
    return True


def drop_repeated(state: State, outgoing: Outgoing, finished: set[int]) -> bool:
    """Merge a repeated finish, of the choices *finished*, into the first; tell if it is one."""
    chunk = outgoing.chunk
    if REPEATED not in state.on or not is_bare_finish(chunk, finished):
        return False
    outgoing.fixed(REPEATED)
    late = _merge(state, outgoing)
    extra_fields.hold(state, chunk, REPEATED)
    if late is not None:
        extra_fields.add(state, late)
        state.sender.send(late)
    if usage_of(chunk):
        usage.hold(state, chunk["usage"], REPEATED)
    return True


def _merge(state: State, outgoing: Outgoing) -> Outgoing | None:
    """Merge *outgoing*, a repeated finish, into the first one, if that is held.

    A held `stop` gives way to a more specific reason.

    Returns:
        A chunk without a reason: log probabilities of choices whose first finish has
        been sent or has some too, and what is too large to hold. None if empty.
    """
    first = state.finish
    found = {index_of(each): rest_of(each) for each in choices(outgoing.chunk)}
    reasons = {index_of(e): e["finish_reason"] for e in choices(outgoing.chunk)}
    over: set[int] = set()
    for choice in choices(first.chunk) if first else ():
        index = index_of(choice)
        reason = reasons.get(index, "stop")
        if first and choice["finish_reason"] == "stop" != reason:
            choice["finish_reason"] = reason
            first.fixed(REPEATED)
        rest = found.pop(index, {})
        new = {k: v for k, v in rest.items() if choice.get(k) is None}
        if choice.get("logprobs") and rest.get("logprobs"):
            # The held finish must not grow: the first ones are sent now.
            found[index] = {"logprobs": choice["logprobs"]}
            new["logprobs"] = rest["logprobs"]
        state.extra_size += size_of(new)
        if new and state.extra_size > MAX_EXTRA_BYTES:
            found[index] = {**new, **found.get(index, {})}
            over.add(index)
        elif first and new:
            first.fixed(REPEATED)
            choice.update(new)
    more = [
        {"index": index, "delta": {}, "finish_reason": None, **rest}
        for index, rest in found.items()
        if index in over or _has_any(rest.get("logprobs"))
    ]
    if not more:
        return None
    late = {**envelope_of(outgoing.chunk), "choices": more}
    return Outgoing(outgoing.record, late, None)


def _has_any(logprobs: Json) -> bool:
    return isinstance(logprobs, dict) and any(logprobs.values())
