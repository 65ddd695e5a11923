"""Instructions among the messages, where a protocol has a field of its own for them."""

from ....wire.json_text import Json
from ...adaptation import (
    HI,
    MESSAGES,
    RESPONSES,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    replaced,
)
from ...message_forms import INSTRUCTIONS, joined_content, listed, role_of, text_of

_WORDS = (
    b'{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.role: '
    b"Input should be 'user' or 'assistant'\"}}"
)
_TERSE = {"role": "system", "content": "Be terse."}
_FRENCH = {"role": "developer", "content": "In French."}
_SAID = {"role": "user", "content": "In French."}


class SystemMessageRefused(Adaptation):
    """Put those at the front into that field; later ones stay in place, as a user's.

    So the head of the prompt stays the same from turn to turn, for caches.
    """

    name = "system-message-refused"
    changes = "system messages of Messages and Responses -> `system`, `instructions`; later ones -> a user's"
    why = "vLLM, Ollama, LM Studio and MiniMax answer 400 to Claude Code and Codex."
    key = "role"
    sent_as = (RESPONSES, MESSAGES)
    sources = (
        "https://github.com/ollama/ollama/issues/18431",
        "https://github.com/vllm-project/vllm/pull/57522",
    )
    examples = (
        RequestExample(
            "late",
            {"system": "Be terse.", "messages": [*HI, _TERSE, *HI]},
            {
                "system": "Be terse.",
                "messages": [*HI, {"role": "user", "content": "Be terse."}, *HI],
            },
            _WORDS,
        ),
        RequestExample(
            "at the front",
            {
                "system": [{"type": "text", "text": "Hi."}],
                "messages": [_TERSE, *HI],
            },
            {
                "system": [
                    {"type": "text", "text": "Hi."},
                    {"type": "text", "text": "Be terse."},
                ],
                "messages": HI,
            },
            _WORDS,
        ),
        RequestExample(
            "of Responses",
            {"instructions": "Hi.", "input": [_TERSE, *HI, _FRENCH]},
            {"instructions": "Hi.\n\nBe terse.", "input": [*HI, _SAID]},
            _WORDS,
        ),
        RequestExample.untouched("none", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Move them, and give later ones another role."""
        is_responses = isinstance(body.get("input"), list)
        said = "input" if is_responses else "messages"
        field = "instructions" if is_responses else "system"
        messages = listed(body.get(said))
        roles = [role_of(each) in INSTRUCTIONS for each in messages]
        front = roles.index(False) if False in roles else 0
        contents = [
            each["content"]
            for each in messages[:front]
            if isinstance(each, dict) and "content" in each
        ]
        made: list[Json] = [
            {**each, "role": "user"} if is_late and isinstance(each, dict) else each
            for each, is_late in zip(messages[front:], roles[front:], strict=True)
        ]
        if not any(roles):
            return []
        edits = replaced(body, said, made)
        if contents:
            texts = map(text_of, contents) if is_responses else contents
            edits += replaced(body, field, joined_content(body.get(field), *texts))
        return edits
