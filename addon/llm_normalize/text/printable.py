"""Text from the network, as a terminal or a log may show it: it commands nothing."""

_MOST = 200  # characters


def escaped(text: str) -> str:
    r"""Return *text* with what is not printable as an escape, such as `\x1b` or `\n`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def brief(text: str) -> str:
    """Return a name as one line of bounded length, escaped."""
    shown = escaped(text[: _MOST + 1])
    return shown if len(shown) <= _MOST else f"{shown[: _MOST - 1]}…"
