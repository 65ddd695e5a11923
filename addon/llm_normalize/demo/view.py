"""Two columns: what the provider sent, and what the client got."""

import collections
import difflib
import itertools
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..text.console import styled
from .client import chunk_of

NARROWEST = 80
WIDEST = 160
LINES = 8  # of one event; the rest is clipped
ROOMY = 46  # columns from which on the name "delta" is shown, too
FOLDED = ("id", "object", "created", "model", "choices")
STRING = r'"(?:[^"\\]|\\.)*"'
FIELD = rf'"\w+":(?:{STRING}|\w+|{{(?:…|\.\.\.)}})?'
WORD = re.compile(rf'(?:{FIELD}|{STRING}|\.\.\.|[}}\]]+|[^"]),?')
LONG_ID = re.compile(r'("id":"\w{8})[\w-]+')
STYLES = {"": "", "bold": "1", "dim": "2", "before": "31", "after": "32"}

type Word = tuple[str, bool]
"""A word, and whether it differs from the other column."""


class View:
    """The terminal, or the file, that the demo prints to."""

    def __init__(self) -> None:
        columns = shutil.get_terminal_size((100, 24)).columns
        self.columns = min(max(columns, NARROWEST), WIDEST)
        self.width = (self.columns - 3) // 2
        try:
            "…│".encode(sys.stdout.encoding)
        except UnicodeEncodeError:
            self.dots, self.bar = "...", "|"
        else:
            self.dots, self.bar = "…", "│"

    def say(self, text: str = "", style: str = "") -> None:
        """Print a line."""
        print(styled(text, STYLES[style]), flush=True)

    # -- rows --------------------------------------------------------------------

    def row(self, before: str | None, after: Sequence[str]) -> None:
        """Print an event, and what became of it; what differs is marked."""
        left = [] if before is None else self._words(before)
        right = [self._words(event) for event in after]
        changed = before is None or [before] != [*after]
        if changed:
            left, right = _compared(left, right)
        middle = "!" if changed else self.bar
        lefts = self._lines(left, "before")
        rights = [line for each in right for line in self._lines(each, "after")]
        if not rights:
            rights = [("(dropped)", styled("(dropped)", STYLES["dim"]))]
        for one, two in itertools.zip_longest(lefts, rights, fillvalue=("", "")):
            text, shown = one
            padding = " " * (self.width - len(text))
            print(f"{shown}{padding} {middle} {two[1]}".rstrip(), flush=True)

    def _words(self, event: str) -> list[Word]:
        """The words of *event*, its long constant parts folded."""
        chunk = chunk_of(event)
        if chunk is None:
            return [(event, False)]
        parts = [part for choice in chunk["choices"] for part in self._choice(choice)]
        if not parts:
            parts = ['"choices":[]']
        figures = "{" + self.dots + "}"
        for key, value in chunk.items():
            if key not in FOLDED:
                # That there are figures matters here, which they are does not.
                parts.append(f'"{key}":' + (figures if value else _dumps(value)))
        text = LONG_ID.sub(rf"\1{self.dots}", self.dots.join(["", *parts, ""]))
        return [(word, False) for word in WORD.findall(text)]

    def _choice(self, choice: dict[str, Any]) -> list[str]:
        named = '"delta":' if self.width >= ROOMY else ""
        rest = {
            key: value
            for key, value in choice.items()
            if key not in ("index", "delta")
            and (value is not None or key not in ("logprobs", "finish_reason"))
        }
        parts = [named + _dumps(choice["delta"])]
        return [*parts, _dumps(rest)[1:-1]] if rest else parts

    def _lines(self, words: Iterable[Word], style: str) -> list[tuple[str, str]]:
        """*words* broken into lines, each plain and with its colours."""
        lines: list[list[Word]] = [[]]
        room = self.width
        for text, differs in words:
            if len(text) > room and (len(text) <= self.width or room < self.width // 4):
                lines.append([])
                room = self.width
            rest = text
            while rest:
                if not room:
                    lines.append([])
                    room = self.width
                lines[-1].append((rest[:room], differs))
                rest, room = rest[room:], room - len(rest[:room])
        if len(lines) > LINES:
            lines = lines[:LINES]
            lines[-1] = [*lines[-1][:-1], (self.dots, False)]
        return [self._rendered(line, style) for line in lines]

    def _rendered(self, line: list[Word], style: str) -> tuple[str, str]:
        runs = itertools.groupby(line, key=lambda word: word[1])
        texts = [("".join(text for text, _ in run), differs) for differs, run in runs]
        return (
            "".join(text for text, _ in texts),
            "".join(styled(text, STYLES[style if on else ""]) for text, on in texts),
        )


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _compared(
    left: list[Word], right: list[list[Word]]
) -> tuple[list[Word], list[list[Word]]]:
    """Mark the words that only one side has."""
    before = [text for text, _ in left]
    after = [text for words in right for text, _ in words]
    same = difflib.SequenceMatcher(None, before, after, autojunk=False)
    same_left: set[int] = set()
    same_right: set[int] = set()
    for at, other, size in same.get_matching_blocks():
        same_left.update(range(at, at + size))
        same_right.update(range(other, other + size))
    marks = itertools.count()
    return (
        [(text, at not in same_left) for at, text in enumerate(before)],
        [[(text, next(marks) not in same_right) for text, _ in each] for each in right],
    )


# Which event became which


def aligned(
    before: Sequence[str], after: Iterable[str]
) -> Iterator[tuple[str | None, list[str]]]:
    """Yield each event of *before* with what became of it, as that arrives.

    An event that arrives belongs to the next one that has something of it to give: a
    role, a text, a part of a call, a finish reason, usage, or `[DONE]`.
    """
    to_give = [_meanings(event) for event in before]
    at = 0
    got: list[str] = []
    for event in after:
        wanted = _meanings(event)
        giver = next(
            (each for each in range(at, len(before)) if to_give[each] & wanted), at
        )
        while at < giver:
            yield before[at], got
            at, got = at + 1, []
        got.append(event)
        if at < len(before):
            to_give[at] -= wanted
    while at < len(before):
        yield before[at], got
        at, got = at + 1, []
    if got:
        yield None, got


def _meanings(event: str) -> collections.Counter[str]:
    chunk = chunk_of(event)
    if chunk is None:
        return collections.Counter([event])
    found = []
    for choice in chunk["choices"]:
        delta = choice["delta"]
        calls = [call["function"] for call in delta.get("tool_calls") or ()]
        found += [delta.get("role"), delta.get("content"), choice.get("finish_reason")]
        found += [text for call in calls for text in call.values()]
    if not chunk["choices"]:
        found.append("usage")
    return collections.Counter(text for text in found if text)
