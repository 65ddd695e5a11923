"""Usage on chunks that are not the last."""

from ...chat.chunks.chunk import usage_of
from ...chat.stream_state import Asked
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, USAGE, Example, Fix, chunk
from ...repair.outcome import Outgoing

_SOME = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")
_LAST = chunk(None, usage=USAGE)
_ASKED = Asked(stream=True, usage=True)


class UsageEveryChunk(Fix):
    """Send usage once: in its own last chunk if asked for, else with the finish."""

    name = "usage-every-chunk"
    changes = "usage before a stream's end -> once, at its end"
    why = (
        "LangChain, pydantic-ai and smolagents add it up; Continue's adapters lose "
        "the whole text."
    )
    providers = ("NVIDIA NIM", "vLLM (`continuous_usage_stats`)", "Workers AI")
    sources = (
        "https://docs.pipecat.ai/server/services/llm/nvidia",
        "https://github.com/open-webui/open-webui/issues/29064",
        "https://platform.openai.com/docs/api-reference/chat/create",
    )
    end_hooks = (EndHook.USAGE_BESIDE_CHOICES, EndHook.OVERTAKEN_FINISH)
    examples = (
        Example(
            "asked for",
            [{**_TEXT, "usage": _SOME}, _STOP, _LAST, DONE],
            [{**_TEXT, "usage": None}, _STOP, _LAST, DONE],
            asked=_ASKED,
        ),
        Example(
            "asked for, and no last chunk",
            [{**_TEXT, "usage": USAGE}, _STOP, DONE],
            [{**_TEXT, "usage": None}, _STOP, _LAST, DONE],
            asked=_ASKED,
        ),
        Example(
            "not asked for",
            [{**_TEXT, "usage": _SOME}, {**_STOP, "usage": USAGE}, DONE],
            [_TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example.untouched("last chunk", [_TEXT, _STOP, _LAST, DONE], asked=_ASKED),
        Example.untouched("with the finish", [_TEXT, {**_STOP, "usage": USAGE}, DONE]),
    )

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Take it off, also off a finish that turns out not to be the last."""
        if hook is EndHook.USAGE_BESIDE_CHOICES:
            end.take_usage_off(outgoing, self.name)
        elif usage_of(outgoing.chunk) and not end.all_finished:
            end.take_usage_back(outgoing, self.name)
        return True
