"""The response around its output: its events, fields, figures and errors."""

from ...wire.json_text import Json
from ..native_fix import NativeFix, ResponsesExample
from ..response_events import (
    USAGE,
    WHOLE,
    begin,
    end,
    event,
    message,
    put,
    response,
    without,
)

END = end(2, message("Hi"))


# A response that begins with its text.
class ResponseStartMissing(NativeFix):
    """Put in the events of its beginning."""

    name = "response-start-missing"
    changes = "no `response.created` or `response.in_progress` -> put in"
    why = "openai-python raises at any other first event, and the AI SDK has no id and no model."
    providers = ("LiteLLM", "gateways")
    sources = (
        "https://github.com/BerriAI/litellm/issues/22102",
        "https://github.com/openai/openai-python/issues/2852",
    )
    examples = (
        ResponsesExample("only the end", [END], [*begin(), END]),
        ResponsesExample("one of two", [begin()[0], *WHOLE[2:]], WHOLE),
    )


KEPT = {
    "status": "in_progress",
    **{key: response()[key] for key in ("id", "created_at", "model")},
}
REST = without(response(), *KEPT)
BARE = without(response("completed", message("Hi")), "tools")


def first(given: Json) -> Json:
    """Return the first event."""
    return event("created", 0, response=given)


def last(given: Json) -> Json:
    """Return the last event."""
    return event("completed", 8, response=given)


# A response without what one always has.
class ResponseFieldsMissing(NativeFix):
    """Put in what is missing: from the first event, or as the request says."""

    name = "response-fields-missing"
    changes = "`response` without `tools`, `model`, `output` …, or with the status of another event -> with all fields, and its own"
    why = "The AI SDK, Codex and Grok refuse the event, and with it the stream."
    providers = ("OmniRoute", "llm-rosetta", "LiteLLM", "Bifrost", "llama.cpp")
    sources = (
        "https://github.com/diegosouzapw/OmniRoute/issues/13964",
        "https://github.com/Oaklight/llm-rosetta/issues/56",
        "https://github.com/BerriAI/litellm/pull/28899",
        "https://github.com/ggml-org/llama.cpp/issues/20607",
    )
    examples = (
        ResponsesExample(
            "hardly any",
            [first(KEPT), *WHOLE[1:]],
            [first({**KEPT, **REST}), *WHOLE[1:]],
        ),
        ResponsesExample(
            "no tools at the end",
            put(WHOLE, -1, last(BARE)),
            put(WHOLE, -1, last({**BARE, "tools": []})),
        ),
        ResponsesExample(
            "the status of its beginning",
            put(WHOLE, -1, last({**WHOLE[-1]["response"], "status": "in_progress"})),
            WHOLE,
        ),
    )


OTHER = end(8, message("Hi"), id="resp_2")


# Another id of the response in each event.
class ResponseIdChanging(NativeFix):
    """Give the response the id of its first event."""

    name = "response-id-changing"
    changes = "`response.id`: another in each event -> that of the first, and so its model and time where they were put in"
    why = "Clients take the events for those of several answers, and go on from one that is not stored."
    providers = ("GitHub Copilot",)
    sources = (
        "https://github.com/BerriAI/litellm/issues/30071",
        "https://github.com/vercel/ai/pull/18548",
    )
    examples = (ResponsesExample("at the end", put(WHOLE, -1, OTHER), WHOLE),)


CHAT = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
NULLS = {
    **USAGE,
    "input_tokens_details": {"cached_tokens": None, "cache_write_tokens": 0},
    "total_tokens": None,
}
NO_DETAILS = without(USAGE, "input_tokens_details", "output_tokens_details")


def ended(usage: object) -> Json:
    """Return the last event with these figures."""
    return end(8, message("Hi"), usage=usage)


# A response that ends without its figures.
class ResponseUsageMissing(NativeFix):
    """Put in the figures of tokens: the provider's, or an estimate where it sends none."""

    name = "response-usage-missing"
    changes = "no `usage`, or one by chat's names, without details or null -> OpenAI's figures"
    why = (
        "Codex takes the stream for broken, asks everything again, and never compacts."
    )
    providers = ("Kimi For Coding", "9router", "gateways")
    sources = (
        "https://github.com/openai/codex/issues/37141",
        "https://github.com/BigPizzaV3/CodexPlusPlus/pull/1908",
        "https://github.com/6Kmfi6HP/opencode2api/pull/11",
    )
    examples = (
        ResponsesExample("chat's names", put(WHOLE, -1, ended(CHAT)), WHOLE),
        ResponsesExample("null", put(WHOLE, -1, ended(NULLS)), WHOLE),
        ResponsesExample("without details", put(WHOLE, -1, ended(NO_DETAILS)), WHOLE),
    )


ERROR: Json = {"type": "error", "sequence_number": 2}
CODED = {"code": "server_error", "message": "Busy"}
OWN = {**CODED, "type": "server_error", "param": None}


def failed(error: object) -> Json:
    """Return the event of a response that failed."""
    return event("failed", 2, response=response("failed", error=error))


# An error in mid-stream that is not OpenAI's.
class ResponseErrorForeign(NativeFix):
    """Send it as OpenAI's; one of a request that is too long with the code of that."""

    name = "response-error-foreign"
    changes = (
        "`error` of words or in another form -> `message`, `type`, `code`, `param`"
    )
    why = "Clients say that the stream broke off, and nothing of why."
    providers = ("Ollama", "LiteLLM", "new-api")
    sources = (
        "https://github.com/BerriAI/litellm/pull/40243",
        "https://github.com/QuantumNous/new-api/pull/6549",
        "https://github.com/langchain4j/langchain4j/pull/5120",
    )
    examples = (
        ResponsesExample(
            "words",
            [*begin(), {**ERROR, "error": "Busy"}],
            [*begin(), {**ERROR, "error": OWN}],
        ),
        ResponsesExample(
            "of a failed response",
            [*begin(), failed("Busy")],
            [*begin(), failed(CODED)],
        ),
        ResponsesExample.untouched("OpenAI's own", [*begin(), {**ERROR, "error": OWN}]),
    )


WORDS = {"code": "overloaded", "message": "Busy"}
OVERLOADED = {
    "type": "error",
    "sequence_number": 2,
    "error": {"type": "server_error", **WORDS, "param": None},
}
FAILED = event("failed", 3, response=response("failed", error=WORDS))


# An error after which the response does not fail.
class ResponseFailedMissing(NativeFix):
    """Put in the event that says so, with the error."""

    name = "response-failed-missing"
    changes = "`error` alone -> and `response.failed`"
    why = "Codex and LangChain read no error but that of a response that failed: the words are lost."
    providers = ("gateways", "vLLM", "Ollama")
    sources = (
        "https://github.com/langchain-ai/langchain/issues/39039",
        "https://github.com/openclaw/openclaw/pull/113629",
        "https://github.com/RakuenSoftware/aimee/pull/647",
    )
    examples = (
        ResponsesExample(
            "an error", [*begin(), OVERLOADED], [*begin(), OVERLOADED, FAILED]
        ),
        ResponsesExample.untouched("both", [*begin(), OVERLOADED, FAILED]),
        ResponsesExample.untouched("a stream that breaks off", [*begin()]),
    )
