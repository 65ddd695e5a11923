"""What the JSON in an event says, and what it costs to read."""

import re

from ...chat.chunks.chunk import choices, has_figures
from ...chat.chunks.chunk_form import FLAT, enveloped_in, is_chunk, is_flat, is_readable
from ...chat.chunks.openai_fields import CALL as CALL_KEYS
from ...chat.chunks.openai_fields import TOP
from ...chat.errors.chunk_errors import is_error
from ...chat.errors.failed_body import fails_instead, tells_only_failure
from ...chat.state.stream_state import Seen
from ...wire.json_text import Json, RepeatedKeyError, is_broken, loads
from ..outcome import Outcome

FEW = 10_000  # bytes of an event whose values are not counted
CALL = 4  # what a tool call costs, where a choice costs 1, and an event 2
_KEYS = ("delta", "message")
_FAILURE_KEY = re.compile(
    rb'"(?:error|errors|error_msg|message|msg|detail|title)"\s*:\s*[^\s]'
)
_VALUES, _QUOTES = 6, 16  # of them cost as much as a bracket


def decode(payload: bytes) -> tuple[Json, Outcome]:
    """The value in *payload*, or the reason for none."""
    try:
        return loads(payload), Outcome.UNDERSTOOD
    except RepeatedKeyError:
        return None, Outcome.REPEATED_KEY
    except UnicodeDecodeError:
        is_read = not is_broken(payload)  # by clients that replace what is no UTF-8
        return None, Outcome.BAD_ENCODING if is_read else Outcome.NOT_JSON
    except (ValueError, RecursionError):
        return None, Outcome.NOT_JSON


def is_ordinary(value: Json) -> bool:
    """Tell whether *value* is a chunk of one choice, maybe with a call, or of usage alone.

    It is no failure, every client reads it, and it costs no more than any event.
    """
    found = value.get("choices") if isinstance(value, dict) else None
    if found == []:
        return has_figures(value.get("usage")) and value.keys() <= TOP
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], dict):
        return False
    delta = found[0].get("delta")
    if not isinstance(delta, dict) or found[0].get("message"):
        return False
    calls = delta.get("tool_calls")
    return not delta.get("function_call") and (not calls or _is_call(calls))


def _is_call(calls: Json) -> bool:
    """Tell whether *calls* are one fragment of OpenAI's form."""
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict):
        return False
    inner, identity = calls[0].get("function"), calls[0].get("id")
    if not calls[0].keys() <= CALL_KEYS or not isinstance(inner, dict):
        return False
    return isinstance(identity, str | None) and isinstance(
        inner.get("name"), str | None
    )


def is_failure(value: Json, seen: Seen) -> bool:
    """Tell whether *value*, the event at hand of what was *seen*, is an error."""
    if isinstance(value, dict) and (choices(value) or enveloped_in(value) is not None):
        return False
    is_body = seen.is_value and not seen.choices
    if is_error(value) or fails_instead(value, has_begun=bool(seen.choices)):
        return True
    return is_body and tells_only_failure(value)


def is_answer(value: Json, seen: Seen) -> bool:
    """Tell whether *value*, no failure, is a chunk; record that it has choices."""
    if not is_chunk(value) or not is_readable(value):
        return False
    if choices(value):
        seen.has_choices = True
    elif seen.has_choices and is_flat(value):
        # No native answer; but usage and notes of OpenAI's form are what they are.
        return is_chunk({key: value[key] for key in value if key not in FLAT})
    return True


def replaced(payload: bytes, outcome: Outcome) -> Json:
    """The clients' reading of a *payload* that is not UTF-8; None for any other."""
    if outcome is not Outcome.BAD_ENCODING:
        return None
    return decode(payload.decode(errors="replace").encode())[0]


def cost(payload: bytes) -> int:
    """The cost of reading and writing the JSON in *payload*, in brackets."""
    brackets = payload.count(b"{") + payload.count(b"[")
    return brackets + payload.count(b",") // _VALUES + payload.count(b'"') // _QUOTES


def parts(value: Json) -> int:
    """Return how many choices, or as much, a chunk has beyond what an ordinary one has."""
    if isinstance(value, list):
        return len(value)
    found: list[Json] = choices(value) if isinstance(value, dict) else []
    sent = [each.get(key) for each in found if isinstance(each, dict) for key in _KEYS]
    calls = [each.get("tool_calls") for each in sent if isinstance(each, dict)]
    more = sum(max(len(each) - 1, 0) for each in calls if isinstance(each, list))
    return max(len(found) + CALL * more - 2, 0)


def may_tell_failure(raw: bytes) -> bool:
    """Tell whether *raw*, which is not JSON, may be the words of an error."""
    return bool(_FAILURE_KEY.search(raw))
