"""Text from the network, as a terminal or a log may show it: it commands nothing."""

MOST = 200
"""Characters of a name that are shown."""
# Letters, marks and symbols by class, so str.isprintable lets them pass, but nothing is
# to be seen of them: words can be hidden in them.
_HIDDEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_SPELLED = {ord(each): ascii(each)[1:-1] for each in _HIDDEN}


def escaped(text: str) -> str:
    r"""Return *text* with what is not printable as an escape, such as `\x1b` or `\n`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def brief(text: str, most: int = MOST) -> str:
    """Return a name as one line of at most so many characters, escaped."""
    shown = escaped(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def counted(number: int, what: str) -> str:
    """Return `1 answer`, `2,000 answers` and the like."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def visible(text: str) -> str:
    r"""Return *text* as one line in which all that is there can be seen.

    Control, format, bidi and other unseen characters, and lone surrogates, are spelled
    as escapes such as `\u202e`.
    """
    return escaped(text).translate(_SPELLED)
