"""The legacy `function_call`."""

from ..chat.chunks.chunk import (
    Chunk,
    calls,
    deltas,
    drop_keys,
    function,
    in_messages,
    index_of,
    messages,
)
from ..chat.state.asked import Asked
from ..chat.state.repeated_arguments import without_repeats
from ..chat.state.stream_state import MAX_TRACKED, Seen
from ..repair.fix import (
    DONE,
    TOOL_CALLS,
    DeltaFix,
    Example,
    Fix,
    calling,
    chunk,
    completion,
    head,
    rest,
)
from ..repair.look import Finding
from ..wire.json_text import Json

_CALL: Chunk = {"name": "f", "arguments": "{}"}
_OPEN = chunk({"function_call": {"name": "f", "arguments": ""}})
_MORE = chunk({"function_call": {"arguments": "{}"}})
_TOOL_CALL = head(0, "{}")
_DELTA: Chunk = {"tool_calls": [_TOOL_CALL]}
_OTHER = {"name": "g", "arguments": "{}"}


def _call(**more: Json) -> Chunk:
    return chunk({"function_call": {**_CALL, **more}})


def _body(**more: Json) -> Chunk:
    message = {"role": "assistant", "content": None, "tool_calls": [_TOOL_CALL], **more}
    return completion(message, finish="tool_calls")


# A legacy `function_call` that only says again what `tool_calls` beside it say.
class FunctionCallDoubled(DeltaFix):
    """Send a call once: OpenAI sends the one or the other."""

    name = "function-call-doubled"
    changes = "`function_call` that repeats a call beside it -> removed"
    why = "Clients that know both run the call twice."
    providers = ("llama-cpp-python",)
    handles = Finding.FUNCTION_CALL
    sources = (
        "https://github.com/abetlen/llama-cpp-python/blob/main/llama_cpp/llama_chat_format.py",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event(
            "delta", chunk({**_DELTA, "function_call": _CALL}), calling(_TOOL_CALL)
        ),
        Example.of_body("body", _body(function_call=_CALL), _body()),
        Example.of_body("no name", _body(function_call={**_CALL, "name": ""}), _body()),
        Example.untouched("another", [chunk({**_DELTA, "function_call": _OTHER})]),
        Example.untouched("alone", [_call()]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._doubled: set[int] = set()  # choices from which one was removed

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Remove it from a delta; one that has been sent goes on."""
        legacy = delta.get("function_call")
        named = isinstance(legacy, dict) and legacy.get("name")
        if self.seen.choice(index).has_legacy or not (named or index in self._doubled):
            return False  # of one without a name, another name may follow
        if not _holds_both(delta):
            return False
        self._doubled |= {index} if len(self._doubled) < MAX_TRACKED else set()
        return True

    def body(self, body: Chunk) -> bool:
        """Remove it from the messages."""
        return in_messages(body, _holds_both)


def _holds_both(part: Chunk) -> bool:
    """Remove the legacy call if another says the same; arguments may be repeated there."""
    legacy = part.get("function_call")
    if not isinstance(legacy, dict):
        return False
    found = [each for each in map(function, calls(part)) if _says(each, legacy)]
    return bool(found) and drop_keys(part, ["function_call"])


def _says(call: Chunk, legacy: Chunk) -> bool:
    is_named = legacy.get("name") in (None, "", call.get("name"))
    texts = [each.get("arguments") or "{}" for each in (legacy, call)]
    one, other = (without_repeats(x) if isinstance(x, str) else x for x in texts)
    return is_named and (not legacy.get("arguments") or one == other)


_ASKED = Asked(stream=True, tools=True, id="0")
_ID = "call_4a31f3538925bbcbda013611"
_NEW = {"id": _ID, "type": "function", "function": _CALL}
_APART = 1_000_000  # an index that no call has: the next fixes count anew
_END = chunk({}, finish="function_call")


# A legacy `function_call` in the answer to a request with `tools`.
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
            [calling(head(id=_ID)), calling(rest()), TOOL_CALLS, DONE],
            asked=_ASKED,
        ),
        Example.of_body(
            "body",
            completion({"function_call": _CALL}, finish="function_call"),
            completion({"tool_calls": [_NEW]}, finish="tool_calls"),
            asked=_ASKED,
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


# The name of a legacy `function_call` again, or null.
class FunctionCallRepeated(DeltaFix):
    """Send the name once, and arguments as text."""

    name = "function-call-repeated"
    changes = "`function_call.name` after the first -> removed; null arguments too"
    why = "Clients add fragments up: `read_fileread_file`."
    providers = ("gateways that speak the API of 2023",)
    handles = Finding.FUNCTION_CALL
    sources = (
        "https://github.com/langchain4j/langchain4j/issues/4544",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example("again", [_OPEN, _call()], [_OPEN, _MORE]),
        Example("null", [_OPEN, _call(name=None)], [_OPEN, _MORE]),
        Example.of_event("no arguments", _call(arguments=None), _OPEN),
        Example.untouched("once", [_OPEN, _MORE]),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Repair a fragment."""
        call, changed = delta.get("function_call"), False
        if not isinstance(call, dict) or not call:
            return False
        if "name" in call and self.seen.choice(index).legacy_call:
            del call["name"]
            changed = True
        if call.get("arguments") is None:
            call["arguments"] = ""
            changed = True
        return changed
