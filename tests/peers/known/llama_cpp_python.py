"""llama-cpp-python: a real server that says a call's name again in every chunk."""

from peers.asking import ask
from peers.cases import CAREFUL, HELPER, ONE_API, TEXT, USAGE, Case, Peer, called

PEER = Peer(
    name="llama-cpp-python",
    server="llama_cpp_python",
    cases=(
        Case("text", ask("tiny"), TEXT | USAGE),
        Case("text-stream", ask("tiny", stream=True), TEXT, fixes="content-missing"),
        Case(
            "call",
            ask("tiny", tools=True),
            called("ring_bell", '{"times":2}') | USAGE,
            fixes="function-call-doubled",
        ),
        Case(
            "call-forced-stream",
            ask("tiny", forced=True, stream=True),
            called("ring_bell", '{"times":2}'),
            fixes=(
                "content-null finish-with-delta function-call-doubled role-null "
                "tool-call-head-repeated tool-call-whole tool-calls-null"
            ),
            breaches="content finish tool-calls",
            wrong=(CAREFUL, HELPER, ONE_API),
        ),
    ),
)
