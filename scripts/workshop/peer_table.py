"""The servers that are nearly compatible, as addon/docs/compatibility.md lists them."""

from typing import NamedTuple


class Peer(NamedTuple):
    """One row of the table.

    Attributes:
        name: What people call it.
        runs: What stands for it in the tests.
        wrong: What it sends otherwise than OpenAI.
        without: What clients make of that.
        behind: What they get from the addon.
    """

    name: str
    runs: str
    wrong: str
    without: str
    behind: str


PEERS = {
    "chatglm": Peer(
        name="chatglm.cpp",
        runs="its own `openai_api.py` (0.4.2) and sse-starlette; a stub for the model",
        wrong="CRLF, pings, no `[DONE]`; chunks without `id`, `created`, `model`, `index`; calls without `id`, ended by `function_call`; errors as `detail`",
        without="the SDK's stream helper raises; what splits at blank lines, or waits for `[DONE]`, gets nothing; a call's result cannot be sent back; an error has no words",
        behind="all of it but a call's result: it knows the roles `system`, `user` and `assistant`, and refuses `tool` (422) with the addon, too (a call in a stream is text in chatglm.cpp itself, and stays so)",
    ),
    "llama_cpp_python": Peer(
        name="llama-cpp-python",
        runs="its own server and chat format (0.3.16); a stub for the model",
        wrong="a `function_call` beside each call, and in a stream it, the name and the id again in every chunk, and nulls in the last",
        without="the name is `ring_bellring_bellring_bell`; one-api sees three calls",
        behind="one call with its name (it streams calls that are forced, and no others)",
    ),
    "sglang": Peer(
        name="SGLang",
        runs="its own chat serving and parsers (0.5.10); a stub for the model",
        wrong="`created` by the second; null for `role`, `content`, `reasoning_content` and `tool_calls` in every delta, for id and name of a call that goes on; errors without `error`",
        without="a page that adds up what is there shows `nullnullTea at five.`; the SDK copes",
        behind="the text alone; reasoning in a field of its own, as before",
    ),
    "webflux": Peer(
        name="Spring WebFlux",
        runs="a script with the bytes that its documented writer makes (there is no Java in the tests)",
        wrong="`data:` without a space, `id:` and `event:` fields, comments",
        without="one-api's line scanner skips every line: the answer is empty; the SDK raises at a comment between events with an `id`",
        behind="the whole answer",
    ),
    "vllm": Peer(
        name="vLLM",
        runs="a script with its recorded shapes, in words of our own (the package brings gigabytes for GPUs)",
        wrong="the finish reason beside the last word; `function_call` and more as null; `reasoning`, where others have `reasoning_content`",
        without="what stops at a finish reason loses the last word; the SDK copes",
        behind="every word; the reasoning by both names",
    ),
    "ollama": Peer(
        name="Ollama",
        runs="a script with its recorded shapes, in words of our own (it is written in Go)",
        wrong="the role in every delta; calls whole; `created` changes in mid-stream; `reasoning`, where others have `reasoning_content`",
        without="the SDK copes; what opens a message at each role, or looks for `reasoning_content`, does not",
        behind="OpenAI's form; the reasoning by both names",
    ),
    "llama_cpp": Peer(
        name="llama.cpp's server",
        runs="a script with its recorded shapes, in words of our own (it is written in C++)",
        wrong="arguments as an object (some versions of 2026); a call's head with its first arguments; an error in mid-stream by the field name `error`",
        without="the arguments are no string, and one-api fails at them; the answer just ends where the error was",
        behind="a string; the error, raised by the SDK",
    ),
}
"""By the module with their cases, in `tests/peers/known`, in the table's order."""


def markdown() -> str:
    """Return the table."""
    names = (
        "peer",
        "in its tests",
        "what it gets wrong",
        "without the addon",
        "with it",
    )
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join('---' for _ in names)} |"]
    for module, (name, *cells) in PEERS.items():
        link = f"[{name}](../../tests/peers/known/{module}.py)"
        lines.append(f"| {' | '.join([link, *cells])} |")
    return "\n".join(lines)
