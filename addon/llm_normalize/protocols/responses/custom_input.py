"""The input of a custom tool, out of the JSON that a model writes for it, as it grows.

A custom tool takes plain text. Chat has functions with JSON only, so the model is asked
for `{"input": "…"}`, and the client gets the string's text while it is being written.
Models that know such a tool by another form write that: another key, a list as for a
shell, a fence of Markdown around all of it. So what begins otherwise is read at its end.
"""

import json
import re

from ...wire.json_text import Json, value_in
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
_FENCE = "```"
_SHELLS = ("bash", "sh", "zsh")
# The word has an end: a long one would be sought in all its lengths.
_HERE = re.compile(
    r"\s*+\w++ *<<-? *['\"]?(\w{1,64}+)['\"]? *\n(.*?)\n?\1\s*", re.DOTALL
)
_KEYS = (INPUT, "patch", "diff", "cmd", "command", "content", "code", "script", "text")
"""Where a model puts the input, the surest first."""


class CustomInput:
    """Decodes the arguments of one call.

    What does not have the form that was asked for is given as it is, rather than lost.

    Args:
        name: The name of the tool.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._held = ""
        self._read = self._prefix
        self._parts: list[str] = []
        """What is not sent before its end: it may have to be read in another way."""
        self._has_begun = False

    def feed(self, text: str) -> str:
        """Return the input that *text* adds."""
        if self._read == self._until_end:
            self._parts.append(text)
            return ""
        self._held += text
        return self._unless_fenced(self._read())

    def end(self) -> str:
        """The rest to send, as the arguments end here."""
        held, self._held = self._held, ""
        is_empty = self._read == self._prefix and "".join(held.split()) == _NOTHING
        if is_empty or self._read == self._closed:
            held = ""
        if self._has_begun:
            return held
        whole = "".join([*self._parts, held])
        return self._meant(whole) if self._read == self._until_end else _unfenced(whole)

    def _unless_fenced(self, text: str) -> str:
        """Return *text* and what is held, unless that may begin with a fence."""
        if self._has_begun or not text:
            return text
        self._parts.append(text)
        if self._parts[0].startswith(_FENCE):
            return ""
        begun = "".join(self._parts)
        self._parts = [begun]
        if begun.startswith(_FENCE) or _FENCE.startswith(begun):
            return ""
        self._has_begun = True
        return begun

    def _prefix(self) -> str:
        begun = "".join(self._held[:_LONGEST_PREFIX].split())
        if begun.startswith(_BEFORE):
            self._held = self._held.split('"', _QUOTES)[_QUOTES]
            self._read = self._string
        elif begun != _NOTHING and (
            not _BEFORE.startswith(begun) or len(self._held) > _LONGEST_PREFIX
        ):
            is_json = begun[:1] in ("{", "[", '"', "`")
            self._read = self._until_end if is_json else self._raw
        else:
            return ""
        return self._read()

    def _until_end(self) -> str:
        held, self._held = self._held, ""
        self._parts.append(held)
        return ""

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

    def _meant(self, text: str) -> str:
        bare = _unfenced(text)
        found = self._text_in(value_in(bare.encode(errors="surrogatepass")))
        return bare if found is None else _unfenced(found)

    def _text_in(self, value: Json) -> str | None:
        """Return the input in a *value* of another form; None if it has none."""
        if isinstance(value, dict):
            keys = [*value] if len(value) == 1 else [k for k in _KEYS if k in value]
            return self._text_in(value[keys[0]]) if keys else None
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            if len(value) == 3 and value[0] in _SHELLS:  # noqa: PLR2004
                return str(value[2])
            is_command = value[:1] == [self._name] and len(value) > 1
            return "\n".join(value[is_command:])
        return value if isinstance(value, str) else None


def _unfenced(text: str) -> str:
    """Return what a fence of Markdown, or a here-document, around all of *text* encloses."""
    if command := _HERE.fullmatch(text):
        return command[2]
    first, _, rest = text.strip().partition("\n")
    inner = rest.removesuffix(_FENCE)
    is_fenced = first.startswith(_FENCE) and inner != rest and _FENCE not in inner
    return inner.removesuffix("\n") if is_fenced else text


def _decoded(text: str) -> str:
    """Return the text that *text* is, the inside of a string of JSON."""
    if "\\" not in text:
        return text
    spelled = _BARE.sub(r"\\\\", text.replace(r"\\", r"\u005c"))
    found: str = json.loads(f'"{spelled}"', strict=False)
    return found
