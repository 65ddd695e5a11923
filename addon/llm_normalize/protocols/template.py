"""Parameters for the template by which some providers make a prompt of messages."""

from .protocol import JsonObject

THOUGHTS = ("enable_thinking", "thinking")
"""How templates call the variable that turns thoughts on: each reads one of them."""
WITHOUT_THOUGHTS: JsonObject = {
    "chat_template_kwargs": dict.fromkeys(THOUGHTS, False),
}


def continued(messages: list[JsonObject]) -> JsonObject:
    """Return the parameters by which the model goes on with the last of *messages*.

    Nothing, unless that is text of the assistant: its template would close it, and the
    answer begin anew.
    """
    last = messages[-1] if messages else {}
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return {}
    return {"continue_final_message": True, "add_generation_prompt": False}
