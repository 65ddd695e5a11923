"""An error in another form than Anthropic's."""

from ..message_events import start
from ..native_fix import MessagesExample, NativeFix

_CHAT = {"message": "no heron", "type": "rate_limit_exceeded", "code": None}
_FLAT = {"type": "error", "message": "no heron"}
_OWN = {"type": "error", "error": {"type": "api_error", "message": "no heron"}}
_UPSTREAM = {
    "type": "error",
    "error": {"type": "upstream_error", "message": "no heron"},
}
_BUSY = {"type": "error", "error": {"type": "rate_limit_error", "message": "no heron"}}


class MessageErrorForeign(NativeFix):
    """Put it into Anthropic's form, with the words that it has; likewise the body of an error.

    Where they say that the request is too long, `prompt is too long` stands before them.
    """

    name = "message-error-foreign"
    changes = '`error` of chat, flat, or of a type that Anthropic does not have -> `{"type":"error","error":{…}}`'
    why = "Clients of Messages show no words of it, or take the stream for a success."
    providers = (
        "MLflow AI Gateway",
        "llmgateway",
        "Ollama",
    )
    sources = (
        "https://github.com/mlflow/mlflow/issues/25897",
        "https://github.com/theopenco/llmgateway/pull/2532",
        "https://github.com/theopenco/llmgateway/pull/2271",
    )
    examples = (
        MessagesExample(
            "of chat", [start(), {"type": "error", "error": _CHAT}], [start(), _BUSY]
        ),
        MessagesExample("flat", [_FLAT], [_OWN]),
        MessagesExample("of another type", [_UPSTREAM], [_OWN]),
        MessagesExample.untouched("Anthropic's own", [start(), _OWN]),
    )
