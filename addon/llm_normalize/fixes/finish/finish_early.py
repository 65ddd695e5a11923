"""A finish reason before the last words of its choice, often on every chunk.

The repair is in `repair/machine/finish.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, ROLE, STOP, TEXT, Example, Fix, chunk

_MORE = chunk({"content": "!"})


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
        Example("text after it", [TEXT, STOP, _MORE, DONE], [TEXT, _MORE, STOP, DONE]),
        Example(
            "before the first words",
            [ROLE, STOP, _MORE, DONE],
            [ROLE, _MORE, STOP, DONE],
            asked=Asked(stream=True, usage=True),
        ),
        Example.untouched("last", [TEXT, _MORE, STOP, DONE]),
    )
