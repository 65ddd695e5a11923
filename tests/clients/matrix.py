"""What every client reported of every family, in three ways."""

import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from clients.families import FAMILIES, Family, Json
from clients.families.shapes import CREATED
from clients.programs import Programs, Runner, runners

CLIENTS = {name: runner for runner in runners() for name in runner.clients}
_MADE_UP = re.compile(r"\b(?:chatcmpl-|call_)[0-9a-f]{24}\b")
_SECONDS = re.compile(r"(?<![\w.])\d{10}(?![\w.])")
_IN_MEMORY = re.compile(r" at 0x[0-9a-f]+")
_DAY = 86400  # in seconds

type Key = tuple[str, str]
"""A client and a family."""


@dataclass(frozen=True)
class Cell:
    """One client's reports of one conversation.

    Attributes:
        wanted: Of OpenAI's own shape, from the provider itself.
        before: Of the quirk, from the provider itself.
        after: Of the quirk, through the addon.
    """

    wanted: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def fails_before(self) -> bool:
        """Whether the caller ends up with something else; the way there may differ."""
        return bool(self.before["outcome"] != self.wanted["outcome"])

    @property
    def fails_after(self) -> bool:
        return self.after != self.wanted


class Matrix:
    """Runs the client programs, some at once, and keeps what they report.

    Args:
        provider: The provider's URL.
        proxy: The URL of the proxy before it.
    """

    def __init__(self, provider: str, proxy: str) -> None:
        self._provider = provider
        self._proxy = proxy
        self.programs = Programs(self._run)

    def start(self, clients: Iterable[str]) -> None:
        """Start the programs of *clients*, unless they have been; the longest first."""
        wanted = {CLIENTS[client].name: CLIENTS[client] for client in clients}
        longest = sorted(wanted.values(), key=lambda each: (each.size, each.name))
        self.programs.start(reversed(longest))

    def cell(self, client: str, family: str) -> Cell:
        """Return the reports.

        Raises:
            EnvironmentLackingError: The client has no environment.
        """
        return self.programs.result(CLIENTS[client])[client, family]

    def _run(self, runner: Runner) -> dict[Key, Cell]:
        return {
            (client, family): cell
            for client in runner.clients
            for family, cell in self._cells(runner, client)
        }

    def _cells(self, runner: Runner, client: str) -> Iterator[tuple[str, Cell]]:
        cases: dict[str, Json] = {}
        places = {name: self._places(name) for name in FAMILIES}
        for name, three in places.items():
            for url in three:
                asked = FAMILIES[name].request
                cases[url] = {"client": client, "url": url, "request": asked}
        reports = zip(cases, runner.run(list(cases.values())), strict=True)
        reported = {url: _without(url, report) for url, report in reports}
        for name, three in places.items():
            wanted, before, after = (reported[url] for url in three)
            yield name, Cell(wanted, before, settled(after, FAMILIES[name]))

    def _places(self, name: str) -> tuple[str, str, str]:
        """Return where the three answers are; families may share the wanted one."""
        wanted = f"{self._provider}/openai/{_REFERENCES[name]}/v1"
        conforms = FAMILIES[name].quirk == FAMILIES[name].openai
        before = wanted if conforms else f"{self._provider}/quirk/{name}/v1"
        return wanted, before, f"{self._proxy}/quirk/{name}/v1"


def _references() -> dict[str, str]:
    """Return for each family the first that has the same request and reference."""
    first: dict[str, str] = {}
    return {
        name: first.setdefault(repr((family.request, family.openai)), name)
        for name, family in FAMILIES.items()
    }


_REFERENCES = _references()


def _without(url: str, report: dict[str, Any]) -> dict[str, Any]:
    """Return the report without addresses, which some errors tell."""
    address = url.partition("/v1")[0]
    text = json.dumps(report).replace(address, "URL")
    return dict(json.loads(_IN_MEMORY.sub("", text)))


def settled(report: dict[str, Any], family: Family) -> dict[str, Any]:
    """Return the report with the reference's values for what the addon made up.

    It has to make up one value for the whole answer: only one is replaced.
    """
    text = json.dumps(report)
    for value in family.made_up:
        if value == CREATED:
            now = time.time()
            found = [
                each for each in _SECONDS.findall(text) if abs(int(each) - now) < _DAY
            ]
        else:
            prefix = re.match(r"[a-z]+", str(value))
            assert prefix is not None
            found = [
                each for each in _MADE_UP.findall(text) if each.startswith(prefix[0])
            ]
        if found:
            text = text.replace(found[0], str(value))
    return dict(json.loads(text))
