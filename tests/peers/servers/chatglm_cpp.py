# mypy: ignore-errors
# What it imports is in the servers' own environment.
"""chatglm.cpp's own openai_api.py and the real sse-starlette; the model is a stub.

`chatglm_cpp` itself is C++: a module of that name stands in for it.
"""

import importlib.util
import sys
import time
import types
from dataclasses import dataclass, field

import serving
from sse_starlette.sse import EventSourceResponse

PAUSE = 0.12  # seconds
EventSourceResponse.DEFAULT_PING_INTERVAL = 0.1  # 15 s are too long for a test


@dataclass
class Message:
    """What the pipeline takes and gives."""

    role: str
    content: str
    image: object = None
    tool_calls: list = field(default_factory=list)


def called() -> list:
    """Return a call as the C++ module gives it: a Python expression for arguments."""
    times = serving.CALL["arguments"].removeprefix('{"times":').removesuffix("}")
    function = types.SimpleNamespace(
        name=serving.CALL["name"], arguments=f"tool_call(times={times})"
    )
    return [types.SimpleNamespace(type="function", function=function)]


class Pipeline:
    """A model with one thing to say, and one function to call."""

    def __init__(self, model: str, *, max_length: int) -> None:
        self.tokenizer = types.SimpleNamespace(
            apply_chat_template=lambda *_: range(serving.TOKENS["prompt_tokens"]),
            encode=lambda *_: range(serving.TOKENS["completion_tokens"]),
        )

    def chat(self, messages, *, stream: bool = False, **_):
        """Answer; what asks for a function is the first of *messages*."""
        if stream:
            return self._pieces()
        if "tools" in messages[0].content:
            return Message("assistant", "", tool_calls=called())
        return Message("assistant", "".join(serving.WORDS))

    def _pieces(self):
        for at, word in enumerate(serving.WORDS):
            if at == 2:
                time.sleep(PAUSE)  # so that a ping is due
            yield Message("assistant", word)


def main() -> None:
    """Serve it."""
    stub = types.ModuleType("chatglm_cpp")
    stub.Pipeline, stub.ChatMessage = Pipeline, Message
    sys.modules["chatglm_cpp"] = stub
    path = f"{serving.source()}/chatglm_cpp/openai_api.py"
    spec = importlib.util.spec_from_file_location("openai_api", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["openai_api"] = module  # pydantic looks for its types there
    spec.loader.exec_module(module)
    serving.serve(module.app)


if __name__ == "__main__":
    main()
