"""Finish reasons in other words than OpenAI's."""

from ...chat.chunks.chunk import Chunk, choices
from ...chat.chunks.finish_words import FAILED, meaning
from ...repair.fix import DONE, Example, Fix, chunk, completion
from ...repair.look import Finding

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_HI = {"role": "assistant", "content": "Hi"}


class FinishSynonym(Fix):
    """Say it in OpenAI's words; a failure is the fix `finish-error`'s."""

    name = "finish-synonym"
    changes = "`eos`, `end_turn`, `STOP`, `max_tokens`, `tool_use`, … -> OpenAI's word"
    why = "Typed clients raise at an unknown reason; agents never run the tool."
    providers = ("Together", "Workers AI", "Gemini and Claude bridges", "Cohere")
    handles = Finding.ODD_FINISH
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
        Example(
            "an unknown one",
            [_TEXT, chunk({}, finish="that_was_it"), DONE],
            [_TEXT, chunk({}, finish="stop"), DONE],
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
            meant = meaning(given)
            if meant not in ("", FAILED, given):
                choice["finish_reason"] = meant
                changed = True
        return changed

    body = edit
