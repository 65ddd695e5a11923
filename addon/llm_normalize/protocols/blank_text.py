"""Text of nothing but blanks, before a text begins."""

_MOST = 1000
"""Characters: nobody shows more of them by mistake."""


class BlankText:
    """Holds blanks until words follow them: before a call, they say nothing.

    Models write some between their thoughts and a call, and clients show one as a message
    of its own.

    Args:
        most: Characters that it holds at most.
    """

    def __init__(self, most: float = _MOST) -> None:
        self._most = most
        self._held: list[str] = []
        self._size = 0

    def before(self, text: str) -> str:
        """The text to send now that *text* has arrived; empty while all of it is blank."""
        self._held.append(text)
        self._size += len(text)
        return self.take() if text.strip() or self._size > self._most else ""

    def take(self) -> str:
        """The held text, which is no longer held."""
        held = "".join(self._held)
        self._held.clear()
        self._size = 0
        return held
