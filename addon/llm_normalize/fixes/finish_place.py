"""Where a finish reason stands in its stream."""

from typing import Any

from ..chat.chunks.chunk import Chunk, choices, deltas, envelope_of
from ..chat.chunks.finish_words import finishes
from ..chat.conversion import implied_reason
from ..repair.fix import (
    BODY,
    DONE,
    HI,
    LENGTH,
    MORE,
    ROLE,
    STOP,
    TEXT,
    TOOL_CALLS,
    USAGE_ASKED,
    Example,
    Fix,
    chunk,
    completion,
    head,
)
from ..repair.look import Finding


# A finish reason on a chunk that still brings text, a tool call or a role.
class FinishWithDelta(Fix):
    """Send what the delta brings first, then the finish reason with `delta: {}`."""

    name = "finish-with-delta"
    changes = "`finish_reason` beside a delta -> a chunk of its own with `delta: {}`"
    why = (
        "Stream helpers that close a tool call at its finish never see its arguments; "
        "clients that stop at a finish reason lose the last word."
    )
    providers = ("NVIDIA NIM", "vLLM 0.6", "Mistral", "Workers AI")
    handles = Finding.FINISH_BESIDE | Finding.SEVERAL_CHOICES
    sources = (
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example(
            "last word",
            [TEXT, chunk({"content": "!"}, finish="stop"), DONE],
            [TEXT, MORE, STOP, DONE],
        ),
        Example(
            "empty text",
            [TEXT, chunk({"content": ""}, finish="stop"), DONE],
            [TEXT, STOP, DONE],
        ),
        Example.untouched("alone", [TEXT, STOP, DONE]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, or empty a delta that says nothing."""
        finishing = [delta for _, choice, delta in deltas(chunk) if finishes(choice)]
        goes_on = len(finishing) < len(choices(chunk))
        if not finishing or not (goes_on or any(finishing)):
            return None
        if not goes_on and not any(map(_says_something, finishing)):
            for delta in finishing:
                delta.clear()
            return [chunk]
        first = envelope_of(chunk)
        first["choices"] = [
            {**choice, "finish_reason": None}
            for choice in choices(chunk)
            if not finishes(choice)
            or _says_something(choice.get("delta") or {})
            or choice.get("logprobs")
        ]
        chunk["choices"] = [
            _without_delta(choice) for choice in choices(chunk) if finishes(choice)
        ]
        return [first, chunk]


def _says_something(delta: dict[str, Any]) -> bool:
    return any(value not in (None, "", [], {}) for value in delta.values())


def _without_delta(choice: Chunk) -> Chunk:
    rest = {**choice, "delta": {}}
    if _says_something(choice.get("delta") or {}):
        rest.pop("text", None)
    if "logprobs" in rest:
        rest["logprobs"] = None
    return rest


# A finish reason before the last words of its choice, often on every chunk.
# The repair is in `repair/machine/finish.py`.
class FinishEarly(Fix):
    """Send it after the last words, unless it has been sent.

    It is held for the next event: at most 100 ms, unless its choice is likely to go on.
    """

    name = "finish-early"
    changes = "`finish_reason` before text of its choice -> after it"
    why = "Clients stop at the first one, after a word."
    providers = ("gcli2api", "Open WebUI's bridge to Ollama", "Gemini proxies")
    sources = (
        "https://github.com/su-kaka/gcli2api/issues/403",
        "https://github.com/open-webui/open-webui/issues/16377",
    )
    examples = (
        Example("text after it", [TEXT, STOP, MORE, DONE], [TEXT, MORE, STOP, DONE]),
        Example(
            "before the first words",
            [ROLE, STOP, MORE, DONE],
            [ROLE, MORE, STOP, DONE],
            asked=USAGE_ASKED,
        ),
        Example.untouched("last", [TEXT, MORE, STOP, DONE]),
    )


# A second finish reason for one choice.
# The repair is in `repair/machine/finish.py`.
class FinishRepeated(Fix):
    """Send one finish reason for each choice, the first that is more than `stop`.

    Where the first has been sent already, it stands.
    """

    name = "finish-repeated"
    changes = "second `finish_reason` of a choice -> dropped"
    why = "Clients close the message twice, or take a `stop` that follows a `length`."
    providers = ("Workers AI", "Mistral gateways")
    sources = (
        "https://github.com/cloudflare/ai",
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
    )
    examples = (
        Example("twice", [TEXT, LENGTH, STOP, DONE], [TEXT, LENGTH, DONE]),
        Example("stop, then more", [TEXT, STOP, LENGTH, DONE], [TEXT, LENGTH, DONE]),
        Example.untouched(
            "one for each choice",
            [
                TEXT,
                chunk({"role": "assistant", "content": "Ho"}, index=1),
                STOP,
                chunk({}, finish="stop", index=1),
                DONE,
            ],
        ),
    )


_CALLED = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})


# No finish reason before `[DONE]`, or in a body.
class FinishMissing(Fix):
    """Add the finish reason that the provider's own `[DONE]` implies, or a whole body.

    A stream that ends without `[DONE]` broke off, and gets none.
    """

    name = "finish-missing"
    changes = "`[DONE]` or body without a finish reason -> `stop` or `tool_calls`"
    why = "openai-node's helpers and the AI SDK raise; agents abort the turn."
    providers = ("GLM-5.1 on NVIDIA NIM", "opencode Zen", "Snowflake", "Jan")
    sources = (
        "https://github.com/earendil-works/pi/issues/6226",
        "https://github.com/anomalyco/opencode/issues/43882",
    )
    examples = (
        Example("text", [TEXT, DONE], [TEXT, STOP, DONE]),
        Example("tool call", [_CALLED, DONE], [_CALLED, TOOL_CALLS, DONE]),
        Example.of_body("body", completion(HI, finish=None), BODY),
        Example.untouched("broken off", [TEXT]),
        Example.untouched(
            "error", [TEXT, b'data: {"error":{"message":"Overloaded"}}\n\n', DONE]
        ),
    )

    def body(self, body: Chunk) -> bool:
        """Add the reason that the message implies."""
        open_ones = [
            each for each in choices(body) if each.get("finish_reason") is None
        ]
        for choice in open_ones:
            message = choice.get("message")
            fields = message if isinstance(message, dict) else {}
            forced = self.asked.forced_tool
            choice["finish_reason"] = implied_reason(fields, forced=forced)
        return bool(open_ones)
