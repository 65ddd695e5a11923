"""A request for a message, as one for a chat completion."""

import re

from ...wire.json_text import Json, as_object
from ..calls import ToolNames
from ..protocol import JsonObject, UntranslatableError
from ..template import WITHOUT_THOUGHTS, continued
from .content import Dropped, blocks_of, parts_of
from .errors import THREAD_NOT_FOUND
from .tools import put_tools
from .turns import Conversation

_SAME = {
    "model": "model",
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop_sequences": "stop",
}
_TAKEN = {
    *_SAME, "messages", "system", "tools", "tool_choice", "stream", "output_config",
    "output_format", "mcp_servers",
}  # fmt: skip
# Claude Code puts a line for Anthropic's bills before its system prompt. Its checksum is
# another one in each request, so a provider's cache of prompts would never hit.
_BILLING = re.compile(r"\s*x-anthropic-billing-header:[^\n]*\n?")


def chat_request(
    request: JsonObject, *, by_template: bool
) -> tuple[JsonObject, tuple[str, ...], ToolNames]:
    """Translate the body of a request.

    What asks for thoughts is dropped (`thinking`, `output_config.effort`). Claude Code sends
    it with each request, whether its user chose it or not, and its levels are Anthropic's:
    as `reasoning_effort`, models that know no such thing would refuse all of its requests.

    Args:
        request: The body.
        by_template: Whether its provider takes parameters for the template of its model:
            one says that no thoughts are wanted, others that an answer is begun.

    Returns:
        The body, paths of what has no place in it, and its names for the tools.

    Raises:
        UntranslatableError: Chat has no place for what it asks.
    """
    _refuse_stored(request.get("thread"))
    dropped, tools = Dropped(), ToolNames()
    conversation = Conversation(tools, dropped)
    conversation.take(request.get("messages"))
    system = _system(request.get("system"), dropped)
    system += [part["text"] for part in conversation.system if part["type"] == "text"]
    messages = conversation.messages
    if system:
        first: JsonObject = {"role": "system", "content": "\n\n".join(system)}
        messages = [first, *messages]
    chat: JsonObject = {}
    for key, name in _SAME.items():
        value = request.get(key)
        if value is not None and value != []:
            chat[name] = value
    chat["messages"] = messages
    put_tools(request, conversation.tool_changes, chat, tools, dropped)
    _put_format(request, chat, dropped)
    if request.get("stream") is True:
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    taken = {*_TAKEN}
    if by_template:
        chat |= continued(messages)
        if as_object(request.get("thinking")).get("type") == "disabled":
            chat |= WITHOUT_THOUGHTS
            taken.add("thinking")
    dropped.beside("", request, taken)
    return chat, dropped.paths, tools


def _refuse_stored(thread: Json) -> None:
    """Refuse to go on with a conversation that the server has to know.

    Anthropic's SDKs then send all of it. They may ask to store one, as nobody sees whether
    it was done before it goes on.

    Raises:
        UntranslatableError: The request does that.
    """
    if isinstance(thread, dict) and thread.get("type") != "create":
        words = "thread: no conversation is stored here, so all its messages are needed"
        raise UntranslatableError(words, "thread", THREAD_NOT_FOUND)


def _system(system: Json, dropped: Dropped) -> list[str]:
    path = "system[]"
    texts = []
    for block in blocks_of(system, "system"):
        for part in parts_of(block, path, dropped):
            text = part.get("text", "")
            rest = _BILLING.sub("", text, count=1) if _BILLING.match(text) else text
            if rest != text:
                dropped.add(f"{path}.x-anthropic-billing-header")
            texts.append(rest)
    return [text for text in texts if text]


def _put_format(request: JsonObject, chat: JsonObject, dropped: Dropped) -> None:
    """Ask for JSON of a schema, by either of the two names that this has."""
    given = request.get("output_config")
    config = as_object(given)
    dropped.beside("output_config", config, {"format"})
    wanted = config.get("format") or request.get("output_format")
    if isinstance(wanted, dict) and isinstance(wanted.get("schema"), dict):
        named = {"name": "output", "schema": wanted["schema"]}
        chat["response_format"] = {"type": "json_schema", "json_schema": named}
