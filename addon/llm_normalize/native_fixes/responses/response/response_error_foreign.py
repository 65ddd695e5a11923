"""An error in mid-stream that is not OpenAI's."""

from ....wire.json_text import Json
from ...native_fix import NativeFix, ResponsesExample
from ...response_events import begin, event, response

ERROR: Json = {"type": "error", "sequence_number": 2}
CODED = {"code": "server_error", "message": "Busy"}
OWN = {**CODED, "type": "server_error", "param": None}


def failed(error: object) -> Json:
    """Return the event of a response that failed."""
    return event("failed", 2, response=response("failed", error=error))


class ResponseErrorForeign(NativeFix):
    """Send it as OpenAI's; one of a request that is too long with the code of that."""

    name = "response-error-foreign"
    changes = (
        "`error` of words or in another form -> `message`, `type`, `code`, `param`"
    )
    why = "Clients say that the stream broke off, and nothing of why."
    providers = ("Ollama", "LiteLLM", "new-api")
    sources = (
        "https://github.com/BerriAI/litellm/pull/40243",
        "https://github.com/QuantumNous/new-api/pull/6549",
        "https://github.com/langchain4j/langchain4j/pull/5120",
    )
    examples = (
        ResponsesExample(
            "words",
            [*begin(), {**ERROR, "error": "Busy"}],
            [*begin(), {**ERROR, "error": OWN}],
        ),
        ResponsesExample(
            "of a failed response",
            [*begin(), failed("Busy")],
            [*begin(), failed(CODED)],
        ),
        ResponsesExample.untouched("OpenAI's own", [*begin(), {**ERROR, "error": OWN}]),
    )
