"""Instructions behind the first message, where one system message comes first."""

from ....wire.json_text import Json
from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced
from ...message_forms import with_messages, with_one_system

_TERSE = {"role": "system", "content": "Be terse."}
_LATE = {"role": "system", "content": "In French."}
_BOTH = {"role": "system", "content": "Be terse.\n\nIn French."}
_SAID = {"role": "assistant", "content": "Hello."}
_WORDS = b'{"error":{"message":"System message must be at the beginning."}}'


def _part(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


class SystemMessageLate(Adaptation):
    """Put all instructions into one system message, at the front, in their order."""

    name = "system-message-late"
    changes = "system and developer messages -> one system message, at the front"
    why = "Qwen's template, MiniMax and others refuse a second one, or a late one."
    key = "role"
    sources = (
        "https://github.com/vllm-project/vllm/issues/41114",
        "https://github.com/ggml-org/llama.cpp/issues/27367",
        "https://github.com/anomalyco/opencode/issues/42909",
        "https://github.com/raullenchai/Rapid-MLX/issues/1543",
    )
    examples = (
        RequestExample(
            "late",
            {"messages": [_TERSE, *HI, _SAID, _LATE, *HI]},
            {"messages": [_BOTH, *HI, _SAID, *HI]},
            _WORDS,
        ),
        RequestExample(
            "a developer's",
            {"messages": [_TERSE, {"role": "developer", "content": "In French."}]},
            {"messages": [_BOTH]},
            _WORDS,
        ),
        RequestExample(
            "content in parts",
            {"messages": [{"role": "system", "content": [_part("Be terse.")]}, _LATE]},
            {
                "messages": [
                    {
                        "role": "system",
                        "content": [_part("Be terse."), _part("In French.")],
                    }
                ]
            },
            _WORDS,
        ),
        RequestExample.untouched(
            "one, at the front", {"messages": [_TERSE, *HI]}, _WORDS
        ),
        RequestExample.untouched("none", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Join and move them."""
        return replaced(body, "messages", with_messages(body, with_one_system))
