"""`prompt_cache_key`, where it is unknown."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop


class PromptCacheKeyRefused(Adaptation):
    """Drop the key, which only makes OpenAI's cache hit more often."""

    name = "prompt-cache-key-refused"
    changes = "`prompt_cache_key` -> removed"
    why = "NIM answers 400: `Unsupported parameter(s): prompt_cache_key`."
    hosts = ("integrate.api.nvidia.com", "ai.api.nvidia.com")
    key = "prompt_cache_key"
    sources = (
        "https://github.com/sipeed/picoclaw/issues/1019",
        "https://github.com/diegosouzapw/OmniRoute/issues/848",
        "https://github.com/MoonshotAI/kimi-cli/issues/2534",
    )
    examples = (
        RequestExample(
            "key",
            {"model": "m", "prompt_cache_key": "k", "messages": HI},
            {"model": "m", "messages": HI},
        ),
        RequestExample.untouched("without", {"model": "m", "messages": HI}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop the key."""
        return drop(body, "prompt_cache_key")
