"""An error that only its event's name tells: `event: error`."""

from ..chunk import choices
from ..fix import DONE, Example, Fix, chunk, wire
from ..jsontext import dumps, loads
from ..sse import Event, Line

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_SAID = {"code": "Throttling", "message": "Slow down", "request_id": "r-1"}


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
    examples = (
        Example(
            "object",
            [_TEXT, b"event:error\ndata:" + dumps(_SAID) + b"\n\n"],
            [_TEXT, {"error": _SAID}],
        ),
        Example(
            "words",
            [_TEXT, b"event: error\ndata: Worker died\n\n"],
            [_TEXT, {"error": "Worker died"}],
        ),
        Example.untouched("wrapped", [_TEXT, {"error": _SAID}, DONE]),
        Example.untouched(
            "under its name", [b"event: error\n" + wire([{"error": _SAID}])]
        ),
        Example.untouched("another name", [_TEXT, b"event: ping\ndata: x\n\n"]),
        Example.untouched("no data", [_TEXT, b"event: error\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Wrap the data, and drop the name that it no longer needs."""
        names = [line for line in event.lines if line.name == b"event"]
        data = (event.data or b"").strip()
        if not data or not any(
            each.value.strip().lower() == b"error" for each in names
        ):
            return None
        try:
            said = loads(data)
        except (ValueError, RecursionError):
            said = data.decode(errors="replace")
        if isinstance(said, dict) and (said.get("error") or choices(said)):
            return None
        event.lines[:] = [Line(b"data: " + dumps({"error": said}), b"\n")]
        return [event]
