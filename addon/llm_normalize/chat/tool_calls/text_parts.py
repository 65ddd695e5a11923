"""Split a streamed text into words, thoughts and calls.

Three markers open a thought or a call: `<think>` or the like at the start of the text, the openings of
`text_calls.CALL_SYNTAX`, and the headers of harmony messages. Calls count anywhere. Thoughts
and harmony messages count only at the start of the text, or directly after one another;
elsewhere the text is only mentioning them. Recognised markers are removed; everything else
stays as received.

Text that is held too long is sent as words, but is still parsed: a call that ends after a
pause is recognised although its start has been sent as text.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple

from ..chunks.chunk import Chunk
from ..state.declared_tools import NONE, Tools
from ..state.repeated_arguments import is_object
from ..state.stream_state import MAX_TRACKED
from . import harmony
from .call_readers import Calls
from .text_calls import CALL_SYNTAX, ENDS, Passage, message_call, passage_at

_TAGS = ("think", "thinking", "thought", "reasoning", "seed:think", "mm:think")
_THOUGHTS = {
    **{f"<{tag}>": f"</{tag}>" for tag in _TAGS},
    "[THINK]": "[/THINK]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
}
"""How models mark their thoughts: by `think` most, `thought` Gemma, `reasoning` gpt-oss on
Bedrock, `seed:think` Seed, `mm:think` MiniMax M3, `[THINK]` Mistral, and the last one Kimi VL."""
_LONG = 256 * 1024  # characters that may be held for the end of a call
_TRIES = 16  # end markers that a call may mention, and calls that may lack theirs
_TAG = 64  # characters: no end marker is longer
_MARKERS = (harmony.START, harmony.CHANNEL)


class Mode(Enum):
    """What the current text is."""

    BEGIN = auto()
    """The start of the text or of a harmony message, or the text after a call."""
    TEXT = auto()
    """Text, in which calls may follow."""
    ANSWER = auto()
    """A harmony message whose markers are removed."""
    OTHER = auto()
    """A harmony message whose markers stay."""
    ANALYSIS = auto()
    """A harmony message that is a thought."""
    THINK = auto()
    """A thought up to the marker that closes it."""


_ALONE = {
    Mode.TEXT: (),
    Mode.ANSWER: (*_MARKERS, *harmony.ENDS),
    Mode.OTHER: (*_MARKERS, *harmony.ENDS),
    Mode.ANALYSIS: (harmony.START, *harmony.ENDS),
}
_SOUGHT = {
    (mode, has_tools): (*tags, *CALL_SYNTAX, *_MARKERS) if has_tools else tags
    for mode, tags in _ALONE.items()
    for has_tools in (False, True)
}
"""The markers that are searched for in each mode, without tools and with them."""
_PATTERNS = {
    tags: re.compile("|".join(map(re.escape, tags)))
    for tags in (*_SOUGHT.values(), *((close,) for close in _THOUGHTS.values()))
}
_LONGEST = max(len(tag) for tags in _PATTERNS for tag in tags)
_FIRST = {tag[0] for tags in _PATTERNS for tag in tags}


@dataclass(frozen=True, slots=True)
class Place:
    """The position up to which a text has been parsed.

    Attributes:
        held: Text that is not understood yet, as received.
        shown: How many characters of that have been sent as words.
        mode: What the held text is.
        closing: The marker that ends it, if it is a thought.
        is_first: Whether nothing precedes it.
        is_line: Whether it begins a line, as a fence does.
        has_called: Whether a call directly precedes it: whitespace then means nothing.
        searched: How many characters of it contain no end of a call.
        tries: How many end markers in it ended no call.
    """

    held: str = ""
    shown: int = 0
    mode: Mode = Mode.BEGIN
    closing: str = ""
    is_first: bool = True
    is_line: bool = True
    has_called: bool = False
    searched: int = 0
    tries: int = 0


THOUGHTS = (Mode.ANALYSIS, Mode.THINK)
"""Modes that must have ended before a body is split."""


class Part(NamedTuple):
    """A part of a text: words, unless it is a thought or has calls."""

    text: str
    is_thought: bool = False
    calls: Calls = None


class Wanted(NamedTuple):
    """What to look for: calls of *tools*, thoughts."""

    tools: Tools = NONE
    thoughts: bool = False


def read(
    at: Place, text: str, wanted: Wanted, *, ended: bool = False, paused: bool = False
) -> tuple[list[Part], Place]:
    """The parts to send of the next *text*, and the new position.

    If the text has *ended*, nothing is held: an unfinished marker is words. The same holds
    if it has *paused*, but then more may follow: a call without its end counts only if it
    cannot continue.
    """
    reader = _Reader(at, text, wanted, ended=ended or paused, paused=paused)
    return reader.parts, reader.place


def joined(parts: list[Part]) -> tuple[str, list[Chunk]]:
    """Return the words of *parts*, and their calls; beside calls, no mere whitespace."""
    text = "".join(part.text for part in parts if not part.calls)
    found = [each for part in parts for each in part.calls or ()]
    return text if text.strip() or not found else "", found


class Texts:
    """The texts of a stream's choices, and how far each has been parsed."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._at: dict[int, Place] = {}
        self._before = (-1, self._at)  # an event's number, and the state before it

    @property
    def are_over(self) -> bool:
        """Whether everything that follows is words."""
        words = not self._wanted.tools.names
        return words and all(at.mode is Mode.TEXT for at in self._at.values())

    @property
    def has_begun(self) -> bool:
        """Whether there is any text."""
        return bool(self._at)

    @property
    def are_open(self) -> bool:
        """Whether something is not understood yet."""
        return any(at.held for at in self._at.values())

    @property
    def waiting(self) -> object:
        """How much of each text is held, to be compared; None for nothing."""
        return [
            (at, len(each.held) - each.shown)
            for at, each in self._at.items()
            if len(each.held) > each.shown
        ] or None

    def read(self, index: int, text: str, n: int) -> list[Part]:
        """The parts to send of a *text* of choice *index*, in event *n*."""
        if index not in self._at and len(self._at) >= MAX_TRACKED:
            return [Part(text)]
        known = self._at.get(index)
        parts, now = read(known or Place(), text, self._wanted)
        if now != known:
            if self._before[0] != n:
                self._before = n, dict(self._at)
            self._at[index] = now
        return parts

    def end(
        self, indexes: set[int] | None, called: Container[int] = ()
    ) -> list[tuple[int, list[Part]]]:
        """Release the held parts of the ending choices *indexes*; None: all, in a pause.

        Words are still parsed if more follows. If a choice has *called* a tool in another
        way, text without its end marker is not a call.
        """
        paused = indexes is None
        found = []
        for index, at in self._at.items():
            if at.held and (indexes is None or index in indexes):
                wanted = self._wanted
                if index in called:
                    wanted = wanted._replace(tools=NONE)
                parts, now = read(at, "", wanted, ended=True, paused=paused)
                sent = sum(len(part.text) for part in parts if not part.calls)
                is_open = at.shown + sent == len(at.held)
                self._at[index] = replace(at, shown=len(at.held)) if is_open else now
                found += [(index, parts)] if parts else []
        return found

    def give_up(self, index: int) -> str:
        """Release the held text of choice *index* as words; later text is read anew."""
        at = self._at.get(index)
        if at is None:
            return ""
        self._at[index] = Place(mode=Mode.TEXT, is_first=False)
        return at.held[at.shown :]

    def undo(self, n: int) -> None:
        """Restore the state before event *n*, which is sent as received."""
        if self._before[0] == n:
            self._at = dict(self._before[1])


class _Reader:
    """Reads one part of a text."""

    def __init__(
        self, at: Place, text: str, wanted: Wanted, *, ended: bool, paused: bool
    ) -> None:
        self.parts: list[Part] = []
        self._rest = at.held + text
        self._at, self._mode, self._wanted = at, at.mode, wanted
        self._ended = ended or len(self._rest) > _LONG
        self._paused = paused
        self._unended = 0
        while self._rest and self._step():
            self._at = replace(self._at, searched=0, tries=0)

    @property
    def place(self) -> Place:
        """The position up to which the text has been parsed."""
        return replace(self._at, held=self._rest, mode=self._mode)

    def _step(self) -> bool:
        """Parse the next part; tell whether more can be parsed now."""
        if self._mode is Mode.BEGIN:
            return self._begin()
        is_thought = self._mode in THOUGHTS
        has_tools = bool(self._wanted.tools.names) and not is_thought
        if self._mode is Mode.TEXT and not has_tools:
            self._send(len(self._rest))
            return False
        is_tagged = self._mode is Mode.THINK
        sought = (self._at.closing,) if is_tagged else _SOUGHT[self._mode, has_tools]
        found = _PATTERNS[sought].search(self._rest)
        if found is None:
            is_line = self._at.is_line
            waits = 0 if self._ended else _begun(self._rest, sought, is_line=is_line)
            self._send(len(self._rest) - waits, is_thought=is_thought)
            return False
        self._send(found.start(), is_thought=is_thought)
        return self._think(found[0]) if is_thought else self._read(found[0])

    def _send(self, size: int, *, is_thought: bool = False) -> None:
        """Send those of the next *size* characters that have not been sent."""
        if size > self._at.shown:
            part = Part(self._rest[self._at.shown : size], is_thought)
            last = self.parts[-1] if self.parts else None
            if last and last.is_thought is is_thought and not last.calls:
                part = Part(self.parts.pop().text + part.text, is_thought)
            self.parts.append(part)
        if size:
            self._drop(size)

    def _drop(self, size: int) -> None:
        line = self._rest[:size].rpartition("\n")
        is_line = not line[2].strip(" ") and bool(line[1] or self._at.is_line)
        self._at = replace(self._at, is_line=is_line)
        self._rest = self._rest[size:]
        shown = max(self._at.shown - size, 0)
        self._at = replace(self._at, shown=shown, is_first=False, has_called=False)

    def _enter(self, mode: Mode) -> bool:
        self._mode = mode
        return True

    def _waits_for(self, text: str, tags: Iterable[str]) -> bool:
        return not self._ended and any(tag.startswith(text) for tag in tags)

    # -- the start of a text, or of a message ------------------------------------------

    def _begin(self) -> bool:
        bare = self._rest.lstrip()
        blanks = len(self._rest) - len(bare)
        if not bare and self._ended:
            # Only whitespace: the text itself may still follow.
            known = self._at
            (self._drop if known.has_called else self._send)(blanks)
            self._at = replace(self._at, is_first=known.is_first)
            return False
        thinks = self._wanted.thoughts and self._at.is_first
        syntaxes = CALL_SYNTAX if self._wanted.tools.names else ()
        ends = ENDS if self._at.has_called else ()
        tags = (*(_THOUGHTS if thinks else ()), *harmony.BEGINS, *syntaxes, *ends)
        opening = next(filter(bare.startswith, tags), "") if bare else ""
        closing = _THOUGHTS.get(opening, "")
        if closing or opening in ends:
            self._drop(blanks + len(opening))
            self._at = replace(self._at, has_called=not closing, closing=closing)
            return self._enter(Mode.THINK if closing else Mode.BEGIN)
        if opening in CALL_SYNTAX:
            return self._call(blanks, passage_at(bare, opening, self._wanted.tools))
        if opening:
            return self._message(blanks)
        if self._waits_for(bare, tags):
            return False
        return self._enter(Mode.TEXT)

    def _message(self, blanks: int) -> bool:
        """Parse the header of a message after *blanks*."""
        header = harmony.header_of(self._rest[blanks:])
        if header is None or not header.size:
            waits = header is not None and not self._ended
            return False if waits else self._enter(Mode.TEXT)
        size = blanks + header.size
        is_thought = header.channel == "analysis"
        if header.recipient:
            passage = message_call(header, self._wanted.tools)
            return self._call(blanks, passage, size, Mode.OTHER)
        if is_thought and not self._wanted.thoughts:
            self._send(size)
            return self._enter(Mode.OTHER)
        self._drop(size)
        return self._enter(Mode.ANALYSIS if is_thought else Mode.ANSWER)

    # -- what follows ------------------------------------------------------------------

    def _read(self, tag: str) -> bool:
        """Parse what the next *tag* may open or end."""
        if tag in harmony.ENDS:
            return self._end(tag)
        if tag in CALL_SYNTAX:
            is_quoted = tag.startswith("`") and not self._at.is_line
            found = passage_at(self._rest, tag, self._wanted.tools)
            return self._call(0, None if is_quoted else found)
        if self._mode is not Mode.TEXT:
            return self._enter(Mode.BEGIN)
        header = harmony.header_of(self._rest)
        if header is not None and not header.size and not self._ended:
            return False
        return self._call(
            0, message_call(header, self._wanted.tools) if header else None
        )

    def _end(self, tag: str) -> bool:
        """Parse the marker that ends a message, unless the message only mentions it."""
        if self._mode is Mode.OTHER:
            self._send(len(tag))
            return self._enter(Mode.BEGIN)
        behind = self._rest[len(tag) :].lstrip()
        if self._waits_for(behind, _MARKERS) and behind not in _MARKERS:
            return False
        if behind and not behind.startswith(_MARKERS):
            self._send(len(tag))
            return True
        self._drop(len(tag))
        return self._enter(Mode.BEGIN)

    def _think(self, tag: str) -> bool:
        """Parse the *tag* that ends a thought."""
        if tag != harmony.START:
            self._drop(len(tag))
        # Bedrock marks each part of a thought anew.
        is_part = tag == "</reasoning>"
        self._at = replace(self._at, is_first=is_part)
        is_over = self._mode is Mode.THINK and not is_part
        return self._enter(Mode.TEXT if is_over else Mode.BEGIN)

    def _call(
        self, at: int, passage: Passage | None, size: int = 1, mode: Mode = Mode.TEXT
    ) -> bool:
        """Parse the call at *at*; if there is none, *size* characters are words."""
        found = self._found(at, passage) if passage else (0, None)
        if found is None:
            return False
        if found[1]:
            self.parts.append(Part(self._rest[: found[0]], calls=found[1]))
            self._drop(found[0])
            self._at = replace(self._at, has_called=True)
            return self._enter(Mode.BEGIN)
        if self._mode is not Mode.BEGIN:
            mode = self._mode
        many = self._unended > _TRIES  # each of them was parsed to the end
        self._send(len(self._rest) if many else max(size, at + 1))
        return self._enter(mode)

    def _found(self, at: int, passage: Passage) -> tuple[int, Calls] | None:
        """Return the length of a passage and its calls; None while it may continue."""
        tries, first = self._at.tries, at + passage.start
        searched = max(first, self._at.searched)
        for end in passage.ends.finditer(self._rest, searched):
            body = self._rest[first : end.start()]
            calls = passage.read(body)
            if calls:
                return end.end(), calls
            tries, searched = tries + 1, end.start() + 1
            if tries > _TRIES or not passage.goes_on(body):
                return 0, None
        if self._ended:
            self._unended += 1
            body = self._rest[first:]
            if self._paused and not (passage.is_single and is_object(body)):
                return 0, None
            return len(self._rest), passage.read(body)
        searched = max(searched, len(self._rest) - _TAG)
        self._at = replace(self._at, searched=searched, tries=tries)
        return None


def _begun(text: str, tags: tuple[str, ...], *, is_line: bool) -> int:
    """Return how many of the last characters of *text* may start one of *tags*.

    A fence does so at the begin of a line alone.
    """
    first = max(len(text) - _LONGEST + 1, 0)
    for at in range(first, len(text)):
        character = text[at]
        if character == "`" and not (text[at - 1] == "\n" if at else is_line):
            continue
        if character in _FIRST and any(tag.startswith(text[at:]) for tag in tags):
            return len(text) - at
    return 0
