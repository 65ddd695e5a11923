"""An error in a chunk that has choices, or in a choice."""

from ...chat.chunks.chunk import ENVELOPE, Chunk, choices
from ...chat.chunks.chunk_content import chunk_has_content
from ...chat.chunks.finish_words import FAILED, meaning
from ...chat.errors.chunk_errors import errors_in, take_errors
from ...chat.errors.errors import failures_in
from ...repair.fix import TEXT, Example, Fix, chunk
from ...repair.look import Finding
from ...wire.json_text import Json

_ERROR = {"message": "Overloaded", "type": "server_error", "param": None, "code": None}


class ErrorWithChoices(Fix):
    """Send what the chunk says, then the error as an event of its own."""

    name = "error-with-choices"
    changes = "`error` beside `choices`, or in one -> an event of its own"
    why = "Clients see a chunk like any other, and an answer cut short without a word."
    providers = ("OpenRouter", "NVIDIA NIM", "Lemonade")
    handles = Finding.ERROR
    sources = (
        "https://openrouter.ai/docs/api-reference/errors",
        "https://github.com/apache/rocketmq-dashboard/issues/2178",
    )
    also_covered_by = ("event-empty",)
    examples = (
        Example(
            "beside",
            [TEXT, chunk({"content": "!"}, error=_ERROR)],
            [TEXT, chunk({"content": "!"}), {"error": _ERROR}],
            ended=False,
        ),
        Example(
            "in a choice",
            [TEXT, chunk({}, choice={"error": _ERROR})],
            [TEXT, {"error": _ERROR}],
            ended=False,
        ),
        Example(
            "without a choice",
            [TEXT, chunk(None, error=_ERROR)],
            [TEXT, {"error": _ERROR}],
            ended=False,
        ),
        Example.of_error(
            "in a body", 502, {"error": _ERROR, "choices": []}, {"error": _ERROR}
        ),
        Example.untouched("alone", [TEXT, {"error": _ERROR}], ended=False),
        Example.untouched("null", [chunk({"content": "Hi"}, error=None)]),
    )

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Part the error from the rest; leave one out that says nothing."""
        is_changed = self.body(chunk)
        found: list[Chunk] = [{"error": each} for each in take_errors(chunk)]
        if not found:
            return is_changed
        for choice in choices(chunk):
            if meaning(choice.get("finish_reason")) == FAILED:
                choice["finish_reason"] = None
        return [chunk, *found] if chunk_has_content(chunk) else found

    def error(self, body: Json, status: int) -> Chunk | None:
        """Leave the choices out of an error, and what chunks share."""
        if not isinstance(body, dict) or "choices" not in body:
            return None
        inside = {"choices": body["choices"]}
        failed = errors_in(inside) or failures_in(inside)
        rest = {k: v for k, v in body.items() if k not in ENVELOPE | {"choices"}}
        return rest if rest.get("error") or not failed else {"error": failed[0], **rest}

    def body(self, body: Chunk) -> bool:
        """Leave an error out that says nothing."""
        empty = "error" in body and not body["error"] and body["error"] is not None
        if empty:
            del body["error"]
        return empty
