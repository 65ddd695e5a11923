"""An event stream where a body was asked for.

The repair is in `repair/engine/body.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import (
    BODY,
    DONE,
    HI,
    STOP,
    TEXT,
    USAGE,
    Example,
    Fix,
    Wire,
    chunk,
    wire,
)

_STREAM: Wire = [TEXT, STOP, chunk(None, usage=USAGE), DONE]
_CHOICE = {"index": 0, "message": HI, "logprobs": None, "finish_reason": "stop"}
_BODY = {**BODY, "choices": [_CHOICE]}
_ERROR = {"error": {"message": "Busy", "type": "server_error"}}


class StreamInBody(Fix):
    """Send what the events say as one body, if they are complete.

    repair/engine/body.py does it. An error among them is the answer; its status is another fix's.
    """

    name = "stream-in-body"
    changes = "event stream (or JSON with `[DONE]`) for `stream: false` -> one body"
    why = "Clients fail to parse it as JSON."
    providers = (
        "mini-sglang",
        "9router",
        "OmniRoute",
        "Unsloth",
        "sub2api",
        "Meridian",
    )
    sources = (
        "https://github.com/sgl-project/mini-sglang/issues/51",
        "https://github.com/unslothai/unsloth/issues/6570",
        "https://github.com/decolua/9router/issues/3492",
    )
    also_covered_by = ("error-unwrapped",)
    examples = (
        Example("stream", [wire(_STREAM)], [_BODY], asked=Asked(), kind="body"),
        Example(
            "body and done", [wire([_BODY, DONE])], [_BODY], asked=Asked(), kind="body"
        ),
        Example.of_error("error", 503, b"event: error\n" + wire([_ERROR]), _ERROR),
        Example.untouched("body", [_BODY], asked=Asked(), kind="body"),
        Example.untouched(
            "broken off", [wire(_STREAM[:1])], asked=Asked(), kind="body"
        ),
    )
