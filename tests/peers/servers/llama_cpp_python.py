# mypy: ignore-errors
# What it imports is in the servers' own environment.
"""llama-cpp-python's own server and chat format; tokens come from a stub.

Its library is C++: whatever is asked of it gives an object that does nothing.
"""

import ctypes
import itertools
import os
import pathlib
import tempfile
import time

import serving

NAMES = ("libllama.so", "libllama.dylib", "libmtmd.so", "libmtmd.dylib")
NUMBERS = itertools.count(1)


class Library:
    """Stands for the shared library."""

    def __init__(self, path: str, **_) -> None:
        self.path = path

    def __getattr__(self, name: str):
        return type(name, (), {"__call__": lambda *_: 0})()


def imported():
    """Import the package without its library."""
    folder = tempfile.mkdtemp()
    for name in NAMES:
        pathlib.Path(folder, name).touch()
    os.environ["LLAMA_CPP_LIB_PATH"] = os.environ["MTMD_CPP_LIB"] = folder
    real, ctypes.CDLL = ctypes.CDLL, Library
    serving.source()
    try:
        import llama_cpp  # noqa: PLC0415 - the library is replaced meanwhile
    finally:
        ctypes.CDLL = real
        for name in NAMES:
            pathlib.Path(folder, name).unlink()
        pathlib.Path(folder).rmdir()
    return llama_cpp


llama_cpp = imported()
from llama_cpp.server import app, model, settings  # noqa: E402


class Stub(llama_cpp.Llama):
    """A model with one thing to say, and one function to call."""

    def __init__(self) -> None:
        self.chat_format = "chatml-function-calling"
        self.chat_handler = None
        self._chat_handlers = {}
        self.verbose = False

    def close(self) -> None:
        """There is nothing to free."""

    __del__ = close

    def create_completion(self, prompt, *, stream=False, stop=None, **_):
        """Return a text completion, as the class above does."""
        if stop == [":"]:  # what is next: words, or the name of a function
            words = ["functions." + serving.CALL["name"]]
        elif prompt.endswith(f"functions.{serving.CALL['name']}:\n"):
            words = [serving.CALL["arguments"][:8], serving.CALL["arguments"][8:]]
        elif "functions." in prompt.rpartition("<|im_start|>")[2]:
            words = ["<|im_end|>"]  # no further function
        else:
            words = serving.WORDS
        head = {
            "id": f"cmpl-{next(NUMBERS):08}-5eed",
            "object": "text_completion",
            "created": int(time.time()),
            "model": "models/tiny.gguf",
        }
        if stream:
            return self._chunks(head, words)
        counts = dict(serving.TOKENS)
        counts["total_tokens"] = sum(counts.values())
        choice = choice_of("".join(words), "stop")
        return {**head, "choices": [choice], "usage": counts}

    def _chunks(self, head, words):
        for word in words:
            yield {**head, "choices": [choice_of(word, None)]}
        yield {**head, "choices": [choice_of("", "stop")]}


def choice_of(text: str, finish: str | None) -> dict:
    """Return a choice of a text completion."""
    return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}


def main() -> None:
    """Serve it."""
    model.LlamaProxy.load_llama_from_model_settings = staticmethod(lambda _: Stub())
    asked = settings.Settings(model="models/tiny.gguf")
    serving.serve(app.create_app(settings=asked))


if __name__ == "__main__":
    main()
