"""HTTP 200 for a body that carries nothing but an error.

The repair is in `repair/engine/body.py`.
"""

from ...chat.errors.errors import wrapped
from ...chat.state.stream_state import Asked
from ...repair.fix import HI, Example, Fix, completion

_NO = wrapped("Provider returned error", "server_error", None, "502")


class ErrorStatus(Fix):
    """Answer with the status that the error names, or that its type has at OpenAI.

    repair/engine/body.py does it. Without either it is 500. A web page or plain words in the
    place of an answer get 502 (exchange/delivery/buffered_answer.py).
    """

    name = "error-status"
    changes = "HTTP 200 with only an error in the body -> a fitting 4xx or 5xx"
    why = "20 of 20 libraries lose the error, and fail later without a word of it."
    providers = ("OpenRouter", "LM Studio", "Workers AI")
    sources = (
        "https://github.com/apache/rocketmq-dashboard/issues/2178",
        "https://openrouter.ai/docs/api-reference/errors",
    )
    examples = (
        Example(
            "error",
            [_NO],
            [_NO],
            asked=Asked(),
            kind="body",
            changes_status=502,
        ),
        Example.untouched("answer", [completion(HI)], kind="body"),
    )
