"""A call, or an end, of which an event was lost that nobody could read."""

from ...chat.chunks.chunk import Chunk, calls, deltas, index_of
from ...chat.errors.errors import lost
from ...chat.finish_words import finishes
from ...chat.stream_state import ChoiceSeen
from ...chat.tool_calls.sent_call import Call
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Fix, Wire, calling, chunk, head, rest, wire
from ...repair.outcome import Outgoing

_CUT_SHORT = ("length", "content_filter")
_CALLED = ("tool_calls", "function_call")

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_HALF = wire([_TEXT])[:60] + b"\n\n"
_OPEN = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})
_WHOLE = calling(rest(0, '{"a":"b"}'))
_END = chunk({}, finish="tool_calls")
_STOP = chunk({}, finish="stop")
_LOST_CALL, _LOST_END = lost("a tool call"), lost("the end")
_MIDDLE: Wire = [_OPEN, calling(rest(0, '{"a":"b')), _HALF, calling(rest(0, '"}'))]


class EventLost(Fix):
    """Send an error in place of what goes on with such a call, or ends it.

    A call is whole whose arguments were, before the event, or after it. Text goes on, and
    the finish that the provider sends after it.
    """

    name = "event-lost"
    changes = "call, or `[DONE]`, that lacks a lost event -> an error event"
    why = (
        "What is left of the arguments may be JSON, and an agent runs it; an answer without "
        "its end is taken for a whole one."
    )
    providers = ("Z.AI (GLM-5)", "gateways that cut events")
    sources = (
        "https://github.com/zai-org/GLM-5/issues/66",
        "https://github.com/earendil-works/pi/issues/6762",
    )
    # Of the lost event itself.
    also_covered_by = ("data-unreadable",)
    end_hooks = (EndHook.LOSS, EndHook.LOSS_OF_CALL, EndHook.LOSS_OF_FINISH)
    examples = (
        Example(
            "arguments", [_OPEN, _HALF, _END, DONE], [_OPEN, _HALF, _LOST_CALL, DONE]
        ),
        Example("middle", [*_MIDDLE, _END], [*_MIDDLE[:3], _LOST_CALL]),
        Example("end", [_TEXT, _HALF, DONE], [_TEXT, _HALF, _LOST_END, DONE]),
        Example.untouched("text", [_TEXT, _HALF, _STOP, DONE]),
        Example.untouched("a whole call", [_OPEN, _WHOLE, _HALF, _END, DONE]),
        Example.untouched("broken off", [_TEXT, _HALF]),
    )

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Send the error; drop what follows it."""
        if end.has_failed:
            outgoing.fixed(self.name)
            return True
        if self.seen.error:
            return False
        if hook is EndHook.LOSS and not self._is_hit(outgoing.chunk):
            return False
        is_end = hook is EndHook.LOSS_OF_FINISH
        self._fail(end, outgoing, _LOST_END if is_end else _LOST_CALL)
        return True

    def _fail(self, end: EndState, outgoing: Outgoing, error: Chunk) -> None:
        """Send *error* in place of *outgoing*, after what is not about it."""
        n = outgoing.record.n - 1
        end.send_opening()
        if end.finish is not None:
            held, end.finish = end.finish, None
            held.fixed(self.name)
            end.sender.drop(held)
        end.close_choices(n)
        end.flush_usage(n)
        self.seen.error = end.has_failed = True
        outgoing.record.fixed(self.name)
        end.sender.send(Outgoing(outgoing.record, error, None))
        end.sender.close(outgoing.record)

    def _is_hit(self, chunk: Chunk) -> bool:
        """Tell whether *chunk* goes on with a call that the lost event may be of, or ends it."""
        for index, choice, delta in deltas(chunk):
            seen = self.seen.choice(index)
            known = [seen.calls.get(index_of(call)) for call in calls(delta)]
            if known and index in self.seen.hit:
                return True
            if any(call is None or self._is_cut(call) for call in known):
                return True
            is_sound = seen.legacy_call and not seen.is_legacy_hit
            if delta.get("function_call") and not is_sound:
                return True
            if finishes(choice) and self._lacks(index, seen, choice["finish_reason"]):
                return True
        return False

    def _lacks(self, index: int, seen: ChoiceSeen, reason: object) -> bool:
        """Tell whether a choice that ends with *reason* may lack a call, or a part of one."""
        if index in self.seen.unnamed | self.seen.hit or seen.is_legacy_hit:
            return True
        if reason in _CALLED and not seen.has_call:
            return True
        cut_short = reason in _CUT_SHORT
        return any(
            self._is_cut(call) or not (call.custom or call.is_complete or cut_short)
            for call in seen.calls.values()
        )

    def _is_cut(self, call: Call) -> bool:
        """Tell whether *call* may lack a part of its arguments, or of its name."""
        names = self.asked.declared.names
        is_whole = not names or call.custom or call.full_name in names
        return call.is_hit or not (call.name and is_whole)
