"""Ollama: whole calls, and the role in every delta."""

from peers.asking import ask
from peers.cases import Case, Peer, called
from peers.scripted import capture

PEER = Peer(
    name="Ollama",
    runs="a script with its recorded shapes, in words of our own (it is written in Go)",
    wrong=(
        "the role in every delta; calls whole; `created` changes in mid-stream; "
        "`reasoning`, where others have `reasoning_content`"
    ),
    without=(
        "the SDK copes; what opens a message at each role, or looks for "
        "`reasoning_content`, does not"
    ),
    behind="OpenAI's form; the reasoning by both names",
    cases=(
        Case(
            "call",
            ask("gpt-oss:20b", tools=True),
            called("ring_bell", '{"times":1}') | {"usage": (77, 13)},
            answer=capture("ollama/body"),
            fixes="reasoning-renamed",
        ),
        Case(
            "call-stream",
            ask("qwen3", tools=True, stream=True, usage=True),
            called("count_geese", "{}") | {"usage": (70, 16)},
            answer=capture("ollama/tool-call"),
            fixes=(
                "envelope-changing finish-with-delta reasoning-renamed role-repeated "
                "tool-call-whole"
            ),
            breaches="envelope finish role tool-calls",
        ),
    ),
)
