"""An opening that names the role alone, without any `content`."""

from ...chat.chunks.chunk import Chunk, change_all, deltas
from ...repair.fix import DONE, ROLE, Example, Fix, chunk
from ...repair.look import Finding


class ContentMissing(Fix):
    """Open with an empty text, as OpenAI does."""

    name = "content-missing"
    changes = '`{"role": "assistant"}` -> `{"role": "assistant", "content": ""}`'
    why = "Loops that index `delta['content']` of the first chunk raise a KeyError."
    providers = ("Cerebras", "Avian", "xAI", "Vercel AI Gateway", "Novita")
    handles = Finding.ROLE_ALONE
    sources = ("https://platform.openai.com/docs/api-reference/chat-streaming",)
    spares_openai = True
    examples = (
        Example.of_event("role alone", chunk({"role": "assistant"}), ROLE),
        Example.untouched("empty text", [ROLE, chunk({}, finish="stop"), DONE]),
        Example.untouched(
            "reasoning", [chunk({"role": "assistant", "reasoning_content": "Hm"})]
        ),
        Example.untouched("later", [ROLE, chunk({"role": "assistant"})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the text to deltas that open a choice."""
        opened = [
            delta
            for index, _, delta in deltas(chunk)
            if "role" in delta and index not in self.seen.choices
        ]
        return change_all(_add, opened)


def _add(delta: Chunk) -> bool:
    if "content" in delta or any(
        delta[key] is not None for key in delta.keys() - {"role"}
    ):
        return False
    delta["content"] = ""
    return True
