"""Texts of a stream that grow: each delta holds all so far, and maybe more.

Nobody can tell that from one delta: "ha" and "haha" may be both meant. Proof is three deltas
in a row, each the whole one before and more, the last of them on top of 16 characters of
which five differ: no ordinary text does that. By then they have been sent.

So it is remembered of a place (host, port, model, client), of text and of reasoning each,
if no delta of it was anything else. Such a text is repaired from its first delta on:

* What repeats a text of that length is cut at once.
* What repeats less may still be chance: it waits for the next delta, or a moment
  (`Fix.waiting`), and is taken for growth then.
* A delta that does not begin with all so far says the contrary, and so do very many that
  may all be chance. The place is forgotten, and all that has waited is sent as received, before that delta.

Arguments of calls need no memory: where no object may follow, the second fragment tells
(`repeated_arguments`).
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from ..wire.json_text import frozen
from .chunks.chunk import Chunk, deltas, envelope_of

_PROOF = 3  # deltas in a row that begin with the whole one before them
_LENGTH = 16  # characters of the last of those
_LETTERS = 5  # different ones: a growing line of dashes or blanks proves nothing
_MOST = 8  # choices that are watched
_DOUBTS = 2  # deltas of a choice that are anything else: it does not tell all again
_WAITING = 64  # deltas of a text that wait: more are no text that grows
_PLACES = 256
KINDS = ("content", "reasoning")


class ProvedGrowth:
    """Where texts have been proved to grow; the place asked for longest ago goes first.

    Args:
        most: How many places are remembered.
    """

    def __init__(self, most: int = _PLACES) -> None:
        self._proved: OrderedDict[Hashable, None] = OrderedDict()
        self._most = most

    def kinds(self, place: Hashable) -> set[str]:
        """Return the kinds of text that have been proved to grow at *place*."""
        if not self._proved:
            return set()  # nearly always
        found = {kind for kind in KINDS if (place, kind) in self._proved}
        for kind in found:
            self._proved.move_to_end((place, kind))
        return found

    def add(self, place: Hashable) -> None:
        """Remember that texts grow at *place*."""
        self._proved[place] = None
        if len(self._proved) > self._most:
            self._proved.popitem(last=False)

    def forget(self, place: Hashable) -> None:
        """Remember nothing of *place*."""
        self._proved.pop(place, None)


class Growth:
    """What is known of the growth of one answer's texts, by their kind.

    What other answers prove meanwhile is not known.

    Args:
        proved: What is remembered of all places.
        place: Where the answer comes from; nothing is remembered of None.
    """

    def __init__(self, proved: ProvedGrowth, place: Hashable = None) -> None:
        self.place = place
        self.known = set[str]() if place is None else proved.kinds(place)
        """The kinds of text that have been proved to grow."""
        self._proved = proved

    def come_from(self, place: Hashable) -> None:
        """Know where the answer comes from, before any of it is read."""
        self.place, self.known = place, self._proved.kinds(place)

    def add(self, kind: str) -> None:
        """Remember that texts of a *kind* grow here."""
        if self.place is not None:
            self.known.add(kind)
            self._proved.add((self.place, kind))

    def forget(self, kind: str) -> None:
        """Remember nothing of texts of a *kind* here."""
        self.known.discard(kind)
        self._proved.forget((self.place, kind))


NO_GROWTH = Growth(ProvedGrowth(0), None)
"""Nothing is remembered."""


@dataclass(frozen=True, slots=True)
class _Text:
    """What is known of one text.

    Attributes:
        last: The last delta.
        times: How often in a row it grew.
        doubts: How often not.
        is_known: Whether texts have been proved to grow here before.
        held: What waits: deltas that may be chance.
        sent: How many characters of the last delta have been sent, where it is known.
    """

    last: str = ""
    times: int = 0
    doubts: int = 0
    is_known: bool = False
    held: tuple[str, ...] = ()
    sent: int = 0


type _At = tuple[int, str]
"""A choice, and a key of its deltas."""


class GrowingTexts:
    """The texts of a stream, as far as they may grow.

    Args:
        growth: What is known of where they come from.
        kind: What they are: text grows by itself, and so does reasoning.
    """

    def __init__(self, growth: Growth, kind: str) -> None:
        self._growth, self._kind = growth, kind
        self._texts: dict[_At, _Text | None] = {}  # None once it is clear
        self._before = (-1, self._texts)  # an event's number, and what was known then
        self._frame: Chunk = {}  # of the chunk whose text waits

    @property
    def state(self) -> object:
        """What decides on the next deltas, to be compared later.

        A text that has not grown so far counts as one that never will: the same is sent of
        it. Until all `are_clear`, their words decide, too.
        """
        growing = [
            (at, each)
            for at, each in self._texts.items()
            if each and (each.times or each.is_known)
        ]
        return tuple(self._texts), growing, frozen(self._frame)

    @property
    def are_clear(self) -> bool:
        """Whether no text may turn out to grow."""
        return bool(self._texts) and not any(self._texts.values())

    @property
    def waiting(self) -> object:
        """Which texts wait, to be compared; None if none does."""
        return [at for at, each in self._texts.items() if each and each.held] or None

    def cut(self, chunk: Chunk, keys: Iterable[str], n: int) -> bool:
        """Leave what is new under *keys* in the deltas of *chunk*, which event *n* has.

        Returns:
            Whether anything was cut off.
        """
        changed = False
        for index, _, delta in deltas(chunk):
            for key in keys:
                text = delta.get(key)
                if isinstance(text, str) and text:
                    sent = self.read(index, key, text, n)
                    if sent != text:
                        delta[key] = sent
                        changed = True
        self._frame = envelope_of(chunk) if self.waiting else {}
        return changed

    def release(self, indexes: set[int] | None) -> list[Chunk]:
        """Return chunks with what waits of the choices *indexes*, or of all."""
        choices = [
            {"index": at, "delta": {key: text}, "finish_reason": None}
            for at, key, text in self.end(indexes)
        ]
        return [{**self._frame, "choices": [choice]} for choice in choices]

    def read(self, index: int, key: str, text: str, n: int) -> str:
        """Return what is new of a *text* under *key* of choice *index*, in event *n*."""
        at = index, key
        if at not in self._texts and len(self._texts) >= _MOST:
            return text
        known = self._texts.get(at, _Text(is_known=self._kind in self._growth.known))
        if known is None:
            return text
        read = self._repeated if known.is_known else self._new
        sent, now = read(known, text)
        if now != known:
            if self._before[0] != n:
                self._before = n, dict(self._texts)
            self._texts[at] = now
        return sent

    def _new(self, known: _Text, text: str) -> tuple[str, _Text | None]:
        """Return what is sent of a *text* where none has been proved to grow."""
        last = known.last
        grew = bool(last) and len(text) > len(last) and text.startswith(last)
        is_again = known.times >= _PROOF and text == last
        times = known.times + 1 if grew or is_again else 0
        doubts = known.doubts + (bool(last) and not times)
        now = _Text(text, times, doubts) if doubts < _DOUBTS else None
        if times < _PROOF or not _is_telling(last):
            return text, now
        if not doubts:
            self._growth.add(self._kind)
        return text[len(last) :], now

    def _repeated(self, known: _Text, text: str) -> tuple[str, _Text | None]:
        """Return what is sent of a *text* where others have been proved to grow."""
        last = known.last
        if not text.startswith(last) or len(known.held) >= _WAITING:
            self._growth.forget(self._kind)
            return "".join(known.held) + text, None
        if last and not _is_telling(last):
            return "", replace(known, last=text, held=(*known.held, text))
        return text[known.sent :], replace(known, last=text, held=(), sent=len(text))

    def end(self, indexes: set[int] | None) -> list[tuple[int, str, str]]:
        """Return (choice, key, text) of what waits of the choices *indexes*, or of all."""
        found = []
        for at, each in self._texts.items():
            if each and each.held and (indexes is None or at[0] in indexes):
                found.append((*at, each.last[each.sent :]))
                self._texts[at] = replace(each, held=(), sent=len(each.last))
        return [each for each in found if each[2]]

    def undo(self, n: int) -> None:
        """Know what was known before event *n*, which passes as received."""
        if self._before[0] == n:
            self._texts = dict(self._before[1])


def _is_telling(text: str) -> bool:
    """Tell whether no ordinary text begins with *text* again."""
    return len(text) >= _LENGTH and len(set(text)) >= _LETTERS
