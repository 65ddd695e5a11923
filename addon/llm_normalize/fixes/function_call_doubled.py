"""A legacy `function_call` that only says again what `tool_calls` beside it say."""

from ..chunk import Chunk, calls, deltas, function, messages
from ..fix import Example, Fix, calling, chunk, completion, head
from ..jsontext import Json
from ..stream_state import MANY, Asked, ChoiceSeen, Seen, brief

_CALL = {"name": "f", "arguments": "{}"}
_TOLD = head(0, "{}")
_DELTA: Chunk = {"tool_calls": [_TOLD]}
_OTHER = {"name": "g", "arguments": "{}"}


def _body(**more: Json) -> Chunk:
    told = {"role": "assistant", "content": None, "tool_calls": [_TOLD], **more}
    return completion(told, finish="tool_calls")


class FunctionCallDoubled(Fix):
    """Tell a call once: OpenAI sends the one or the other."""

    name = "function-call-doubled"
    changes = "`function_call` that repeats a call beside it -> removed"
    why = "Clients that know both run the call twice."
    providers = ("llama-cpp-python",)
    key = "function_call"
    sources = (
        "https://github.com/abetlen/llama-cpp-python/blob/main/llama_cpp/llama_chat_format.py",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example(
            "delta",
            [chunk({**_DELTA, "function_call": _CALL})],
            [calling(_TOLD)],
            ended=False,
        ),
        Example(
            "name in the next chunk",
            [
                chunk({**_DELTA, "function_call": {"arguments": "{}"}}),
                chunk({"function_call": {"name": "f"}}),
            ],
            [calling(_TOLD), chunk({})],
            ended=False,
        ),
        Example.of_body("body", _body(function_call=_CALL), _body()),
        Example.of_body("no name", _body(function_call={**_CALL, "name": ""}), _body()),
        Example.untouched("another", [chunk({**_DELTA, "function_call": _OTHER})]),
        Example.untouched("alone", [chunk({"function_call": _CALL})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._told: set[int] = set()  # choices from which one was removed

    def edit(self, chunk: Chunk) -> bool:
        """Remove it from the deltas; one that has been sent goes on."""
        changed = False
        for index, _, delta in deltas(chunk):
            seen = self.seen.choice(index)
            if seen.has_legacy:
                continue
            if _told_once(delta) or (index in self._told and _names(delta, seen)):
                changed = True
                if len(self._told) < MANY:
                    self._told.add(index)
        return changed

    def body(self, body: Chunk) -> bool:
        """Remove it from the messages."""
        changed = [_told_once(message, bare="{}") for _, message in messages(body)]
        return any(changed)


def _names(delta: Chunk, seen: ChoiceSeen) -> bool:
    """Remove the mere name of a call that was sent; tell whether it was one."""
    legacy = delta.get("function_call")
    if not isinstance(legacy, dict) or legacy.get("arguments"):
        return False
    name = brief(legacy.get("name"))
    if not any(call.name == name for call in seen.calls.values()):
        return False
    del delta["function_call"]
    return True


def _told_once(part: Chunk, *, bare: str = "") -> bool:
    # A call without arguments is one with *bare* ones.
    legacy = part.get("function_call")
    if not isinstance(legacy, dict):
        return False
    for call in map(function, calls(part)):
        keys = [key for key in ("name", "arguments") if legacy.get(key)]
        said = {**call, "arguments": call.get("arguments") or bare}
        if all(legacy[key] == said.get(key) for key in keys):
            del part["function_call"]
            return True
    return False
