# mypy: ignore-errors
# What it imports is in the servers' own environment.
"""SGLang's own chat serving, parsers and types; text comes from a stub.

What these import of the engine (torch and all that) is replaced by empty modules.
"""

import importlib.abc
import importlib.machinery
import itertools
import sys
import types
from pathlib import Path

import serving

EMPTY = {
    "torch", "transformers", "IPython", "triton", "zmq",
    "sglang.utils", "sglang.srt.managers", "sglang.srt.multimodal",
    "sglang.srt.observability", "sglang.srt.sampling", "sglang.srt.server_args",
    "sglang.srt.utils", "sglang.srt.lora",
}  # fmt: skip


class Empty(types.ModuleType):
    """A module that has a class by whatever name is asked for."""

    __path__ = ()

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        found = type(
            name, (), {"__init__": lambda self, *_, **kw: vars(self).update(kw)}
        )
        setattr(self, name, found)
        return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the empty modules."""

    def find_spec(self, name, path=None, target=None):
        """Say that they are here, with all below them."""
        if any(f"{name}.".startswith(f"{each}.") for each in EMPTY):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """Make one."""
        return Empty(spec.name)

    def exec_module(self, module) -> None:
        """Leave it empty."""


def imported() -> type:
    """Return the class that serves chats."""
    sys.meta_path.insert(0, Finder())
    # Its own __init__ imports the engine's front end.
    package = types.ModuleType("sglang")
    package.__path__ = [str(Path(serving.source()) / "sglang")]
    sys.modules["sglang"] = package
    import sglang.srt.observability.req_time_stats as stats  # noqa: PLC0415
    import sglang.utils  # noqa: PLC0415

    stats.monotonic_time = lambda: 0.0
    sglang.utils.convert_json_schema_to_str = str
    from sglang.srt.entrypoints.openai import serving_chat  # noqa: PLC0415

    return serving_chat


serving_chat = imported()
# It asks for the time at every chunk: here each takes a second.
CLOCK = itertools.count(1790000000)
serving_chat.time = types.SimpleNamespace(time=lambda: next(CLOCK))
import fastapi  # noqa: E402
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest  # noqa: E402

THOUGHTS = ("<think>", "When", " then?", "</think>")
CALLED = (
    "<tool_call>\n",
    '{"name": "ring_bell", ',
    '"arguments": {"times": ',
    "2}}",
    "\n</tool_call>",
)


class Chat(serving_chat.OpenAIServingChat):
    """The class with the prompt left out."""

    def _convert_to_internal_request(self, request, raw_request=None):
        return bool(request.tools), request


class Engine:
    """A model that thinks, says one thing, and has one function to call."""

    tokenizer = types.SimpleNamespace(chat_template="")
    request_logger = types.SimpleNamespace(log_requests=False)
    model_config = types.SimpleNamespace(
        get_default_sampling_params=dict,
        hf_config=types.SimpleNamespace(architectures=[], model_type="qwen3"),
    )
    server_args = types.SimpleNamespace(
        tool_call_parser="qwen25",
        reasoning_parser="qwen3",
        context_length=4096,
        allow_auto_truncate=False,
        enable_cache_report=False,
        stream_response_default_include_usage=False,
        weight_version="default",
    )

    def create_abort_task(self, _) -> None:
        """There is nothing to stop."""

    async def generate_request(self, calls: bool, raw_request):
        """Yield all text so far, as SGLang's tokenizer manager does."""
        words = (*THOUGHTS, *(CALLED if calls else serving.WORDS))
        if not await streamed(raw_request):
            yield answer("".join(words), last=True)
            return
        for at in range(1, len(words) + 1):
            yield answer("".join(words[:at]), last=at == len(words))


async def streamed(raw_request) -> bool:
    """Return whether a stream was asked for."""
    return bool((await raw_request.json()).get("stream"))


def answer(text: str, *, last: bool) -> dict:
    """Return what the engine gives."""
    finish = {"type": "stop", "matched": 151645} if last else None
    about = {
        "id": "5eed5eed5eed5eed5eed5eed5eed5eed",
        **serving.TOKENS,
        "finish_reason": finish,
        "weight_version": "default",
        "cached_tokens": 0,
    }
    return {"text": text, "meta_info": about}


def main() -> None:
    """Serve it."""
    app = fastapi.FastAPI()
    templates = types.SimpleNamespace(force_reasoning=False)
    chat = Chat(Engine(), templates)

    @app.post("/v1/chat/completions")
    async def completions(request: ChatCompletionRequest, raw: fastapi.Request):
        return await chat.handle_request(request, raw)

    serving.serve(app)


if __name__ == "__main__":
    main()
