"""What an error says against the form of messages: a role, or content that is no text.

Each server says it in its own words, so words that may mean it suffice: what is sent then
means the same, and it is sent only where the request has what is refused.
"""

import re
from typing import NamedTuple

_DIGITS = 6
ANY = "*"
"""The place of a message that the error does not name."""

_ROLES = r"(?:system|user|assistant|tool|function)"
_UNNAMED = (  # the role, though not by its name
    r"(?:unexpected|unknown|unsupported|invalid|incorrect|illegal|wrong|unrecogni[sz]ed|bad)"
    r" (?:chat )?(?:message(?:'s)? )?roles?\b(?![\s:='\"`(]{1,4}" + _ROLES + r"\b)"
    r"|\b(?:message )?roles? (?:is|are|was) (?:not|un|in)"
    r"|\broles? (?:not|un|other than)"
    r"|\broles? (?:are|is) (?:supported|allowed|accepted)"
    r"|\broles? must (?:be|alternate)"
    r"|\broles?[\"'`]? (?:has invalid value|must be|should be|information)"
    r"|角色信息"
)
_NOT = r"(?:not|unsupported|invalid|unknown|unrecogni[sz]ed)"
DEVELOPER = re.compile(
    rf"\b{_NOT}\b[^.;]{{0,24}}\bdeveloper\b"
    r"|\b(?:unknown variant|role:?|tag|value:?|got|found|received)[\s\"'`\\]{1,4}developer\b"
    rf"|\bdeveloper\b[\"'`\\]{{0,2}}(?: role| messages?)? (?:is |are |has )?{_NOT}\b"
    rf"|{_UNNAMED}",
    re.IGNORECASE,
)
"""That the role `developer` is refused, by its name or without."""
ROLE_AT = re.compile(
    r"\bmessages?[^\w\s]{0,3}(?:\s?->\s?|[.\[,/]{1,2}\s?)(\d{1,6})"
    r"(?:[^\w]{1,6}\w{1,60})?[^\w]{1,6}role\b",
    re.IGNORECASE,
)
"""Which message's role an error is about: `messages[0].role`, `'messages', 0, 'role'`."""

TEXT = re.compile(
    r"valid string|\bstr(?:ing)? type expected"
    r"|\bexpected (?:one of )?(?:type |a |an )?[\"'`]?str(?:ing)?\b"
    r"|\b(?:must|should|has to|needs to|can only|to) be (?:of type |a |an )?"
    r"[\"'`]?(?:valid |non-empty |single |plain )?(?:str(?:ing)?|text)\b"
    r"|\b(?:must|should) have (?:a )?str(?:ing)? content\b"
    r"|\bnot (?:in|of type|a|an instance of) [\"'`]?str(?:ing)?\b"
    r"|\bof type [\"'`]?(?:java\.lang\.)?string\b|`java\.lang\.String`"
    r"|\bonly (?:supports? )?(?:str(?:ing)?|text)s? content"
    r"|\b(?P<alone>concatenate str \(not|any variant of untagged enum \w*content"
    r"|type_error\.302|expected str(?:ing)? instance)"
    r"|\bnone is not an allowed value",
    re.IGNORECASE,
)
"""That something has to be a string."""
NO_PARTS = re.compile(
    r"\bcontent\b[^.;]{0,40}\b(?:array|list|multi-?modal|parts)\b[^.;]{0,40}"
    r"\b(?:not|un\w+)\b"
    r"|\b(?:not|un\w+)\b[^.;]{0,40}\bcontent\b[^.;]{0,40}\b(?:array|list)\b"
    r"|\b(?:array|list|multi-?modal)(?: of)? content\b[^.;]{0,40}\b(?:not|un\w+)\b"
    r"|\bcontent\b[^.;]{0,24}\bnot supported[^.;]{0,8}\b(?:array|list)\b"
    r"|'list' object has no attribute",
    re.IGNORECASE,
)
"""That content cannot be parts."""
NO_NULL = re.compile(
    r"\bcontent\b[^;]{0,40}?(?:\b(?:null|none|nil|undefined|required|missing)\b|NoneType)"
    r"|\b(?:null|none|nil|missing|required)\b[^;]{0,40}?\bcontent\b"
    r"|\bNoneType\b",
    re.IGNORECASE,
)
"""That content cannot be null."""
_OR_PARTS = re.compile(r"\W{1,3}or\b.{0,12}\b(?:array|list)", re.IGNORECASE)
_CONTENT = re.compile(r"\bcontent\b(?![\"'`]?(?:\.|\[|, ?| -> )+[\"'`]?\d)")
_PLACE = re.compile(
    r"\bmessages?[^\w\s]{0,3}(?:\s?->\s?|[.\[,/:]{1,2}\s?)(\d{1,6})"
    r"|ArrayList\[(\d{1,6})\]"
)
_PARTS = re.compile(
    r"\b(?:array|list|sequence|received array|START_ARRAY)\b", re.IGNORECASE
)
_NULL = re.compile(r"\b(?:null|none|nonetype|undefined|nil)\b", re.IGNORECASE)
_SERDE = re.compile(r"\bmessages?\[\d{1,6}\]:? invalid type: \w+, $")
_AROUND = 160  # letters on each side


class RefusedContent(NamedTuple):
    """Content that has to be a text.

    Attributes:
        place: The index of its message, or `*`.
        parts: Whether it may be refused because it is parts.
        null: Whether it may be refused because it is null.
    """

    place: str = ANY
    parts: bool = True
    null: bool = True


def place_in(path: tuple[str, ...]) -> str:
    """Return the place of the message in a *path* that goes on behind `messages`."""
    return path[1] if is_place(path[1]) else ANY


def is_place(name: str) -> bool:
    """Tell whether *name* is a number that a place in a list may have."""
    return name.isascii() and name.isdecimal() and len(name) <= _DIGITS


def content_at(path: tuple[str, ...], said: str) -> RefusedContent | None:
    """Return the content that an error with a *path* is about; None if it is about none.

    Args:
        path: The path, such as `("messages", "0", "content", "str")`.
        said: What is said of it.
    """
    if path[:1] != ("messages",) or "content" not in path or not TEXT.search(said):
        return None
    place = place_in(path)
    below = path[path.index("content") + 1 :]
    # What is deeper is about a part of it: `content.0.text`.
    return (
        None if len(below) > 1 or "".join(below).isdecimal() else RefusedContent(place)
    )


def content_in(found: re.Match[str]) -> RefusedContent | None:
    """Return the content that words are about in which `TEXT` was *found*; None if none."""
    text = found.string
    before = text[max(found.start() - _AROUND, 0) : found.start()]
    after = text[found.end() : found.end() + _AROUND]
    searches = _CONTENT.search(before), _CONTENT.search(after), _SERDE.search(before)
    if not (found["alone"] or any(searches) or _CONTENT.search(found[0])):
        return None
    places = [*_PLACE.finditer(before)] or [*_PLACE.finditer(after)][:1]
    place = next(filter(None, places[-1].groups()), ANY) if places else ANY
    near = before[-80:] + found[0] + after[:48]
    is_null = bool(_NULL.search(near)) or bool(_OR_PARTS.match(after))
    is_parts = bool(_PARTS.search(near)) and not _OR_PARTS.match(after)
    return RefusedContent(place, is_parts or not is_null, is_null or not is_parts)
