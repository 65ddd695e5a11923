"""Arguments of a tool call again, whole or growing, or encoded as a string."""

from ...chat.chunks.chunk import Chunk, calls, functions, messages
from ...chat.state.repeated_arguments import without_repeats
from ...chat.tool_calls.sent_arguments import calls_apart
from ...repair.fix import Example, Fix, calling, completion, head, rest

_HEAD, _TWICE = calling(head()), completion({"tool_calls": [head(0, '{"a":1}{"a":1}')]})

_ANOTHER = [calling(rest(0, '{"a":1}')), calling(rest(0, '{"a":2}'))]
_OTHER = {
    "index": 1,
    "type": "function",
    "function": {"name": "f", "arguments": '{"a":2}'},
}


class ToolCallArgumentsRepeated(Fix):
    """Send of the arguments what was not sent: no object can follow an object.

    Another object than the one before is a call of its own, of the same function.
    """

    name = "tool-call-arguments-repeated"
    changes = (
        "arguments again, growing, encoded twice -> each part once; other arguments under "
        "one call -> a call of their own"
    )
    why = "Clients add the fragments up, and that is invalid JSON: the call fails."
    providers = (
        "vLLM (GLM-5.1)",
        "DeepSeek and Qianfan gateways",
        "LiteLLM",
        "codex-lb",
        "gateways to Claude (parallel calls)",
    )
    sources = (
        "https://github.com/vllm-project/vllm/issues/42167",
        "https://github.com/NousResearch/hermes-agent/issues/35718",
        "https://github.com/BerriAI/litellm/issues/20480",
        "https://github.com/dyedd/lens/issues/49",
        "https://github.com/NousResearch/hermes-agent/issues/62937",
    )
    examples = (
        Example(
            "growing",
            [_HEAD, calling(rest(0, '{"a"')), calling(rest(0, '{"a":1}'))],
            [_HEAD, calling(rest(0, '{"a"')), calling(rest(0, ":1}"))],
            ended=False,
        ),
        Example.of_event("encoded", calling(head(0, '"{}"')), calling(head(0, "{}"))),
        Example.of_body(
            "body", _TWICE, completion({"tool_calls": [head(0, '{"a":1}')]})
        ),
        Example(
            "another object",
            [_HEAD, *_ANOTHER],
            [_HEAD, _ANOTHER[0], calling(_OTHER)],
            ended=False,
        ),
        Example.untouched("once", [_HEAD, calling(rest(0, '{"a":')), calling(rest())]),
    )

    def body(self, body: Chunk) -> bool:
        """Leave the arguments of each call once; each other object is another call."""
        changed = False
        for _, message in messages(body):
            for inner in functions(message):
                given = inner.get("arguments")
                once = without_repeats(given) if isinstance(given, str) else given
                if once != given:
                    inner["arguments"] = once
                    changed = True
            found = calls(message)
            apart = [each for call in found for each in calls_apart(call)]
            if len(apart) > len(found):
                message["tool_calls"] = apart
                changed = True
        return changed
