"""The peers that are known, and the table of them in addon/docs/compatibility.md."""

from peers.known import (
    chatglm,
    llama_cpp,
    llama_cpp_python,
    ollama,
    sglang,
    vllm,
    webflux,
)

MODULES = (chatglm, llama_cpp_python, sglang, webflux, vllm, ollama, llama_cpp)
PEERS = tuple(module.PEER for module in MODULES)


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
    for module in MODULES:
        peer = module.PEER
        path = f"../../tests/peers/known/{module.__name__.rpartition('.')[2]}.py"
        cells = (peer.runs, peer.wrong, peer.without, peer.behind)
        lines.append(f"| [{peer.name}]({path}) | {' | '.join(cells)} |")
    return "\n".join(lines)
