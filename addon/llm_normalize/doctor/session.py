"""What the command line asks for: ask or read, judge, and print the cards."""

import argparse
import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

from . import pairs_log as log
from . import recorded
from .answer import Answer
from .ask import AskError, NoAnswerError, Provider
from .card import Card, card_of
from .judge import (
    CONFORMS,
    LEFT,
    NONE,
    REPAIRED,
    Verdict,
    judge,
    silence,
    words_of,
)
from .requests import LIMIT, NEWER_LIMIT, request
from .text import as_text
from ..report.log_reader import LogError, printable
from llm_normalize.text.printable import brief

_EXIT = {NONE: 0, CONFORMS: 0, REPAIRED: 0, LEFT: 1}
_COULD_NOT_ASK = 3
_BAD_USAGE = 2
_SILENCES = 2
"""Requests in a row without an answer, after which no more are sent."""


def run(flags: argparse.Namespace) -> int:
    """Do what *flags* ask for and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console may lack a letter
        sys.stdout.reconfigure(errors="replace")
    try:
        if flags.files:
            return _print(flags, list(_recorded(flags)))
    except (recorded.RecordingError, LogError) as error:
        return _sorry(flags, printable(str(error)), _BAD_USAGE)
    provider = Provider(flags.url, flags.secret, flags.timeout)
    try:
        return _print(flags, [_asked(provider, flags)], provider)
    except AskError as error:
        return _sorry(flags, provider.secrets.masked(str(error)), _COULD_NOT_ASK)
    except Exception:  # noqa: BLE001 - what an exception says may quote the key
        told = provider.secrets.masked(traceback.format_exc())
        print(_printable_lines(told), file=sys.stderr)
        return _sorry(flags, "that is a mistake in doctor.py itself", _COULD_NOT_ASK)


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))


def _print(
    flags: argparse.Namespace, cards: list[Card], provider: Provider | None = None
) -> int:
    code = max(_EXIT[card.verdict] for card in cards)
    if provider and cards[0].verdict == NONE:
        code = _COULD_NOT_ASK
    if flags.json:
        made = {"exit": code, "cards": [card.as_json() for card in cards]}
        text = json.dumps(made, indent=1)
    else:
        text = "\n\n\n".join("\n".join(as_text(card)) for card in cards)
    # Once more at the end: nothing that was forgotten on the way gets out.
    try:
        print(provider.secrets.masked(text) if provider else text, flush=True)
    except BrokenPipeError:  # into `head`: Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _sorry(flags: argparse.Namespace, sentence: str, code: int) -> int:
    if flags.json:
        print(json.dumps({"exit": code, "error": sentence, "cards": []}, indent=1))
    else:
        print(f"doctor.py: {sentence}", file=sys.stderr)
    return code


# -- a provider ----------------------------------------------------------------------


def _asked(provider: Provider, flags: argparse.Namespace) -> Card:
    """Ask *provider* and return its card.

    Raises:
        AskError: It cannot be asked.
    """
    count = f"{len(flags.only)} request{'' if len(flags.only) == 1 else 's'}"
    _say(f"{count} to {provider.place}, one after the other")
    verdicts: list[Verdict] = []
    in_a_row = 0
    limit = LIMIT
    for name in flags.only:
        _say(f"  {name}")
        asked = request(name, flags.model, limit)
        try:
            answer = provider.ask(asked)
            if limit == LIMIT and _wants_newer_limit(answer):
                _say(f"  {name}, once more with {NEWER_LIMIT}")
                limit = NEWER_LIMIT
                answer = provider.ask(request(name, flags.model, limit))
                answer.notes.append(f"{LIMIT} was refused, {limit} was not")
        except NoAnswerError as error:
            in_a_row += 1
            if in_a_row in (_SILENCES, len(flags.only)):
                raise
            verdicts.append(silence(asked.name, asked.body, str(error)))
            continue
        in_a_row = 0
        _can_ask(provider, answer, verdicts)
        verdicts.append(judge(answer))
    card = card_of(f"{provider.host}, model {flags.model}", "asked", verdicts)
    if not any(map(_is_good, verdicts)):
        card.verdict = NONE
        card.headline = "No verdict: no request was answered with anything but errors."
    return card


def _is_good(verdict: Verdict) -> bool:
    """Tell whether the model said something, or refused what it has to refuse."""
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
    told = f" It says: {words}" if words else ""
    host, status = brief(provider.host), answer.status
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        what = "refuses the key" if provider.has_key else "wants a key (--key)"
        raise AskError(f"{host} {what}, with status {status}.{told}")
    if status == HTTPStatus.NOT_FOUND and not answer.wants_error:
        raise AskError(
            f"{provider.place} is not found (404): either that is not the address, or there is "
            f"no such model.{told}"
        )


def _say(text: str) -> None:
    """Tell *text* on stderr: stdout is the card's."""
    print(text, file=sys.stderr, flush=True)


# -- recordings ----------------------------------------------------------------------


def _recorded(flags: argparse.Namespace) -> Iterator[Card]:
    """Yield the cards of the files: one of all captures, then those of the logs.

    Raises:
        RecordingError: A capture cannot be read, or there is none.
        LogError: Likewise a log.
    """
    captures: list[Path] = []
    logs: list[str] = []
    for given in flags.files:
        path = Path(given).expanduser()
        if path.is_dir():
            inside = recorded.found(path)
            captures += inside
            has_log = any(path.rglob("*.jsonl*"))
            logs += [given] if has_log or not inside else []
        elif recorded.is_capture(path):
            captures.append(path)
        else:
            logs.append(given)
    if captures:
        verdicts = [judge(each) for each in recorded.answers(captures, flags.asked)]
        count = f"{len(verdicts)} recorded answer{'' if len(verdicts) == 1 else 's'}"
        yield card_of(count, "recorded", verdicts)
    if logs:
        yield from log.cards(logs)
