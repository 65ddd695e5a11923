"""No `message` in a choice of a body, or a `delta` in its place."""

from ...chat.chunks.chunk import Chunk, choices
from ...repair.fix import HI, Example, Fix, completion
from ...wire.json_text import Json

_BARE = {"index": 0, "finish_reason": "content_filter"}
_NONE = {"role": "assistant", "content": ""}


class MessageMissing(Fix):
    """Send the message that every choice of OpenAI's has, and nothing but it."""

    name = "message-missing"
    changes = "body's choice without `message`, or with a `delta` -> one `message`"
    why = "Clients read `choices[0].message.content` without a look."
    providers = ("Azure (filtered answers)", "Perplexity (both)")
    sources = (
        "https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_body(
            "filtered",
            completion(HI, choices=[_BARE]),
            completion(HI, choices=[{**_BARE, "message": _NONE}]),
        ),
        Example.of_body(
            "delta",
            completion(HI, choices=[{**_BARE, "delta": HI}]),
            completion(HI, choices=[{**_BARE, "message": HI}]),
        ),
        Example.of_body(
            "both",
            completion(HI, choices=[{**_BARE, "message": HI, "delta": _NONE}]),
            completion(HI, choices=[{**_BARE, "message": HI}]),
        ),
        Example.of_body(
            "text alone",
            completion(HI, choices=[{**_BARE, "delta": "Hi"}]),
            completion(HI, choices=[{**_BARE, "message": HI}]),
        ),
        Example.untouched("there", [completion(HI)], kind="body"),
    )

    def body(self, body: Chunk) -> bool:
        """Add the message."""
        changed = False
        for choice in choices(body):
            given, had = choice.get("message"), "delta" in choice
            if given is None and not had and isinstance(choice.get("text"), str):
                continue  # its answer stands there
            if isinstance(given, list):
                continue  # another quirk
            message, delta = map(_fields, (given, choice.pop("delta", None)))
            if message is given and not had:
                continue
            more = {key: each for key, each in delta.items() if each}
            own = {k: v for k, v in message.items() if v or k not in more}
            choice["message"] = {**more, **own} if message else delta or dict(_NONE)
            changed = True
        return changed


def _fields(part: Json) -> Chunk:
    """The fields of a *part* in a message's place; mere text is its content."""
    if isinstance(part, str) and part:
        return {**_NONE, "content": part}
    return part if isinstance(part, dict) else {}
