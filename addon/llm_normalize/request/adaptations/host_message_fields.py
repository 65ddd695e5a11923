"""Fields of messages that hosts are known to refuse, or to want in another form."""

from ...wire.json_text import Json
from ..adaptation import (
    CHANGED,
    DROPPED,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    messages,
    renamed,
)
from ..message_forms import joined_texts

_TEXT = {"content": "Be brief."}


# Role `developer`, where instructions come as `system`.
class DeveloperRoleUnknown(Adaptation):
    """Say `system`, as before OpenAI's newer models."""

    name = "developer-role-unknown"
    changes = "`messages[].role`: `developer` -> `system`"
    why = "DeepSeek, Z.AI and others answer 400: unknown variant `developer`; NIM a bare 500."
    hosts = (
        "api.deepseek.com",
        "api.z.ai",
        "open.bigmodel.cn",
        "api.cerebras.ai",
        "api.x.ai",
        "api.mistral.ai",
        "llm.chutes.ai",
        "opencode.ai",
        "api.moonshot.ai",
        "api.moonshot.cn",
        "integrate.api.nvidia.com",
        "ai.api.nvidia.com",
        "api.cloudflare.com",
    )
    sources = (
        "https://github.com/earendil-works/pi/issues/1048",
        "https://github.com/vastsa/PI-Desktop/issues/30",
        "https://github.com/anomalyco/opencode/pull/37833",
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/providers/openai-completions.ts",
    )
    examples = (
        RequestExample.of_messages(
            "instructions",
            [{"role": "developer", **_TEXT}],
            [{"role": "system", **_TEXT}],
        ),
        RequestExample.untouched("system", {"messages": [{"role": "system", **_TEXT}]}),
        RequestExample.untouched("no messages", {"messages": "developer"}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Give the role its older name."""
        found = list(messages(body, "developer"))
        for each in found:
            each["role"] = "system"
        return [(CHANGED, "messages[*].role")] if found else []


_MODEL = "@cf/openai/gpt-oss-120b"
_IMAGE = {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}


def _part(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _said(content: Json) -> Body:
    return {"model": _MODEL, "messages": [{"role": "user", "content": content}]}


# Content in parts, where only a string is understood.
class ContentPartsRefused(Adaptation):
    """Put parts that are all text together, a line each, as vLLM does."""

    name = "content-parts-refused"
    changes = "`messages[].content: [{text}, …]` -> one string"
    why = "Workers AI answers 400, `Bad input`; so does NIM for Mistral's models."
    hosts = ("api.cloudflare.com", "integrate.api.nvidia.com", "ai.api.nvidia.com")
    models = "^@cf/|^@hf/|mistral|mixtral"
    sources = (
        "https://github.com/earendil-works/pi/pull/1528",
        "https://github.com/cloudflare/cloudflare-os/issues/54",
        "https://github.com/diegosouzapw/OmniRoute/issues/2539",
        "https://github.com/TencentCloud/TencentDB-Agent-Memory/issues/1313",
    )
    examples = (
        RequestExample("one part", _said([_part("Hi")]), _said("Hi")),
        RequestExample("two", _said([_part("a"), _part("b")]), _said("a\nb")),
        RequestExample(
            "marked for a cache",
            _said([{**_part("Hi"), "cache_control": {"type": "ephemeral"}}]),
            _said("Hi"),
        ),
        RequestExample.untouched("an image", _said([_part("What?"), _IMAGE])),
        RequestExample.untouched("more than text", _said([{**_part("Hi"), "x": 1}])),
        RequestExample.untouched("a string", _said("Hi")),
        RequestExample.untouched("no parts", _said([])),
        RequestExample.untouched(
            "another model", {**_said([_part("Hi")]), "model": "meta/llama-3.3-70b"}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put the parts together."""
        changed = False
        for each in messages(body):
            text = joined_texts(each.get("content"))
            if text is not None:
                each["content"] = text
                changed = True
        return [(CHANGED, "messages[*].content")] if changed else []


_CALLS = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]


def _called(**message: Json) -> Body:
    return {"messages": [{"role": "assistant", **message, "tool_calls": _CALLS}]}


# No content beside tool calls, or null, where only a string is understood.
class AssistantContentNull(Adaptation):
    """Say an empty string."""

    name = "assistant-content-null"
    changes = '`content: null`, or none, of an assistant\'s message -> `""`'
    why = "Workers AI answers 400, `Bad input`, at the turn after a tool call."
    hosts = ("api.cloudflare.com",)
    sources = (
        "https://github.com/cloudflare/cloudflare-os/issues/54",
        "https://github.com/BerriAI/litellm/pull/39268",
        "https://github.com/TencentCloud/TencentDB-Agent-Memory/issues/1313",
    )
    examples = (
        RequestExample("null", _called(content=None), _called(content="")),
        RequestExample.untouched("a text", _called(content="Hi")),
        RequestExample(
            "none",
            _called(),
            {"messages": [{"role": "assistant", "tool_calls": _CALLS, "content": ""}]},
        ),
        RequestExample.untouched(
            "a user's", {"messages": [{"role": "user", "content": None}]}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace null."""
        answers = messages(body, "assistant")
        found = [each for each in answers if each.get("content") is None]
        for each in found:
            each["content"] = ""
        return [(CHANGED, "messages[*].content")] if found else []


def _asked(role: str = "assistant", **more: Json) -> Body:
    return {"messages": [{"role": role, "content": "Hi", **more}]}


# `refusal: null` in messages, as OpenAI's own answers have it.
class MessageRefusalNull(Adaptation):
    """Drop it: it says that nothing was refused."""

    name = "message-refusal-null"
    changes = "`messages[].refusal: null` -> removed"
    why = "OpenCode answers 400: `Extra inputs are not permitted`."
    hosts = ("opencode.ai",)
    sources = ("https://github.com/github/app/issues/2903",)
    examples = (
        RequestExample("null", _asked(refusal=None), _asked()),
        RequestExample.untouched("a refusal", _asked(refusal="No.")),
        RequestExample.untouched("without", _asked()),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it where it is null."""
        found = [each for each in messages(body) if each.get("refusal", "") is None]
        for each in found:
            del each["refusal"]
        return [(DROPPED, "messages[*].refusal")] if found else []


_OLD, _NEW = "reasoning_content", "reasoning"


# `reasoning_content` in messages: an answer's thoughts, sent back.
class MessageReasoningRefused(Adaptation):
    """Drop it: thoughts of the turns before are not asked for."""

    name = "message-reasoning-refused"
    changes = "`messages[].reasoning_content` -> removed"
    why = "Groq answers 400 and Mistral 422 at the second turn."
    hosts = ("api.groq.com", "api.mistral.ai")
    sources = (
        "https://github.com/janhq/jan/issues/8136",
        "https://github.com/tashfeenahmed/freellmapi/issues/1070",
        "https://github.com/charmbracelet/crush/issues/1590",
    )
    examples = (
        RequestExample("thoughts", _asked(reasoning_content="Hm."), _asked()),
        RequestExample.untouched("without", _asked()),
        RequestExample.untouched("a user's", _asked("user", reasoning_content="Hm.")),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        found = [each for each in messages(body, "assistant") if _OLD in each]
        for each in found:
            del each[_OLD]
        return [(DROPPED, f"messages[*].{_OLD}")] if found else []


# `reasoning_content` in messages, where it is called `reasoning`.
class MessageReasoningRenamed(Adaptation):
    """Give an answer's thoughts the name that the provider gives them."""

    name = "message-reasoning-renamed"
    changes = "`messages[].reasoning_content` -> `reasoning`"
    why = "Cerebras answers 400, `wrong_api_format`, at the second turn."
    hosts = ("api.cerebras.ai",)
    sources = (
        "https://github.com/QwenLM/qwen-code/issues/11045",
        "https://github.com/Kilo-Org/kilocode/issues/10375",
        "https://github.com/proxysoul/Empryo/pull/209",
    )
    examples = (
        RequestExample(
            "thoughts", _asked(reasoning_content="Hm."), _asked(reasoning="Hm.")
        ),
        RequestExample(
            "both",
            _asked(reasoning="Hm.", reasoning_content="Hm."),
            _asked(reasoning="Hm."),
        ),
        RequestExample.untouched("its own", _asked(reasoning="Hm.")),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Rename it."""
        found = [each for each in messages(body, "assistant") if _OLD in each]
        for each in found:
            if _NEW in each:
                del each[_OLD]
            else:
                renamed(each, _OLD, _NEW)
        return [(CHANGED, f"messages[*].{_OLD}")] if found else []
