"""Web pages that come where JSON was to: what they show, without their markup."""

import html
import re

_BEGINS = re.compile(
    r"\s*<(?:(?:!doctype|html|head|body|title|h1|center|pre|p)\b|\?xml)", re.IGNORECASE
)
_MARKUP = re.compile(r"<(?:(script|style)\b|(!--)|[^<>]*>)", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_ENDS = {
    "script": re.compile(r"</script\s*>", re.IGNORECASE),
    "style": re.compile(r"</style\s*>", re.IGNORECASE),
    "!--": re.compile("-->"),
}
# `int` refuses a few thousand digits, and `unescape` with it.
_LONG_NUMBER = re.compile(r"&#[0-9]{8,}+;?")


def is_page(text: str) -> bool:
    """Tell whether *text* begins as a web page does."""
    return _BEGINS.match(text) is not None


def shown(text: str) -> str:
    """The text of the page *text*, with blanks where its markup was."""
    return html.unescape(_LONG_NUMBER.sub("\ufffd", _without_markup(text)))


def _without_markup(text: str) -> str:
    """Return *text* with a blank for each tag, comment, script and style.

    One expression for all of it would look for an end that is missing at each begin;
    here an end that is missing once is looked for no more.
    """
    parts: list[str] = []
    ends = dict(_ENDS)
    at = 0
    while found := _MARKUP.search(text, at):
        parts.append(text[at : found.start()])
        kind = (found[1] or found[2] or "").lower()
        end = ends[kind].search(text, found.end()) if kind in ends else None
        if kind and end is None:
            ends.pop(kind, None)
            end = _TAG.match(text, found.start())
            if end is None:
                parts.append("<")
                at = found.start() + 1
                continue
        parts.append(" ")
        at = (end or found).end()
    return "".join([*parts, text[at:]])
