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
            wrong={
                HELPER: {
                    "error": "list indices must be integers or slices, not NoneType",
                    "text": None,
                    "calls": None,
                    "finish": None,
                    "done": [],
                },
                STRICT: {
                    "faults": [
                        "choices.0.index missing",
                        "created missing",
                        "id missing",
                        "model missing",
                    ]
                },
            },
        ),
        Case(
            "call",
            ask("glm", tools=True),
            called("ring_bell", '{"times": 2}') | USAGE,
            fixes="finish-stop-with-calls id-missing model-missing tool-call-id-missing",
            breaches="envelope",
            wrong={
                CAREFUL: {
                    "calls": [(False, "ring_bell", '{"times": 2}')],
                    "finish": "function_call",
                },
                HELPER: {
                    "calls": [(False, "ring_bell", '{"times": 2}')],
                    "finish": "function_call",
                },
                STRICT: {
                    "faults": [
                        f"choices.0.message.tool_calls.0.{kind}"
                        for kind in (
                            "ChatCompletionMessageCustomToolCall.custom missing",
                            "ChatCompletionMessageCustomToolCall.id missing",
                            "ChatCompletionMessageCustomToolCall.type literal_error",
                            "ChatCompletionMessageFunctionToolCall.id missing",
                        )
                    ]
                },
                ONE_API: {"calls": [(False, "ring_bell", '{"times": 2}')]},
            },
        ),
        Case(
            "error",
            ask("glm", empty=True),
            {"error": "empty messages"},
            fixes="error-unwrapped",
            breaches="error",
            wrong={
                CAREFUL: {"error": "None"},
                HELPER: {"error": "None"},
                ONE_API: {"error": "bad response status code 400"},
            },
            clients=REPORT_ERRORS,
            status=400,
        ),
    ),
)
