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
  most 100 ms (`Fix.waiting`), and then counts as a repetition.
* A delta that does not start with the accumulated text disproves it, and so do very many
  short ones. The addon forgets the entry, and sends all held deltas as received first.

Arguments of calls need no memory: where no object may follow another, the second
fragment proves it (`repeated_arguments`).
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from .chunk import Chunk, deltas, envelope_of

_PROOF = 3  # consecutive deltas that start with the previous delta
_LENGTH = 16  # characters that the last of those extends
_LETTERS = 5  # distinct ones: a growing line of dashes or blanks proves nothing
_MAX_TEXTS = 8  # texts that are watched
_DOUBTS = 2  # deltas that do not fit, after which a text is not cumulative
_MAX_HELD = 64  # deltas of a text that are held: more disprove it
_PLACES = 256
GOES_ON = "finish"
"""What is remembered where a choice has gone on after its finish reason, which then waits
for the next event (`repair/machine`)."""
KINDS = ("content", "reasoning", GOES_ON)


class ProvedGrowth:
    """Where texts have been proved cumulative, or have gone on after a finish reason.

    The least recently used source goes first.

    Args:
        most: How many sources are remembered.
    """

    def __init__(self, most: int = _PLACES) -> None:
        self._proved: OrderedDict[Hashable, None] = OrderedDict()
        self._most = most

    def kinds(self, source: Hashable) -> set[str]:
        """The facts proved of *source*: kinds of text, and `GOES_ON`."""
        if not self._proved:
            return set()  # nearly always
        found = {kind for kind in KINDS if (source, kind) in self._proved}
        for kind in found:
            self._proved.move_to_end((source, kind))
        return found

    def add(self, source: Hashable) -> None:
        """Remember *source*, and what has been proved of it."""
        self._proved[source] = None
        if len(self._proved) > self._most:
            self._proved.popitem(last=False)

    def forget(self, source: Hashable) -> None:
        """Forget *source*."""
        self._proved.pop(source, None)


class Growth:
    """Which kinds of text are known to be cumulative in one answer, or to go on.

    What other answers prove meanwhile does not count.

    Args:
        proved: What has been proved, of which sources.
        source: Where the answer comes from; None is never remembered.
    """

    def __init__(self, proved: ProvedGrowth, source: Hashable = None) -> None:
        self.source = source
        self.known = set[str]() if source is None else proved.kinds(source)
        """The kinds of text that have been proved cumulative, and `GOES_ON`."""
        self._proved = proved

    def add(self, kind: str) -> None:
        """Remember that texts of a *kind* are cumulative here, or go on (`GOES_ON`)."""
        if self.source is not None:
            self.known.add(kind)
            self._proved.add((self.source, kind))

    def forget(self, kind: str) -> None:
        """Forget that texts of a *kind* are cumulative here."""
        self.known.discard(kind)
        self._proved.forget((self.source, kind))


NO_GROWTH = Growth(ProvedGrowth(0), None)
"""Remembers nothing."""


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


class GrowingTexts:
    """The texts of a stream that may be cumulative.

    Args:
        growth: What is known about their source.
        kind: Their kind: content and reasoning are judged separately.
    """

    def __init__(self, growth: Growth, kind: str) -> None:
        self._growth, self._kind = growth, kind
        self._texts: dict[_At, _Text | None] = {}  # None once it is not cumulative
        self._before = (-1, self._texts)  # an event's number, and the state before it
        self._frame: Chunk = {}  # of the chunk whose text is held
        self.are_clear = False
        """Whether no text may still turn out to be cumulative."""
        self.waiting: object = None
        """Which texts are held, to be compared; None if none is."""

    def _note(self) -> None:
        """Note what the texts are now."""
        texts = self._texts
        self.are_clear = bool(texts) and not any(texts.values())
        held = [] if self.are_clear else texts.items()
        self.waiting = [at for at, each in held if each and each.held] or None

    def cut(self, chunk: Chunk, keys: Iterable[str], n: int) -> bool:
        """Leave only new text under *keys* in the deltas of *chunk*, from event *n*.

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
        self._note()
        self._frame = envelope_of(chunk) if self.waiting else {}
        return changed

    def release(self, indexes: set[int] | None) -> list[Chunk]:
        """Return chunks with the held text of the choices *indexes*, or of all."""
        choices = [
            {"index": at, "delta": {key: text}, "finish_reason": None}
            for at, key, text in self.end(indexes)
        ]
        return [{**self._frame, "choices": [choice]} for choice in choices]

    def read(self, index: int, key: str, text: str, n: int) -> str:
        """Return the new part of *text* under *key* of choice *index*, in event *n*."""
        at = index, key
        if at not in self._texts and len(self._texts) >= _MAX_TEXTS:
            return text
        known = self._texts.get(at, _Text(is_known=self._kind in self._growth.known))
        if known is None:
            return text
        read = self._repeated if known.is_known else self._new
        sent, now = read(known, text)
        if self._before[0] != n:
            self._before = n, dict(self._texts)
        self._texts[at] = now
        return sent

    def pass_by(self, index: int, keys: Iterable[str], text: str) -> bool:
        """Note a *text* that does not repeat the one before; tell whether that is so.

        Args:
            index: Its choice.
            keys: Where it stands, in a delta that is otherwise like the one before.
            text: It is not empty.
        """
        texts = self._texts
        found = [(at, texts[at]) for key in keys if (at := (index, key)) in texts]
        if not found or any(each and each.may_repeat(text) for _, each in found):
            return False
        for at, known in found:
            texts[at] = self._new(known, text)[1] if known else None
        self._note()
        return True

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
            self._growth.add(self._kind)
        return text[len(last) :], now

    def _repeated(self, known: _Text, text: str) -> tuple[str, _Text | None]:
        """The part to send of a *text* where others have been proved cumulative."""
        last = known.last
        if not text.startswith(last) or len(known.held) >= _MAX_HELD:
            self._growth.forget(self._kind)
            return "".join(known.held) + text, None
        if last and not _is_telling(last):
            return "", replace(known, last=text, held=(*known.held, text))
        return text[known.sent :], replace(known, last=text, held=(), sent=len(text))

    def end(self, indexes: set[int] | None) -> list[tuple[int, str, str]]:
        """Return (choice, key, text) of held text: of the choices *indexes*, or of all."""
        found = []
        for at, each in self._texts.items():
            if each and each.held and (indexes is None or at[0] in indexes):
                found.append((*at, each.last[each.sent :]))
                self._texts[at] = replace(each, held=(), sent=len(each.last))
        self._note()
        return [each for each in found if each[2]]

    def undo(self, n: int) -> None:
        """Restore the state before event *n*, which is sent as received."""
        if self._before[0] == n:
            self._texts = dict(self._before[1])
            self._note()


def _is_telling(text: str) -> bool:
    """Tell whether *text* is so long that no ordinary text repeats it by chance."""
    return len(text) >= _LENGTH and len(set(text)) >= _LETTERS
