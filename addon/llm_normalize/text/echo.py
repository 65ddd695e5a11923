"""The strings of one request, recognised where its provider's answer repeats them.

A provider quotes a request in many ways: escaped, printed by Python, as HTML, cut short,
in other white space or case. So both sides are compared by their letters and digits
alone. Needed for errors only, and bounded, whatever is asked and answered.
"""

import json
import re
import string
from collections.abc import Iterable, Iterator
from typing import Any

from .folded_text import Folded, Span, folded, folded_words, packed

MASK = "***"
ECHO_KEYS = frozenset(
    ("body", "ctx", "input", "input_value", "request", "request_body", "url")
)
"""Keys under which a provider's error repeats its request."""
ECHO_FIELD = rf"""['"](?:{"|".join(sorted(ECHO_KEYS))})\\*['"]"""
"""A regular expression: such a key, quoted at any depth, as in JSON in a JSON string."""
MOST = 64 * 1024
"""Characters of a text that are compared."""

_WINDOW = 12  # letters and digits in a row that are no coincidence
_BLOCK = _WINDOW // 2
_SHORT = 4  # of a string, or of a word with a digit
_CUT = 6  # of the beginning of a string that is cut short
_LONG = 48  # characters of a word that is looked for alone
_LARGE = 4 * 1024 * 1024  # characters of a request
_BUDGET = 4 * _LARGE  # characters of it that are read for all its errors
_REMEMBERED = 64  # texts
_DEEP = 64  # levels of a request
# What is the API's own word in a request, not the client's: where it stands, and what it
# may be there. Any other may have been chosen to look like something else.
_PROTOCOL = frozenset((
    "type", "object", "tool_choice", "reasoning_effort", "effort", "service_tier",
    "verbosity", "modalities", "detail", "encoding_format", "format", "mode",
))  # fmt: skip
_WORDS = frozenset((
    "array", "audio", "auto", "base64", "boolean", "custom", "date", "date-time",
    "default", "email", "file", "flex", "float", "function", "high", "image",
    "image_url", "input_audio", "input_text", "integer", "json_object", "json_schema",
    "list", "low", "max", "medium", "minimal", "none", "null", "number", "object",
    "priority", "refusal", "required", "scale", "standard_only", "string", "text",
    "tool", "uri", "uuid", "wav", "mp3", "xhigh",
))  # fmt: skip
_ROLES = frozenset(("assistant", "developer", "function", "system", "tool", "user"))
_NAME = re.compile(r"[\w.$-]{1,40}")
_MODEL = re.compile(r"[\w.:/@+-]+")  # more than one word may say anything
# A word that is hardly another's by chance: it has a digit, or joins several.
_WORD = re.compile(r"[^\s\"'`<>(){}\[\],;=]{4,}")
_ODD = re.compile(r"\d|\w{3}[-@.]\w{2}")
_COMMON = frozenset(("done", "ping", "keepalive", "heartbeat"))  # ends and comments
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")

_ELLIPSIS = re.compile(r"\*{2,}|\.{3}|…|\\u2026|&hellip;|[\[(<]truncated")
_CUT_OFF = re.compile(rf"{_ELLIPSIS.pattern}|[\"'`]|\Z")
# Where a mask has to stop, so that a line of JSON stays one.
_EDGE = re.compile(r"\\.|(?P<edge>\"|\n(?:(?:data|event|id|retry)?: ?)?)", re.DOTALL)
_KEY = re.compile(r"\"[a-zA-Z_]{1,30}\"\s*:")  # of an object: it names what is there
_LITERAL = re.compile(r"\d{1,3}|true|false|null")
_MARKS = string.whitespace + ":,;()[]{}<>"  # what an escape may end with is none


class Echo:
    """The strings of one request.

    Args:
        body: The request's body; None if it is not known: then all may repeat it.
        secrets: Strings of its headers and its query.
    """

    # Made when they are needed first: most requests are never compared.
    _short_strings: set[str]  # those that are shorter than a window
    _starts: set[str]
    _ends: set[str]
    _found: dict[str, list[Span]] | None = None

    def __init__(self, body: bytes | None, secrets: Iterable[str] = ()) -> None:
        self._body = body
        self._secrets = tuple(secrets)
        self._text: str | None = None  # all strings, folded
        self._budget = _BUDGET

    def hidden(self, text: str) -> str:
        """Return *text* without what repeats the request."""
        rest = MASK if len(text) > MOST else ""
        text = text[:MOST]
        found = folded(text)
        if len(found) >= _SHORT and found not in _COMMON:
            text = "".join(_masked(text, self.spans(text)))
        return self._without_packed(_BLOB.sub(MASK, text)) + rest

    def _without_packed(self, text: str) -> str:
        """Return *text* without what repeats the request in base64 or hexadecimal."""
        words = [*packed(text)]
        letters = "\n".join(what for *_, what in words)[: 4 * MOST]
        spans = self.spans(letters) if letters else []
        at = len(letters)
        for start, end, what in reversed(words):
            at -= len(what)
            if any(each.start < at + len(what) and at < each.end for each in spans):
                text = text[:start] + MASK + text[end:]
            at -= 1
        return text

    def is_own(self, text: str) -> bool:
        """Tell whether *text* is a whole string of the request."""
        request, found = self._read(), folded(text[:MOST])
        if self._body is None:  # unknown
            return True
        return found in self._short_strings or f"\0{found}\0" in request

    def spans(self, text: str) -> list[Span]:
        """Return where *text*, of `MOST` characters, repeats the request, in order."""
        if self._found is None or len(self._found) >= _REMEMBERED:
            self._found = {}
        if text in self._found:
            return self._found[text]
        request = self._read()
        letters = Folded(text)
        self._budget -= len(request)
        if self._body is None or self._budget < 0:  # unknown
            spans = letters.spans([(0, len(letters.text), True)])
        else:
            marks = letters.merged(self._marks(letters, request))
            spans = letters.spans(
                (start, end, is_complete or f"\0{letters.text[start:end]}\0" in request)
                for start, end, is_complete in marks
            )
        self._found[text] = spans
        return spans

    def _marks(self, letters: Folded, request: str) -> Iterator[tuple[int, int, bool]]:
        """Yield what is the request's in the letters of a text: from, to, all of it."""
        text = letters.text
        known = _windows_in_both(text, request)
        for at in range(len(text) if known else 0):
            if text[at : at + _WINDOW] in known:
                yield at, at + _WINDOW, False
        yield from self._short_ones(letters)
        yield from self._cut_ones(letters)

    def _short_ones(self, letters: Folded) -> Iterator[tuple[int, int, bool]]:
        """Yield where strings stand that are shorter than a window."""
        text = letters.text
        for at in filter(letters.begins_word, range(len(text))):
            for end in range(at + _SHORT, min(at + _WINDOW, len(text) + 1)):
                if text[at:end] in self._short_strings and letters.begins_word(end):
                    yield at, end, True

    def _cut_ones(self, letters: Folded) -> Iterator[tuple[int, int, bool]]:
        """Yield where a string breaks off, or goes on."""
        text = letters.text
        for size in range(_SHORT, _WINDOW):
            for end in letters.ends(_CUT_OFF):
                if end >= size and text[end - size : end] in self._starts:
                    yield end - size, end, False
            for start in letters.starts(_ELLIPSIS):
                if text[start : start + size] in self._ends:
                    yield start, min(start + size, len(text)), False

    def _read(self) -> str:
        """Return the strings of the request as letters and digits, each between NULs."""
        if self._text is None:
            self._short_strings, self._starts, self._ends = set(), set(), set()
            texts = [*_strings(self._body or b""), *self._secrets]
            # What is no text, an image say, is found by its beginning, or as such.
            texts = [
                _BLOB.sub(lambda blob: blob[0][:200], each)
                if len(each) > MOST
                else each
                for each in dict.fromkeys(texts)
            ]
            is_known = self._body is not None and sum(map(len, texts)) <= _LARGE
            self._body = b"" if is_known else None
            found = [self._take(each) for each in texts if is_known]
            self._text = "\0".join(["", *filter(None, found), ""])
        return self._text

    def _take(self, text: str) -> str:
        """Return a string of the request folded; remember a short one, and its ends."""
        found = folded(text)
        words = [each for each in set(_WORD.findall(text)) if len(each) < _LONG]
        short = [found, *folded_words(filter(_ODD.search, words))]
        self._short_strings.update(each for each in short if len(each) < _WINDOW)
        for size in range(
            _SHORT if text in self._secrets else _CUT, min(len(found) + 1, _WINDOW)
        ):
            self._starts.add(found[:size])
            self._ends.add(found[-size:])
        return found


def _windows_in_both(text: str, request: str) -> set[str]:
    """Return the windows of *text* that are in *request*, which may be long.

    Each window of the request has a whole block in it that begins at a multiple of a
    block's size. So only those are looked up, and windows where one is in the text.
    """
    wanted = {text[at : at + _WINDOW] for at in range(len(text) - _WINDOW + 1)}
    blocks = {text[at : at + _BLOCK] for at in range(len(text) - _BLOCK + 1)}
    return {
        window
        for at in range(0, len(request) if wanted else 0, _BLOCK)
        if request[at : at + _BLOCK] in blocks
        for start in range(max(at - _BLOCK, 0), at + 1)
        if (window := request[start : start + _WINDOW]) in wanted
    }


def _masked(text: str, spans: Iterable[Span]) -> Iterator[str]:
    at = 0
    for span in spans:
        yield text[at : span.start]
        at = span.start
        for found in _EDGE.finditer(text, span.start, span.end):
            if found["edge"]:
                yield _mask(text, at, found.start())
                yield found[0]
                at = found.end()
        yield _mask(text, at, span.end)
        at = span.end
    yield text[at:]


def _mask(text: str, start: int, end: int) -> str:
    part = text[start:end]
    shown = part.strip(_MARKS)
    key = _KEY.match(text, max(text.rfind('"', 0, start + 1), 0))
    if not shown or (key and end <= key.end()) or _LITERAL.fullmatch(shown):
        return part
    before, _, after = part.partition(shown)
    is_bare = '"' in text and before[:1] in tuple(":,[")
    return f"{before}{f'"{MASK}"' if is_bare else MASK}{after}"


def _strings(body: bytes) -> Iterator[str]:
    """Yield the strings of a request's *body* that its client has written."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        yield body.decode(errors="replace")
        return
    model = value.get("model") if isinstance(value, dict) else None
    is_name = isinstance(model, str) and _MODEL.fullmatch(model)
    yield from (each for each in _texts(value, _DEEP) if each != model or not is_name)


def _texts(value: Any, deep: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif not deep:
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, deep - 1)
    elif isinstance(value, dict):
        for key, each in value.items():
            if not _NAME.fullmatch(key):
                yield key
            found = each if isinstance(each, list) else [each]
            if key == "required":  # names of properties, as the keys above
                found = [each for each in found if not _NAME.fullmatch(str(each))]
            words = _ROLES if key == "role" else _WORDS if key in _PROTOCOL else ()
            found = [each for each in found if str(each) not in words]
            yield from _texts(found, deep - 1)
