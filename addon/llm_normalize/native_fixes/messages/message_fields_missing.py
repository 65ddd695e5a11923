"""A message that begins without what a message has."""

from ..message_events import FIGURES, message, start
from ..native_fix import MessagesExample, NativeFix

_BARE = {"id": "msg_1", "role": "assistant", "usage": dict(FIGURES)}
_MADE = {
    **_BARE,
    "type": "message",
    "model": "acme-1",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
}
_TEXT = {"type": "text", "text": "Hi"}
_WHOLE = message(_TEXT)
_BARE_TEXT = {**_WHOLE, "content": "Hi"}
_PART = {key: each for key, each in _WHOLE.items() if key != "stop_sequence"}


class MessageFieldsMissing(NativeFix):
    """Put in what is missing, as Anthropic begins one."""

    name = "message-fields-missing"
    changes = "`message_start`, or a body, without `content`, `role`, `model` …, or with a bare text as `content` -> with them, and with blocks"
    why = "`@anthropic-ai/sdk` raises at the first block: it pushes into `content`."
    providers = (
        "cc-switch",
        "Llama Stack",
        "vLLM",
    )
    sources = (
        "https://github.com/SaladDay/cc-switch-cli/pull/320",
        "https://github.com/ogx-ai/ogx/issues/5521",
    )
    examples = (
        MessagesExample(
            "a start",
            [{"type": "message_start", "message": _BARE}],
            [{"type": "message_start", "message": _MADE}],
            ended=False,
        ),
        MessagesExample("a body", [_PART], [_WHOLE], is_body=True),
        MessagesExample("a bare text", [_BARE_TEXT], [_WHOLE], is_body=True),
        MessagesExample.untouched("complete", [start()]),
        MessagesExample.untouched("a complete body", [_WHOLE], is_body=True),
    )
