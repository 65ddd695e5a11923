"""Finish reasons in other words than OpenAI's."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.finish_words import FAILED, meaning
from ...repair.fix import DONE, HI, TEXT, ChoiceFix, Example, chunk, completion
from ...repair.look import Finding


class FinishSynonym(ChoiceFix):
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
            [TEXT, chunk({}, finish="eos"), DONE],
            [TEXT, chunk({}, finish="stop"), DONE],
        ),
        Example(
            "upper case",
            [TEXT, chunk({}, finish="MAX_TOKENS"), DONE],
            [TEXT, chunk({}, finish="length"), DONE],
        ),
        Example(
            "an unknown one",
            [TEXT, chunk({}, finish="that_was_it"), DONE],
            [TEXT, chunk({}, finish="stop"), DONE],
        ),
        Example.of_body("body", completion(HI, finish="end_turn"), completion(HI)),
        Example.untouched("known", [TEXT, chunk({}, finish="length"), DONE]),
        Example.untouched("failure", [TEXT, chunk({}, finish="error")], ended=False),
    )

    def choice(self, choice: Chunk) -> bool:
        """Translate its reason."""
        given = choice.get("finish_reason")
        meant = meaning(given)
        if meant in ("", FAILED, given):
            return False
        choice["finish_reason"] = meant
        return True
