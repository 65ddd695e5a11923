"""Arguments of a tool call again, whole or growing, or encoded as a string."""

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    deltas,
    envelope_of,
    function,
    index_of,
    messages,
    name_of,
    put_calls,
)
from ...chat.stream_state import Asked, Seen
from ...chat.tool_calls.repeated_arguments import without_repeats
from ...chat.tool_calls.sent_arguments import Place, SentArguments
from ...chat.tool_calls.sent_call import Call, brief
from ...repair.fix import Example, Fix, calling, completion, head, rest
from ...wire.json_text import frozen

_HEAD, _TWICE = calling(head()), completion({"tool_calls": [head(0, '{"a":1}{"a":1}')]})


class ToolCallArgumentsRepeated(Fix):
    """Send of the arguments what was not sent: no object can follow an object."""

    name = "tool-call-arguments-repeated"
    changes = "arguments again, growing, or encoded twice -> each part of them once"
    why = "Clients add the fragments up, and that is no JSON: the call fails."
    providers = (
        "vLLM (GLM-5.1)",
        "DeepSeek and Qianfan gateways",
        "LiteLLM",
        "codex-lb",
    )
    key = "call"
    sources = (
        "https://github.com/vllm-project/vllm/issues/42167",
        "https://github.com/NousResearch/hermes-agent/issues/35718",
        "https://github.com/BerriAI/litellm/issues/20480",
    )
    examples = (
        Example(
            "growing",
            [_HEAD, calling(rest(0, '{"a"')), calling(rest(0, '{"a":1}'))],
            [_HEAD, calling(rest(0, '{"a"')), calling(rest(0, ":1}"))],
            ended=False,
        ),
        Example(
            "encoded", [calling(head(0, '"{}"'))], [calling(head(0, "{}"))], ended=False
        ),
        Example.of_body(
            "body", _TWICE, completion({"tool_calls": [head(0, '{"a":1}')]})
        ),
        Example.untouched("once", [_HEAD, calling(rest(0, '{"a":')), calling(rest())]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._sent = SentArguments()
        self._frame: Chunk = {}
        self._shared: set[Place] = set()  # where one call followed another

    def state(self) -> object:
        """Return what waits of which arguments."""
        return self._sent.state, frozen(self._frame), frozenset(self._shared)

    @property
    def watched(self) -> tuple[str, ...]:
        """The arguments, where they are not sent as received."""
        return ("arguments",) if self._sent.is_busy else ()

    def edit(self, chunk: Chunk) -> bool:
        """Leave in the fragments what is new."""
        changed = False
        for index, _, delta in deltas(chunk):
            known, found, remaining = self.seen.choice(index).calls, calls(delta), []
            for call in found:
                inner, at = function(call), index_of(call)
                given, sent = inner.get("arguments"), None
                opened = known.get(at)
                if opened and self._is_another(opened, call):
                    self._shared.add((index, at))
                own = (index, at) not in self._shared
                if own and given and isinstance(given, str):
                    sent = self._sent.take((index, at), opened, given, self.seen.n)
                if sent not in (None, given):
                    inner["arguments"] = sent
                    changed = True
                bare = sent == "" and len(call) + len(inner) == 3  # noqa: PLR2004
                remaining += [] if bare else [call]
            if len(remaining) < len(found):
                put_calls(delta, remaining)
        self._frame = envelope_of(chunk) if self._sent.is_busy else {}
        return changed

    def _is_another(self, opened: Call, call: Chunk) -> bool:
        """Tell whether *call* opens another call than *opened* under its index."""
        identity = brief(call.get("id"))
        is_other = bool(identity and name_of(call)) and identity != opened.id
        return is_other or opened.is_renamed(call, self.asked.declared)

    def body(self, body: Chunk) -> bool:
        """Leave the arguments of each call once."""
        changed = False
        for _, message in messages(body):
            legacy = message.get("function_call")
            found = [function(call) for call in calls(message)]
            for inner in [*found, legacy] if isinstance(legacy, dict) else found:
                given = inner.get("arguments")
                once = without_repeats(given) if isinstance(given, str) else given
                if once != given:
                    inner["arguments"] = once
                    changed = True
        return changed

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what waited, if it is new."""
        choices = self.seen.choices.items()
        known = {
            (at, key): call for at, one in choices for key, call in one.calls.items()
        }
        return [
            {**self._frame, "choices": [_choice(index, at, text)]}
            for (index, at), text in self._sent.release(indexes, known)
        ]

    def undo(self, n: int) -> None:
        """Let wait what waited before the event."""
        self._sent.undo(n)


def _choice(index: int, at: int, text: str) -> Chunk:
    delta = {"tool_calls": [rest(at, text)]}
    return {"index": index, "delta": delta, "finish_reason": None}
