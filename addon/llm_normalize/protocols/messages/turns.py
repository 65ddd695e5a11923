"""The conversation: turns of blocks as chat messages.

A turn is all neighbouring messages of one role. A call and its result must stand side by
side in chat: results come first in the turn after their calls, in the order of those, and
what else the user says follows them.

What the system says before anybody else is the prompt's head. What it says later stays in
its place, as words of the user: if it went up, the head would be another one in each
request, and no cache of prompts would hit.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from ...wire.call_arguments import spelled
from ...wire.json_text import Json, as_string
from ..calls import ToolNames, chat_call
from ..protocol import NO_NAME, NO_OUTPUT, JsonObject, UntranslatableError
from .content import KNOWN, Dropped, blocks_of, joined, parts_of
from .tool_ids import original
from .tools import CHANGES

_PATH = "messages[].content[]"
_MESSAGE = {"role", "content", "clear_at"}
_USE = {"type", "id", "name", "input"}
_RESULT = {"type", "tool_use_id", "content", "is_error"}
_NO_RESULT = "The call has no result: it was interrupted."
_FAILED = "Error: "
_SAYS_FAILED = re.compile(r"\W*(?:\w+_)?error", re.IGNORECASE).match

_SYSTEM = ("system", "developer")
_ROLES = ("user", "assistant", *_SYSTEM)


@dataclass(slots=True)
class Conversation:
    """What the messages of a request become.

    Attributes:
        tools: Chat's names for tools.
        dropped: Gets what has no place in chat.
        messages: The messages, without the one of the system.
        system: What the system says before them.
        tool_changes: How it changes the tools among them.
        names: Chat's names of what is called, by the call's id.
    """

    tools: ToolNames
    dropped: Dropped
    messages: list[JsonObject] = field(default_factory=list)
    system: list[JsonObject] = field(default_factory=list)
    tool_changes: list[JsonObject] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def take(self, messages: Json) -> None:
        """Translate the messages of a request.

        Raises:
            UntranslatableError: They are not messages, or chat has no place for one.
        """
        turns = [*self._role_and_blocks(messages)]
        if self.system and not any(role == "user" for role, _ in turns):
            # Templates refuse a conversation in which nobody asks anything.
            turns = [("user", self.system), *turns]
            self.system = []
        for role, turn in groupby(turns, key=lambda each: each[0]):
            blocks = [block for _, said in turn for block in said]
            if role == "assistant":
                self._assistant(blocks)
            else:
                self._user(blocks)
        self._results({})

    def _role_and_blocks(
        self, messages: Json
    ) -> Iterator[tuple[str, list[JsonObject]]]:
        """Yield who says which blocks; take out what the system says before them."""
        given = messages if isinstance(messages, list) else None
        if given is None or not all(isinstance(each, dict) for each in given):
            raise UntranslatableError(
                "messages: a list of objects is needed", "messages"
            )
        users = [at for at, each in enumerate(given) if each.get("role") == "user"]
        last = users[-1] if users else -1
        has_begun = was_user = False
        for at, message in enumerate(given):
            role, path = message.get("role"), f"messages[{at}]"
            if role not in _ROLES:
                words = f"{path}.role: user, assistant or system is needed"
                raise UntranslatableError(words, f"{path}.role")
            self.dropped.beside("messages[]", message, _MESSAGE)
            blocks = blocks_of(message.get("content"), f"{path}.content")
            if role not in _SYSTEM:
                has_begun, was_user = True, role == "user"
                yield role, blocks
            # One may be for a turn of the user that has passed.
            elif at > last or message.get("clear_at") != "next_user_message":
                said = self._without_changes(blocks)
                if has_begun and said:
                    # The words before it are the same when it is gone.
                    is_alone = was_user and message.get("clear_at") is not None
                    yield ("system" if is_alone else "user"), said
                elif not has_begun:
                    parts = self._parts(said)
                    self.system += [each for each in parts if each["type"] == "text"]

    def _without_changes(self, blocks: list[JsonObject]) -> list[JsonObject]:
        """The system's words among *blocks*; its changes of tools are noted."""
        rest: list[JsonObject] = []
        for block in blocks:
            is_change = block.get("type") in CHANGES
            (self.tool_changes if is_change else rest).append(block)
        return rest

    def _parts(self, blocks: list[JsonObject]) -> list[JsonObject]:
        found = (parts_of(each, _PATH, self.dropped) for each in blocks)
        return [part for parts in found for part in parts]

    def _assistant(self, blocks: list[JsonObject]) -> None:
        thoughts: list[str] = []
        rest: list[JsonObject] = []
        calls: list[JsonObject] = []
        for block in blocks:
            kind = block.get("type")
            if kind == "thinking":
                thought = block.get("thinking")  # empty where it is not to be shown
                thoughts += [thought] if isinstance(thought, str) and thought else []
            elif kind == "tool_use":
                calls.append(self._call(block))
            elif str(kind) in KNOWN:
                rest.append(block)
            else:  # what only another provider can read
                self.dropped.add(f"{_PATH}.type")
        parts = self._parts(rest)
        message: JsonObject = {"role": "assistant", "content": joined(parts)}
        says_nothing = not any(map(_is_filled, parts))
        if says_nothing and not calls:
            return  # no provider takes thoughts alone
        if says_nothing:
            message["content"] = None
        if thoughts:
            message["reasoning_content"] = "\n".join(thoughts)
        if calls:
            message["tool_calls"] = calls
        self.messages.append(message)

    def _call(self, block: JsonObject) -> JsonObject:
        self.dropped.beside(_PATH, block, _USE)
        call_id = original(str(block.get("id")))
        # Models forget the name, and providers refuse a call without one.
        name = as_string(block.get("name")) or NO_NAME
        self.names[call_id] = flat = self.tools.flat_name(name)
        self._open.append(call_id)
        return chat_call(call_id, flat, spelled(block.get("input")))

    def _user(self, blocks: list[JsonObject]) -> None:
        results: dict[str, list[JsonObject]] = {}
        rest = []
        for block in blocks:
            if block.get("type") == "tool_result":
                call_id = original(str(block.get("tool_use_id")))
                results.setdefault(call_id, []).append(block)
            else:
                rest.append(block)
        is_answer = bool(results)
        shown = self._results(results)
        parts = [*shown, *self._parts(rest)]
        if parts or not is_answer:
            self.messages.append({"role": "user", "content": joined(parts)})

    def _results(self, results: dict[str, list[JsonObject]]) -> list[JsonObject]:
        """Answer the open calls; return what of the results a tool message cannot hold."""
        shown: list[JsonObject] = []
        left = Counter(self._open)
        for call_id in self._open:
            left[call_id] -= 1
            # Some models give the calls of a turn one id: each has a result of its own.
            given = results.get(call_id, [])
            size = 1 if left[call_id] else len(given)
            blocks, results[call_id] = given[:size], given[size:]
            text = self._result(call_id, blocks, shown) if blocks else _NO_RESULT
            self.messages.append(_tool(call_id, text))
        self._open.clear()
        rest = {call_id: blocks for call_id, blocks in results.items() if blocks}
        for call_id, blocks in rest.items():  # of calls that are not there
            name = self.names.get(call_id, NO_NAME)
            calls = [chat_call(call_id, name, "{}")]
            self.messages += [
                {"role": "assistant", "content": None, "tool_calls": calls},
                _tool(call_id, self._result(call_id, blocks, shown)),
            ]
        return shown

    def _result(
        self, call_id: str, blocks: list[JsonObject], shown: list[JsonObject]
    ) -> str:
        """Return the text of a result, and put what is none into *shown*.

        The tool message of chat holds text, and most providers refuse an image there, so
        it follows in the user's message, which says whose it is.
        """
        texts: list[str] = []
        other: list[JsonObject] = []
        for block in blocks:
            self.dropped.beside(_PATH, block, _RESULT)
            inner = blocks_of(block.get("content"), f"{_PATH}.content")
            path = f"{_PATH}.content[]"
            found = [
                part for each in inner for part in parts_of(each, path, self.dropped)
            ]
            other += [part for part in found if part["type"] != "text"]
            text = "\n".join(part["text"] for part in found if part["type"] == "text")
            # Chat has no field for it; some tools say it in their own words.
            is_silent = block.get("is_error") is True and not _SAYS_FAILED(text)
            texts.append(f"{_FAILED}{text}" if is_silent else text)
        if other:
            texts.append("The content is in the next message of the user.")
            words = f"The result of the call {call_id}:"
            shown += [{"type": "text", "text": words}, *other]
        return "\n".join(filter(None, texts)) or NO_OUTPUT


def _is_filled(part: JsonObject) -> bool:
    return part["type"] != "text" or bool(part["text"].strip())


def _tool(call_id: str, text: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": text}
