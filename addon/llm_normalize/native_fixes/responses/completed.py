"""The output of the last event of a response."""

from ..native_fix import NativeFix, ResponsesExample
from ..response_events import (
    WHOLE,
    added,
    begin,
    call,
    done,
    end,
    event,
    of_call,
    put,
    response,
)


# A response that ends without its output.
class CompletedOutputEmpty(NativeFix):
    """Put in the items that have been sent."""

    name = "completed-output-empty"
    changes = "`response.output` of the last event: empty, or without some items -> all of them"
    why = "The Agents SDK, LangChain and OpenClaw take the answer from there: an empty one is asked again, up to ten times."
    providers = ("vLLM", "LiteLLM", "new-api", "ChatGPT")
    sources = (
        "https://github.com/QuantumNous/new-api/issues/4362",
        "https://github.com/vllm-project/vllm/pull/30223",
        "https://github.com/BerriAI/litellm/pull/32724",
    )
    examples = (ResponsesExample("empty", put(WHOLE, -1, end(8)), WHOLE),)


_CUT = '{"a":"b'
_OPEN = [
    *begin(),
    added(2, call()),
    of_call("delta", 3, delta=_CUT),
    of_call("done", 4, arguments=_CUT),
]
_WHOLE, _PART = call(_CUT), call(_CUT, status="incomplete")
_COMPLETED = response("completed", _WHOLE)
_LIMIT = {"reason": "max_output_tokens"}
_INCOMPLETE = {**response("completed", _PART), "status": "incomplete"}
_INCOMPLETE["incomplete_details"] = _LIMIT


# A response that is complete within the arguments of a call.
class CompletedCallCut(NativeFix):
    """Say `incomplete`: only the limit of tokens ends an answer within an object."""

    name = "completed-call-cut"
    changes = "`completed` item and response with unfinished arguments of a call -> `incomplete`"
    why = "Agents run the call, or ask for it again and again, as its arguments are invalid."
    providers = ("vLLM", "oMLX", "Unsloth Studio")
    sources = (
        "https://github.com/vllm-project/vllm/issues/57998",
        "https://github.com/jundot/omlx/pull/2817",
        "https://github.com/unslothai/unsloth/issues/10177",
    )
    examples = (
        ResponsesExample(
            "a stream",
            [*_OPEN, done(5, _WHOLE), event("completed", 6, response=_COMPLETED)],
            [*_OPEN, done(5, _PART), event("incomplete", 6, response=_INCOMPLETE)],
        ),
        ResponsesExample("a body", [_COMPLETED], [_INCOMPLETE], is_body=True),
        ResponsesExample.untouched(
            "out of tokens",
            [*_OPEN, done(5, _PART), event("incomplete", 6, response=_INCOMPLETE)],
        ),
    )
