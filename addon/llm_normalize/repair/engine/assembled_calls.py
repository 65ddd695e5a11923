"""Assembles the tool calls of a stream: what arrives of each, and what is sent of it.

A fragment passes the states of its call in this order; the quirk named is repaired if its
fix is on, and else the fragment goes on as it is.

| state | fragment | it is | quirk |
| --- | --- | --- | --- |
| any | without an index | sent with its call's, or the next | `tool-call-index-missing` |
| any | under an index that such a call has got | moved to the next | the same |
| unnamed | without a name, or with the begin of one | held | `tool-call-name-late` |
| unnamed | that says nothing | dropped | the same |
| unnamed | with the (rest of the) name | merged with what is held | the same |
| unnamed | more than 64 KiB, or the choice ends | what is held is sent; with the id of a sent call as its part; where the stream breaks off, alone beside one without arguments, too | the same |
| any | with a wrapped name | sent with the declared one | `tool-call-name-wrapped` |
| new | under a taken index, or after a gap | moved to the next | `tool-call-index-wrong` |
| open | under another index than its call | moved to its call | the same |
| new | with the id of another call | sent with an id made up | `tool-call-id-repeated` |
| open | id and all arguments again | dropped | `tool-call-repeated` |
| open | id, type or name again, or null | sent without | `tool-call-head-repeated` |
| blank (`{}` waits) | with nothing | dropped | `tool-call-arguments-blank` |
| blank | with other arguments | sent in place of `{}` | the same |
| open | arguments again | only the new part is sent | `tool-call-arguments-repeated` |
| open | arguments that may be that | held until it is clear | the same |
| complete | another object | sent as a call of its own | the same |

Which call a fragment belongs to is found once, in `OpenCalls`; "new", "open" and "complete"
are what `Seen` says of what was sent of it. Of a chunk with several fragments, those before
count as sent too.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    chunk_of,
    deltas,
    envelope_of,
    function,
    index_of,
    name_of,
    put_calls,
    put_first,
)
from ...chat.chunks.chunk_split import part_calls
from ...chat.state.asked import Asked
from ...chat.state.sent_call import SentCall, SentCalls, brief
from ...chat.state.stream_state import Seen
from ...chat.tool_calls.blank_arguments import are_real, has_arguments_alone
from ...chat.tool_calls.open_calls import OpenCall, OpenCalls, Place
from ...chat.tool_calls.sent_arguments import SentArguments
from ...chat.tool_calls.unnamed_calls import Unnamed
from ..fix import HoldingFix
from ..look import Finding

_BLANK = "tool-call-arguments-blank"
_HEAD = "tool-call-head-repeated"
_ID = "tool-call-id-repeated"
_LATE = "tool-call-name-late"
_MISSING = "tool-call-index-missing"
_PARTS = "tool-call-arguments-repeated"
_REPEATED = "tool-call-repeated"
_WRAPPED = "tool-call-name-wrapped"
_WRONG = "tool-call-index-wrong"
QUIRKS = (
    _MISSING, _LATE, _WRAPPED, _WRONG, _ID, _REPEATED, _HEAD, _BLANK, _PARTS
)  # fmt: skip
"""The names of the fixes that it stands for, in the order in which they act."""

HOLDING = frozenset(QUIRKS) - {_HEAD}
"""Those that may put into an event what they held."""

_SEVERAL = {_WRONG, _PARTS}
"""Those that may find several fragments of one call in a chunk, each to be sent alone."""


class AssembledCalls(HoldingFix):
    """Assembles the calls of one stream, in the place of the first fix that it stands for."""

    name = "tool-calls-assembled"
    handles = Finding.CALLS | Finding.FUNCTION_CALL
    holds_calls = True
    on: AbstractSet[str] = frozenset(QUIRKS)
    """The names of the fixes that are on; it may have others."""

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._tools = asked.declared
        self._open = OpenCalls(self._tools)
        self._unnamed = Unnamed(self._open)
        self._arguments = SentArguments(self._open)
        self._frame: Chunk = {}  # of what is held
        # Of the chunk at hand:
        self._found: set[str] = set()
        self._drafts: dict[int, SentCalls] = {}
        self._first: list[Chunk] = []  # what is sent before it
        self._touched: list[OpenCall] = []

    @property
    def repaired(self) -> list[str]:
        """The fixes that it stood for last."""
        return [name for name in QUIRKS if name in self._found]

    @property
    def waiting(self) -> object:
        """Which calls have no name yet; None if none waits."""
        return self._unnamed.waiting or None

    # -- what arrives --------------------------------------------------------------

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Leave in *chunk* what is sent of its calls; what is too much goes before it."""
        self._begin()
        try:
            parts = self._take(chunk)
        except Exception:
            self.on = frozenset()  # what is held is sent as it is
            raise
        return bool(self._found) and parts

    def _take(self, chunk: Chunk) -> list[Chunk]:
        for index, _, delta in deltas(chunk):
            self._repair(_WRAPPED, self._tools.unwrap, delta.get("function_call"))
            if not (found := calls(delta)):
                continue
            self._frame = envelope_of(chunk)
            several, remaining = len(found) > 1, list[Chunk]()
            for call in found:
                sent = self._fragments(index, call)
                remaining += sent
                for each in sent if several else ():
                    self._draft(index).note(each, self.seen.room)
            if remaining != found:
                put_calls(delta, remaining)
            self._settle(index, found, is_sent=remaining == found)
        self.seen.unnamed = self._unnamed.choices
        return [
            *self._first,
            *((self._found & _SEVERAL and part_calls(chunk)) or [chunk]),
        ]

    def _settle(self, index: int, found: list[Chunk], *, is_sent: bool) -> None:
        """Note whether more arguments of the call in *found* need no look at them.

        They do not while it is the only one at hand, nothing waits for a name, and it is
        sent as received.
        """
        call, at = self._touched[-1], index_of(found[0])
        is_plain = call.is_plain and call.at == at
        is_alone = is_sent and len(found) == 1 and self._found <= {_HEAD}
        is_settled = is_plain and is_alone and not self._unnamed.waiting
        self._calls(index).plain = at if is_settled else -1

    def _repair(self, name: str, repair: Callable[..., bool], *given: Any) -> bool:
        """Apply *repair* if the fix *name* is on; tell whether it changed anything."""
        is_repaired = name in self.on and repair(*given)
        if is_repaired:
            self._found.add(name)
        return is_repaired

    def _begin(self) -> None:
        self._found.clear()
        self._drafts.clear()
        self._first, self._touched = [], []

    def _calls(self, index: int) -> SentCalls:
        """Return the calls that choice *index* has sent, with those of the chunk at hand."""
        draft, known = self._drafts.get(index), self.seen.choices.get(index)
        return draft or (SentCalls() if known is None else known.calls)

    def _draft(self, index: int) -> SentCalls:
        draft = self._drafts.get(index)
        if draft is None:
            draft = self._drafts[index] = self._calls(index).draft()
        return draft

    def _fragments(self, index: int, fragment: Chunk) -> list[Chunk]:
        """The fragments to send of choice *index* for *fragment*."""
        meant, sent = self._unwrapped(fragment), self._calls(index)
        base = self._open.find(index, meant, sent, moves=_WRONG in self.on)
        self._repair(_MISSING, _put_index, fragment, base.number)
        due: Chunk | None = fragment
        if _LATE in self.on:
            due = self._unnamed.take(base, fragment, self.seen.n)
            if due != fragment:
                self._found.add(_LATE)
            if too_much := self._unnamed.overflow(self.seen.n):
                self._first += self._released(too_much)
        call = base.turn or base
        self._touched.append(call)
        return [] if due is None else self._named_fragments(call, due)

    def _unwrapped(self, fragment: Chunk) -> Chunk:
        """*fragment* with the declared name in its own, which may be a part of one."""
        inner = dict(function(fragment))
        is_wrapped = _WRAPPED in self.on and self._tools.unwrap(inner)
        return {**fragment, "function": inner} if is_wrapped else fragment

    def _named_fragments(self, call: OpenCall, fragment: Chunk) -> list[Chunk]:
        """The fragments to send for the *fragment* of a *call*, which waits for no name."""
        sent, repair = self._calls(call.choice), self._repair
        repair(_WRAPPED, self._tools.unwrap, function(fragment))
        if not call.is_tracked:
            return [fragment]
        if isinstance(fragment.get("index"), int):
            repair(_WRONG, call.place, fragment, sent)
        opened, place = call.opened(sent), (call.choice, index_of(fragment))
        if opened is None and place[1] in sent:
            sent[place[1]].is_shared = True
        call.at = place[1] if call.at is None else call.at
        repair(_ID, self._rename, fragment, place, sent)
        if repair(_REPEATED, _is_repeated, opened, fragment):
            return []
        if _HEAD in self.on and opened and not self._adds(fragment, opened):
            return []
        if self.seen.blank == place and not self._is_after_blank(fragment, place, sent):
            return []
        if _PARTS not in self.on:
            return [fragment]
        found = self._arguments.fragments(call, fragment, sent, self.seen.n)
        if found != [fragment]:
            self._found.add(_PARTS)
        return found

    def _rename(self, call: Chunk, place: Place, sent: SentCalls) -> bool:
        """Give *call* an id of its own if it opens, or goes on, with that of another."""
        identity, opened = call.get("id"), sent.get(place[1])
        if not (isinstance(identity, str) and identity and brief(identity) in sent.ids):
            return False
        own = self.asked.make_id("call_", *place)
        is_taken = opened.id == own if opened else bool(function(call).get("name"))
        if is_taken:
            call["id"] = own
        return is_taken and identity != own

    def _adds(self, call: Chunk, opened: SentCall) -> bool:
        """Leave what *call* adds to the call that was *opened*; tell whether it adds any."""
        if not isinstance(call.get("index"), int):
            return True
        inner = function(call)
        given = inner.get("name")
        before = (len(call), len(inner), given)
        call.pop("type", None)
        if opened.id or not call.get("id"):
            call.pop("id", None)
        if opened.name or not given:
            inner.pop("name", None)
            rest = given and opened.rest_of_name(given, self._tools)
            inner |= {"name": rest} if rest else {}
        if inner.get("arguments") is None:
            inner.pop("arguments", None)
        if before[1] and all(value is None for value in inner.values()):
            call.pop("function", None)
        adds = any(v not in (None, {}) for k, v in call.items() if k != "index")
        if before != (len(call), len(inner), inner.get("name")) or not adds:
            self._found.add(_HEAD)
        return adds

    def _is_after_blank(self, call: Chunk, place: Place, sent: SentCalls) -> bool:
        """Tell whether *call*, of which a `{}` is held, says more; arguments replace that."""
        text = function(call).get("arguments")
        if are_real(text):
            self.seen.replace_blank(*place)
            sent[place[1]].forget_arguments()
        if text != "" or not has_arguments_alone(call):
            return True
        self._found.add(_BLANK)
        return False

    # -- what is held --------------------------------------------------------------

    def flush(self) -> list[Chunk]:
        """Note that no name follows."""
        self._unnamed.settle()
        return []

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what is held.

        What never got a name is not sent if that may have been lost: no call is sound then.
        """
        self._begin()
        released = self._unnamed.release(indexes, self.seen.n)
        self.seen.unnamed = self._unnamed.choices
        parts = [] if self.seen.holes else self._released(released)
        for call, text in self._arguments.release(indexes, self._calls):
            self._found.add(_PARTS)
            more = {"index": call.at, "function": {"arguments": text}}
            parts += _alone(self._frame, call.choice, [more])
        return parts

    def _released(self, due: list[tuple[OpenCall, Chunk]]) -> list[Chunk]:
        """Return chunks with what has waited for a name, and is *due* now."""
        parts: list[Chunk] = []
        for call, held in due:
            if call.at is None and not name_of(held):
                # No name came, so it is no other call than what was sent with its id, or
                # without arguments.
                sent = self._calls(call.choice)
                call.at = sent.with_id(brief(held.get("id")))
                if call.at is None and len(due) == 1 and _WRONG in self.on:
                    call.at = self._open.begun(held, sent)
                if call.at is not None:
                    held["index"] = call.at
        # What goes on with a call that was sent would not have waited.
        for call, held in sorted(due, key=lambda each: each[0].at is None):
            self._found.add(_LATE)
            draft = self._draft(call.choice)
            if fragments := self._named_fragments(call, held):
                parts += _alone(self._frame, call.choice, fragments)
            for each in fragments:
                draft.note(each, self.seen.room)
        return parts

    def undo(self, n: int) -> None:
        """Hold what was held before the event; other calls in it are sent as received."""
        for choice in self.seen.choices.values():
            choice.calls.plain = -1
        if self._open.undo(n):
            self._unnamed.undo(n)
        self._drafts.clear()
        for call in self._touched:
            if not (call.held.fragment or call.opened(self._calls(call.choice))):
                call.at, call.is_named = call.number, True


def _alone(frame: Chunk, index: int, fragments: list[Chunk]) -> list[Chunk]:
    """Return the chunk in which *fragments* of choice *index* are sent, maybe in parts."""
    chunk = chunk_of(frame, index, {"tool_calls": fragments})
    return part_calls(chunk) or [chunk]


def _is_repeated(opened: SentCall | None, call: Chunk) -> bool:
    if opened is None or not call.get("id") or brief(call["id"]) != opened.id:
        return False
    arguments = function(call).get("arguments")
    if not isinstance(arguments, str) or arguments[:1] + arguments[-1:] != "{}":
        return False
    return opened.has_arguments(arguments)


def _put_index(fragment: Chunk, at: int) -> bool:
    """Give *fragment* the index *at*; tell whether it had another, or none."""
    is_other = bool(fragment.get("index") != at)
    put_first(fragment, "index", at)
    return is_other
