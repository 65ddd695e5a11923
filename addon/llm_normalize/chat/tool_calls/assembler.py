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
| unnamed | more than 64 KiB, or the choice ends | what is held is sent | the same |
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

"New", "open" and "complete" are what `Seen` has noted as sent; of a chunk with several
fragments, those before count as sent too.
"""

from collections.abc import Container

from ...wire.json_text import Json
from ..chunks.chunk import (
    Chunk,
    calls,
    deltas,
    envelope_of,
    function,
    index_of,
    put_calls,
)
from ..chunks.chunk_split import part_calls
from ..stream_state import Asked, Seen
from .call_indexes import CallIndexes
from .call_records import CallRecords, Place
from .repeated_arguments import begins_object
from .sent_arguments import SentArguments
from .sent_call import Call, SentCalls, brief
from .unnamed_calls import Unnamed

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
"""The names of the quirks, in the order in which they are repaired."""

_ARGUMENTS = {"index", "function", "arguments"}


class Assembler:
    """Assembles the calls of one stream.

    Args:
        asked: What the request asked.
        seen: What has been sent.
        on: The names of the quirks that are repaired; it may have others.
    """

    def __init__(self, asked: Asked, seen: Seen, on: Container[str]) -> None:
        self._asked, self._seen = asked, seen
        self._on = frozenset(name for name in QUIRKS if name in on)
        self._tools = asked.declared
        self._records = CallRecords()
        self._indexes = CallIndexes(self._records, self._tools)
        self._unnamed = Unnamed(self._records, self._tools)
        self._arguments = SentArguments(self._records, self._tools)
        self._frame: Chunk = {}  # of what is held
        self._blank: Place | None = None  # the call whose `{}` waits
        self._is_replaced = False  # by other arguments
        # Of the chunk at hand:
        self._found: set[str] = set()
        self._drafts: dict[int, SentCalls] = {}
        self._first: list[Chunk] = []  # what is sent before it
        self._is_apart = False  # whether a fragment became several

    @property
    def repaired(self) -> list[str]:
        """The quirks that were repaired last."""
        return [name for name in QUIRKS if name in self._found]

    @property
    def waiting(self) -> object:
        """Which calls have no name yet; None if none waits."""
        return self._unnamed.waiting

    @property
    def is_busy(self) -> bool:
        """Whether the text of arguments determines what is sent of them."""
        return self._arguments.is_busy

    # -- what arrives --------------------------------------------------------------

    def take(self, chunk: Chunk) -> list[Chunk]:
        """Leave in *chunk* what is sent of its fragments; return it, maybe in parts.

        What was held goes before it when it is too much.
        """
        self._begin()
        try:
            return self._take(chunk)
        except Exception:
            self._on = frozenset()  # what is held is sent as it is
            raise

    def _take(self, chunk: Chunk) -> list[Chunk]:
        for index, _, delta in deltas(chunk):
            if _WRAPPED in self._on:
                self._unwrap(delta.get("function_call"))
            if not (found := calls(delta)):
                continue
            several, remaining = len(found) > 1, list[Chunk]()
            for call in found:
                sent = self._fragments(index, call)
                remaining += sent
                for each in sent if several else ():
                    self._draft(index).note(each, self._seen.room)
            if remaining != found:
                put_calls(delta, remaining)
        self._seen.unnamed = self._unnamed.choices
        if _LATE in self._found or self.is_busy:
            self._frame = envelope_of(chunk)
        is_apart = self._is_apart or _WRONG in self._found
        return [*self._first, *((is_apart and part_calls(chunk)) or [chunk])]

    def _begin(self) -> None:
        self._found.clear()
        self._drafts.clear()
        self._first, self._is_apart = [], False

    def _calls(self, index: int) -> SentCalls:
        """Return the calls that choice *index* has sent, with those of the chunk at hand."""
        draft = self._drafts.get(index)
        known = self._seen.choices.get(index)
        return draft or (SentCalls() if known is None else known.calls)

    def _draft(self, index: int) -> SentCalls:
        draft = self._drafts.get(index)
        if draft is None:
            draft = self._drafts[index] = self._calls(index).draft()
        return draft

    def _fragments(self, index: int, call: Chunk) -> list[Chunk]:
        """Return what is sent of choice *index* for the fragment *call*."""
        if _MISSING in self._on and self._indexes.assign(
            index, call, self._calls(index)
        ):
            self._found.add(_MISSING)
        due: Chunk | None = call
        if _LATE in self._on:
            due = self._named(index, call)
            if due != call:
                self._found.add(_LATE)
            if too_much := self._unnamed.overflow(self._seen.n):
                self._first += self._released(too_much)
        return [] if due is None else self._named_fragments(index, due)

    def _named(self, index: int, call: Chunk) -> Chunk | None:
        if call.get("name") and not call.get("function"):
            return call  # it has one, if not in its place
        identity = brief(call.get("id"))
        known = self._calls(index).where(identity) if identity else ()
        return self._unnamed.take(index, call, self._seen.n, opened=bool(known))

    def _named_fragments(self, index: int, call: Chunk) -> list[Chunk]:
        """Return what is sent for *call*, which waits for no name."""
        sent, on = self._calls(index), self._on
        if _WRAPPED in on:
            self._unwrap(function(call))
        if _WRONG in on and self._indexes.place(index, call, sent):
            self._found.add(_WRONG)
        at = index_of(call)
        opened = sent.get(at)
        if _ID in on and self._is_id_taken(call, (index, at), sent):
            call["id"] = self._asked.make_id("call_", index, at)
            self._found.add(_ID)
        if _REPEATED in on and _is_repeated(opened, call):
            self._found.add(_REPEATED)
            return []
        if _HEAD in on and opened is not None and not self._adds(call, opened):
            return []
        if self._blank == (index, at) and not self._is_after_blank(call, sent):
            return []
        if _PARTS not in on:
            return [call]
        found = self._arguments.fragments(index, call, sent, self._seen.n)
        if found != [call]:
            self._found.add(_PARTS)
            self._is_apart |= len(found) > 1
        return found

    def _unwrap(self, inner: Json) -> None:
        """Cut the wrapping of the name in *inner*, if one that is declared is in it."""
        given = inner.get("name") if isinstance(inner, dict) else None
        if given and given != (meant := self._tools.meant(given)):
            inner["name"] = meant
            self._found.add(_WRAPPED)

    def _is_id_taken(self, call: Chunk, place: Place, sent: SentCalls) -> bool:
        """Tell whether *call* opens with the id of another, or goes on with that."""
        identity, opened = call.get("id"), sent.get(place[1])
        if not (isinstance(identity, str) and identity and sent.where(brief(identity))):
            return False
        if opened is None:
            return bool(function(call).get("name"))
        return bool(opened.id == self._asked.make_id("call_", *place) != identity)

    def _adds(self, call: Chunk, opened: Call) -> bool:
        """Leave what *call* adds to the call that was *opened*; tell whether it adds any."""
        if not isinstance(call.get("index"), int) or opened.is_another(
            call, self._tools
        ):
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

    # -- a `{}` that may not be all ------------------------------------------------

    def holds_blank(self, chunk: Chunk) -> bool:
        """Tell whether *chunk* is to be held: it has a first `{}`, and nothing else."""
        self._blank = self._blank_of(chunk)
        return self._blank is not None

    def drops_blank(self) -> bool:
        """Tell whether the `{}` that is held is dropped, for others came; it waits no more."""
        is_replaced, self._is_replaced, self._blank = self._is_replaced, False, None
        return is_replaced

    def _blank_of(self, chunk: Chunk) -> Place | None:
        found = [
            (index, call) for index, _, each in deltas(chunk) for call in calls(each)
        ]
        if len(found) != 1 or "arguments" not in (inner := function(found[0][1])):
            return None
        (index, call), first = found[0], chunk["choices"][0].get("delta") or {}
        known = self._seen.choice(index).calls.get(index_of(call))
        takes_any = self._tools.names - self._tools.bare
        if known is None or known.full_name not in takes_any:
            return None
        if first.keys() != {"tool_calls"} or _keys_of(call) != _ARGUMENTS:
            return None
        is_blank = _is_empty(inner["arguments"]) and _is_empty(known.arguments)
        return (index, index_of(call)) if is_blank else None

    def _is_after_blank(self, call: Chunk, sent: SentCalls) -> bool:
        """Tell whether *call* of which a `{}` is held says more; arguments replace that."""
        assert self._blank is not None
        index, at = self._blank
        text = function(call).get("arguments")
        if isinstance(text, str) and begins_object(text) and not _is_empty(text):
            for each in (self._seen.choice(index).calls, sent):
                each[at].forget_arguments()
            self._is_replaced = True
        if text != "" or _keys_of(call) != _ARGUMENTS:
            return True
        self._found.add(_BLANK)
        return False

    # -- what is held --------------------------------------------------------------

    def end(self, indexes: set[int] | None, *, briefly: bool) -> list[Chunk]:
        """Return what is held of the choices *indexes*, which end; of all if None.

        What never got a name is not sent if this is asked *briefly* after it was held, nor
        if the name may have been lost: no call is sound then.
        """
        self._begin()
        parts = []
        if not briefly:
            released = self._unnamed.release(indexes, self._seen.n)
            self._seen.unnamed = self._unnamed.choices
            parts = [] if self._seen.holes else self._released(released)
        for (index, at), text in self._arguments.release(indexes, self._calls):
            self._found.add(_PARTS)
            more = {"index": at, "function": {"arguments": text}}
            parts += _alone(self._frame, index, [more])
        return parts

    def _released(self, due: list[tuple[int, Chunk]]) -> list[Chunk]:
        """Return chunks with the calls *due*, which have waited for a name."""
        parts: list[Chunk] = []
        for index, call in due:
            self._found.add(_LATE)
            draft = self._draft(index)
            if fragments := self._named_fragments(index, call):
                parts += _alone(self._frame, index, fragments)
            for each in fragments:
                draft.note(each, self._seen.room)
        return parts

    def settle(self) -> None:
        """Note that no name follows."""
        self._unnamed.settle()

    def undo(self, n: int) -> None:
        """Hold what was held before event *n*, the last one."""
        if self._records.undo(n):
            self._unnamed.undo(n)


def _alone(frame: Chunk, index: int, fragments: list[Chunk]) -> list[Chunk]:
    """Return the chunk in which *fragments* of choice *index* are sent, maybe in parts."""
    choice = {"index": index, "delta": {"tool_calls": fragments}, "finish_reason": None}
    chunk = {**frame, "choices": [choice]}
    return part_calls(chunk) or [chunk]


def _is_repeated(opened: Call | None, call: Chunk) -> bool:
    if opened is None or not call.get("id") or brief(call["id"]) != opened.id:
        return False
    arguments = function(call).get("arguments")
    if not isinstance(arguments, str) or arguments[:1] + arguments[-1:] != "{}":
        return False
    return opened.has_arguments(arguments)


def _keys_of(call: Chunk) -> set[str]:
    return call.keys() | function(call).keys()


def _is_empty(text: Json) -> bool:
    return isinstance(text, str) and text.strip() == "{}"
