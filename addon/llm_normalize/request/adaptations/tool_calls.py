"""Calls in the history: how many in an answer, their ids and signatures."""

from ...wire.call_arguments import spelled
from ...wire.json_text import Json, as_list, as_object
from ..adaptation import (
    CHAT,
    EVERY_FORM,
    HI,
    RESPONSES,
    TRANSLATED,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    refused,
    replaced,
)
from ..message_forms import (
    calls_of,
    with_calls,
    with_each_message,
    with_messages,
    with_outputs,
    with_own_ids,
    with_results,
    with_short_ids,
    with_single_calls,
    with_tool_results,
)

_ONE_AT_A_TIME = refused("This model only supports single tool-calls at once!")


def _call(identity: str) -> dict[str, Json]:
    return {"id": identity, "type": "function", "function": {"name": "f"}}


def _said(*calls: str) -> dict[str, Json]:
    return {"role": "assistant", "content": "", "tool_calls": [*map(_call, calls)]}


def _result(identity: str) -> dict[str, Json]:
    return {"role": "tool", "tool_call_id": identity, "content": identity}


_UNANSWERED = refused("tool call result does not follow tool call (2013)")
_LATE = [*HI, _said("a"), *HI]
_BEFORE = ("previous_response_id", "conversation")
"""What has items that OpenAI keeps."""


# A call without its result behind it, or a result without a call.
class ToolResultMissing(Adaptation):
    """Put the result behind its call; make up what is missing.

    Agents lose one of both where they are interrupted, or have their history summed up.
    """

    name = "tool-result-missing"
    changes = (
        "a call without a result, a result without a call -> with one that says so"
    )
    why = "Nearly all answer 400 to each request of the session."
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/MoonshotAI/kimi-code/issues/269",
        "https://github.com/MoonshotAI/kimi-code/issues/1053",
        "https://github.com/charmbracelet/crush/issues/862",
        "https://github.com/OpenMinis/OpenMinis/issues/293",
        "https://github.com/microsoft/vscode/issues/299295",
        "https://github.com/anthropics/claude-code/issues/14416",
        "https://github.com/openai/codex/issues/17630",
    )
    examples = (
        RequestExample.of_messages(
            "late", [*_LATE, _result("a")], [*_LATE[:2], _result("a"), *HI], _UNANSWERED
        ),
        RequestExample.untouched(
            "both", {"messages": [*_LATE[:2], _result("a")]}, _UNANSWERED
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put it there."""
        made = with_messages(
            {"messages": with_messages(body, with_results)}, with_tool_results
        )
        given = as_list(body.get("input"))
        is_whole = body.keys().isdisjoint(_BEFORE) and not any(map(_refers, given))
        items = with_outputs(given) if is_whole else []
        return [
            *replaced(body, "messages", made),
            *(replaced(body, "input", items) if items else []),
        ]


def _refers(item: Json) -> bool:
    kind, role = map(as_object(item).get, ("type", "role"))
    return kind == "item_reference" or (kind is None and role is None)


# Several calls in one answer of the history, where one at a time is taken.
class ToolCallsParallel(Adaptation):
    """Send one call after another, each before its result, and ask for no parallel ones."""

    name = "tool-calls-parallel"
    changes = (
        "an answer's `tool_calls` -> one message each; `parallel_tool_calls: true` -> "
        "removed"
    )
    why = "Llama's template, as on NIM, answers 400 or 500."
    sources = (
        "https://github.com/openclaw/openclaw/issues/37048",
        "https://github.com/lidge-jun/opencodex/issues/126",
    )
    examples = (
        RequestExample.of_messages(
            "two calls",
            [*HI, _said("a", "b"), _result("b"), _result("a"), *HI],
            [*HI, _said("a"), _result("a"), _said("b"), _result("b"), *HI],
            _ONE_AT_A_TIME,
        ),
        RequestExample.untouched(
            "one call",
            {"messages": [*HI, _said("a"), _result("a")], "parallel_tool_calls": False},
            _ONE_AT_A_TIME,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Part them."""
        asks = body.get("parallel_tool_calls", False) is not False
        return [
            *replaced(body, "messages", with_messages(body, with_single_calls)),
            *(drop(body, "parallel_tool_calls") if asks else []),
        ]


_NINE_LETTERS = b'{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}'


def _asked(identity: str) -> Body:
    answer = {**_said(identity), "content": None}
    result = {**_result(identity), "content": "sunny"}
    return {"messages": [*HI, answer, result]}


# Ids of tool calls, where they have to be nine letters or digits.
class ToolCallIdRefused(Adaptation):
    """Send nine letters that are made of the id, alike for a call and its result.

    The client keeps its own: it never sees them.
    """

    name = "tool-call-id-refused"
    changes = "`tool_calls[].id`, `tool_call_id` -> nine letters and digits"
    why = "Mistral answers 400, oMLX 500; others refuse ids that are too long."
    sources = (
        "https://github.com/anomalyco/opencode/issues/1680",
        "https://github.com/nearai/ironclaw/issues/1241",
        "https://github.com/jundot/omlx/pull/1997",
        "https://github.com/mistralai/mistral-vibe/issues/1075",
    )
    examples = (
        RequestExample(
            "OpenAI's", _asked("call_1"), _asked("t8wLHgKZJ"), _NINE_LETTERS
        ),
        RequestExample.untouched("nine letters", _asked("abcDEF123"), _NINE_LETTERS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace them."""
        path = "messages[*].tool_calls[*].id"
        return replaced(body, "messages", with_messages(body, with_short_ids), path)


_DUPLICATED = refused("Invalid request: tool call id a is duplicated")
_TWICE = [_said("a"), _result("a"), _said("a")]


# The same id of two calls.
class ToolCallIdDuplicated(Adaptation):
    """Number the later ones, with their results."""

    name = "tool-call-id-duplicated"
    changes = "`tool_calls[].id`, `tool_call_id` of a later call -> with a number"
    why = "Kimi and Claude answer 400 to each request of the session."
    sources = (
        "https://github.com/openclaw/openclaw/issues/84730",
        "https://github.com/anomalyco/opencode/issues/1279",
    )
    examples = (
        RequestExample.of_messages(
            "of two answers",
            [*_TWICE, _result("a")],
            [*_TWICE[:2], _said("a_2"), {**_result("a"), "tool_call_id": "a_2"}],
            _DUPLICATED,
        ),
        RequestExample.untouched(
            "two", {"messages": [_said("a", "b"), _result("a")]}, _DUPLICATED
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Number them."""
        path = "messages[*].tool_calls[*].id"
        return replaced(body, "messages", with_messages(body, with_own_ids), path)


_NO_JSON = refused(
    'The "function.arguments" parameter of the code model must be in JSON format.'
)


def _given(arguments: Json) -> Json:
    called = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    return {"role": "assistant", "tool_calls": [called]}


# Arguments of a call in the history that are no JSON object.
class ToolCallArgumentsRefused(Adaptation):
    """Send an object; what broke off becomes its only value, so that the model sees it."""

    name = "tool-call-arguments-refused"
    changes = 'arguments of a call in the history: `""`, `{"a"` -> an object'
    why = (
        "Once a call was wrong, vLLM, DashScope, MiniMax and llama.cpp answer 400 or 500 "
        "to each request of the session."
    )
    sent_as = (CHAT, TRANSLATED, RESPONSES)
    sources = (
        "https://github.com/vllm-project/vllm/issues/43995",
        "https://github.com/MoonshotAI/kimi-cli/issues/2165",
        "https://github.com/HKUDS/nanobot/issues/1487",
        "https://github.com/NousResearch/hermes-agent/issues/12167",
        "https://github.com/OpenHands/OpenHands/issues/13949",
        "https://github.com/router-for-me/CLIProxyAPI/issues/2001",
    )
    examples = (
        RequestExample.of_messages(
            "broke off",
            [*HI, _given('{"a')],
            [*HI, _given('{"INVALID_JSON":"{\\"a"}')],
            _NO_JSON,
        ),
        RequestExample.untouched(
            "an object", {"messages": [*HI, _given('{ "a": 1 }')]}, _NO_JSON
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Spell them as objects."""
        path = "messages[*].tool_calls[*].function.arguments"
        made = with_each_message(body, _with_objects)
        items = [
            _with_object(each)
            if as_object(each).get("type") == "function_call"
            else each
            for each in as_list(body.get("input"))
        ]
        return [
            *replaced(body, "messages", made, path),
            *(replaced(body, "input", items, "input[*].arguments") if items else []),
        ]


def _with_objects(message: Json) -> Json:
    def with_object(call: dict[str, Json]) -> dict[str, Json]:
        return {k: _with_object(v) if k == "function" else v for k, v in call.items()}

    return with_calls(message, with_object)


def _with_object(holder: Json) -> Json:
    if not isinstance(holder, dict) or "arguments" not in holder:
        return holder
    return {**holder, "arguments": spelled(holder["arguments"])}


_UNSIGNED = (
    b'[{"error":{"message":"Function call is missing a thought_signature in functionCall '
    b'parts.","status":"INVALID_ARGUMENT"}}]'
)
_SIGNATURE = "thought_signature"
# What Google documents for calls that another model has made.
_UNKNOWN = {"google": {_SIGNATURE: "skip_thought_signature_validator"}}
_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_SIGNED = {**_CALL, "extra_content": _UNKNOWN}


def _called(*calls: Json) -> Body:
    return {"messages": [*HI, {"role": "assistant", "tool_calls": [*calls]}]}


# A call without its thought signature, which Gemini wants to have back.
class ThoughtSignatureMissing(Adaptation):
    """Put back what the call had, as far as it is remembered, by its id.

    The first call of an answer that nothing is known of gets what Google documents for
    that; the others of an answer have none.
    """

    name = "thought-signature-missing"
    changes = "`tool_calls[]` -> with `extra_content.google.thought_signature`"
    why = "Gemini 3 answers 400 at the turn after a call."
    sources = (
        "https://ai.google.dev/gemini-api/docs/thought-signatures",
        "https://github.com/Gitlawb/openclaude/issues/67",
        "https://github.com/AstrBotDevs/AstrBot/issues/9217",
        "https://github.com/BerriAI/litellm/issues/16893",
        "https://github.com/securo-finance/securo/issues/884",
    )
    examples = (
        RequestExample(
            "unknown", _called(_CALL, _CALL), _called(_SIGNED, _CALL), _UNSIGNED
        ),
        RequestExample.untouched("its own", _called(_SIGNED, _CALL), _UNSIGNED),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put them back."""
        made = with_each_message(body, self._with_signatures)
        path = "messages[*].tool_calls[*].extra_content"
        return replaced(body, "messages", made, path)

    def _with_signatures(self, message: Json) -> Json:
        first = next(iter(calls_of(message)), None)
        return with_calls(
            message, lambda call: self._signed(call, is_first=call is first)
        )

    def _signed(self, call: dict[str, Json], *, is_first: bool) -> dict[str, Json]:
        if _has_signature(call):
            return call
        known = self.memory("call", call.get("id"))
        if known is not None and _has_signature(known.extra):
            return {**call, **known.extra}
        return {**call, "extra_content": _UNKNOWN} if is_first else call


def _has_signature(value: Json) -> bool:
    if isinstance(value, dict):
        return bool(value.get(_SIGNATURE)) or any(
            key != "function" and _has_signature(each) for key, each in value.items()
        )
    return False
