r"""Where a block of a stream ends: at its blank line, or before, where servers leave it out.

The standard ends an event at a blank line (WHATWG HTML, 9.2). Two habits of servers are
told from it by what stands in the block; OpenAI's own framing has neither:

* JSON without `data:` (lines of it, or a whole body): a value at a block's start ends
  the block with its last bracket, and with the line end that follows it.
* One line end between events instead of two: a data line that is a whole JSON value
  ends its event where the next line begins another. Once that was seen, each such line
  ends its event by itself, so that none waits for the next.
"""

import re

DONE = b"[DONE]"

_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = re.compile(rb'\\.|["{}\[\]\r\n]', re.DOTALL)
_VALUE = re.compile(rb"[ \t]*[\[{]")
_BLANKS = re.compile(rb"[ \t]*")
_BEGINS = (b"data:", b"{", DONE)
_FIELDS = (b"event", b"id", b"retry")


class ValueScan:
    """Looks for the end of one JSON object or array, as its bytes come in."""

    def __init__(self) -> None:
        self.broken = False
        """Whether no value can come of it: a line ends in a string, or is blank."""
        self._end = -1  # of the value, once it is known
        self._at = 0  # bytes that were looked at
        self._depth = 0
        self._quoted = False
        self._newline = -1  # where the last line ended

    def find(self, data: bytes | bytearray, start: int = 0) -> int:
        """Return where the value that begins at *start* ends; -1 as long as it does not.

        Args:
            data: Begins, from *start* on, with what it had at the last call.
            start: The offset of the value, or of blanks before it.
        """
        if self._end >= 0:
            return start + self._end
        at = start + self._at
        for mark in _MARK.finditer(data, at):
            at = mark.end()
            char = mark.group()
            if char in b"\r\n":
                if self._ends_badly(data, start, mark.start()):
                    self.broken = True
                    return -1
            elif char == b'"':
                self._quoted = not self._quoted
            elif self._quoted or len(char) > 1:
                continue
            elif char in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth <= 0:
                    self._end = at - start
                    return at
        # A backslash at the end waits for what it escapes.
        waits = len(data) > at and data.endswith(b"\\")
        self._at = len(data) - waits - start
        return -1

    def _ends_badly(self, data: bytes | bytearray, start: int, at: int) -> bool:
        since = start + self._newline + 1
        is_first = self._newline < 0
        self._newline = at - start
        if self._quoted:
            return True
        if since == at and data[at - 1 : at + 1] == b"\r\n":
            return False
        return not is_first and not data[since:at].strip()


def value_end(data: bytes) -> int:
    """Return where the JSON object or array at the start of *data* ends; 0 without."""
    if not _VALUE.match(data):
        return 0
    return max(ValueScan().find(data), 0)


def is_whole(data: bytes) -> bool:
    """Tell whether *data* is one JSON object or array by its brackets, or `[DONE]`."""
    data = data.strip()
    return bool(data) and value_end(data) == len(data)


class Boundary:
    """Finds the ends of the blocks of one stream, one after another."""

    def __init__(self) -> None:
        self.is_value = False
        """Whether the block found last is JSON without a field name."""
        self.is_closed = True
        """Whether the block found last has its blank line, a value its line end."""
        self.has_cr = False
        """Whether the stream uses `\r`."""
        self._one_by_one = False  # a single line end parts the events
        self.restart()

    def restart(self) -> None:
        """Expect the begin of a block."""
        self._scan: ValueScan | None = None
        self._is_plain = False  # no JSON value begins this block
        self._line = 0  # offset of the line that has not ended
        self._sought = 0  # bytes of it that hold no line end
        self._data: tuple[int, int, int] | None = None  # the first data line
        self._data_lines = 0

    def find(self, buffer: bytearray, start: int, skip: int) -> int:
        """Return where the block that begins at *start* ends; -1 as long as it does not.

        Args:
            buffer: What has come, from *start* on never less than at the last call.
            start: The offset of the block, whose first byte is no line end.
            skip: The bytes of a byte order mark at its start.
        """
        self.is_value = False
        self.is_closed = True
        end = -1
        if not self._is_plain and not buffer.startswith(b"d", start):
            if _VALUE.match(buffer, start + skip):
                self._scan = self._scan or ValueScan()
                end = self._value(buffer, start + skip, self._scan)
                self._is_plain = self._scan.broken
            elif not _is_blank(buffer, start + skip):
                self._is_plain = True
        else:
            self._is_plain = True
        if self._is_plain:
            end = self._block(buffer, start)
        if end >= 0:
            self.restart()
        return end

    def _value(self, buffer: bytearray, start: int, scan: ValueScan) -> int:
        """Return where a value and its line end, if there is one, end."""
        at = scan.find(buffer, start)
        if at < 0:
            return -1
        blanks = _BLANKS.match(buffer, at)
        assert blanks is not None
        if blanks.end() == len(buffer):
            return -1  # its line end may follow
        self.is_value = True
        line_end = _LINE_END.match(buffer, blanks.end())
        self.is_closed = line_end is not None
        return line_end.end() if line_end else at

    def _block(self, buffer: bytearray, start: int) -> int:
        if not (self._line or self.has_cr or self._one_by_one):  # the common case
            at = buffer.find(b"\n", start + self._sought)
            if at < 0:
                self._sought = len(buffer) - start
                return -1
            if buffer.startswith(b"\n", at + 1):
                return at + 2
        end = 0
        while not end:
            end = self._next_line(buffer, start)
        return end

    def _next_line(self, buffer: bytearray, start: int) -> int:
        """Return where the block ends by its next line; -1 if that has not come, or 0."""
        line = start + self._line
        end = self._end_of_whole(buffer, start, line)
        if end:
            return end
        found = _LINE_END.search(buffer, max(line, start + self._sought))
        if found is None:
            self._sought = len(buffer) - start
            return -1
        if found.start() == line:
            return found.end()
        if self._one_by_one and _ends_alone(bytes(buffer[line : found.start()])):
            self.is_closed = False
            return found.end()
        if found.end() == len(buffer) and found.group() == b"\r":
            self._sought = found.start() - start  # a "\n" may belong to it
            return -1
        if buffer.startswith(b"data", line):
            self._data_lines += 1
            self._data = (line - start, found.start() - start, found.end() - start)
        self._line = self._sought = found.end() - start
        return 0

    def _end_of_whole(self, buffer: bytearray, start: int, line: int) -> int:
        """Return where the block's one data line ends, if it is a whole value.

        0 if it is not, or if the next *line* begins no other event.
        """
        if self._data is None or not buffer.startswith(_BEGINS, line):
            return 0
        begin, stop, end = (start + at for at in self._data)
        self._data = None  # looked at once
        if self._data_lines > 1 or not _is_whole_line(bytes(buffer[begin:stop])):
            return 0
        self._one_by_one = True
        self.is_closed = False
        return end


def _ends_alone(line: bytes) -> bool:
    """Tell whether *line* is all of its event, where a line end parts the events."""
    is_data = line.startswith(b"data")
    return _is_whole_line(line) if is_data else not line.startswith(_FIELDS)


def _is_blank(buffer: bytearray, at: int) -> bool:
    """Tell whether nothing but blanks has come: what they lead to is not known yet."""
    blanks = _BLANKS.match(buffer, at)
    return blanks is not None and blanks.end() == len(buffer)


def _is_whole_line(line: bytes) -> bool:
    return is_whole(line.partition(b":")[2])
