"""The verdict on one answer: which rules it breaks, what repairs that, what is left."""

import re
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from .. import conformance
from ..records.difference import Change
from ..text.html_text import is_page
from .probes import JSON_TYPE, STREAM_TYPE, Answer
from .repaired_answer import CONTENT_TYPE, PENDING, Repaired, repaired

CONFORMS = "conforms"
REPAIRED = "repaired"
LEFT = "left"
NONE = "no verdict"

_FAULT = re.compile(r"([a-z-]+): (?:event (-?\d+) )?(.*)", re.DOTALL)
_BEGINNING = 1024  # bytes in which a web page says that it is one
_PASSING = {
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
}
"""Refusals that say nothing of the request."""


@dataclass(frozen=True)
class Fault:
    """A rule that an answer breaks.

    Attributes:
        rule: The rule's name in the form.
        text: What is wrong, as a sentence that may quote the provider.
        event: The event's place, if it is one's fault.
    """

    rule: str
    text: str
    event: int | None = None


@dataclass
class Verdict:
    """What there is to say about one answer.

    Attributes:
        answer: The answer.
        word: The verdict.
        broken: Rules that it breaks.
        left: What is wrong with what the client gets from the addon.
        result: What the client gets; None where it could not be looked at.
        head: Changes of status and headers, by the fix that makes them.
        notes: What else there is to say.
    """

    answer: Answer
    word: str = NONE
    broken: list[Fault] = field(default_factory=list)
    left: list[Fault] = field(default_factory=list)
    result: Repaired | None = None
    head: dict[str, Change] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def judge(answer: Answer) -> Verdict:
    """The verdict on *answer*."""
    verdict = Verdict(answer, notes=list(answer.notes))
    try:
        _judge(verdict)
    except RecursionError:  # the rules are followed to any depth
        verdict.left.append(Fault("framing", "it is nested too deeply to be judged"))
        verdict.word = LEFT
    return verdict


def silence(name: str, body: dict[str, Any], why: str) -> Verdict:
    """The verdict on a request that got no answer at all."""
    answer = Answer(name, body, status=0)
    return Verdict(answer, LEFT, left=[Fault("transport", why)])


def _judge(verdict: Verdict) -> None:
    answer = verdict.answer
    if answer.pending:
        text = f"HTTP {answer.status} names the place of the answer, and has none"
        verdict.broken.append(Fault("status", text))
        verdict.head[PENDING] = Change("status", str(answer.status), "the result")
        verdict.notes.append("the addon polls for the result; the doctor did not")
        verdict.word = REPAIRED
        return
    result = verdict.result = repaired(answer)
    verdict.notes += result.warnings
    is_complete = not answer.broke
    verdict.broken += _faults(answer, answer.data, answer.status, complete=is_complete)
    if result.status != answer.status:
        change = Change("status", str(answer.status), str(result.status))
        verdict.head["error-status"] = change
    _content_type(verdict, result)
    if result.data is not None:
        verdict.left += _faults(
            answer, result.data, result.status, complete=is_complete
        )
        verdict.left += _lost(answer, result.data)
    if answer.broke:
        verdict.left.append(Fault("transport", answer.broke))
    unanswered = _request(verdict)
    if is_page(answer.data[:_BEGINNING].decode(errors="replace")):
        verdict.notes.append("that is a web page: is the URL right?")
    if verdict.left:
        verdict.word = LEFT
    elif unanswered:
        verdict.word = NONE
    else:
        changed = verdict.broken or result.fixes or verdict.head
        verdict.word = REPAIRED if changed else CONFORMS


def _faults(answer: Answer, data: bytes, status: int, *, complete: bool) -> list[Fault]:
    """List the rules that *data* breaks as the answer to what was asked."""
    if not data.strip() and complete:
        return [Fault("framing", "the body is empty")]
    if status >= HTTPStatus.BAD_REQUEST:
        found = conformance.check_error_body(data)
    elif answer.stream:
        found = conformance.check_stream(data, answer.request, complete=complete)
    else:
        found = conformance.check_body(data, answer.request)
    return [fault_of(each) for each in found]


def fault_of(text: str) -> Fault:
    """The fault that `conformance` lists as *text*."""
    match = _FAULT.fullmatch(text)
    if match is None:
        return Fault("form", text)
    event = match[2]
    return Fault(match[1], match[3], None if event is None else int(event))


def _lost(answer: Answer, data: bytes) -> list[Fault]:
    """List what was lost or made up on the way."""
    read = (
        conformance.meaning_of_stream if answer.stream else conformance.meaning_of_body
    )
    before = read(answer.data)
    if answer.broke:
        # What is half there has no meaning yet, and usage has its place at the end.
        before = replace(before, unread=[], usage=read(data).usage)
    found = conformance.lost(before, read(data), broke=bool(answer.broke))
    return [Fault("meaning", each) for each in found]


def _content_type(verdict: Verdict, result: Repaired) -> None:
    """Compare what the answer is called with what it has to be called."""
    answer = verdict.answer
    stream = answer.stream and not answer.is_error
    wanted = STREAM_TYPE if stream else JSON_TYPE
    if _kind(answer.content_type) != wanted:
        text = f"the content type is {answer.content_type or 'missing'}, not {wanted}"
        verdict.broken.append(Fault("framing", text))
    if _kind(result.content_type) != wanted and not answer.broke:
        text = f"the content type is {result.content_type or 'missing'}, not {wanted}"
        verdict.left.append(Fault("framing", text))
    if result.content_type != answer.content_type:
        change = Change("content-type", answer.content_type, result.content_type)
        verdict.head[CONTENT_TYPE] = change


def words_of(answer: Answer) -> str:
    """The messages of the errors in *answer*; empty without any."""
    try:
        errors = conformance.meaning_of_stream(answer.data).errors
    except RecursionError:
        return ""
    return "; ".join(error.message for error in errors)


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _request(verdict: Verdict) -> bool:
    """Hold the answer to what was asked; tell whether that allows no verdict."""
    answer = verdict.answer
    meaning = conformance.meaning_of_stream(answer.data)
    words = words_of(answer) or "without a word"
    if answer.wants_error:
        if not answer.is_error and not meaning.errors:
            text = f"answered with {answer.status}, where OpenAI refuses the request"
            verdict.notes.append(text)
        return False
    if answer.is_error:
        text = f"refused with {answer.status}: {words}"
        passing = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if passing or answer.status in _PASSING:
            verdict.notes.append(text)
            return True
        verdict.left.append(Fault("request", text))
    elif meaning.errors:
        verdict.notes.append(f"an error in place of an answer: {words}")
        return True
    elif answer.body.get("tools") and not answer.broke:
        called = any(choice.calls for choice in meaning.choices.values())
        if not called:
            verdict.notes.append("no tool was called: that form was not seen")
    return False
