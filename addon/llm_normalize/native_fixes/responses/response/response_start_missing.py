"""A response that begins with its text."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, begin, end, message

END = end(2, message("Hi"))


class ResponseStartMissing(NativeFix):
    """Put in the events of its beginning."""

    name = "response-start-missing"
    changes = "no `response.created` or `response.in_progress` -> put in"
    why = "openai-python raises at any other first event, and the AI SDK has no id and no model."
    providers = ("LiteLLM", "gateways")
    sources = (
        "https://github.com/BerriAI/litellm/issues/22102",
        "https://github.com/openai/openai-python/issues/2852",
    )
    examples = (
        ResponsesExample("only the end", [END], [*begin(), END]),
        ResponsesExample("one of two", [begin()[0], *WHOLE[2:]], WHOLE),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
