"""`{}` as a call's first arguments, and then the real ones."""

from ...chat.stream_state import Asked
from ...chat.tool_calls.declared_tools import Tools
from ...repair.call_fix import CallFix
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Wire, calling, chunk, head, rest
from ...repair.outcome import Outgoing

_OPEN = [chunk({"role": "assistant", "content": None}), calling(head())]
_ASKED = Asked(stream=True, tools=True, declared=Tools(frozenset("f")))
_REAL = calling(rest(0, '{"a":1}'))
_END: Wire = [chunk({}, finish="tool_calls"), DONE]


class ToolCallArgumentsBlank(CallFix):
    """Let `{}` wait for one event, if the tool may take more; drop it where that comes.

    A pause does not end that: no client runs a call before its finish reason.
    """

    name = "tool-call-arguments-blank"
    changes = '`"{}"` before the arguments of a call -> removed'
    why = "Clients add the fragments up, and two objects are no JSON: the call fails."
    providers = ("LiteLLM (Anthropic)", "OpenCode gateways", "Bedrock gateways")
    sources = (
        "https://github.com/BerriAI/litellm/issues/4537",
        "https://github.com/vllm-project/vllm/issues/51697",
    )
    end_hooks = (EndHook.GOES_ON, EndHook.OPENING_SENT)
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

    @classmethod
    def serves(cls, asked: Asked) -> bool:
        """Tell whether any call is declared."""
        return bool(asked.declared.names)

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Let a `{}` wait; tell whether it is dropped."""
        if hook is EndHook.OPENING_SENT:
            is_dropped = self.assembler.drops_blank()
            if is_dropped:
                outgoing.fixed(self.name)
            return is_dropped
        is_held = self.assembler.holds_blank(outgoing.chunk)
        if is_held:
            end.hold_opening(outgoing, patiently=True)
        return is_held
