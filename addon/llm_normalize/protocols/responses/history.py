"""The items of `input` as the messages of chat.

What the system says before anybody else is the prompt's head. What it says later stays in
its place, as words of the user: if it went up, the head would be another one in each
request, and no cache of prompts would hit.
"""

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ...wire.call_arguments import spelled
from ...wire.json_text import Json, as_string
from ..calls import chat_call
from ..protocol import NO_NAME, NO_OUTPUT, JsonObject, UntranslatableError
from .client_tools import CALLS, found_tools
from .compaction import COMPACTED, TRIGGER, summary_in
from .content import as_text, output_of, reasoning_of, text_of, text_or_parts, words_of
from .tools import INPUT, Tools

_SEARCH, _FOUND = "tool_search_call", "tool_search_output"
_OUTPUTS = {
    "function_call_output", "custom_tool_call_output", "local_shell_call_output",
    "shell_call_output", "apply_patch_call_output", "computer_call_output", _FOUND,
}  # fmt: skip
_OWN_CALLS = {*CALLS, "computer_call"}
"""Calls of OpenAI's own tools that the client runs."""
_CALLS = {"function_call", "custom_tool_call", "mcp_call", *_OWN_CALLS}
_WITHOUT_WORDS = re.compile(
    r"program|mcp_list_tools|mcp_approval_(?:request|response)|ghost_snapshot"
    r"|.+_(?:call|output)"
)
"""What a provider ran, or what is for the client alone: the answers after it say what matters."""
_OF_AN_AGENT = "agent_message"
"""What another agent says, as a user would."""
_OF_A_TURN = {"reasoning", "message", "item_reference", None}
_REFERENCES_WITHOUT_WORDS = ("rs_", "ws_", "fs_", "ci_", "ig_")
_ATTACHED = "(The output is attached to the next message.)"


@dataclass
class _Turn:
    """What the assistant says and calls in one go: one message of chat."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[JsonObject, str | None]] = field(default_factory=list)
    """Each with its output, if its item has that too."""
    end: int = -1
    """The place of the last call."""
    paths: list[str] = field(default_factory=list)
    """Where its reasoning is."""


class History:
    """The conversation of one request.

    Args:
        items: The items.
        tools: The tools of the request; those that the items bring are added.
        where: What of the request holds the items.
        stored: Finds an item of an earlier answer by its id.
    """

    def __init__(
        self,
        items: list[Json],
        tools: Tools,
        where: str = "input",
        stored: Callable[[str], JsonObject | None] = lambda _: None,
    ) -> None:
        self.system: list[str] = []
        self.messages: list[JsonObject] = []
        self.dropped: list[str] = []
        self.changes: list[JsonObject] = []
        """What items change of the request's own parameters, in their order."""
        self._tools = tools
        self._turn = _Turn()
        self._paths = [f"{where}[{at}]" for at in range(len(items))]
        self._items = [
            stored(as_string(each.get("id"))) or each if _is_reference(each) else each
            for each in map(_object, items, self._paths)
        ]
        self._leads_to_call = _leading_to_calls(self._items)
        self._ids = _call_ids(self._items)
        """Those of calls and outputs, by their place."""
        self._outputs: dict[str, deque[int]] = defaultdict(deque)
        """Where the outputs are that are still to be placed, by the id of the call."""
        self._called: dict[str, list[int]] = defaultdict(list)
        """Where the calls are, likewise."""
        for at, call_id in self._ids.items():
            is_output = self._items[at].get("type") in _OUTPUTS
            (self._outputs if is_output else self._called)[call_id].append(at)
        for at, item in enumerate(self._items):
            self._add(at, item, self._paths[at])
        self._end_turn()

    def _add(self, at: int, item: JsonObject, path: str) -> None:
        kind = item.get("type")
        if _is_reference(item):
            self._reference(at, item, path)
        elif at in self._ids:
            (self._output if kind in _OUTPUTS else self._call)(at, item, path)
        elif kind in COMPACTED:
            self._compacted(item, path)
        elif kind == TRIGGER:
            return  # it asks for a summary, in the place of an answer
        elif kind in (_FOUND, "additional_tools"):
            self._more_tools(item, path)
        elif kind == "configuration_update":
            self.changes.append(item)
        elif kind == "reasoning":
            self._reasoning(item, path)
        elif kind in ("message", _OF_AN_AGENT, None):
            self._message(item, path)
        elif _WITHOUT_WORDS.fullmatch(as_string(kind)):
            self.dropped.append(path)
        else:
            message = f"Chat completions have no place for an item of type {kind!r}."
            raise UntranslatableError(message, f"{path}.type")

    def _message(self, item: JsonObject, path: str) -> None:
        role = "user" if item.get("type") == _OF_AN_AGENT else item.get("role")
        content, place = item.get("content"), f"{path}.content"
        if role in ("system", "developer"):
            is_head = not self.messages and self._turn == _Turn()
            if is_head:
                self.system.append(text_of(content, place, self.dropped))
            else:
                self._say(text_or_parts(content, place, self.dropped))
        elif role == "assistant":
            self._turn.texts.append(words_of(content, place, self.dropped))
        elif role == "user":
            self._say(text_or_parts(content, place, self.dropped, "\n\n"))
        else:
            message = f"Chat completions have no place for the role {role!r}."
            raise UntranslatableError(message, f"{path}.role")

    def _say(self, content: str | list[JsonObject]) -> None:
        """Add a message of the user."""
        self._end_turn()
        self.messages.append({"role": "user", "content": content})

    def _compacted(self, item: JsonObject, path: str) -> None:
        """Add the summary of what was said, unless another provider has encrypted it."""
        text = summary_in(item)
        if text:
            self._say(text)
        else:
            self.dropped.append(path)

    def _reasoning(self, item: JsonObject, path: str) -> None:
        text = reasoning_of(item)
        if text:
            self._turn.reasoning.append(text)
            self._turn.paths.append(path)
        else:
            self.dropped.append(path)

    def _call(self, at: int, item: JsonObject, path: str) -> None:
        """Add a call; the output of one that OpenAI ran is in the same item."""
        named, given, output = item, item.get("arguments"), None
        kind = item["type"]
        if kind == "custom_tool_call":
            given = {INPUT: as_text(item.get("input"))}
        elif kind in CALLS:
            named, given = {"name": CALLS[kind].kind}, CALLS[kind].arguments(item)
        elif kind == "computer_call":
            named = {"name": "computer"}
            given = item.get("action") or {"actions": item.get("actions") or []}
        elif kind == "mcp_call":
            named = {**item, "namespace": item.get("server_label")}
            output = as_text(item.get("output")) or as_text(item.get("error"))
            output = output or NO_OUTPUT
        if not as_string(named.get("name")):
            # Models forget it. The client ran nothing, and sends the call back as it was.
            named = {"name": NO_NAME}
        flat = self._tools.flat_name_in(named, path)
        call = chat_call(self._ids[at], flat, spelled(given))
        self._turn.calls.append((call, output))
        self._turn.end = at

    def _output(self, at: int, item: JsonObject, path: str) -> None:
        self._end_turn()
        if item["type"] == _FOUND:
            self._more_tools(item, path)
        call_id = self._ids[at]
        waiting = self._outputs[call_id]
        if not waiting or waiting[0] != at:  # none before it waits any more
            return  # it stands after its call
        waiting.popleft()
        name, called = as_string(item.get("name")), self._called[call_id]
        if called and called[0] < at:
            self._say_output(call_id, at)  # the call has had its output
            return
        if name and not item.get("call_id"):
            self._say_output(self._tools.flat_name_in(item, path), at)
            return
        # Providers refuse an output without a call. A client that has shortened the
        # conversation sends one.
        call = chat_call(call_id, self._tools.names.flat_name(name or NO_NAME), "{}")
        self.messages.append(
            {"role": "assistant", "content": None, "tool_calls": [call]}
        )
        self._answer([(call_id, *self._output_at(at))])

    def _say_output(self, of: str, at: int) -> None:
        """Add an output that answers no call of the model: Codex's tools notify it.

        With a call made up for it, the model would learn to make such calls.
        """
        text, attached = self._output_at(at)
        words = f"Output of {of}:\n{text}"
        self._say([{"type": "text", "text": words}, *attached] if attached else words)

    def _more_tools(self, item: JsonObject, path: str) -> None:
        self._tools.add(item.get("tools"), f"{path}.tools")

    def _reference(self, at: int, item: JsonObject, path: str) -> None:
        """Skip a reference to what is not remembered, if no meaning is lost by that.

        Reasoning and OpenAI's own
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
        text = "\n\n".join(each for each in turn.texts if each.strip())
        if not turn.calls and not text:
            self.dropped += turn.paths  # no provider takes reasoning alone
            return
        message: JsonObject = {"role": "assistant", "content": text or None}
        if turn.reasoning:
            message["reasoning_content"] = "\n\n".join(turn.reasoning)
        if turn.calls:
            message["tool_calls"] = [call for call, _ in turn.calls]
        self.messages.append(message)
        self._answer(
            [self._output_for(call["id"], own, turn.end) for call, own in turn.calls]
        )

    def _output_for(
        self, call_id: str, own: str | None, end: int
    ) -> tuple[str, str, list[JsonObject]]:
        """Return the output of a call in the turn whose last call is at *end*.

        Some providers begin anew with their ids in each answer. What follows the next call
        of the same id is not the output of this one, which may have been interrupted.
        """
        waiting, called = self._outputs[call_id], self._called[call_id]
        after = bisect_right(called, end)
        is_next = after == len(called) or (waiting and waiting[0] < called[after])
        if own is None and waiting and is_next:
            return (call_id, *self._output_at(waiting.popleft()))
        return call_id, own or NO_OUTPUT, []

    def _output_at(self, at: int) -> tuple[str, list[JsonObject]]:
        item = self._items[at]
        if item["type"] == _FOUND:
            return found_tools(item), []
        place = f"{self._paths[at]}.output"
        text, attached = output_of(item.get("output"), place, self.dropped)
        instead = _ATTACHED if attached else as_text(item.get("status"))
        return text or instead or NO_OUTPUT, attached

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
    is_its = kind in _OF_A_TURN or _WITHOUT_WORDS.fullmatch(as_string(kind))
    return bool(is_its) and kind not in _OUTPUTS and role in (None, "assistant")


def _is_reference(item: JsonObject) -> bool:
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "role" not in item)


def _is_search(item: JsonObject) -> bool:
    """Tell whether an item is of a search for tools that OpenAI ran."""
    is_one = item.get("type") in (_SEARCH, _FOUND)
    return is_one and item.get("execution", "client") != "client"


def _call_ids(items: list[JsonObject]) -> dict[int, str]:
    """Return the ids of calls and of outputs, by their place.

    An output without one is that of a call that has no other: those of a turn are
    answered in their order, and those of the last turn come first. One that names another
    tool than that of the call answers none.
    """
    found, unanswered = dict[int, str](), list[deque[int]]()
    in_turn = False
    answered = {as_string(x.get("call_id")) for x in items if x.get("type") in _OUTPUTS}
    for at, item in enumerate(items):
        kind = item.get("type")
        in_turn = in_turn and _is_of_the_assistant(item)
        if _is_search(item) or kind not in _CALLS | _OUTPUTS:
            continue
        given = as_string(item.get("call_id")) or as_string(item.get("id"))
        made = f"call_of_item_{at}"  # none that a provider counts
        if kind in _OUTPUTS:
            given = as_string(item.get("call_id"))
            while unanswered and not unanswered[-1]:
                unanswered.pop()
            if not given and unanswered:
                name = as_string(item.get("name"))
                if name in ("", items[unanswered[-1][0]].get("name")):
                    given = found[unanswered[-1].popleft()]
            found[at] = given or made
        else:
            found[at] = given or made
            if kind != "mcp_call" and found[at] not in answered:
                if not in_turn:
                    unanswered.append(deque())
                unanswered[-1].append(at)
                in_turn = True
    return found
