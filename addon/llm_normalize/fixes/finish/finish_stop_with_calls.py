"""`finish_reason: "stop"` although the model called tools."""

from ...chat.chunks.chunk import Chunk, calls, choices, index_of, messages
from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, STOP, Example, Fix, chunk, completion, head
from ...repair.look import Finding

_CALL = head()
_OPEN = chunk({"role": "assistant", "content": None, "tool_calls": [_CALL]})


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
        Example(
            "stream",
            [_OPEN, STOP, DONE],
            [_OPEN, chunk({}, finish="tool_calls"), DONE],
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": "", "tool_calls": [_CALL]}),
            completion(
                {"role": "assistant", "content": "", "tool_calls": [_CALL]},
                finish="tool_calls",
            ),
        ),
        Example.untouched(
            "forced", [_OPEN, STOP, DONE], asked=Asked(stream=True, forced_tool=True)
        ),
        Example.untouched("text", [chunk({"content": "Hi"}), STOP, DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Repair the finish reasons of choices that sent tool calls."""
        changed = False
        for choice in choices(chunk):
            called = self.seen.choice(index_of(choice)).called
            changed |= called and self._repair(choice)
        return changed

    def body(self, body: Chunk) -> bool:
        """Repair the finish reasons beside messages with tool calls."""
        changed = [
            bool(calls(each)) and self._repair(choice)
            for choice, each in messages(body)
        ]
        return any(changed)

    def _repair(self, choice: Chunk) -> bool:
        if choice.get("finish_reason") not in ("stop", "function_call"):
            return False
        if self.asked.forced_tool:
            return False
        choice["finish_reason"] = "tool_calls"
        return True
