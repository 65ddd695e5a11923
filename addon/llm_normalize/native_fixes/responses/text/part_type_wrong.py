"""A part by another name."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, in_part, part


class PartTypeWrong(NativeFix):
    """Give it OpenAI's."""

    name = "part-type-wrong"
    changes = "`part.type`: `text`, or `output_text` of thoughts -> `output_text`, `reasoning_text`"
    why = "Clients read no part that they do not know, and find no text."
    providers = ("vLLM", "gateways")
    sources = ("https://github.com/vllm-project/vllm/pull/24788",)
    examples = (
        ResponsesExample(
            "a text",
            [
                *WHOLE[:3],
                in_part("content_part.added", 3, part=part(type="text")),
                *WHOLE[4:],
            ],
            WHOLE,
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
