"""Events without numbers, or with wrong ones."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, without


class SequenceNumberWrong(NativeFix):
    """Number them."""

    name = "sequence-number-wrong"
    changes = "`sequence_number`: missing, or not the next -> the next"
    why = (
        "Typed clients refuse an event without one, others put events into their order."
    )
    providers = ("llama.cpp", "OmniRoute", "LiteLLM")
    sources = (
        "https://github.com/diegosouzapw/OmniRoute/issues/13964",
        "https://github.com/BerriAI/litellm/pull/28899",
        "https://github.com/ggml-org/llama.cpp/pull/24957",
    )
    examples = (
        ResponsesExample(
            "none",
            [without(each, "sequence_number") for each in WHOLE],
            [
                {**without(each, "sequence_number"), "sequence_number": number}
                for number, each in enumerate(WHOLE)
            ],
        ),
        ResponsesExample(
            "from one",
            [
                {**each, "sequence_number": each["sequence_number"] + 1}
                for each in WHOLE
            ],
            WHOLE,
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
