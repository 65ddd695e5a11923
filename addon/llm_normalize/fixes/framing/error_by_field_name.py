"""An error in a field of its own: `error: {…}` where `data:` belongs."""

from ...repair.fix import DONE, TEXT, Example, Fix
from ...wire.json_text import dumps, value_in
from ...wire.sse import Event

_ERROR = {"message": "Context is full", "type": "server_error"}


class ErrorByFieldName(Fix):
    """Send the error as data, wrapped as OpenAI wraps it."""

    name = "error-by-field-name"
    changes = '`error: {…}` -> `data: {"error": {…}}`'
    why = "Parsers skip a field that they do not know: the answer just ends."
    providers = ("llama.cpp",)
    sources = (
        "https://github.com/ggml-org/llama.cpp/pull/16104",
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
    )
    examples = (
        Example(
            "object",
            [TEXT, b"error: " + dumps(_ERROR) + b"\n\n"],
            [TEXT, {"error": _ERROR}],
        ),
        Example("words", [TEXT, b"error: Busy\n\n"], [TEXT, {"error": "Busy"}]),
        Example.untouched("data", [TEXT, {"error": _ERROR}, DONE]),
        Example.untouched("nothing said", [TEXT, b"error:\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Rename the field."""
        found = [line for line in event.lines if line.name.lower() == b"error"]
        if event.is_value or len(found) != 1 or not found[0].value.strip():
            return None
        value = found[0].value.strip()
        reported = value_in(value, value.decode(errors="replace"))
        is_wrapped = isinstance(reported, dict) and reported.get("error")
        found[0].text = b"data: " + dumps(
            reported if is_wrapped else {"error": reported}
        )
        return [event]
