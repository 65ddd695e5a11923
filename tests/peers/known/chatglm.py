"""chatglm.cpp: a real server that leaves out most of a chunk's envelope."""

from peers.asking import ask
from peers.cases import (
    CAREFUL,
    HELPER,
    ONE_API,
    REPORT_ERRORS,
    STRICT,
    TEXT,
    USAGE,
    Case,
    Peer,
    called,
)

PEER = Peer(
    name="chatglm.cpp",
    server="chatglm_cpp",
    cases=(
        Case(
            "text",
            ask("glm"),
            TEXT | USAGE,
            fixes="id-missing model-missing tool-calls-null",
            breaches="content",
        ),
        Case(
            "text-stream",
            ask("glm", stream=True),
            TEXT,
            fixes=(
                "choice-index-missing comment-sent content-missing created-missing "
                "done-missing finish-key-missing id-missing line-end-cr model-missing"
            ),
            breaches="done envelope finish framing",
            shown=None,
            wrong=(HELPER, STRICT),
        ),
        Case(
            "call",
            ask("glm", tools=True),
            called("ring_bell", '{"times": 2}') | USAGE,
            fixes="finish-stop-with-calls id-missing model-missing tool-call-id-missing",
            breaches="envelope",
            wrong=(CAREFUL, HELPER, STRICT, ONE_API),
        ),
        Case(
            "error",
            ask("glm", empty=True),
            {"error": "empty messages"},
            fixes="error-unwrapped",
            breaches="error",
            wrong=(CAREFUL, HELPER, ONE_API),
            clients=REPORT_ERRORS,
            status=400,
        ),
    ),
)
