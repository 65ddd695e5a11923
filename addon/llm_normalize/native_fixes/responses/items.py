"""The items of an output: their beginnings, ends and fields."""

from ..native_fix import NativeFix, ResponsesExample
from ..response_events import (
    CALLED,
    WHOLE,
    added,
    begin,
    call,
    changed,
    done,
    message,
    put,
    without,
)


# Another id of an item in each of its events, or none.
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
        ResponsesExample("in a delta", changed(WHOLE, 4, item_id="msg_x"), WHOLE),
        ResponsesExample(
            "at the end", put(WHOLE, 7, done(7, message("Hi", id="msg_x"))), WHOLE
        ),
    )


LATER = WHOLE[3:8]


# Events of an item that has not begun.
class ItemAddedMissing(NativeFix):
    """Put in its beginning."""

    name = "item-added-missing"
    changes = "no `response.output_item.added` -> put in"
    why = "Codex drops the text and logs a delta without an item; opencode and openai-python stop."
    providers = ("LiteLLM", "vLLM", "sub2api", "agentic-api")
    sources = (
        "https://github.com/BerriAI/litellm/issues/22102",
        "https://github.com/BerriAI/litellm/issues/41185",
        "https://github.com/vllm-project/agentic-api/issues/62",
        "https://github.com/vllm-project/vllm/issues/48274",
        "https://github.com/openai/codex/pull/12798",
    )
    examples = (
        ResponsesExample(
            "a text", [*begin(), *LATER], [*begin(), added(2, message()), *LATER]
        ),
        ResponsesExample(
            "only its end",
            [*begin(), done(3, call("{}"))],
            [*begin(), added(2, call()), done(3, call("{}"))],
        ),
    )


# An item that is whole at its beginning.
class ItemAddedWhole(NativeFix):
    """Begin it without what it says, which comes in its own events."""

    name = "item-added-whole"
    changes = (
        "`item` with `content` or `arguments` in `response.output_item.added` -> empty"
    )
    why = "Clients add the deltas to what is there already, and have it twice."
    providers = ("llama.cpp", "gateways")
    sources = ("https://github.com/ggml-org/llama.cpp/pull/24957",)
    examples = (
        ResponsesExample(
            "a call",
            [*begin(), added(2, call("{}", status="in_progress")), *CALLED[3:]],
            CALLED,
        ),
    )


THOUGHT = {"id": "rs_0", "type": "reasoning", "status": "completed", "summary": []}
NEXT = added(3, message(), 1)


# An item that does not end, or only behind the next.
class ItemDoneMissing(NativeFix):
    """Put in its end: before another text, or at the end of the response. A late one is dropped."""

    name = "item-done-missing"
    changes = "no `response.output_item.done`, or a late one -> in time"
    why = "Codex runs no call and keeps no text that has not ended."
    providers = ("LiteLLM", "vLLM", "OpenRouter")
    sources = (
        "https://github.com/openai/codex/pull/12798",
        "https://github.com/vllm-project/vllm/issues/48274",
        "https://github.com/Oaklight/llm-rosetta/issues/408",
    )
    examples = (
        ResponsesExample("at the end", [*WHOLE[:7], WHOLE[8]], WHOLE),
        ResponsesExample(
            "late",
            [*begin(), added(2, THOUGHT), NEXT, done(4, THOUGHT)],
            [*begin(), added(2, THOUGHT), done(3, THOUGHT), NEXT],
        ),
        ResponsesExample.untouched("a stream that breaks off", WHOLE[:7]),
    )


# Items without what one of their kind always has.
class ItemFieldsMissing(NativeFix):
    """Put it in."""

    name = "item-fields-missing"
    changes = "no `status`, `role`, `content` or `summary` -> put in"
    why = "Typed clients refuse the item, and the AI SDK and opencode the stream."
    providers = ("OmniRoute", "Bifrost", "new-api")
    sources = (
        "https://github.com/diegosouzapw/OmniRoute/issues/13964",
        "https://github.com/EratoLab/erato/pull/649",
    )
    examples = (
        ResponsesExample(
            "a message",
            [*begin(), added(2, without(message(), "role", "content")), *WHOLE[3:]],
            [
                *begin(),
                added(
                    2,
                    {
                        **without(message(), "role", "content"),
                        "role": "assistant",
                        "content": [],
                    },
                ),
                *WHOLE[3:],
            ],
        ),
    )


# An item whose content is a text.
class ItemTextBare(NativeFix):
    """Make it a part."""

    name = "item-text-bare"
    changes = "`content` or `summary`: a string -> a list of one part"
    why = "Clients look for parts, and find none."
    providers = ("gateways",)
    sources = ("https://github.com/agentgateway/agentgateway/pull/2281",)
    examples = (
        ResponsesExample(
            "a message",
            put(WHOLE, 7, done(7, {**message("Hi"), "content": "Hi"})),
            WHOLE,
        ),
    )
