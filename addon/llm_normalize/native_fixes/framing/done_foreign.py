"""Chat's `[DONE]` in another protocol."""

from ..message_events import STOP, end, start
from ..native_fix import MessagesExample, NativeFix

_DONE = b"data: [DONE]\n\n"


class DoneForeign(NativeFix):
    """Drop it; a message whose reason is known stops there."""

    name = "done-foreign"
    changes = "`data: [DONE]` -> removed"
    why = "Clients try to decode it as an event, and raise behind a whole answer."
    providers = (
        "vLLM",
        "TensorRT-LLM",
        "gateways",
    )
    sources = ("https://github.com/praxis-proxy/ai/issues/935",)
    examples = (
        MessagesExample(
            "behind it", [start(), end(), STOP, _DONE], [start(), end(), STOP]
        ),
        MessagesExample.untouched("none", [start(), end(), STOP]),
    )
