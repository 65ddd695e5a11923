"""Instructions: how many messages, where, and whose."""

from ...wire.json_text import Json, as_list, as_object, objects_in
from ..adaptation import (
    HI,
    MESSAGES,
    RESPONSES,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    refused,
    replaced,
)
from ..message_forms import (
    INSTRUCTIONS,
    joined_content,
    role_of,
    text_of,
    with_messages,
    with_one_system,
    with_system_as_user,
)

_TERSE = {"role": "system", "content": "Be terse."}
_LATE = {"role": "system", "content": "In French."}
_BOTH = {"role": "system", "content": "Be terse.\n\nIn French."}
_SAID = {"role": "assistant", "content": "Hello."}
_AT_BEGINNING = refused("System message must be at the beginning.")


def _part(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


# Instructions behind the first message, where one system message comes first.
class SystemMessageLate(Adaptation):
    """Put all instructions into one system message, at the front, in their order."""

    name = "system-message-late"
    changes = "system and developer messages -> one system message, at the front"
    why = "Qwen's template, MiniMax and others refuse a second one, or a late one."
    sources = (
        "https://github.com/vllm-project/vllm/issues/41114",
        "https://github.com/ggml-org/llama.cpp/issues/27367",
        "https://github.com/anomalyco/opencode/issues/42909",
        "https://github.com/raullenchai/Rapid-MLX/issues/1543",
    )
    examples = (
        RequestExample.of_messages(
            "late",
            [_TERSE, *HI, _SAID, _LATE, *HI],
            [_BOTH, *HI, _SAID, *HI],
            _AT_BEGINNING,
        ),
        RequestExample.untouched("none", {"messages": HI}, _AT_BEGINNING),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Join and move them."""
        return replaced(body, "messages", with_messages(body, with_one_system))


_NOT_ENABLED = refused("Developer instruction is not enabled for models/gemma-3-27b-it")


# Instructions for a model that takes none.
class SystemMessageUnsupported(Adaptation):
    """Put them before the user's first words, as Gemma's own template does."""

    name = "system-message-unsupported"
    changes = "system and developer messages -> the first user's message"
    why = "Gemma at Google, and templates without the role, answer 400 or 500."
    sources = (
        "https://github.com/google/adk-python/issues/3900",
        "https://github.com/microsoft/vscode/issues/258088",
        "https://github.com/huggingface/chat-ui/issues/1386",
    )
    examples = (
        RequestExample.of_messages(
            "before a user's",
            [_TERSE, *HI, _SAID, *HI],
            [{"role": "user", "content": "Be terse.\n\nHi"}, _SAID, *HI],
            _NOT_ENABLED,
        ),
        RequestExample.untouched("none", {"messages": HI}, _NOT_ENABLED),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Move them."""
        return replaced(body, "messages", with_messages(body, with_system_as_user))


_NO_SYSTEM = (
    b'{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.role: '
    b"Input should be 'user' or 'assistant'\"}}"
)
_FRENCH = {"role": "developer", "content": "In French."}
_FRENCH_USER = {"role": "user", "content": "In French."}


# Instructions among the messages, where a protocol has a field of its own for them.
class SystemMessageRefused(Adaptation):
    """Put those at the front into that field; later ones stay in place, as a user's.

    So the head of the prompt stays the same from turn to turn, for caches.
    """

    name = "system-message-refused"
    changes = "system messages of Messages and Responses -> `system`, `instructions`; later ones -> a user's"
    why = "vLLM, Ollama, LM Studio and MiniMax answer 400 to Claude Code and Codex."
    sent_as = (RESPONSES, MESSAGES)
    sources = (
        "https://github.com/ollama/ollama/issues/18431",
        "https://github.com/vllm-project/vllm/pull/57522",
    )
    examples = (
        RequestExample(
            "late",
            {"system": "Be terse.", "messages": [*HI, _TERSE, *HI]},
            {"system": "Be terse.", "messages": [*HI, {**_TERSE, "role": "user"}, *HI]},
            _NO_SYSTEM,
        ),
        RequestExample(
            "at the front",
            {"system": [_part("Hi.")], "messages": [_TERSE, *HI]},
            {"system": [_part("Hi."), _part("Be terse.")], "messages": HI},
            _NO_SYSTEM,
        ),
        RequestExample(
            "of Responses",
            {"instructions": "Hi.", "input": [_TERSE, *HI, _FRENCH]},
            {"instructions": "Hi.\n\nBe terse.", "input": [*HI, _FRENCH_USER]},
            _NO_SYSTEM,
        ),
        RequestExample.untouched("none", {"messages": HI}, _NO_SYSTEM),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Move them, and give later ones another role."""
        is_responses = isinstance(body.get("input"), list)
        said = "input" if is_responses else "messages"
        field = "instructions" if is_responses else "system"
        messages = as_list(body.get(said))
        roles = [role_of(each) in INSTRUCTIONS for each in messages]
        front = roles.index(False) if False in roles else 0
        first = objects_in(messages[:front])
        contents = [each["content"] for each in first if "content" in each]
        made: list[Json] = [
            {**as_object(each), "role": "user"} if is_late else each
            for each, is_late in zip(messages[front:], roles[front:], strict=True)
        ]
        if not any(roles):
            return []
        edits = replaced(body, said, made)
        if contents:
            texts = map(text_of, contents) if is_responses else contents
            edits += replaced(body, field, joined_content(body.get(field), *texts))
        return edits
