"""Arguments of a tool call again, whole or growing, or encoded as a string."""

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    deltas,
    envelope_of,
    function,
    messages,
    put_calls,
)
from ...chat.chunks.chunk_split import part_calls
from ...chat.stream_state import Asked, Seen
from ...chat.tool_calls.repeated_arguments import without_repeats
from ...chat.tool_calls.sent_arguments import SentArguments, calls_apart
from ...repair.fix import Example, Fix, calling, completion, head, rest
from ...repair.look import Finding

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
    why = "Clients add the fragments up, and that is no JSON: the call fails."
    providers = (
        "vLLM (GLM-5.1)",
        "DeepSeek and Qianfan gateways",
        "LiteLLM",
        "codex-lb",
        "gateways to Claude (parallel calls)",
    )
    handles = Finding.CALLS
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
        Example(
            "encoded", [calling(head(0, '"{}"'))], [calling(head(0, "{}"))], ended=False
        ),
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

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._sent = SentArguments(asked.declared)
        self._frame: Chunk = {}

    @property
    def watched(self) -> tuple[str, ...]:
        """The arguments, where they are not sent as received."""
        return ("arguments",) if self._sent.is_busy else ()

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Leave in the fragments what is new, and let another object be another call."""
        changed = is_apart = False
        for index, _, delta in deltas(chunk):
            known, found, sent = dict(self.seen.choice(index).calls), calls(delta), []
            for call in found:
                sent += self._sent.fragments(index, call, known, self.seen.n)
            if sent != found:
                put_calls(delta, sent)
                changed = True
                is_apart |= len(sent) > len(found)
        self._frame = envelope_of(chunk) if self._sent.is_busy else {}
        # A fragment that has become several: each has a chunk of its own.
        return (is_apart and part_calls(chunk)) or changed

    def body(self, body: Chunk) -> bool:
        """Leave the arguments of each call once; each other object is another call."""
        changed = False
        for _, message in messages(body):
            found, legacy = calls(message), message.get("function_call")
            inners = [
                *map(function, found),
                *([legacy] if isinstance(legacy, dict) else []),
            ]
            for inner in inners:
                given = inner.get("arguments")
                once = without_repeats(given) if isinstance(given, str) else given
                if once != given:
                    inner["arguments"] = once
                    changed = True
            apart = [each for call in found for each in calls_apart(call)]
            if len(apart) > len(found):
                message["tool_calls"] = apart
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
