"""Reasoning that a client hands back as it got it.

Some clients send back nothing of a reasoning item but `encrypted_content`. So the text
is there too, in letters that survive any client. It is not encrypted: anyone can read it,
the client's user above all, who has seen it as the summary.
"""

from base64 import b64decode, b64encode

from ...wire.json_text import Json
from ..json_values import as_list, as_object, as_string

_PREFIX = "llm-normalize:base64:"


def packed(text: str) -> str:
    """Return *text* for `encrypted_content`."""
    return _PREFIX + b64encode(text.encode(errors="surrogatepass")).decode()


def reasoning_of(item: dict[str, Json]) -> str:
    """Return the text of a reasoning *item*; empty for none that can be read."""
    text = unpacked(item.get("encrypted_content"))
    return text or _texts(item.get("content")) or _texts(item.get("summary"))


def unpacked(given: Json) -> str:
    """Return the text in an `encrypted_content`; empty for one of somebody else's."""
    text = as_string(given)
    if not text.startswith(_PREFIX):
        return ""
    try:
        data = b64decode(text.removeprefix(_PREFIX), validate=True)
        return data.decode(errors="surrogatepass")
    except ValueError:
        return ""


def _texts(parts: Json) -> str:
    texts = (as_string(as_object(each).get("text")) for each in as_list(parts))
    return "\n\n".join(filter(None, texts))
