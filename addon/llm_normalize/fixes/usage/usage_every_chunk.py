"""Usage on chunks that are not the last.

The repair is in `repair/machine/usage.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, USAGE, Example, Fix, chunk

_SOME = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
_ZEROS = dict.fromkeys(USAGE, 0)
_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")
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
            [_TEXT, _STOP, DONE],
        ),
        Example(
            "not asked for, once",
            [{**_TEXT, "usage": USAGE}, _STOP, DONE],
            [_TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example(
            "not asked for, with zeros before",
            [{**_TEXT, "usage": _ZEROS}, {**_STOP, "usage": USAGE}, DONE],
            [_TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example.untouched("last chunk", [_TEXT, _STOP, _LAST, DONE], asked=_ASKED),
        Example.untouched("with the finish", [_TEXT, {**_STOP, "usage": USAGE}, DONE]),
    )
