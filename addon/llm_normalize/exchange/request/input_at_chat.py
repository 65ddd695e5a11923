"""A request of the Responses protocol at the path of chat completions.

Cursor's agent sends `input` and flat tools there, and reads the answer as chat. So the
request alone is translated.
"""

import re

from ...chat.request_body import read_request
from ...protocols.responses import RESPONSES
from ...wire.json_scanner import members
from ...wire.json_text import dumps
from .adapted_request import RequestEdit

NAME = "request-not-chat"
_KEY = b'"input"'
_BEGUN = re.compile(r"\[[ \t\r\n]*+[^\]]")
"""A list that is not empty."""
_OF_CHAT = (
    "stream_options", "max_tokens", "max_completion_tokens", "n", "response_format",
    "reasoning_effort", "logprobs", "verbosity",
)  # fmt: skip
"""What is chat's own: it has a place in this request, and none in the protocol's."""


def chat_of(content: bytes) -> tuple[bytes, list[RequestEdit]] | None:
    """Return the request *content* as chat, and what was changed; None if it is chat.

    Raises:
        UntranslatableError: Chat has no place for what it asks.
    """
    if content.find(_KEY) < 0 or not _has_input(content):
        return None
    try:
        asked = read_request(content)
    except ValueError:
        return None
    if asked.get("input") is None or asked.get("messages"):
        return None
    found = RESPONSES.translate(asked)
    made = {key: each for key, each in found.body.items() if key != "stream_options"}
    own = {key: asked[key] for key in _OF_CHAT if asked.get(key) is not None}
    made = {**own, **made}
    dropped = [path for path in found.dropped if path not in made]
    changed = [
        key for key in asked if key not in dropped and asked[key] != made.get(key)
    ]
    edits: list[RequestEdit] = [(NAME, "dropped", path) for path in dropped]
    edits += [(NAME, "changed", key) for key in changed]
    return dumps(made), edits


def _has_input(content: bytes) -> bool:
    """Tell whether a request may have `input` and no `messages`, without reading it all.

    Many a tool has a parameter of that name.
    """
    text, found = content.decode(errors="replace"), False
    for key, at in members(text):
        if key == "messages" and _BEGUN.match(text, at):
            return False
        found = found or key == "input"
    return found
