"""The stream of chat completions as the events of the Responses protocol."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...wire.json_text import Json, as_string
from ..calls import CallIds, ToolNames
from ..chat_answer import BlankText, chunk_of, failure_in
from ..protocol import (
    CALL,
    UNFINISHED,
    AnswerTranslator,
    JsonObject,
    ServerEvent,
    StoredItems,
)
from ..token_count import Figures
from .output_items import (
    COMPLETED,
    IN_PROGRESS,
    INCOMPLETE,
    Call,
    ClientCall,
    CustomCall,
    FunctionCall,
    OutputItem,
)
from .response_object import (
    LAST_RESORT,
    annotations_of,
    error_of,
    frame_of,
    logprobs_of,
    usage_of,
)
from .spoken_items import Message, Reasoning

CUT_BY = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Chat's finish reasons for an answer that is not whole, and what Responses says."""
_ITEM, _CITATION = 1000, 200  # characters' worth
_PROBABILITY = 16  # likewise; less than it takes: there are twenty for each token
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_text")
_CALLS: dict[str, type[Call]] = {"function": FunctionCall, "custom": CustomCall}


def _failed() -> JsonObject:
    """Return the last event of a response of which nothing is known but that it failed."""
    response = {
        "id": "resp_0",
        "object": "response",
        "created_at": 0,
        "model": "",
        **frame_of({}),
        "status": "failed",
        "error": error_of(LAST_RESORT),
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    return {"type": "response.failed", "sequence_number": 0, "response": response}


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer has of its request.

    Attributes:
        seed: What the ids of the response and its items have in common.
        frame: The fields of `response` that the request settles.
        model: The model that was asked, for an answer that names none.
        tools: Chat's names for the tools of the request.
        ids: Gives the calls their ids.
        figures: Counts tokens.
        memory: Where the items of the answer are stored, if they are.
    """

    seed: str
    frame: JsonObject
    model: str
    tools: ToolNames
    ids: CallIds
    figures: Figures
    memory: StoredItems | None = None


class ResponsesAnswer(AnswerTranslator):
    """Translates one answer.

    Args:
        asked: What was asked.
    """

    last_resort = (("response.failed", _failed()),)

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._seed = asked.seed
        self._frame = asked.frame
        self._has_begun = False
        self._number = 0
        self._out: list[ServerEvent] = []
        self._is_over = False
        self._items: list[OutputItem] = []
        self._still_open: dict[int, OutputItem] = {}
        """By their place."""
        self._grown: set[int] = set()
        """Of those, what may be whole by now: the text, and calls with more arguments."""
        self._spoken: Reasoning | Message | None = None
        """The item of text that is open: one at a time."""
        self._calls: dict[int, Call] = {}
        """All calls, by chat's index."""
        self._blank = BlankText()
        self._finish: Json = None

    def chunk(self, chunk: JsonObject) -> Sequence[ServerEvent]:
        """Translate a repaired chunk, at once."""
        if self._is_over:
            return []
        self._begin(chunk)
        self._asked.figures.take(chunk.get("usage"))
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:  # Responses has one answer
                self._add(choice)
        return self._sent()

    def error(self, error: JsonObject) -> Sequence[ServerEvent]:
        """Translate an error in mid-stream."""
        if self._is_over:
            return []
        self._begin({})
        whole = [each for each in self._items if each.status != IN_PROGRESS]
        self._end("failed", whole, error=error_of(error))
        return self._sent()

    def done(self) -> Sequence[ServerEvent]:
        """The events of the stream's clean end; none after an error."""
        if self._is_over:
            return []
        if self._finish is None:
            return self.error({"message": UNFINISHED})
        self._begin({})
        self._close_all()
        if self._finish in CUT_BY:
            details = {"reason": CUT_BY[self._finish]}
            self._end(INCOMPLETE, self._items, incomplete_details=details)
        else:
            self._end(COMPLETED, self._items)
        return self._sent()

    def keep_alive(self) -> Sequence[ServerEvent]:
        """Return an event that changes nothing, if there is one.

        OpenAI has `keepalive` for it, which is not documented and breaks clients.
        """
        if self._is_over or not self._has_begun:
            return []
        if self._still_open:
            self._send(next(reversed(self._still_open.values())).still_open())
        if not self._out:
            self._say(IN_PROGRESS, ())
        return self._sent()

    def body(self, completion: JsonObject) -> JsonObject:
        """Translate a repaired `chat.completion`."""
        self.chunk(chunk_of(completion))
        error = failure_in(completion)
        *_, (_, last) = self.error(error) if error else self.done()
        response: JsonObject = last["response"]
        return response

    # -- events --------------------------------------------------------------------

    def _send(self, events: Iterable[ServerEvent]) -> None:
        for kind, fields in events:
            number = self._number
            self._out.append(
                (kind, {"type": kind, "sequence_number": number, **fields})
            )
            self._number += 1

    def _sent(self) -> list[ServerEvent]:
        out, self._out = self._out, []
        return out

    def _say(self, kind: str, output: Sequence[OutputItem], **more: Json) -> None:
        """Send an event that has the whole response."""
        response = {
            **self._frame,
            "status": kind if kind != "created" else IN_PROGRESS,
            "error": None,
            "incomplete_details": None,
            "output": [each.value() for each in output],
            "usage": None,
            **more,
        }
        self._send([(f"response.{kind}", {"response": response})])

    def _begin(self, chunk: JsonObject) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        created, model, tier = (
            chunk.get(x) for x in ("created", "model", "service_tier")
        )
        self._frame = {
            "id": f"resp_{self._seed}",
            "object": "response",
            "created_at": created if isinstance(created, int) else 0,
            "model": model if isinstance(model, str) else self._asked.model,
            **self._frame,
        }
        if isinstance(tier, str):
            self._frame["service_tier"] = tier
        self._say("created", ())
        self._say(IN_PROGRESS, ())

    def _end(self, kind: str, output: Sequence[OutputItem], **more: Json) -> None:
        self._is_over = True
        figures = self._asked.figures
        is_known = kind != "failed" or figures.is_given
        usage = usage_of(figures.counts()) if is_known else None
        self.estimates = is_known and figures.is_estimated
        self._say(kind, output, usage=usage, **more)
        if self._asked.memory is not None:
            self._asked.memory.add(each.value() for each in output)

    # -- items ---------------------------------------------------------------------

    def _add(self, choice: JsonObject) -> None:
        delta = choice.get("delta") or {}
        thought, figures = _text(delta, *_THOUGHTS), self._asked.figures
        figures.write(thought)
        if thought:
            self.held += len(thought)
            self._send(self._in(Reasoning).add(thought))
        text, logprobs = _text(delta, "content"), logprobs_of(choice.get("logprobs"))
        figures.write(text)
        if text and not isinstance(self._spoken, Message):
            blank = self._blank
            text = blank.take() + text if logprobs else blank.before(text)
        if text or logprobs:
            entries = sum(1 + len(each["top_logprobs"]) for each in logprobs)
            self.held += len(text) + entries * _PROBABILITY
            self._send(self._in(Message).add(text, logprobs))
        refusal = _text(delta, "refusal")
        figures.write(refusal)
        if refusal:
            self.held += len(refusal)
            self._send(self._in(Message).refuse(refusal))
        for annotation in annotations_of(delta.get("annotations")):
            self.held += _CITATION + len(annotation["url"])
            self._send(self._in(Message).annotate(annotation))
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        if choice.get("finish_reason"):
            self._finish = choice["finish_reason"]
            self._close_all()

    def _in[Spoken: (Reasoning, Message)](self, kind: type[Spoken]) -> Spoken:
        """Return the item of this kind that is open, if need be after opening one."""
        if isinstance(self._spoken, kind):
            return self._spoken
        self._close_whole()
        item = kind(self._seed, len(self._items))
        self._spoken = item
        self._open(item)
        return item

    def _add_call(self, fragment: JsonObject) -> None:
        index, function = fragment.get("index", 0), fragment.get("function") or {}
        call = self._calls.get(index)
        name = function.get("name")
        if call is None or (call.status != IN_PROGRESS and name):
            self._close_whole()
            self._blank.take()
            tool = self._asked.tools.called(name or "")
            at = len(self._items)
            call_id = self._asked.ids.take(fragment.get("id"))
            kind = _CALLS.get(tool.kind, ClientCall)
            call = self._calls[index] = kind(self._seed, at, call_id, tool)
            self._open(call)
            self.held += CALL
        arguments = as_string(function.get("arguments"))
        self._asked.figures.write(arguments)
        if arguments and call.status == IN_PROGRESS:
            self._grown.add(call.index)
            self.held += len(arguments)
            self._send(call.add(arguments))

    def _open(self, item: OutputItem) -> None:
        self._items.append(item)
        self.held += _ITEM
        self._still_open[item.index] = item
        self._grown.add(item.index)
        self._send(item.opened())

    def _close_whole(self) -> None:
        """Close what is whole, before another item begins.

        Clients that know no `output_index` take one item at a time. A call that is not
        whole yet may go on after others: chat allows it, and nothing has to wait.
        """
        for index in sorted(self._grown):
            item = self._still_open[index]
            if not isinstance(item, Call) or item.is_whole():
                del self._still_open[index]
                self._send(item.closed(COMPLETED))
        self._grown.clear()
        self._spoken = None

    def _close_all(self) -> None:
        """Close what is open, at the end."""
        blanks = self._blank.take()
        if blanks and not self._calls:
            self._send(self._in(Message).add(blanks, []))
        if self._finish not in CUT_BY and not any(
            isinstance(each, Message | Call) for each in self._items
        ):
            # Agents go round and round if an answer has nothing but thoughts.
            self._send(self._in(Message).add("", []))
        for item in self._still_open.values():
            is_whole = self._finish not in CUT_BY or (
                isinstance(item, Call) and item.is_whole()
            )
            self._send(item.closed(COMPLETED if is_whole else INCOMPLETE))
        self._still_open.clear()
        self._grown.clear()
        self._spoken = None


def _text(delta: JsonObject, *keys: str) -> str:
    """Return the first text under *keys*: the same may be there under several."""
    for key in keys:
        if text := as_string(delta.get(key)):
            return text
    return ""
