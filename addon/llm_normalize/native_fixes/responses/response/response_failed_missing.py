"""An error after which the response does not fail."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import begin, event, response

_WORDS = {"code": "overloaded", "message": "Busy"}
ERROR = {
    "type": "error",
    "sequence_number": 2,
    "error": {"type": "server_error", **_WORDS, "param": None},
}
FAILED = event("failed", 3, response=response("failed", error=_WORDS))


class ResponseFailedMissing(NativeFix):
    """Put in the event that says so, with the error."""

    name = "response-failed-missing"
    changes = "`error` alone -> and `response.failed`"
    why = "Codex and LangChain read no error but that of a response that failed: the words are lost."
    providers = ("gateways", "vLLM", "Ollama")
    sources = (
        "https://github.com/langchain-ai/langchain/issues/39039",
        "https://github.com/openclaw/openclaw/pull/113629",
        "https://github.com/RakuenSoftware/aimee/pull/647",
    )
    examples = (
        ResponsesExample("an error", [*begin(), ERROR], [*begin(), ERROR, FAILED]),
        ResponsesExample.untouched("both", [*begin(), ERROR, FAILED]),
        ResponsesExample.untouched("a stream that breaks off", [*begin()]),
    )
