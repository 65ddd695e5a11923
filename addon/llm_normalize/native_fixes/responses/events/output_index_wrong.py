"""Events that do not say which item or part they belong to."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, without

PLACES = ("output_index", "content_index")
PLACE = dict.fromkeys(PLACES, 0)


class OutputIndexWrong(NativeFix):
    """Say it."""

    name = "output-index-wrong"
    changes = "`output_index`, `content_index`, `summary_index`: missing, wrong or nested -> the place"
    why = "Clients put all of it into the first item, or raise."
    providers = ("Lemonade", "llama.cpp", "LiteLLM", "vLLM")
    sources = (
        "https://github.com/lemonade-sdk/lemonade/issues/3607",
        "https://github.com/tontinton/maki/pull/514",
        "https://github.com/davidmigloz/ai_clients_dart/pull/243",
        "https://github.com/BerriAI/litellm/pull/36375",
    )
    examples = (
        ResponsesExample(
            "none",
            [*WHOLE[:4], without(WHOLE[4], *PLACES), *WHOLE[5:]],
            [*WHOLE[:4], {**without(WHOLE[4], *PLACES), **PLACE}, *WHOLE[5:]],
        ),
        ResponsesExample(
            "counted", [*WHOLE[:4], {**WHOLE[4], "content_index": 7}, *WHOLE[5:]], WHOLE
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
