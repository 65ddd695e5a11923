"""No `delta` in a choice, or null, or a bare string."""

from ...chat.chunks.chunk import Chunk, choices
from ...chat.conversion import is_body
from ...repair.fix import STOP, Example, Fix
from ...repair.look import Finding


def _with(delta: object) -> Chunk:
    return {**STOP, "choices": [{**STOP["choices"][0], "delta": delta}]}


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
        Example.of_event("null", _with(None), STOP),
        Example.of_event(
            "missing",
            {**STOP, "choices": [{"index": 0, "finish_reason": "stop"}]},
            {
                **STOP,
                "choices": [{"index": 0, "finish_reason": "stop", "delta": {}}],
            },
        ),
        Example.of_event("string", _with("Hi"), _with({"content": "Hi"})),
        Example.untouched("there", [STOP], ended=False),
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
