"""HTTP 202 and a place to ask for the answer later.

The repair is in `exchange/delivery/stream_or_buffer.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import Example, Fix, completion
from ...wire.json_text import dumps

_BODY = dumps(completion({"role": "assistant", "content": "Hi"}))
_HEAD = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n"
_READY = b"HTTP/1.1 200 OK\r\n" + _HEAD % len(_BODY) + _BODY
_LATER = b"HTTP/1.1 202 Accepted\r\nnvcf-reqid: r-1\r\n" + _HEAD % 2 + b"{}"


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
        Example("later", [_LATER], [_READY], asked=Asked(), kind="answer"),
        Example.untouched("at once", [_READY], asked=Asked(), kind="answer"),
    )
