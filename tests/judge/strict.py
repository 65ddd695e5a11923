"""What a strict client takes from a stream, and what a careless provider meant by one.

Of the package it imports `conformance` alone, which knows nothing of the code under test.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from llm_normalize import conformance

# What form does not read.
_COMMENT = re.compile(rb"(?<![^\r\n])(?:data: ?)+:[^\r\n]*")
_WORDS = re.compile(rb"(?<![^\r\n])((?:data: ?)+)(Too busy)(?![^\r\n ])")


def meaning_of(wire: bytes) -> conformance.Meaning:
    """Return what a provider meant, whose error may be words alone."""
    said = _WORDS.sub(rb'\1{"error":"\2"}', wire)
    return conformance.meaning_of_stream(_COMMENT.sub(b":", said))


def taken(out: bytes) -> conformance.Meaning:
    """Return what a client takes that knows nothing but OpenAI's form."""
    meaning = conformance.meaning_of_stream(out)
    logs = {index: choice.logprobs for index, choice in meaning.choices.items()}
    choices = {index: conformance.Choice(logprobs=each) for index, each in logs.items()}
    for value in chunks(out):
        for part in value.get("choices", ()):
            _take(choices[part["index"]], part)
    return replace(meaning, choices=choices)


def chunks(out: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream in OpenAI's form."""
    for line in out.split(b"\n"):
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def _take(choice: conformance.Choice, part: dict[str, Any]) -> None:
    delta = part["delta"]
    choice.text += delta.get("content") or ""
    choice.reasoning += delta.get("reasoning_content") or ""
    choice.refusal += delta.get("refusal") or ""
    choice.finish_reason = part.get("finish_reason") or choice.finish_reason
    for fragment in delta.get("tool_calls", ()):
        if fragment["index"] == len(choice.calls):
            choice.calls.append(conformance.Call())
        call = choice.calls[fragment["index"]]
        call.id += fragment.get("id") or ""
        _add(call, fragment["function"])
    if "function_call" in delta:
        choice.function_call = choice.function_call or conformance.Call()
        _add(choice.function_call, delta["function_call"])


def _add(call: conformance.Call, function: dict[str, Any]) -> None:
    call.name += function.get("name") or ""
    call.arguments += function["arguments"]
