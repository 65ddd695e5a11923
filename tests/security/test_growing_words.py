"""Every regular expression that reads what a provider or a client says takes time as it does."""

import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from each_case import each_case
from growth import MOST, growth
from llm_normalize import chat, protocols, request, text
from llm_normalize.chat.errors.context_overflow import is_overflow
from llm_normalize.chat.errors.errors import sounds_failed, words_of_page
from llm_normalize.chat.errors.failed_event import failure_in, has_failed
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.fixes import FIXES
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import calling, chunk, wire
from llm_normalize.request.refusals.missing_path import is_path_missing
from llm_normalize.request.refusals.refusal_parser import refusal_of
from llm_normalize.text.echo import Echo
from streams import feed

AT_THE_START = {
    "_BEGINS", "_BILLING", "_HEADER", "_HERE", "_INVOKE", "_NAMESPACE", "_OPENING", "_PAGE",
    "_SAYS_FAILED", "_WHOLE", "_WITHOUT_WORDS",
}  # fmt: skip
"""Regular expressions that are tried at one place of a text alone."""
MARKS = (
    "1", " ", "a", "_", "\\", '"', "'", "{", "[", "(", "<", "&", "%", "-", ".", ",",
    "\n", "\t", "=", ":", "/", "|", "`", "a ", "a.", "1.", "1,", "1 ", "a -> ", "a[1].",
    "'a', ", '"a":', "\\u0041", "\\x41", "%25", "<b", "a: ", "{}", "[]", "上", "A0:",
    "\r\n", "\n ", "messages[1].", "=a&b=", "<|a|>", "a_", "&a", "{'a': '",
)  # fmt: skip
"""Units of 1 to 12 bytes that are repeated, beside the words of each expression."""


def modules() -> Iterator[ModuleType]:
    for package in (chat, protocols, request, text):
        yield package
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(each.name)


def patterns(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from patterns(each)
    elif isinstance(found := getattr(value, "__self__", None), re.Pattern):
        yield found  # a method of one


def expressions() -> dict[str, tuple[str, re.Pattern[Any]]]:
    found: dict[object, tuple[str, str, int, re.Pattern[Any]]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for at, each in enumerate(patterns(value)):
                place = module.__name__.removeprefix("llm_normalize.")
                found.setdefault((each.pattern, each.flags), (place, name, at, each))
    return {
        f"{place}.{name}[{at}]": (name, each)
        for place, name, at, each in found.values()
    }


EXPRESSIONS = expressions()


def words_of(pattern: str | bytes) -> set[str]:
    """Return the words of an expression, and what may stand between two of them."""
    source = pattern if isinstance(pattern, str) else pattern.decode()
    words = {each[:11] for each in re.findall(r"[A-Za-z_]{3,}", source)}
    return words | {f"{each} " for each in words} | {f"{each}1" for each in words}


@each_case(EXPRESSIONS)
def test_time_of_an_expression_grows_with_the_text_alone(name: str) -> None:
    short, pattern = EXPRESSIONS[name]
    work: Callable[[Any], object] = pattern.search
    if short in AT_THE_START:
        work = pattern.match
    is_text = isinstance(pattern.pattern, str)
    for unit in (*MARKS, *sorted(words_of(pattern.pattern))):

        def make(count: int, unit: str = unit) -> Any:
            made = (unit * count)[:count]
            return made if is_text else made.encode()

        assert growth(make, work, 500) < MOST, unit


def error_of(words: str) -> bytes:
    return json.dumps({"error": {"message": words, "code": words}}).encode()


def body(words: str) -> object:
    return repair_body(error_of(words), 400, Asked(id="q", model="m"), FIXES)


def translated(words: str) -> object:
    error = {"message": words, "type": words, "code": "context_length_exceeded"}
    return [each.error_body(400, error) for each in PROTOCOLS]


ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [], "input": "a"}


def streamed(data: bytes) -> object:
    return feed([data], Asked(stream=True, tools=True))


def streamed_back(data: bytes) -> object:
    return [AnswerStream(each.translate(ASKED).answer)(data) for each in PROTOCOLS]


def asked(words: str) -> object:
    said = {"messages": [{"role": "user", "content": words}], "input": words}
    return [each.translate({**ASKED, **said}) for each in PROTOCOLS]


def called(words: str) -> bytes:
    call = {"id": "c", "function": {"name": "f", "arguments": words}}
    return wire([calling(call)])


READERS: dict[str, Callable[[str], object]] = {
    "overflow": lambda words: is_overflow({"message": words}, 400),
    "failure": sounds_failed,
    "failed event": failure_in,
    "stray words": has_failed,
    "body": body,
    "page": lambda words: words_of_page(f"<html>{words}"),
    "refusal": lambda words: refusal_of(error_of(words)),
    "path": lambda words: is_path_missing(404, words.encode(), "/v1", "m"),
    "translated": translated,
    "name": Tools(frozenset(("f", "g"))).meant,
    "echo": lambda words: Echo(b'{"messages":[]}').hidden(words),
}
"""Whatever reads the words of a provider, as a whole."""
STREAMED: dict[str, Callable[[str], object]] = {
    "bare": lambda words: streamed(words.encode()),
    "event": lambda words: streamed(b"data: %b\n\n" % words.encode()),
    "text": lambda words: streamed(wire([chunk({"content": words})])),
    "arguments": lambda words: streamed(called(words)),
    "translated text": lambda words: streamed_back(wire([chunk({"content": words})])),
    "translated arguments": lambda words: streamed_back(called(words)),
    "translated request": asked,
}
"""What an answer, or a request, goes through."""


@each_case((name, unit) for name in READERS for unit in MARKS)
def test_time_of_reading_words_grows_with_them_alone(name: str, unit: str) -> None:
    assert growth(lambda n: (unit * n)[:n], READERS[name], 500) < MOST


@each_case((name, unit) for name in STREAMED for unit in MARKS)
def test_time_of_a_stream_grows_with_its_words_alone(name: str, unit: str) -> None:
    assert growth(lambda n: (unit * n)[:n], STREAMED[name], 4_000) < MOST
