"""A response without what one always has."""

from ....wire.json_text import Json
from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, event, message, response, without

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
            [*WHOLE[:-1], last(BARE)],
            [*WHOLE[:-1], last({**BARE, "tools": []})],
        ),
        ResponsesExample(
            "the status of its beginning",
            [*WHOLE[:-1], last({**WHOLE[-1]["response"], "status": "in_progress"})],
            WHOLE,
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
