# mypy: ignore-errors
# The SDK is not in the project's environment.
"""openai-python 0.28: the module-level API, its answers read as dicts."""

import openai
import serve
from serve import Json, client

openai.api_key = "made-up"


def note_call(call: Json, calls: dict[str, Json]) -> None:
    """Join a call's fragment to what came of it before."""
    seen = calls.setdefault(str(call["index"]), {"id": "", "name": "", "arguments": ""})
    seen["id"] += call.get("id", "")
    seen["name"] += call["function"].get("name", "")
    seen["arguments"] += call["function"]["arguments"]


def note_error(error: openai.error.OpenAIError, outcome: Json) -> None:
    """Report a failure; some name all headers, and with them the time."""
    outcome["error"] = [
        type(error).__name__,
        {
            "status": error.http_status,
            "code": error.code,
            "param": getattr(error, "param", None),
            "body": error.json_body,
            "words": str(error).replace(str(error.headers), ""),
        },
    ]


@client("openai0")
def loop(url: str, request: Json, report: Json) -> None:
    """ChatCompletion.create(), the usual loop of its day."""
    try:
        read(url, request, report)
    except openai.error.OpenAIError as error:
        note_error(error, report["outcome"])


def read(url: str, request: Json, report: Json) -> None:
    """Join the pieces without a look at what they are."""
    outcome, events = report["outcome"], report["events"]
    answer = openai.ChatCompletion.create(api_base=url, request_timeout=10, **request)
    if not request.get("stream"):
        choice = answer["choices"][0]
        outcome["message"] = choice["message"].to_dict_recursive()
        outcome["finish"] = choice["finish_reason"]
        outcome["usage"] = answer["usage"].to_dict_recursive()
        return
    outcome.update(text="", calls={}, finish=None)
    for chunk in answer:
        choice = chunk["choices"][0]
        delta = choice["delta"]
        text = delta.get("content", "")
        if "tools" in request:  # who used them had met a null
            text = text or ""
        outcome["text"] += text
        for call in delta.get("tool_calls", []):
            note_call(call, outcome["calls"])
        outcome["finish"] = choice["finish_reason"]
        events.append([delta.to_dict_recursive(), choice["finish_reason"]])


if __name__ == "__main__":
    serve.main()
