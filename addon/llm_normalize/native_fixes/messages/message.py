"""The message around its blocks: its beginning, its end, its reason and figures."""

from ..message_events import (
    FIGURES,
    MADE_ID,
    STOP,
    block,
    delta,
    end,
    message,
    start,
    stop,
)
from ..native_fix import MessagesExample, NativeFix

_HI = [block("text"), delta("text_delta", "Hi"), stop()]
_NO_CACHE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
_NONE = {"input_tokens": 1, "output_tokens": 0, **_NO_CACHE}
_BEGUN = start(id=MADE_ID, usage=_NONE)


# A message that begins with another event than `message_start`.
class MessageStartMissing(NativeFix):
    """Begin it: id, model and an estimate of the prompt are what is known."""

    name = "message-start-missing"
    changes = "no `message_start` -> one before the first event"
    why = "Anthropic's SDKs raise on an event before it, and Claude Code asks everything again, unstreamed."
    providers = ("AIClient2API", "praxis")
    sources = ("https://github.com/praxis-proxy/ai/issues/935",)
    examples = (
        MessagesExample("none", [*_HI, end(), STOP], [_BEGUN, *_HI, end(), STOP]),
        MessagesExample.untouched("a ping before it", [{"type": "ping"}, start()]),
    )


# A second `message_start` in one message.
class MessageStartRepeated(NativeFix):
    """Drop it; its figures count."""

    name = "message-start-repeated"
    changes = "a second `message_start` -> removed"
    why = "Claude Code rejects the order of events, and asks everything again, unstreamed."
    providers = ("LiteLLM",)
    sources = ("https://github.com/BerriAI/litellm/pull/33859",)
    examples = (
        MessagesExample.begun(
            "twice",
            [start(), block("text"), delta("text_delta", "Hi")],
            [block("text"), delta("text_delta", "Hi")],
        ),
    )


_BARE = {"id": "msg_1", "role": "assistant", "usage": dict(FIGURES)}
_FILLED = {
    **_BARE,
    "type": "message",
    "model": "acme-1",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
}
_TEXT = {"type": "text", "text": "Hi"}
_WHOLE = message(_TEXT)
_BARE_TEXT = {**_WHOLE, "content": "Hi"}
_PART = {key: each for key, each in _WHOLE.items() if key != "stop_sequence"}


# A message that begins without what a message has.
class MessageFieldsMissing(NativeFix):
    """Put in what is missing, as Anthropic begins one."""

    name = "message-fields-missing"
    changes = "`message_start`, or a body, without `content`, `role`, `model` …, or with a bare text as `content` -> with them, and with blocks"
    why = "`@anthropic-ai/sdk` raises at the first block: it pushes into `content`."
    providers = ("cc-switch", "Llama Stack", "vLLM")
    sources = (
        "https://github.com/SaladDay/cc-switch-cli/pull/320",
        "https://github.com/ogx-ai/ogx/issues/5521",
    )
    examples = (
        MessagesExample(
            "a start",
            [{"type": "message_start", "message": _BARE}],
            [{"type": "message_start", "message": _FILLED}],
            ended=False,
        ),
        MessagesExample("a body", [_PART], [_WHOLE], is_body=True),
        MessagesExample("a bare text", [_BARE_TEXT], [_WHOLE], is_body=True),
    )


# A message without an id of its own.
class MessageIdForeign(NativeFix):
    """Give it one, made of the exchange, where it has none, another API's, or an earlier answer's."""

    name = "message-id-foreign"
    changes = "`id` of chat, or of an earlier answer -> an id of its own"
    why = "Claude Code merges answers of one id into one turn."
    providers = ("Dressage", "gateways")
    sources = (
        "https://github.com/Accio-Lab/Dressage/issues/39",
        "https://github.com/anthropics/claude-code/issues/64880",
    )
    examples = (
        MessagesExample(
            "of chat", [start(id="chatcmpl-1")], [start(id=MADE_ID)], ended=False
        ),
        MessagesExample("null", [start(id=None)], [start(id=MADE_ID)], ended=False),
        MessagesExample.untouched("its own", [start(id="msg_bdrk_1")]),
    )


_CHAT_FIGURES = {"prompt_tokens": 5, "completion_tokens": 2}
_BOTH = {**_CHAT_FIGURES, "input_tokens": 5, "output_tokens": 2, **_NO_CACHE}


# A message without its figures.
class MessageUsageMissing(NativeFix):
    """Put in the figures of tokens: the provider's, or an estimate where it sends none."""

    name = "message-usage-missing"
    changes = "no `usage`, or one by chat's names -> Anthropic's figures"
    why = (
        "Claude Code crashes without `input_tokens`, and with zeros it never compacts."
    )
    providers = ("llama.cpp", "CLIProxyAPI", "free-claude-code")
    sources = (
        "https://github.com/Alishahryar1/free-claude-code/issues/123",
        "https://github.com/farion1231/cc-switch/issues/1945",
    )
    examples = (
        MessagesExample("chat's names", [end(usage=_CHAT_FIGURES)], [end(usage=_BOTH)]),
    )


_CALL = [start(), block("tool_use"), stop()]
_CUT = [start(), block("tool_use"), delta("input_json_delta", '{"a":"b'), stop()]
_CALLER = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
_BY_CODE = [start(), block("tool_use", caller=_CALLER), stop()]
_FURTHER = end(delta={"stop_reason": None, "stop_sequence": None})
_STOPS = {"model": "acme-1", "stop_sequences": ["END"]}


def _by(reason: str, stop_sequence: str | None) -> dict[str, object]:
    return {"stop_reason": reason, "stop_sequence": stop_sequence}


# A reason in other words than Anthropic's, or one that is not so.
class StopReasonForeign(NativeFix):
    """Say it in Anthropic's words: with a call the call, within one the limit of tokens."""

    name = "stop-reason-foreign"
    changes = "`stop`, `length`, `tool_calls` …, or none in a further `message_delta` -> `end_turn`, `max_tokens`, `tool_use`"
    why = "Clients run a call only if the reason says so, and the AI SDK takes others for unknown."
    providers = ("vLLM", "SGLang", "TensorRT-LLM")
    sources = (
        "https://github.com/vllm-project/vllm/pull/45807",
        "https://github.com/vllm-project/vllm/issues/55324",
        "https://github.com/vllm-project/agentic-api/pull/296",
        "https://github.com/anthropics/anthropic-sdk-python/issues/1940",
    )
    examples = (
        MessagesExample.begun("of chat", [end("length")], [end("max_tokens")]),
        MessagesExample(
            "with a call", [*_CALL, end("end_turn")], [*_CALL, end("tool_use")]
        ),
        MessagesExample(
            "within a call", [*_CUT, end("tool_use")], [*_CUT, end("max_tokens")]
        ),
        MessagesExample.begun(
            "of a stop sequence",
            [end(delta=_by("end_turn", "END"))],
            [end(delta=_by("stop_sequence", "END"))],
            request=_STOPS,
        ),
        MessagesExample.begun(
            "without its sequence",
            [end(delta={"stop_reason": "end_turn"})],
            [end(delta=_by("end_turn", None))],
        ),
        MessagesExample.begun(
            "of a further end",
            [end("max_tokens"), _FURTHER],
            [end("max_tokens"), end("max_tokens")],
        ),
        MessagesExample(
            "a body", [message(stop_reason="stop")], [message()], is_body=True
        ),
        MessagesExample.untouched("of a call by code", [*_BY_CODE, end("end_turn")]),
        MessagesExample.untouched("out of tokens", [*_CALL, end("max_tokens")]),
    )


_CALLED = [block("tool_use"), delta("input_json_delta", "{}"), stop()]


# A message that stops without a reason.
class MessageDeltaMissing(NativeFix):
    """Put in the reason before its end, which the provider has sent: a call, or the end of the turn."""

    name = "message-delta-missing"
    changes = "`message_stop` without `message_delta` -> one before it"
    why = "The AI SDK and Claude Code know of no reason: a call is not run."
    providers = ("gateways", "AIClient2API")
    sources = ("https://github.com/praxis-proxy/ai/issues/935",)
    examples = (
        MessagesExample.begun(
            "of a call",
            [*_CALLED, STOP],
            [*_CALLED, end("tool_use", usage={**FIGURES, **_NO_CACHE}), STOP],
        ),
        MessagesExample.untouched("broken off", [start(), *_CALLED], ended=False),
    )


# A message whose reason is known, and that does not stop.
class MessageStopMissing(NativeFix):
    """Stop it at the stream's end, or at chat's `[DONE]`."""

    name = "message-stop-missing"
    changes = "no `message_stop` -> one behind `message_delta`"
    why = "Claude Code waits for it; SDKs report a broken stream."
    providers = ("TensorRT-LLM", "SGLang", "gateways")
    sources = (
        "https://github.com/anthropics/claude-code/issues/67809",
        "https://platform.claude.com/docs/en/build-with-claude/streaming",
    )
    examples = (
        MessagesExample("none", [start(), end()], [start(), end(), STOP]),
        MessagesExample.untouched("without a reason", [start()]),
    )


# A message that stops twice.
class MessageStopRepeated(NativeFix):
    """Drop the second stop."""

    name = "message-stop-repeated"
    changes = "a second `message_stop` -> removed"
    why = "Clients take what follows the end for a message that has not begun."
    providers = ("gateways",)
    sources = ("https://github.com/anthropics/claude-code/issues/67809",)
    examples = (
        MessagesExample("twice", [start(), end(), STOP, STOP], [start(), end(), STOP]),
    )


_CHAT_ERROR = {"message": "no heron", "type": "rate_limit_exceeded", "code": None}
_FLAT = {"type": "error", "message": "no heron"}


def _error(kind: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": "no heron"}}


_OWN = _error("api_error")


# An error in another form than Anthropic's.
class MessageErrorForeign(NativeFix):
    """Put it into Anthropic's form, with the words that it has; likewise the body of an error.

    Where they say that the request is too long, `prompt is too long` stands before them.
    """

    name = "message-error-foreign"
    changes = '`error` of chat, flat, or of a type that Anthropic does not have -> `{"type":"error","error":{…}}`'
    why = "Clients of Messages show no words of it, or take the stream for a success."
    providers = ("MLflow AI Gateway", "llmgateway", "Ollama")
    sources = (
        "https://github.com/mlflow/mlflow/issues/25897",
        "https://github.com/theopenco/llmgateway/pull/2532",
        "https://github.com/theopenco/llmgateway/pull/2271",
    )
    examples = (
        MessagesExample.begun(
            "of chat",
            [{"type": "error", "error": _CHAT_ERROR}],
            [_error("rate_limit_error")],
        ),
        MessagesExample("flat", [_FLAT], [_OWN]),
        MessagesExample("of another type", [_error("upstream_error")], [_OWN]),
        MessagesExample.untouched("Anthropic's own", [start(), _OWN]),
    )
