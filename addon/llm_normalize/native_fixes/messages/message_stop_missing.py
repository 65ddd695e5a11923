"""A message whose reason is known, and that does not stop."""

from ..message_events import STOP, end, start
from ..native_fix import MessagesExample, NativeFix


class MessageStopMissing(NativeFix):
    """Stop it at the stream's end, or at chat's `[DONE]`."""

    name = "message-stop-missing"
    changes = "no `message_stop` -> one behind `message_delta`"
    why = "Claude Code waits for it; SDKs report a broken stream."
    providers = (
        "TensorRT-LLM",
        "SGLang",
        "gateways",
    )
    sources = (
        "https://github.com/anthropics/claude-code/issues/67809",
        "https://platform.claude.com/docs/en/build-with-claude/streaming",
    )
    examples = (
        MessagesExample("none", [start(), end()], [start(), end(), STOP]),
        MessagesExample.untouched("there", [start(), end(), STOP]),
        MessagesExample.untouched("without a reason", [start()]),
    )
