"""Fields that say nothing, or that OpenAI does not define, and events that nothing is left of."""

from ..chat.chunks.chunk import (
    REASONING,
    Chunk,
    calls,
    choices,
    drop_keys,
    in_deltas,
    in_messages,
    index_of,
    put_calls,
)
from ..chat.chunks.chunk_content import is_empty_chunk, is_hollow
from ..chat.chunks.openai_fields import ERROR, parts
from ..chat.errors.chunk_errors import take_errors
from ..chat.state.asked import Asked
from ..chat.state.stream_state import MAX_TRACKED, Seen
from ..repair.fix import (
    BODY,
    HI,
    ROLE,
    TEXT,
    USAGE_ASKED,
    WORD,
    DeltaFix,
    Example,
    Fix,
    PartFix,
    calling,
    chunk,
    completion,
    head,
)
from ..repair.look import Finding
from ..wire.json_text import Json

_CALL = {"name": "", "arguments": ""}
_AUDIO = {"id": "", "data": "", "expires_at": 0, "transcript": ""}


# A `function_call` or `audio` whose every value is empty, and nulls in an `audio`.
class FieldHollow(PartFix):
    """Leave the key out; of an `audio` that says something, the nulls."""

    name = "field-hollow"
    changes = (
        "`function_call`, `audio`, calls in a body of empty values alone, nulls in "
        "`audio` -> removed"
    )
    why = "Clients that look whether it is there call a function without a name."
    providers = ("Snowflake", "Xiaomi MiMo")
    handles = Finding.FUNCTION_CALL | Finding.AUDIO
    sources = (
        "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_message("body", {**HI, "audio": _AUDIO, "function_call": _CALL}, HI),
        Example.of_delta("stream", {**HI, "function_call": _CALL}, HI),
        Example.of_message(
            "audio with nulls",
            {**HI, "audio": {"id": "a", "data": "AA==", "transcript": None}},
            {**HI, "audio": {"id": "a", "data": "AA=="}},
        ),
        Example.untouched(
            "arguments to come",
            [chunk({"function_call": {"name": "f", "arguments": ""}})],
        ),
        Example.untouched("later", [chunk({"function_call": {"arguments": ""}})]),
    )

    def part(self, part: Chunk) -> bool:
        """Drop the keys."""
        identities = {"function_call": "name", "audio": "id"}
        found = {
            key: part[key] for key in identities if isinstance(part.get(key), dict)
        }
        hollow = [
            key
            for key, value in found.items()
            if identities[key] in value and not any(value.values())
        ]
        audio = found.get("audio", {})
        nulls = drop_keys(audio, [key for key, value in audio.items() if value is None])
        return drop_keys(part, hollow) or nulls

    def body(self, body: Chunk) -> bool:
        """Drop the keys from the messages, and calls that say nothing."""
        return in_messages(body, _drop_calls) | super().body(body)


def _drop_calls(part: Chunk) -> bool:
    found = calls(part)
    remaining = [call for call in found if not is_hollow(call)]
    if len(remaining) == len(found):
        return False
    put_calls(part, remaining)
    return True


# `role` is null or empty where OpenAI leaves it out.
class RoleNull(DeltaFix):
    """Drop a role that says nothing."""

    name = "role-null"
    changes = '`delta.role`: `null` or `""` -> removed'
    why = (
        'Strict clients fail to parse it (Vercel AI SDK: expected "assistant"); '
        'naive ones show "null".'
    )
    providers = ("NVIDIA NIM", "SGLang", "MiniMax", "Groq and Mistral gateways")
    handles = Finding.NULL_ROLE
    sources = (
        "https://github.com/sgl-project/sglang/issues/9657",
        "https://github.com/BerriAI/litellm/issues/2010",
        "https://github.com/vercel/ai/issues/15464",
    )
    examples = (
        Example("null", [ROLE, chunk({"role": None, "content": "Hi"})], [ROLE, WORD]),
        Example("empty", [ROLE, chunk({"role": "", "content": "Hi"})], [ROLE, WORD]),
        Example.untouched("real role", [ROLE]),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Drop the key."""
        if delta.get("role", "assistant"):
            return False
        del delta["role"]
        return True


# `tool_calls` or `function_call` is null, or an empty list, where there is no call.
class ToolCallsNull(PartFix):
    """Leave the keys out where there is no call, as OpenAI does."""

    name = "tool-calls-null"
    changes = "`tool_calls: null` or `[]`, `function_call: null` -> removed"
    why = "Iterating over null raises; strict schemas want an array or no key."
    providers = ("SGLang", "exo", "Bedrock gateways", "LiteLLM", "vLLM 0.6 (`[]`)")
    handles = Finding.NULL_CALLS
    sources = (
        "https://github.com/sgl-project/sglang/issues/9657",
        "https://github.com/exo-explore/exo/issues/2092",
        "https://github.com/aws-samples/bedrock-access-gateway/issues/21",
    )
    examples = (
        Example.of_event(
            "null",
            chunk({"content": "Hi", "tool_calls": None, "function_call": None}),
            WORD,
        ),
        Example.of_event(
            "empty list", chunk({"content": "Hi", "tool_calls": []}), WORD
        ),
        Example.of_message("body", {**HI, "tool_calls": []}, HI),
        Example.untouched("call", [calling(head())]),
    )

    def part(self, part: Chunk) -> bool:
        """Drop the keys."""
        keys = ("tool_calls", "function_call")
        return drop_keys(part, [key for key in keys if key in part and not part[key]])


_SO = chunk({"role": "assistant", "content": "", "reasoning_content": "so"})
_NULL = chunk({"content": "Hi", "reasoning_content": None})


# Reasoning that is null again once the text has begun.
class ReasoningNull(DeltaFix):
    """Leave the key out, after reasoning has been sent."""

    name = "reasoning-null"
    changes = "`reasoning_content: null` after reasoning -> removed"
    why = "openai-node's helper puts the null in the place of all reasoning so far."
    providers = ("DeepSeek", "DashScope", "SGLang", "vLLM")
    handles = Finding.REASONING | Finding.NULL_REASONING
    sources = (
        "https://api-docs.deepseek.com/guides/reasoning_model",
        "https://github.com/sgl-project/sglang/issues/9657",
    )
    also_covered_by = ("field-null",)
    examples = (
        Example("text", [_SO, _NULL], [_SO, WORD]),
        Example.untouched("no reasoning", [_NULL]),
        Example.untouched("more reasoning", [_SO, _SO]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._thought: set[int] = set()  # choices that have reasoned

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Drop the keys."""
        changed = False
        for key in REASONING:
            if delta.get(key) and len(self._thought) < MAX_TRACKED:
                self._thought.add(index)
            elif index in self._thought and delta.get(key, "") is None:
                del delta[key]
                changed = True
        return changed


_NAMELESS = {"content": "Hi", "name": None}


# Null fields that OpenAI does not define, or sends only when asked.
class FieldNull(Fix):
    """Drop them where an event is repaired anyway; `usage`, if it was not requested.

    They break nothing by themselves, so they are no reason to touch an event.
    """

    name = "field-null"
    changes = "null fields unknown to OpenAI, in what is repaired anyway -> removed"
    why = "Typed clients decode `reasoning_content: null` and the like as text."
    providers = ("NVIDIA NIM (`stop_reason`)", "SGLang (`matched_stop`)", "vLLM")
    handles = Finding.LEFT_NULL
    sources = (
        "https://github.com/sgl-project/sglang/issues/9657",
        "https://github.com/exo-explore/exo/issues/2092",
    )
    examples = (
        Example.of_event(
            "delta and choice", chunk(_NAMELESS, choice={"stop_reason": None}), WORD
        ),
        Example.of_body("body", completion(HI, prompt_logprobs=None), BODY),
        Example.of_event("usage", chunk(_NAMELESS, usage=None), WORD),
        Example.untouched(
            "fields of OpenAI",
            [chunk({"content": "Hi", "refusal": None}, service_tier=None, usage=None)],
            asked=USAGE_ASKED,
        ),
        Example.untouched("value", [chunk({"content": "", "name": "x"})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        changed = not self.asked.usage and chunk.get("usage", 0) is None
        if changed:
            del chunk["usage"]
        return _drop_unknown(chunk, only_null=True) or changed

    def body(self, body: Chunk) -> bool:
        """Drop the keys."""
        return _drop_unknown(body, only_null=True)


def _drop_unknown(chunk: Chunk, *, only_null: bool) -> bool:
    """Drop keys that OpenAI does not define, or null ones; tell whether there were any."""
    changed = False
    for part, known in parts(chunk):
        found = [key for key in part if key not in known]
        if only_null:
            found = [key for key in found if part[key] is None]
        changed |= drop_keys(part, found)
    return changed


_STRICT = Asked(stream=True, strict=True)


# Fields that OpenAI does not define, where `normalize_strict` asks for no others.
class FieldUnknown(Fix):
    """Drop them, reasoning and citations too: `normalize_strict` applies this."""

    name = "field-unknown"
    changes = "with `normalize_strict`: fields that OpenAI does not define -> removed"
    why = "Clients with strict schemas refuse a chunk for each key they do not know."
    providers = ("nearly all",)
    handles = Finding.UNKNOWN_FIELD
    sources = (
        "https://platform.openai.com/docs/api-reference/chat",
        "https://github.com/openai/openai-node/issues/2423",
    )
    examples = (
        Example.of_event(
            "stream",
            chunk({**HI, "reasoning": "so"}, provider="Acme"),
            TEXT,
            asked=_STRICT,
        ),
        Example.of_event(
            "call of unknown fields alone",
            calling({"index": 1, "x": 1, "function": {"arguments": ""}}, head()),
            calling(head()),
            asked=_STRICT,
        ),
        Example.of_body("body", completion(HI, citations=["x"]), BODY, asked=_STRICT),
        Example(
            "error",
            [{"error": {"message": "No", "metadata": {}}, "user_id": "u"}],
            [{"error": {"message": "No"}}],
            asked=_STRICT,
            kind="error",
        ),
        Example.untouched("not wanted", [chunk({**HI, "reasoning": "so"})]),
        Example.untouched(
            "own", [chunk({**HI, "refusal": None}, service_tier=None)], asked=_STRICT
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        if not (self.asked.strict and _drop_unknown(chunk, only_null=False)):
            return False
        in_deltas(chunk, _drop_calls)
        return True

    body = edit

    def error(self, body: Json, status: int) -> Chunk | None:
        """Drop the keys beside and in the error."""
        error = body.get("error") if isinstance(body, dict) else None
        if not self.asked.strict or not isinstance(error, dict):
            return None
        known = {key: value for key, value in error.items() if key in ERROR}
        return None if body == {"error": known} else {"error": known}


# Events that a repair left without anything to say.
class EventEmpty(Fix):
    """Drop an event that is empty after its repair.

    One that was empty before stays: the provider may keep the connection alive with it.
    """

    name = "event-empty"
    changes = "event that a repair left empty -> dropped"
    why = "OpenAI sends no chunk with `delta: {}` and no finish reason."
    providers = ("SGLang", "DeepSeek")
    handles = Finding.LEFT_EMPTY | Finding.LEFT_ERROR
    sources = ("https://github.com/coderGtm/yantra-app-launcher/issues/545",)
    examples = (
        Example("empty", [TEXT, chunk({})], [TEXT]),
        Example.untouched("first of its choice", [chunk({})]),
        Example.untouched("text", [TEXT, chunk({"content": ""})]),
        Example.untouched("something unknown", [TEXT, chunk({}, timings=[1])]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Drop the chunk if nothing in it says anything; words alone are an error."""
        errors: list[Chunk] = [{"error": each} for each in take_errors(chunk)]
        opened = all(index_of(each) in self.seen.choices for each in choices(chunk))
        if not (opened and is_empty_chunk(chunk)):
            return [chunk, *errors] if errors else None
        return errors
