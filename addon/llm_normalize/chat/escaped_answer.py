"""Answers whose JSON has strings with control characters, or with escapes it does not know."""

from ..wire.json_text import Json, dumps, escape_strings, escaped, loads
from .chunks.chunk import Chunk, calls, choices, function, index_of
from .chunks.chunk_form import is_chunk
from .state.sent_call import SentCall
from .state.stream_state import ChoiceSeen, Seen


def escaped_answer(data: bytes, seen: Seen) -> bytes | None:
    """Return *data* with the escapes that its strings lack; None for any other.

    Arguments of calls are JSON as well: what is raw in them lacks an escape there, too.

    Args:
        data: A chunk, a body or an error.
        seen: What has been sent before: arguments may go on within a string.
    """
    fixed = escaped(data)
    if fixed is None:
        return None
    value = loads(fixed)
    for choice in choices(value) if is_chunk(value) else ():
        for part in (choice.get("delta"), choice.get("message")):
            if isinstance(part, dict):
                _escape_arguments(part, seen.choice(index_of(choice)))
    return dumps(value)


def _escape_arguments(part: Chunk, seen: ChoiceSeen) -> None:
    open_calls = {at: call.copied() for at, call in seen.calls.items()}
    for call in calls(part):
        at = index_of(call)
        sent = open_calls.setdefault(at, SentCall(None, None))
        _escape(function(call), sent)
    legacy = part.get("function_call")
    if isinstance(legacy, dict):
        _escape(legacy, SentCall(None, None))


def _escape(inner: Chunk, sent: SentCall) -> None:
    """Escape the arguments of *inner*, which go on with what was *sent*."""
    text: Json = inner.get("arguments")
    if isinstance(text, str):
        data = text.encode(errors="surrogatepass")
        made = escape_strings(data, is_quoted=sent.is_quoted)
        inner["arguments"] = made.decode(errors="surrogatepass")
        sent.add(inner["arguments"])
