"""A content that is a list of parts: its text and its reasoning.

Source of the parts: https://docs.mistral.ai/capabilities/reasoning/ and the shapes of
Databricks and of OpenAI's Responses API, which gateways pass on.
"""

from ...wire.json_text import Json

_THINKING = ("thinking", "reasoning", "summary_text")
_KEYS = ("thinking", "reasoning", "summary", "text")


def join_parts(parts: list[Json]) -> tuple[str, str, list[Json]]:
    """Return the text, the reasoning, and the parts that have neither."""
    text = thought = ""
    others = []
    for part in parts:
        if isinstance(part, str):
            text += part
        elif isinstance(part, dict) and part.get("type") in _THINKING:
            thought += _words(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            text += part["text"]
        else:
            others.append(part)
    return text, thought, others


def _words(value: Json) -> str:
    if isinstance(value, dict):
        return "".join(_words(value[key]) for key in _KEYS if key in value)
    if isinstance(value, list):
        return "".join(map(_words, value))
    return value if isinstance(value, str) else ""
