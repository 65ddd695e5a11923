"""Whether a whole body has no answer, and says what went wrong."""

import re

from ...wire.json_text import Json
from ...wire.sse import BOM
from ..chunks.chunk import ENVELOPE, Chunk, choices, has_counted
from ..chunks.chunk_content import has_answer, is_silent
from ..chunks.chunk_form import is_chunk
from .chunk_errors import FAILURE, is_error, is_fine
from .errors import text_in

# What a whole body with an answer of any kind has.
_ANSWER = (
    "choices", "response", "output", "data", "content", "text", "role", "payload",
    "candidates", "completion", "generated_text", "tool_calls", "usage", "delta",
)  # fmt: skip
_FAILED = (
    "message", "msg", "error_message", "error_msg", "err", "reason", "Message", "Error",
    "error_description", "fault",
)  # fmt: skip


_PAGE = re.compile(
    r"\s*<(?:!doctype|html|head|body|title|h1|center|pre|p)\b", re.IGNORECASE
)
_UNPRINTED = re.compile(r"[\0-\x08\x0e-\x1f]")
_ANSWER_BEGINS = re.compile(
    r"\A\s*(?:[\[{\"]|null\b)|^(?:data|event|id|retry)? ?:|\"choices\"",
    re.MULTILINE,
)


def tells_only_failure(value: Json) -> bool:
    """Tell whether *value*, a whole body, has no answer and says what went wrong.

    Under a good status it is an error all the same. Of an event amid others that would
    be too bold: there words alone may be a notice, and `is_error` asks for more.
    """
    if isinstance(value, list) and len(value) == 1:  # Google's form
        value = value[0]
    if not isinstance(value, dict):
        return False
    if value.get("error"):
        return not says_any(value)
    if _is_answer(value):
        return is_error(value) and not is_fine(value)
    if is_error(value) or _fails_inside(value):
        return True
    if value.get("result") or value.get("Response") or is_fine(value):
        return False
    words = [text_in(value.get(key)) or "" for key in _FAILED]
    return any(map(str.isalpha, "".join(words)))


def is_page_or_words(data: bytes, kind: str) -> bool:
    """Tell whether *data*, a whole body, is a web page or plain words.

    What begins like JSON or has the fields of an event stream is a broken answer.

    Args:
        data: The body.
        kind: Its content type.
    """
    try:
        text = data.removeprefix(BOM).decode()
    except UnicodeDecodeError:
        return False
    if _PAGE.match(text):
        return True
    is_text = any(map(str.isalpha, text)) and not _UNPRINTED.search(text)
    is_named = kind.strip().lower().startswith("text/")
    return is_text and is_named and not _ANSWER_BEGINS.search(text)


def fails_instead(value: Json, *, has_begun: bool) -> bool:
    """Tell whether *value*, an event whose `choices` are empty, says what went wrong.

    Args:
        value: The event.
        has_begun: Whether an answer has: before it, words alone may be a notice.
    """
    if not isinstance(value, dict) or value.get("choices", 0) not in (None, []):
        return False
    if is_fine(value) or has_counted(value):
        return False
    rest = {key: each for key, each in value.items() if key not in ENVELOPE}
    status = [rest.get(key) for key in ("code", "status", "statusCode")]
    return (
        (has_begun and tells_only_failure(rest))
        or rest.get("success") is False
        or any(FAILURE.fullmatch(str(each)) for each in status)
    )


def _fails_inside(body: Chunk) -> bool:
    """Tell whether a part that envelopes of a provider's own have reports an error."""
    header, result = body.get("header"), body.get("result")
    if isinstance(header, dict) and is_error(header):
        return True
    return isinstance(result, dict) and any(
        map(result.get, ("Error", "error", "errors"))
    )


def _is_answer(body: Chunk) -> bool:
    message = body.get("message")
    return (
        any(body.get(key) for key in _ANSWER)
        or (isinstance(message, dict) and ("role" in message or "content" in message))
        or str(body.get("object")).startswith("chat.completion")
    )


def says_any(body: Chunk) -> bool:
    """Tell whether a choice of *body* says anything, log probabilities too."""
    found = choices(body) if is_chunk(body) else []
    logprobs = [each.get("logprobs") for each in found]
    return any(has_answer(each) and not is_silent(each) for each in found) or any(
        any(each.values()) for each in logprobs if isinstance(each, dict)
    )
