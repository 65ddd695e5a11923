"""The items of `input` as the messages of chat."""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ...wire.json_text import Json
from ..json_values import as_string
from ..protocol import JsonObject, UntranslatableError
from .content import as_text, output_of, text_of, user_content
from .reasoning_text import reasoning_of
from .tools import INPUT, Tools

_OUTPUTS = {
    "function_call_output", "custom_tool_call_output", "local_shell_call_output",
    "shell_call_output", "apply_patch_call_output", "computer_call_output",
}  # fmt: skip
_BUILT_IN = {
    "local_shell_call": ("local_shell", ("action",)),
    "shell_call": ("shell", ("action",)),
    "apply_patch_call": ("apply_patch", ("operation",)),
    "computer_call": ("computer", ("action", "actions")),
}
"""Calls of OpenAI's own tools that the client runs, and where their arguments are."""
_CALLS = {"function_call", "custom_tool_call", "mcp_call", *_BUILT_IN}
_WITHOUT_WORDS = {
    "web_search_call", "file_search_call", "code_interpreter_call", "program",
    "program_output", "image_generation_call", "mcp_list_tools", "mcp_approval_request",
    "tool_search_call", "ghost_snapshot",
}  # fmt: skip
"""What OpenAI ran, or what is for the client alone: the answers after it say what matters."""
_OF_A_TURN = {
    "reasoning", "message", "item_reference", None, *_CALLS, *_WITHOUT_WORDS,
}  # fmt: skip
_REFERENCES_WITHOUT_WORDS = ("rs_", "ws_", "fs_", "ci_", "ig_")
_NO_OUTPUT = "(no output)"
_ATTACHED = "(The output is attached to the next message.)"
_UNKNOWN = "unknown_tool"


@dataclass
class _Turn:
    """What the assistant says and calls in one go: one message of chat."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[JsonObject, str | None]] = field(default_factory=list)
    """Each with its output, if its item has that too."""
    paths: list[str] = field(default_factory=list)
    """Where its reasoning is."""


class History:
    """The conversation of one request.

    Args:
        items: The items.
        tools: The tools of the request; those that the items bring are added.
        where: What of the request holds the items.
    """

    def __init__(self, items: list[Json], tools: Tools, where: str = "input") -> None:
        self.system: list[str] = []
        self.messages: list[JsonObject] = []
        self.dropped: list[str] = []
        self.changes: list[JsonObject] = []
        """What items change of the request's own parameters, in their order."""
        self._tools = tools
        self._turn = _Turn()
        self._paths = [f"{where}[{at}]" for at in range(len(items))]
        self._items = [*map(_object, items, self._paths)]
        self._leads_to_call = _leading_to_calls(self._items)
        self._outputs: dict[str, deque[int]] = defaultdict(deque)
        """Where the outputs are that are still to be placed, by the id of the call."""
        for at, item in enumerate(self._items):
            if item.get("type") in _OUTPUTS:
                self._outputs[_call_id(item, self._paths[at])].append(at)
        for at, item in enumerate(self._items):
            self._add(at, item, self._paths[at])
        self._end_turn()

    def _add(self, at: int, item: JsonObject, path: str) -> None:
        kind = item.get("type")
        handlers: dict[Json, Callable[[JsonObject, str], None]] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "function_call": self._function_call,
            "custom_tool_call": self._custom_call,
            "mcp_call": self._mcp_call,
            "agent_message": self._agent_message,
            "additional_tools": self._more_tools,
            "tool_search_output": self._more_tools,
            "configuration_update": self._change,
        }
        if kind == "item_reference" or (kind is None and "role" not in item):
            self._reference(at, item, path)
        elif kind in _OUTPUTS:
            self._output(at, item, path)
        elif kind in _BUILT_IN:
            self._built_in_call(item, path)
        elif kind in _WITHOUT_WORDS:
            self.dropped.append(path)
        elif kind is None or kind in handlers:
            handlers[kind or "message"](item, path)
        else:
            message = f"Chat completions have no place for an item of type {kind!r}."
            raise UntranslatableError(message, f"{path}.type")

    def _message(self, item: JsonObject, path: str) -> None:
        role, content, place = item.get("role"), item.get("content"), f"{path}.content"
        if role in ("system", "developer"):
            self.system.append(text_of(content, place))
        elif role == "assistant":
            self._turn.texts.append(text_of(content, place))
        elif role == "user":
            self._end_turn()
            self.messages.append(
                {"role": "user", "content": user_content(content, place)}
            )
        else:
            message = f"Chat completions have no place for the role {role!r}."
            raise UntranslatableError(message, f"{path}.role")

    def _agent_message(self, item: JsonObject, path: str) -> None:
        self._message({**item, "role": "user"}, path)

    def _reasoning(self, item: JsonObject, path: str) -> None:
        text = reasoning_of(item)
        if text:
            self._turn.reasoning.append(text)
            self._turn.paths.append(path)
        else:
            self.dropped.append(path)

    def _function_call(self, item: JsonObject, path: str) -> None:
        self._call(item, path, as_text(item.get("arguments")))

    def _custom_call(self, item: JsonObject, path: str) -> None:
        self._call(item, path, as_text({INPUT: as_text(item.get("input"))}))

    def _built_in_call(self, item: JsonObject, path: str) -> None:
        name, keys = _BUILT_IN[item["type"]]
        given = (as_text(item.get(key)) for key in keys)
        self._call({**item, "name": name}, path, next(filter(None, given), ""))

    def _mcp_call(self, item: JsonObject, path: str) -> None:
        """Add a call that OpenAI ran: its output is in the same item."""
        named = {**item, "namespace": item.get("server_label")}
        output = as_text(item.get("output")) or as_text(item.get("error"))
        self._call(named, path, as_text(item.get("arguments")), output or _NO_OUTPUT)

    def _call(
        self, item: JsonObject, path: str, arguments: str, output: str | None = None
    ) -> None:
        flat = self._tools.flat_name_in(item, path)
        call = _chat_call(_call_id(item, path), flat, arguments.strip() or "{}")
        self._turn.calls.append((call, output))

    def _output(self, at: int, item: JsonObject, path: str) -> None:
        self._end_turn()
        call_id = _call_id(item, path)
        waiting = self._outputs[call_id]
        if not waiting or waiting[0] != at:  # none before it waits any more
            return  # it stands after its call
        waiting.popleft()
        # Providers refuse an output without a call. A client that has shortened the
        # conversation sends one.
        name = self._tools.flat_name(as_string(item.get("name")) or _UNKNOWN, None)
        call = _chat_call(call_id, name, "{}")
        self.messages.append(
            {"role": "assistant", "content": None, "tool_calls": [call]}
        )
        self._answer([(call_id, *self._output_at(at))])

    def _more_tools(self, item: JsonObject, path: str) -> None:
        self._tools.add(item.get("tools"), f"{path}.tools")

    def _change(self, item: JsonObject, path: str) -> None:
        self.changes.append(item)

    def _reference(self, at: int, item: JsonObject, path: str) -> None:
        """Skip a reference to what was said before, if no meaning is lost by that.

        Nothing is stored here, so none can be looked up. Reasoning and OpenAI's own
        searches are no loss. Neither are the words before a call: the call and its output
        say what matters, and the agent can go on. Without an answer or a call, the model
        would be asked about another conversation, and nobody would notice.
        """
        given = item.get("id")
        is_preamble = self._leads_to_call[at]
        harmless = _REFERENCES_WITHOUT_WORDS + (("msg_",) if is_preamble else ())
        if not as_string(given).startswith(harmless):
            raise UntranslatableError(
                f"The item {given!r} is not stored here. Have your client send items whole: "
                "with `store` set to false, most do.",
                f"{path}.id",
            )
        self.dropped.append(path)

    def _end_turn(self) -> None:
        """Add the message of the assistant, and the outputs of what it calls."""
        turn, self._turn = self._turn, _Turn()
        text = "\n\n".join(filter(None, turn.texts))
        if not turn.calls and not text:
            self.dropped += turn.paths  # no provider takes reasoning alone
            return
        message: JsonObject = {"role": "assistant", "content": text or None}
        if turn.reasoning:
            message["reasoning_content"] = "\n\n".join(turn.reasoning)
        if turn.calls:
            message["tool_calls"] = [call for call, _ in turn.calls]
        self.messages.append(message)
        self._answer([self._output_for(call["id"], own) for call, own in turn.calls])

    def _output_for(
        self, call_id: str, own: str | None
    ) -> tuple[str, str, list[JsonObject]]:
        waiting = self._outputs[call_id]
        if own is None and waiting:
            return (call_id, *self._output_at(waiting.popleft()))
        return call_id, own or _NO_OUTPUT, []

    def _output_at(self, at: int) -> tuple[str, list[JsonObject]]:
        item = self._items[at]
        place = f"{self._paths[at]}.output"
        text, attached = output_of(item.get("output"), place)
        instead = _ATTACHED if attached else as_text(item.get("status"))
        return text or instead, attached

    def _answer(self, outputs: list[tuple[str, str, list[JsonObject]]]) -> None:
        """Add the outputs of calls: the id of the call, the text, and what else there is."""
        more: list[JsonObject] = []
        for call_id, text, attached in outputs:
            message = {"role": "tool", "tool_call_id": call_id, "content": text}
            self.messages.append(message)
            if attached:
                more += [{"type": "text", "text": f"Output of {call_id}:"}, *attached]
        if more:  # chat takes text only from a tool
            self.messages.append({"role": "user", "content": more})


def _object(item: Json, path: str) -> JsonObject:
    if not isinstance(item, dict):
        raise UntranslatableError("An item has to be an object.", path)
    if not isinstance(item.get("type"), str | None):
        raise UntranslatableError("A type has to be text.", f"{path}.type")
    return item


def _leading_to_calls(items: list[JsonObject]) -> list[bool]:
    """Return of each item whether a call follows it in the same turn."""
    found, leads = [], False
    for item in reversed(items):
        found.append(leads)
        leads = _is_of_the_assistant(item) and (leads or item.get("type") in _CALLS)
    return found[::-1]


def _is_of_the_assistant(item: JsonObject) -> bool:
    kind, role = item.get("type"), item.get("role")
    return kind in _OF_A_TURN and role in (None, "assistant")


def _call_id(item: JsonObject, path: str) -> str:
    found = item.get("call_id") or item.get("id")
    if not isinstance(found, str):
        raise UntranslatableError("A call needs its `call_id`.", f"{path}.call_id")
    return found


def _chat_call(call_id: str, name: str, arguments: str) -> JsonObject:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}
