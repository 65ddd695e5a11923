"""Text from the network, as a terminal or a log may show it: it commands nothing."""

MOST = 200
"""Characters of a name that are shown."""


def escaped(text: str) -> str:
    r"""Return *text* with what is not printable as an escape, such as `\x1b` or `\n`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def brief(text: str, most: int = MOST) -> str:
    """Return a name as one line of at most so many characters, escaped."""
    shown = escaped(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
