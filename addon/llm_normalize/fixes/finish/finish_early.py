"""A finish reason before the last words of its choice, often on every chunk.

The repair is in `repair/machine/finish.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, Example, Fix, chunk

_OPEN = chunk({"role": "assistant", "content": "Hi"})
_ROLE = chunk({"role": "assistant", "content": ""})
_MORE = chunk({"content": "!"})
_STOP = chunk({}, finish="stop")


class FinishEarly(Fix):
    """Send it after the last words, unless it has been sent.

    It is held for the next event: at most 100 ms, unless its choice is likely to go on.
    """

    name = "finish-early"
    changes = "`finish_reason` before text of its choice -> after it"
    why = "Clients stop at the first one, after a word."
    providers = ("gcli2api", "Open WebUI's bridge to Ollama", "Gemini proxies")
    sources = (
        "https://github.com/su-kaka/gcli2api/issues/403",
        "https://github.com/open-webui/open-webui/issues/16377",
    )
    examples = (
        Example(
            "text after it", [_OPEN, _STOP, _MORE, DONE], [_OPEN, _MORE, _STOP, DONE]
        ),
        Example(
            "before the first words",
            [_ROLE, _STOP, _MORE, DONE],
            [_ROLE, _MORE, _STOP, DONE],
            asked=Asked(stream=True, usage=True),
        ),
        Example.untouched("last", [_OPEN, _MORE, _STOP, DONE]),
    )
