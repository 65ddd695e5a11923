"""SGLang: a real server that sends null for whatever a delta does not have."""

from peers.asking import ask
from peers.cases import REPORT_ERRORS, TEXT, USAGE, Case, Peer, called

PEER = Peer(
    name="SGLang",
    server="sglang",
    cases=(
        Case(
            "text",
            ask("qwen3"),
            TEXT | USAGE,
            fixes="tool-calls-null usage-figure-null",
            breaches="content",
        ),
        Case(
            "text-stream",
            ask("qwen3", stream=True),
            TEXT,
            fixes=(
                "content-null envelope-changing field-null finish-with-delta reasoning-null role-null "
                "tool-calls-null"
            ),
            breaches="content envelope finish",
            shown="nullnullTea at five.",
        ),
        Case(
            "call",
            ask("qwen3", tools=True),
            called("ring_bell", '{"times": 2}') | USAGE,
            fixes="field-null usage-figure-null",
        ),
        Case(
            "call-stream",
            ask("qwen3", tools=True, stream=True, usage=True),
            called("ring_bell", '{"times": 2}') | USAGE,
            fixes=(
                "content-null envelope-changing field-null finish-with-delta reasoning-null role-null "
                "tool-call-head-repeated tool-calls-null usage-figure-null"
            ),
            breaches="content envelope finish tool-calls",
        ),
        Case(
            "error",
            ask("qwen3", empty=True),
            {"error": "Messages cannot be empty."},
            fixes="error-unwrapped",
            breaches="error",
            clients=REPORT_ERRORS,
            status=400,
        ),
    ),
)
