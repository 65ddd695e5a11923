"""A `delta` or `message` in a list: `[{…}]`."""

from ...chat.chunks.chunk import Chunk, change_all, choices
from ...chat.merged_choices import join_parts
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding

_HI = {"role": "assistant", "content": "Hi"}


def _with(delta: object) -> Chunk:
    return chunk(None, choices=[{"index": 0, "delta": delta, "finish_reason": None}])


class DeltaList(Fix):
    """Send what the objects of the list say as one."""

    name = "delta-list"
    changes = "`delta: [{…}]`, `message: [{…}]` -> `{…}`"
    why = "Every client looks for `content` in the list, and fails or shows nothing."
    providers = ("gateways of one's own",)
    handles = Finding.LISTED
    sources = ("https://platform.openai.com/docs/api-reference/chat-streaming",)
    examples = (
        Example.of_event("one", _with([_HI]), chunk(_HI)),
        Example.of_event(
            "two",
            _with([_HI, {"content": " you"}]),
            chunk({**_HI, "content": "Hi you"}),
        ),
        Example.of_event("none", _with([]), _with({})),
        Example.of_body(
            "message",
            completion({}, choices=[{"index": 0, "message": [_HI]}]),
            completion({}, choices=[{"index": 0, "message": _HI}]),
        ),
        Example.untouched("an object", [chunk(_HI)]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Join the lists."""
        return change_all(join_parts, choices(chunk))

    body = edit
