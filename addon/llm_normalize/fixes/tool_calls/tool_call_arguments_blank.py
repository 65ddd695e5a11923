"""`{}` as a call's first arguments, and then the real ones."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, index_of, put_calls
from ...chat.stream_state import Asked
from ...chat.tool_calls.blank_arguments import are_real, has_arguments_alone
from ...chat.tool_calls.declared_tools import Tools
from ...repair.fix import DONE, Example, Fix, Wire, calling, chunk, head, rest
from ...repair.look import Finding

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
    why = "Clients add the fragments up, and two objects are no JSON: the call fails."
    providers = ("LiteLLM (Anthropic)", "OpenCode gateways", "Bedrock gateways")
    handles = Finding.CALLS
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

    def edit(self, chunk: Chunk) -> bool:
        """Let the real arguments be the first; what says nothing before them goes."""
        blank = self.seen.blank
        if blank is None:
            return False
        changed = False
        for index, _, delta in deltas(chunk):
            found, remaining = calls(delta), []
            for call in found:
                text = function(call).get("arguments")
                is_its = (index, index_of(call)) == blank
                if is_its and are_real(text):
                    self.seen.replace_blank(*blank)
                is_mute = is_its and text == "" and has_arguments_alone(call)
                remaining += [] if is_mute else [call]
            if len(remaining) < len(found):
                put_calls(delta, remaining)
                changed = True
        return changed
