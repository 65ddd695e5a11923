"""Each delta brings the whole text again, from its beginning."""

from ...repair.cumulative_text import CumulativeTextFix
from ...repair.fix import Example, chunk
from ...repair.look import Finding

_TEXTS = ("Tea ", "Tea comes ", "Tea comes from Asia", "Tea comes from Asia.")


class ContentCumulative(CumulativeTextFix):
    """Send what is new, once the stream has proved that each delta repeats all before.

    Proof is three deltas in a row, each the whole one before and more. Earlier text
    has been sent by then. A guess could cost text: "ha" then "haha" may be both meant. Two
    deltas that say something else are proof of the contrary.

    A host and model that have proved it are remembered: their later streams are repaired
    from the first event on, until one says the contrary (repair/cumulative_text.py has the
    rule).
    """

    name = "content-cumulative"
    changes = "`delta.content` with all text so far, three times -> what is new"
    why = "The answer is shown again with each chunk."
    providers = ("DashScope without incremental output", "Gemini bridges")
    kind = "content"
    keys = ("content",)
    handles = Finding.CONTENT
    sources = (
        "https://github.com/QwenLM/qwen-code/issues/3896",
        "https://github.com/tashfeenahmed/freellmapi/issues/1007",
    )
    examples = (
        Example(
            "growing",
            [chunk({"content": text}) for text in _TEXTS],
            [
                *[chunk({"content": text}) for text in _TEXTS[:-1]],
                chunk({"content": "."}),
            ],
            ended=False,
        ),
        Example.untouched(
            "blanks",
            [chunk({"content": " " * 2**size}) for size in range(7)],
        ),
        Example.untouched(
            "twice", [chunk({"content": "ha"}), chunk({"content": "haha"})]
        ),
    )
