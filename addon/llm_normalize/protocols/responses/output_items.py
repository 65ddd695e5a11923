"""The items of an answer's output, as they grow, and the events that say so."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, override

from ...wire.json_text import Json
from ..call_arguments import arguments_in
from ..object_end import ObjectEnd
from ..protocol import JsonObject, ServerEvent
from ..tool_names import Tool
from .client_tools import CLIENT_TOOLS
from .custom_input import CustomInput
from .reasoning_text import packed

IN_PROGRESS, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"


class OutputItem(ABC):
    """One item.

    Args:
        seed: What the ids of all items of the answer have in common.
        index: Its place in the output.
    """

    prefix: ClassVar[str]

    def __init__(self, seed: str, index: int) -> None:
        self.status = IN_PROGRESS
        self.index = index
        self._place: JsonObject = {
            "item_id": f"{self.prefix}_{seed}{index:02x}",
            "output_index": index,
        }

    @abstractmethod
    def value(self) -> JsonObject:
        """Return the item as it is now."""

    def opened(self) -> Iterator[ServerEvent]:
        """Yield the events of its beginning."""
        yield self._item_event("response.output_item.added")

    def closed(self, status: str) -> Iterator[ServerEvent]:
        """Yield the events of its end."""
        yield from self._parts_closed()
        self.status = status
        yield self._item_event("response.output_item.done")

    @abstractmethod
    def still_open(self) -> Iterator[ServerEvent]:
        """Yield an event that changes nothing."""

    @abstractmethod
    def _parts_closed(self) -> Iterator[ServerEvent]: ...

    def _item_event(self, kind: str) -> ServerEvent:
        return kind, {"output_index": self.index, "item": self.value()}

    def _event(self, kind: str, **fields: Json) -> ServerEvent:
        return f"response.{kind}", {**self._place, **fields}

    def _head(self, kind: str) -> JsonObject:
        return {"id": self._place["item_id"], "type": kind, "status": self.status}


class Reasoning(OutputItem):
    """Thoughts, as one part of a summary: that is what clients show."""

    prefix = "rs"

    def __init__(self, seed: str, index: int) -> None:
        super().__init__(seed, index)
        self._place["summary_index"] = 0
        self._texts: list[str] = []

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        is_done = self.status != IN_PROGRESS
        return {
            **self._head("reasoning"),
            "summary": [self._part()] if is_done else [],
            "encrypted_content": packed("".join(self._texts)) if is_done else None,
        }

    def opened(self) -> Iterator[ServerEvent]:
        """Yield the events of its beginning."""
        yield from super().opened()
        yield self._event("reasoning_summary_part.added", part=self._part())

    def add(self, text: str) -> Iterator[ServerEvent]:
        """Yield the event of more text."""
        self._texts.append(text)
        yield self._event("reasoning_summary_text.delta", delta=text)

    def still_open(self) -> Iterator[ServerEvent]:
        """Yield an event that changes nothing."""
        return self.add("")

    def _parts_closed(self) -> Iterator[ServerEvent]:
        part = self._part()
        yield self._event("reasoning_summary_text.done", text=part["text"])
        yield self._event("reasoning_summary_part.done", part=part)

    def _part(self) -> JsonObject:
        return {"type": "summary_text", "text": "".join(self._texts)}


class Message(OutputItem):
    """What the assistant says: parts of text, and of a refusal."""

    prefix = "msg"

    def __init__(self, seed: str, index: int) -> None:
        super().__init__(seed, index)
        self._parts: list[JsonObject] = []
        self._texts: list[str] = []
        """Of the last part, the only one that is open."""

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        content = [*self._parts]
        return {**self._head("message"), "role": "assistant", "content": content}

    def add(self, text: str, logprobs: list[JsonObject]) -> Iterator[ServerEvent]:
        """Yield the events of more text."""
        yield from self._in("output_text")
        self._texts.append(text)
        self._parts[-1]["logprobs"] += logprobs
        yield self._part_event("output_text.delta", delta=text, logprobs=logprobs)

    def refuse(self, text: str) -> Iterator[ServerEvent]:
        """Yield the events of more words of a refusal."""
        yield from self._in("refusal")
        self._texts.append(text)
        yield self._part_event("refusal.delta", delta=text)

    def annotate(self, annotation: JsonObject) -> Iterator[ServerEvent]:
        """Yield the events of a citation."""
        yield from self._in("output_text")
        found = self._parts[-1]["annotations"]
        kind, at = "output_text.annotation.added", len(found)
        found.append(annotation)
        yield self._part_event(kind, annotation=annotation, annotation_index=at)

    def still_open(self) -> Iterator[ServerEvent]:
        """Yield an event that changes nothing."""
        is_refusal = self._parts[-1]["type"] == "refusal"
        return self.refuse("") if is_refusal else self.add("", [])

    def _in(self, kind: str) -> Iterator[ServerEvent]:
        """Yield the events after which a part of this kind is open."""
        if self._parts and self._parts[-1]["type"] == kind:
            return
        yield from self._parts_closed()
        part: JsonObject = {"type": kind}
        if kind == "refusal":
            part["refusal"] = ""
        else:
            part |= {"text": "", "annotations": [], "logprobs": []}
        self._parts.append(part)
        yield self._part_event("content_part.added", part=_copied(part))

    def _parts_closed(self) -> Iterator[ServerEvent]:
        if not self._parts:
            return
        part, text = self._parts[-1], "".join(self._texts)
        self._texts = []
        if part["type"] == "refusal":
            part["refusal"] = text
            yield self._part_event("refusal.done", refusal=text)
        else:
            part["text"] = text
            logprobs = [*part["logprobs"]]
            yield self._part_event("output_text.done", text=text, logprobs=logprobs)
        yield self._part_event("content_part.done", part=_copied(part))

    def _part_event(self, kind: str, **fields: Json) -> ServerEvent:
        return self._event(kind, content_index=len(self._parts) - 1, **fields)


class Call(OutputItem):
    """A call of a tool.

    Args:
        seed: As for any item.
        index: Likewise.
        call_id: Chat's id of the call.
        tool: What is called.
    """

    kind: ClassVar[str]
    text_key: ClassVar[str]
    event_kind: ClassVar[str]

    def __init__(self, seed: str, index: int, call_id: str, tool: Tool) -> None:
        super().__init__(seed, index)
        self._tool = tool
        self._call_id = call_id
        self._end = ObjectEnd()
        self._texts: list[str] = []

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        value = {
            **self._head(self.kind),
            "call_id": self._call_id,
            "name": self._tool.name,
            self.text_key: self._text() if self.status != IN_PROGRESS else "",
        }
        if self._tool.namespace:
            value["namespace"] = self._tool.namespace
        return value

    def add(self, arguments: str) -> Iterator[ServerEvent]:
        """Yield the event of more arguments, as they are in chat."""
        self._end.add(arguments)
        return self._grown(self._meant(arguments))

    def still_open(self) -> Iterator[ServerEvent]:
        """Yield an event that changes nothing."""
        yield self._event(f"{self.event_kind}.delta", delta="")

    def is_whole(self) -> bool:
        """Tell whether the arguments have ended: nothing can follow then."""
        return self._end.is_reached

    @abstractmethod
    def _meant(self, arguments: str) -> str:
        """The addition of *arguments* to the text that the client gets."""

    @abstractmethod
    def _rest(self) -> str:
        """The text to add at the end."""

    def _whole(self) -> JsonObject:
        return {self.text_key: self._text()}

    def _grown(self, text: str) -> Iterator[ServerEvent]:
        if text:
            self._texts.append(text)
            yield self._event(f"{self.event_kind}.delta", delta=text)

    def _text(self) -> str:
        return "".join(self._texts)

    def _parts_closed(self) -> Iterator[ServerEvent]:
        yield from self._grown(self._rest())
        yield self._event(f"{self.event_kind}.done", **self._whole())


class FunctionCall(Call):
    """A call of a function."""

    prefix, kind = "fc", "function_call"
    text_key, event_kind = "arguments", "function_call_arguments"

    def _meant(self, arguments: str) -> str:
        return arguments

    def _rest(self) -> str:
        # Without any, no client can parse them.
        return "" if self._text().strip() else "{}"

    def _whole(self) -> JsonObject:
        return {"name": self._tool.name, **super()._whole()}


class CustomCall(Call):
    """A call of a custom tool, which takes text."""

    prefix, kind = "ctc", "custom_tool_call"
    text_key, event_kind = "input", "custom_tool_call_input"

    def __init__(self, seed: str, index: int, call_id: str, tool: Tool) -> None:
        super().__init__(seed, index, call_id, tool)
        self._input = CustomInput(tool.name)

    def _meant(self, arguments: str) -> str:
        return self._input.feed(arguments)

    def _rest(self) -> str:
        return self._input.end()


class Atom(OutputItem):
    """An item that comes at once: no event of it changes nothing, and it has no parts."""

    @override
    def still_open(self) -> Iterator[ServerEvent]:
        yield from ()

    @override
    def _parts_closed(self) -> Iterator[ServerEvent]:
        yield from ()


class ClientCall(Atom, Call):
    """A call of a tool of OpenAI's own: its arguments are fields, so they come at once."""

    prefix, kind = "tc", "client_call"
    text_key, event_kind = "arguments", "client_call"

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        form = CLIENT_TOOLS[self._tool.kind]
        given = arguments_in(self._text()) if self.status != IN_PROGRESS else {}
        head = self._head(form.call)
        return {**head, "call_id": self._call_id, **form.item(given)}

    def add(self, arguments: str) -> Iterator[ServerEvent]:
        """Take more arguments."""
        self._end.add(arguments)
        self._texts.append(arguments)
        yield from ()

    def _meant(self, arguments: str) -> str:
        return arguments

    def _rest(self) -> str:
        return ""


def _copied(part: JsonObject) -> JsonObject:
    """Return a part whose lists do not grow any more: events may be written later."""
    return {
        key: [*each] if isinstance(each, list) else each for key, each in part.items()
    }
