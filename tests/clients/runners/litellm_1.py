# mypy: ignore-errors
# The library is not in the project's environment.
"""LiteLLM as a library."""

import os
import re
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches one

import litellm
import openai_readers
import serve
from serve import Json, client

litellm.telemetry = False
litellm.suppress_debug_info = True

# The ids that it gives to calls without one.
MADE_UP = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def plain(value: Any) -> Any:
    """Return *value* less the ids that the library made up."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    made_up = isinstance(value, str) and MADE_UP.fullmatch(value)
    return "made up" if made_up else value


def said_of(answer: Any) -> Json:
    """Return what an answer or a chunk says, less id and time: they are its own."""
    said = plain(answer.model_dump(exclude_none=True))
    return {name: said[name] for name in said if name not in ("id", "created")}


@client("litellm")
def completion(url: str, request: Json, report: Json) -> None:
    """completion() with the openai/ provider, stream_chunk_builder()."""
    outcome = report["outcome"]
    model = f"openai/{request['model']}"
    options = {
        "client": openai_readers.at(url),  # else it sets up TLS for every URL
        "api_base": url,
        "api_key": "made-up",
        "max_retries": 0,
        "timeout": 10,
        # With tools this version imports `mcp`, which it does not ask pip for.
        "_skip_mcp_handler": True,
    }
    chunks = []
    try:
        answer = litellm.completion(**{**request, "model": model}, **options)
        if not request.get("stream"):
            outcome.update(said_of(answer))
            return
        for chunk in answer:
            chunks.append(chunk)
            report["events"].append(said_of(chunk))
        outcome.update(said_of(litellm.stream_chunk_builder(chunks)))
    except Exception as error:
        # It may append where in the code it was, and how long that took.
        outcome["said"] = str(error).partition(" Traceback ")[0]
        raise


if __name__ == "__main__":
    serve.main()
