"""The cards of what was recorded: one of all captures, then those of the logs."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from . import log_cards
from .card import Card, card_of
from .recorded_answers import answers, found, is_capture
from .verdict import judge


def recorded_cards(files: Iterable[str], asked: Sequence[str]) -> Iterator[Card]:
    """Yield the cards of *files*.

    Args:
        files: Captures, logs, and folders of them.
        asked: What the requests of captures asked, where nothing tells it.

    Raises:
        RecordingError: A capture cannot be read, or there is none.
        LogError: Likewise a log.
    """
    captures: list[Path] = []
    logs: list[str] = []
    for given in files:
        path = Path(given).expanduser()
        if path.is_dir():
            inside = found(path)
            captures += inside
            has_log = any(path.rglob("*.jsonl*"))
            logs += [given] if has_log or not inside else []
        elif is_capture(path):
            captures.append(path)
        else:
            logs.append(given)
    if captures:
        verdicts = [judge(each) for each in answers(captures, asked)]
        count = f"{len(verdicts)} recorded answer{'' if len(verdicts) == 1 else 's'}"
        yield card_of(count, "recorded", verdicts)
    if logs:
        yield from log_cards.cards(logs)
