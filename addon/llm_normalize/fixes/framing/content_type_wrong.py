"""An event stream, or JSON, that calls itself something else.

The repair is in `exchange/state/running_answer.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, Example, Fix, chunk, completion, wire
from ...wire.json_text import dumps

_STREAM = wire(
    [chunk({"role": "assistant", "content": "Hi"}), chunk({}, finish="stop"), DONE]
)
_BODY = dumps(completion({"role": "assistant", "content": "Hi"}))
_HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: %s\r\n\r\n"


class ContentTypeWrong(Fix):
    """Call an answer what it is, also one made of another kind. exchange/message/response_headers.py."""

    name = "content-type-wrong"
    changes = "another type -> `text/event-stream`, for a body `application/json`"
    why = (
        "openai-python 0.28 reads no stream by another name, and openai-node gives its "
        "caller the text of a body that does not say that it is JSON."
    )
    providers = ("vLLM and Ollama behind gateways", "servers that ignore `stream`")
    sources = ("https://github.com/openclaw/openclaw/issues/97755",)
    examples = (
        Example(
            "json",
            [_HEAD % b"application/json" + _STREAM],
            [_HEAD % b"text/event-stream" + _STREAM],
            kind="answer",
        ),
        Example(
            "body",
            [_HEAD % b"text/plain" + _BODY],
            [_HEAD % b"application/json" + _BODY],
            asked=Asked(),
            kind="answer",
        ),
        Example.untouched(
            "right", [_HEAD % b"text/event-stream" + _STREAM], kind="answer"
        ),
    )
