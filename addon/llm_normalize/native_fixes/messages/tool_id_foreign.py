"""A call with an id that clients refuse, or know already."""

from ..message_events import block, message, start
from ..native_fix import MessagesExample, NativeFix

_PACKED = "toolu-base64-ZnVuY3Rpb25zLmY6MA"
_TALK = {
    "model": "acme-1",
    "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}],
}


def _call(call_id: str) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}}


class ToolIdForeign(NativeFix):
    """Write it in Anthropic's letters; make one where it has none, or one of an earlier call."""

    name = "tool-id-foreign"
    changes = "`functions.f:0`, null, or repeated -> an id of its own"
    why = "Anthropic refuses the conversation from then on, and Claude Code mixes up the results."
    providers = (
        "Kimi",
        "claude-code-router",
        "CLIProxyAPI",
    )
    sources = (
        "https://github.com/musistudio/claude-code-router/issues/1808",
        "https://github.com/router-for-me/CLIProxyAPI/issues/1872",
    )
    examples = (
        MessagesExample(
            "other letters",
            [start(), block("tool_use", id="functions.f:0")],
            [start(), block("tool_use", id=_PACKED)],
        ),
        MessagesExample(
            "of an earlier call",
            [start(), block("tool_use", id="a")],
            [start(), block("tool_use", id="a-2")],
            request=_TALK,
        ),
        MessagesExample(
            "a body",
            [message(_call("functions.f:0"), stop_reason="tool_use")],
            [message(_call(_PACKED), stop_reason="tool_use")],
            is_body=True,
        ),
        MessagesExample.untouched("plain", [start(), block("tool_use", id="call_1")]),
    )
