"""Log probabilities in the old form, or without the alternatives' list."""

from ...chat.chunk import Chunk, change_all, choices
from ...repair.fix import Example, Fix, chunk
from ...wire.json_text import Json

_TOKEN = {"token": "Hi", "logprob": -1}
_COMPLETE = {"content": [{**_TOKEN, "top_logprobs": []}]}
_OLD = {"tokens": ["Hi"], "token_logprobs": [-1]}
_HI = {"content": "Hi"}


class LogprobsIncomplete(Fix):
    """Send `content`, each token with its `top_logprobs`."""

    name = "logprobs-incomplete"
    changes = "`logprobs` without `content` or `top_logprobs` -> completed"
    why = "Typed clients refuse the chunk; others iterate over a missing list."
    providers = ("Together", "Fireworks", "gateways to the completions API")
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
            [chunk(_HI, logprobs=_COMPLETE)],
            ended=False,
        ),
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
        choice["logprobs"] = None
        return True
    if (old := _from_old(given)) is not None:
        given["content"] = old
        del given["tokens"], given["token_logprobs"]
        return True
    found = [
        entry
        for key in ("content", "refusal")
        if isinstance(given.get(key), list)
        for entry in given[key]
        if isinstance(entry, dict) and entry.get("top_logprobs") is None
    ]
    for entry in found:
        entry["top_logprobs"] = []
    return bool(found)


def _from_old(given: Chunk) -> list[Json] | None:
    tokens, values = given.get("tokens"), given.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        return None
    if given.get("content") or None in values or len(values) != len(tokens):
        return None
    pairs = zip(tokens, values, strict=True)
    return [{"token": t, "logprob": v, "top_logprobs": []} for t, v in pairs]
