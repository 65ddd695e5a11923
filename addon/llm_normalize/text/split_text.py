"""A text in parts, for a stream that is made of a whole answer."""

import re

_SHORT = 32  # characters: a handful of words
# A part may begin at a blank, as a model's tokens do, and after the punctuation of a
# script without blanks. Neither parts a character from what combines with it: what
# combines follows a blank, and the few signs that combine with what comes after them
# (Grapheme_Cluster_Break=Prepend, https://www.unicode.org/reports/tr29/) end no part.
_PREPENDED = (
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e"
    "\U000110bd\U000110cd\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a"
    "\U00011a84-\U00011a89\U00011d46\U00011f02"
)
_BOUNDARY = re.compile(
    rf"(?<=[^\s{_PREPENDED}])(?=\s)"
    "|(?<=[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f])"
    "(?=[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff])"
)


def split(text: str, most: int) -> list[str]:
    """Return *text* in parts of some words, *most* of them at most, at least one.

    Joined they are the text. None repeats the one before it and goes on: that would
    look like a text that grows with each event.
    """
    size = max(_SHORT, -(-len(text) // most))
    found: list[str] = []
    start = 0
    while start < len(text) or not found:
        match = _BOUNDARY.search(text, start + size)
        end = match.start() if match else len(text)
        found.append(text[start:end])
        start = end
        while len(found) > 1 and _grows(*found[-2:]):
            last = found.pop()
            found[-1] += last
    return found


def _grows(one: str, other: str) -> bool:
    return len(other) > len(one) and other.startswith(one)
