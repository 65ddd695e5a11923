"""vLLM: a finish reason beside the last word, and another name for reasoning."""

from peers.asking import ask
from peers.cases import CAREFUL, ONE_API, STRICT, Case, Peer
from peers.scripted import capture

PEER = Peer(
    name="vLLM",
    runs=(
        "a script with its recorded shapes, in words of our own (the package brings "
        "gigabytes for GPUs)"
    ),
    wrong=(
        "the finish reason beside the last word; `function_call` and more as null; "
        "`reasoning`, where others have `reasoning_content`"
    ),
    without="what stops at a finish reason loses the last word; the SDK copes",
    behind="every word; the reasoning by both names",
    cases=(
        Case(
            "text",
            ask("zai/GLM-5.2"),
            {"text": "Loch Ness.", "calls": [], "finish": "stop", "usage": (20, 11)},
            answer=capture("vllm/body-reasoning"),
            fixes="field-null reasoning-renamed tool-calls-null",
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
