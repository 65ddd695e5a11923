"""What an error says of parameters that its provider does not know.

Providers say it in words of their own, and in JSON inside of those. What they echo of the
request, in fields for it (`input`, `body`, …) or anywhere else, is not read: a prompt may
say anything.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...text.echo import ECHO_KEYS, Echo
from ...wire.json_text import Json, loads
from . import message_refusals as form
from .refusal_table import WantedForm, forms_in

_DEEP = 8  # levels of nesting
_LONG = 4096  # characters of a text that is looked at
_ALL = 2 * _LONG  # characters of all texts of a refusal
_SHORT = 128  # characters that a shorter text counts as
_MOST = 24  # names of one refusal
_SHOWN = 400  # characters of words that are recorded
_AROUND = 10  # letters beside a name that tell where it is quoted from
_QUOTED_JSON = 24  # letters of JSON that are no coincidence
_DIGITS = re.compile(r"\d+")
LARGE = 64 * 1024
"""Bytes of an error body that are looked at."""

_UNKNOWN = {"unsupported_parameter", "unknown_parameter", "extra_forbidden"}
_EXTRA = re.compile(r"extra (?:inputs|fields) (?:are )?not permitted", re.IGNORECASE)

# A name, or a path: `seed`, `messages[2].refusal`, `messages.2.assistant.x`, `body -> x`.
# Possessive, and from its beginning only: the time is bounded, whatever is said. So
# is that for white space, which is one space here, see `_named`.
_NAME = (
    r"(?<![\w$.\]])(?<!-> )(?<![\w\].]\[)"
    r"[A-Za-z_$][\w$]*+(?:(?:\.\[?| -> |\[)\w++\]?)*+"
)
_QUOTED = rf"[\"'`]{_NAME}[\"'`]"
_ANY = rf"(?:{_QUOTED}|{_NAME})"
_AND = r"(?: ?, ?| and )"
_LIST = (
    rf"[\[{{(]{{0,3}}(?P<names>{_QUOTED}(?:{_AND}{_QUOTED})*|{_NAME}(?:{_AND}{_NAME})*)"
)
_WHAT = (
    r"(?:(?:request|body|keyword|input|top-level) )?"
    r"(?:parameter|param|argument|arg|field|propert|key|input|option)"
    r"(?:s|y|ies|\(s\))?"
)
_NOT = r"(?:unsupported|unknown|unrecogni[sz]ed|unexpected|unpermitted)"
_WHERE = r"(?: (?:supplied|provided|found|in (?:the )?(?:request|object|body)))?"
_REFUSED = (
    r"(?:unsupported|unknown|unrecogni[sz]ed|immutable"
    r"|not (?:yet )?(?:supported|allowed|permitted|recogni[sz]ed|a valid (?:field|parameter)))"
)
_PATTERNS = tuple(
    re.compile(each, re.IGNORECASE)
    for each in (
        # Unsupported parameter(s): `a`, `b`. Unrecognized request argument supplied: a
        rf"\b{_NOT} {_WHAT}{_WHERE} ?[:=]? {_LIST}",
        # property 'a' is unsupported
        rf"\b{_WHAT} (?P<names>{_QUOTED}) (?:is|are) {_REFUSED}",
        # `a` is not supported with this model
        rf"(?P<names>{_QUOTED}) (?:is|are) {_REFUSED} (?:with|for|by|on|in)\b",
        # The following parameters are not supported: a, b. Argument not supported: a
        rf"\b(?:parameter|field|argument)s? (?:\w+ )?(?:(?:is|are|were) )?{_REFUSED}[^:\"'`]{{0,40}}: ?{_LIST}",
        # invalid a: only 0.95 is allowed for this model, which is what it has without
        rf"\binvalid (?P<names>(?!temperature:|max_){_NAME}): only [\d.]{{1,8}} is allowed for this model\b",
        # Empty tool_calls is not supported
        rf"\bempty (?P<names>tool_calls|tools) (?:is|are) {_REFUSED}",
        # Invalid 'a': empty array; a must not be an empty array; [] is too short - 'a'
        rf"(?P<names>{_ANY})(?::| must not be an) (?:empty array|list should have at least 1 item)\b",
        rf"\[\] is too short - (?P<names>{_QUOTED})",
        # M does not support parameter a
        rf"\bdoes not support (?:the )?parameters?:? {_LIST}",
        # Extra inputs are not permitted, field: 'a'; extra fields not permitted: a
        rf"\b{_EXTRA.pattern}(?:,? field)?: ?{_LIST}",
        # body -> a\n  Extra inputs are not permitted; body.a: extra fields not permitted
        rf"(?P<names>{_ANY}):? {_EXTRA.pattern}",
        # parameter a is not supported; property a should not exist
        rf"\b(?:parameter|param|argument|property) (?P<names>{_NAME}) (?:should not exist|(?:is|are) (?:{_REFUSED}|not expected))\b",
        # a is not a supported parameter
        rf"(?P<names>{_ANY}) is not a (?:supported|valid|known) (?:parameter|field)\b",
        # extraneous key [a] is not permitted
        rf"\bextraneous key \[(?P<names>{_NAME})\] is not permitted",
        # Unknown name "a": Cannot find field.
        rf"\bunknown name (?P<names>{_QUOTED})",
        # Additional properties are not allowed ('a', 'b' were unexpected)
        rf"\badditional properties are not allowed \({_LIST} w(?:as|ere) unexpected",
    )
)
# 'messages.1' : property 'a' is unsupported; messages.2.assistant.a: property 'a' is …
_PLACED = re.compile(
    rf"(?:'(?P<at>messages[.\[]\d+\]?)' ?: ?|(?P<path>{_NAME}): )"
    rf"property '(?P<name>{_NAME})' is unsupported",
    re.IGNORECASE,
)
# Python's way to print what pydantic says, and Azure's, in a text that it does not escape.
_PRINTED = re.compile(
    r"'type': '(?:extra_forbidden|value_error\.extra)', ?'loc': [(\[]([^)\]]{0,400})[)\]]"
    r"|'loc': [(\[]([^)\]]{0,400})[)\]], ?'msg': 'extra fields not permitted'"
    r'|"\{"detail":\[\{"type":"extra_forbidden","loc":\[([^\]]{0,400})\]'
)
_ONE = re.compile(_NAME)
_SEPARATOR = re.compile(r" -> |[.\[\]]+")
_WHITE = re.compile(r"\s+")
_PLACE = re.compile(r"[\"'](?:loc|param)\\*[\"']")
_NOTHING = Echo(b"")

type Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a provider refuses.

    Attributes:
        paths: Names of parameters, and paths to them, as the provider spells them; one
            may be of something that the request does not have.
        roles: The messages, by their indexes, whose role it may be; `*` for any.
        content: Content of messages that has to be a text.
        forms: Forms that the words ask for.
        words: What it says, for those that ask for nothing known.
    """

    paths: tuple[Path, ...] = ()
    roles: tuple[str, ...] = ()
    content: tuple[form.RefusedContent, ...] = ()
    forms: tuple[WantedForm, ...] = ()
    words: str = field(default="", compare=False)


def refusal_of(body: bytes, echo: Echo = _NOTHING, *, words: bool = True) -> Refusal:
    """The refusal that the error *body* reports, maybe empty. Never raises.

    Args:
        body: The error; of a long one, the beginning.
        echo: Finds what it repeats of the request.
        words: Whether words are read, and not only fields for names.
    """
    return _Reader(echo, words=words).read(_parsed(body[:LARGE]))


def _parsed(body: bytes) -> Json:
    try:
        return loads(body)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


class _Reader:
    """Reads one refusal, without what it repeats of the request."""

    def __init__(self, echo: Echo, *, words: bool) -> None:
        self._echo = echo
        self._words = words
        self._paths: list[Path] = []
        self._left = _ALL
        self._texts: list[str] = []
        self._roles: list[str] = []
        self._content: list[form.RefusedContent] = []
        self._forms: list[WantedForm] = []

    def read(self, body: Json) -> Refusal:
        """The refusal in *body*."""
        self._read(body, _DEEP)
        for text in self._texts:
            self._paths.extend(self._named(text))
            self._read_form(text)
            self._forms += forms_in(text, self._repeats)
        return Refusal(
            tuple(dict.fromkeys(filter(None, self._paths)))[:_MOST],
            tuple(sorted(dict.fromkeys(self._roles), key=form.ANY.__ne__))[:_MOST],
            tuple(dict.fromkeys(self._content))[:_MOST],
            tuple(dict.fromkeys(self._forms))[:_MOST],
            "; ".join(dict.fromkeys(self._texts))[:_SHOWN],
        )

    def _read_form(self, text: str) -> None:
        """Collect what *text* says against the form of messages."""
        for found in form.ROLE_AT.finditer(text):
            if not self._repeats(found):
                self._roles.append(found[1])
        if not all(map(self._repeats, form.DEVELOPER.finditer(text))):
            self._roles.append(form.ANY)
        for pattern in (form.TEXT, form.CONTENT):
            for found in pattern.finditer(text):
                content = None if self._repeats(found) else form.content_in(found)
                if content is not None:
                    self._content.append(content)
        for pattern, is_null in ((form.NO_PARTS, False), (form.NO_NULL, True)):
            if not all(map(self._repeats, pattern.finditer(text))):
                content = form.RefusedContent(parts=not is_null, null=is_null)
                self._content.append(content)

    def _read(self, value: Json, deep: int) -> None:
        """Collect what *value* names in fields of their own, and the texts in it."""
        if not deep:
            return
        if isinstance(value, str):
            if self._words:
                self._read_text(value, deep)
        elif isinstance(value, list):
            for each in value[:_MOST]:
                self._read(each, deep - 1)
        elif isinstance(value, dict):
            self._read_place(value)
            if (named := self._field(value)) is not None:
                self._paths.append(named)
                return
            for key, each in value.items():
                if key not in ECHO_KEYS:
                    self._read(each, deep - 1)

    def _read_text(self, text: str, deep: int) -> None:
        if not self._left:
            return
        inner = (
            _parsed(text.encode(errors="replace")) if text[:1] in ("{", "[") else text
        )
        if isinstance(inner, str):
            self._texts.append(self._beginning(text))
        elif not self._quotes_json(text):
            self._read(inner, deep - 1)

    def _beginning(self, text: str) -> str:
        """The beginning of *text*, with single blanks; of all, only so much is read."""
        if len(text) > _LONG:  # Gemini says the same of each tool, a line each
            alike = {_DIGITS.sub("", line): line for line in text.splitlines()[::-1]}
            text = "\n".join([*alike.values()][::-1])
        text = text[: min(_LONG, self._left)]
        self._left = max(self._left - max(len(text), _SHORT), 0)
        return _WHITE.sub(" ", text)

    def _quotes_json(self, text: str) -> bool:
        """Tell whether the JSON *text* has its fields for names from the request."""
        return any(
            (span.size >= _QUOTED_JSON or span.is_complete)
            and _PLACE.search(text, span.start, span.end)
            for span in self._echo.spans(text)
        )

    def _read_place(self, error: dict[str, Json]) -> None:
        """Collect what *error* says against the form of messages, by their place."""
        listed = error.get("loc") or error.get("path")
        param, said = error.get("param"), error.get("msg") or error.get("message")
        if not isinstance(said, str):
            return
        if isinstance(listed, list):
            path = _without_root(tuple(map(str, listed)))
        elif isinstance(param, str):
            path = _path_of(param[:_LONG])
        else:
            return
        said = said[:_LONG]
        if self._words and self._left:  # a value is refused beside its name
            placed = self._beginning(f"{'.'.join(path)[:_LONG]}: {said}")
            self._forms += forms_in(placed, self._repeats)
        if path[:1] != ("messages",) or len(path) == 1 or self._echo.is_own(said):
            return
        if path[-1] == "role" or form.DEVELOPER.search(said):
            self._roles.append(form.place_in(path))
        content = form.content_at(path, said)
        if content is not None:
            self._content.append(content)

    def _field(self, error: dict[str, Json]) -> Path | None:
        """The path that *error* names in fields of its own; None without such fields."""
        place, param = error.get("loc"), error.get("param")
        kinds = {str(error.get(key)) for key in ("type", "code")}
        if isinstance(place, list):
            extra = _EXTRA.search(str(error.get("msg", ""))[:_LONG])
            if (
                "extra_forbidden" in kinds and not self._echo.is_own("extra_forbidden")
            ) or (extra and not self._repeats(extra)):
                return _without_root(tuple(map(str, place)))
            return ()  # another complaint, of the same list
        kinds &= _UNKNOWN
        if isinstance(param, str) and param and kinds:
            return () if any(map(self._echo.is_own, kinds)) else _path_of(param)
        return None

    def _named(self, text: str) -> Iterator[Path]:
        """Yield what *text* names."""
        printed = [*_PRINTED.finditer(text)]
        placed = [] if printed else [*_PLACED.finditer(text)]
        for found in printed:
            names = re.findall(r"['\"]([^'\"]*)['\"]|(\d+)", "".join(found.groups("")))
            if not self._repeats(found):
                yield _without_root(tuple(name or number for name, number in names))
        for found in placed:
            name = _path_of(found["name"])
            where = _path_of(found["at"] or found["path"])
            if self._repeats(found):
                continue
            if found["at"]:
                yield where + name
            else:
                yield where if where[-1:] == name[-1:] else name
        if not printed:  # else the rest may be an echo
            yield from self._in_words(text, placed)

    def _in_words(self, text: str, placed: list[re.Match[str]]) -> Iterator[Path]:
        """Yield what *text* names where it is not *placed*."""
        for pattern in _PATTERNS:
            for found in pattern.finditer(text):
                is_placed = any(
                    each.start() <= found.end() <= each.end() for each in placed
                )
                if not is_placed:
                    for each in _ONE.finditer(text, *found.span("names")):
                        if not self._repeats(found, each):
                            yield _path_of(each[0])

    def _repeats(self, found: re.Match[str], name: re.Match[str] | None = None) -> bool:
        """Tell whether what was *found*, or a *name* in it, is the request's own."""
        return any(
            span.holds(found)
            or (
                name is not None
                and span.holds(name)
                and (span.is_complete or span.size >= len(name[0]) + _AROUND)
            )
            for span in self._echo.spans(found.string)
        )


def _path_of(path: str) -> Path:
    return _without_root(tuple(name for name in _SEPARATOR.split(path) if name))


def _without_root(path: Path) -> Path:
    return path[1:] if path[:1] in (("body",), ("$",), ("request",)) else path
