"""What the JSON in an event says, and what it costs to read."""

from ..chat.chunk import choices
from ..wire.json_text import Json, RepeatedKeyError, loads
from .outcome import Outcome

CALL = 4  # what a tool call costs, where a choice costs 1, and an event 2
_KEYS = ("delta", "message")
_VALUES, _QUOTES = 6, 16  # of them cost as much as a bracket


def decode(payload: bytes) -> tuple[Json, Outcome]:
    """Return the value in *payload*, or why there is none."""
    try:
        return loads(payload), Outcome.UNDERSTOOD
    except RepeatedKeyError:
        return None, Outcome.REPEATED_KEY
    except UnicodeDecodeError:
        return None, Outcome.BAD_ENCODING
    except (ValueError, RecursionError):
        return None, Outcome.NOT_JSON


def replaced(payload: bytes, outcome: Outcome) -> Json:
    """Return what clients read in a *payload* that is no UTF-8; None if it is another."""
    if outcome is not Outcome.BAD_ENCODING:
        return None
    return decode(payload.decode(errors="replace").encode())[0]


def cost(payload: bytes) -> int:
    """Return what reading and writing the JSON in *payload* costs, in brackets."""
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
