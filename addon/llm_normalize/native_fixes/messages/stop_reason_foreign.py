"""A reason in other words than Anthropic's, or one that is not so."""

from ..message_events import block, delta, end, message, start, stop
from ..native_fix import MessagesExample, NativeFix

_CALL = [start(), block("tool_use"), stop()]
_CUT = [start(), block("tool_use"), delta("input_json_delta", '{"a":"b'), stop()]
_CALLER = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
_BY_CODE = [start(), block("tool_use", caller=_CALLER), stop()]
_FURTHER = end(delta={"stop_reason": None, "stop_sequence": None})
_STOPS = {"model": "acme-1", "stop_sequences": ["END"]}


def _by(reason: str, stop_sequence: str | None) -> dict[str, object]:
    return {"stop_reason": reason, "stop_sequence": stop_sequence}


class StopReasonForeign(NativeFix):
    """Say it in Anthropic's words: with a call the call, within one the limit of tokens."""

    name = "stop-reason-foreign"
    changes = "`stop`, `length`, `tool_calls` …, or none in a further `message_delta` -> `end_turn`, `max_tokens`, `tool_use`"
    why = "Clients run a call only if the reason says so, and the AI SDK takes others for unknown."
    providers = (
        "vLLM",
        "SGLang",
        "TensorRT-LLM",
    )
    sources = (
        "https://github.com/vllm-project/vllm/pull/45807",
        "https://github.com/vllm-project/vllm/issues/55324",
        "https://github.com/vllm-project/agentic-api/pull/296",
        "https://github.com/anthropics/anthropic-sdk-python/issues/1940",
    )
    examples = (
        MessagesExample(
            "of chat", [start(), end("length")], [start(), end("max_tokens")]
        ),
        MessagesExample(
            "with a call", [*_CALL, end("end_turn")], [*_CALL, end("tool_use")]
        ),
        MessagesExample(
            "within a call", [*_CUT, end("tool_use")], [*_CUT, end("max_tokens")]
        ),
        MessagesExample(
            "of a stop sequence",
            [start(), end(delta=_by("end_turn", "END"))],
            [start(), end(delta=_by("stop_sequence", "END"))],
            request=_STOPS,
        ),
        MessagesExample(
            "without its sequence",
            [start(), end(delta={"stop_reason": "end_turn"})],
            [start(), end(delta=_by("end_turn", None))],
        ),
        MessagesExample(
            "of a further end",
            [start(), end("max_tokens"), _FURTHER],
            [start(), end("max_tokens"), end("max_tokens")],
        ),
        MessagesExample(
            "a body", [message(stop_reason="stop")], [message()], is_body=True
        ),
        MessagesExample.untouched("Anthropic's own", [*_CALL, end("tool_use")]),
        MessagesExample.untouched("of a call by code", [*_BY_CODE, end("end_turn")]),
        MessagesExample.untouched("out of tokens", [*_CALL, end("max_tokens")]),
    )
