"""A legacy `function_call` that only says again what `tool_calls` beside it say."""

from collections.abc import Callable

from ...chat.chunks.chunk import Chunk, calls, deltas, function, messages
from ...chat.state.repeated_arguments import without_repeats
from ...chat.state.stream_state import MAX_TRACKED, Asked, Seen
from ...repair.fix import Example, Fix, calling, chunk, completion, head
from ...repair.look import Finding
from ...wire.json_text import Json

_CALL = {"name": "f", "arguments": "{}"}
_TOOL_CALL = head(0, "{}")
_DELTA: Chunk = {"tool_calls": [_TOOL_CALL]}
_OTHER = {"name": "g", "arguments": "{}"}


def _body(**more: Json) -> Chunk:
    message = {"role": "assistant", "content": None, "tool_calls": [_TOOL_CALL], **more}
    return completion(message, finish="tool_calls")


class FunctionCallDoubled(Fix):
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
    also_covered_by = ("tool-call-whole",)
    examples = (
        Example.of_event(
            "delta", chunk({**_DELTA, "function_call": _CALL}), calling(_TOOL_CALL)
        ),
        Example.of_body("body", _body(function_call=_CALL), _body()),
        Example.of_body("no name", _body(function_call={**_CALL, "name": ""}), _body()),
        Example.untouched("another", [chunk({**_DELTA, "function_call": _OTHER})]),
        Example.untouched("alone", [chunk({"function_call": _CALL})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._doubled: set[int] = set()  # choices from which one was removed

    def edit(self, chunk: Chunk) -> bool:
        """Remove it from the deltas; one that has been sent goes on."""
        changed = False
        for index, _, delta in deltas(chunk):
            legacy = delta.get("function_call")
            named = isinstance(legacy, dict) and legacy.get("name")
            if self.seen.choice(index).has_legacy or not (
                named or index in self._doubled
            ):
                continue  # of one without a name, another name may follow
            if _holds_both(delta):
                changed = True
                self._doubled |= {index} if len(self._doubled) < MAX_TRACKED else set()
        return changed

    def body(self, body: Chunk) -> bool:
        """Remove it from the messages."""
        found = messages(body)
        return sum(_holds_both(fields, _normalized_in_body) for _, fields in found) > 0


def _holds_both(
    part: Chunk, normalized: Callable[[Json], Json] = lambda given: given
) -> bool:
    legacy = part.get("function_call")
    if not isinstance(legacy, dict):
        return False
    for call in map(function, calls(part)):
        keys = [key for key in ("name", "arguments") if legacy.get(key)]
        fields = {**call, "arguments": normalized(call.get("arguments"))}
        given = {**legacy, "arguments": normalized(legacy.get("arguments"))}
        if all(given[key] == fields.get(key) for key in keys):
            del part["function_call"]
            return True
    return False


def _normalized_in_body(arguments: Json) -> Json:
    """The *arguments*, once if they are repeated; `{}` if they are missing."""
    given = arguments or "{}"
    return without_repeats(given) if isinstance(given, str) else given
