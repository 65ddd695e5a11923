# mypy: ignore-errors
# The SDK is not in the project's environment.
"""openai-python 2: its loops, its helper, its types taken strictly."""

import openai_readers as readers
import responses_reader
import serve
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel, ValidationError
from serve import Json, client, responses


@client("openai2-careful")
def careful(url: str, request: Json, report: Json) -> None:
    """create(), every field tested."""
    readers.careful(url, request, report)


@client("openai2-short")
def short(url: str, request: Json, report: Json) -> None:
    """create(), the short loop from guides."""
    readers.short(url, request, report)


@client("openai2-page")
def page(url: str, request: Json, report: Json) -> None:
    """create(), a page that shows str(content)."""
    readers.page(url, request, report)


@client("openai2-helper")
def helper(url: str, request: Json, report: Json) -> None:
    """The .stream() helper and .parse()."""
    readers.helper(readers.at(url).chat.completions, request, report)


def faults_of(model: type[BaseModel], data: str) -> list[list[str]]:
    """Return what in *data* is not as *model* says, nothing coerced."""
    try:
        model.model_validate_json(data, strict=True)
    except ValidationError as error:
        return [
            [".".join(map(str, each["loc"])), each["type"]] for each in error.errors()
        ]
    return []


def said_of(model: type[BaseModel], data: str) -> Json:
    """Return what *data* says: all keys of a delta, elsewhere what is not null."""
    value = model.model_validate_json(data)
    dumped = value.model_dump(exclude_none=True)
    for choice, entry in zip(value.choices or [], dumped["choices"], strict=False):
        part = "delta" if hasattr(choice, "delta") else "message"
        entry[part] = getattr(choice, part).model_dump(exclude_unset=True)
    return dumped


@client("openai2-strict")
def strict(url: str, request: Json, report: Json) -> None:
    """Each event validated against the SDK's types in strict mode."""
    outcome, events = report["outcome"], report["events"]
    outcome["faults"] = []
    completions = readers.at(url).chat.completions
    if not request.get("stream"):
        data = completions.with_raw_response.create(**request).text
        outcome["faults"] = faults_of(ChatCompletion, data)
        events.append(said_of(ChatCompletion, data))
        return
    # Not public, but the version is pinned: the SDK's own reading of the framing.
    for event in completions.create(**request)._iter_events():
        if event.data == "[DONE]":
            events.append("[DONE]")
            continue
        outcome["faults"] += faults_of(ChatCompletionChunk, event.data)
        events.append(said_of(ChatCompletionChunk, event.data))


@responses("openai2-responses")
def loop(url: str, request: Json, report: Json) -> None:
    """responses.create(), a tool loop."""
    responses_reader.loop(readers.at(url), request, report)


if __name__ == "__main__":
    serve.main()
