"""Cloudflare Workers AI, its own API: where and in which form a request goes there.

Two families of models document two forms of input, and both take what is made here. The
older ones (https://developers.cloudflare.com/workers-ai/models/, the schema of
llama-3.3-70b-instruct-fp8-fast, say) refuse what differs in type, such as null. The
newer ones (glm-5.3) document OpenAI's own parameters. What neither names is dropped.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from ..chat.chunks.chunk import Chunk, calls, function
from ..chat.errors.errors import message_of, words_of
from ..chat.request_body import read_request
from ..wire.json_text import (
    Json,
    Number,
    as_list,
    as_object,
    dumps,
    objects_in,
    value_in,
)

PARAMETERS = frozenset((
    # both
    "frequency_penalty", "functions", "max_tokens", "messages", "presence_penalty",
    "response_format", "seed", "stream", "temperature", "tools", "top_p",
    # the older ones
    "guided_json", "image", "lora", "raw", "repetition_penalty", "top_k",
    # the newer ones; workers-ai-provider sends `tool_choice` to all
    "audio", "chat_template_kwargs", "function_call", "logit_bias", "logprobs",
    "max_completion_tokens", "metadata", "modalities", "n", "parallel_tool_calls",
    "prediction", "reasoning_effort", "stop", "store", "stream_options", "tool_choice",
    "top_logprobs", "user", "web_search_options",
))  # fmt: skip
"""What the models' schemas name."""
_MESSAGE = frozenset((
    "role", "content", "name", "tool_call_id", "tool_calls", "function_call", "refusal",
    "audio", "reasoning", "reasoning_content",
))  # fmt: skip
_TOOLING = ("tool_choice", "parallel_tool_calls")
_SEEDS = 9_999_999_999
_LEAST = 0.001  # of `top_p`
# https://github.com/cloudflare/agents/issues/1685: "AiError 5023: …"
_NO_STREAM = re.compile("not supported with stream mode", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request as that API takes it.

    Attributes:
        body: The JSON body; the model is in the path.
        dropped: Paths of fields that were left out, each once.
        changed: Paths of fields that say the same in another form, each once.
    """

    body: bytes
    dropped: tuple[str, ...]
    changed: tuple[str, ...]


def run_path(base_path: str, model: str) -> str:
    """Return the path that runs *model*, below that of the account.

    Raises:
        ValueError: *model* is empty, or no name of a model; the message says so.
    """
    if not model:
        raise ValueError("The request names no model.")
    if any(segment in ("", ".", "..") for segment in model.split("/")):
        raise ValueError("The model's name has an empty part, or one of dots.")
    try:
        return f"{base_path.rstrip('/')}/ai/run/{quote(model, safe='@/:')}"
    except UnicodeEncodeError:
        raise ValueError("The model's name is not valid text.") from None


def run_body(body: bytes) -> RunRequest:
    """Return OpenAI's request *body* as that API takes it.

    Args:
        body: The JSON body of a chat/completions request.

    Raises:
        ValueError: It cannot be translated; the message is a sentence for the client.
    """
    request = read_request(body)
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("The request has no list of messages.")
    if not all(isinstance(message, dict) for message in messages):
        raise ValueError("A message of the request is not an object.")
    fields = _Fields()
    request.pop("model", None)
    fields.keep(request, "", PARAMETERS - {*_useless(request)})
    _limits(request, fields)
    _format(request, fields)
    _tools(request, fields)
    names: dict[str, str] = {}
    for message in messages:
        _message(message, names, fields)
    return RunRequest(dumps(request), tuple(fields.dropped), tuple(fields.changed))


def refusal_means_no_stream(status: int, body: bytes) -> bool:
    """Tell whether the answer to `stream: true` means that there is no stream.

    Either in words, of JSON mode, or as a success with nothing in it, which is what
    models say that do not stream (https://github.com/cloudflare/ai/pull/396).

    Args:
        status: The HTTP status.
        body: The whole body, decoded.
    """
    value = value_in(body, body.decode(errors="replace"))
    envelope = as_object(value)
    succeeded = envelope.get("success")
    if status < HTTPStatus.BAD_REQUEST and succeeded is not False:
        return succeeded is True and "result" in envelope and not envelope["result"]
    words = message_of(envelope, status) if envelope else words_of(value)
    return bool(_NO_STREAM.search(words or ""))


class _Fields:
    """Paths of what was done; each once, in order."""

    def __init__(self) -> None:
        self.dropped: dict[str, None] = {}
        self.changed: dict[str, None] = {}

    def keep(self, part: Chunk, path: str, known: frozenset[str]) -> None:
        """Drop from *part* what is not *known*, and nulls, which stand for defaults."""
        for key in [key for key in part if key not in known or part[key] is None]:
            del part[key]
            self.dropped[path + key] = None

    def put(self, part: Chunk, path: str, key: str, value: Json) -> None:
        """Let *value* stand under *key* of *part*, if it is another."""
        if key not in part or part[key] != value:
            part[key] = value
            self.changed[path + key] = None


def _useless(request: Chunk) -> Iterable[str]:
    """Yield the keys that say nothing as they are, and may be refused."""
    if not request.get("tools"):
        yield from ("tools", *_TOOLING)
    form = request.get("response_format")
    if isinstance(form, dict) and form.get("type") == "text":
        yield "response_format"


def _limits(request: Chunk, fields: _Fields) -> None:
    """Name the limit of tokens as all models do, and keep within what they document."""
    if "max_completion_tokens" in request:
        request["max_tokens"] = request.pop("max_completion_tokens")
        fields.changed["max_completion_tokens"] = None
    seed = request.get("seed")
    if isinstance(seed, int) and not isinstance(seed, bool):
        fields.put(request, "", "seed", (seed - 1) % _SEEDS + 1)
    top_p = request.get("top_p")
    small = isinstance(top_p, Number) and 0 <= float(top_p.text) < _LEAST
    if small or (top_p == 0 and top_p is not False):
        fields.put(request, "", "top_p", Number(str(_LEAST)))


def _format(request: Chunk, fields: _Fields) -> None:
    """Unwrap a JSON schema: https://github.com/cloudflare/ai/pull/576."""
    form = request.get("response_format")
    given = as_object(as_object(form).get("json_schema"))
    schema = given.get("schema")
    if isinstance(form, dict) and isinstance(schema, dict):
        described = {
            "title": given.get("name"),
            "description": given.get("description"),
        }
        named = {
            key: text for key, text in described.items() if text and key not in schema
        }
        fields.put(form, "response_format.", "json_schema", {**named, **schema})


def _tools(request: Chunk, fields: _Fields) -> None:
    """Give each function what the older models' schema requires."""
    path = "tools[].function."
    tools = request.get("tools")
    for tool in objects_in(tools):
        given = tool.get("function")
        if not isinstance(given, dict):
            continue  # flat, which is native, or a custom one
        if not isinstance(given.get("description"), str):
            fields.put(given, path, "description", "")
        described = as_object(given.get("parameters"))
        made = {"type": "object", "properties": {}, **described}
        fields.put(given, path, "parameters", made)


def _message(message: Chunk, names: dict[str, str], fields: _Fields) -> None:
    """Write a message as it is taken.

    Args:
        message: It, to be changed in place.
        names: The names of the calls so far, by their ids; its own come in.
        fields: Takes the paths.
    """
    path = "messages[]."
    if message.get("role") == "developer":
        fields.put(message, path, "role", "system")
    refusal = message.get("refusal")
    if message.get("content") in (None, "", []) and isinstance(refusal, str):
        fields.put(message, path, "content", message.pop("refusal"))
        fields.changed[f"{path}refusal"] = None
    fields.put(message, path, "content", _content(message.get("content")))
    thought = message.get("reasoning_content")
    if thought and message.get("reasoning") in (None, "", thought):
        # The name that vLLM reads: https://github.com/cloudflare/ai/pull/451
        message["reasoning"] = message.pop("reasoning_content")
        fields.changed[f"{path}reasoning_content"] = None
    if message.get("tool_calls") == []:
        message["tool_calls"] = None
    fields.keep(message, path, _MESSAGE)
    for call in calls(message):
        name, identity = function(call).get("name"), call.get("id")
        if isinstance(identity, str) and isinstance(name, str):
            names[identity] = name
    asked = message.get("tool_call_id")
    if isinstance(asked, str) and asked in names and "name" not in message:
        fields.put(message, path, "name", names[asked])


def _content(content: Json) -> Json:
    """Return *content*, of parts that are texts one text; others stay parts."""
    if content is None:
        return ""
    parts = as_list(content)
    texts = [text for part in parts if (text := _text(part)) is not None]
    is_text = isinstance(content, list) and len(texts) == len(parts)
    return "\n".join(texts) if is_text else content


def _text(part: Json) -> str | None:
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get(kind) if kind in ("text", "refusal") else None
    return text if isinstance(text, str) else None
