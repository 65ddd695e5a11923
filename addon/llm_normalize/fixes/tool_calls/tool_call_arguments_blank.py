"""`{}` as a call's first arguments, and then the real ones.

The repair is in `repair/machine/sending.py`.
"""

from ...chat.state.declared_tools import Tools
from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, Example, Fix, Wire, calling, chunk, head, rest

_OPEN = [chunk({"role": "assistant", "content": None}), calling(head())]
_ASKED = Asked(stream=True, tools=True, declared=Tools(frozenset("f")))
_REAL = calling(rest(0, '{"a":1}'))
_END: Wire = [chunk({}, finish="tool_calls"), DONE]


class ToolCallArgumentsBlank(Fix):
    """Let `{}` wait for one event, if the tool may take more; drop it where that comes.

    A pause does not end that: no client runs a call before its finish reason.
    """

    name = "tool-call-arguments-blank"
    changes = '`"{}"` before the arguments of a call -> removed'
    why = "Clients add the fragments up, and two objects are invalid JSON: the call fails."
    providers = ("LiteLLM (Anthropic)", "OpenCode gateways", "Bedrock gateways")
    sources = (
        "https://github.com/BerriAI/litellm/issues/4537",
        "https://github.com/vllm-project/vllm/issues/51697",
    )
    examples = (
        Example(
            "then the real ones",
            [*_OPEN, calling(rest()), _REAL, *_END],
            [*_OPEN, _REAL, *_END],
            asked=_ASKED,
        ),
        Example.untouched("alone", [*_OPEN, calling(rest()), *_END], asked=_ASKED),
        Example.untouched("not blank", [*_OPEN, _REAL, *_END], asked=_ASKED),
        Example.untouched("not declared", [*_OPEN, calling(rest()), _REAL, *_END]),
    )
