"""A request of the Responses protocol as one for chat completions."""

from ...wire.json_text import Json, as_list, as_object
from ..protocol import NONE, Circumstances, JsonObject, UntranslatableError
from ..template import THOUGHTS
from .compaction import PATH, PROMPT, asks_for_summary
from .history import History
from .tools import Tools

_STORED = "Nothing is stored here. Send the whole conversation in `input`."
_REFUSED = {
    "previous_response_id": (_STORED, "previous_response_not_found"),
    "conversation": (_STORED, "conversation_not_found"),
    "prompt": ("Templates of prompts are stored at OpenAI only.", None),
    "background": ("An answer in the background cannot be fetched here.", None),
}
"""What would change the meaning if it were dropped, with the sentence and the code."""
_SAME = (
    "temperature", "top_p", "user", "stop", "seed", "presence_penalty",
    "frequency_penalty", "logit_bias", "top_k", "min_p", "chat_template_kwargs",
)  # fmt: skip
"""What has the same name in chat, or is an extension that clients know by chat's name."""
_LOGPROBS = "message.output_text.logprobs"
_NO_EFFORT = "none"


class RequestTranslation:
    """One request, translated.

    Attributes:
        body: The body for chat completions.
        tools: The names of tools, and the way back.
        dropped: Paths of what has no place in chat.
        is_summary: Whether a summary is asked for, in the place of an answer.
    """

    def __init__(self, request: JsonObject, under: Circumstances = NONE) -> None:
        self._given = {key: each for key, each in request.items() if each is not None}
        self._refuse()
        self._seen = {"model", "input", "instructions", "tools", *_REFUSED, *_SAME}
        self.tools = Tools()
        self.tools.add(self._given.get("tools"), "tools")
        self.is_summary = under.end.endswith(PATH) or asks_for_summary(request)
        stored = under.items.find if under.items else _nothing
        history = History(self._items(), self.tools, stored=stored)
        for change in history.changes:
            self._change(change)
        self.dropped: list[str] = [*history.dropped, *self.tools.dropped]
        messages, system = history.messages, history.system
        if system and not any(each["role"] == "user" for each in messages):
            # Templates refuse a conversation in which nobody asks anything.
            asked, system = "\n\n".join(filter(None, system)), []
            messages = [{"role": "user", "content": asked}, *messages]
        if not messages:
            raise UntranslatableError("`input` has no message.", "input")
        self.body: JsonObject = {
            **({"model": self._given["model"]} if "model" in self._given else {}),
            "messages": [*self._system(system), *messages],
        }
        self._add_tools()
        if self.is_summary:
            messages.append({"role": "user", "content": PROMPT})
            self.body["messages"].append(messages[-1])
            # They stay, since they are in the prompt's head.
            self.body |= {"tool_choice": "none"} if "tools" in self.body else {}
        self._add_parameters()
        if under.by_template:
            self._add_template()
        self._add_stream()
        self.dropped += [key for key in self._given if key not in self._seen]

    def _refuse(self) -> None:
        for key, (message, code) in _REFUSED.items():
            if self._given.get(key):
                raise UntranslatableError(message, key, code)

    def _items(self) -> list[Json]:
        given = self._given.get("input")
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        if not isinstance(given, list):
            raise UntranslatableError("`input` has to be text or a list.", "input")
        return given

    def _system(self, texts: list[str]) -> list[JsonObject]:
        """Return one leading system message: many templates refuse any other."""
        given = self._given.get("instructions")
        if isinstance(given, list):
            items = History(given, self.tools, "instructions")
            if items.messages:
                message = "Only instructions have a place in `instructions`."
                raise UntranslatableError(message, "instructions")
            texts = [*items.system, *texts]
        elif isinstance(given, str):
            texts = [given, *texts]
        elif given is not None:
            message = "`instructions` have to be text."
            raise UntranslatableError(message, "instructions")
        whole = "\n\n".join(filter(None, texts))
        return [{"role": "system", "content": whole}] if whole else []

    def _change(self, item: JsonObject) -> None:
        """Let an item of the conversation change a parameter from there on, so at its end."""
        for key in ("reasoning", "text"):
            if isinstance(item.get(key), dict):
                self._given[key] = {**as_object(self._given.get(key)), **item[key]}

    def _add_tools(self) -> None:
        self._seen |= {"tool_choice", "parallel_tool_calls"}
        chosen, choice = self.tools.chosen(self._given.get("tool_choice"))
        if chosen:
            self.body["tools"] = chosen
            if choice is not None:
                self.body["tool_choice"] = choice
            if "parallel_tool_calls" in self._given:
                self.body["parallel_tool_calls"] = self._given["parallel_tool_calls"]
        lost = {"tool_choice", "parallel_tool_calls"} & self._given.keys()
        self.dropped += sorted(lost - self.body.keys())

    def _add_parameters(self) -> None:
        body, given = self.body, self._given
        body |= {key: given[key] for key in _SAME if key in given}
        if "max_output_tokens" in given:
            # Its newer name is not known to all who know this one.
            body["max_tokens"] = given["max_output_tokens"]
        reasoning, text = (
            as_object(given.get("reasoning")),
            as_object(given.get("text")),
        )
        if reasoning.get("effort") is not None:
            body["reasoning_effort"] = reasoning["effort"]
        response_format = _response_format(text.get("format"))
        if response_format:
            body["response_format"] = response_format
        if given.get("top_logprobs") or _LOGPROBS in as_list(given.get("include")):
            body["logprobs"] = True
            body["top_logprobs"] = given.get("top_logprobs", 0)
        self._seen |= {"max_output_tokens", "reasoning", "text", "top_logprobs"}
        parts = (("reasoning", reasoning, "effort"), ("text", text, "format"))
        self.dropped += [
            f"{name}.{key}"
            for name, part, known in parts
            for key in part
            if key != known and part[key] is not None
        ]

    def _add_template(self) -> None:
        """Say whether thoughts are wanted, as templates of models read it."""
        effort = self.body.get("reasoning_effort")
        if effort is not None:
            if effort == _NO_EFFORT:
                del self.body["reasoning_effort"]
            given = as_object(self.body.get("chat_template_kwargs"))
            thoughts = dict.fromkeys(THOUGHTS, effort != _NO_EFFORT)
            self.body["chat_template_kwargs"] = {**thoughts, **given}

    def _add_stream(self) -> None:
        self._seen |= {"stream"}
        if "stream" in self._given:
            self.body["stream"] = self._given["stream"]
        if self.body.get("stream"):
            self.body["stream_options"] = {"include_usage": True}


def _nothing(_: str) -> None:
    """Find no item of an earlier answer."""


def _response_format(given: Json) -> JsonObject | None:
    form = as_object(given)
    kind = form.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": kind}
    if kind == "json_schema":
        keys = ("name", "description", "schema", "strict")
        schema = {key: form[key] for key in keys if form.get(key) is not None}
        return {"type": kind, "json_schema": {"name": "response", **schema}}
    message = f"Chat completions have no place for the format {kind!r}."
    raise UntranslatableError(message, "text.format.type")
