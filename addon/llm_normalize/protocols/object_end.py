"""Where the JSON object ends that arrives in parts."""

import re

_MOST = 64 * 1024
_MARK = re.compile(r'["\\{}\[\]]')


class ObjectEnd:
    """Tells whether an object has ended, reading each character once, mostly if asked."""

    def __init__(self) -> None:
        self._unread: list[str] = []
        self._size = 0
        self._depth = 0
        self._has_begun = False
        self._in_string = False
        self._is_escaped = False

    def add(self, text: str) -> None:
        """Take the next part."""
        self._unread.append(text)
        self._size += len(text)
        if self._size > _MOST:
            self._read_all()

    @property
    def is_reached(self) -> bool:
        """Whether an object or array has begun, and all that was opened is closed."""
        self._read_all()
        return self._has_begun and self._depth <= 0 and not self._in_string

    def _read_all(self) -> None:
        self._read("".join(self._unread))
        self._unread.clear()
        self._size = 0

    def _read(self, text: str) -> None:
        # The first character of a part may be escaped by the last one of the part before.
        after = 1 if self._is_escaped and text else 0
        self._is_escaped = self._is_escaped and not text
        for found in _MARK.finditer(text):
            mark = found[0]
            if found.start() < after:
                continue
            if mark == "\\":
                after = found.end() + 1
                self._is_escaped = after > len(text)
            elif mark == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._has_begun = True
                self._depth += 1 if mark in "{[" else -1
