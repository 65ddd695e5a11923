"""Finish reasons that do not fit the calls of their choice."""

from ..chat.chunks.chunk import Chunk, calls, choices, functions, index_of, messages
from ..chat.state.asked import Asked
from ..chat.state.repeated_arguments import is_cut
from ..repair.fix import (
    DONE,
    HI,
    LENGTH,
    STOP,
    TEXT,
    TOOL_CALLS,
    Example,
    Fix,
    calling,
    chunk,
    completion,
    head,
    rest,
)
from ..repair.look import Finding

_MESSAGE = {"role": "assistant", "content": "", "tool_calls": [head()]}
_OPEN = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})


# `finish_reason: "stop"` although the model called tools.
class FinishStopWithCalls(Fix):
    """Say `tool_calls`, unless the request forced a tool: OpenAI says `stop` then."""

    name = "finish-stop-with-calls"
    changes = '`"stop"`, `"function_call"` after tool calls -> `"tool_calls"`'
    why = "Agents that look at the finish reason never run the tool."
    providers = ("SGLang", "Workers AI", "mlx-vlm")
    handles = Finding.FINISH_OF_CALL
    sources = (
        "https://github.com/sgl-project/sglang/issues/2877",
        "https://github.com/cloudflare/ai/issues/192",
        "https://github.com/ENTERPILOT/GoModel/issues/124",
    )
    spares_openai = True
    examples = (
        Example("stream", [_OPEN, STOP, DONE], [_OPEN, TOOL_CALLS, DONE]),
        Example.of_body(
            "body", completion(_MESSAGE), completion(_MESSAGE, finish="tool_calls")
        ),
        Example.untouched(
            "forced", [_OPEN, STOP, DONE], asked=Asked(stream=True, forced_tool=True)
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Repair the finish reasons of choices that sent tool calls."""
        seen = self.seen
        found = [each for each in choices(chunk) if seen.choice(index_of(each)).called]
        return self._repair(found)

    def body(self, body: Chunk) -> bool:
        """Repair the finish reasons beside messages with tool calls."""
        return self._repair([choice for choice, part in messages(body) if calls(part)])

    def _repair(self, found: list[Chunk]) -> bool:
        is_due = not self.asked.forced_tool
        return is_due and _reword(found, ("stop", "function_call"), "tool_calls")


# `finish_reason: "tool_calls"` although no tool was called.
class FinishWithoutCall(Fix):
    """Say `stop` where the answer calls nothing.

    In a stream the reason waits for one event: there are providers that send it first.
    """

    name = "finish-without-call"
    changes = '`"tool_calls"`, `"function_call"` without a call -> `"stop"`'
    why = "Agents look for a call to run, and fail or ask again without end."
    providers = ("GitHub Copilot", "gateways to Gemini", "Ollama behind Open WebUI")
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/75926",
        "https://github.com/mastra-ai/mastra/issues/14187",
        "https://github.com/open-webui/open-webui/issues/23066",
    )
    examples = (
        Example("stream", [TEXT, TOOL_CALLS, DONE], [TEXT, STOP, DONE]),
        Example.of_body(
            "body", completion(HI, finish="tool_calls"), completion(HI, finish="stop")
        ),
        Example.untouched("length", [TEXT, LENGTH, DONE]),
    )

    def body(self, body: Chunk) -> bool:
        """Repair the reasons beside messages without a call."""
        found = [
            choice
            for choice, message in messages(body)
            if not (message.get("tool_calls") or message.get("function_call"))
        ]
        return _reword(found, ("tool_calls", "function_call"), "stop")


_HEAD, _CUT = calling(head()), calling(rest(0, '{"a":"b'))
_BODY = {"role": "assistant", "content": None, "tool_calls": [head(0, '{"a":')]}


# Another finish reason than `length` after a tool call that was cut.
class FinishCallCut(Fix):
    """Say `length`: only the limit of tokens ends an answer within an object."""

    name = "finish-call-cut"
    changes = '`"tool_calls"`, `"stop"` after unfinished arguments -> `"length"`'
    why = "Agents run the call, or ask for it again and again, as its arguments are invalid."
    providers = ("vLLM",)
    sources = (
        "https://github.com/vllm-project/vllm/issues/53269",
        "https://github.com/vllm-project/vllm/issues/46303",
    )
    examples = (
        Example("stream", [_HEAD, _CUT, TOOL_CALLS, DONE], [_HEAD, _CUT, LENGTH, DONE]),
        Example.of_body(
            "body",
            completion(_BODY, finish="tool_calls"),
            completion(_BODY, finish="length"),
        ),
        Example.untouched("whole", [_HEAD, calling(rest()), TOOL_CALLS, DONE]),
        Example.untouched(
            "no JSON", [_HEAD, calling(rest(0, "{a: 1")), TOOL_CALLS, DONE]
        ),
    )

    def body(self, body: Chunk) -> bool:
        """Repair the reasons beside messages with such a call."""
        found = [
            choice
            for choice, message in messages(body)
            if any(map(_is_cut, functions(message)))
        ]
        return _reword(found, ("tool_calls", "function_call", "stop"), "length")


def _is_cut(called: Chunk) -> bool:
    arguments = called.get("arguments")
    return isinstance(arguments, str) and is_cut(arguments)


def _reword(found: list[Chunk], given: tuple[str, ...], reason: str) -> bool:
    """Finish for a *reason* the choices that have one of those *given*; tell whether any."""
    due = [choice for choice in found if choice.get("finish_reason") in given]
    for choice in due:
        choice["finish_reason"] = reason
    return bool(due)
