"""What takes the place of a conversation that got too long: a summary that the model writes.

A client asks for one by an item at the end of the input, or on a path of its own. The
model is asked in chat, by the words below. OpenAI encrypts its summary; here, it is in
letters that survive any client, as thoughts are.
"""

from typing import override

from ...wire.json_text import Json, as_list, as_object, as_string
from ..protocol import JsonObject, ServerEvent, UntranslatableError
from .content import packed, unpacked
from .output_items import COMPLETED, Atom
from .response_object import usage_of
from .stream import CUT_BY, Asked, ResponsesAnswer

PATH = "/compact"
TRIGGER = "compaction_trigger"
COMPACTED = ("compaction", "compaction_summary", "context_compaction")
"""Types of the item."""
PROMPT = (
    "The conversation above is too long to go on with, so your summary of it will take "
    "its place. Do not answer it, do not go on with it, and call no tool: write the "
    "summary alone, for whoever takes over the work and knows nothing else.\n\n"
    "Say, in this order:\n"
    "1. What the user wants, with every instruction, preference and limit that still "
    "holds, in the user's own words where they matter.\n"
    "2. What was done, and what came of it: files with their paths and what changed in "
    "them, commands, decisions and their reasons.\n"
    "3. What was found out: facts, names, values, errors with their words, and what did "
    "not work.\n"
    "4. How far the work is, and what is to be done next, step by step.\n\n"
    "Be exact and complete. Leave out what no longer matters."
)
BEFORE = (
    "The conversation before this message was summarized, since it got too long. Go on "
    "from this summary, and do not repeat what is done:\n\n"
)
"""The words before a summary, in the conversation that goes on from it."""
_NO_SUMMARY = "The model wrote no summary of the conversation."
_RETAINED = 200_000
"""Characters of the user's last messages that stay as they are."""


def asks_for_summary(request: JsonObject) -> bool:
    """Tell whether a *request* asks for a summary in the place of an answer."""
    items = as_list(request.get("input"))
    return any(as_object(each).get("type") == TRIGGER for each in items)


def summary_in(item: JsonObject) -> str:
    """Return what an *item* tells the model; nothing if only another provider can read it."""
    text = unpacked(item.get("encrypted_content"))
    return BEFORE + text if text else ""


def retained(request: JsonObject) -> list[JsonObject]:
    """Return the last messages of the user in a *request*: a summary is to follow them."""
    given = request.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    size, found = 0, list[JsonObject]()
    for item in map(as_object, reversed(as_list(items))):
        if item.get("role") == "user":
            size += len(str(item))
            if size > _RETAINED:
                break
            found.append({"type": "message", **item})
    return found[::-1]


class _Compaction(Atom):
    """The item with a summary."""

    prefix = "cmp"

    def __init__(self, seed: str, summary: str) -> None:
        super().__init__(seed, 0)
        self._summary = summary

    @override
    def value(self) -> JsonObject:
        content = packed(self._summary) if self.status == COMPLETED else ""
        head = {"id": self._place["item_id"], "type": COMPACTED[0]}
        return {**head, "encrypted_content": content}


class CompactionAnswer(ResponsesAnswer):
    """A summary, as one item.

    Args:
        asked: What was asked.
        retained: The items that are to precede it; None where it is asked by an item.
    """

    summarizes = True

    def __init__(self, asked: Asked, retained: list[JsonObject] | None) -> None:
        super().__init__(asked)
        self._retained = retained
        self._texts: list[str] = []
        self._is_one = True
        """Whether the text is a summary: a part of one, or what precedes a call, is none."""

    @override
    def _add(self, choice: JsonObject) -> None:
        delta = as_object(choice.get("delta"))
        text = as_string(delta.get("content"))
        self._texts.append(text)
        self._asked.figures.write(text)
        self.held += len(text)
        finish: Json = choice.get("finish_reason")
        # It would take the conversation's place, and nobody would notice what is lost.
        if delta.get("tool_calls") or finish in CUT_BY:
            self._is_one = False
        self._finish = finish or self._finish

    @override
    def _close_all(self) -> None:
        item = _Compaction(self._seed, "".join(self._texts).strip())
        self._open(item)
        self._send(item.closed(COMPLETED))

    @override
    def done(self) -> list[ServerEvent]:
        is_summary = self._is_one and "".join(self._texts).strip()
        if self._finish is not None and not is_summary:
            return [*self.error({"message": _NO_SUMMARY})]
        return [*super().done()]

    @override
    def body(self, completion: JsonObject) -> JsonObject:
        response = super().body(completion)
        if self._retained is None:
            return response
        if response["error"] is not None:
            # Clients take what has no items for a conversation without any.
            raise UntranslatableError(response["error"]["message"])
        return {
            "id": response["id"],
            "object": "response.compaction",
            "created_at": response["created_at"],
            "output": [*self._retained, *response["output"]],
            "usage": usage_of(self._asked.figures.counts()),
        }
