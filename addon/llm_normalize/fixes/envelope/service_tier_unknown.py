"""A `service_tier` that OpenAI does not have."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.openai_fields import TIERS
from ...repair.fix import BODY, WORD, Example, Fix
from ...repair.look import Finding


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
        Example.of_event("stream", {**WORD, "service_tier": "on_demand"}, WORD),
        Example.of_body("body", {**BODY, "service_tier": ""}, BODY),
        Example.untouched("known", [{**WORD, "service_tier": "default"}]),
        Example.untouched("null", [{**WORD, "service_tier": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the key."""
        if chunk.get("service_tier") in (None, *TIERS):
            return False
        del chunk["service_tier"]
        return True

    body = edit
