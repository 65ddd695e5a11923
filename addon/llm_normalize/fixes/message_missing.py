"""No `message` in a choice of a body, or a `delta` in its place."""

from ..chunk import Chunk, choices
from ..fix import Example, Fix, completion

_HI = {"role": "assistant", "content": "Hi"}
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
            completion(_HI, choices=[_BARE]),
            completion(_HI, choices=[{**_BARE, "message": _NONE}]),
        ),
        Example.of_body(
            "delta",
            completion(_HI, choices=[{**_BARE, "delta": _HI}]),
            completion(_HI, choices=[{**_BARE, "message": _HI}]),
        ),
        Example.of_body(
            "both",
            completion(_HI, choices=[{**_BARE, "message": _HI, "delta": _NONE}]),
            completion(_HI, choices=[{**_BARE, "message": _HI}]),
        ),
        Example.untouched("there", [completion(_HI)], kind="body"),
    )

    def body(self, body: Chunk) -> bool:
        """Add the message."""
        changed = False
        for choice in choices(body):
            if isinstance(choice.get("message"), dict) and "delta" in choice:
                delta = choice.pop("delta")
                said = delta if isinstance(delta, dict) else {}
                missing = {key: each for key, each in said.items() if each}
                choice["message"] = {**missing, **choice["message"]}
                changed = True
            if not isinstance(choice.get("message"), dict):
                delta, text = choice.pop("delta", None), choice.get("message")
                said = {**_NONE, "content": text} if isinstance(text, str) else _NONE
                is_said = isinstance(delta, dict) and delta
                choice["message"] = delta if is_said else dict(said)
                changed = True
        return changed
