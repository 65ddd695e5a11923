"""Usage on chunks that are not the last.

The repair is in `repair/machine/usage.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, STOP, TEXT, USAGE, Example, Fix, chunk

_SOME = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
_ZEROS = dict.fromkeys(USAGE, 0)
_LAST = chunk(None, usage=USAGE)
_ASKED = Asked(stream=True, usage=True)


class UsageEveryChunk(Fix):
    """Send usage once, in its own last chunk, if asked for; else only what comes once."""

    name = "usage-every-chunk"
    changes = "usage before a stream's end -> once, at its end; unasked on every chunk -> dropped"
    why = (
        "LangChain, pydantic-ai and smolagents add it up; Continue's adapters lose "
        "the whole text, and new-api a finish reason beside usage that was not requested."
    )
    providers = ("NVIDIA NIM", "vLLM (`continuous_usage_stats`)", "Workers AI")
    sources = (
        "https://docs.pipecat.ai/server/services/llm/nvidia",
        "https://github.com/open-webui/open-webui/issues/29064",
        "https://platform.openai.com/docs/api-reference/chat/create",
    )
    examples = (
        Example(
            "asked for",
            [{**TEXT, "usage": _SOME}, STOP, _LAST, DONE],
            [{**TEXT, "usage": None}, STOP, _LAST, DONE],
            asked=_ASKED,
        ),
        Example(
            "asked for, and no last chunk",
            [{**TEXT, "usage": USAGE}, STOP, DONE],
            [{**TEXT, "usage": None}, STOP, _LAST, DONE],
            asked=_ASKED,
        ),
        Example(
            "not asked for",
            [{**TEXT, "usage": _SOME}, {**STOP, "usage": USAGE}, DONE],
            [TEXT, STOP, DONE],
        ),
        Example(
            "not asked for, once",
            [{**TEXT, "usage": USAGE}, STOP, DONE],
            [TEXT, {**STOP, "usage": USAGE}, DONE],
        ),
        Example(
            "not asked for, with zeros before",
            [{**TEXT, "usage": _ZEROS}, {**STOP, "usage": USAGE}, DONE],
            [TEXT, {**STOP, "usage": USAGE}, DONE],
        ),
        Example.untouched("last chunk", [TEXT, STOP, _LAST, DONE], asked=_ASKED),
        Example.untouched("with the finish", [TEXT, {**STOP, "usage": USAGE}, DONE]),
    )
