"""Ids of calls in the letters that Anthropic's have: clients refuse, or lose, others.

Kimi's are `functions.NAME:3`, and it wants to see them again. So one with other letters
is packed, and unpacked where it comes back: nothing has to be stored.
"""

import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator

from ...wire.json_text import objects_in
from ..protocol import JsonObject

_PLAIN = re.compile(r"[A-Za-z0-9_-]*")
_PREFIX = "toolu-base64-"


def plain(call_id: str) -> str:
    """Return an id for the client."""
    if _PLAIN.fullmatch(call_id):
        return call_id
    data = urlsafe_b64encode(call_id.encode(errors="surrogatepass"))
    return _PREFIX + data.decode().rstrip("=")


def original(call_id: str) -> str:
    """Return the provider's id for one that comes back."""
    packed = call_id.removeprefix(_PREFIX)
    if packed == call_id:
        return call_id
    try:
        padded = packed + "=" * (-len(packed) % 4)
        data = b64decode(padded, altchars=b"-_", validate=True)
        return data.decode(errors="surrogatepass")
    except ValueError:
        return call_id


def restore(body: JsonObject) -> Iterator[str]:
    """Put the provider's ids back into a request, and yield where they are."""
    for at, turn in enumerate(objects_in(body.get("messages"))):
        for place, block in enumerate(objects_in(turn.get("content"))):
            key = "tool_use_id" if block.get("type") == "tool_result" else "id"
            given = block.get(key)
            if isinstance(given, str) and original(given) != given:
                block[key] = original(given)
                yield f"messages[{at}].content[{place}].{key}"
