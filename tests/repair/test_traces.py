"""Streams of one place share what they learned: every byte leaves as without that."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.chat.stream_state import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fast_path.trace import Place, holes
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.repair.words_in_stream import WordsInStream
from properties import test_recorded as recorded

STREAM = Asked(stream=True)
CAPTURES = sorted(Path(__file__).parents[1].glob("captures/*/*/response.sse"))
ON = tuple(fix for fix in FIXES if not fix.optional)
_LETTER = re.compile(rb"\\u[0-9a-fA-F]{4}|\\.|[A-Za-z]")


class Play:
    """One stream of a place, or of none."""

    def __init__(
        self, place: Place | None, asked: Asked = STREAM, fixes: Any = ON
    ) -> None:
        self.records: list[EventRecord] = []
        self.counted: list[Any] = []
        self.pipeline = WordsInStream(
            asked, fixes, self.records.append, "label", self._count, place=place
        )

    def _count(self, n: int, before: bytes, after: bytes, template: Any) -> bool:
        self.records.append(EventRecord(n, before, [after], list(template.fixes)))
        return True

    @property
    def long(self) -> int:
        """How many events went the long way."""
        return self.pipeline._templates.long

    def read(self, data: bytes) -> bytes:
        """Return what is sent for one read; `b""` is the end."""
        quick = self.pipeline.quick(data) if data else None
        if quick is not None:
            return quick
        out = self.pipeline.feed(data) if data else self.pipeline.end()
        return b"".join(out)

    def seen(self) -> tuple[Any, ...]:
        """Return what may be asked of it at any time."""
        pipeline = self.pipeline
        waits = pipeline.waiting is not None
        return waits, pipeline.holds, pipeline.events, pipeline.is_between

    def changed(self) -> list[Any]:
        return [
            (each.n, each.before, tuple(each.after), tuple(each.fixes), each.moved)
            for each in self.records
            if each.changed
        ]


def outcome(play: Play, reads: Iterable[bytes], *, paused: bool = False) -> Any:
    """Return what becomes of *reads*, and of each what may be seen."""
    steps = []
    for read in reads:
        steps.append((play.read(read), play.seen()))
        if paused and play.pipeline.waiting is not None:
            steps.append((b"".join(play.pipeline.release()), play.seen()))
    tokens = play.pipeline.tokens
    return steps, play.changed(), tokens, play.pipeline.abandon(), play.changed()


def varied(data: bytes, k: int) -> bytes:
    """Return *data* with another id, another time and other words."""
    around, found = holes(data)
    out = [around[0]]
    for (kind, _, value), then in zip(found, around[1:], strict=True):
        out += [_VARY[kind](value, k), then]
    return b"".join(out)


def _letters(text: bytes, k: int) -> bytes:
    def turn(match: re.Match[bytes]) -> bytes:
        if (letter := match.group())[:1] == b"\\":
            return letter
        begin = ord("a") if letter.islower() else ord("A")
        return bytes([begin + (letter[0] - begin + k) % 26])

    return _LETTER.sub(turn, text)


def _digits(text: bytes, k: int) -> bytes:
    return re.sub(rb"[0-9]", lambda digit: b"%d" % ((int(digit[0]) + k) % 10), text)


_VARY: dict[str, Callable[[bytes, int], bytes]] = {
    "text": _letters,
    "count": lambda count, k: b"%d" % (int(count) + k),
    "id": _digits,
    "created": lambda time, k: b"%d" % (int(time) + 1000 * k),
}


def events_of(data: bytes) -> list[bytes]:
    return [each for each in re.split(rb"(?<=\n\n)", data) if each]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def assert_same(data_: bytes, asked: Asked = STREAM) -> int:
    """Compare streams like *data_* that share what they learn with such that do not.

    Returns:
        How many events of the last one, whole, have been read.
    """
    place = Place()

    def compare(k: int, reads: Callable[[bytes], list[bytes]], **how: Any) -> int:
        play, data = Play(place, asked), reads(varied(data_, k))
        alone = Play(None, asked)
        assert outcome(play, data, **how) == outcome(alone, data, **how)
        return play.long

    def whole(data: bytes) -> list[bytes]:
        return [*events_of(data), b""]

    def broken_off(data: bytes) -> list[bytes]:
        return events_of(data)[:left]

    def in_parts(data: bytes) -> list[bytes]:
        return [*events_of(data)[:left], *cut(b"".join(events_of(data)[left:]), 9)]

    for k in range(3):
        long = compare(k, whole)
    compare(4, lambda data: [data, b""])
    compare(5, lambda data: [*cut(data, 61), b""])
    compare(6, whole, paused=True)
    count = len(events_of(data_))
    for left in {*range(min(count, 8)), *range(max(count - 4, 0), count)}:
        compare(7 + left, broken_off)
        compare(7 + left, in_parts)
    compare(8, whole)
    return long


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_capture_leaves_the_same_in_a_place_and_alone(path: Path) -> None:
    assert_same(path.read_bytes())


@pytest.mark.unmeasured
@pytest.mark.skipif(not recorded.ENTRIES, reason="no recorded answers")
@pytest.mark.parametrize("entry", recorded.select(stream=True))
def test_recorded_stream_leaves_the_same_in_a_place_and_alone(
    entry: dict[str, Any],
) -> None:
    assert_same(recorded.data_of(entry), recorded.asked_of(entry))
