"""A message that says nothing, where each has to say something."""

from ....wire.json_text import Json
from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced
from ...message_forms import NOTHING, calls_of, role_of, says_nothing, with_messages

_WORDS = (
    b'{"error":{"message":"the message at position 1 with role \'assistant\' must not be '
    b'empty"}}'
)
_EMPTY = {"role": "assistant", "content": ""}
_CALLS = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
_RESULT = {"role": "tool", "tool_call_id": "c", "content": ""}
_SPARE = {"role", "content", "name"}


class MessageEmpty(Adaptation):
    """Drop an answer that says nothing.

    Beside calls its content is null, as OpenAI sends it; beside reasoning, and in a
    result, it is a full stop.
    """

    name = "message-empty"
    changes = 'an answer with `content: ""` -> removed, or null beside calls; of a tool -> `"."`'
    why = "Kimi, Mistral, Claude and Bedrock answer 400."
    key = "content"
    sources = (
        "https://github.com/MoonshotAI/kimi-code/issues/1985",
        "https://github.com/anomalyco/opencode/issues/39451",
        "https://github.com/NousResearch/hermes-agent/pull/31582",
        "https://github.com/OpenHands/OpenHands/issues/8685",
    )
    examples = (
        RequestExample(
            "an answer",
            {"messages": [*HI, _EMPTY, *HI]},
            {"messages": [*HI, *HI]},
            _WORDS,
        ),
        RequestExample(
            "beside a call",
            {"messages": [{**_EMPTY, "tool_calls": _CALLS}]},
            {"messages": [{**_EMPTY, "content": None, "tool_calls": _CALLS}]},
            _WORDS,
        ),
        RequestExample(
            "beside reasoning",
            {"messages": [{**_EMPTY, "reasoning_content": "Hm."}]},
            {"messages": [{**_EMPTY, "content": NOTHING, "reasoning_content": "Hm."}]},
            _WORDS,
        ),
        RequestExample(
            "a result",
            {"messages": [_RESULT]},
            {"messages": [{**_RESULT, "content": NOTHING}]},
            _WORDS,
        ),
        RequestExample.untouched(
            "an answer with words", {"messages": [{**_EMPTY, "content": "Hi"}]}, _WORDS
        ),
        RequestExample.untouched(
            "a user's", {"messages": [{"role": "user", "content": ""}]}, _WORDS
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it, or say what stands for nothing."""
        return replaced(body, "messages", with_messages(body, _saying_something))


def _saying_something(messages: list[Json]) -> list[Json]:
    return [_filled(each) for each in messages if not _is_spare(each)]


def _is_spare(message: Json) -> bool:
    """Tell whether *message* is an answer, and says nothing in any of its fields."""
    return (
        role_of(message) == "assistant"
        and says_nothing(message.get("content"))
        and not any(message[key] for key in message.keys() - _SPARE)
    )


def _filled(message: Json) -> Json:
    is_answer = role_of(message) == "assistant"
    if not (is_answer or role_of(message) == "tool"):
        return message
    if not says_nothing(message.get("content")):
        return message
    if is_answer and calls_of(message):
        return message if "content" not in message else {**message, "content": None}
    return {**message, "content": NOTHING}
