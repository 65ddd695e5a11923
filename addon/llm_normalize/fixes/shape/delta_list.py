"""A `delta` or `message` in a list: `[{…}]`."""

from ...chat.chunks.chunk import Chunk
from ...chat.merged_choices import join_parts
from ...repair.fix import HI, ChoiceFix, Example, chunk, completion
from ...repair.look import Finding


def _with(delta: object) -> Chunk:
    return chunk(None, choices=[{"index": 0, "delta": delta, "finish_reason": None}])


class DeltaList(ChoiceFix):
    """Send what the objects of the list say as one."""

    name = "delta-list"
    changes = "`delta: [{…}]`, `message: [{…}]` -> `{…}`"
    why = "Every client looks for `content` in the list, and fails or shows nothing."
    providers = ("gateways of one's own",)
    handles = Finding.LISTED
    sources = ("https://platform.openai.com/docs/api-reference/chat-streaming",)
    examples = (
        Example.of_event("one", _with([HI]), chunk(HI)),
        Example.of_event(
            "two",
            _with([HI, {"content": " you"}]),
            chunk({**HI, "content": "Hi you"}),
        ),
        Example.of_event("none", _with([]), _with({})),
        Example.of_body(
            "message",
            completion({}, choices=[{"index": 0, "message": [HI]}]),
            completion({}, choices=[{"index": 0, "message": HI}]),
        ),
        Example.untouched("an object", [chunk(HI)]),
    )

    def choice(self, choice: Chunk) -> bool:
        """Join the lists."""
        return join_parts(choice)
