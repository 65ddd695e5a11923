"""An event stream that calls itself something else."""

from ..fix import DONE, Example, Fix, chunk, wire

_STREAM = wire(
    [chunk({"role": "assistant", "content": "Hi"}), chunk({}, finish="stop"), DONE]
)
_HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: %s\r\n\r\n"


class ContentTypeWrong(Fix):
    """Call a stream what it is, also one that is made of JSON. flows.py does it."""

    name = "content-type-wrong"
    changes = "stream as `application/json`, `text/plain` -> `text/event-stream`"
    why = "openai-python 0.28 and clients that look at the type first read no stream."
    providers = ("vLLM and Ollama behind gateways", "servers that ignore `stream`")
    sources = ("https://github.com/openclaw/openclaw/issues/97755",)
    examples = (
        Example(
            "json",
            [_HEAD % b"application/json" + _STREAM],
            [_HEAD % b"text/event-stream" + _STREAM],
            kind="answer",
        ),
        Example.untouched(
            "right", [_HEAD % b"text/event-stream" + _STREAM], kind="answer"
        ),
    )
