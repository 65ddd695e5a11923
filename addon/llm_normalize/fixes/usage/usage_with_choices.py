"""Usage that was asked for, on the chunk with the finish reason.

The repair is in `repair/machine/usage.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, STOP, TEXT, USAGE, Example, Fix, chunk

_ASKED = Asked(stream=True, usage=True)


class UsageWithChoices(Fix):
    """Send usage that was asked for in a last chunk with `choices: []`.

    Only the end shows whether there is one.
    """

    name = "usage-with-choices"
    changes = "asked usage on the finish chunk -> in a last chunk with `choices: []`"
    why = "LiteLLM counts again; clients that wait for the last chunk see no usage."
    providers = ("NVIDIA NIM", "Mistral", "mlx-dspark")
    sources = (
        "https://github.com/ARahim3/mlx-dspark/issues/37",
        "https://platform.openai.com/docs/api-reference/chat/create",
    )
    examples = (
        Example(
            "on the finish",
            [TEXT, {**STOP, "usage": USAGE}, DONE],
            [TEXT, {**STOP, "usage": None}, chunk(None, usage=USAGE), DONE],
            asked=_ASKED,
        ),
        Example.untouched(
            "in its own chunk",
            [TEXT, STOP, chunk(None, usage=USAGE)],
            asked=_ASKED,
            ended=False,
        ),
        Example.untouched("not asked for", [TEXT, {**STOP, "usage": USAGE}, DONE]),
    )
