"""`[DONE]` twice.

The repair is in `repair/machine/machine.py`.
"""

from ...repair.fix import DONE, STOP, TEXT, Example, Fix


class DoneRepeated(Fix):
    """Send one `[DONE]`."""

    name = "done-repeated"
    changes = "second `[DONE]` -> dropped"
    why = "Clients that reuse the connection take it for the next answer's."
    providers = ("gateways that add a `[DONE]` of their own",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/streaming",)
    examples = (
        Example("twice", [TEXT, STOP, DONE, DONE], [TEXT, STOP, DONE]),
        Example.untouched("once", [TEXT, STOP, DONE]),
    )
