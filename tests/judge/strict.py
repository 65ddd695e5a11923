"""What a client takes from an answer that knows nothing but OpenAI's form."""

import json
from collections.abc import Iterator
from typing import Any

from judge.meaning import Call, Choice, Error, Meaning


def taken(out: bytes) -> Meaning:
    """Return what it takes from a stream."""
    meaning = Meaning(done=b"data: [DONE]" in out.split(b"\n"))
    for value in chunks(out):
        _take(meaning, value, "delta")
    return meaning


def taken_of_body(value: dict[str, Any]) -> Meaning:
    """Return what it takes from a body."""
    meaning = Meaning(streamed=False)
    _take(meaning, value, "message")
    return meaning


def chunks(out: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream in OpenAI's form."""
    for line in out.split(b"\n"):
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def _take(meaning: Meaning, value: dict[str, Any], key: str) -> None:
    meaning.usage = value.get("usage") or meaning.usage
    if "error" in value:
        error = value["error"]
        meaning.errors.append(Error((error["message"],), error["code"] or ""))
    for part in value.get("choices", ()):
        choice = meaning.choices.setdefault(part["index"], Choice())
        choice.finish_reason = part.get("finish_reason") or choice.finish_reason
        choice.logprobs += _logprobs(part.get("logprobs") or {})
        _say(choice, part[key])


def _say(choice: Choice, delta: dict[str, Any]) -> None:
    choice.text += delta.get("content") or ""
    choice.reasoning += delta.get("reasoning_content") or ""
    choice.refusal += delta.get("refusal") or ""
    for fragment in delta.get("tool_calls", ()):
        at = fragment.get("index", len(choice.calls))
        if at == len(choice.calls):
            choice.calls.append(Call())
        call = choice.calls[at]
        call.id += fragment.get("id") or ""
        _add(call, fragment["function"])
    if "function_call" in delta:
        choice.function_call = choice.function_call or Call()
        _add(choice.function_call, delta["function_call"])


def _add(call: Call, function: dict[str, Any]) -> None:
    call.name += function.get("name") or ""
    call.arguments += function["arguments"]


def _logprobs(logs: dict[str, Any]) -> Iterator[object]:
    """Yield (token, log probability, the same of others) of each token."""
    for token in [*(logs.get("content") or ()), *(logs.get("refusal") or ())]:
        others = [(each["token"], each["logprob"]) for each in token["top_logprobs"]]
        yield token["token"], token["logprob"], others
