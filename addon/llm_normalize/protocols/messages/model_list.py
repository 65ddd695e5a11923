"""A provider's models, in Anthropic's form."""

from datetime import UTC, datetime

from ...wire.json_text import Json, as_list, whole_number
from ..protocol import JsonObject

HEADER = "anthropic-version"
"""What a request has whose client wants that form."""
_LAST = 253_402_300_799  # 9999-12-31


def model_list(body: JsonObject) -> JsonObject:
    """Translate a body of `GET /models`, all on one page, or of `GET /models/ID`."""
    if body.get("object") == "model" and _name(body):
        return _model(body)
    given = body.get("data")
    entries = as_list(given)
    models = [_model(each) for each in entries if _name(each)]
    return {
        "data": models,
        "has_more": False,
        "first_id": models[0]["id"] if models else None,
        "last_id": models[-1]["id"] if models else None,
    }


def _name(entry: Json) -> bool:
    name = entry.get("id") if isinstance(entry, dict) else None
    return isinstance(name, str) and bool(name)


def _model(entry: JsonObject) -> JsonObject:
    shown = entry.get("display_name") or entry.get("name")
    return {
        "type": "model",
        "id": entry["id"],
        "display_name": shown if isinstance(shown, str) else entry["id"],
        "created_at": _time(entry.get("created")),
    }


def _time(created: Json) -> str:
    """The time in RFC 3339; the epoch for an invalid one, as Anthropic does."""
    seconds = whole_number(created) or 0
    seconds = seconds if 0 < seconds <= _LAST else 0
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
