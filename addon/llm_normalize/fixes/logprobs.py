"""Log probabilities."""

from ..chat.chunks.chunk import Chunk
from ..chat.chunks.logprobs import UNLIKELY, complete
from ..repair.fix import ChoiceFix, Example, chunk
from ..repair.look import Finding

_TOKEN = {"token": "Hi", "logprob": -1}
_BYTES = {"bytes": [72, 105]}
_COMPLETE = {"content": [{**_TOKEN, "top_logprobs": []}]}
_OLD = {"tokens": ["Hi"], "token_logprobs": [-1]}
_MADE = {"content": [{**_TOKEN, **_BYTES, "top_logprobs": []}]}
_MORE = {**_OLD, "top_logprobs": [{"Hi": -1}]}
_HI = {"content": "Hi"}


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
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event(
            "no alternatives",
            chunk(_HI, logprobs={"content": [_TOKEN]}),
            chunk(_HI, logprobs=_COMPLETE),
        ),
        Example.of_event(
            "old form", chunk(_HI, logprobs=_OLD), chunk(_HI, logprobs=_MADE)
        ),
        Example.of_event(
            "old form with alternatives",
            chunk(_HI, logprobs=_MORE),
            chunk(
                _HI,
                logprobs={
                    "content": [
                        {**_TOKEN, **_BYTES, "top_logprobs": [{**_TOKEN, **_BYTES}]}
                    ]
                },
            ),
        ),
        Example.of_event(
            "bytes in base64",
            chunk(
                _HI,
                logprobs={"content": [{**_TOKEN, "bytes": "SGk=", "top_logprobs": []}]},
            ),
            chunk(_HI, logprobs=_MADE),
        ),
        Example.of_event(
            "no figure",
            chunk(
                _HI,
                logprobs={"content": [{"token": "", "bytes": [], "top_logprobs": []}]},
            ),
            chunk(
                _HI,
                logprobs={
                    "content": [
                        {
                            "token": "",
                            "bytes": [],
                            "top_logprobs": [],
                            "logprob": UNLIKELY,
                        }
                    ]
                },
            ),
        ),
        Example.of_event(
            "a list", chunk(_HI, logprobs=[_TOKEN]), chunk(_HI, logprobs=_COMPLETE)
        ),
        Example.of_event(
            "a number", chunk(_HI, logprobs=-1), chunk(_HI, logprobs=_MADE)
        ),
        Example("no object", [chunk(_HI, logprobs=[])], [chunk(_HI, logprobs=None)]),
        Example.untouched("whole", [chunk(_HI, logprobs=_COMPLETE)]),
    )

    def choice(self, choice: Chunk) -> bool:
        """Complete them."""
        return complete(choice)
