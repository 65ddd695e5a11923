"""The delta of a choice."""

from ..chat.chunks.chunk import Chunk, choices
from ..chat.conversion import is_body
from ..chat.merged_choices import join_parts
from ..repair.fix import HI, STOP, TEXT, ChoiceFix, Example, Fix, chunk, completion
from ..repair.look import Finding


def _with(delta: object, **more: str) -> Chunk:
    return chunk({}, choice={"delta": delta}, **more)


# A `delta` or `message` in a list: `[{…}]`.
class DeltaList(ChoiceFix):
    """Send what the objects of the list say as one."""

    name = "delta-list"
    changes = "`delta: [{…}]`, `message: [{…}]` -> `{…}`"
    why = "Every client looks for `content` in the list, and fails or shows nothing."
    providers = ("gateways of one's own",)
    handles = Finding.LISTED
    sources = ("https://platform.openai.com/docs/api-reference/chat-streaming",)
    examples = (
        Example.of_event("one", _with([HI]), TEXT),
        Example.of_event(
            "two", _with([HI, {"content": " you"}]), chunk({**HI, "content": "Hi you"})
        ),
        Example.of_event("none", _with([]), _with({})),
        Example.of_body(
            "message",
            completion({}, choices=[{"index": 0, "message": [HI]}]),
            completion({}, choices=[{"index": 0, "message": HI}]),
        ),
        Example.untouched("an object", [TEXT]),
    )

    def choice(self, choice: Chunk) -> bool:
        """Join the lists."""
        return join_parts(choice)


_BARE: Chunk = {"index": 0, "finish_reason": "stop"}
_EMPTY = {**_BARE, "delta": {}}


# No `delta` in a choice, or null, or a bare string.
class DeltaMissing(Fix):
    """Send the object that every choice of OpenAI's has."""

    name = "delta-missing"
    changes = "`delta: null` or no `delta` -> `{}`; a bare string -> its content"
    why = "Every loop reads `choices[0].delta.content`: 7 of 20 libraries fail."
    providers = ("gateways to GPT-5", "Azure (content filter notes)", "Bailian")
    handles = Finding.NO_DELTA
    sources = (
        "https://github.com/langroid/langroid/issues/987",
        "https://github.com/antgroup/agentUniverse/issues/772",
    )
    examples = (
        Example.of_event("null", _with(None, finish="stop"), STOP),
        Example.of_event(
            "missing", chunk(None, choices=[_BARE]), chunk(None, choices=[_EMPTY])
        ),
        Example.of_event(
            "string",
            _with("Hi", finish="stop"),
            _with({"content": "Hi"}, finish="stop"),
        ),
        Example.untouched("there", [STOP]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the delta."""
        found = [each for each in choices(chunk) if _lacks_delta(each)]
        if not found or is_body(chunk, self.asked, self.seen):
            return False
        for choice in found:
            delta = choice.get("delta")
            is_text = isinstance(delta, str) and delta
            choice["delta"] = {"content": delta} if is_text else {}
        return True


def _lacks_delta(choice: Chunk) -> bool:
    return not isinstance(choice.get("delta"), dict | list)  # a list is another quirk
