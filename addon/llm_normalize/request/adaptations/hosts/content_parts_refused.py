"""Content in parts, where only a string is understood."""

from ....wire.json_text import Json
from ...adaptation import CHANGED, Adaptation, Body, Edit, RequestExample, messages

_MODEL = "@cf/openai/gpt-oss-120b"
_IMAGE = {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}


def _part(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _asked(content: Json) -> Body:
    return {"model": _MODEL, "messages": [{"role": "user", "content": content}]}


class ContentPartsRefused(Adaptation):
    """Put parts that are all text together, a line each, as vLLM does."""

    name = "content-parts-refused"
    changes = "`messages[].content: [{text}, …]` -> one string"
    why = "Workers AI answers 400, `Bad input`; so does NIM for Mistral's models."
    hosts = ("api.cloudflare.com", "integrate.api.nvidia.com", "ai.api.nvidia.com")
    models = "^@cf/|^@hf/|mistral|mixtral"
    key = "text"
    sources = (
        "https://github.com/earendil-works/pi/pull/1528",
        "https://github.com/cloudflare/cloudflare-os/issues/54",
        "https://github.com/diegosouzapw/OmniRoute/issues/2539",
        "https://github.com/TencentCloud/TencentDB-Agent-Memory/issues/1313",
    )
    examples = (
        RequestExample("one part", _asked([_part("Hi")]), _asked("Hi")),
        RequestExample("two", _asked([_part("a"), _part("b")]), _asked("a\nb")),
        RequestExample(
            "marked for a cache",
            _asked([{**_part("Hi"), "cache_control": {"type": "ephemeral"}}]),
            _asked("Hi"),
        ),
        RequestExample.untouched("an image", _asked([_part("What?"), _IMAGE])),
        RequestExample.untouched("more than text", _asked([{**_part("Hi"), "x": 1}])),
        RequestExample.untouched("a string", _asked("Hi")),
        RequestExample.untouched("no parts", _asked([])),
        RequestExample.untouched(
            "another model", {**_asked([_part("Hi")]), "model": "meta/llama-3.3-70b"}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put the parts together."""
        changed = False
        for each in messages(body):
            text = _text(each.get("content"))
            if text is not None:
                each["content"] = text
                changed = True
        return [(CHANGED, "messages[*].content")] if changed else []


def _text(content: Json) -> str | None:
    if not isinstance(content, list) or not content:
        return None
    texts = []
    for each in content:
        # A mark for a cache changes no answer; any other key may.
        if not isinstance(each, dict) or each.keys() - {"cache_control"} != {
            "type",
            "text",
        }:
            return None
        if each["type"] != "text" or not isinstance(each["text"], str):
            return None
        texts.append(each["text"])
    return "\n".join(texts)
