"""Token counts as text or as fractions."""

from collections.abc import Iterable

from ...chat.chunks.chunk import Chunk
from ...repair.fix import DONE, HI, TEXT, USAGE, Example, Fix, chunk, completion
from ...repair.look import Finding
from ...wire.json_text import Number, whole_number

_WORDS = {**USAGE, "prompt_tokens": "3"}
_KINDS = ("prompt", "completion", "total", "input", "output")
_COUNTS = tuple(f"{kind}_tokens" for kind in _KINDS)
_DETAILS = {
    "prompt_tokens_details": (
        "audio_tokens", "cache_write_tokens", "cached_tokens", "image_tokens",
        "text_tokens",
    ),
    "completion_tokens_details": (
        "accepted_prediction_tokens", "audio_tokens", "reasoning_tokens",
        "rejected_prediction_tokens", "text_tokens",
    ),
}  # fmt: skip


class UsageMistyped(Fix):
    """Send whole numbers."""

    name = "usage-mistyped"
    changes = (
        '`usage.*_tokens: "5"`, `5.0` -> `5`; details that are not an object -> null'
    )
    why = "Typed clients refuse the chunk, others add text to numbers."
    providers = ("gateways in JavaScript and Lua",)
    handles = Finding.ODD_USAGE
    sources = ("https://platform.openai.com/docs/api-reference/chat/object",)
    examples = (
        Example(
            "text",
            [TEXT, chunk({}, finish="stop", usage=_WORDS), DONE],
            [TEXT, chunk({}, finish="stop", usage=USAGE), DONE],
        ),
        Example.of_body(
            "fraction",
            completion(HI, usage={**USAGE, "prompt_tokens": Number("3.0")}),
            completion(HI, usage=USAGE),
        ),
        Example.untouched("whole", [TEXT, chunk({}, finish="stop", usage=USAGE)]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Convert the counts."""
        usage = chunk.get("usage")
        if not isinstance(usage, dict):
            return False
        changed = _convert(usage, _COUNTS, _COUNTS)
        for key, own in _DETAILS.items():
            details = usage.get(key)
            if isinstance(details, dict):
                named = [each for each in details if each.endswith("_tokens")]
                changed |= _convert(details, named, own)
            elif details is not None:
                usage[key] = None
                changed = True
        return changed

    body = edit


def _convert(counts: Chunk, keys: Iterable[str], own: tuple[str, ...]) -> bool:
    changed = False
    for key in keys:
        given = counts.get(key)
        if given is None or type(given) is int:
            continue
        made = whole_number(given, cut=key in own)  # another's may be of any form
        if made is not None or key in own:
            counts[key] = made
            changed = True
    return changed
