"""An error that only its event's name tells: `event: error`."""

from ...chat.chunks.chunk import choices
from ...chat.errors.chunk_errors import errors_in
from ...chat.errors.errors import failure, failures_in
from ...repair.fix import DONE, TEXT, Example, Fix, wire
from ...wire.json_text import dumps, value_in
from ...wire.sse import Event, encode

_REPORTED = {"code": "Throttling", "message": "Slow down", "request_id": "r-1"}


class ErrorByEventName(Fix):
    """Wrap what the event says as OpenAI wraps an error."""

    name = "error-by-event-name"
    changes = '`event: error` with data of any form -> `data: {"error": …}`'
    why = "Clients of chat/completions skip the name and see words, or no chunk."
    providers = ("DashScope", "Groq", "sse-starlette servers")
    sources = (
        "https://www.alibabacloud.com/help/en/model-studio/error-code",
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
    )
    also_covered_by = (
        "field-not-data",
        "error-unwrapped",
        "error-as-words",
        "data-unreadable",
    )
    examples = (
        Example(
            "object",
            [TEXT, b"event: error\n" + wire([_REPORTED])],
            [TEXT, {"error": _REPORTED}],
        ),
        Example(
            "words",
            [TEXT, b"event: error\ndata: Worker died\n\n"],
            [TEXT, {"error": "Worker died"}],
        ),
        Example.untouched("wrapped", [TEXT, {"error": _REPORTED}, DONE]),
        Example.untouched(
            "under its name", [b"event: error\n" + wire([{"error": _REPORTED}])]
        ),
        Example.untouched("another name", [TEXT, b"event: ping\ndata: x\n\n"]),
        Example(
            "no words",
            [TEXT, b"event: error\n\n"],
            [TEXT, {"error": failure("error")}],
        ),
        Example(
            "a chunk",
            [b"event: error\n" + wire([TEXT])],
            [TEXT, {"error": failure("error")}],
        ),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Wrap the data, or let an error follow its chunk, and drop the name."""
        if not event.names_error or event.foreign:
            return None
        data = (event.data or b"").strip()
        reported = value_in(data or b"null", data.decode(errors="replace"))
        fields = reported if isinstance(reported, dict) else {}
        if fields.get("error") or errors_in(fields) or failures_in(fields):
            return None  # it says so itself
        parts = [dumps(fields)] if choices(fields) else []
        done = [data] if data == b"[DONE]" else []
        if parts or done or reported in (None, "", [], {}):
            reported = failure("error")
        parts += [dumps({"error": reported}), *done]
        return [Event(encode(each), event.n) for each in parts]
