"""An end that has nothing of its text."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, WHOLE, done, message, of_call


class TextDoneEmpty(NativeFix):
    """Put in what its deltas have said."""

    name = "text-done-empty"
    changes = (
        "`text`, `arguments` or `content` of an end: empty or missing -> the whole"
    )
    why = "Codex and openai-python take the answer from there, and have nothing; LM Studio's calls lose their arguments."
    providers = ("LM Studio", "agentgateway", "vLLM")
    sources = (
        "https://github.com/openclaw/openclaw/pull/90593",
        "https://github.com/agentgateway/agentgateway/pull/2281",
    )
    examples = (
        ResponsesExample(
            "arguments",
            [*CALLED[:4], of_call("done", 4, arguments=""), *CALLED[5:]],
            CALLED,
        ),
        ResponsesExample(
            "a message",
            [*WHOLE[:7], done(7, message("Hi", content=[])), WHOLE[8]],
            WHOLE,
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
