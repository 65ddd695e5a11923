"""vLLM: a finish reason beside the last word, and another name for reasoning."""

from peers.asking import ask
from peers.cases import CAREFUL, ONE_API, STRICT, Case, Peer
from peers.scripted import capture

PEER = Peer(
    name="vLLM",
    cases=(
        Case(
            "text",
            ask("zai/GLM-5.2"),
            {"text": "Loch Ness.", "calls": [], "finish": "stop", "usage": (20, 11)},
            answer=capture("vllm/body-reasoning"),
            fixes="field-null reasoning-renamed tool-calls-null usage-figure-null",
            breaches="content",
        ),
        Case(
            "text-stream",
            ask("meta/llama-3.1-8b-instruct", stream=True),
            {"text": "Tea!", "calls": [], "finish": "length"},
            answer=capture("vllm/finish-with-text"),
            fixes="content-missing field-null finish-with-delta",
            breaches="finish",
            shown="Tea",
            # The helper raises at every `length`.
            clients=(CAREFUL, STRICT, ONE_API),
        ),
    ),
)
