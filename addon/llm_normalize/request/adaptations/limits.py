"""Figures that a model does not take: tokens, temperature."""

from ...wire.json_text import Json, Number, as_object, whole_number
from ..adaptation import (
    EVERY_FORM,
    HI,
    UNWANTED,
    WISHES,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    refused,
    replaced,
)

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_IN_RANGE = refused(
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"
)


# A limit of tokens above what the model may answer.
class MaxTokensTooLarge(Adaptation):
    """Send the highest limit that the refusal names."""

    name = "max-tokens-too-large"
    changes = "`max_tokens`, `max_completion_tokens`, `max_output_tokens` -> the highest that is taken"
    why = "Each model has a limit of its own, and answers 400 above it."
    needs_value = True
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/Alishahryar1/free-claude-code/issues/955",
        "https://github.com/nickscamara/open-deep-research/issues/19",
        "https://github.com/open-webui/open-webui/issues/10507",
        "https://github.com/AQBot-Desktop/AQBot/issues/93",
    )
    examples = (
        RequestExample.of_fields(
            "32000", {"max_tokens": 32000}, {"max_tokens": 8192}, _IN_RANGE
        ),
        RequestExample.untouched("100", {"messages": HI, "max_tokens": 100}, _IN_RANGE),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Lower it."""
        named = self.value.split()
        most = next(filter(None, map(whole_number, filter(str.isdecimal, named))), None)
        if not most:
            return []
        most -= "exclusive" in named or "less" in named
        given = {key: whole_number(body.get(key)) for key in _LIMITS if key in body}
        edits = [
            edit
            for key, asked in given.items()
            if asked is not None and asked > most
            for edit in replaced(body, key, most)
        ]
        return edits + (_lowered_budget(body, most) if edits else [])


def _lowered_budget(body: Body, most: int) -> list[Edit]:
    """Leave a token to answer with: a budget of thinking has to be below the limit."""
    thinking = as_object(body.get("thinking"))
    budget = whole_number(thinking.get("budget_tokens"))
    if budget is None or budget < most:
        return []
    return replaced(body, "thinking", {**thinking, "budget_tokens": most - 1})


_ONLY_ONE = refused("invalid temperature: only 1 is allowed for this model")


# A temperature that the model does not take.
class TemperatureOutOfRange(Adaptation):
    """Send the nearest one that the refusal names: the model takes no other."""

    name = "temperature-out-of-range"
    changes = "`temperature` -> the nearest that is taken"
    why = "Kimi and OpenAI's reasoning models take 1 only, others no more than 1."
    needs_value = True
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/ZaytsevZY/yuketang-helper-auto/issues/30",
        "https://github.com/NVlabs/cvdp_benchmark/issues/29",
        "https://github.com/NousResearch/hermes-agent/issues/9125",
    )
    examples = (
        RequestExample.of_fields(
            "0.3", {"temperature": Number("0.3")}, {"temperature": 1}, _ONLY_ONE
        ),
        RequestExample.untouched("1", {"messages": HI, "temperature": 1}, _ONLY_ONE),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace it."""
        given = _figure(body.get("temperature"))
        limits = [_figure(Number(each)) for each in self.value.split()]
        taken = [each for each in limits if each is not None]
        if given is None or not taken:
            return []
        made = min(max(given, min(taken)), max(taken))
        if made == given:
            return []
        whole = int(made) if made.is_integer() else Number(repr(made))
        return replaced(body, "temperature", whole)


def _figure(value: Json) -> float | None:
    text = value.text if isinstance(value, Number) else value
    try:
        return None if isinstance(text, bool) else float(text)
    except (TypeError, ValueError):
        return None


_NOT_BOTH = refused(
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
)
_NEUTRAL = (None, 1, Number("1.0"))
UNSET, BELOW_ONE = "unset", "below 1"
"""That `top_p` may not be there at all, or not be 1, which is the same as none."""
_HALF_OPEN = refused("Input validation error: `top_p` must be > 0.0 and < 1.0")
_WARM = {"temperature": Number("0.2"), "messages": HI}


# `top_p` beside `temperature` or thinking, where one of them is taken; and one that is 1.
class TopPWithTemperature(Adaptation):
    """Drop the one that says nothing; of two that say something, `top_p`."""

    name = "top-p-with-temperature"
    changes = (
        "`top_p` beside `temperature` -> removed; `temperature: 1` rather than that; "
        "`top_p` beside thinking, `top_p: 1` -> removed"
    )
    why = "Claude answers 400, at Anthropic, Bedrock and Vertex; TGI 422 to a `top_p` of 1."
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/QwenLM/qwen-code/issues/1216",
        "https://github.com/LioQing/llm-extension-for-cmd-pal/pull/15",
        "https://github.com/open-webui/open-webui/issues/17922",
        "https://github.com/anomalyco/opencode/issues/28930",
        "https://github.com/theopenco/llmgateway/issues/3108",
        "https://github.com/chatboxai/chatbox/issues/2099",
        "https://github.com/argilla-io/synthetic-data-generator/issues/48",
    )
    examples = (
        RequestExample("1", {**_WARM, "top_p": 1}, _WARM, _NOT_BOTH),
        RequestExample.untouched("0, of TGI", {**_WARM, "top_p": 0}, _HALF_OPEN),
        RequestExample.untouched("one of them", _WARM, _NOT_BOTH),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop one of them."""
        if self.value:
            is_off = any(body.get(key) in UNWANTED for key in WISHES)
            is_unset = self.value == UNSET and not is_off
            is_refused = is_unset or body.get("top_p") in _NEUTRAL
            return drop(body, "top_p") if is_refused else []
        if "temperature" not in body or "top_p" not in body:
            return []
        is_spare = body["temperature"] in _NEUTRAL and body["top_p"] not in _NEUTRAL
        return drop(body, "temperature" if is_spare else "top_p")
