"""What the tests' judge says, in the words of `conformance` and of the code under test.

The judge (tests/judge) imports nothing of the package.
"""

import re

from judge import meaning, strict
from judge.quirks import MODEL, TOOLS, Answer
from llm_normalize import conformance
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools

# What form does not read.
_COMMENT = re.compile(rb"(?<![^\r\n])(?:data: ?)+:[^\r\n]*")
_WORDS = re.compile(rb"(?<![^\r\n])((?:data: ?)+)(Too busy)(?![^\r\n ])")


def asked_of(answer: Answer) -> Asked:
    """Return what *answer* answers, as the code under test knows it."""
    request = answer.request
    return Asked(
        request.stream,
        request.usage,
        request.tools,
        request.forced_tool,
        MODEL,
        request.n,
        declared=Tools(TOOLS if request.tools else frozenset()),
        legacy=request.legacy,
    )


def request_of(answer: Answer) -> conformance.Request:
    """Return what *answer* answers, as `conformance` knows it."""
    request = answer.request
    return conformance.Request(
        request.stream, request.usage, request.tools, request.forced_tool, request.n
    )


def as_read(said: meaning.Meaning) -> conformance.Meaning:
    """Return *said* as if `conformance` had read it."""
    choices = {at: _choice(each) for at, each in said.choices.items()}
    errors = [conformance.Error(each.texts, each.code) for each in said.errors]
    return conformance.Meaning(**{**vars(said), "choices": choices, "errors": errors})


def _choice(said: meaning.Choice) -> conformance.Choice:
    calls = [conformance.Call(**vars(each)) for each in said.calls]
    legacy = said.function_call and conformance.Call(**vars(said.function_call))
    more = {"calls": calls, "function_call": legacy}
    return conformance.Choice(**{**vars(said), **more})


def taken(out: bytes) -> conformance.Meaning:
    """Return what a client takes that knows nothing but OpenAI's form."""
    return as_read(strict.taken(out))


def meaning_of(wire: bytes) -> conformance.Meaning:
    """Return what a provider meant, whose error may be words alone."""
    said = _WORDS.sub(rb'\1{"error":"\2"}', wire)
    return conformance.meaning_of_stream(_COMMENT.sub(b":", said))
