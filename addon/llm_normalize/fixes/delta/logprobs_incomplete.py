"""Log probabilities in the form of the old completions API, or incomplete."""

from base64 import b64decode

from ...chat.chunk import Chunk, change_all, choices
from ...repair.fix import Example, Fix, chunk
from ...wire.json_text import Json, Number

_TOKEN = {"token": "Hi", "logprob": -1}
_BYTES = {"bytes": [72, 105]}
_COMPLETE = {"content": [{**_TOKEN, "top_logprobs": []}]}
_OLD = {"tokens": ["Hi"], "token_logprobs": [-1]}
_MADE = {"content": [{**_TOKEN, **_BYTES, "top_logprobs": []}]}
_MORE = {**_OLD, "top_logprobs": [{"Hi": -1}]}
_HI = {"content": "Hi"}
_UNLIKELY = -9999.0
"""What OpenAI sends for a token that is too unlikely to have a figure."""
_TEXT_KINDS = ("tokens", "token_logprobs", "top_logprobs")


class LogprobsIncomplete(Fix):
    """Send `content`, each token with its figure, bytes as numbers, and `top_logprobs`."""

    name = "logprobs-incomplete"
    changes = "`logprobs` as `{tokens, token_logprobs}`, or incomplete -> as OpenAI sends them"
    why = "Typed clients refuse the chunk; others iterate over a missing list."
    providers = ("Together", "Novita", "Fireworks", "gateways to the completions API")
    sources = (
        "https://docs.together.ai/docs/logprobs",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    key = "logprobs"
    edits_bodies = True
    examples = (
        Example(
            "no alternatives",
            [chunk(_HI, logprobs={"content": [_TOKEN]})],
            [chunk(_HI, logprobs=_COMPLETE)],
            ended=False,
        ),
        Example(
            "old form",
            [chunk(_HI, logprobs=_OLD)],
            [chunk(_HI, logprobs=_MADE)],
            ended=False,
        ),
        Example(
            "old form with alternatives",
            [chunk(_HI, logprobs=_MORE)],
            [
                chunk(
                    _HI,
                    logprobs={
                        "content": [
                            {
                                **_TOKEN,
                                **_BYTES,
                                "top_logprobs": [{**_TOKEN, **_BYTES}],
                            }
                        ]
                    },
                )
            ],
            ended=False,
        ),
        Example(
            "bytes in base64",
            [
                chunk(
                    _HI,
                    logprobs={
                        "content": [{**_TOKEN, "bytes": "SGk=", "top_logprobs": []}]
                    },
                )
            ],
            [chunk(_HI, logprobs=_MADE)],
            ended=False,
        ),
        Example(
            "no figure",
            [
                chunk(
                    _HI,
                    logprobs={
                        "content": [{"token": "", "bytes": [], "top_logprobs": []}]
                    },
                )
            ],
            [
                chunk(
                    _HI,
                    logprobs={
                        "content": [
                            {
                                "token": "",
                                "bytes": [],
                                "top_logprobs": [],
                                "logprob": _UNLIKELY,
                            }
                        ]
                    },
                )
            ],
            ended=False,
        ),
        Example("a list", [chunk(_HI, logprobs=[_TOKEN])], [chunk(_HI, logprobs=_COMPLETE)], ended=False),
        Example("a number", [chunk(_HI, logprobs=-1)], [chunk(_HI, logprobs=_MADE)], ended=False),
        Example("no object", [chunk(_HI, logprobs=[])], [chunk(_HI, logprobs=None)]),
        Example.untouched("whole", [chunk(_HI, logprobs=_COMPLETE)]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Complete them."""
        return change_all(_complete, choices(chunk))


def _complete(choice: Chunk) -> bool:
    given = choice.get("logprobs")
    if given is None:
        return False
    if not isinstance(given, dict):
        choice["logprobs"] = given = _wrapped(given, choice)
        _complete_entries(given or {})
        return True
    if (old := _from_old(given)) is not None:
        given["content"] = old
        for key in _TEXT_KINDS:
            given.pop(key, None)
        return True
    return _complete_entries(given)


def _complete_entries(given: Chunk) -> bool:
    found = [given.get(key) for key in ("content", "refusal")]
    return change_all(_complete_entry, [x for each in found for x in _objects(each)])


def _objects(value: Json) -> list[Chunk]:
    return [x for x in value if isinstance(x, dict)] if isinstance(value, list) else []


def _wrapped(given: Json, choice: Chunk) -> Chunk | None:
    """Return log probabilities that are no object as one; None for none."""
    if _objects(given):
        return {"content": _objects(given)}
    delta = choice.get("delta")
    text = delta.get("content") if isinstance(delta, dict) else None
    if isinstance(text, str) and text and _is_figure(given):
        return {"content": [{**_entry(text, given), "top_logprobs": []}]}
    return None


def _complete_entry(entry: Chunk) -> bool:
    changed = _complete_alternative(entry)
    top = entry.get("top_logprobs")
    if isinstance(top, dict):
        entry["top_logprobs"] = [_entry(token, each) for token, each in top.items()]
    elif not isinstance(top, list):
        entry["top_logprobs"] = []
    else:
        return change_all(_complete_alternative, _objects(top)) or changed
    return True


def _complete_alternative(entry: Chunk) -> bool:
    """Complete a token's figure and bytes."""
    changed = False
    if not _is_figure(entry.get("logprob")):
        entry["logprob"] = _UNLIKELY
        changed = True
    if isinstance(entry.get("bytes"), str):
        entry["bytes"] = _decoded(entry["bytes"], entry.get("token"))
        changed = True
    return changed


def _is_figure(value: Json) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _decoded(text: str, token: Json) -> list[int] | None:
    try:
        return list(b64decode(text, validate=True))
    except ValueError:
        return _bytes_of(token) if text == token else None


def _bytes_of(token: str) -> list[int] | None:
    try:
        return list(token.encode())
    except UnicodeEncodeError:
        return None  # half of a character


def _entry(token: str, figure: Json) -> Chunk:
    logprob = figure if _is_figure(figure) else _UNLIKELY
    return {"token": token, "logprob": logprob, "bytes": _bytes_of(token)}


def _from_old(given: Chunk) -> list[Json] | None:
    tokens, values = given.get("tokens"), given.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        return None
    is_text = all(isinstance(token, str) for token in tokens)
    if given.get("content") or len(values) != len(tokens) or not is_text:
        return None
    top = given.get("top_logprobs")
    tops = top if isinstance(top, list) and len(top) == len(tokens) else [top]
    if len(tops) != len(tokens):
        tops = [None] * len(tokens)
    return [
        {**_entry(token, value), "top_logprobs": _alternatives(each)}
        for token, value, each in zip(tokens, values, tops, strict=True)
    ]


def _alternatives(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return [_entry(token, each) for token, each in value.items()]
    found = _objects(value)
    change_all(_complete_alternative, found)
    return found
