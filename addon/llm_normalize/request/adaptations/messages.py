"""Messages: empty ones, their order, what an answer of the history has to have."""

from ...wire.json_text import Json, as_list, as_object, as_string
from ..adaptation import (
    CHAT,
    HI,
    MESSAGES,
    RESPONSES,
    TRANSLATED,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    refused,
    replaced,
)
from ..message_forms import (
    INSTRUCTIONS,
    NOTHING,
    begun_answer,
    calls_of,
    joined_content,
    role_of,
    says_nothing,
    with_answers_between,
    with_each_message,
    with_messages,
    with_neighbours_joined,
    with_one_system,
)

_NOT_EMPTY = refused(
    "the message at position 1 with role 'assistant' must not be empty"
)
_EMPTY = {"role": "assistant", "content": ""}
_CALLS = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
_RESULT = {"role": "tool", "tool_call_id": "c", "content": "sunny"}
_SPARE = {"role", "content", "name"}


# A message that says nothing, where each has to say something.
class MessageEmpty(Adaptation):
    """Drop an answer that says nothing.

    Beside calls its content is null, as OpenAI sends it; beside reasoning, and in a
    result, it is a full stop.
    """

    name = "message-empty"
    changes = 'an answer with `content: ""` -> removed, or null beside calls; of a tool -> `"."`; blank parts -> removed'
    why = "Kimi, Mistral, Claude and Bedrock answer 400."
    sent_as = (CHAT, TRANSLATED, MESSAGES)
    sources = (
        "https://github.com/MoonshotAI/kimi-code/issues/1985",
        "https://github.com/anomalyco/opencode/issues/39451",
        "https://github.com/NousResearch/hermes-agent/pull/31582",
        "https://github.com/anthropics/claude-code/issues/23390",
    )
    examples = (
        RequestExample.of_messages(
            "an answer", [*HI, _EMPTY, *HI], [*HI, *HI], _NOT_EMPTY
        ),
        RequestExample.untouched(
            "an answer with words",
            {"messages": [{**_EMPTY, "content": "Hi"}]},
            _NOT_EMPTY,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it, or say what stands for nothing."""
        return replaced(body, "messages", with_messages(body, _saying_something))


def _saying_something(messages: list[Json]) -> list[Json]:
    return [_without_blanks(_filled(each)) for each in messages if not _is_spare(each)]


def _without_blanks(message: Json) -> Json:
    parts = as_object(message).get("content")
    if not isinstance(parts, list):
        return message
    said = [each for each in parts if not _is_blank(as_object(each))]
    nothing: Json = None if calls_of(message) else [{"type": "text", "text": NOTHING}]
    return {**message, "content": said or nothing}


def _is_blank(part: dict[str, Json]) -> bool:
    return part.get("type") == "text" and not as_string(part.get("text")).strip()


def _is_spare(message: Json) -> bool:
    """Tell whether *message* is an answer, and says nothing in any of its fields."""
    return (
        role_of(message) == "assistant"
        and says_nothing(message.get("content"))
        and not any(message[key] for key in message.keys() - _SPARE)
    )


def _filled(message: Json) -> Json:
    role = role_of(message)
    if role not in ("assistant", "tool") or not says_nothing(message.get("content")):
        return message
    if role == "assistant" and calls_of(message):
        return message if "content" not in message else {**message, "content": None}
    return {**message, "content": NOTHING}


USER_FIRST = "user first"
"""That a user has to speak first: no more is changed."""
_ALTERNATE = refused("Conversation roles must alternate user/assistant/user/...")
_CALL = {"role": "assistant", "content": None, "tool_calls": _CALLS}


def _said(role: str, content: str) -> dict[str, Json]:
    return {"role": role, "content": content}


# Two messages of one role in a row, where user and assistant have to alternate.
class RolesNotAlternating(Adaptation):
    """Join neighbours of one role.

    Behind a result, and before a conversation that an answer begins, or nobody, goes a
    message that says nothing.
    """

    name = "roles-not-alternating"
    changes = "neighbouring messages of one role -> one message"
    why = "Templates of Gemma and Mistral, and Perplexity, answer 400."
    sources = (
        "https://github.com/OpenSecretCloud/opensecret/issues/120",
        "https://github.com/suitenumerique/conversations/issues/197",
        "https://github.com/FlowiseAI/Flowise/issues/2006",
        "https://github.com/microsoft/semantic-kernel/issues/10277",
        "https://github.com/vllm-project/vllm/issues/36432",
        "https://github.com/google-gemini/gemini-cli/issues/11814",
    )
    examples = (
        RequestExample.of_messages(
            "a user's",
            [_said("user", "a"), _said("user", "b")],
            [_said("user", "a\n\nb")],
            _ALTERNATE,
        ),
        RequestExample.untouched(
            "what alternates",
            {"messages": [_said("system", "a"), *HI, _said("assistant", "b"), *HI]},
            _ALTERNATE,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Join them."""
        make = _with_user_first if self.value == USER_FIRST else _alternating
        return replaced(body, "messages", with_messages(body, make))


def _alternating(messages: list[Json]) -> list[Json]:
    made = with_answers_between(with_neighbours_joined(with_one_system(messages)))
    return _with_user_first(made)


def _with_user_first(messages: list[Json]) -> list[Json]:
    roles = [role_of(each) for each in messages]
    first = next(
        (at for at, each in enumerate(roles) if each not in INSTRUCTIONS), len(roles)
    )
    if not messages or roles[first : first + 1] not in ([], ["assistant"]):
        return messages
    return [*messages[:first], _said("user", NOTHING), *messages[first:]]


_NO_PREFILL = refused("The conversation must end with a user message.")
_ANSWERED = [*HI, _said("assistant", "It is")]


# An answer at the end, which OpenAI does not go on with: it begins the next one.
class AnswerLast(Adaptation):
    """Let a user ask to go on."""

    name = "answer-last"
    changes = "an answer at the end -> a user's message behind it"
    why = "Claude, Mistral, DeepSeek and Gemini answer 400."
    sources = (
        "https://github.com/vybestack/llxprt-code/pull/3695",
        "https://github.com/huggingface/smolagents/issues/757",
        "https://github.com/BerriAI/litellm/issues/8090",
    )
    examples = (
        RequestExample.of_messages(
            "text", _ANSWERED, [*_ANSWERED, _said("user", "Continue.")], _NO_PREFILL
        ),
        RequestExample.untouched("a call", {"messages": [*HI, _CALL]}, _NO_PREFILL),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Add it."""
        last = begun_answer(body)
        if not last or last.get("prefix"):  # that is gone on with
            return []
        made = [*body["messages"], _said("user", "Continue.")]
        return replaced(body, "messages", made)


_NOT_AFTER_TOOL = b"{\"message\":\"Unexpected role 'user' after role 'tool'\"}"
_BETWEEN = {"role": "assistant", "content": NOTHING}


# A user's message behind a result, where the model has to answer first.
class UserAfterTool(Adaptation):
    """Put an answer that says nothing between them: the user's words stay the user's."""

    name = "user-after-tool"
    changes = (
        "a tool's and a user's message -> an answer that says nothing between them"
    )
    why = "Mistral answers 400, `invalid_request_message_order`."
    sources = (
        "https://github.com/mistralai/mistral-common/issues/169",
        "https://github.com/nicholasgriffintn/ai-platform/issues/414",
    )
    examples = (
        RequestExample.of_messages(
            "one", [_RESULT, *HI], [_RESULT, _BETWEEN, *HI], _NOT_AFTER_TOOL
        ),
        RequestExample.untouched(
            "an answer", {"messages": [_RESULT, _BETWEEN, *HI]}, _NOT_AFTER_TOOL
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put one between them."""
        return replaced(body, "messages", with_messages(body, with_answers_between))


_NOT_BOTH = refused("Cannot pass both content and thinking in an assistant message")
_THOUGHT = {**_CALL, "reasoning_content": "Hm."}
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


# Reasoning beside words, in an answer with calls, where one of both may be.
class MessageReasoningBeside(Adaptation):
    """Put it before the words: gpt-oss's template takes both for what was thought before a call."""

    name = "message-reasoning-beside"
    changes = "reasoning of an answer with calls and words -> before the words"
    why = "gpt-oss's template answers 400 or 500 to each request of the session, in llama.cpp and LM Studio."
    sources = (
        "https://github.com/openclaw/openclaw/issues/6514",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/842",
    )
    examples = (
        RequestExample.of_messages(
            "both",
            [{**_THOUGHT, "content": "I look."}],
            [{**_CALL, "content": "Hm.\n\nI look."}],
            _NOT_BOTH,
        ),
        RequestExample.untouched("no words", {"messages": [_THOUGHT]}, _NOT_BOTH),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put it there."""
        made = with_each_message(body, _with_one_of_both)
        return replaced(body, "messages", made, "messages[*].content")


def _with_one_of_both(message: Json) -> Json:
    if not calls_of(message) or says_nothing(message.get("content")):
        return message
    rest = {key: each for key, each in message.items() if key not in _THOUGHTS}
    thought = [*filter(None, map(as_string, map(message.get, _THOUGHTS)))][:1]
    return {**rest, "content": joined_content(*thought, message["content"])}


_FOREIGN = refused("messages.1.content.0: Invalid `signature` in `thinking` block")
IDS = "ids"
"""That ids alone are foreign."""
_OF_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_NAMED = ("message", "function_call", "custom_tool_call")
"""Items of Responses that may have an id, and need none."""
_SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
_HELLO = {"type": "text", "text": "Hello"}


# Thoughts of the history that are not its provider's own.
class ThoughtsForeign(Adaptation):
    """Drop all of them, for this request alone: the words do not tell which are meant.

    In Responses, the ids of other items go, too: by these OpenAI misses the thoughts. Where
    ids alone are refused, thoughts stay.
    """

    name = "thoughts-foreign"
    changes = "thoughts of earlier answers, ids of items in Responses -> removed"
    why = (
        "Claude and OpenAI answer 400 to each request of a session that another provider "
        "or account has begun."
    )
    sent_as = (RESPONSES, MESSAGES)
    is_remembered = False
    sources = (
        "https://github.com/farion1231/cc-switch/issues/3930",
        "https://github.com/openclaw/openclaw/issues/91205",
        "https://github.com/anthropics/claude-code/issues/63418",
        "https://github.com/openai/codex/issues/9045",
        "https://github.com/openai/codex/issues/36551",
        "https://github.com/vercel/ai/issues/7543",
    )
    examples = (
        RequestExample.of_messages(
            "a signature",
            [*HI, {"role": "assistant", "content": [_SIGNED, _HELLO]}],
            [*HI, {"role": "assistant", "content": [_HELLO]}],
            _FOREIGN,
        ),
        RequestExample.untouched("no thoughts", {"messages": HI}, _FOREIGN),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop them."""
        drops = self.value != IDS
        found = [
            _without_thoughts(each) if drops else each
            for each in as_list(body.get("messages"))
        ]
        made = [each for each in found if as_object(each).get("content") != []]
        given = as_list(body.get("input"))
        items = [_without_id(x) for x in given if not (drops and _is_thought(x))]
        return [
            *(replaced(body, "messages", made) if made else []),
            *(replaced(body, "input", items) if items else []),
        ]


def _without_thoughts(message: Json) -> Json:
    parts = as_object(message).get("content")
    if not isinstance(parts, list):
        return message
    return {**message, "content": [each for each in parts if not _is_thought(each)]}


def _is_thought(given: Json) -> bool:
    """Tell whether it is a part, or an item, that is a thought, or names one."""
    kind, name = map(as_object(given).get, ("type", "id"))
    is_reference = kind in (None, "item_reference")
    is_one = is_reference and as_string(name).startswith("rs_")
    return is_one or kind in _OF_THOUGHTS


def _without_id(item: Json) -> Json:
    if as_object(item).get("type") not in _NAMED:
        return item
    return {key: each for key, each in item.items() if key != "id"}
