"""A user's message behind a result, where the model has to answer first."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced
from ...message_forms import NOTHING, with_answers_between, with_messages

_WORDS = b"{\"message\":\"Unexpected role 'user' after role 'tool'\"}"
_RESULT = {"role": "tool", "tool_call_id": "c", "content": "sunny"}
_BETWEEN = {"role": "assistant", "content": NOTHING}


class UserAfterTool(Adaptation):
    """Put an answer that says nothing between them: the user's words stay the user's."""

    name = "user-after-tool"
    changes = (
        "a tool's and a user's message -> an answer that says nothing between them"
    )
    why = "Mistral answers 400, `invalid_request_message_order`."
    key = "tool"
    sources = (
        "https://github.com/mistralai/mistral-common/issues/169",
        "https://github.com/nicholasgriffintn/ai-platform/issues/414",
    )
    examples = (
        RequestExample(
            "one",
            {"messages": [_RESULT, *HI]},
            {"messages": [_RESULT, _BETWEEN, *HI]},
            _WORDS,
        ),
        RequestExample.untouched(
            "an answer", {"messages": [_RESULT, _BETWEEN, *HI]}, _WORDS
        ),
        RequestExample.untouched("no result", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put one between them."""
        return replaced(body, "messages", with_messages(body, with_answers_between))
