"""A usage chunk that nobody asked for."""

from ...chat.stream_state import Asked
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, USAGE, Example, Fix, chunk
from ...repair.outcome import Outgoing

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")
_USAGE = chunk(None, usage=USAGE)


class UsageUnasked(Fix):
    """Move the usage to the chunk with the finish reason.

    That chunk is held for one more event.
    """

    name = "usage-unasked"
    changes = "chunk with `choices: []` that nobody asked for -> usage with the finish"
    why = "Loops copied from guides fail with an IndexError at `choices[0]`."
    providers = ("NVIDIA NIM", "SGLang", "many gateways")
    sources = (
        "https://platform.openai.com/docs/api-reference/chat/create",
        "https://github.com/openai/openai-cookbook/blob/main/examples/How_to_stream_completions.ipynb",
    )
    end_hooks = (EndHook.USAGE_UNASKED, EndHook.USAGE_LATE, EndHook.LAST_FINISH)
    examples = (
        Example(
            "unasked",
            [_TEXT, _STOP, _USAGE, DONE],
            [_TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example.untouched(
            "asked for",
            [_TEXT, _STOP, _USAGE, DONE],
            asked=Asked(stream=True, usage=True),
        ),
        Example.untouched("none", [_TEXT, _STOP, DONE]),
    )

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Move it to the finish; after the end, give it a choice that has not finished."""
        if hook is EndHook.USAGE_UNASKED:
            outgoing.fixed(self.name)
            end.hold_usage(outgoing.chunk, self.name)
            end.hold_extras_and_send(outgoing.chunk, self.name)
        elif hook is EndHook.USAGE_LATE and end.opened - end.finished:
            outgoing.chunk["choices"] = end.bare_choices()
            outgoing.fixed(self.name)
        return True
