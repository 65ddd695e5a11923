r"""Server-sent events that keep the bytes they were received as.

Reads bytes as they arrive and returns whole blocks with their raw bytes, so that a
block which needs no repair can be forwarded exactly as it was received. Rules: WHATWG HTML, section
9.2 "Server-sent events". Three things differ from a common parser, on purpose:

* A block is out as soon as its last byte is in. A `\r` ends its line at once; the
  `\n` that may follow is reported later as a `Gap` that *joins* the block before.
* A block may end before its blank line, where a server leaves that out (wire/event_boundary.py),
  or lets it wait (`cut`).
* Blank lines beyond the first are not swallowed: they may be the only bytes that keep
  a connection alive, so they come out as `Gap`s too.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .event_boundary import Boundary, has_escaped_end, is_complete_value
from .limits import MAX_EVENT

BOM = b"\xef\xbb\xbf"
_COLON = ord(":")

# Atomic groups: without them "\r\n" could be read as two line ends by backtracking.
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n?|\n)")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LINE_ENDS = re.compile(rb"[\r\n]+")
_BLANKS = re.compile(rb"(?:[ \t]*+[\r\n]++)++")
_COMMENTS = re.compile(rb"(?:(?::[^\r\n]*+\n)++\n)++")
_BLANK_LINES = (b"\n\n", b"\n\r", b"\r\r")  # of any line ends, but for a last "\n"


@dataclass(slots=True)
class Line:
    """One line of a block: its text without, and its line end with, the end bytes."""

    text: bytes
    end: bytes

    @property
    def name(self) -> bytes:
        """The field name; empty for a comment."""
        at = self.text.find(b":")
        return self.text if at < 0 else self.text[:at]

    @property
    def value(self) -> bytes:
        """The field value, without the one space that may follow the colon."""
        at = self.text.find(b":")
        if at < 0:
            return b""
        return self.text[at + 1 + self.text.startswith(b" ", at + 1) :]


@dataclass(slots=True)
class Event:
    """One block of the stream, from its first byte through its blank line.

    Attributes:
        raw: The bytes as received.
        n: The block's place in the stream, from 0.
        closed: Whether its blank line was received, of a value its line end.
        is_value: Whether it is JSON without a field name.
        bom: Whether a byte order mark begins it; known once `lines` have been asked for.
        blank: Its blank line's bytes; likewise.
        is_hole: Whether what it stands for, or what followed it, is lost, and may have been
            a chunk.
        may_be_noise: Whether it is an error only if the stream does not go on after it.
        is_last: Whether nothing follows: the stream has ended.
    """

    raw: bytes
    n: int
    closed: bool = True
    is_value: bool = False
    bom: bool = False
    blank: bytes = b""
    is_hole: bool = False
    may_be_noise: bool = False
    is_last: bool = False
    _lines: list[Line] | None = field(default=None, repr=False)
    _payload: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def lines(self) -> list[Line]:
        """The block's lines, which a fix may change; `encode` writes them."""
        if self._lines is None:
            self._lines = self._split()
        return self._lines

    def _split(self) -> list[Line]:
        text = self.raw
        if self.n == 0 and text.startswith(BOM):
            self.bom = True
            text = text.removeprefix(BOM)
        if text.find(b"\r") >= 0:  # quicker than `in`, which tries numbers first
            lines = []
            start = 0
            for match in _LINE_END.finditer(text):
                lines.append(Line(text[start : match.start()], match.group()))
                start = match.end()
            rest = text[start:]
        else:  # far faster, for a long line
            *ended, rest = text.split(b"\n")
            lines = [Line(each, b"\n") for each in ended]
        if rest:
            lines.append(Line(rest, b""))
        if self.closed and lines and not self.is_value:
            self.blank = lines.pop().end
        return lines

    def payload(self) -> bytes | None:
        """Return the data of a block in OpenAI's own framing, else None."""
        if self._payload is not None:
            return self._payload
        raw = self.raw
        size = len(raw)
        if (
            raw.startswith(b"data: ")
            and raw.find(b"\n") == size - 2
            and raw.endswith(b"\n")
            and self.closed
            and raw.find(b"\r") < 0
            and raw[6:7] in (b"{", b"[")
            and not raw.endswith((b" \n\n", b"\t\n\n"))
            and size > len(b"data: {}\n\n")
        ):
            self._payload = raw[6:-2]
        return self._payload

    @property
    def data(self) -> bytes | None:
        """The block's data lines joined by a line feed; None without any."""
        values = [line.value for line in self.lines if line.name == b"data"]
        return b"\n".join(values) if values else None

    @property
    def foreign(self) -> bool:
        """Whether a line is neither a comment nor a field that the standard knows."""
        known = (b"", b"data", b"event", b"id", b"retry")
        return self.is_value or any(line.name not in known for line in self.lines)

    @property
    def names_error(self) -> bool:
        """Whether its event name says that it is an error."""
        names = [line.value for line in self.lines if line.name == b"event"]
        return any(name.strip().lower() == b"error" for name in names)

    def encode(self) -> bytes:
        """Return the block as its lines say now; a block without any is a newline."""
        body = b"".join(line.text + line.end for line in self.lines)
        if not body:
            return b"\n"
        return (BOM if self.bom else b"") + body + self.blank


@dataclass(slots=True)
class Gap:
    """Newline bytes between blocks: extra blank lines, or the rest of a CRLF.

    Attributes:
        raw: The bytes as received.
        joins: Whether they only complete the line end that closed the block before.
    """

    raw: bytes
    joins: bool


@dataclass(slots=True)
class Oversized:
    """Part of a block that is larger than `MAX_EVENT`; passes as it is.

    Attributes:
        raw: Its bytes, unchanged.
        is_many: Whether it is of blocks that are not looked at, for there are too many.
    """

    raw: bytes
    is_many: bool = False


@dataclass(slots=True)
class Comments:
    """Blocks of nothing but comments, one behind another.

    Attributes:
        raw: Their bytes, unchanged.
        n: The place of the first one.
        count: How many there are.
    """

    raw: bytes
    n: int
    count: int

    def events(self) -> Iterator[Event]:
        """Yield each as a block of its own."""
        for at, raw in enumerate(self.raw.split(b"\n\n")[:-1]):
            yield Event(raw + b"\n\n", self.n + at)


type Item = Event | Gap | Oversized


def _apart(item: Item | Comments) -> Iterable[Item]:
    return item.events() if isinstance(item, Comments) else (item,)


def encode(payload: bytes) -> bytes:
    """Return *payload* (one line) framed as OpenAI frames an event."""
    return b"data: " + payload + b"\n\n"


class EventParser:
    """Bytes in, blocks out. Never raises; keeps at most `MAX_EVENT` bytes."""

    def __init__(self) -> None:
        self.count = 0
        """Blocks begun so far; what is known unfed counts, too."""
        self.is_between = True
        """Whether nothing of a block has come, nor may come of a line end before it."""
        self.budget_left = math.inf
        """The budget left: see `EVENT`. Events beyond it pass unrepaired."""
        self._buffer = bytearray()
        self._after_cr = False  # the last newline given out was a bare "\r"
        self._after_cut = False  # the last block was ended before its blank line
        self._oversized: bytes | None = None  # last bytes of the block being passed on
        self._by_lines = False  # it ends at a line end
        self._found: Boundary | None = None

    @property
    def _boundary(self) -> Boundary:
        if self._found is None:  # most streams are never parsed
            self._found = Boundary()
        return self._found

    @property
    def in_oversized(self) -> bool:
        """Whether the last bytes given out are the middle of a block."""
        return self._oversized is not None

    @property
    def may_end(self) -> int:
        """Which block, from 1, seems to lack nothing but its blank line; 0 if none."""
        size = len(self._buffer)
        return self.count + 1 if size and self._boundary.may_end(size) else 0

    def cut(self) -> list[Item | Comments]:
        """Return the block at hand as one without a blank line, if it is complete."""
        items: list[Item | Comments] = []
        if self._boundary.cut(self._buffer):
            self._block(bytes(self._buffer), items)
            self._buffer.clear()
            self._after_cut, self.is_between = True, False
        return items

    @property
    def held(self) -> int:
        """How many bytes are buffered."""
        return len(self._buffer)

    def framed(self, raw: bytes) -> Event | None:
        """Return *raw* as an event if it has OpenAI's own framing, else None.

        It is what `read` would find, where nothing of a block has come; it is taken then.
        """
        if not self.is_between or len(raw) > MAX_EVENT:
            return None
        if self._found is not None and self._found.one_by_one:
            return None
        event = Event(raw, self.count)
        if event.payload() is None:
            return None
        if raw.find(b"\\n") >= 0 and has_escaped_end(raw, 0, len(raw)):
            return None
        self.count += 1
        return event

    def feed(self, data: bytes) -> list[Item]:
        """The items that *data* completes, maybe none."""
        return [each for item in self.read(data) for each in _apart(item)]

    def read(self, data: bytes) -> Iterator[Item | Comments]:
        """Yield what *data* completes, one by one: `budget_left` may change meanwhile.

        Where a block is too large, it is so whatever follows it in the same read: no more
        is buffered than shows it.
        """
        fits = len(self._buffer) + len(data) <= MAX_EVENT + 1
        return self._read(data) if fits else self._read_in_parts(data)

    def _read_in_parts(self, data: bytes) -> Iterator[Item | Comments]:
        while data:
            room = MAX_EVENT + 1 - len(self._buffer)
            yield from self._read(data[:room])
            data = data[room:]

    def _read(self, data: bytes) -> Iterator[Item | Comments]:
        items: list[Item | Comments] = []
        if self._oversized is not None:
            data = self._pass_oversized(data, items)
        self._boundary.has_cr = self._boundary.has_cr or b"\r" in data
        buffer, new = self._buffer, len(data)
        buffer += data
        while True:
            if items:
                yield from items
                items.clear()
            is_over = self.budget_left < 0
            if not buffer:
                break
            if buffer[0] in b"\r\n":
                end = self._gap(items)
            elif is_over and (end := self._end_of_all(new)):
                self._pass(end, items)
            elif not (end := self._comments(items)):
                end = self._next(items)
                if end < 0:
                    break
                if is_over and end:  # it has no blank line, nor has any other
                    items[:] = [Oversized(each.raw, is_many=True) for each in items]
                    new = 0
            del buffer[:end]  # which moves nothing
        self.is_between = not (buffer or self._after_cr or self.in_oversized)

    def end(self) -> list[Item]:
        """Return the block that the stream's end leaves unclosed, if any."""
        rest = bytes(self._buffer)
        if not rest:
            return []
        bare = rest.removeprefix(BOM) if self.count == 0 else rest
        is_value = is_complete_value(bare)
        event = Event(rest, self.count, False, is_value, is_last=True)
        self.count += 1
        self.give_up()
        return [event]

    def give_up(self) -> bytes:
        """Return the buffered bytes unread."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._boundary.restart()
        return rest

    def _next(self, items: list[Item | Comments]) -> int:
        """Add the next block, and return where it ends; -1 if it has not ended."""
        self._after_cr = False
        if self._after_cut:
            self._boundary.one_by_one |= self._buffer[:1] == b"d"
            self._after_cut = False
        end = self._find_end()
        self.budget_left -= self._boundary.cost
        self._boundary.cost = 0
        if large := self._boundary.oversized_bytes or self._is_too_large(end):
            self._exceed(large, items)
            return 0
        if end >= 0:
            self._block(bytes(self._buffer[:end]), items)
        return end

    def _find_end(self) -> int:
        skip = 0
        if self.count == 0 and self._buffer.startswith(BOM[:1]):
            head = bytes(self._buffer[: len(BOM)])
            if head != BOM and BOM.startswith(head):
                return -1
            skip = len(BOM) if head == BOM else 0
        return self._boundary.find(self._buffer, 0, skip)

    def _comments(self, items: list[Item | Comments]) -> int:
        """Add the blocks of comments that begin here, and return where they end; or 0."""
        boundary = self._boundary
        if self._buffer[0] != _COLON or boundary.one_by_one or not boundary.is_fresh:
            return 0
        found = _COMMENTS.match(self._buffer)
        if found is None or found.end() > MAX_EVENT:  # one may be too large
            return 0
        comments = Comments(found.group(), self.count, found.group().count(b"\n\n"))
        items.append(comments)
        self.count += comments.count
        self._after_cr = False
        return found.end()

    def _gap(self, items: list[Item | Comments]) -> int:
        joins = self._after_cr and self._buffer[:1] == b"\n"
        self._after_cut = False
        # All at once: a hostile read may bring millions.
        match = None if joins else _LINE_ENDS.match(self._buffer)
        end = match.end() if match else 1
        raw = bytes(self._buffer[:end])
        self._after_cr = raw.endswith(b"\r")
        items.append(Gap(raw, joins))
        return end

    def _block(self, raw: bytes, items: list[Item | Comments]) -> None:
        self._after_cr = raw.endswith(b"\r")
        found = self._boundary
        items.append(Event(raw, self.count, found.is_closed, found.is_value))
        self.count += 1

    def _is_too_large(self, end: int) -> int:
        """Return how many bytes of a block that is too large are passed on at once."""
        size = len(self._buffer) if end < 0 else end
        # Not counting a last "\n" that might as well have come with the next read.
        size -= end >= 0 and self._buffer[end - 2 : end] == b"\r\n"
        return MAX_EVENT + 1 if size > MAX_EVENT else 0

    def _end_of_all(self, new: int) -> int:
        """Return where the last block ends that has come; of a line of values, anywhere.

        Args:
            new: Bytes of this read: what was there before ends no block.
        """
        buffer = self._buffer
        start = max(len(buffer) - new - 1, 0)
        at = max(buffer.rfind(each, start) for each in _BLANK_LINES)
        end = at + 2 + buffer.startswith(b"\r\n", at + 1) if at >= 0 else 0
        if blanks := _BLANKS.match(buffer):
            end = max(end, blanks.end())
        if self._boundary.one_by_one or buffer[0] in b"{[":
            end = max(end, buffer.rfind(b"\n", start) + 1) or len(buffer)
        return end

    def _pass(self, end: int, items: list[Item | Comments]) -> None:
        """Pass all blocks up to *end* on, unread."""
        raw = bytes(self._buffer[:end])
        self._boundary.restart()
        self._after_cr = raw.endswith(b"\r")
        self.count += max(raw.count(b"\n\n"), 1)
        items.append(Oversized(raw, is_many=True))
        if not raw.endswith((b"\r", b"\n")):
            self._by_lines, self._oversized = True, raw[-1:]

    def _exceed(self, cut: int, items: list[Item | Comments]) -> None:
        """Pass the block that begins here on, from *cut* bytes on whatever the reads."""
        head, rest = bytes(self._buffer[:cut]), bytes(self._buffer[cut:])
        value = head.removeprefix(BOM).lstrip(b" \t").startswith((b"{", b"["))
        self._by_lines = value or self._boundary.one_by_one
        self._oversized = head[-1:] if self._by_lines else head[-3:]
        found: list[Item | Comments] = [Oversized(head)]
        behind = self._pass_oversized(rest, found)
        self.give_up()  # not before: nothing is lost where something fails
        items += found
        self.count += 1
        self._buffer += behind

    def _pass_oversized(self, data: bytes, items: list[Item | Comments]) -> bytes:
        """Pass the block that is too large on, and return what comes after it.

        It ends at a blank line; where line ends part the events, at the next of them.
        """
        before = self._oversized or b""
        end = _LINE_END if self._by_lines else _BLANK_LINE
        text = before + data
        # Far faster than the expression, where there is no line end at all.
        match = end.search(text) if b"\n" in text or b"\r" in text else None
        if match is None:
            self._oversized = text[-len(before) :]
            if data:
                items.append(Oversized(data))
            return b""
        cut = max(match.end() - len(before), 0)
        self._oversized = None
        self._after_cr = (before + data[:cut]).endswith(b"\r")
        if cut:
            items.append(Oversized(data[:cut]))
        return data[cut:]
