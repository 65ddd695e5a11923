"""What all events of a response have: names, numbers and places."""

from ...wire.json_text import Json
from ..native_fix import NativeFix, ResponsesExample
from ..response_events import (
    WHOLE,
    added,
    begin,
    changed,
    event,
    put,
    response,
    without,
)

INCOMPLETE = response("incomplete", incomplete_details={"reason": "content_filter"})
ADDED = added(2, {"id": "rs_0", "type": "reasoning", "summary": []})


def thought(kind: str) -> Json:
    """Return an event of a thought."""
    place = {"item_id": "rs_0", "output_index": 0, "content_index": 0}
    return event(f"{kind}.delta", 3, **place, delta="Hm")


# Events by names that OpenAI does not have.
class EventNameForeign(NativeFix):
    """Give them OpenAI's names."""

    name = "event-name-foreign"
    changes = "`response.done`, `response.reasoning.delta`, `response.reasoning_part.added`, another end than its status … -> `response.completed`, `response.reasoning_text.delta`, its status …"
    why = "Clients drop what they do not know: thoughts are lost, and without its end a stream is asked again."
    providers = ("vLLM", "TensorRT-LLM", "gateways")
    sources = (
        "https://github.com/vllm-project/vllm/pull/24938",
        "https://github.com/vllm-project/vllm/pull/35184",
        "https://github.com/vllm-project/agentic-api/issues/273",
        "https://github.com/jlcodes99/cockpit-tools/issues/701",
        "https://github.com/Oaklight/llm-rosetta/issues/408",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/19223",
    )
    examples = (
        ResponsesExample("the end", changed(WHOLE, -1, type="response.done"), WHOLE),
        ResponsesExample(
            "another end than its status",
            [*begin(), event("completed", 2, response=INCOMPLETE)],
            [*begin(), event("incomplete", 2, response=INCOMPLETE)],
        ),
        ResponsesExample(
            "thoughts",
            [*begin(), ADDED, thought("reasoning")],
            [*begin(), ADDED, thought("reasoning_text")],
        ),
    )


# Events without what one of their kind always has.
class EventFieldsMissing(NativeFix):
    """Put it in."""

    name = "event-fields-missing"
    changes = "no `part`, `delta` or `annotation` -> an empty one"
    why = "Typed clients refuse the event."
    providers = ("gateways",)
    sources = ("https://github.com/ggml-org/llama.cpp/pull/24957",)
    examples = (
        ResponsesExample(
            "no delta", changed(WHOLE, 4, delta=None), changed(WHOLE, 4, delta="")
        ),
    )


# Events without numbers, or with wrong ones.
class SequenceNumberWrong(NativeFix):
    """Number them."""

    name = "sequence-number-wrong"
    changes = "`sequence_number`: missing, or not the next -> the next"
    why = (
        "Typed clients refuse an event without one, others put events into their order."
    )
    providers = ("llama.cpp", "OmniRoute", "LiteLLM")
    sources = (
        "https://github.com/diegosouzapw/OmniRoute/issues/13964",
        "https://github.com/BerriAI/litellm/pull/28899",
        "https://github.com/ggml-org/llama.cpp/pull/24957",
    )
    examples = (
        ResponsesExample(
            "none",
            [without(each, "sequence_number") for each in WHOLE],
            [
                {**without(each, "sequence_number"), "sequence_number": number}
                for number, each in enumerate(WHOLE)
            ],
        ),
        ResponsesExample(
            "from one",
            [
                {**each, "sequence_number": each["sequence_number"] + 1}
                for each in WHOLE
            ],
            WHOLE,
        ),
    )


PLACES = ("output_index", "content_index")
PLACE = dict.fromkeys(PLACES, 0)


# Events that do not say which item or part they belong to.
class OutputIndexWrong(NativeFix):
    """Say it."""

    name = "output-index-wrong"
    changes = "`output_index`, `content_index`, `summary_index`: missing, wrong or nested -> the place"
    why = "Clients put all of it into the first item, or raise."
    providers = ("Lemonade", "llama.cpp", "LiteLLM", "vLLM")
    sources = (
        "https://github.com/lemonade-sdk/lemonade/issues/3607",
        "https://github.com/tontinton/maki/pull/514",
        "https://github.com/davidmigloz/ai_clients_dart/pull/243",
        "https://github.com/BerriAI/litellm/pull/36375",
    )
    examples = (
        ResponsesExample(
            "none",
            put(WHOLE, 4, without(WHOLE[4], *PLACES)),
            put(WHOLE, 4, {**without(WHOLE[4], *PLACES), **PLACE}),
        ),
        ResponsesExample("counted", changed(WHOLE, 4, content_index=7), WHOLE),
    )
