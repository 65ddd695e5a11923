"""The input of a custom tool, out of the JSON that a model writes for it, as it grows.

A custom tool takes plain text. Chat has functions with JSON only, so the model is asked
for `{"input": "…"}`, and the client gets the string's text while it is being written.
"""

import re

from .tools import INPUT

_BEFORE = f'{{"{INPUT}":"'
_NOTHING = "{}"
_QUOTES = _BEFORE.count('"')
_PLAIN = re.compile(r'[^"\\]+')
_SHORT = {
    **dict(zip("bfnrt", "\b\f\n\r\t", strict=True)),
    '"': '"',
    "\\": "\\",
    "/": "/",
}
_UNIT = re.compile(r"\\u([0-9a-fA-F]{4})")
_UNIT_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_HIGH = re.compile(r"\\u[dD][89abAB]")
_LOW = re.compile(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_LOW_BEGUN = re.compile(r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z")
_LONGEST_PREFIX = 1000  # characters, blanks above all, before the string begins


class CustomInput:
    """Decodes the arguments of one call.

    What does not have the form that was asked for is given as it is, rather than lost.
    """

    def __init__(self) -> None:
        self._held = ""
        self._read = self._prefix

    def feed(self, text: str) -> str:
        """Return the input that *text* adds."""
        self._held += text
        return self._read()

    def end(self) -> str:
        """Return what was held back, as the arguments end here."""
        held, self._held = self._held, ""
        if self._read == self._prefix and "".join(held.split()) == _NOTHING:
            return ""
        return "" if self._read == self._closed else held

    def _prefix(self) -> str:
        begun = "".join(self._held[:_LONGEST_PREFIX].split())
        if begun.startswith(_BEFORE):
            self._held = self._held.split('"', _QUOTES)[_QUOTES]
            self._read = self._string
        elif begun != _NOTHING and (
            not _BEFORE.startswith(begun) or len(self._held) > _LONGEST_PREFIX
        ):
            self._read = self._raw
        else:
            return ""
        return self._read()

    def _string(self) -> str:
        held, at, out = self._held, 0, []
        while at < len(held) and held[at] != '"':
            plain = _PLAIN.match(held, at)
            if plain:
                out.append(plain[0])
                at = plain.end()
                continue
            letter, end = _escaped(held, at)
            if not end:
                break
            out.append(letter)
            at = end
        self._held = held[at:]
        if self._held.startswith('"'):
            self._read = self._closed
            out.append(self._read())
        return "".join(out)

    def _closed(self) -> str:
        """Read what follows the quote that ends the string, unless it is a bare one."""
        after = self._held[1:].lstrip()
        if not after:
            return ""
        self._read = self._rest if after[0] in "}," else self._raw
        return self._read()

    def _rest(self) -> str:
        self._held = ""
        return ""

    def _raw(self) -> str:
        held, self._held = self._held, ""
        return held


def _escaped(held: str, at: int) -> tuple[str, int]:
    """Return the letter that an escape stands for, and its end: 0 if more has to come."""
    unit = _UNIT.match(held, at)
    if unit and _HIGH.match(held, at):
        low = _LOW.match(held, unit.end())
        if low:
            pair = bytes.fromhex(unit[1] + low[0][2:]).decode("utf-16-be")
            return pair, low.end()
        if _LOW_BEGUN.match(held, unit.end()):
            return "", 0
    if unit:
        return chr(int(unit[1], 16)), unit.end()
    if _UNIT_BEGUN.match(held, at):
        return "", 0
    letter = _SHORT.get(held[at + 1])
    # A backslash that escapes nothing: models forget to double those of a path.
    return (letter, at + 2) if letter else ("\\", at + 1)
