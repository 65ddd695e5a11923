"""Cumulative texts: each delta of a stream repeats all text so far, and may continue it.

One delta does not prove that: "ha" and "haha" may both be intended. Three consecutive
deltas prove it: each starts with the previous delta and is longer. The last one extends
at least 16 characters, five of them distinct: no ordinary text does that. By then they
have been sent.

So the addon remembers it per host, port, model and client, for content and for reasoning
separately, unless another delta of that text did not fit. From then on, such a text is
repaired from its first delta on:

* A delta that repeats at least that much text is cut at once.
* A delta that repeats less may do so by chance: it is held for the next delta, for at
  most 100 ms (`HoldingFix.waiting`), and then counts as a repetition.
* A delta that does not start with the accumulated text disproves it, and so do very many
  short ones. The addon forgets the entry, and sends all held deltas as received first.

Arguments of calls need no memory: where no object may follow another, the second
fragment proves it (`chat/state/repeated_arguments.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..chat.chunks.chunk import Chunk, chunk_of, deltas, envelope_of
from ..chat.state.asked import Asked
from ..chat.state.stream_state import Seen
from .fix import HoldingFix

_PROOF = 3  # consecutive deltas that start with the previous delta
_LENGTH = 16  # characters that the last of those extends
_LETTERS = 5  # distinct ones: a growing line of dashes or blanks proves nothing
_MAX_TEXTS = 8  # texts that are watched
_DOUBTS = 2  # deltas that do not fit, after which a text is not cumulative
_MAX_HELD = 64  # deltas of a text that are held: more disprove it


@dataclass(slots=True)  # not frozen: that takes three times as long to make
class _Text:
    """The state of one text. It does not change.

    Attributes:
        last: The last delta.
        times: How many consecutive deltas extended the previous one.
        doubts: How many did not.
        is_known: Whether texts have been proved cumulative here before.
        held: Held deltas, which may repeat text by chance.
        sent: How many characters of the last delta have been sent, if `is_known`.
    """

    last: str = ""
    times: int = 0
    doubts: int = 0
    is_known: bool = False
    held: tuple[str, ...] = ()
    sent: int = 0

    def may_repeat(self, text: str) -> bool:
        """Tell whether *text* may repeat this one, or has to be compared anyway."""
        return self.is_known or self.times > 0 or text.startswith(self.last)


type _At = tuple[int, str]
"""A choice, and a key of its deltas."""


class CumulativeTextFix(HoldingFix):
    """Sends what is new of one kind of text, once it has proved to be cumulative."""

    kind: ClassVar[str]
    """Of `KINDS`: content and reasoning are judged separately."""
    keys: ClassVar[tuple[str, ...]]
    """Where such a text stands in a delta."""

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._growth = asked.growth
        self._texts: dict[_At, _Text | None] = {}  # None once it is not cumulative
        self._before = (-1, self._texts)  # an event's number, and the state before it
        self._frame: Chunk = {}  # of the chunk whose text is held

    @property
    def watched(self) -> set[str]:
        """Its keys, as long as a text may still turn out to be cumulative."""
        is_clear = self._texts and not any(self._texts.values())
        return set() if is_clear else {*self.keys}

    @property
    def waiting(self) -> object:
        """Which texts are held, to be compared; None if none is."""
        return [at for at, each in self._texts.items() if each and each.held] or None

    def edit(self, chunk: Chunk) -> bool:
        """Leave only new text in the deltas."""
        changed = False
        for index, _, delta in deltas(chunk):
            for key in self.keys:
                text = delta.get(key)
                if isinstance(text, str) and text:
                    delta[key] = self._read((index, key), text)
                    changed |= delta[key] != text
        self._frame = envelope_of(chunk) if self.waiting else {}
        return changed

    def _read(self, at: _At, text: str) -> str:
        """Return the new part of *text*."""
        if at not in self._texts and len(self._texts) >= _MAX_TEXTS:
            return text
        known = self._texts.get(at, _Text(is_known=self.kind in self._growth.known))
        if known is None:
            return text
        read = self._repeated if known.is_known else self._new
        sent, now = read(known, text)
        if self._before[0] != self.seen.n:
            self._before = self.seen.n, dict(self._texts)
        self._texts[at] = now
        return sent

    def reads(self, index: int, keys: Sequence[str], text: str) -> bool:
        """Tell whether *text* may repeat the one before; if not, note it."""
        texts = self._texts
        found = [(at, texts[at]) for key in keys if (at := (index, key)) in texts]
        if not found or any(each and each.may_repeat(text) for _, each in found):
            return True
        for at, known in found:
            texts[at] = self._new(known, text)[1] if known else None
        return False

    def _new(self, known: _Text, text: str) -> tuple[str, _Text | None]:
        """The part to send of a *text* where none has been proved cumulative."""
        last = known.last
        grew = bool(last) and len(text) > len(last) and text.startswith(last)
        is_again = known.times >= _PROOF and text == last
        times = known.times + 1 if grew or is_again else 0
        doubts = known.doubts + (bool(last) and not times)
        now = _Text(text, times, doubts) if doubts < _DOUBTS else None
        if times < _PROOF or not _is_telling(last):
            return text, now
        if not doubts:
            self._growth.add(self.kind)
        return text[len(last) :], now

    def _repeated(self, known: _Text, text: str) -> tuple[str, _Text | None]:
        """The part to send of a *text* where others have been proved cumulative."""
        last = known.last
        if not text.startswith(last) or len(known.held) >= _MAX_HELD:
            self._growth.forget(self.kind)
            return "".join(known.held) + text, None
        if last and not _is_telling(last):
            return "", replace(known, last=text, held=(*known.held, text))
        return text[known.sent :], replace(known, last=text, held=(), sent=len(text))

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what is new of the held texts."""
        due = list[Chunk]()
        for at, each in self._texts.items():
            if each and each.held and (indexes is None or at[0] in indexes):
                text = each.last[each.sent :]
                due += [chunk_of(self._frame, at[0], {at[1]: text})] if text else []
                self._texts[at] = replace(each, held=(), sent=len(each.last))
        return due

    def undo(self, n: int) -> None:
        """Restore the state before event *n*, which is sent as received."""
        if self._before[0] == n:
            self._texts = dict(self._before[1])


def _is_telling(text: str) -> bool:
    """Tell whether *text* is so long that no ordinary text repeats it by chance."""
    return len(text) >= _LENGTH and len(set(text)) >= _LETTERS
