"""What an error says against the form of messages: a role, or content that is not text.

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
    r"|\broles? (?:is|are|was) (?:not|un|in|supported|allowed|accepted)"
    r"|\broles? (?:not|un|other than)"
    r"|\broles?[\"'`]? (?:has invalid value|must (?:be|alternate)|should be|information)"
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
    r"|\bonly (?:supports? )?(?:plain )?(?:str(?:ing)?|text)s? content"
    r"|\bonly (?:accepts?|takes?|allows?) (?:plain )?(?:str(?:ing)?|text)s?\b"
    r"|\bto decode string\b|\bto (?:system\.)?string\. path\b"
    r"|\bnone is not an allowed value",
    re.IGNORECASE,
)
"""That something has to be a string, which is content if that is named beside it."""
_STRING = r"[\"'`]?\b(?:str|(?:java\.lang\.|system\.)?string)\b[\"'`]?"
_LIST = r"(?:array|list|sequence|\w{0,16}start_?array|begin_array)"
_IS = r"(?:got|received|found|given|was|is|from|not|instead of|rather than)"
CONTENT = re.compile(
    # where a text and a list are named side by side: it is the one, and has to be the other
    rf"{_STRING}[^;:]{{0,32}}\b{_IS} (?:an? |of type )?[\"'`]?{_LIST}\b"
    rf"|{_STRING}[^.;:\w]{{1,3}}{_LIST} (?:found|given|received)\b"
    rf"|\b{_LIST}\b[^.;]{{0,24}}\b(?:expect(?:ed|ing)|(?:in)?to|as|instead of|of type|is not)"
    rf"(?: an?| value| go| of| type){{0,4}} {_STRING}"
    # where a program handles what it takes for a text: Python, templates, JavaScript, Ruby
    r"|\bexpected str(?:ing)? instance\b|\bstring or bytes-like object\b"
    r"|\bconcatenate (?:str|list) \(not [\\\"']{1,3}(?:str|list|nonetype)\b"
    r"|\bfor \+=?: '(?:list|str|nonetype)' and '(?:list|str|nonetype)'"
    r"|'list(?:'? object'?) has no attribute|(?<!function format: )\bunhashable type: 'list'"
    r"|\bbytes-like object\b[^.;]{0,24} '?list\b|\btextencodeinput must be\b"
    r"|\bfilter '\w+' for type array\b"
    r"|\.(?:trim(?:start|end)?|split|replace(?:all)?|startswith|endswith|tolowercase"
    r"|match|substring) is not a function\b"
    r"|\bundefined method [`']\w+[?!]?' for (?:an instance of array|\[.{0,200}:array)\b"
    # where a form of messages is named
    r"|\bany variant of untagged enum \w*content|\btype_error\.302",
    re.IGNORECASE,
)
"""That content has to be a string, though nothing names it: hardly anything else is a list."""
NO_PARTS = re.compile(
    r"\bcontent\b[^.;]{0,40}\b(?:array|list|multi-?modal|parts|blocks)\b[^.;]{0,40}"
    r"\b(?:not|un\w+)\b"
    r"|\b(?:not|cannot|can't|un\w+|invalid)\b[^.;]{0,40}\bcontent\b[^.;]{0,40}"
    r"\b(?:array|list|parts|blocks)\b"
    r"|\bcontent\b[^.;]{0,16}\b(?:not|cannot|can't)\b[^.;]{0,24}"
    r"\b(?:array|list|parts|blocks)\b"
    r"|\bcontent\b[^.;]{0,24}\bnot supported[^.;]{0,8}\b(?:array|list)\b"
    r"|\b(?:array|list|multi-?modal|structured)(?:[ -]of)?[ -]content\b[^.;]{0,40}"
    r"\b(?:not|un\w+)\b"
    r"|\b(?:not|un\w+)\b[^.;]{0,40}"
    r"\b(?:array|list|multi-?modal|structured)(?:[ -]of)?[ -]content\b"
    r"|\bsingle [`'\"]text[`'\"] element per message\b"
    r"|\bmultimodal content must have a text item\b"
    r"|\b(?:unknown|invalid|unsupported) (?:message )?content[ _]type\b(?!\W{1,3}\w)"
    r"|\bcontent type: \[\]interface"
    r"|\bcontent\b[^.;]{0,40}\bfield is not repeating"
    r"|\bcontent[^.;。]{0,16}(?:字符串|不支持数组|不能是数组|不支持列表)",
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
_CONTENT = re.compile(
    r"\bcontent\b(?!-type|[\"'`]?(?:\.|\[|, ?| -> )+[\"'`]?\d)", re.IGNORECASE
)
_PLACE = re.compile(
    r"\bmessages?[^\w\s]{0,3}(?:\s?->\s?|[.\[,/:]{1,2}\s?)(\d{1,6})"
    r"|ArrayList\[(\d{1,6})\]"
)
_PARTS = re.compile(rf"\b{_LIST}\b", re.IGNORECASE)
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
    """Return the content that words are about in which something was *found*.

    Args:
        found: Where, by `TEXT` or by `CONTENT`; what the first one found may be about
            another field: None.
    """
    text = found.string
    before = text[max(found.start() - _AROUND, 0) : found.start()]
    after = text[found.end() : found.end() + _AROUND]
    searches = _CONTENT.search(before), _CONTENT.search(after), _SERDE.search(before)
    is_named = any(searches) or _CONTENT.search(found[0])
    if not (is_named or found.re is CONTENT):
        return None
    places = [*_PLACE.finditer(before)] or [*_PLACE.finditer(after)][:1]
    place = next(filter(None, places[-1].groups()), ANY) if places else ANY
    near = before[-80:] + found[0] + after[:48]
    is_null = bool(_NULL.search(near)) or bool(_OR_PARTS.match(after))
    is_parts = bool(_PARTS.search(near)) and not _OR_PARTS.match(after)
    return RefusedContent(place, is_parts or not is_null, is_null or not is_parts)
