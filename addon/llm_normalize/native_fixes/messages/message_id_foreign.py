"""A message without an id of its own."""

from ..message_events import MADE_ID, start
from ..native_fix import MessagesExample, NativeFix


class MessageIdForeign(NativeFix):
    """Give it one, made of the exchange, where it has none, another API's, or an earlier answer's."""

    name = "message-id-foreign"
    changes = "`id` of chat, or of an earlier answer -> an id of its own"
    why = "Claude Code merges answers of one id into one turn."
    providers = (
        "Dressage",
        "gateways",
    )
    sources = (
        "https://github.com/Accio-Lab/Dressage/issues/39",
        "https://github.com/anthropics/claude-code/issues/64880",
    )
    examples = (
        MessagesExample(
            "of chat",
            [start(id="chatcmpl-1")],
            [start(id=MADE_ID)],
            ended=False,
        ),
        MessagesExample("null", [start(id=None)], [start(id=MADE_ID)], ended=False),
        MessagesExample.untouched("its own", [start(id="msg_bdrk_1")]),
    )
