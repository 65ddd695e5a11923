"""What the chat request asked for, and what has been sent to the client so far.

The pipeline updates both; fixes only read them.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Self

from ...wire.json_text import Json, RepeatedKeyError, loads, loads_request
from ..chunks.chunk import (
    LONG,
    Chunk,
    Tokens,
    calls,
    deltas,
    function,
    has_counted,
    index_of,
    tokens_of,
)
from ..chunks.finish_words import FAILED, meaning
from ..chunks.text_growth import NO_GROWTH, Growth
from ..errors.chunk_errors import errors_in
from .declared_tools import NONE, Tools
from .said_answer import SaidAnswer
from .sent_call import SentCall, SentCalls

_LONG_NUMBER = 600  # digits; `int` takes as many, however it is set
SHARED = {"id": str, "created": int, "model": str}
"""Keys whose values all chunks of a stream share, with their kinds."""
_STORED = 256 * 1024  # characters of arguments of the first call; the second gets half
_NO_INDEXES = frozenset[int]()
MAX_TRACKED = 1024
"""Choices and calls of one stream that are tracked, each."""


# Not frozen: that takes five times as long to make. Its hash lets it be a field's default.
@dataclass(unsafe_hash=True, slots=True)
class Asked:
    """What the chat request asked for. It does not change once its answer is read.

    Attributes:
        stream: `stream: true`.
        usage: `stream_options.include_usage: true`.
        tools: The request declares tools (or legacy functions).
        forced_tool: `tool_choice` names a function; OpenAI itself then ends with `stop`.
        model: The requested model, possibly empty.
        n: How many choices.
        id: Identifies the exchange of request and answer, for generated ids.
        time: When it took place, in seconds since 1970.
        strict: Only fields that OpenAI defines are sent (`normalize_strict`).
        is_mapped: The provider got another model name (`normalize_models`).
        declared: The tools that the request declares, by name.
        legacy: It declares `functions`, the form of 2023; calls then have that form, too.
        growth: Which texts are known to be cumulative at the provider, or to go on
            after a finish reason.
    """

    stream: bool = False
    usage: bool = False
    tools: bool = False
    forced_tool: bool = False
    model: str = ""
    n: int = 1
    id: str = ""
    time: int = 1
    strict: bool = False
    is_mapped: bool = False
    declared: Tools = NONE
    legacy: bool = False
    growth: Growth = field(default=NO_GROWTH, compare=False, repr=False)

    @classmethod
    def from_body(
        cls,
        body: bytes | None,
        *,
        exchange: str = "",
        time: int = 1,
        strict: bool = False,
    ) -> Self:
        """Read the request's *body*.

        Never raises: a body that is not JSON yields the defaults.

        Args:
            body: The body.
            exchange: Its `id`; this and the following are not in the body.
            time: When it took place.
            strict: Whether only fields that OpenAI defines are sent.
        """
        try:
            request = _read(body or b"")
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            return cls(id=exchange, time=time, strict=strict)
        options = request.get("stream_options")
        forced = request.get("tool_choice") or request.get("function_call")
        model = request.get("model")
        n = request.get("n")
        has_tools = bool(request.get("tools") or request.get("functions"))
        return cls(
            stream=request.get("stream") is True,
            usage=isinstance(options, dict) and options.get("include_usage") is True,
            tools=has_tools,
            forced_tool=isinstance(forced, dict) and _names_function(forced),
            model=model if isinstance(model, str) else "",
            n=n if isinstance(n, int) and n > 1 else 1,
            id=exchange,
            time=time,
            strict=strict,
            declared=Tools.of(request) if has_tools else NONE,
            legacy=has_tools and bool(request.get("functions")),
        )

    def make_id(self, prefix: str, *place: int) -> str:
        """Return an id that is unique to the exchange, and the same for each *place*."""
        name = " ".join([self.id, *map(str, place)])
        return prefix + hashlib.sha256(name.encode()).hexdigest()[:24]


def _read(body: bytes) -> Json:
    try:
        return loads_request(body)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer that is too long, mostly
        try:
            return loads(body)
        except RepeatedKeyError:
            # The last value counts, as elsewhere; that number stays text.
            return json.loads(body, parse_int=_integer)


def _integer(text: str) -> int | str:
    return int(text) if len(text) < _LONG_NUMBER else text


def _names_function(choice: dict[str, Json]) -> bool:
    return bool(function(choice).get("name") or choice.get("name"))


@dataclass(slots=True)
class ChoiceSeen:
    """What one choice has sent so far.

    Attributes:
        begun: The number of the event in which it sent its first answer or call.
        thought: That of the event in which it sent its first reasoning.
    """

    role: bool = False
    finished: bool = False
    legacy_call: bool = False
    has_legacy: bool = False  # part of a legacy call was sent, with a name or without
    is_legacy_hit: bool = False  # a lost event may have had some of its arguments
    begun: int | None = None
    thought: int | None = None
    calls: SentCalls = field(default_factory=SentCalls)

    @property
    def has_call(self) -> bool:
        """Whether any part of a call was sent, with a name or without."""
        return bool(self.calls) or self.has_legacy

    @property
    def called(self) -> bool:
        """Whether a function was called by name."""
        return any(call.name for call in self.calls.values())


class Seen:
    """What has been sent to the client so far, after all repairs."""

    def __init__(self) -> None:
        self.choices: dict[int, ChoiceSeen] = {}
        self.envelope: Chunk = {}
        """`id`, `created` and `model`, as the first chunk that had them."""
        self.unnamed = _NO_INDEXES
        """Choices with call fragments without a name, which a fix holds."""
        self.error = False
        self.holes = 0
        """The number of lost events that may have been chunks: see `lose`."""
        self.hit = _NO_INDEXES
        """Choices with a call whose name was missing or partial when an event was lost."""
        self.blank: tuple[int, int] | None = None
        """The choice and index of a call whose first arguments, `{}`, are held."""
        self.is_cut = False
        """Whether a part of the answer is missing, for no words stand in its place."""
        self.has_choices = False
        """Whether a chunk with choices was received: no answer is at the top level then."""
        self.is_value = False
        """Whether the current event had no field name, like a body."""
        self.received: dict[tuple[int, str], int] = {}
        """The event in which a key of a choice's deltas had a value first, before any fix."""
        self.is_unsure = False
        """Whether `envelope` may be of a chunk that not all fixes have seen."""
        self.n = 0
        """The number of the current event."""
        self.tokens: Tokens = (None, None)
        """The token counts of the last usage."""
        self.calls = 0
        """The number of calls."""
        self.said = SaidAnswer()
        """What the client may not send back."""

    @property
    def room(self) -> int:
        """Characters of the next call's arguments that are stored; 0 if it is not tracked."""
        return _STORED // (self.calls + 1) if self.calls < MAX_TRACKED else 0

    @property
    def is_hit(self) -> bool:
        """Whether a choice that has not finished has a call that may lack a lost event."""
        return self.holes > 0 and any(
            index in self.hit
            or choice.is_legacy_hit
            or any(call.is_hit for call in choice.calls.values())
            for index, choice in self.choices.items()
            if not choice.finished
        )

    def lose(self, chunk: Chunk | None = None, *, words: bool = False) -> None:
        """Record that an event was lost that may have been a chunk.

        Args:
            chunk: What some clients read of it, not as it was sent.
            words: Whether words of a failure stand in its place, amid an answer that goes
                on: of a call that was open they may have cost a part.
        """
        self.holes += 1
        self.is_cut = self.is_cut or not words
        self.hit |= self.unnamed
        for index, _, delta in deltas(chunk) if chunk else ():
            for call in calls(delta):
                known = self.choice(index).calls.get(index_of(call))
                if known is not None:
                    known.is_hit = True
        for choice in self.choices.values():
            choice.is_legacy_hit = choice.is_legacy_hit or choice.has_legacy
            for sent in choice.calls.values():
                sent.lose()

    def replace_blank(self, choice: int, at: int) -> None:
        """Record that real arguments of a call are sent in place of the `{}` in `blank`."""
        self.choice(choice).calls[at].forget_arguments()
        self.blank = None

    def choice(self, index: int) -> ChoiceSeen:
        """The sent parts of choice *index*; none for a new one."""
        return self.choices.get(index) or ChoiceSeen()

    def note(self, chunk: Chunk) -> None:
        """Record a chunk as it is sent."""
        if len(self.envelope) < len(SHARED):
            self._note_envelope(chunk)
        if chunk.get("usage") and has_counted(chunk):
            self.tokens = tokens_of(chunk["usage"])
        self.error = self.error or bool(errors_in(chunk))
        for index, choice, delta in deltas(chunk):
            if not index:
                self.said.note(delta)
            seen = self.choices.get(index)
            if seen is None:
                if len(self.choices) >= MAX_TRACKED:
                    continue
                seen = self.choices[index] = ChoiceSeen()
            seen.role = seen.role or bool(delta.get("role"))
            if reason := choice.get("finish_reason"):
                seen.finished = True
                self.error = self.error or meaning(reason) == FAILED
            legacy = delta.get("function_call")
            if isinstance(legacy, dict):
                seen.legacy_call = seen.legacy_call or bool(legacy.get("name"))
                has_fields = legacy.get("name") or legacy.get("arguments")
                seen.has_legacy = seen.has_legacy or bool(has_fields)
            for call in calls(delta) if "tool_calls" in delta else ():
                self.calls += seen.calls.note(call, self.room)

    def note_text(self, chunk: Chunk) -> None:
        """Record a chunk, as it is sent, whose one choice goes on with its text alone."""
        (choice,) = chunk["choices"]
        if not choice.get("index"):
            self.said.note(choice["delta"])

    def opened_in(self, chunk: Chunk) -> SentCall:
        """The call of which *chunk* has nothing but more arguments."""
        (choice,) = chunk["choices"]
        (call,) = choice["delta"]["tool_calls"]
        return self.choices[choice["index"]].calls[call["index"]]

    def note_arguments(self, chunk: Chunk) -> None:
        """Record a chunk, as it is sent, which has nothing but more arguments of a call."""
        (call,) = chunk["choices"][0]["delta"]["tool_calls"]
        self.opened_in(chunk).add(call["function"]["arguments"])

    def _note_envelope(self, chunk: Chunk) -> None:
        for key, kind in SHARED.items():
            value = chunk.get(key)
            if not isinstance(value, kind) or not value:
                continue
            # A long text would be written into each later chunk.
            is_long = isinstance(value, str) and len(value) > LONG
            if key not in self.envelope and not is_long:
                self.envelope[key] = value
