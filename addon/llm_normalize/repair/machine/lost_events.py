"""A call, or an end, of which an unreadable event was lost."""

from ...chat.chunks.chunk import Chunk, calls, deltas, index_of
from ...chat.chunks.finish_words import CUT_SHORT, finishes
from ...chat.state.asked import Asked
from ...chat.state.sent_call import SentCall
from ...chat.state.stream_state import ChoiceSeen, Seen

_CALLED = ("tool_calls", "function_call")


def is_hit(asked: Asked, seen: Seen, chunk: Chunk) -> bool:
    """Tell whether *chunk* goes on with a call that the lost event may be of, or ends it."""
    for index, choice, delta in deltas(chunk):
        sent = seen.choice(index)
        known = [sent.calls.get(index_of(call)) for call in calls(delta)]
        if known and index in seen.hit:
            return True
        if any(call is None or _is_cut(asked, call) for call in known):
            return True
        is_sound = sent.legacy_call and not sent.is_legacy_hit
        if delta.get("function_call") and not is_sound:
            return True
        is_named = index not in seen.unnamed | seen.hit
        if finishes(choice) and not (
            is_named and _is_whole(asked, sent, choice["finish_reason"])
        ):
            return True
    return False


def _is_whole(asked: Asked, sent: ChoiceSeen, reason: object) -> bool:
    """Tell whether a choice that ends with *reason* lacks no call, nor a part of one."""
    if sent.is_legacy_hit or (reason in _CALLED and not sent.has_call):
        return False
    cut_short = reason in CUT_SHORT
    return all(
        not _is_cut(asked, call) and (call.custom or call.is_complete or cut_short)
        for call in sent.calls.values()
    )


def _is_cut(asked: Asked, call: SentCall) -> bool:
    """Tell whether *call* may lack a part of its arguments, or of its name."""
    names = asked.declared.names
    is_whole = not names or call.custom or call.full_name in names
    return call.is_hit or not (call.name and is_whole)
