"""`usage` in a choice instead of in the chunk."""

from ...chat.chunks.chunk import Chunk, choices, usage_of
from ...repair.fix import BODY, DONE, TEXT, USAGE, Example, Fix, chunk
from ...repair.look import Finding

_BARE = {key: value for key, value in BODY.items() if key != "usage"}


class UsageInChoice(Fix):
    """Put it where OpenAI has it."""

    name = "usage-in-choice"
    changes = "`choices[].usage` -> `usage`"
    why = "Clients look at the chunk and count no tokens."
    providers = ("Moonshot",)
    handles = Finding.USAGE_ELSEWHERE
    sources = (
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/providers/openai-completions.ts",
        "https://platform.moonshot.ai/docs/api/chat",
    )
    examples = (
        Example(
            "stream",
            [TEXT, chunk({}, finish="stop", choice={"usage": USAGE}), DONE],
            [TEXT, chunk({}, finish="stop", usage=USAGE), DONE],
        ),
        Example.of_body(
            "body",
            {**_BARE, "choices": [{**BODY["choices"][0], "usage": USAGE}]},
            BODY,
        ),
        Example.untouched("there", [TEXT, chunk({}, finish="stop", usage=USAGE), DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Move it."""
        changed = False
        for choice in choices(chunk):
            if "usage" in choice:
                usage = choice.pop("usage")
                if usage and not usage_of(chunk):
                    chunk["usage"] = usage
                changed = True
        return changed

    body = edit
