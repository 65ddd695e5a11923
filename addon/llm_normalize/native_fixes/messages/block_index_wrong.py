"""Blocks with other indexes than their places."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix


def _text(index: int) -> list[dict[str, object]]:
    return [block("text", index), delta("text_delta", "Hi", index), stop(index)]


class BlockIndexWrong(NativeFix):
    """Count them from 0, in order."""

    name = "block-index-wrong"
    changes = "`index` missing, repeated, or with gaps -> 0, 1, 2 …"
    why = "SDKs write into another block, or say `Content block not found`."
    providers = (
        "z.ai",
        "MiniMax",
        "Kimi",
        "Bifrost",
    )
    sources = (
        "https://github.com/MadAppGang/claudish/pull/127",
        "https://github.com/vercel/ai/pull/11771",
    )
    examples = (
        MessagesExample(
            "with a gap",
            [start(), *_text(0), *_text(2)],
            [start(), *_text(0), *_text(1)],
        ),
        MessagesExample(
            "all the same",
            [start(), *_text(0), *_text(0)],
            [start(), *_text(0), *_text(1)],
        ),
        MessagesExample.untouched("in order", [start(), *_text(0), *_text(1)]),
    )
