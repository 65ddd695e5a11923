"""`usage: {}`, or usage that is not an object."""

from ...chat.chunks.chunk import Chunk
from ...chat.state.stream_state import Asked
from ...repair.fix import HI, TEXT, USAGE, Example, Fix, chunk, completion
from ...repair.look import Finding


class UsageEmpty(Fix):
    """Send null if usage was asked for, else no key."""

    name = "usage-empty"
    changes = "`usage: {}`, or no object -> `null` if asked for, else removed"
    why = "Zed takes the whole chunk for one of no known kind."
    providers = ("MiniMax", "gateways")
    handles = Finding.ODD_USAGE
    sources = (
        "https://github.com/zed-industries/zed/issues/42893",
        "https://github.com/zed-industries/zed/issues/43613",
    )
    examples = (
        Example.of_event("empty", {**TEXT, "usage": {}}, TEXT),
        Example.of_event(
            "asked for",
            {**TEXT, "usage": {}},
            {**TEXT, "usage": None},
            asked=Asked(stream=True, usage=True),
        ),
        Example("nulls", [{**TEXT, "usage": {"total_tokens": None}}], [TEXT]),
        Example.of_body("body", completion(HI, usage={}), completion(HI, usage=None)),
        Example.untouched("null", [{**TEXT, "usage": None}]),
        Example.untouched("figures", [chunk({}, finish="stop", usage=USAGE)]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop it."""
        if not _is_empty(chunk.get("usage")):
            return False
        if self.asked.usage:
            chunk["usage"] = None
        else:
            del chunk["usage"]
        return True

    def body(self, body: Chunk) -> bool:
        """Set null, which is missing usage in a body."""
        if not _is_empty(body.get("usage")):
            return False
        body["usage"] = None
        return True


def _is_empty(usage: object) -> bool:
    if usage is None:
        return False
    return not isinstance(usage, dict) or all(each is None for each in usage.values())
