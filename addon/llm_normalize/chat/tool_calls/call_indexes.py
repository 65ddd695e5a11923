"""The index of each call of a stream: the provider's, and the one under which it is sent.

A provider may leave it out, use one for two calls, or count from 1. What it sends under
one index is a call, or several in turn: see `CallRecord`.
"""

from ..chunks.chunk import Chunk, function, given_index, name_of, put_first
from ..state.declared_tools import Tools
from ..state.sent_call import SentCall, SentCalls, brief
from ..state.stream_state import MAX_TRACKED
from .call_records import CallRecord, CallRecords, Place


class CallIndexes:
    """The indexes of a stream's calls; of at most `MAX_TRACKED`.

    Args:
        records: What is known of the calls.
        tools: The tools that the request declares.
    """

    def __init__(self, records: CallRecords, tools: Tools) -> None:
        self._tools, self._records = tools, records
        self._last: dict[int, int] = {}  # by choice: where its last fragment was
        self._by_id: dict[tuple[int, str], int] = {}  # where the last with an id was
        self._turns: dict[tuple[Place, str], int] = {}
        """Our index of the call that opened at a place with an id: they may take turns."""

    def assign(self, index: int, call: Chunk, sent: SentCalls) -> bool:
        """Give *call* of choice *index* an index, if it has none, or one that was assigned.

        Returns:
            Whether that changed it.
        """
        identity, is_named = brief(call.get("id")), bool(name_of(call))
        theirs = given_index(call)
        if theirs is None or theirs < 0:
            at = self._counted(index, call, sent)
        else:
            at = self._given((index, theirs), identity, is_named=is_named)
        is_own = self._is_own(index, self._last.get(index)) and not self._is_own(
            index, at
        )
        if not is_own and (index in self._last or len(self._last) < MAX_TRACKED):
            self._last[index] = at
        key = index, identity
        if identity and (key in self._by_id or len(self._by_id) < MAX_TRACKED):
            self._by_id[key] = at
        changed = bool(call.get("index") != at)
        put_first(call, "index", at)
        return changed

    def _is_own(self, index: int, at: int | None) -> bool:
        record = None if at is None else self._records.get((index, at))
        return record is not None and record.is_own

    def _given(self, place: Place, identity: str, *, is_named: bool) -> int:
        """Return the index of a fragment that has one: an unused one if that is taken.

        It is taken if it was assigned to a call with another id, and that has no name yet
        or the fragment has one.
        """
        record, at = self._records.at(place), place[1]
        if record.given is None:
            is_other = bool(record.id and identity) and record.id != identity
            is_taken = is_other and (is_named or not record.has_name)
            if is_taken or record.is_moved:
                at = self._records.free(place[0])
                self._records.at((place[0], at)).is_moved = True
            record.given = at
        return record.given

    def _counted(self, index: int, call: Chunk, sent: SentCalls) -> int:
        """Return the index of the call that *call*, without one, opens or continues."""
        identity, is_named = brief(call.get("id")), bool(name_of(call))
        same = sent.where(identity)[-1:] if identity else [sent.last]
        opened = sent.get(same[0]) if same else None
        key = index, identity
        at = self._by_id.get(key) if identity else self._last.get(index)
        record = None if at is None else self._records.get((index, at))
        if not identity and function(call).get("name"):
            waits = record is not None and record.is_own and not record.has_name
            goes_on = waits or (opened is not None and not opened.name)
        elif opened is None:
            goes_on = at is not None or not identity
        else:
            goes_on = not (identity and opened.is_another(call, self._tools))
        if not goes_on:
            at = sent.last + 1
            record = self._records.at((index, at))
            if record.given is not None or record.is_own or record.is_moved:
                at = self._records.free(index)
                record = self._records.at((index, at))
            record.is_own, record.id, record.has_name = True, identity, is_named
            return at
        if at is None:
            at = max(same[0], 0)
            record = self._records.get((index, at))
        if is_named and record is not None and record.is_own:
            record.id, record.has_name = record.id or identity, True
        return at

    def place(self, index: int, call: Chunk, sent: SentCalls) -> bool:
        """Give *call* of choice *index* the index under which it is sent; tell if it is another.

        A call that opens under a taken index gets the next one, and so does its rest.
        """
        theirs = call.get("index")
        if not isinstance(theirs, int):
            return False
        record, place = self._records.at((index, theirs)), (index, theirs)
        named, turn = name_of(call), (place, brief(call.get("id")))
        ours = self._ours(record, call, turn, sent)
        if named and len(self._turns) < MAX_TRACKED:
            self._turns[turn] = ours
        if place not in self._records:
            return False  # one of too many
        record.ours = call["index"] = ours
        return ours != theirs

    def _ours(
        self, record: CallRecord, call: Chunk, turn: tuple[Place, str], sent: SentCalls
    ) -> int:
        identity, named = turn[1], name_of(call)
        again = self._turns.get(turn) if identity else None
        if again is not None:  # two calls may take turns under one index
            taken = sent.get(again)
            is_new = taken is not None and self._opens_anew(taken, call)
            return sent.last + 1 if is_new else again
        at = turn[0][1] if record.ours is None else record.ours
        is_new = record.ours is None and turn[0] in self._records
        opened = None if is_new else sent.get(at)
        elsewhere = opened is None or opened.id != identity
        same = sent.where(identity) if identity and elsewhere else []
        if opened is not None and not opened.is_another(call, self._tools):
            return same[0] if same and not named else at
        following, free = sent.last + 1, sent.get(at) is None
        if opened is None and named:
            return at if free and at < following else following
        return same[0] if same else (at if free else following)

    def _opens_anew(self, taken: SentCall, call: Chunk) -> bool:
        """Tell whether *call*, with the id under which *taken* opened, is not that again."""
        if taken.is_renamed(call, self._tools):
            return True
        given = function(call).get("arguments")
        is_again = isinstance(given, str) and taken.has_sent(given)
        own = {"id": taken.id}  # it may be made up
        return not is_again and taken.is_another(call | own, self._tools)
