"""What an answer says, as the judge reads it."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    """A tool call; of arguments that are sent as JSON, not as a text, the value counts."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    as_object: bool = False


@dataclass
class Choice:
    """A choice, put together from its chunks; likewise its text."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)
    function_call: Call | None = None
    finish_reason: str | None = None
    logprobs: list[object] = field(default_factory=list)
    as_object: bool = False


@dataclass(frozen=True)
class Error:
    """An error: its texts, and its code."""

    texts: tuple[str, ...]
    code: str = ""


@dataclass
class Meaning:
    """An answer: a stream, or a body."""

    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    errors: list[Error] = field(default_factory=list)
    done: bool = False
    streamed: bool = True
