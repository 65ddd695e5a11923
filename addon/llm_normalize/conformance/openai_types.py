"""The types of OpenAI's library, `openai.types.chat`, as data.

An optional field may be absent or null, keys that are not named are free, and no type is
coerced into another.
"""

from collections.abc import Callable, Iterator

from .json_values import as_dict, as_int, as_list, as_str

type _Check = Callable[[object, str], Iterator[str]]


def _kind(name: str, test: Callable[[object], bool]) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not test(value):
            yield f"{path} is not {name}"

    return check


def _one_of(*values: str) -> _Check:
    return _kind(
        f"one of {', '.join(values)}", lambda v: isinstance(v, str) and v in values
    )


def _list_of(item: _Check) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{path} is not a list"
        for position, entry in enumerate(as_list(value)):
            yield from item(entry, f"{path}[{position}]")

    return check


def _map_of(item: _Check) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path} is not an object"
        for key, entry in as_dict(value).items():
            yield from item(entry, f"{path}.{key}")

    return check


def _record(
    needed: dict[str, _Check], optional: dict[str, _Check] | None = None
) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path or 'the value'} is not an object"
            return
        dot = f"{path}." if path else ""
        for key, part in needed.items():
            if key in value:
                yield from part(value[key], dot + key)
            else:
                yield f"{dot}{key} is missing"
        for key, part in (optional or {}).items():
            if value.get(key) is not None:
                yield from part(value[key], dot + key)

    return check


def _tagged(variants: dict[str, _Check]) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        variant = variants.get(as_str(as_dict(value).get("type")))
        if variant is None:
            yield f"{path}.type is not one of {', '.join(variants)}"
        else:
            yield from variant(value, path)

    return check


_STRING = _kind("a string", lambda v: isinstance(v, str))
_INTEGER = _kind("an integer", lambda v: as_int(v) is not None)
_NUMBER = _kind("a number", lambda v: isinstance(v, float) or as_int(v) is not None)
_BOOLEAN = _kind("a boolean", lambda v: isinstance(v, bool))

FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")

_TOP_LOGPROB = _record(
    {"token": _STRING, "logprob": _NUMBER}, {"bytes": _list_of(_INTEGER)}
)
_TOKEN_LOGPROB = _record(
    {"token": _STRING, "logprob": _NUMBER, "top_logprobs": _list_of(_TOP_LOGPROB)},
    {"bytes": _list_of(_INTEGER)},
)
_LOGPROBS = _record(
    {}, {"content": _list_of(_TOKEN_LOGPROB), "refusal": _list_of(_TOKEN_LOGPROB)}
)
_USAGE = _record(
    dict.fromkeys(("completion_tokens", "prompt_tokens", "total_tokens"), _INTEGER),
    {
        "completion_tokens_details": _record(
            {},
            dict.fromkeys(
                (
                    "accepted_prediction_tokens",
                    "audio_tokens",
                    "reasoning_tokens",
                    "rejected_prediction_tokens",
                ),
                _INTEGER,
            ),
        ),
        "prompt_tokens_details": _record(
            {},
            dict.fromkeys(
                ("audio_tokens", "cache_write_tokens", "cached_tokens"), _INTEGER
            ),
        ),
    },
)
_MODERATION_SIDE = _tagged(
    {
        "moderation_results": _record(
            {
                "model": _STRING,
                "results": _list_of(
                    _record(
                        {
                            "categories": _map_of(_BOOLEAN),
                            "category_applied_input_types": _map_of(
                                _list_of(_one_of("text", "image"))
                            ),
                            "category_scores": _map_of(_NUMBER),
                            "flagged": _BOOLEAN,
                            "model": _STRING,
                            "type": _one_of("moderation_result"),
                        }
                    )
                ),
            }
        ),
        "error": _record({"code": _STRING, "message": _STRING}),
    }
)
_ENVELOPE_OPTIONAL = {
    "moderation": _record({"input": _MODERATION_SIDE, "output": _MODERATION_SIDE}),
    "service_tier": _one_of("auto", "default", "flex", "scale", "priority", "fast"),
    "system_fingerprint": _STRING,
    "usage": _USAGE,
}
_DELTA = _record(
    {},
    {
        "content": _STRING,
        "function_call": _record({}, {"arguments": _STRING, "name": _STRING}),
        "refusal": _STRING,
        "role": _one_of("developer", "system", "user", "assistant", "tool"),
        "tool_calls": _list_of(
            _record(
                {"index": _INTEGER},
                {
                    "id": _STRING,
                    "function": _record({}, {"arguments": _STRING, "name": _STRING}),
                    "type": _one_of("function"),
                },
            )
        ),
    },
)
_CHUNK = _record(
    {
        "id": _STRING,
        "choices": _list_of(
            _record(
                {"delta": _DELTA, "index": _INTEGER},
                {"finish_reason": _one_of(*FINISH_REASONS), "logprobs": _LOGPROBS},
            )
        ),
        "created": _INTEGER,
        "model": _STRING,
        "object": _one_of("chat.completion.chunk"),
    },
    _ENVELOPE_OPTIONAL,
)
_MESSAGE = _record(
    {"role": _one_of("assistant")},
    {
        "content": _STRING,
        "refusal": _STRING,
        "annotations": _list_of(
            _record(
                {
                    "type": _one_of("url_citation"),
                    "url_citation": _record(
                        {
                            "end_index": _INTEGER,
                            "start_index": _INTEGER,
                            "title": _STRING,
                            "url": _STRING,
                        }
                    ),
                }
            )
        ),
        "audio": _record(
            {
                "id": _STRING,
                "data": _STRING,
                "expires_at": _INTEGER,
                "transcript": _STRING,
            }
        ),
        "function_call": _record({"arguments": _STRING, "name": _STRING}),
        "tool_calls": _list_of(
            _tagged(
                {
                    "function": _record(
                        {
                            "id": _STRING,
                            "function": _record(
                                {"arguments": _STRING, "name": _STRING}
                            ),
                        }
                    ),
                    "custom": _record(
                        {
                            "id": _STRING,
                            "custom": _record({"input": _STRING, "name": _STRING}),
                        }
                    ),
                }
            )
        ),
    },
)
_COMPLETION = _record(
    {
        "id": _STRING,
        "choices": _list_of(
            _record(
                {
                    "finish_reason": _one_of(*FINISH_REASONS),
                    "index": _INTEGER,
                    "message": _MESSAGE,
                },
                {"logprobs": _LOGPROBS},
            )
        ),
        "created": _INTEGER,
        "model": _STRING,
        "object": _one_of("chat.completion"),
    },
    _ENVELOPE_OPTIONAL,
)


def chunk_faults(value: object) -> list[str]:
    """List where a value differs from `openai.types.chat.ChatCompletionChunk`."""
    return list(_CHUNK(value, ""))


def completion_faults(value: object) -> list[str]:
    """List where a value differs from `openai.types.chat.ChatCompletion`."""
    return list(_COMPLETION(value, ""))
