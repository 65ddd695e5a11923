"""What takes the place of a conversation that got too long: a summary that the model writes.

OpenAI encrypts it. Here, it is in letters that survive any client, as thoughts are.
"""

from ..protocol import JsonObject
from .reasoning_text import unpacked

COMPACTED = ("compaction", "compaction_summary", "context_compaction")
"""Types of the item."""
_BEFORE = (
    "The conversation before this message was summarized, since it got too long. Go on "
    "from this summary, and do not repeat what is done:\n\n"
)


def summary_in(item: JsonObject) -> str:
    """Return what an *item* tells the model; nothing if only another provider can read it."""
    text = unpacked(item.get("encrypted_content"))
    return _BEFORE + text if text else ""
