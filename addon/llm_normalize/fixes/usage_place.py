"""Where usage stands: in a chunk, and in the stream."""

from ..chat.chunks.chunk import Chunk, choices, usage_of
from ..chat.conversion import counts
from ..chat.state.asked import Asked
from ..repair.fix import (
    BODY,
    DONE,
    STOP,
    TEXT,
    USAGE,
    USAGE_ASKED,
    USAGE_CHUNK,
    Example,
    Fix,
    chunk,
    without,
)
from ..repair.look import Finding

_CHOICE = {**BODY["choices"][0], "usage": USAGE}
_FINISH = {**STOP, "usage": USAGE}
_NULL = {**TEXT, "usage": None}
_EARLY = {**TEXT, "usage": USAGE}


# `usage` in a choice instead of in the chunk.
class UsageInChoice(Fix):
    """Put it where OpenAI has it."""

    name = "usage-in-choice"
    changes = "`choices[].usage` -> `usage`"
    why = "Clients look at the chunk and count no tokens."
    providers = ("Moonshot",)
    handles = Finding.USAGE_ELSEWHERE
    sources = (
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/providers/openai-completions.ts",
        "https://platform.moonshot.ai/docs/api/chat",
    )
    examples = (
        Example(
            "stream",
            [TEXT, chunk({}, finish="stop", choice={"usage": USAGE}), DONE],
            [TEXT, _FINISH, DONE],
        ),
        Example.of_body("body", {**without(BODY, "usage"), "choices": [_CHOICE]}, BODY),
        Example.untouched("there", [TEXT, _FINISH, DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Move it."""
        changed = False
        for choice in choices(chunk):
            if "usage" in choice:
                usage = choice.pop("usage")
                if usage and not usage_of(chunk):
                    chunk["usage"] = usage
                changed = True
        return changed

    body = edit


_GROQ = chunk({}, finish="stop", x_groq={"id": "req_1", "usage": USAGE})


# Usage under `x_groq` alone.
class UsageElsewhere(Fix):
    """Say it where OpenAI says it, too."""

    name = "usage-elsewhere"
    changes = "`x_groq.usage` alone -> `usage` beside it"
    why = "Clients look at `usage` and count no tokens."
    providers = ("Groq",)
    handles = Finding.USAGE_ELSEWHERE
    sources = (
        "https://console.groq.com/docs/api-reference#chat-create",
        "https://github.com/groq/groq-python/blob/main/src/groq/types/chat/chat_completion_chunk.py",
    )
    also_covered_by = ("usage-empty",)
    examples = (
        Example("stream", [TEXT, _GROQ, DONE], [TEXT, {**_GROQ, "usage": USAGE}, DONE]),
        Example(
            "beside an invalid usage",
            [TEXT, {**_GROQ, "usage": True}, DONE],
            [TEXT, {**_GROQ, "usage": USAGE}, DONE],
        ),
        Example(
            "beside zeros",
            [TEXT, {**_GROQ, "usage": dict.fromkeys(USAGE, 0)}, DONE],
            [TEXT, {**_GROQ, "usage": USAGE}, DONE],
        ),
        Example.untouched("both", [TEXT, {**_GROQ, "usage": USAGE}, DONE]),
        Example.untouched("none", [chunk({"content": "Hi"}, x_groq={"id": "req_1"})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Copy it."""
        other = chunk.get("x_groq")
        usage = other.get("usage") if isinstance(other, dict) else None
        own = usage_of(chunk)
        if not isinstance(usage, dict) or not usage:
            return False
        if isinstance(own, dict) and (counts(own) or not counts(usage)):
            return False
        chunk["usage"] = dict(usage)
        return True

    body = edit


_SOME = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
_ZEROS = dict.fromkeys(USAGE, 0)


# Usage on chunks that are not the last.
# The repair is in `repair/machine/usage.py`.
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
            [{**TEXT, "usage": _SOME}, STOP, USAGE_CHUNK, DONE],
            [_NULL, STOP, USAGE_CHUNK, DONE],
            asked=USAGE_ASKED,
        ),
        Example(
            "asked for, and no last chunk",
            [_EARLY, STOP, DONE],
            [_NULL, STOP, USAGE_CHUNK, DONE],
            asked=USAGE_ASKED,
        ),
        Example(
            "not asked for",
            [{**TEXT, "usage": _SOME}, _FINISH, DONE],
            [TEXT, STOP, DONE],
        ),
        Example("not asked for, once", [_EARLY, STOP, DONE], [TEXT, _FINISH, DONE]),
        Example(
            "not asked for, with zeros before",
            [{**TEXT, "usage": _ZEROS}, _FINISH, DONE],
            [TEXT, _FINISH, DONE],
        ),
        Example.untouched("with the finish", [TEXT, _FINISH, DONE]),
    )


# Usage that was asked for, on the chunk with the finish reason.
# The repair is in `repair/machine/usage.py`.
class UsageWithChoices(Fix):
    """Send usage that was asked for in a last chunk with `choices: []`.

    Only the end shows whether there is one.
    """

    name = "usage-with-choices"
    changes = "asked usage on the finish chunk -> in a last chunk with `choices: []`"
    why = "LiteLLM counts again; clients that wait for the last chunk see no usage."
    providers = ("NVIDIA NIM", "Mistral", "mlx-dspark")
    sources = (
        "https://github.com/ARahim3/mlx-dspark/issues/37",
        "https://platform.openai.com/docs/api-reference/chat/create",
    )
    examples = (
        Example(
            "on the finish",
            [TEXT, _FINISH, DONE],
            [TEXT, {**STOP, "usage": None}, USAGE_CHUNK, DONE],
            asked=USAGE_ASKED,
        ),
        Example.untouched("not asked for", [TEXT, _FINISH, DONE]),
    )


# A usage chunk that was not requested.
# The repair is in `repair/machine/usage.py`.
class UsageUnasked(Fix):
    """Move the usage to the chunk with the finish reason.

    That chunk is held for one more event.
    """

    name = "usage-unasked"
    changes = (
        "chunk with `choices: []` without a request for usage -> usage with the finish"
    )
    why = "Loops copied from guides fail with an IndexError at `choices[0]`."
    providers = ("NVIDIA NIM", "SGLang", "many gateways")
    sources = (
        "https://platform.openai.com/docs/api-reference/chat/create",
        "https://github.com/openai/openai-cookbook/blob/main/examples/How_to_stream_completions.ipynb",
    )
    examples = (
        Example("unasked", [TEXT, STOP, USAGE_CHUNK, DONE], [TEXT, _FINISH, DONE]),
        Example.untouched(
            "asked for", [TEXT, STOP, USAGE_CHUNK, DONE], asked=USAGE_ASKED
        ),
    )


_B = chunk({"role": "assistant", "content": "Ho"}, index=1)
_STOP_B = chunk({}, finish="stop", index=1)
_FIRST = chunk(None, usage={**USAGE, "total_tokens": 4})
_TWO = Asked(stream=True, usage=True, n=2)


# A usage chunk before every choice has finished.
# The repair is in `repair/machine/usage.py`.
class UsageEarly(Fix):
    """Send the last usage chunk only, after every finish reason."""

    name = "usage-early"
    changes = "usage chunk before the last finish reason -> dropped or after it"
    why = "Clients that add usage up count a request with two choices twice."
    providers = ("llama.cpp with `n` > 1",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/create",)
    examples = (
        Example(
            "one for each choice",
            [TEXT, _B, STOP, _FIRST, _STOP_B, USAGE_CHUNK, DONE],
            [TEXT, _B, STOP, _STOP_B, USAGE_CHUNK, DONE],
            asked=_TWO,
        ),
        Example.untouched("last", [TEXT, _B, STOP, _STOP_B, USAGE_CHUNK], asked=_TWO),
    )


# Usage again after it was sent.
# The repair is in `repair/machine/usage.py`.
class UsageRepeated(Fix):
    """Send usage once."""

    name = "usage-repeated"
    changes = "second usage chunk -> dropped"
    why = "LangChain, pydantic-ai and smolagents add it up."
    providers = ("gateways that add usage of their own",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/create",)
    examples = (
        Example(
            "twice",
            [TEXT, STOP, USAGE_CHUNK, USAGE_CHUNK, DONE],
            [TEXT, STOP, USAGE_CHUNK, DONE],
            asked=USAGE_ASKED,
        ),
        Example.untouched("once", [TEXT, STOP, USAGE_CHUNK, DONE], asked=USAGE_ASKED),
    )
