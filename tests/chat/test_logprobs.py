"""Log probabilities in the forms of other APIs."""

from typing import Any

import pytest

from llm_normalize.chat.chunks.logprobs import UNLIKELY, complete
from llm_normalize.wire.json_text import Number

ENTRY = {"token": "Hi", "logprob": Number("-0.5"), "top_logprobs": []}
NAMED = {**ENTRY, "bytes": [72, 105]}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"content": [{**ENTRY, "logprob": "-0.5"}]}, [ENTRY]),
        ({"content": [{**ENTRY, "logprob": "-inf"}]}, [{**ENTRY, "logprob": UNLIKELY}]),
        ({"tokens": ["Hi"], "token_logprobs": ["-0.5"]}, [NAMED]),
        ("-0.5", [NAMED]),
        ([Number("-0.5")], [NAMED]),
    ],
)
def test_a_figure_stays_what_it_is(given: Any, made: Any) -> None:
    choice = {"delta": {"content": "Hi"}, "logprobs": given}
    assert complete(choice)
    assert choice["logprobs"] == {"content": made}


def test_bytes_that_are_the_token_itself_are_no_base64() -> None:
    entry = {"token": "that", "logprob": -1, "bytes": "that", "top_logprobs": []}
    assert complete({"logprobs": {"content": [entry]}})
    assert entry["bytes"] == list(b"that")
