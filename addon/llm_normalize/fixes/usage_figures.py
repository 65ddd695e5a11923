"""The figures in usage."""

from collections.abc import Iterable

from ..chat.chunks.chunk import CACHED, COUNTS, Chunk, choices, drop_keys
from ..chat.conversion import KINDS, count_of
from ..repair.fix import (
    BODY,
    DONE,
    HI,
    TEXT,
    USAGE,
    USAGE_ASKED,
    Example,
    Fix,
    chunk,
    completion,
    without,
)
from ..repair.look import Finding
from ..wire.json_text import Number, whole_number


def _end(usage: Chunk) -> Chunk:
    return chunk({}, finish="stop", usage=usage)


def _streamed(name: str, given: Chunk, made: Chunk) -> Example:
    return Example(name, [TEXT, _end(given), DONE], [TEXT, _end(made), DONE])


def _in_body(name: str, given: Chunk, made: Chunk | None) -> Example:
    return Example.of_body(
        name, completion(HI, usage=given), completion(HI, usage=made)
    )


_WORDS = {**USAGE, "prompt_tokens": "3"}
_KINDS = ("prompt", "completion", "total", "input", "output")
_COUNTS = tuple(f"{kind}_tokens" for kind in _KINDS)
_DETAILS = {
    "prompt_tokens_details": (
        "audio_tokens", "cache_write_tokens", "cached_tokens", "image_tokens",
        "text_tokens",
    ),
    "completion_tokens_details": (
        "accepted_prediction_tokens", "audio_tokens", "reasoning_tokens",
        "rejected_prediction_tokens", "text_tokens",
    ),
}  # fmt: skip


# Token counts as text or as fractions.
class UsageMistyped(Fix):
    """Send whole numbers."""

    name = "usage-mistyped"
    changes = (
        '`usage.*_tokens: "5"`, `5.0` -> `5`; details that are not an object -> null'
    )
    why = "Typed clients refuse the chunk, others add text to numbers."
    providers = ("gateways in JavaScript and Lua",)
    handles = Finding.ODD_USAGE
    sources = ("https://platform.openai.com/docs/api-reference/chat/object",)
    examples = (
        _streamed("text", _WORDS, USAGE),
        _in_body("fraction", {**USAGE, "prompt_tokens": Number("3.0")}, USAGE),
        Example.untouched("whole", [TEXT, _end(USAGE)]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Convert the counts."""
        usage = chunk.get("usage")
        if not isinstance(usage, dict):
            return False
        changed = _convert(usage, _COUNTS, _COUNTS)
        for key, own in _DETAILS.items():
            details = usage.get(key)
            if isinstance(details, dict):
                named = [each for each in details if each.endswith("_tokens")]
                changed |= _convert(details, named, own)
            elif details is not None:
                usage[key] = None
                changed = True
        return changed

    body = edit


def _convert(counts: Chunk, keys: Iterable[str], own: tuple[str, ...]) -> bool:
    changed = False
    for key in keys:
        given = counts.get(key)
        if given is None or type(given) is int:
            continue
        made = whole_number(given, cut=key in own)  # another's may be of any form
        if made is not None or key in own:
            counts[key] = made
            changed = True
    return changed


# `usage: {}`, or usage that is not an object.
class UsageEmpty(Fix):
    """Send null if usage was asked for, else no key."""

    name = "usage-empty"
    changes = "`usage: {}`, or no object -> `null` if asked for, else removed"
    why = "Zed takes the whole chunk for one of no known kind."
    providers = ("MiniMax", "gateways")
    handles = Finding.ODD_USAGE
    sources = (
        "https://github.com/zed-industries/zed/issues/42893",
        "https://github.com/zed-industries/zed/issues/43613",
    )
    examples = (
        Example.of_event("empty", {**TEXT, "usage": {}}, TEXT),
        Example.of_event(
            "asked for",
            {**TEXT, "usage": {}},
            {**TEXT, "usage": None},
            asked=USAGE_ASKED,
        ),
        Example("nulls", [{**TEXT, "usage": {"total_tokens": None}}], [TEXT]),
        _in_body("body", {}, None),
        Example.untouched("null", [{**TEXT, "usage": None}]),
        Example.untouched("figures", [_end(USAGE)]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop it."""
        if not self.body(chunk):
            return False
        if not self.asked.usage:
            del chunk["usage"]
        return True

    def body(self, body: Chunk) -> bool:
        """Set null, which is missing usage in a body."""
        usage = body.get("usage")
        figures = usage.values() if isinstance(usage, dict) else ()
        if usage is None or any(each is not None for each in figures):
            return False
        body["usage"] = None
        return True


_SOME = {"prompt_tokens": 3, "completion_tokens": 2}
_OTHER = {"input_tokens": 3, "output_tokens": 2}
_TOTAL = {"total_tokens": 5}
_COMPLETED = {**_TOTAL, "prompt_tokens": 0, "completion_tokens": 0}
_KIMI = {**USAGE, "cached_tokens": 3}
_KIMIS = {**_KIMI, "prompt_tokens_details": {"cached_tokens": 3}}


# Usage without one of its three counts, or with the cache's at the top.
class UsagePartial(Fix):
    """Add the counts that follow from the others; missing ones are 0."""

    name = "usage-partial"
    changes = (
        "`usage` without a count, or with other names -> all three; `cached_tokens` at its "
        "top -> in its details"
    )
    why = "Typed clients refuse the chunk; others count too little, or cached tokens in full."
    providers = ("MiniMax", "gateways to Claude", "Kimi", "DeepSeek", "Mistral")
    handles = Finding.ODD_USAGE
    sources = (
        "https://github.com/zed-industries/zed/issues/42893",
        "https://github.com/earendil-works/pi/issues/8075",
        "https://github.com/vercel/ai/pull/12425",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        _streamed("no total", _SOME, USAGE),
        _streamed("other names", _OTHER, {**_OTHER, **USAGE}),
        _streamed("a cache", _KIMI, _KIMIS),
        _in_body("total alone", _TOTAL, _COMPLETED),
        Example.untouched("whole", [TEXT, _end(USAGE), DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the counts."""
        usage = chunk.get("usage")
        if not isinstance(usage, dict) or all(x is None for x in usage.values()):
            return False
        missing = [key for key in COUNTS if usage.get(key) is None]
        if not missing:
            return _name_cached(usage)
        answer, prompt, total = (count_of(usage, *kinds) for kinds in KINDS)
        if total is not None:
            prompt = max(total - answer, 0) if prompt is None and answer else prompt
            answer = max(total - prompt, 0) if answer is None and prompt else answer
        prompt, answer = prompt or 0, answer or 0
        total = prompt + answer if total is None else total
        counts = dict(zip(COUNTS, (prompt, answer, total), strict=True))
        usage.update({key: counts[key] for key in missing})
        _name_cached(usage)
        return True

    body = edit


def _name_cached(usage: Chunk) -> bool:
    """Name what a cache held as OpenAI does; tell whether it had another name alone."""
    given = usage.get("prompt_tokens_details")
    details = given if isinstance(given, dict) else {}
    held = max(whole_number(usage.get(key)) or 0 for key in CACHED)
    is_said = bool(details.get("cached_tokens"))
    if is_said or not 0 < held <= (whole_number(usage["prompt_tokens"]) or 0):
        return False
    usage["prompt_tokens_details"] = {**details, "cached_tokens": held}
    return True


_CACHED = {"cached_tokens": 3}
_NULLS = {**USAGE, "prompt_tokens_details": {**_CACHED, "cache_write_tokens": None}}
_COUNTED = {**USAGE, "prompt_tokens_details": _CACHED}


# Null in place of a figure within usage.
class UsageFigureNull(Fix):
    """Drop the key, as OpenAI does; the three counts are for another fix to find."""

    name = "usage-figure-null"
    changes = "`usage.*_details: null`, or null in such details -> removed"
    why = "Zed takes the whole chunk for one of no known kind."
    providers = ("OpenCode Go", "vLLM", "Novita", "OpenRouter")
    handles = Finding.ODD_USAGE
    sources = ("https://github.com/zed-industries/zed/issues/63137",)
    examples = (
        _streamed("in details", _NULLS, _COUNTED),
        _streamed("whole details", {**USAGE, "prompt_tokens_details": None}, USAGE),
        _in_body("body", {"cost_details": {"upstream": None}}, {"cost_details": {}}),
        Example.untouched("figures", [TEXT, _end(_COUNTED)]),
        Example.untouched("no usage", [{**TEXT, "usage": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        usage = chunk.get("usage")
        return isinstance(usage, dict) and _drop_nulls(usage, COUNTS)

    body = edit


def _drop_nulls(figures: Chunk, but: tuple[str, ...] = ()) -> bool:
    """Drop the null keys of *figures*, save those in *but*, and what is null within."""
    nulls = [key for key, each in figures.items() if each is None and key not in but]
    inner = [each for each in figures.values() if isinstance(each, dict)]
    return any([drop_keys(figures, nulls), *map(_drop_nulls, inner)])


_BARE = without(BODY, "usage")
_ZEROS = dict.fromkeys(COUNTS, 0)


# An answer as one body, without usage.
class UsageMissing(Fix):
    """Put zeros where a body has no usage: the one figure that is ever made up."""

    name = "usage-missing"
    changes = "body without `usage`, or with null -> zeros"
    why = "llm and smolagents crash without it."
    providers = ("chatglm.cpp", "local servers")
    sources = (
        "https://github.com/simonw/llm",
        "https://github.com/huggingface/smolagents",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_body("missing", _BARE, {**_BARE, "usage": _ZEROS}),
        Example.of_body("null", {**_BARE, "usage": None}, {**_BARE, "usage": _ZEROS}),
        Example.untouched("there", [{**_BARE, "usage": USAGE}], kind="body"),
    )

    def body(self, body: Chunk) -> bool:
        """Add the zeros."""
        if body.get("usage") is not None:
            return False
        if any(choice.get("usage") for choice in choices(body)):
            return False  # it has some, in another place
        body["usage"] = dict(_ZEROS)
        return True
