"""Another finish reason than `length` after a tool call that was cut."""

from ...chat.chunks.chunk import Chunk, calls, function, messages
from ...chat.state.repeated_arguments import is_cut
from ...repair.fix import DONE, Example, Fix, calling, chunk, completion, head, rest

_HEAD, _CUT = calling(head()), calling(rest(0, '{"a":"b'))
_CALLS, _LENGTH = chunk({}, finish="tool_calls"), chunk({}, finish="length")
_BODY = {"role": "assistant", "content": None, "tool_calls": [head(0, '{"a":')]}
_REASONS = ("tool_calls", "function_call", "stop")


class FinishCallCut(Fix):
    """Say `length`: only the limit of tokens ends an answer within an object."""

    name = "finish-call-cut"
    changes = '`"tool_calls"`, `"stop"` after unfinished arguments -> `"length"`'
    why = "Agents run the call, or ask for it again and again, as its arguments are invalid."
    providers = ("vLLM",)
    sources = (
        "https://github.com/vllm-project/vllm/issues/53269",
        "https://github.com/vllm-project/vllm/issues/46303",
    )
    examples = (
        Example("stream", [_HEAD, _CUT, _CALLS, DONE], [_HEAD, _CUT, _LENGTH, DONE]),
        Example.of_body(
            "body",
            completion(_BODY, finish="tool_calls"),
            completion(_BODY, finish="length"),
        ),
        Example.untouched("whole", [_HEAD, calling(rest()), _CALLS, DONE]),
        Example.untouched("no JSON", [_HEAD, calling(rest(0, "{a: 1")), _CALLS, DONE]),
    )

    def body(self, body: Chunk) -> bool:
        """Repair the reasons beside messages with such a call."""
        changed = False
        for choice, message in messages(body):
            legacy = message.get("function_call")
            found = [*map(function, calls(message)), legacy]
            texts = [each.get("arguments") for each in found if isinstance(each, dict)]
            cut = any(isinstance(each, str) and is_cut(each) for each in texts)
            changed |= cut and _repair(choice)
        return changed


def _repair(choice: Chunk) -> bool:
    if choice.get("finish_reason") not in _REASONS:
        return False
    choice["finish_reason"] = "length"
    return True
