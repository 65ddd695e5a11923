"""A provider's answer without what is private in it, byte for byte of the same length.

For a bug report the shape of an answer matters, not what it says: keys and ids are
replaced, and all words if that is wanted. Spelling, framing and numbers stay, and so does
whether two texts are the same or one begins with the other: fixes look at that.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..text.echo import ECHO_FIELD, ECHO_KEYS
from ..wire.json_scanner import Path, Token, tokens
from .filler import Arguments, Filler, chars_of, plain_of

_PROTOCOL = re.compile(
    "object|type|role|(?:native_)?finish_reason|stop_reason|model|service_tier"
    "|provider|owned_by|code|param|status|format"
)
"""Keys whose strings are no words."""
_GIVEN = {"arguments", "input", "parameters"}
"""Keys under which a tool's own words are, keys among them."""
_NAMES = re.compile(
    r"(?:.*[_-])?(?:ids?|fingerprint|trace|nonce|ray|session|conversation|signature)"
    r"|.*[a-z]I[dD]"
    r"|.*(?:secret|password|cookie|api_?-?key|(?:access|auth|refresh)_?-?token).*",
    re.ASCII | re.IGNORECASE,
)
"""Keys of names that were given once, and of keys."""
_OWNERS = re.compile(
    r"(?:.*[_-])?(?:user|organi[sz]ation|org|account|tenant|deployment|project)(?:_?id)?",
    re.ASCII | re.IGNORECASE,
)
"""Keys of names that tell who asked."""
_NUMBERS = {
    *("bytes", "token", "tokens", "token_id", "token_ids"),
    *("prompt_token_ids", "output_token_ids"),
}
"""Keys of words that are spelled in numbers."""

_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|nvapi|gsk|xai|hf|pplx|csk|fw|tgp|r8|glpat|ghp|gho)[-_]"
    r"|(?:AIza|AKIA|eyJ)|[Bb]earer\s{1,9})[\w.~+/=-]{12,}"
    r"|(?<![A-Za-z0-9])(?:org|user|req|proj|acct)[-_][A-Za-z0-9]{8,}"
    r"|(?<=[?&])(?:api[-_]?key|key|token|access_token|sig|signature)=[^&\s\"']+"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+",
    re.ASCII,
)
"""What looks like a key, an id or a mail address, wherever it stands."""
_LEAD = re.compile(r"[?&]?(?:[A-Za-z_-]{1,16}=|[A-Za-z]{1,16}(?:[-_]|\s+))?", re.ASCII)
"""What may be shown of it: its kind."""
_ECHOED = re.compile(rf"{ECHO_FIELD}\s*:|\binput_value=", re.ASCII)
_SHORT = 8  # characters of a name that hides nothing: "0", "call_1"
_MOST = 200  # names that are looked for elsewhere, too


@dataclass
class Redaction:
    """What is replaced in one answer, the same everywhere.

    Attributes:
        secrets: Strings of the request that must not be there.
        fill: Whether all words go.
    """

    secrets: Sequence[str] = ()
    fill: bool = False
    _filler: Filler = field(default_factory=Filler)
    _known: dict[str, str] = field(default_factory=dict)  # what stands for a name

    def of(self, data: bytes) -> bytes:
        """Return *data* without what is private; as long as it was."""
        text = data.decode("utf-8", "surrogateescape")
        parts = list(text)
        found = []
        for each in tokens(text):
            name = self._name(each)
            if name is None:
                found.append(each)
            else:
                self._put(parts, each, name)
        self._fill(parts, [each for each in found if self._is_wordy(each)])
        search = self._search()
        for each in found:
            if each.kind not in ("number", "key"):  # which are the answer's shape
                span = slice(each.start, each.start + len(each.raw))
                self._put(parts, each, self._searched("".join(parts[span]), search))
        return "".join(parts).encode("utf-8", "surrogateescape")

    def name(self, text: str) -> str:
        """Return a name of the request, of a model or a host, without what is private.

        The owner of a model that was made for somebody is (`ft:gpt-4o:owner:…`).
        """
        made = re.match("ft:[^:]*:", text)
        if made:
            owner = self._filler.of(list(text[made.end() :]), 0, text)
            text = made.group() + owner
        return self._searched(text, self._search())

    def _put(self, parts: list[str], token: Token, text: str) -> None:
        parts[token.start : token.start + len(text)] = text

    # -- names and keys --------------------------------------------------------------

    def _name(self, token: Token) -> str | None:
        """The replacement of a name (`chatcmpl-` and the like stay); None for no name."""
        key, raw = _key_of(token.path), token.raw
        if key == "model" and token.kind == "string" and raw.startswith("ft:"):
            return self.name(raw)
        is_owner = _OWNERS.fullmatch(key) is not None
        is_name = is_owner or token.kind == "id" or _NAMES.fullmatch(key) is not None
        if not is_name or token.kind not in ("string", "number", "id"):
            return None
        if token.kind == "number":
            return self._number(raw) if len(raw) >= _SHORT else None
        lead = re.match(r"(?:[A-Za-z]{1,16}[-_])?", raw)
        end = lead.end() if lead and not is_owner else 0
        if not is_owner:
            is_constant = not re.search("[0-9]", raw) and " " not in raw
            if is_constant or len(raw) - end < _SHORT:
                return raw
        # All of it decides on each letter: names that begin alike are not alike.
        filled = raw[:end] + self._filler.of(chars_of(raw[end:]), 0, raw)
        if len(raw) >= _SHORT and len(self._known) < _MOST:
            self._known[raw] = filled
        return filled

    def _number(self, raw: str) -> str:
        filled = self._filler.of(list(raw), 0, raw)
        return re.sub(r"(?<![0-9])0(?=[0-9])", "1", filled)

    def _search(self) -> re.Pattern[str]:
        """The pattern of secrets, replaced names and anything like a key."""
        words = sorted({*self.secrets, *self._known} - {""}, key=len, reverse=True)
        given = "".join(f"{re.escape(word)}|" for word in words)
        return re.compile(given + _KEYS.pattern, re.ASCII)

    def _searched(self, raw: str, search: re.Pattern[str]) -> str:
        """Return a text without keys, its escapes decoded first."""
        chars = chars_of(raw)
        read = "".join(map(plain_of, chars))
        echo = _ECHOED.search(read)
        spans = [match.span() for match in search.finditer(read)]
        if echo:
            spans.append((echo.end(), len(read)))
        for start, end in spans:
            word = "".join(chars[start:end])
            lead = _LEAD.match(read, start, end)
            begin = start
            if lead and read[start:end] not in self.secrets:
                begin = lead.end()
            filled = self._known.get(word) or self._filler.of(chars[begin:end], 0, word)
            chars[begin:end] = chars_of(filled)[-(end - begin) :]
        return "".join(chars)

    # -- words -----------------------------------------------------------------------

    def _is_wordy(self, token: Token) -> bool:
        """Tell whether *token* is made of words that have to go."""
        path = {each for each in token.path[:-1] if isinstance(each, str)}
        key = _key_of(token.path)
        if not (self.fill or ECHO_KEYS & {*path, key}):
            return False
        is_given = bool(_GIVEN & path)
        if token.kind == "number":
            return is_given or key in _NUMBERS
        if token.kind == "key":
            return is_given
        if token.kind != "string" or is_given:
            return True
        named = _NAMES.fullmatch(key) or _OWNERS.fullmatch(key)
        return not (named or _PROTOCOL.fullmatch(key))

    def _fill(self, parts: list[str], found: Iterable[Token]) -> None:
        """Replace words; the fragments of a stream are one text."""
        by_path: defaultdict[Path, list[Token]] = defaultdict(list)
        for each in found:
            if each.kind == "number":
                self._put(parts, each, re.sub("[0-9]", "1", each.raw))
            elif each.kind == "string":
                by_path[each.path].append(each)
            else:
                self._put(parts, each, self._filler.of(chars_of(each.raw), 0))
        for path, fragments in by_path.items():
            sent, place, keep = "", 0, Arguments()
            for each in fragments:
                if sent and each.raw.startswith(sent):  # it repeats all of it
                    sent, place, keep = "", 0, Arguments()
                chars = chars_of(each.raw)
                unchanged = keep.of(chars) if path[-1] == "arguments" else []
                self._put(
                    parts, each, self._filler.of(chars, place, unchanged=unchanged)
                )
                sent += each.raw
                place += len(chars)


def _key_of(path: Path) -> str:
    named = (each for each in reversed(path) if isinstance(each, str))
    return next((each for each in named if not re.match("#[0-9]", each)), "")
