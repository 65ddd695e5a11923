"""The input of a custom tool, out of the JSON that a model writes for it, as it grows.

A custom tool takes plain text. Chat has functions with JSON only, so the model is asked
for `{"input": "…"}`, and the client gets the string's text while it is being written.
"""

import json
import re

from .tools import INPUT

_BEFORE = f'{{"{INPUT}":"'
_NOTHING = "{}"
_QUOTES = _BEFORE.count('"')
# An escape that is whole: of a pair of surrogates, only both are.
_LOW_BEGUN = r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z"
_UNIT = rf"\\u(?![dD][89abAB]..{_LOW_BEGUN})[0-9a-fA-F]{{4}}"
_OTHER = r"\\(?!u[0-9a-fA-F]{4}|(?:u[0-9a-fA-F]{0,3})?\Z)."
_WHOLE = re.compile(rf'(?:[^"\\]++|{_UNIT}|{_OTHER})*+', re.DOTALL)
# A backslash that escapes nothing: models forget to double those of a path.
_BARE = re.compile(r'\\(?!["/bfnrt]|u[0-9a-fA-F]{4})')
_LONGEST_PREFIX = 1000
"""Characters, blanks above all, before the string begins, and behind it."""


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
        """The rest to send of the held text, as the arguments end here."""
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
        whole = _WHOLE.match(self._held)
        assert whole is not None
        text, self._held = whole[0], self._held[whole.end() :]
        out = _decoded(text)
        if self._held.startswith('"'):
            self._read = self._closed
            out += self._read()
        return out

    def _closed(self) -> str:
        """Read what follows the quote that ends the string, unless it is a bare one."""
        after = self._held[1:].lstrip()
        if not after and len(self._held) <= _LONGEST_PREFIX:
            return ""
        self._read = self._raw if after and after[0] not in "}," else self._rest
        return self._read()

    def _rest(self) -> str:
        self._held = ""
        return ""

    def _raw(self) -> str:
        held, self._held = self._held, ""
        return held


def _decoded(text: str) -> str:
    """Return the text that *text* is, the inside of a string of JSON."""
    if "\\" not in text:
        return text
    spelled = _BARE.sub(r"\\\\", text.replace(r"\\", r"\u005c"))
    found: str = json.loads(f'"{spelled}"', strict=False)
    return found
