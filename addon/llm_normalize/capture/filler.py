"""Other letters in the place of words: of the same kind, and of the same length in bytes.

A letter is replaced by its place and by itself, with a salt that nobody knows: so equal
texts, and beginnings of a text, stay equal, and nothing else is revealed.
"""

import hashlib
import json
import re
import secrets
import string
from collections.abc import Iterable, Sequence

_CHAR = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[0-9a-fA-F]{4}|\\.|.",
    re.DOTALL,
)
_TAG = re.compile(r"</?[A-Za-z_|][\w|:-]{0,30}>")
_LITERALS = ("true", "false", "null")

# By how many bytes they have in UTF-8.
_WIDE = {
    size: "".join(map(chr, letters))
    for size, letters in (
        (2, range(0xE0, 0xF7)),
        (3, range(0x4E00, 0x4E20)),
        (4, range(0x20000, 0x20010)),
    )
}


def chars_of(raw: str) -> list[str]:
    """Return the characters of a JSON string, an escape as one."""
    return _CHAR.findall(raw)


def plain_of(char: str) -> str:
    """The one character that *char*, one of `chars_of`, spells."""
    if len(char) == 1:
        return char
    try:
        read = str(json.loads(f'"{char}"'))
    except ValueError:  # no escape of JSON
        read = char[1:]
    return read[:1]


class Filler:
    """Replaces letters, the same in the same place."""

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(16)

    def of(
        self,
        chars: Sequence[str],
        place: int,
        of: str = "",
        unchanged: Iterable[int] = (),
    ) -> str:
        """Return *chars* with other letters.

        Args:
            chars: Characters, by `chars_of`.
            place: Where they are in their text.
            of: What decides on each letter beside its place; nothing for a text that may
                go on.
            unchanged: Places of those that stay; tags do in any case.
        """
        salt = self._salt
        if of:
            word = of.encode(errors="surrogatepass")
            salt = hashlib.blake2b(word, key=self._salt, digest_size=16).digest()
        stays = {*unchanged}
        if "<" in chars:
            at = 0
            starts = {}
            for number, char in enumerate(chars):
                starts[at] = number
                at += len(char)
            for tag in _TAG.finditer("".join(chars)):
                first = starts[tag.start()]
                stays.update(range(first, first + len(tag.group())))
        return "".join(
            char if number in stays else _letter(char, place + number, salt)
            for number, char in enumerate(chars)
        )


def _letter(char: str, place: int, salt: bytes) -> str:
    """The replacement of *char* at *place*; only letters and digits get another."""
    plain = plain_of(char)
    if len(char) > 1 and not re.match(r"\\u[0-9a-fA-F]{4}", char):
        return char
    if not plain.isalnum():
        return char
    key = f"{place} {char}".encode()
    number = int.from_bytes(hashlib.blake2b(key, key=salt, digest_size=4).digest())
    if len(char) > 6:  # noqa: PLR2004 - an escape of two halves
        return f"\\ud840\\udc{number % 26:02x}"
    if len(char) > 1:
        return f"\\u{0x61 + number % 26:04x}"
    size = len(char.encode())
    if size > 1:
        letters = _WIDE[size]
    elif char.isdigit():
        letters = string.digits
    else:
        letters = string.ascii_uppercase if char.isupper() else string.ascii_lowercase
    return letters[number % len(letters)]


class Arguments:
    """What of a tool call's arguments is not a word, over all its fragments."""

    def __init__(self) -> None:
        self._in_string = False
        self._escaped = 0  # characters that still belong to an escape
        # Outside of a string:
        self._word = ""  # it may become a literal
        self._after_digit = False

    def of(self, chars: list[str]) -> list[int]:
        """Return the places of what stays; a digit outside a string becomes a one."""
        unchanged = []
        for place, char in enumerate(chars):
            inner = {'\\"': '"', "\\\\": "\\"}.get(char, char)
            if self._escaped:
                self._escaped = 4 if inner == "u" else self._escaped - 1
            elif self._in_string:
                self._escaped = int(inner == "\\")
                self._in_string = inner != '"'
                if self._in_string and not self._escaped:
                    continue
            else:
                self._in_string = inner == '"'
                is_exponent = self._after_digit and inner in "eE"
                self._after_digit = char in string.digits
                chars[place] = "1" if char in string.digits else char
                self._word = (
                    self._word + inner if inner.isalpha() and not is_exponent else ""
                )
                if not any(each.startswith(self._word) for each in _LITERALS):
                    self._word = self._word[:6]  # no literal is as long
                    continue
            unchanged.append(place)
        return unchanged
