"""Whether a refusal means that its path is not served, or what the request names.

Both are 404. A web server that does not know a path cannot know what a request for it
says: it sends nothing, a page or a fixed sentence, at most with the URL. What knows the
path names what it has looked for: the model, or the response that another one continues.
So whatever speaks of neither is about the path. A refusal that points to chat completions
is, too, though it speaks of the model ("not supported by this API").
"""

import re

from ...text.html_text import is_page

_MISSING = 404
_NOT_ALLOWED = 405
STATUSES = (_MISSING, _NOT_ALLOWED)
"""Status of answers that may be about the path."""

_CHAT = "chat/completions"
_SOUGHT = re.compile(
    r"model|deployment|previous.?response|conversation|container|vector.?store"
    r"|\b(?!request\b)\w+\s+(?:with\s+)?id\b"
    r"|\"param\"\s*:\s*\"[^\"]",
    re.IGNORECASE,
)
"""What a request may name that is not there."""


def is_path_missing(status: int, body: bytes, path: str, model: str) -> bool:
    """Tell whether an answer says that nothing is served on the path of its request.

    Args:
        status: The HTTP status.
        body: Its decoded body, or the beginning of it.
        path: The path of the request, which the answer may quote.
        model: The model that the request asks for.
    """
    if status != _MISSING:
        return status == _NOT_ALLOWED
    words = body.decode(errors="replace").replace("\\/", "/")
    if _CHAT in words or is_page(words):
        return True
    words = words.replace(path, "")
    return not (_SOUGHT.search(words) or (model and model in words))
