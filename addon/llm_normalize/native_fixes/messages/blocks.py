"""The blocks of a message: their order, and what they say."""

from ..message_events import block, delta, end, message, start, stop
from ..native_fix import MessagesExample, NativeFix

_REST = [delta("text_delta", "Hi"), stop()]


# Text or thoughts without the start of their block.
class BlockStartMissing(NativeFix):
    """Begin the block."""

    name = "block-start-missing"
    changes = "no `content_block_start` -> one before the first delta"
    why = "SDKs look up the block of a delta, and raise."
    providers = ("LiteLLM", "AIClient2API")
    sources = ("https://github.com/anthropics/anthropic-sdk-python/pull/1273",)
    examples = (
        MessagesExample("of text", [start(), *_REST], [start(), block("text"), *_REST]),
        MessagesExample.untouched(
            "an input", [start(), delta("input_json_delta", "{}")]
        ),
    )


_INPUT = [delta("input_json_delta", "{}"), stop()]


# A block that starts twice.
class BlockStartRepeated(NativeFix):
    """Drop the second start, if nothing was between."""

    name = "block-start-repeated"
    changes = "a second `content_block_start` of a block -> removed"
    why = "The call stands twice in the message, once without its input."
    providers = ("gateways",)
    sources = ("https://github.com/danielalves96/claude-code-provider-gateway/pull/2",)
    examples = (
        MessagesExample.begun(
            "of a call",
            [block("tool_use"), block("tool_use"), *_INPUT],
            [block("tool_use"), *_INPUT],
        ),
    )


_OPEN = [start(), block("text"), delta("text_delta", "Hi")]
_SECOND = [block("tool_use", 1), delta("input_json_delta", "{}", 1)]


# A block that does not end before what follows it.
class BlockStopMissing(NativeFix):
    """End it."""

    name = "block-stop-missing"
    changes = "no `content_block_stop` -> one before the next block, or the end"
    why = "Claude Code and the AI SDK emit a block, and run a call, at its stop."
    providers = ("LiteLLM", "codebuddy2api", "axonhub")
    sources = (
        "https://github.com/looplj/axonhub/pull/1677",
        "https://github.com/orangeboyChen/codebuddy2api/pull/11",
    )
    examples = (
        MessagesExample(
            "two blocks",
            [*_OPEN, *_SECOND, end("tool_use")],
            [*_OPEN, stop(), *_SECOND, stop(1), end("tool_use")],
        ),
        MessagesExample.untouched("broken off", _OPEN),
    )


_TEXT = [start(), block("text"), delta("text_delta", "Hi"), stop()]


# A stop of no block that is open.
class BlockStopRepeated(NativeFix):
    """Drop it."""

    name = "block-stop-repeated"
    changes = "`content_block_stop` without an open block -> removed"
    why = "Claude Code says `Content block not found`, and the turn fails."
    providers = ("Bifrost", "CLIProxyAPI")
    sources = ("https://github.com/maximhq/bifrost/pull/4890",)
    examples = (MessagesExample("twice", [*_TEXT, stop()], _TEXT),)


def _text(index: int) -> list[dict[str, object]]:
    return [block("text", index), delta("text_delta", "Hi", index), stop(index)]


# Blocks with other indexes than their places.
class BlockIndexWrong(NativeFix):
    """Count them from 0, in order."""

    name = "block-index-wrong"
    changes = "`index` missing, repeated, or with gaps -> 0, 1, 2 …"
    why = "SDKs write into another block, or say `Content block not found`."
    providers = ("z.ai", "MiniMax", "Kimi", "Bifrost")
    sources = (
        "https://github.com/MadAppGang/claudish/pull/127",
        "https://github.com/vercel/ai/pull/11771",
    )
    examples = (
        MessagesExample.begun(
            "with a gap", [*_text(0), *_text(2)], [*_text(0), *_text(1)]
        ),
        MessagesExample.begun(
            "all the same", [*_text(0), *_text(0)], [*_text(0), *_text(1)]
        ),
    )


_FIRST = [
    block("tool_use"),
    delta("input_json_delta", "{"),
    delta("input_json_delta", "}"),
]


# Blocks that take turns.
class BlockInterleaved(NativeFix):
    """Send one after the other: what belongs to a later one waits for the end of the first."""

    name = "block-interleaved"
    changes = "a block that begins in another -> behind it"
    why = "Clients know of one open block alone, and mix the inputs of calls."
    providers = ("LiteLLM", "gateways of chat")
    sources = ("https://github.com/danielalves96/claude-code-provider-gateway/pull/2",)
    examples = (
        MessagesExample.begun(
            "two calls",
            [*_FIRST[:2], *_SECOND, _FIRST[2], stop(), stop(1)],
            [*_FIRST, stop(), *_SECOND, stop(1)],
        ),
    )


_BARE_CALL = {"type": "tool_use", "id": "toolu_0", "name": "f"}
_BARE = {"type": "content_block_start", "index": 0, "content_block": _BARE_CALL}


# A block that begins without what its kind has.
class BlockFieldsMissing(NativeFix):
    """Put in what is missing, empty."""

    name = "block-fields-missing"
    changes = "`text`, `thinking`, `signature`, `input` missing -> empty"
    why = "Strict clients refuse the event; others add to nothing."
    providers = ("llama.cpp", "cc-switch", "MiniMax")
    sources = (
        "https://github.com/ggml-org/llama.cpp/pull/22960",
        "https://github.com/anthropics/anthropic-sdk-csharp/pull/181",
    )
    examples = (
        MessagesExample("of a call", [start(), _BARE], [start(), block("tool_use")]),
        MessagesExample.begun("null", [block("text", text=None)], [block("text")]),
    )


# Text, or thoughts, in the start of their block.
class TextInStart(NativeFix):
    """Send them as deltas."""

    name = "text-in-start"
    changes = "`text` in `content_block_start` -> a delta"
    why = "The AI SDK reads deltas alone: the text is lost."
    providers = ("gateways that replay whole messages",)
    sources = ("https://platform.claude.com/docs/en/build-with-claude/streaming",)
    examples = (
        MessagesExample.begun(
            "of text",
            [block("text", text="Hi"), stop()],
            [block("text"), delta("text_delta", "Hi"), stop()],
        ),
        MessagesExample.begun(
            "signed thoughts",
            [block("thinking", signature="s"), delta("thinking_delta", "a"), stop()],
            [
                block("thinking"),
                delta("thinking_delta", "a"),
                delta("signature_delta", "s"),
                stop(),
            ],
        ),
    )


# Thoughts in a block of text, or text in one of a call.
class DeltaOfOtherKind(NativeFix):
    """Begin a block of their own for them."""

    name = "delta-of-other-kind"
    changes = "a delta of another kind in an open block -> a block of its kind"
    why = (
        "SDKs drop or mix what they say; Claude Code asks everything again, unstreamed."
    )
    providers = ("LiteLLM", "SGLang")
    sources = (
        "https://github.com/BerriAI/litellm/issues/33224",
        "https://github.com/BerriAI/litellm/pull/32105",
    )
    examples = (
        MessagesExample(
            "thoughts in text",
            [*_OPEN, delta("thinking_delta", "Hm")],
            [*_OPEN, stop(), block("thinking", 1), delta("thinking_delta", "Hm", 1)],
        ),
    )


_FULL = block("tool_use", input={"a": 1})
_CALL = {**_FULL["content_block"], "id": "toolu_1"}
_BODY = message(_CALL, stop_reason="tool_use")
_SPELLED = message({**_CALL, "input": '{"a":1}'}, stop_reason="tool_use")
_DELTA = delta("input_json_delta", '{"a":1}')


# A call with its input in its start.
class ToolInputInStart(NativeFix):
    """Send it as a delta, unless one follows."""

    name = "tool-input-in-start"
    changes = "`input` in `content_block_start` -> `input_json_delta`; spelled as a text in a body -> an object"
    why = "Clients read deltas alone, and run the call without an input."
    providers = ("new-api", "antseed")
    sources = (
        "https://github.com/AntSeed/antseed/pull/15",
        "https://github.com/Yeachan-Heo/gajae-code/pull/1895",
    )
    examples = (
        MessagesExample.begun(
            "whole", [_FULL, stop()], [block("tool_use"), _DELTA, stop()]
        ),
        MessagesExample.begun(
            "twice", [_FULL, _DELTA, stop()], [block("tool_use"), _DELTA, stop()]
        ),
        MessagesExample("a body", [_SPELLED], [_BODY], is_body=True),
    )


_PACKED = "toolu-base64-ZnVuY3Rpb25zLmY6MA"
_TALK = {
    "model": "acme-1",
    "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}],
}


def _call(call_id: str) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}}


# A call with an id that clients refuse, or know already.
class ToolIdForeign(NativeFix):
    """Write it in Anthropic's letters; make one where it has none, or one of an earlier call."""

    name = "tool-id-foreign"
    changes = "`functions.f:0`, null, or repeated -> an id of its own"
    why = "Anthropic refuses the conversation from then on, and Claude Code mixes up the results."
    providers = ("Kimi", "claude-code-router", "CLIProxyAPI")
    sources = (
        "https://github.com/musistudio/claude-code-router/issues/1808",
        "https://github.com/router-for-me/CLIProxyAPI/issues/1872",
    )
    examples = (
        MessagesExample.begun(
            "other letters",
            [block("tool_use", id="functions.f:0")],
            [block("tool_use", id=_PACKED)],
        ),
        MessagesExample.begun(
            "of an earlier call",
            [block("tool_use", id="a")],
            [block("tool_use", id="a-2")],
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


_THOUGHT = [start(), block("thinking"), delta("thinking_delta", "Hm")]
_SIGNED = delta("signature_delta", "llm-normalize")
_WHOLE = {"type": "thinking", "thinking": "Hm", "signature": ""}


# Thoughts without a signature.
class ThinkingUnsigned(NativeFix):
    """Sign them with a word of the proxy's own: nobody but Anthropic can sign for Anthropic."""

    name = "thinking-unsigned"
    changes = "no `signature` -> `llm-normalize`"
    why = "Claude Desktop and pi take thoughts without one for text, or drop them."
    providers = ("DeepSeek", "MiMo", "imp")
    sources = (
        "https://github.com/router-for-me/CLIProxyAPI/issues/3817",
        "https://github.com/kekzl/imp/issues/1555",
    )
    examples = (
        MessagesExample("none", [*_THOUGHT, stop()], [*_THOUGHT, _SIGNED, stop()]),
        MessagesExample(
            "a body",
            [message(_WHOLE)],
            [message({**_WHOLE, "signature": "llm-normalize"})],
            is_body=True,
        ),
    )
