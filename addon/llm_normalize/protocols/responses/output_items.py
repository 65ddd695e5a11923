"""The items of an answer's output, as they grow, and the events that say so."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, override

from ...wire.call_arguments import arguments_in
from ...wire.json_text import Json
from ..calls import Tool
from ..object_end import ObjectEnd
from ..protocol import JsonObject, ServerEvent
from .client_tools import CLIENT_TOOLS
from .custom_input import CustomInput

IN_PROGRESS, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"


class OutputItem(ABC):
    """One item.

    Args:
        seed: What the ids of all items of the answer have in common.
        index: Its place in the output.
        name: Its id, if it has one already.
    """

    prefix: ClassVar[str]

    def __init__(self, seed: str, index: int, name: str = "") -> None:
        self.status = IN_PROGRESS
        self.index = index
        self._place: JsonObject = {
            "item_id": name or f"{self.prefix}_{seed}{index:02x}",
            "output_index": index,
        }

    @property
    def place(self) -> JsonObject:
        """What all of its events have in common."""
        return self._place

    def put_at(self, index: int) -> None:
        """Take another place in the output, before anything of it has been sent."""
        self.index = self._place["output_index"] = index

    @abstractmethod
    def value(self) -> JsonObject:
        """Return the item as it is now."""

    def opened(self) -> Iterator[ServerEvent]:
        """Yield the events of its beginning."""
        yield self._item_event("response.output_item.added")

    def closed(self, status: str) -> Iterator[ServerEvent]:
        """Yield the events of its end."""
        yield from self.parts_closed()
        self.status = status
        yield self._item_event("response.output_item.done")

    @abstractmethod
    def still_open(self) -> Iterator[ServerEvent]:
        """Yield an event that changes nothing."""

    @abstractmethod
    def parts_closed(self) -> Iterator[ServerEvent]:
        """Yield the events of the end of what is open in it."""

    def _item_event(self, kind: str) -> ServerEvent:
        return kind, {"output_index": self.index, "item": self.value()}

    def _event(self, kind: str, **fields: Json) -> ServerEvent:
        return f"response.{kind}", {**self._place, **fields}

    def _head(self, kind: str) -> JsonObject:
        return {"id": self._place["item_id"], "type": kind, "status": self.status}


class Call(OutputItem):
    """A call of a tool.

    Args:
        seed: As for any item.
        index: Likewise.
        call_id: Chat's id of the call.
        tool: What is called.
        name: Its id, if it has one already.
    """

    kind: ClassVar[str]
    text_key: ClassVar[str]
    event_kind: ClassVar[str]

    def __init__(
        self, seed: str, index: int, call_id: str, tool: Tool, name: str = ""
    ) -> None:
        super().__init__(seed, index, name)
        self.tool = tool
        self.is_said = False
        """Whether the end of its text has been sent."""
        self.call_id = call_id
        self._end = ObjectEnd()
        self._texts: list[str] = []

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        value = {
            **self._head(self.kind),
            "call_id": self.call_id,
            "name": self.tool.name,
            self.text_key: self.text if self.status != IN_PROGRESS else "",
        }
        if self.tool.namespace:
            value["namespace"] = self.tool.namespace
        return value

    def add(self, arguments: str) -> Iterator[ServerEvent]:
        """Yield the event of more arguments, as they are in chat."""
        self._end.add(arguments)
        return self.write(self._meant(arguments))

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
        return {self.text_key: self.text}

    def write(self, text: str) -> Iterator[ServerEvent]:
        """Yield the event of more text, as the client gets it."""
        if text:
            self.keep(text)
            yield self._event(f"{self.event_kind}.delta", delta=text)

    def keep(self, text: str) -> None:
        """Take more text."""
        self._texts.append(text)

    def correct(self, text: str) -> None:
        """Have another text than has been sent: some of that was lost."""
        self._texts = [text]

    @property
    def text(self) -> str:
        """Its text, as the client gets it."""
        return "".join(self._texts)

    def parts_closed(self) -> Iterator[ServerEvent]:
        """Yield the events of the end of its text."""
        if self.is_said:
            return
        yield from self.write(self._rest())
        self.is_said = True
        yield self.said()

    def told(self) -> ServerEvent:
        """The event that has all of its text so far."""
        return self._event(f"{self.event_kind}.delta", delta=self.text)

    def said(self) -> ServerEvent:
        """The event of the end of its text."""
        return self._event(f"{self.event_kind}.done", **self._whole())


class FunctionCall(Call):
    """A call of a function."""

    prefix, kind = "fc", "function_call"
    text_key, event_kind = "arguments", "function_call_arguments"

    def _meant(self, arguments: str) -> str:
        return arguments

    def _rest(self) -> str:
        # Without any, no client can parse them.
        return "" if self.text.strip() else "{}"

    def _whole(self) -> JsonObject:
        return {"name": self.tool.name, **super()._whole()}


class CustomCall(Call):
    """A call of a custom tool, which takes text."""

    prefix, kind = "ctc", "custom_tool_call"
    text_key, event_kind = "input", "custom_tool_call_input"

    def __init__(
        self, seed: str, index: int, call_id: str, tool: Tool, name: str = ""
    ) -> None:
        super().__init__(seed, index, call_id, tool, name)
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
    def parts_closed(self) -> Iterator[ServerEvent]:
        yield from ()


class ClientCall(Atom, Call):
    """A call of a tool of OpenAI's own: its arguments are fields, so they come at once."""

    prefix, kind = "tc", "client_call"
    text_key, event_kind = "arguments", "client_call"

    def value(self) -> JsonObject:
        """Return the item as it is now."""
        form = CLIENT_TOOLS[self.tool.kind]
        given = arguments_in(self.text) if self.status != IN_PROGRESS else {}
        head = self._head(form.call)
        return {**head, "call_id": self.call_id, **form.item(given)}

    def add(self, arguments: str) -> Iterator[ServerEvent]:
        """Take more arguments."""
        self._end.add(arguments)
        self._texts.append(arguments)
        yield from ()

    def _meant(self, arguments: str) -> str:
        return arguments

    def _rest(self) -> str:
        return ""
