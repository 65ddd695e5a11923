"""A message without its figures."""

from ..message_events import end, start
from ..native_fix import MessagesExample, NativeFix

_CHAT = {"prompt_tokens": 5, "completion_tokens": 2}
_BOTH = {
    **_CHAT,
    "input_tokens": 5,
    "output_tokens": 2,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


class MessageUsageMissing(NativeFix):
    """Put in the figures of tokens: the provider's, or an estimate where it sends none."""

    name = "message-usage-missing"
    changes = "no `usage`, or one by chat's names -> Anthropic's figures"
    why = (
        "Claude Code crashes without `input_tokens`, and with zeros it never compacts."
    )
    providers = ("llama.cpp", "CLIProxyAPI", "free-claude-code")
    sources = (
        "https://github.com/Alishahryar1/free-claude-code/issues/123",
        "https://github.com/farion1231/cc-switch/issues/1945",
    )
    examples = (
        MessagesExample("chat's names", [end(usage=_CHAT)], [end(usage=_BOTH)]),
        MessagesExample.untouched("Anthropic's own", [start(), end()]),
    )
