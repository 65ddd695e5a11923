"""`finish_reason: "tool_calls"` although no tool was called."""

from ...chat.chunks.chunk import Chunk, calls, choices, deltas, index_of, messages
from ...chat.finish_words import finished_of
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Fix, calling, chunk, completion, head, rest
from ...repair.outcome import Outgoing

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_HI = {"role": "assistant", "content": "Hi"}
_STOP = chunk({}, finish="stop")
_CALLS = chunk({}, finish="tool_calls")
_REASONS = ("tool_calls", "function_call")


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
    end_hooks = (EndHook.FINISH, EndHook.GOES_ON_FINISHED, EndHook.SENT_FINISH)
    examples = (
        Example("stream", [_TEXT, _CALLS, DONE], [_TEXT, _STOP, DONE]),
        Example.of_body(
            "body", completion(_HI, finish="tool_calls"), completion(_HI, finish="stop")
        ),
        Example.untouched(
            "call", [_TEXT, calling(head()), calling(rest()), _CALLS, DONE]
        ),
        Example.untouched("length", [_TEXT, chunk({}, finish="length"), DONE]),
    )

    def body(self, body: Chunk) -> bool:
        """Repair the reasons beside messages without a call."""
        wrong = [
            choice
            for choice, message in messages(body)
            if choice.get("finish_reason") in _REASONS
            and not (message.get("tool_calls") or message.get("function_call"))
        ]
        for choice in wrong:
            choice["finish_reason"] = "stop"
        return bool(wrong)

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Let the reason wait, behind its calls; repair it if there is none yet."""
        if hook is EndHook.GOES_ON_FINISHED:
            return self._overtakes(end, outgoing)
        wrong = [
            choice
            for choice in choices(outgoing.chunk)
            if choice.get("finish_reason") in _REASONS
            and not self.seen.choice(index_of(choice)).has_call
        ]
        if hook is EndHook.SENT_FINISH and not end.may_lack:
            for choice in wrong:
                choice["finish_reason"] = "stop"
                outgoing.fixed(self.name)
        # What waits for a name does so until the end.
        return bool({index_of(choice) for choice in wrong} - self.seen.unnamed)

    def _overtakes(self, end: EndState, outgoing: Outgoing) -> bool:
        """Let the calls of *outgoing* be sent before the finish of their choice."""
        assert end.finish is not None
        over = finished_of(end.finish.chunk)
        found = [delta for index, _, delta in deltas(outgoing.chunk) if index in over]
        if not any(calls(delta) or delta.get("function_call") for delta in found):
            return False
        end.overtake_finish(self.name)
        return True
