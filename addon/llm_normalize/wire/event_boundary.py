r"""Where a block of a stream ends: at its blank line, or earlier if the server omits it.

The standard ends an event at a blank line (WHATWG HTML, 9.2). The content of a block shows
whether a server deviates in one of two ways; OpenAI's own framing does not:

* JSON without `data:` (lines of it, or a whole body): a value at the start of a block ends
  the block with its last bracket and the line end after it.
* One line end between events instead of two: a data line that is a complete JSON value
  ends its event if the next line starts another event. After the first such case, every
  complete data line ends its event. Until then the first event waits for the next line,
  or for the timer to call `Boundary.cut`.
"""

import re

from .json_text import after

DONE = b"[DONE]"

_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = re.compile(rb'(\\.|["{}\[\]\r\n])', re.DOTALL)
_NEXT_MARK = re.compile(  # outside of strings: the whole ones before it are skipped
    rb'(?:[^"\\{}\[\]\r\n]++|"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+")*+' + _MARK.pattern,
    re.DOTALL,
)
_TEXT = re.compile(rb'[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+', re.DOTALL)
_COMMENTS = re.compile(rb"(?::[^\r\n]*+\n)++")
_BLANKS = re.compile(rb"[ \t]*")
_GLUE = re.compile(rb"[ \t]*(?:data:[ \t]*)*")
_ESCAPED_GLUE = re.compile(rb"(?:[ \t]++|\\[rn]|data:)*+")
_ESCAPED_BLANK_LINE = re.compile(rb"(?:(?:\\r)?+\\n){2}")
_ESCAPED_END = re.compile(rb"[}\]](?:(?:\\r)?+\\n){2}")
_DATA = re.compile(rb"data:[ \t]*+(?=[{\[])")
# The start of an event, if one line end separates events; a bare `data:` may continue one.
_BEGINS = re.compile(rb"data:[ \t]{0,9}[^ \t\r\n]|error:|\{|\[DONE\]")
_LONGEST_ESCAPE = len(rb"}\r\n\r\n")
_FIELDS = (b"data", b"event", b"id", b"retry")

MARKS = 32_000
"""Brackets of one value, or of one line, that are scanned: what has more passes raw."""
VALUES = 5000
"""Values that may be joined on one line."""
LINES = 2000
"""Lines of one block that are scanned, without comments."""
EVENT = 128
"""The cost of one event of common size, if finding one bracket costs 1."""
_LINE = 16  # the cost of one line of a block, and of one of several values in a line
_DEPTH_CHANGES = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
_DEEP = 200  # levels of nesting; wire/json_text.py does not parse deeper values either


class ValueScan:
    """Finds the end of one JSON object or array as its bytes arrive."""

    def __init__(self) -> None:
        self.broken = False
        """Whether it cannot become a value: a line ends in a string, or is blank."""
        self.marks = 0
        """Brackets found so far."""
        self._end = -1  # of the value, once it is known
        self._at = 0  # bytes that were scanned
        self._depth = 0
        self._quoted = False
        self._newline = -1  # where the last line ended

    def find(self, data: bytes | bytearray, start: int = 0) -> int:
        """Return where the value that starts at *start* ends; -1 while it is incomplete.

        Args:
            data: The bytes; from *start* on, it may only grow between calls.
            start: The offset of the value, or of blanks before it.
        """
        if self._end >= 0:
            return start + self._end
        at = start + self._at
        while True:
            if self._quoted:
                at = after(_TEXT, data, at)
                mark = _MARK.match(data, at)
            else:
                mark = _NEXT_MARK.match(data, at)
            if mark is None:
                break
            at = mark.end()
            char = mark[1]
            if char == b'"':
                self._quoted = not self._quoted
            elif char in (b"\r", b"\n"):
                self.broken = self._ends_badly(data, start, mark.start(1))
            elif change := _DEPTH_CHANGES.get(char):
                self._depth += change
                self.marks += 1
                self.broken = self._depth > _DEEP or self.marks > MARKS
                if self._depth <= 0:
                    self._end = at - start
                    return at
            if self.broken:
                return -1
        self._at = _end_of(data, at) - start
        return -1

    def _ends_badly(self, data: bytes | bytearray, start: int, at: int) -> bool:
        since = start + self._newline + 1
        self._newline = at - start
        if self._quoted:
            return True
        if since == at and data[at - 1 : at + 1] == b"\r\n":
            return False
        return not data[since:at].strip()


def _end_of(data: bytes | bytearray, at: int) -> int:
    """Return the length of *data*, without an unfinished escape after *at* at its end."""
    return len(data) - (len(data) > at and data.endswith(b"\\"))


def has_escaped_end(data: bytes | bytearray, start: int, end: int) -> bool:
    r"""Tell whether a bracket before an escaped blank line stands in this part of *data*."""
    found = data.find(b"\\n", start, end)
    return found >= 0 and bool(_ESCAPED_END.search(data, start, end))


def values_in(data: bytes, *, has_escapes: bool = False) -> list[bytes]:
    r"""Return the objects and arrays (`[DONE]`) in *data*, which is one line.

    They may be joined directly, or by `data:`. Return none if there is anything else, or
    if there are too many.

    Args:
        data: The line.
        has_escapes: Whether line ends between them may be escaped, as `\n` is in a string.
    """
    values = list[bytes]()
    marks = 0
    glue = _ESCAPED_GLUE if has_escapes else _GLUE
    at = after(glue, data, 0)
    while at < len(data):
        scan = ValueScan()
        end = scan.find(data, at) if data.startswith((b"{", b"["), at) else -1
        marks += scan.marks
        if end < 0 or marks > MARKS or len(values) == VALUES:
            return []
        values.append(data[at:end])
        at = after(glue, data, end)
    return values


def is_complete_value(data: bytes) -> bool:
    """Tell whether *data* is one JSON object or array by its brackets, or `[DONE]`."""
    data = data.strip()
    return data.startswith((b"{", b"[")) and ValueScan().find(data) == len(data)


class Boundary:
    """Finds the ends of the blocks of one stream, in order."""

    def __init__(self) -> None:
        self.is_value = False
        """Whether the block found last is JSON without a field name."""
        self.is_closed = True
        """Whether the block found last has its blank line; for a value, its line end."""
        self.has_cr = False
        """Whether the stream uses `\r`."""
        self.one_by_one = False  # a single line end separates the events
        self.cost = 0
        """The cost of the bytes scanned so far: see `EVENT`. The caller resets it."""
        self.restart()

    def restart(self) -> None:
        """Expect the start of a block."""
        self._scan: ValueScan | None = None  # of the value that starts this block
        self._begin = 0  # its offset
        self._is_plain = False  # this block does not start with a JSON value
        self._line = 0  # offset of the line that has not ended
        self._sought = 0  # bytes that contain no line end, or only the value and blanks
        self._data: tuple[int, int, int] | None = None  # the last line with data
        self._data_lines = 0
        self._lines = 0  # that were scanned
        self._data_value: tuple[int, ValueScan] | None = None
        """Where the value of a data line without an end begins, and its scan."""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing of the block has been scanned."""
        return not (self._sought or self._is_plain or self._scan)

    @property
    def oversized_bytes(self) -> int:
        """If the block has more than `LINES` lines, the bytes scanned so far; else 0."""
        return self._line if self._lines > LINES else 0

    def may_end(self, size: int) -> bool:
        """Tell whether a block of *size* bytes is one data line with its line end."""
        return self._data is not None and self._data_lines == 1 and self._line == size

    def cut(self, buffer: bytearray) -> bool:
        """End the block here if its data line is a complete value; tell whether it is."""
        begin, stop, _ = self._data or (0, 0, 0)
        line = bytes(buffer[begin:stop])
        if not (self.may_end(len(buffer)) and values_in(_payload(line))):
            return False
        self.restart()
        self.is_value = self.is_closed = False
        return True

    def find(self, buffer: bytearray, start: int, skip: int) -> int:
        """Return where the block that starts at *start* ends; -1 while it is incomplete.

        Args:
            buffer: The received bytes; from *start* on, it may only grow between calls.
            start: The offset of the block, whose first byte is not a line end.
            skip: The size of a byte order mark at its start.
        """
        self.is_value = False
        self.is_closed = True
        if self._is_plain or buffer.startswith(b"d", start):
            end = self._block(buffer, start)
        elif self._scan is None:
            end = self._first(buffer, start, skip)
        else:
            end = self._value(buffer, start, self._scan)
        if end >= 0:
            self.restart()
        return end

    def _first(self, buffer: bytearray, start: int, skip: int) -> int:
        """Find the kind of the block by its first non-blank byte, and then its end."""
        at = after(_BLANKS, buffer, start + max(skip, self._sought))
        self._sought = at - start
        if at == len(buffer):
            return -1
        if buffer.startswith((b"{", b"["), at):
            self._begin = at - start
            self._scan = ValueScan()
            return self._value(buffer, start, self._scan)
        line_end = _LINE_END.match(buffer, at)
        if line_end and not skip:
            return line_end.end()  # only blanks: the next line starts a new block
        self._line = 0 if line_end else skip
        return self._block(buffer, start)

    def _value(self, buffer: bytearray, start: int, scan: ValueScan) -> int:
        """Return where a value ends, including its line end if there is one."""
        before = scan.marks
        at = scan.find(buffer, start + self._begin)
        self.cost += scan.marks - before
        if scan.broken:
            self._sought = 0
            return self._block(buffer, start)
        if at < 0:
            return -1
        at = after(_BLANKS, buffer, max(at, start + self._sought))
        self._sought = at - start
        if at == len(buffer):
            return -1  # its line end may follow
        self.is_value = True
        line_end = _LINE_END.match(buffer, at)
        self.is_closed = line_end is not None
        return line_end.end() if line_end else at

    def _block(self, buffer: bytearray, start: int) -> int:
        """Return where a block of lines ends."""
        self._is_plain = True
        if not (self._line or self.one_by_one):
            at = buffer.find(b"\n", start + self._sought)
            line_end = at if at >= 0 else len(buffer)
            if self.has_cr:
                cr = buffer.find(b"\r", start + self._sought, line_end)
                line_end = cr if cr >= 0 else line_end
            if end := self._escaped_end(buffer, start, line_end):
                return end
            if not self.has_cr:  # the common case
                if at < 0:
                    self._sought = len(buffer) - start
                    return -1
                if buffer.startswith(b"\n", at + 1):
                    return at + 2
        end = 0
        while not end:
            end = -1 if self.oversized_bytes else self._next_line(buffer, start)
        return end

    def _escaped_end(self, buffer: bytearray, start: int, line_end: int) -> int:
        r"""Return where a block ends whose blank line is escaped, as `\n\n`; 0 if none does.

        The first such place counts only if it is outside of strings: the value is complete.
        """
        if self._data_value is None:
            unread = start + max(self._sought - _LONGEST_ESCAPE, 0)
            if not has_escaped_end(buffer, unread, line_end):
                return 0
            begins = _DATA.match(buffer, start)
            if begins is None:
                return 0
            self._data_value = begins.end() - start, ValueScan()
        begin, scan = self._data_value
        before = scan.marks
        end = -1 if scan.broken else scan.find(buffer, start + begin)
        self.cost += scan.marks - before
        is_line = 0 <= end <= line_end  # it does not go on over lines
        found = _ESCAPED_BLANK_LINE.match(buffer, end) if is_line else None
        if found is None:
            return 0
        self.is_closed = False
        return found.end()

    def _next_line(self, buffer: bytearray, start: int) -> int:
        """Return where the next line ends the block; -1 if it is incomplete; else 0."""
        line = start + self._line
        end = self._end_of_value(buffer, start, line)
        if end or self._skips_comments(buffer, start, line):
            return end
        found = _LINE_END.search(buffer, max(line, start + self._sought))
        if found is None:
            self._sought = len(buffer) - start
            return -1
        if found.start() == line:
            return found.end()
        text = bytes(buffer[line : found.start()])
        if self.one_by_one and (part := self._part_at(text)):
            self.is_closed = False
            return line if part < 0 else found.end()
        if found.end() == len(buffer) and found.group() == b"\r":
            self._sought = found.start() - start  # a "\n" may belong to it
            return -1
        if _payload(text):
            self._data_lines += 1
            self._data = (line - start, found.start() - start, found.end() - start)
        self._line = self._sought = found.end() - start
        self._lines += 1
        self.cost += _LINE
        return 0

    def _skips_comments(self, buffer: bytearray, start: int, line: int) -> bool:
        """Skip all comments from *line* on at once: a hostile block may have millions."""
        if self.one_by_one or not buffer.startswith(b":", line):
            return False
        comments = _COMMENTS.match(buffer, line)
        if comments is None:
            return False
        self._line = self._sought = comments.end() - start
        return True

    def _end_of_value(self, buffer: bytearray, start: int, line: int) -> int:
        """Return where the block's only data line ends, if it is a complete value.

        0 if it is not, or if the next *line* does not start another event.
        """
        if self._data is None or not _BEGINS.match(buffer, line):
            return 0
        begin, stop, end = (start + at for at in self._data)
        self._data = None  # scanned once
        payload = _payload(bytes(buffer[begin:stop]))
        self.cost += _LINE * (payload.count(b"{") + payload.count(b"["))
        if self._data_lines > 1 or not _is_complete(payload):
            return 0
        self.one_by_one = self.one_by_one or bool(values_in(payload))
        self.is_closed = False
        return end

    def _part_at(self, line: bytes) -> int:
        """Tell where an event ends if one line end separates events.

        1 after *line*, -1 before it; 0 if the event continues, with a value of several
        lines or further fields.
        """
        payload = _payload(line)
        self.cost += _LINE * (payload.count(b"{") + payload.count(b"["))
        if not payload:
            return 0 if self._line or line.startswith(_FIELDS) else 1
        if self._data_lines:  # of a value that was cut off, if this line is complete
            return -1 if values_in(payload) else 0
        if _is_complete(payload):
            return 1
        return 0 if payload.startswith((b"{", b"["), after(_GLUE, payload, 0)) else 1


def _payload(line: bytes) -> bytes:
    """Return the data of *line*; empty if it is not a data line."""
    name, _, value = line.partition(b":")
    return value.strip() if name == b"data" else b""


def _is_complete(payload: bytes) -> bool:
    """Tell whether the data of a line can be all the data of its event."""
    return payload == b"null" or payload[:1] == b":" or bool(values_in(payload))
