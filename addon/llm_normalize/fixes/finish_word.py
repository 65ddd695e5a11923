"""The word of a finish reason."""

from ..chat.chunks.chunk import Chunk, choices
from ..chat.chunks.chunk_content import chunk_has_content
from ..chat.chunks.finish_words import FAILED, meaning
from ..chat.errors.errors import failures_in
from ..repair.fix import (
    BODY,
    DONE,
    HI,
    LENGTH,
    MORE,
    STOP,
    TEXT,
    ChoiceFix,
    Example,
    Fix,
    chunk,
    completion,
    without,
)
from ..repair.look import Finding

_BARE = without(TEXT["choices"][0], "finish_reason")


# No `finish_reason` in a choice of a stream.
class FinishKeyMissing(Fix):
    """Say that the choice goes on, as OpenAI does in every chunk."""

    name = "finish-key-missing"
    changes = "choice without `finish_reason` -> `null`"
    why = "Typed clients miss the field; a launcher's plugin never shows the stream."
    providers = ("Perplexity", "Z.AI", "Workers AI", "Baidu", "GitHub Copilot")
    handles = Finding.NO_FINISH_KEY
    sources = (
        "https://github.com/alfredapp/openai-workflow/issues/52",
        "https://github.com/tryAGI/LangChain.Providers/issues/208",
    )
    examples = (
        Example.of_event("missing", {**TEXT, "choices": [_BARE]}, TEXT),
        Example.untouched("there", [TEXT, STOP, DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the key."""
        bare = [each for each in choices(chunk) if "finish_reason" not in each]
        for choice in bare:
            choice["finish_reason"] = None
        return bool(bare)


# `finish_reason: ""`, or `"null"`, where OpenAI sends null.
class FinishEmpty(ChoiceFix):
    """Say null: the choice goes on."""

    name = "finish-empty"
    changes = '`finish_reason: ""`, `"null"`, `false`, `0` -> `null`'
    why = "Typed clients know no such reason; others take the first chunk for the last."
    providers = ("maple-proxy", "o3.fan", "Snowflake")
    handles = Finding.ODD_FINISH
    sources = (
        "https://github.com/OpenSecretCloud/maple-proxy/issues/3",
        "https://github.com/openai/openai-dotnet/issues/389",
    )
    examples = (
        Example.of_event("empty", chunk(HI, finish=""), TEXT),
        Example.of_event("word", chunk({}, finish="null"), chunk({})),
        Example.of_event("number", chunk({}, finish=0), chunk({})),
        Example.untouched("reason", [TEXT, STOP]),
    )

    def choice(self, choice: Chunk) -> bool:
        """Set null."""
        reason = choice.get("finish_reason")
        if reason is None or meaning(reason):
            return False
        choice["finish_reason"] = None
        return True


_FAILED = chunk({}, finish="error")
_BUSY = chunk({}, finish="engine_overloaded")


# A `finish_reason` that is a failure's: `error`, `engine_overloaded`, `503`.
class FinishError(Fix):
    """Send an error event with the word; a body, whose text is there, was cut short."""

    name = "finish-error"
    changes = (
        '`finish_reason: "error"`, `"engine_overloaded"`, … -> an error event; `length` in '
        "a body"
    )
    why = "Typed clients raise at an unknown reason, or take it for a success."
    providers = ("OpenRouter", "gateways", "Cohere", "Zhipu", "DeepSeek")
    handles = Finding.ODD_FINISH
    sources = (
        "https://openrouter.ai/docs/api-reference/errors",
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
        "https://api-docs.deepseek.com/api/create-chat-completion",
    )
    examples = (
        Example(
            "stream",
            [TEXT, chunk({"content": "!"}, finish="error")],
            [TEXT, MORE, {"error": failures_in(_FAILED)[0]}],
        ),
        Example("word", [TEXT, _BUSY], [TEXT, {"error": failures_in(_BUSY)[0]}]),
        Example.of_body(
            "body", completion(HI, finish="error"), completion(HI, finish="length")
        ),
        Example.untouched("synonym", [TEXT, chunk({}, finish="eos")]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Part the failure from what the chunk says."""
        found = failures_in(chunk)
        if not found:
            return None
        for choice in _failed(chunk):
            choice["finish_reason"] = None
        errors: list[Chunk] = [{"error": each} for each in found]
        return [chunk, *errors] if chunk_has_content(chunk) else errors

    def body(self, body: Chunk) -> bool:
        """Say that the text is not whole."""
        failed = _failed(body)
        for choice in failed:
            choice["finish_reason"] = "length"
        return bool(failed)


def _failed(chunk: Chunk) -> list[Chunk]:
    return [
        each for each in choices(chunk) if meaning(each.get("finish_reason")) == FAILED
    ]


# Finish reasons in other words than OpenAI's.
class FinishSynonym(ChoiceFix):
    """Say it in OpenAI's words; a failure is the fix `finish-error`'s."""

    name = "finish-synonym"
    changes = "`eos`, `end_turn`, `STOP`, `max_tokens`, `tool_use`, … -> OpenAI's word"
    why = "Typed clients raise at an unknown reason; agents never run the tool."
    providers = ("Together", "Workers AI", "Gemini and Claude bridges", "Cohere")
    handles = Finding.ODD_FINISH
    sources = (
        "https://github.com/openai/openai-dotnet/issues/267",
        "https://github.com/earendil-works/pi/issues/2116",
        "https://github.com/cloudflare/ai/blob/main/packages/workers-ai-provider/src/map-workersai-finish-reason.ts",
    )
    examples = (
        Example(
            "end of sequence", [TEXT, chunk({}, finish="eos"), DONE], [TEXT, STOP, DONE]
        ),
        Example(
            "upper case",
            [TEXT, chunk({}, finish="MAX_TOKENS"), DONE],
            [TEXT, LENGTH, DONE],
        ),
        Example(
            "an unknown one",
            [TEXT, chunk({}, finish="that_was_it"), DONE],
            [TEXT, STOP, DONE],
        ),
        Example.of_body("body", completion(HI, finish="end_turn"), BODY),
        Example.untouched("known", [TEXT, LENGTH, DONE]),
        Example.untouched("failure", [TEXT, chunk({}, finish="error")]),
    )

    def choice(self, choice: Chunk) -> bool:
        """Translate its reason."""
        given = choice.get("finish_reason")
        meant = meaning(given)
        if meant in ("", FAILED, given):
            return False
        choice["finish_reason"] = meant
        return True
