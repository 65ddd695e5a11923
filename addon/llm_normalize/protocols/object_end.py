"""Where the JSON object ends that arrives in parts."""

_MOST = 64 * 1024


def is_cut(text: str) -> bool:
    """Tell whether *text* ends within an object."""
    end = ObjectEnd()
    end.add(text)
    return end.is_open


def is_closed(text: str) -> bool:
    """Tell whether *text* ends with the end of an object."""
    end = ObjectEnd()
    end.add(text)
    return end.is_reached


class ObjectEnd:
    """Tells whether an object has ended, reading each character once, mostly if asked."""

    def __init__(self) -> None:
        self._unread: list[str] = []
        self._size = 0
        self._depth = 0
        self._has_begun = False
        self._in_string = False

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

    @property
    def has_begun(self) -> bool:
        """Whether an object or array has begun."""
        self._read_all()
        return self._has_begun

    @property
    def is_open(self) -> bool:
        """Whether something that was opened is not closed."""
        self._read_all()
        return self._depth > 0 or self._in_string

    def _read_all(self) -> None:
        # By methods of strings alone: a loop over the marks takes seconds for megabytes.
        text = "".join(self._unread).replace(r"\\", "").replace(r"\"", "")
        # A backslash at the end may escape what comes next.
        self._unread = ["\\"] if text.endswith("\\") else []
        self._size = 0
        parts = text.split('"')
        outside = "".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        opened, closed = (sum(map(outside.count, each)) for each in ("{[", "}]"))
        self._has_begun = self._has_begun or opened + closed > 0
        self._depth += opened - closed
