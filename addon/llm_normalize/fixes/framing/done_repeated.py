"""`[DONE]` twice.

The repair is in `repair/machine/machine.py`.
"""

from ...repair.fix import DONE, Example, Fix, chunk

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")


class DoneRepeated(Fix):
    """Send one `[DONE]`."""

    name = "done-repeated"
    changes = "second `[DONE]` -> dropped"
    why = "Clients that reuse the connection take it for the next answer's."
    providers = ("gateways that add a `[DONE]` of their own",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/streaming",)
    examples = (
        Example("twice", [_TEXT, _STOP, DONE, DONE], [_TEXT, _STOP, DONE]),
        Example.untouched("once", [_TEXT, _STOP, DONE]),
    )
