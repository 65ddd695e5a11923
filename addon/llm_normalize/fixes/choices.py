"""The list of choices."""

from itertools import chain

from ..chat.chunks.chunk import CHUNK_FRAME, Chunk, choices, chunk_of, usage_of
from ..chat.chunks.chunk_form import enveloped_in, is_flat
from ..chat.extra_fields import MAX_EXTRA_BYTES, fails, size_of
from ..chat.flat_answer import is_wrapped, open_envelope, unwrap
from ..chat.state.asked import Asked
from ..chat.state.stream_state import Seen
from ..repair.fix import (
    BODY,
    HI,
    ROLE,
    TEXT,
    USAGE,
    USAGE_ASKED,
    USAGE_CHUNK,
    WORD,
    Example,
    Fix,
    HoldingFix,
    calling,
    chunk,
    completion,
    head,
    without,
)
from ..repair.look import Finding
from ..wire.json_text import Json


# A chunk or a body within an envelope of the provider's own.
class ChoicesEnveloped(Fix):
    """Send what is in it, and what stands beside that, without the words of success."""

    name = "choices-enveloped"
    changes = '`{"data": {"choices": …}, "success": true}` -> `{"choices": …}`'
    why = "No OpenAI client finds the answer."
    providers = ("Cline's API", "OpenRouter", "gateways with a `code` and a `msg`")
    handles = Finding.NO_CHOICES
    sources = (
        "https://github.com/cline/cline/issues/13348",
        "https://github.com/kittors/CliRelay/pull/569",
        "https://github.com/pydantic/pydantic-ai/issues/3994",
    )
    examples = (
        Example(
            "stream",
            [{"code": 200, "msg": "ok", "data": TEXT}, {"response": TEXT}],
            [TEXT, TEXT],
        ),
        Example.of_event(
            "usage", {"data": USAGE_CHUNK, "code": 0}, USAGE_CHUNK, asked=USAGE_ASKED
        ),
        Example.of_body("body", {"data": BODY, "success": True}, BODY),
        Example.of_body(
            "usage beside it",
            {"output": {**BODY, "usage": None}, "usage": USAGE, "request_id": "r"},
            {**BODY, "request_id": "r"},
        ),
        Example.untouched("a failure", [{"data": BODY, "success": False}], kind="body"),
        Example.untouched("a code", [{"data": BODY, "code": 500}], kind="body"),
        Example.untouched("no envelope", [{**TEXT, "data": BODY}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Open the envelope."""
        return open_envelope(chunk)

    body = edit


_BARE = without(chunk(None), "choices")
_BODY = without(BODY, "choices")
_CHOICE = {"index": 0, "message": HI, "finish_reason": None}
_CALLS = {"tool_calls": [{"name": "f"}]}


def _result(result: Chunk, **more: Json) -> Chunk:
    return {"result": result, "success": True, **more}


# The answer at the top of an event or body, without choices.
class ChoicesFlat(Fix):
    """Put what stands at the top into a choice; the padding `p` goes."""

    name = "choices-flat"
    changes = "`response`, `tool_calls` at the top -> `choices[0]`"
    why = "No OpenAI client finds the answer."
    providers = ("Cloudflare Workers AI, its own API", "Baidu Qianfan, its own API")
    handles = Finding.NO_CHOICES
    sources = (
        "https://developers.cloudflare.com/workers-ai/features/streaming/",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    examples = (
        Example.of_event("text", {**_BARE, "response": "Hi", "p": "abdef"}, WORD),
        Example.of_event("JSON", {**_BARE, "response": [1]}, chunk({"content": "[1]"})),
        Example.of_event(
            "call",
            {**_BARE, "response": "", **_CALLS},
            chunk({"content": "", **_CALLS}),
        ),
        Example.of_body(
            "body",
            _result({**_BODY, "response": "Hi"}, errors=[]),
            {**_BODY, "choices": [_CHOICE]},
        ),
        Example.of_body(
            "calls beside a result",
            _result({**_BODY, "response": "Hi"}, **_CALLS),
            {**_BODY, "choices": [{**_CHOICE, "message": {**HI, **_CALLS}}]},
        ),
        Example.of_body(
            "usage beside a result",
            _result({"response": "Hi"}, **_BODY),
            {"choices": [_CHOICE], **_BODY},
        ),
        Example.of_event(
            "calls beside choices in a result",
            _result(WORD, **_CALLS),
            chunk({"content": "Hi", **_CALLS}),
        ),
        Example.of_body(
            "calls beside a result without choices",
            _result({**_BODY, "choices": []}, **_CALLS),
            {**_BODY, "choices": [{**_CHOICE, "message": _CALLS}]},
        ),
        Example.untouched(
            "another protocol", [{"type": "response.created", "response": {"id": "r"}}]
        ),
        Example.untouched("after chunks", [WORD, {"response": "x"}]),
        Example.untouched("choices", [chunk({"content": "Hi"}, response="x")]),
        Example.untouched(
            "choices that are none",
            [{"result": {"choices": 1}, "response": "Hi", "success": True}],
            kind="body",
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Make the delta; the message of a whole answer, which has ended."""
        if self.seen.has_choices or not is_flat(chunk):
            return False
        # A body is whole by being there; behind an event that looks like one more may come.
        is_body = is_wrapped(chunk) and self.seen.is_value
        return unwrap(chunk, "stop") if is_body else unwrap(chunk, None, "delta")

    def body(self, body: Chunk) -> bool:
        """Make the message, of a result that is not a completion already."""
        return is_flat(body) and unwrap(body, None)


_USAGE = without(USAGE_CHUNK, "choices")


# No `choices`, or null, on a chunk that brings usage or nothing.
class ChoicesMissing(Fix):
    """Send the list that every chunk of OpenAI's has."""

    name = "choices-missing"
    changes = "`choices: null` or no `choices` -> `[]`"
    why = "Clients that index or iterate over choices raise on every one."
    providers = ("MiniMax", "Moonshot", "DeepInfra", "ROCm ATOM")
    handles = Finding.NO_CHOICES
    sources = (
        "https://github.com/RooCodeInc/Roo-Code/issues/9105",
        "https://github.com/pydantic/pydantic-ai/issues/5165",
        "https://github.com/ROCm/ATOM/issues/1711",
    )
    examples = (
        Example(
            "null", [{**USAGE_CHUNK, "choices": None}], [USAGE_CHUNK], asked=USAGE_ASKED
        ),
        Example("missing", [_USAGE], [{**_USAGE, "choices": []}], asked=USAGE_ASKED),
        Example.untouched("list", [USAGE_CHUNK], asked=USAGE_ASKED),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the list."""
        is_elsewhere = is_flat(chunk) or enveloped_in(chunk) is not None
        if chunk.get("choices") is not None or is_elsewhere:
            return False
        chunk["choices"] = []
        return True


# Null among the choices of a chunk, or among the calls of a delta.
class ElementNull(Fix):
    """Take it out: it is neither a choice nor a call."""

    name = "element-null"
    changes = "null in `choices` or `tool_calls` -> removed"
    why = "Clients read `delta` of null, and fail."
    providers = ("AgentRouter", "gateways")
    handles = Finding.NULL_ELEMENT | Finding.MESSAGE
    sources = (
        "https://github.com/Kilo-Org/kilocode/pull/3083",
        "https://platform.openai.com/docs/api-reference/chat-streaming/streaming",
    )
    examples = (
        Example("keep-alive", [TEXT, chunk(None, choices=[None])], [TEXT, chunk(None)]),
        Example.of_event(
            "beside a choice", chunk(None, choices=[None, *TEXT["choices"]]), TEXT
        ),
        Example.of_event(
            "beside a call", chunk({"tool_calls": [None, head()]}), calling(head())
        ),
        Example.of_body("body", completion(HI, choices=[None, *BODY["choices"]]), BODY),
        Example.untouched("none", [TEXT, calling(head())]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Take them out."""
        found = [each for each in _lists(chunk) if None in each]
        for each in found:
            each[:] = [one for one in each if one is not None]
        return bool(found)

    body = edit


def _lists(chunk: Chunk) -> list[list[Json]]:
    """Return the lists of *chunk* that hold choices or calls."""
    parts = chain.from_iterable(
        (choice.get("delta"), choice.get("message")) for choice in choices(chunk)
    )
    found = [part.get("tool_calls") for part in parts if isinstance(part, dict)]
    return [each for each in (chunk.get("choices"), *found) if isinstance(each, list)]


_NOTE = {"prompt_filter_results": [{"prompt_index": 0}]}
_NOTED = chunk(None, **_NOTE)
_FRAME = CHUNK_FRAME | {"usage"}


# A chunk without choices that brings no usage.
class ChoicesEmpty(HoldingFix):
    """Drop the chunk; move its other fields to the next one.

    If no other chunk follows, add a choice, so that no loop over choices fails at it.

    OpenAI's own moderation chunks have no choices, and stay.
    """

    name = "choices-empty"
    changes = "chunk with `choices: []`, no usage -> its other fields on the next chunk"
    why = "Loops copied from guides fail with an IndexError at `choices[0]`."
    providers = ("Azure (content filter results)", "GitHub Copilot")
    handles = Finding.EMPTY_CHOICES
    sources = (
        "https://github.com/continuedev/continue/issues/5580",
        "https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-streaming",
    )
    examples = (
        Example("first", [_NOTED, TEXT], [{**TEXT, **_NOTE}]),
        Example("alone", [_NOTED], [{**ROLE, **_NOTE}]),
        Example(
            "two alone",
            [{**_NOTED, "first": 1}, _NOTED],
            [{**ROLE, **_NOTE, "first": 1}],
        ),
        Example("nothing", [TEXT, chunk(None)], [TEXT]),
        Example.untouched("moderation", [TEXT, chunk(None, moderation={})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._extra: Chunk = {}
        self._frame: Chunk = {}
        self._size = 0

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Drop such a chunk; add its extra fields to one that follows."""
        if chunk.get("choices") == [] and not usage_of(chunk):
            return "moderation" not in chunk and self._hold(chunk)
        if not self._extra:
            return False
        is_last = usage_of(chunk) and not fails({**self._extra, **chunk})
        if not (chunk.get("choices") or is_last):
            return False
        for key, value in self._extra.items():
            chunk.setdefault(key, value)
        self._extra, self._size = {}, 0
        return True

    def _hold(self, chunk: Chunk) -> list[Chunk]:
        """Hold the extra fields of *chunk*; return them if that would be too much."""
        extra = {
            key: value
            for key, value in chunk.items()
            if key not in _FRAME and value not in (None, "", [], {})
        }
        known = {key: self._extra[key] for key in extra if key in self._extra}
        self._size += size_of(extra) - size_of(known)
        self._extra |= extra
        self._frame = dict(chunk)
        return self.flush() if self._size > MAX_EXTRA_BYTES else []

    def flush(self) -> list[Chunk]:
        """Send the extra fields of a stream without any choice: they may explain it."""
        extra, self._extra, self._size = self._extra, {}, 0
        if not extra:
            return []
        frame = {**self._frame, **extra}
        if self.seen.choices:  # they are attached to a held chunk, or sent alone
            return [{**frame, "choices": []}]
        return [chunk_of(frame, 0, {"role": "assistant", "content": ""})]
