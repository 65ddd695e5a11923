"""A `service_tier` that OpenAI does not have."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.openai_fields import TIERS
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding

_TEXT = chunk({"content": "Hi"})
_BODY = completion({"role": "assistant", "content": "Hi"})


class ServiceTierUnknown(Fix):
    """Leave the key out."""

    name = "service-tier-unknown"
    changes = '`service_tier: "on_demand"`, `""` -> removed'
    why = "Strict types know OpenAI's tiers and no others."
    providers = ("Groq", "Snowflake")
    handles = Finding.TIER
    sources = (
        "https://console.groq.com/docs/service-tiers",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event("stream", {**_TEXT, "service_tier": "on_demand"}, _TEXT),
        Example.of_body("body", {**_BODY, "service_tier": ""}, _BODY),
        Example.untouched("known", [{**_TEXT, "service_tier": "default"}]),
        Example.untouched("null", [{**_TEXT, "service_tier": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the key."""
        if chunk.get("service_tier") in (None, *TIERS):
            return False
        del chunk["service_tier"]
        return True

    body = edit
