"""Bodies of requests and answers, decoded within a bound."""

from mitmproxy import ctx, http

from ...mitm.helpers import parse_size
from ...wire.content_encoding import LargeBodyError, decode
from ...wire.header import header_in
from ...wire.json_text import is_crowded
from ...wire.limits import MAX_BODY

CONTAINERS = 24_000
"""Objects and arrays of what is read where all streams wait; a long talk has thousands."""

_OWN = "llm_normalize_own"
"""Where a request has its body, if the proxy made that of what it had read."""
_LOOKED_AT = "llm_normalize_looked_at"
"""Where a message has its body, if that was looked at, within which bounds, and what was
wrong with it, maybe nothing."""


def largest() -> int:
    """Return how many bytes a body may inflate to: what `body_size_limit` says."""
    options = getattr(ctx, "options", None)  # there are none outside of mitmproxy
    limit = parse_size(getattr(options, "body_size_limit", None))
    return MAX_BODY if limit is None else limit


def content_of(message: http.Message, containers: int = CONTAINERS) -> bytes:
    """Return the decoded body of *message*, empty where none is there.

    mitmproxy's `content` and `text` inflate without a bound, so they are not used.

    Args:
        message: A request or an answer.
        containers: How many objects and arrays of JSON are too many.

    Raises:
        ValueError: It cannot be decoded, or is too large, or has too many values.
    """
    raw = message.data.content or b""
    encoding = header_in(message.data.headers.fields, b"content-encoding")
    if not isinstance(message, http.Request):
        most = largest()
    else:
        # A long prompt is no bomb; but it is read where all streams wait.
        most = max(min(largest(), MAX_BODY), len(raw)) if encoding else len(raw)
    bounds = encoding, most, containers
    before, known, wrong = getattr(message, _LOOKED_AT, (b"", (), ""))
    is_known = before is raw and known == bounds
    if is_known and wrong:
        raise LargeBodyError(wrong)
    if is_known and not encoding:
        return raw
    wrong = ""
    found = b""
    try:
        found = decode(raw, encoding, most)
        # Chat has more objects for the same.
        is_own = getattr(message, _OWN, None) is raw
        if not (is_known or is_own) and is_crowded(found, containers):
            wrong = "it has too many values"
    except LargeBodyError as error:
        wrong = str(error)
    if not is_known:
        setattr(message, _LOOKED_AT, (raw, bounds, wrong))
    if wrong:
        raise LargeBodyError(wrong)
    return found


def plain_body(request: http.Request) -> bytes:
    """Return the body of *request* if it is not encoded, else an empty one."""
    is_encoded = bool(header_in(request.headers.fields, b"content-encoding"))
    return b"" if is_encoded else request.raw_content or b""


def put_content(request: http.Request, body: bytes) -> None:
    """Give *request* a *body* that the proxy has made of the one that it had."""
    request.content = body
    setattr(request, _OWN, request.data.content)


def request_body(request: http.Request) -> bytes | None:
    """Return the decoded body of *request*; None if it was sent on unread."""
    try:
        return None if request.data.content is None else content_of(request)
    except ValueError:
        return None
