"""Fields that OpenAI does not define, where `normalize_strict` asks for no others."""

from ...chat.chunks.chunk import Chunk, calls, deltas, put_calls
from ...chat.chunks.chunk_content import is_hollow
from ...chat.chunks.openai_fields import ERROR, parts
from ...chat.state.stream_state import Asked
from ...repair.fix import HI, Example, Fix, calling, chunk, completion, head
from ...repair.look import Finding
from ...wire.json_text import Json

_STRICT = Asked(stream=True, strict=True)


class FieldUnknown(Fix):
    """Drop them, reasoning and citations too: `normalize_strict` applies this."""

    name = "field-unknown"
    changes = "with `normalize_strict`: fields that OpenAI does not define -> removed"
    why = "Clients with strict schemas refuse a chunk for each key they do not know."
    providers = ("nearly all",)
    handles = Finding.UNKNOWN_FIELD
    sources = (
        "https://platform.openai.com/docs/api-reference/chat",
        "https://github.com/openai/openai-node/issues/2423",
    )
    examples = (
        Example.of_event(
            "stream",
            chunk({**HI, "reasoning": "so"}, provider="Acme"),
            chunk(HI),
            asked=_STRICT,
        ),
        Example.of_event(
            "call of unknown fields alone",
            calling({"index": 1, "x": 1, "function": {"arguments": ""}}, head()),
            calling(head()),
            asked=_STRICT,
        ),
        Example(
            "body",
            [completion(HI, citations=["x"])],
            [completion(HI)],
            asked=_STRICT,
            kind="body",
        ),
        Example(
            "error",
            [{"error": {"message": "No", "metadata": {}}, "user_id": "u"}],
            [{"error": {"message": "No"}}],
            asked=_STRICT,
            kind="error",
        ),
        Example.untouched("not wanted", [chunk({**HI, "reasoning": "so"})]),
        Example.untouched(
            "own", [chunk({**HI, "refusal": None}, service_tier=None)], asked=_STRICT
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        if not self.asked.strict:
            return False
        changed = False
        for part, known in parts(chunk):
            unknown = [key for key in part if key not in known]
            for key in unknown:
                del part[key]
            changed |= bool(unknown)
        for _, _, delta in deltas(chunk) if changed else ():
            found = [each for each in calls(delta) if not is_hollow(each)]
            if len(found) < len(calls(delta)):
                put_calls(delta, found)
        return changed

    body = edit

    def error(self, body: Json, status: int) -> Chunk | None:
        """Drop the keys beside and in the error."""
        error = body.get("error") if isinstance(body, dict) else None
        if not self.asked.strict or not isinstance(error, dict):
            return None
        known = {key: value for key, value in error.items() if key in ERROR}
        return None if body == {"error": known} else {"error": known}
