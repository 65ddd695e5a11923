# mypy: ignore-errors
# The SDK is not in the project's environment.
"""openai-python 1: the helper while it was in beta."""

import openai_readers as readers
import serve
from serve import Json, client


@client("openai1-helper")
def helper(url: str, request: Json, report: Json) -> None:
    """The .beta stream() helper and .parse()."""
    readers.helper(readers.at(url).beta.chat.completions, request, report)


if __name__ == "__main__":
    serve.main()
