"""Ollama: whole calls, and the role in every delta."""

from peers.asking import ask
from peers.cases import Case, Peer, called
from peers.scripted import capture

PEER = Peer(
    name="Ollama",
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
