"""What an error says of parameters that its provider does not know.

Providers say it in words of their own, and in JSON inside of those. What they echo of the
request (`input`, `body`, …) is not read: a prompt may say anything.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .jsontext import Json, loads

_DEEP = 8  # levels of nesting
_LONG = 4096  # characters of a text that is looked at
_MOST = 24  # names of one refusal
LARGE = 64 * 1024
"""Bytes of an error body that are looked at."""

_ECHOES = {"input", "ctx", "url", "body", "request", "input_value", "request_body"}
_UNKNOWN = {"unsupported_parameter", "unknown_parameter", "extra_forbidden"}
_EXTRA = re.compile(r"extra (?:inputs|fields) (?:are )?not permitted", re.IGNORECASE)

# A name, or a path: `seed`, `messages[2].refusal`, `messages.2.assistant.x`, `body -> x`.
# Possessive, and from its beginning only: the time is bounded, whatever is said.
_NAME = r"(?<![\w$.\]])(?<!-> )[A-Za-z_$][\w$]*+(?:(?:\.\[?|\s->\s|\[)\w++\]?)*+"
_QUOTED = rf"[\"'`]{_NAME}[\"'`]"
_ANY = rf"(?:{_QUOTED}|{_NAME})"
_AND = r"(?:\s*,\s*|\sand\s)"
_LIST = rf"[\[{{(]*(?P<names>{_QUOTED}(?:{_AND}{_QUOTED})*|{_NAME}(?:{_AND}{_NAME})*)"
_WHAT = (
    r"(?:(?:request|body|keyword|input|top-level) )?"
    r"(?:parameter|param|argument|arg|field|propert|key|input|option)"
    r"(?:s|y|ies|\(s\))?"
)
_NOT = r"(?:unsupported|unknown|unrecogni[sz]ed|unexpected|unpermitted)"
_WHERE = r"(?: (?:supplied|provided|found|in (?:the )?request))?"
_REFUSED = (
    r"(?:unsupported|unknown|unrecogni[sz]ed"
    r"|not (?:yet )?(?:supported|allowed|permitted|recogni[sz]ed|a valid (?:field|parameter)))"
)
_PATTERNS = tuple(
    re.compile(each, re.IGNORECASE)
    for each in (
        # Unsupported parameter(s): `a`, `b`. Unrecognized request argument supplied: a
        rf"\b{_NOT} {_WHAT}{_WHERE}\s*[:=]?\s+{_LIST}",
        # property 'a' is unsupported
        rf"\b{_WHAT} (?P<names>{_QUOTED}) (?:is|are) {_REFUSED}",
        # `a` is not supported with this model
        rf"(?P<names>{_QUOTED}) (?:is|are) {_REFUSED} (?:with|for|by|on|in)\b",
        # The following parameters are not supported: a, b
        rf"\bparameters? (?:\w+ )?(?:is|are) {_REFUSED}[^:\"'`]{{0,40}}:\s*{_LIST}",
        # Argument not supported on this model: a. M does not support parameter a
        rf"\bargument not supported[^:\"'`]{{0,40}}:\s*{_LIST}",
        rf"\bdoes not support (?:the )?parameters?:?\s+{_LIST}",
        # Extra inputs are not permitted, field: 'a'
        rf"\b{_EXTRA.pattern},? field:\s*{_LIST}",
        # body -> a\n  Extra inputs are not permitted; body.a: extra fields not permitted
        rf"(?P<names>{_ANY}):?\s+{_EXTRA.pattern}",
        # Unknown name "a": Cannot find field.
        rf"\bunknown name (?P<names>{_QUOTED})",
        # Additional properties are not allowed ('a', 'b' were unexpected)
        rf"\badditional properties are not allowed \({_LIST} w(?:as|ere) unexpected",
    )
)
# 'messages.1' : property 'a' is unsupported; messages.2.assistant.a: property 'a' is …
_PLACED = re.compile(
    rf"(?:'(?P<at>messages[.\[]\d+\]?)'\s*:\s*|(?P<path>{_NAME}):\s+)"
    rf"property '(?P<name>{_NAME})' is unsupported",
    re.IGNORECASE,
)
# Python's way to print what pydantic says.
_PRINTED = re.compile(
    r"'type': '(?:extra_forbidden|value_error\.extra)',\s*'loc': [(\[]([^)\]]*)[)\]]"
    r"|'loc': [(\[]([^)\]]*)[)\]],\s*'msg': 'extra fields not permitted'"
)
_DEVELOPER = re.compile(
    r"(?:unknown variant|(?:invalid|unsupported|unknown) (?:message )?role:?)"
    r"\s*[\"'`]?developer\b"
    r"|\bdeveloper\b[\"'`]? (?:is not one of|role is not|is not (?:a )?(?:valid|supp))",
    re.IGNORECASE,
)
_ONE = re.compile(_NAME)
_STEP = re.compile(r"\s->\s|[.\[\]]+")

type Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a provider refuses.

    Attributes:
        paths: Names of parameters, and paths to them, as the provider spells them; one
            may be of something that the request does not have.
        developer: Whether it is the role `developer`.
    """

    paths: tuple[Path, ...] = ()
    developer: bool = False


def refusal_of(body: bytes) -> Refusal:
    """Return what the error *body* says is refused, maybe nothing. Never raises."""
    paths: list[Path] = []
    texts: list[str] = []
    _read(_parsed(body[:LARGE]), paths, texts, _DEEP)
    for text in texts:
        paths.extend(_named(text))
    developer = any(map(_DEVELOPER.search, texts))
    return Refusal(tuple(dict.fromkeys(filter(None, paths)))[:_MOST], developer)


def _parsed(body: bytes) -> Json:
    try:
        return loads(body)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


def _read(value: Json, paths: list[Path], texts: list[str], deep: int) -> None:
    """Collect what *value* names in fields of their own, and the texts in it."""
    if not deep:
        return
    if isinstance(value, str):
        _read_text(value, paths, texts, deep)
    elif isinstance(value, list):
        for each in value[:_MOST]:
            _read(each, paths, texts, deep - 1)
    elif isinstance(value, dict):
        if (named := _field(value)) is not None:
            paths.append(named)
            return
        for key, each in value.items():
            if key not in _ECHOES:
                _read(each, paths, texts, deep - 1)


def _read_text(text: str, paths: list[Path], texts: list[str], deep: int) -> None:
    inner = _parsed(text.encode(errors="replace")) if text[:1] in ("{", "[") else text
    if isinstance(inner, str):
        texts.append(text[:_LONG])
    else:
        _read(inner, paths, texts, deep - 1)


def _field(error: dict[str, Json]) -> Path | None:
    """Return what *error* names in fields of its own; None if it does not."""
    place, param = error.get("loc"), error.get("param")
    kinds = (error.get("type"), error.get("code"))
    said = str(error.get("msg", ""))
    if isinstance(place, list):
        if "extra_forbidden" in kinds or _EXTRA.search(said):
            return _without_root(tuple(map(str, place)))
        return ()  # another complaint, of the same list
    if isinstance(param, str) and param and not _UNKNOWN.isdisjoint(map(str, kinds)):
        return _steps(param)
    return None


def _named(text: str) -> Iterator[Path]:
    """Yield what *text* names."""
    printed = _PRINTED.findall(text)
    if printed:  # the rest may be an echo
        for places in printed:
            names = re.findall(r"'([^']*)'|(\d+)", "".join(places))
            yield _without_root(tuple(name or number for name, number in names))
        return
    placed = list(_PLACED.finditer(text))
    for found in placed:
        name = _steps(found["name"])
        where = _steps(found["at"] or found["path"])
        if found["at"]:
            yield where + name
        else:
            yield where if where[-1:] == name[-1:] else name
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            if not any(each.start() <= found.end() <= each.end() for each in placed):
                yield from map(_steps, _ONE.findall(found["names"]))


def _steps(path: str) -> Path:
    return _without_root(tuple(step for step in _STEP.split(path) if step))


def _without_root(path: Path) -> Path:
    return path[1:] if path[:1] in (("body",), ("$",), ("request",)) else path
