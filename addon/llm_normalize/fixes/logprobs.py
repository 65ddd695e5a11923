"""Log probabilities."""

from ..chat.chunks.chunk import Chunk
from ..chat.chunks.logprobs import UNLIKELY, complete
from ..repair.fix import ChoiceFix, Example, chunk
from ..repair.look import Finding
from ..wire.json_text import Json

_TOKEN = {"token": "Hi", "logprob": -1}
_WITH_BYTES = {**_TOKEN, "bytes": [72, 105]}
_NO_FIGURE = {"token": "", "bytes": [], "top_logprobs": []}
_OLD = {"tokens": ["Hi"], "token_logprobs": [-1]}


def _of(token: Chunk, **more: Json) -> Chunk:
    return {"content": [{**token, **more}]}


def _said(logprobs: Json) -> Chunk:
    return chunk({"content": "Hi"}, logprobs=logprobs)


def _made(name: str, given: Json, made: Json) -> Example:
    return Example.of_event(name, _said(given), _said(made))


_WHOLE = _of(_TOKEN, top_logprobs=[])
_MADE = _of(_WITH_BYTES, top_logprobs=[])


# Log probabilities in the form of the old completions API, or incomplete.
class LogprobsIncomplete(ChoiceFix):
    """Send `content`, each token with its figure, bytes as numbers, and `top_logprobs`."""

    name = "logprobs-incomplete"
    changes = "`logprobs` as `{tokens, token_logprobs}`, or incomplete -> as OpenAI sends them"
    why = "Typed clients refuse the chunk; others iterate over a missing list."
    providers = ("Together", "Novita", "Fireworks", "gateways to the completions API")
    handles = Finding.LOGPROBS
    sources = (
        "https://docs.together.ai/docs/logprobs",
        "https://github.com/dyad-sh/dyad/issues/1570",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        _made("no alternatives", _of(_TOKEN), _WHOLE),
        _made("old form", _OLD, _MADE),
        _made(
            "old form with alternatives",
            {**_OLD, "top_logprobs": [{"Hi": -1}]},
            _of(_WITH_BYTES, top_logprobs=[_WITH_BYTES]),
        ),
        _made("bytes in base64", _of(_TOKEN, bytes="SGk=", top_logprobs=[]), _MADE),
        _made("no figure", _of(_NO_FIGURE), _of(_NO_FIGURE, logprob=UNLIKELY)),
        _made("a list", [_TOKEN], _WHOLE),
        _made("a number", -1, _MADE),
        Example("no object", [_said([])], [_said(None)]),
        Example("nulls", [_said(dict.fromkeys(_OLD))], [_said(None)]),
        Example.untouched("whole", [_said(_WHOLE)]),
    )

    def choice(self, choice: Chunk) -> bool:
        """Complete them."""
        return complete(choice)
