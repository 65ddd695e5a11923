"""llama.cpp's own server, which is not llama-cpp-python's."""

from peers.asking import ask
from peers.cases import (
    CAREFUL,
    HELPER,
    ONE_API,
    REPORT_ERRORS,
    STRICT,
    Case,
    Peer,
    called,
)
from peers.scripted import capture

PEER = Peer(
    name="llama.cpp's server",
    cases=(
        Case(
            "call",
            ask("Qwen3-4B", tools=True),
            called("sow", '{"seed":"beet","rows":3}') | {"usage": (40, 14)},
            answer=capture("llamacpp/body-arguments-object"),
            fixes="tool-call-arguments-object",
            breaches="envelope",
            wrong=(CAREFUL, HELPER, STRICT, ONE_API),
        ),
        Case(
            "call-stream",
            ask("openai/gpt-oss-20b", tools=True, stream=True, usage=True),
            called("light_lamp", '{"room":"attic"}') | {"usage": (16, 7)},
            answer=capture("llamacpp/tool-call"),
            fixes="tool-call-whole",
            breaches="tool-calls",
        ),
        Case(
            "error-stream",
            ask("Qwen3-1.7B", stream=True),
            {
                "text": "The pot",
                "calls": [],
                "finish": None,
                "error": "the pot boiled over",
            },
            answer=capture("llamacpp/error-line"),
            fixes="content-null error-by-field-name error-fields",
            breaches="content done finish framing",
            wrong=(CAREFUL,),
            clients=[CAREFUL],
        ),
        Case(
            "error",
            ask("Qwen3-1.7B"),
            {"error": "the pot (900 leaves) holds 64 leaves"},
            answer=capture("llamacpp/error-400"),
            fixes="context-overflow-unnamed error-fields",
            breaches="error",
            clients=REPORT_ERRORS,
            status=400,
        ),
    ),
)
