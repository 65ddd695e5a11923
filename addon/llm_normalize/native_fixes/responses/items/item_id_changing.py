"""Another id of an item in each of its events, or none."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, done, message


class ItemIdChanging(NativeFix):
    """Give all of its events the id of its beginning."""

    name = "item-id-changing"
    changes = "`item_id` and `item.id`: missing, or another in each event -> that of the first"
    why = "AI SDK and opencode stop: they know no text or thought of that id."
    providers = ("GitHub Copilot", "mistral.rs", "Bifrost", "LiteLLM", "vLLM")
    sources = (
        "https://github.com/BerriAI/litellm/issues/30071",
        "https://github.com/vercel/ai/pull/18548",
        "https://github.com/vercel/ai/pull/14420",
        "https://github.com/ggml-org/llama.cpp/pull/24882",
    )
    examples = (
        ResponsesExample(
            "in a delta",
            [*WHOLE[:4], {**WHOLE[4], "item_id": "msg_x"}, *WHOLE[5:]],
            WHOLE,
        ),
        ResponsesExample(
            "at the end",
            [*WHOLE[:7], done(7, message("Hi", id="msg_x")), WHOLE[8]],
            WHOLE,
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
