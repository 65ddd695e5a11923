"""Null in place of a figure within usage."""

from ...chat.chunks.chunk import COUNTS, Chunk
from ...repair.fix import HI, TEXT, USAGE, Example, Fix, chunk, completion
from ...repair.look import Finding
from ...wire.json_text import Json

_CACHED = {"cached_tokens": 3}
_COUNTS = frozenset(COUNTS)


def _end(**more: Json) -> Chunk:
    return chunk({}, finish="stop", usage={**USAGE, **more})


class UsageFigureNull(Fix):
    """Drop the key, as OpenAI does; the three counts are for another fix to find."""

    name = "usage-figure-null"
    changes = "`usage.*_details: null`, or null in such details -> removed"
    why = "Zed takes the whole chunk for one of no known kind."
    providers = ("OpenCode Go", "vLLM", "Novita", "OpenRouter")
    handles = Finding.ODD_USAGE
    sources = ("https://github.com/zed-industries/zed/issues/63137",)
    examples = (
        Example(
            "in details",
            [
                TEXT,
                _end(prompt_tokens_details={**_CACHED, "cache_write_tokens": None}),
            ],
            [TEXT, _end(prompt_tokens_details=_CACHED)],
        ),
        Example(
            "whole details",
            [TEXT, _end(prompt_tokens_details=None)],
            [TEXT, _end()],
        ),
        Example.of_body(
            "body",
            completion(HI, usage={**USAGE, "cost_details": {"upstream": None}}),
            completion(HI, usage={**USAGE, "cost_details": {}}),
        ),
        Example.untouched("figures", [TEXT, _end(prompt_tokens_details=_CACHED)]),
        Example.untouched("no usage", [{**TEXT, "usage": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        usage = chunk.get("usage")
        return isinstance(usage, dict) and _drop_nulls(usage, _COUNTS)

    body = edit


def _drop_nulls(figures: Chunk, but: frozenset[str] = frozenset()) -> bool:
    """Drop the null keys of *figures*, save those in *but*, and what is null within."""
    nulls = [key for key, each in figures.items() if each is None and key not in but]
    for key in nulls:
        del figures[key]
    inner = [each for each in figures.values() if isinstance(each, dict)]
    return any([bool(nulls), *map(_drop_nulls, inner)])
