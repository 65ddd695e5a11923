"""Two messages of one role in a row, where user and assistant have to alternate."""

from ....wire.json_text import Json
from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced
from ...message_forms import (
    NOTHING,
    role_of,
    with_answers_between,
    with_messages,
    with_neighbours_joined,
    with_one_system,
)

_WORDS = (
    b'{"error":{"message":"Conversation roles must alternate user/assistant/user/..."}}'
)
_CALLS = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
_CALL = {"role": "assistant", "content": None, "tool_calls": _CALLS}
_RESULT = {"role": "tool", "tool_call_id": "c", "content": "sunny"}


def _said(role: str, content: str) -> dict[str, Json]:
    return {"role": role, "content": content}


class RolesNotAlternating(Adaptation):
    """Join neighbours of one role.

    Behind a result, and before a conversation that an answer begins, goes a message that
    says nothing.
    """

    name = "roles-not-alternating"
    changes = "neighbouring messages of one role -> one message"
    why = "Templates of Gemma and Mistral, and Perplexity, answer 400."
    key = "role"
    sources = (
        "https://github.com/OpenSecretCloud/opensecret/issues/120",
        "https://github.com/suitenumerique/conversations/issues/197",
        "https://github.com/FlowiseAI/Flowise/issues/2006",
        "https://github.com/microsoft/semantic-kernel/issues/10277",
    )
    examples = (
        RequestExample(
            "a user's",
            {"messages": [_said("user", "a"), _said("user", "b")]},
            {"messages": [_said("user", "a\n\nb")]},
            _WORDS,
        ),
        RequestExample(
            "instructions",
            {"messages": [_said("system", "a"), *HI, _said("system", "b")]},
            {"messages": [_said("system", "a\n\nb"), *HI]},
            _WORDS,
        ),
        RequestExample(
            "a text before a call",
            {"messages": [*HI, _said("assistant", "Let me see."), _CALL, _RESULT]},
            {"messages": [*HI, {**_CALL, "content": "Let me see."}, _RESULT]},
            _WORDS,
        ),
        RequestExample(
            "an answer first",
            {"messages": [_said("assistant", "Hello."), *HI]},
            {"messages": [_said("user", NOTHING), _said("assistant", "Hello."), *HI]},
            _WORDS,
        ),
        RequestExample.untouched(
            "results of two calls", {"messages": [*HI, _CALL, _RESULT, _RESULT]}, _WORDS
        ),
        RequestExample.untouched(
            "what alternates",
            {"messages": [_said("system", "a"), *HI, _said("assistant", "b"), *HI]},
            _WORDS,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Join them."""
        return replaced(body, "messages", with_messages(body, _alternating))


def _alternating(messages: list[Json]) -> list[Json]:
    made = with_answers_between(with_neighbours_joined(with_one_system(messages)))
    first = next((at for at, each in enumerate(made) if role_of(each) != "system"), 0)
    if made and role_of(made[first]) == "assistant":
        made.insert(first, _said("user", NOTHING))
    return made
