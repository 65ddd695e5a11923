"""`{}` as a call's first arguments, and then the real ones."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, index_of, put_calls
from ...chat.stream_state import Asked, Seen
from ...chat.tool_calls.declared_tools import Tools
from ...chat.tool_calls.repeated_arguments import begins_object
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Fix, Wire, calling, chunk, head, rest
from ...repair.look import Finding
from ...repair.outcome import Outgoing

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

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._blank: tuple[int, int] | None = None  # the call whose `{}` waits
        self._is_replaced = False

    def edit(self, chunk: Chunk) -> bool:
        """Let the real arguments be the first; what says nothing before them goes."""
        if self._blank is None:
            return False
        changed = False
        for index, _, delta in deltas(chunk):
            found, remaining = calls(delta), []
            for call in found:
                text = function(call).get("arguments")
                is_its = (index, index_of(call)) == self._blank
                if is_its and _has_other_fields(text):
                    self.seen.choice(index).calls[index_of(call)].forget_arguments()
                    self._is_replaced = True
                is_mute = is_its and text == "" and _keys_of(call) == _KEYS
                remaining += [] if is_mute else [call]
            if len(remaining) < len(found):
                put_calls(delta, remaining)
                changed = True
        return changed

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Let a `{}` wait; tell whether it is dropped."""
        if hook is EndHook.OPENING_SENT:
            is_replaced, self._is_replaced, self._blank = self._is_replaced, False, None
            if is_replaced:
                outgoing.fixed(self.name)
            return is_replaced
        self._blank = self._blank_of(outgoing.chunk)
        if self._blank is not None:
            end.hold_opening(outgoing, patiently=True)
        return self._blank is not None

    def _blank_of(self, chunk: Chunk) -> tuple[int, int] | None:
        """Return the call of which *chunk* brings a first `{}`, and nothing else."""
        found = [
            (index, call) for index, _, each in deltas(chunk) for call in calls(each)
        ]
        if len(found) != 1 or "arguments" not in (inner := function(found[0][1])):
            return None
        (index, call), first = found[0], chunk["choices"][0].get("delta") or {}
        more = first.keys() != {"tool_calls"}
        known = self.seen.choice(index).calls.get(index_of(call))
        tools = self.asked.declared
        if known is None or known.full_name not in tools.names - tools.bare:
            return None
        if more or _keys_of(call) != _KEYS:
            return None
        is_blank = _is_blank(inner["arguments"]) and _is_blank(known.arguments)
        return (index, index_of(call)) if is_blank else None


_KEYS = {"index", "function", "arguments"}


def _keys_of(call: Chunk) -> set[str]:
    return call.keys() | function(call).keys()


def _is_blank(text: object) -> bool:
    return isinstance(text, str) and text.strip() == "{}"


def _has_other_fields(text: object) -> bool:
    return isinstance(text, str) and begins_object(text) and not _is_blank(text)
