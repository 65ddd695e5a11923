# mypy: ignore-errors
# The SDK is not in the project's environment.
"""openai-python 3: its loops and its helper."""

import openai_readers as readers
import responses_reader
import serve
from serve import Json, client, responses


@client("openai3-careful")
def careful(url: str, request: Json, report: Json) -> None:
    """create(), every field tested."""
    readers.careful(url, request, report)


@client("openai3-short")
def short(url: str, request: Json, report: Json) -> None:
    """create(), the short loop from guides."""
    readers.short(url, request, report)


@client("openai3-helper")
def helper(url: str, request: Json, report: Json) -> None:
    """The .stream() helper and .parse()."""
    readers.helper(readers.at(url).chat.completions, request, report)


@responses("openai3-responses")
def loop(url: str, request: Json, report: Json) -> None:
    """responses.create(), a tool loop."""
    responses_reader.loop(readers.at(url), request, report)


if __name__ == "__main__":
    serve.main()
