"""The peers, what each gets wrong, and what clients make of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from peers.asking import Json, ask
from peers.scripted import capture, webflux

CAREFUL = "openai2-careful"  # create(), every field tested
HELPER = "openai2-helper"  # .stream() and .parse()
STRICT = "openai2-strict"  # the SDK's types, nothing coerced
ONE_API = "one-api"  # a line scanner into Go's types, in the manner of one-api
CLIENTS = (CAREFUL, HELPER, STRICT, ONE_API)
REPORT_ERRORS = (CAREFUL, HELPER, ONE_API)

TEXT: Json = {"text": "Tea at five.", "calls": [], "finish": "stop"}
USAGE: Json = {"usage": (9, 4)}


def called(name: str, arguments: str) -> Json:
    """Return what a client should say of a call."""
    return {"text": "", "calls": [(True, name, arguments)], "finish": "tool_calls"}


@dataclass(frozen=True)
class Case:
    """One answer of a peer.

    Attributes:
        name: What is asked.
        asked: The request.
        right: What each client says that it got, with the addon.
        fixes: The fixes that fire, by name.
        breaches: The parts of the form that are broken without the addon.
        wrong: By client, what it says otherwise without the addon; None is nothing.
        clients: Those that ask.
        status: The HTTP status.
        answer: What a scripted provider sends, and whether that is a stream.
    """

    name: str
    asked: Json
    right: Json
    fixes: str = ""
    breaches: str = ""
    wrong: Mapping[str, Json] = field(default_factory=dict)
    clients: Sequence[str] = CLIENTS
    status: int = 200
    answer: tuple[Sequence[bytes], bool] | None = None

    def expected(self, client: str) -> Json:
        """Return what *client* should say: not all of them report the same."""
        if client == STRICT:
            return {"faults": []}
        said = dict(self.right)
        stream = "stream" in self.asked
        if client == ONE_API and not stream:
            said.pop("finish", None)
        if client == HELPER and stream:
            calls = ["call"] * len(said["calls"])
            said["done"] = ["text"] * bool(said["text"]) + calls
        return said


@dataclass(frozen=True)
class Peer:
    """A server that is asked through the addon, as README's table has it.

    Attributes:
        name: What people call it.
        runs: What stands for it in the tests.
        wrong: What it sends otherwise than OpenAI.
        without: What clients make of that.
        behind: What they get from the addon.
        cases: What is asked.
        server: The program in `servers/`; None for a scripted provider.
    """

    name: str
    runs: str
    wrong: str
    without: str
    behind: str
    cases: Sequence[Case]
    server: str | None = None


CHATGLM = Peer(
    name="chatglm.cpp",
    runs="its own `openai_api.py` (0.4.2) and sse-starlette; a stub for the model",
    wrong=(
        "CRLF, pings, no `[DONE]`; chunks without `id`, `created`, `model`, `index`; "
        "calls without `id`, ended by `function_call`; errors as `detail`"
    ),
    without=(
        "the SDK's stream helper raises; what splits at blank lines, or waits for "
        "`[DONE]`, gets nothing; a call's result cannot be sent back; an error has no "
        "words"
    ),
    behind="all of it (a call in a stream is text in chatglm.cpp itself, and stays so)",
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
                "choice-index-missing comment-sent created-missing done-missing "
                "finish-key-missing id-missing line-end-cr model-missing"
            ),
            breaches="done envelope finish framing",
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

LLAMA_CPP_PYTHON = Peer(
    name="llama-cpp-python",
    runs="its own server and chat format (0.3.16); a stub for the model",
    wrong=(
        "in a streamed call the name, the id and a `function_call` again in every "
        "chunk, and nulls in the last"
    ),
    without="the name is `ring_bellring_bellring_bell`; one-api sees three calls",
    behind="one call with its name (it streams calls that are forced, and no others)",
    server="llama_cpp_python",
    cases=(
        Case("text", ask("tiny"), TEXT | USAGE),
        Case("text-stream", ask("tiny", stream=True), TEXT),
        Case("call", ask("tiny", tools=True), called("ring_bell", '{"times":2}') | USAGE),
        Case(
            "call-forced-stream",
            ask("tiny", forced=True, stream=True),
            called("ring_bell", '{"times":2}'),
            fixes=(
                "content-null finish-with-delta function-call-repeated role-null "
                "tool-call-head-repeated tool-call-whole tool-calls-null"
            ),
            breaches="content finish tool-calls",
            wrong={
                CAREFUL: {"calls": [(True, "ring_bell" * 3, '{"times":2}')]},
                HELPER: {"calls": [(True, "ring_bell" * 3, '{"times":2}')]},
                ONE_API: {"calls": [(True, "ring_bell", '{"times":2}')] * 3},
            },
        ),
    ),
)

SGLANG = Peer(
    name="SGLang",
    runs="its own chat serving and parsers (0.5.10); a stub for the model",
    wrong=(
        "null for `role`, `content`, `reasoning_content` and `tool_calls` in every "
        "delta, for id and name of a call that goes on; errors without `error`"
    ),
    without="",
    behind="",
    server="sglang",
    cases=(
        Case(
            "text",
            ask("qwen3"),
            TEXT | USAGE,
            fixes="tool-calls-null",
            breaches="content",
        ),
        Case(
            "text-stream",
            ask("qwen3", stream=True, usage=True),
            TEXT | USAGE,
            fixes=(
                "content-null field-null finish-with-delta reasoning-null role-null "
                "tool-calls-null"
            ),
            breaches="content finish",
        ),
        Case("call", ask("qwen3", tools=True), called("ring_bell", '{"times": 2}') | USAGE),
        Case(
            "call-stream",
            ask("qwen3", tools=True, stream=True),
            called("ring_bell", '{"times": 2}'),
            fixes=(
                "content-null field-null finish-with-delta reasoning-null role-null "
                "tool-call-head-repeated tool-calls-null"
            ),
            breaches="content finish tool-calls",
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

WEBFLUX = Peer(
    name="Spring WebFlux",
    runs="the bytes that its documented writer makes, from a script",
    wrong="`data:` without a space, `id:` and `event:` fields, comments",
    without="one-api's line scanner skips every line: the answer is empty",
    behind="all of it",
    cases=(
        Case(
            "text-stream",
            ask("qwen-plus", stream=True),
            TEXT,
            answer=webflux(
                {"role": "assistant", "content": ""},
                {"content": "Tea at"},
                "keep-alive",
                {"content": " five."},
                {"finish": "stop"},
            ),
            fixes="comment-sent data-space-missing field-not-data",
            breaches="framing",
        ),
        Case(
            "call-stream",
            ask("qwen-plus", stream=True, tools=True),
            called("ring_bell", '{"times":2}'),
            answer=webflux(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_7f0a",
                            "type": "function",
                            "function": {"name": "ring_bell", "arguments": ""},
                        }
                    ],
                },
                {"tool_calls": [{"index": 0, "function": {"arguments": '{"times":2}'}}]},
                {"finish": "tool_calls"},
            ),
            fixes="data-space-missing field-not-data",
            breaches="framing",
            wrong={ONE_API: {"calls": [], "finish": ""}},
        ),
    ),
)

OLLAMA = Peer(
    name="Ollama",
    runs="its recorded shapes, in words of our own, from a script",
    wrong="",
    without="",
    behind="",
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

LLAMA_CPP = Peer(
    name="llama.cpp's server",
    runs="its recorded shapes, in words of our own, from a script",
    wrong="",
    without="",
    behind="",
    cases=(
        Case(
            "call",
            ask("Qwen3-4B", tools=True),
            called("sow", '{"seed":"beet","rows":3}') | {"usage": (40, 14)},
            answer=capture("llamacpp/body-arguments-object"),
            fixes="tool-call-arguments-object",
            breaches="envelope",
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
            {"text": "The pot", "calls": [], "finish": None, "error": "the pot boiled over"},
            answer=capture("llamacpp/error-line"),
            fixes="content-null error-by-field-name error-fields",
            breaches="content done finish framing",
            wrong={CAREFUL: {"error": None}},
            clients=[CAREFUL],
        ),
        Case(
            "error",
            ask("Qwen3-1.7B"),
            {"error": "the pot (900 leaves) holds 64 leaves"},
            answer=capture("llamacpp/error-400"),
            fixes="error-fields",
            breaches="error",
            clients=REPORT_ERRORS,
            status=400,
        ),
    ),
)

VLLM = Peer(
    name="vLLM",
    runs="its recorded shapes, in words of our own, from a script",
    wrong="",
    without="",
    behind="",
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
            fixes="field-null finish-with-delta",
            breaches="finish",
            clients=(CAREFUL, STRICT, ONE_API),  # the helper raises at every `length`
        ),
    ),
)

PEERS = (CHATGLM, LLAMA_CPP_PYTHON, SGLANG, WEBFLUX, OLLAMA, LLAMA_CPP, VLLM)
