"""`content` as a list of parts where OpenAI sends one string."""

from ...chat.chunks.chunk import Chunk, in_deltas, messages
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding
from ...wire.json_text import Json

_THINKING = ("thinking", "reasoning", "summary_text")
_KEYS = ("thinking", "reasoning", "summary", "text")

_TEXT = {"type": "text", "text": "Hi"}
_THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}
_REFERENCE = {"type": "reference", "reference_ids": [1]}


class ContentParts(Fix):
    """Join the texts, and the thoughts as `reasoning_content`.

    Parts that have no text go to `content_parts`.
    """

    name = "content-parts"
    changes = "`content: [{…}]` -> text; thinking parts -> `reasoning_content`"
    why = 'Clients show "[object Object]" or fail: "expected a string".'
    providers = ("Mistral (Magistral)", "Databricks", "GLM on Mistral")
    handles = Finding.CONTENT_PARTS
    sources = (
        "https://docs.mistral.ai/capabilities/reasoning/",
        "https://github.com/meilisearch/meilisearch/issues/6327",
        "https://github.com/databricks/appkit/issues/559",
    )
    examples = (
        Example.of_event(
            "thought",
            chunk({"content": [_THOUGHT]}),
            chunk({"reasoning_content": "so"}),
        ),
        Example.of_event(
            "text",
            chunk({"content": [_TEXT, "!", _REFERENCE]}),
            chunk({"content": "Hi!", "content_parts": [_REFERENCE]}),
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": [_THOUGHT, _TEXT]}),
            completion(
                {"role": "assistant", "content": "Hi", "reasoning_content": "so"}
            ),
        ),
        Example.untouched("string", [chunk({"content": "Hi"})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Join the parts of the deltas."""
        return in_deltas(chunk, _join)

    def body(self, body: Chunk) -> bool:
        """Join the parts of the messages; a message has its content."""
        found = [message for _, message in messages(body) if _join(message)]
        for message in found:
            message.setdefault("content", "")
        return bool(found)


def _join(part: Chunk) -> bool:
    if not isinstance(part.get("content"), list):
        return False
    text, thought, others = join_parts(part.pop("content"))
    known = part.get("reasoning_content")
    if isinstance(known, str) and thought not in known:
        thought = known if known in thought else known + thought
    elif isinstance(known, str):
        thought = known
    fields = {"content": text, "reasoning_content": thought, "content_parts": others}
    part.update({key: each for key, each in fields.items() if each})
    return True


def join_parts(parts: list[Json]) -> tuple[str, str, list[Json]]:
    """The text, the reasoning, and the parts that have neither.

    Source of the parts: https://docs.mistral.ai/capabilities/reasoning/ and the shapes of
    Databricks and of OpenAI's Responses API, which gateways pass on.
    """
    text = thought = ""
    others = []
    for part in parts:
        if isinstance(part, str):
            text += part
        elif isinstance(part, dict) and part.get("type") in _THINKING:
            thought += _words(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            text += part["text"]
        else:
            others.append(part)
    return text, thought, others


def _words(value: Json) -> str:
    if isinstance(value, dict):
        return "".join(_words(value[key]) for key in _KEYS if key in value)
    if isinstance(value, list):
        return "".join(map(_words, value))
    return value if isinstance(value, str) else ""
