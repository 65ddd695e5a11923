"""A provider's card: every request sent, one after the other, and each answer judged."""

from collections.abc import Sequence
from http import HTTPStatus

from ..text.console import say
from ..text.printable import brief, counted
from .asked_provider import AskError, NoAnswerError, Provider
from .card import Card, card_of
from .probes import LIMIT, NEWER_LIMIT, Answer, request
from .verdict import NONE, Verdict, judge, silence, words_of

_SILENCES = 2
"""Requests in a row without an answer, after which no more are sent."""


def asked_card(provider: Provider, names: Sequence[str], model: str) -> Card:
    """Send the requests of these *names* to *provider* and return its card.

    Raises:
        AskError: It cannot be asked.
    """
    count = counted(len(names), "request")
    say(f"{count} to {provider.place}, one after the other")
    verdicts: list[Verdict] = []
    in_a_row = 0
    limit = LIMIT
    for name in names:
        say(f"  {name}")
        asked = request(name, model, limit)
        try:
            answer = provider.ask(asked)
            if limit == LIMIT and _wants_newer_limit(answer):
                say(f"  {name}, once more with {NEWER_LIMIT}")
                limit = NEWER_LIMIT
                answer = provider.ask(request(name, model, limit))
                answer.notes.append(f"{LIMIT} was refused, {limit} was not")
        except NoAnswerError as error:
            in_a_row += 1
            if in_a_row in (_SILENCES, len(names)):
                raise
            verdicts.append(silence(asked.name, asked.body, str(error)))
            continue
        in_a_row = 0
        _can_ask(provider, answer, verdicts)
        verdicts.append(judge(answer))
    card = card_of(f"{provider.host}, model {model}", verdicts)
    if not any(map(_is_good, verdicts)):
        card.verdict = NONE
        card.headline = "No verdict: no request was answered with anything but errors."
    return card


def _is_good(verdict: Verdict) -> bool:
    """Tell whether the model answered, or refused what it has to refuse."""
    answer = verdict.answer
    return bool(answer.status) and (answer.wants_error or not answer.is_error)


def _wants_newer_limit(answer: Answer) -> bool:
    refused = answer.status == HTTPStatus.BAD_REQUEST and not answer.wants_error
    return refused and NEWER_LIMIT.encode() in answer.data


def _can_ask(provider: Provider, answer: Answer, before: list[Verdict]) -> None:
    """Make sure that it is the model that answers.

    Raises:
        AskError: The key is refused, or there is nothing under that address.
    """
    answered = (each.answer for each in before if each.answer.status)
    if not answer.is_error or any(not each.is_error for each in answered):
        return
    words = brief(words_of(answer))
    quote = f" It says: {words}" if words else ""
    host, status = brief(provider.host), answer.status
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        what = "refuses the key" if provider.has_key else "wants a key (--key)"
        raise AskError(f"{host} {what}, with status {status}.{quote}")
    if status == HTTPStatus.NOT_FOUND and not answer.wants_error:
        raise AskError(
            f"{provider.place} is not found (404): wrong address, or unknown model.{quote}"
        )
