"""Finish reasons in other words than OpenAI's."""

from ..chunk import Chunk, choices
from ..fix import DONE, Example, Fix, chunk, completion
from ..jsontext import Json

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_HI = {"role": "assistant", "content": "Hi"}
_WORDS = {
    "length": "max_tokens max_output_tokens max_new_tokens max_length model_length "
    "length_limit error_limit token_limit time_limit context_length truncated "
    "context_length_exceeded context_window_exceeded model_context_window_exceeded "
    "incomplete abort aborted cancelled canceled user_cancelled interrupted preempted "
    "timeout insufficient_system_resource repetition_truncation failed failure "
    "network_error server_error engine_error internal_error malformed_function_call",
    "tool_calls": "tool_call tool_use tool tools function_calls",
    "content_filter": "content_filter_results content_filtered contentfilter filter "
    "filtered safety image_safety recitation blocklist prohibited_content spii "
    "sensitive error_toxic refusal guardrail_intervened moderation risk",
}
_MEANT = {each: reason for reason, words in _WORDS.items() for each in words.split()}
_OWN = ("stop", "length", "tool_calls", "content_filter", "function_call")
_KEPT = ("", "error")  # other fixes' business


class FinishSynonym(Fix):
    """Say it in OpenAI's words; a reason that nobody knows ends a text like `stop`."""

    name = "finish-synonym"
    changes = "`eos`, `end_turn`, `STOP`, `max_tokens`, `tool_use`, … -> OpenAI's word"
    why = "Typed clients raise at an unknown reason; agents never run the tool."
    providers = ("Together", "Workers AI", "Gemini and Claude bridges", "Cohere")
    sources = (
        "https://github.com/openai/openai-dotnet/issues/267",
        "https://github.com/earendil-works/pi/issues/2116",
        "https://github.com/cloudflare/ai/blob/main/packages/workers-ai-provider/src/map-workersai-finish-reason.ts",
    )
    examples = (
        Example(
            "end of sequence",
            [_TEXT, chunk({}, finish="eos"), DONE],
            [_TEXT, chunk({}, finish="stop"), DONE],
        ),
        Example(
            "upper case",
            [_TEXT, chunk({}, finish="MAX_TOKENS"), DONE],
            [_TEXT, chunk({}, finish="length"), DONE],
        ),
        Example.of_body("body", completion(_HI, finish="end_turn"), completion(_HI)),
        Example.untouched("known", [_TEXT, chunk({}, finish="length"), DONE]),
        Example.untouched("failure", [_TEXT, chunk({}, finish="error")], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Translate the reasons."""
        changed = False
        for choice in choices(chunk):
            given = choice.get("finish_reason")
            if given is None or given is False or given in _OWN:
                continue
            word = _word(given)
            if word not in _KEPT:
                meant = word if word in _OWN else _MEANT.get(word, "stop")
                choice["finish_reason"] = meant
                changed = True
        return changed

    def body(self, body: Chunk) -> bool:
        """Translate the reasons."""
        return self.edit(body)


def _word(given: Json) -> str:
    if isinstance(given, dict):
        given = given.get("type") or given.get("reason")
    word = str(given).lower().partition(":")[0].strip()
    return word.replace("-", "_").replace(" ", "_")
