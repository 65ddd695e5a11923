"""What the head of an HTTP answer says: its status, its type."""

from ..repair.fix import BODY, DONE, STOP, TEXT, UNSTREAMED, Example, Fix, wire
from ..wire.json_text import dumps

_BODY = dumps(BODY)
_TYPE_AND_LENGTH = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n"
_READY = b"HTTP/1.1 200 OK\r\n" + _TYPE_AND_LENGTH % len(_BODY) + _BODY
_LATER = b"HTTP/1.1 202 Accepted\r\nnvcf-reqid: r-1\r\n" + _TYPE_AND_LENGTH % 2 + b"{}"


# HTTP 202 and a place to ask for the answer later.
# The repair is in `exchange/delivery/stream_or_buffer.py`.
class AnswerPending(Fix):
    """Ask for the result with the client's own key, until it is there. exchange/source/pending_result.py does it.

    At most for ten minutes; given up when an HTTP/1 client leaves.
    """

    name = "answer-pending"
    changes = "HTTP 202 with `NVCF-REQID` -> the result, once it is there"
    why = "No OpenAI client asks again: it sees an empty answer."
    providers = ("NVIDIA NIM",)
    sources = (
        "https://docs.nvidia.com/cloud-functions/user-guide/latest/cloud-function/api.html",
        "https://github.com/langchain-ai/langchain-nvidia/blob/main/libs/ai-endpoints/tests/unit_tests/test_202_polling.py",
    )
    examples = (
        Example("later", [_LATER], [_READY], asked=UNSTREAMED, kind="answer"),
        Example.untouched("at once", [_READY], asked=UNSTREAMED, kind="answer"),
    )


_STREAM = wire([TEXT, STOP, DONE])
_CALLED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: %s\r\n\r\n"


# An event stream, or JSON, that calls itself something else.
# The repair is in `exchange/state/running_answer.py`.
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
            [_CALLED % b"application/json" + _STREAM],
            [_CALLED % b"text/event-stream" + _STREAM],
            kind="answer",
        ),
        Example(
            "body",
            [_CALLED % b"text/plain" + _BODY],
            [_CALLED % b"application/json" + _BODY],
            asked=UNSTREAMED,
            kind="answer",
        ),
        Example.untouched(
            "right", [_CALLED % b"text/event-stream" + _STREAM], kind="answer"
        ),
    )
