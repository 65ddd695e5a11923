"""A provider's answer without what is private in it, byte for byte of the same length.

For a bug report the shape of an answer matters, not what it says: keys and ids are
replaced, and all words if that is wanted. Spelling, framing and numbers stay, and so does
whether two texts are the same or one begins with the other: fixes look at that.
"""

import hashlib
import json
import re
import secrets as random
import string
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .scanner import Path, Text, plain_lines, texts

_PROTOCOL = re.compile(
    "object|type|role|(?:native_)?finish_reason|stop_reason|model|service_tier"
    "|provider|owned_by|code|param|status|format"
)
"""Keys whose strings are no words."""
_ECHO = frozenset(("input", "ctx", "body", "request"))
"""Keys under which a provider echoes the request."""
_NAMES = re.compile(
    r"(?:.*_)?(?:ids?|fingerprint|user|organization|org|account|trace|nonce)|.*[a-z]I[dD]",
    re.ASCII,
)
"""Keys of names that were given once."""
_OWNERS = re.compile(r"(?:.*_)?(?:user|organization|org|account)(?:_id)?", re.ASCII)
"""Keys of names that tell who asked."""
_NUMBERS = frozenset(("bytes", "token_ids", "prompt_token_ids", "output_token_ids"))
"""Keys of words that are spelled in numbers."""

_KEYS = re.compile(
    r"(?P<lead>\b(?:sk|pk|rk|nvapi|gsk|xai|hf|pplx|csk|fw|tgp|r8|glpat|ghp|gho|AIza|AKIA)"
    r"[-_]?|\b[Bb]earer\s+|\beyJ)(?P<key>[\w.~+/=-]{12,})"
    r"|(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
    re.ASCII,
)
"""What looks like a key, or a mail address, wherever it stands."""

_TAG = re.compile(r"</?[A-Za-z_|][\w|:-]{0,30}>")
_CHAR = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_SHORT = 8  # characters of a name that hides nothing: "0", "call_1"

# By how many bytes they have in UTF-8.
_WIDE = {
    size: "".join(map(chr, letters))
    for size, letters in (
        (2, range(0xE0, 0xF7)),
        (3, range(0x4E00, 0x4E20)),
        (4, range(0x20000, 0x20010)),
    )
}


@dataclass
class Redaction:
    """What is replaced in one answer, the same everywhere.

    Attributes:
        secrets: Strings of the request that must not be there.
        fill: Whether all words go.
    """

    secrets: Sequence[str] = ()
    fill: bool = False
    _salt: bytes = field(default_factory=lambda: random.token_bytes(16))

    def of(self, data: bytes) -> bytes:
        """Return *data* without what is private; as long as it was."""
        text = data.decode("utf-8", "surrogateescape")
        parts = list(text)
        found = [*texts(text)]
        for each in found:
            if not each.is_number and _is_name(each.path):
                self._put(parts, each.start, self._name(each.raw, each.path))
        wordy = [each for each in found if self.fill or _ECHO & {*each.path}]
        self._fill(parts, [each for each in wordy if _is_wordy(each)])
        if self.fill:
            for start, line in plain_lines(text):
                self._put(parts, start, self._filled(_chars(line), 0))
        return self._without_keys("".join(parts)).encode("utf-8", "surrogateescape")

    def _put(self, parts: list[str], start: int, text: str) -> None:
        parts[start : start + len(text)] = text

    def _without_keys(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, self._filled(_chars(secret), 0))
        return _KEYS.sub(self._key, text)

    def _key(self, found: re.Match[str]) -> str:
        lead, key = found["lead"] or "", found["key"] or found["mail"]
        return lead + self._filled(_chars(key), 0)

    def _name(self, raw: str, path: Path) -> str:
        """Return what stands for a name: `chatcmpl-` and the like stay."""
        if not (_OWNERS.fullmatch(_key_of(path)) or re.search("[0-9]", raw)):
            return raw  # a constant
        lead = re.match(r"(?:[A-Za-z]+[-_])*", raw)
        end = lead.end() if lead else 0
        if len(raw) - end < _SHORT:
            return raw
        # All of it decides on each letter: names that begin alike are not alike.
        filled = self._filled(
            _chars(raw[end:]), 0, self._salt + raw.encode(errors="replace")
        )
        return raw[:end] + filled

    def _fill(self, parts: list[str], found: Iterable[Text]) -> None:
        """Replace words; those that a stream tells bit by bit are one text."""
        told: defaultdict[Path, list[Text]] = defaultdict(list)
        for each in found:
            if each.is_number:
                self._put(parts, each.start, re.sub("[0-9]", "1", each.raw))
            else:
                told[each.path].append(each)
        for path, fragments in told.items():
            said, place, keep = "", 0, _Arguments()
            for each in fragments:
                if said and each.raw.startswith(said):  # it says all of it anew
                    said, place, keep = "", 0, _Arguments()
                chars = _chars(each.raw)
                kept = keep.of(chars) if path[-1] == "arguments" else []
                self._put(parts, each.start, self._filled(chars, place, kept=kept))
                said += each.raw
                place += len(chars)

    def _filled(
        self,
        chars: Sequence[str],
        place: int,
        salt: bytes = b"",
        kept: Iterable[int] = (),
    ) -> str:
        """Return *chars*, which begin at *place* of their text, with other letters."""
        raw = "".join(chars)
        stays = {*kept}
        at = 0
        tags = [match.span() for match in _TAG.finditer(raw)]
        made = []
        for number, char in enumerate(chars):
            in_tag = any(start <= at < end for start, end in tags)
            at += len(char)
            if number in stays or in_tag:
                made.append(char)
            else:
                made.append(self._letter(char, place + number, salt or self._salt))
        return "".join(made)

    def _letter(self, char: str, place: int, salt: bytes) -> str:
        """Return what stands for *char* at *place*: what is no letter stays."""
        plain = char
        if len(char) > 1:
            if not char.startswith("\\u"):
                return char
            plain = json.loads(f'"{char}"')
        if not plain.isalnum():
            return char
        key = f"{place} {char}".encode(errors="replace")
        number = int.from_bytes(
            hashlib.blake2b(key, key=salt[:64], digest_size=4).digest()
        )
        if len(char) > 1:
            return f"\\u{0x61 + number % 26:04x}"
        size = len(char.encode())
        if size > 1:
            letters = _WIDE[size]
        elif plain.isdigit():
            letters = string.digits
        else:
            letters = (
                string.ascii_uppercase if plain.isupper() else string.ascii_lowercase
            )
        return letters[number % len(letters)]


class _Arguments:
    """What of a tool call's arguments is no word, over all its fragments."""

    def __init__(self) -> None:
        self._in_string = False
        self._escaped = 0  # characters that still belong to an escape

    def of(self, chars: list[str]) -> list[int]:
        """Return the places of what stays; a digit outside a string becomes a one."""
        kept = []
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
                chars[place] = "1" if char in string.digits else char
            kept.append(place)
        return kept


def _chars(raw: str) -> list[str]:
    """Return the characters of a JSON string, an escape in one piece."""
    return _CHAR.findall(raw)


def _key_of(path: Path) -> str:
    return next(
        (each for each in reversed(path) if isinstance(each, str) and each[0:1] != "#"),
        "",
    )


def _is_name(path: Path) -> bool:
    return _NAMES.fullmatch(_key_of(path)) is not None


def _is_wordy(each: Text) -> bool:
    """Tell whether *each* is made of words."""
    key = _key_of(each.path)
    if each.is_number:
        return key in _NUMBERS
    return not (_PROTOCOL.fullmatch(key) or _is_name(each.path))
