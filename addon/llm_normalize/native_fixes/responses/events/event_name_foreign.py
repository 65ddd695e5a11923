"""Events by names that OpenAI does not have."""

from ....wire.json_text import Json
from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, added, begin, event, response

INCOMPLETE = response("incomplete", incomplete_details={"reason": "content_filter"})
ADDED = added(2, {"id": "rs_0", "type": "reasoning", "summary": []})


def thought(kind: str) -> Json:
    """Return an event of a thought."""
    place = {"item_id": "rs_0", "output_index": 0, "content_index": 0}
    return event(f"{kind}.delta", 3, **place, delta="Hm")


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
        ResponsesExample(
            "the end", [*WHOLE[:-1], {**WHOLE[-1], "type": "response.done"}], WHOLE
        ),
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
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
