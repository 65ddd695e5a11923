"""Thoughts without a signature."""

from ..message_events import block, delta, message, start, stop
from ..native_fix import MessagesExample, NativeFix

_THOUGHT = [start(), block("thinking"), delta("thinking_delta", "Hm")]
_SIGNED = delta("signature_delta", "llm-normalize")
_WHOLE = {"type": "thinking", "thinking": "Hm", "signature": ""}


class ThinkingUnsigned(NativeFix):
    """Sign them with a word of the proxy's own: nobody but Anthropic can sign for Anthropic."""

    name = "thinking-unsigned"
    changes = "no `signature` -> `llm-normalize`"
    why = "Claude Desktop and pi take thoughts without one for text, or drop them."
    providers = (
        "DeepSeek",
        "MiMo",
        "imp",
    )
    sources = (
        "https://github.com/router-for-me/CLIProxyAPI/issues/3817",
        "https://github.com/kekzl/imp/issues/1555",
    )
    examples = (
        MessagesExample("none", [*_THOUGHT, stop()], [*_THOUGHT, _SIGNED, stop()]),
        MessagesExample(
            "a body",
            [message(_WHOLE)],
            [message({**_WHOLE, "signature": "llm-normalize"})],
            is_body=True,
        ),
        MessagesExample.untouched(
            "signed", [*_THOUGHT, delta("signature_delta", "s"), stop()]
        ),
    )
