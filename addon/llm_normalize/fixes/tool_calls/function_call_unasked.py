"""A legacy `function_call` in the answer to a request with `tools`."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, index_of, messages
from ...chat.state.stream_state import MAX_TRACKED, Asked, Seen
from ...repair.fix import DONE, Example, Fix, calling, chunk, completion, head, rest
from ...repair.look import Finding

_ASKED = Asked(stream=True, tools=True, id="0")
_ID = "call_4a31f3538925bbcbda013611"
_NEW = {"id": _ID, "type": "function", "function": {"name": "f", "arguments": "{}"}}
_OLD = {"name": "f", "arguments": "{}"}
_OPEN = chunk({"function_call": {"name": "f", "arguments": ""}})
_MORE = chunk({"function_call": {"arguments": "{}"}})
_APART = 1_000_000  # an index that no call has: the next fixes count anew
_END = chunk({}, finish="function_call")


class FunctionCallUnasked(Fix):
    """Send it as a tool call; its finish reason follows."""

    name = "function-call-unasked"
    changes = "`function_call` for a request with `tools` -> `tool_calls`"
    why = "Most clients of today know nothing of `function_call`, and lose the call."
    providers = ("llama-cpp-python", "gateways that speak the API of 2023")
    handles = Finding.FUNCTION_CALL | Finding.FINISH_OF_CALL
    sources = (
        "https://platform.openai.com/docs/api-reference/chat/object",
        "https://github.com/abetlen/llama-cpp-python/blob/main/llama_cpp/llama_chat_format.py",
    )
    examples = (
        Example(
            "stream",
            [_OPEN, _MORE, _END, DONE],
            [
                calling(head(id=_ID)),
                calling(rest()),
                chunk({}, finish="tool_calls"),
                DONE,
            ],
            asked=_ASKED,
        ),
        Example(
            "body",
            [completion({"function_call": _OLD}, finish="function_call")],
            [completion({"tool_calls": [_NEW]}, finish="tool_calls")],
            asked=Asked(tools=True, id="0"),
            kind="body",
        ),
        Example.untouched("functions", [_OPEN, _MORE, _END, DONE]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._indexes: dict[int, int] = {}  # of the call that it became, by choice

    @property
    def _is_due(self) -> bool:
        """Whether calls have the form of today."""
        return self.asked.tools and not self.asked.legacy

    def edit(self, chunk: Chunk) -> bool:
        """Convert the fragments; one that repeats a call beside it stays."""
        changed = False
        for index, choice, delta in deltas(chunk) if self._is_due else ():
            legacy, others = delta.get("function_call"), calls(delta)
            fields = legacy if isinstance(legacy, dict) else {}
            again = fields.get("name") and legacy in [function(each) for each in others]
            is_first = index not in self._indexes
            # One that says nothing opens no call: others may have that place.
            is_call = fields.get("name") or fields.get("arguments") or not is_first
            if fields and is_call and not again:
                if is_first and len(self._indexes) < MAX_TRACKED:
                    own = others or self.seen.choice(index).calls
                    is_apart = bool(own) or index in self.seen.unnamed
                    self._indexes[index] = _APART if is_apart else 0
                place = index, self._indexes.get(index, 0)
                call = self._call(delta.pop("function_call"), place, is_first=is_first)
                delta["tool_calls"] = [*others, {"index": place[1], **call}]
                changed = True
            changed |= index in self._indexes and _ends(choice)
        return changed

    def body(self, body: Chunk) -> bool:
        """Convert the calls of messages without tool calls."""
        changed = False
        for choice, message in messages(body) if self._is_due else ():
            legacy = message.get("function_call")
            if isinstance(legacy, dict) and legacy.get("name") and not calls(message):
                del message["function_call"]
                call = self._call(legacy, (index_of(choice), 0), is_first=True)
                message["tool_calls"] = [call]
                _ends(choice)
                changed = True
        return changed

    def _call(self, legacy: Chunk, place: tuple[int, int], *, is_first: bool) -> Chunk:
        """The tool call for *legacy* at *place*, without its index."""
        own = {"id": self.asked.make_id("call_", *place), "type": "function"}
        # With a name it may be the call again, which its id tells.
        return {**(own if is_first or legacy.get("name") else {}), "function": legacy}


def _ends(choice: Chunk) -> bool:
    """Let a choice end with tool calls, not with the function call; tell if it did."""
    if choice.get("finish_reason") != "function_call":
        return False
    choice["finish_reason"] = "tool_calls"
    return True
