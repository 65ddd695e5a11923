"""A tool loop of a client whose provider speaks its protocol itself, with one fault."""

import json
from collections.abc import Iterable
from typing import Any

from clients.chat_only import REQUEST
from clients.families.shapes import ARGUMENTS, NAME, TEXT
from clients.lacking import give_up
from environments import EnvironmentLackingError

ENDING = [[[NAME, json.loads("".join(ARGUMENTS))]], TEXT, []]
"""The calls of the first turn, the text of the second, and its calls."""


def wrong_loops(
    runner: Any, client: str, url: str, faults: Iterable[str]
) -> dict[str, Any]:
    """Run the loop with each fault; return the outcomes of those that went wrong."""
    names = [*faults]
    cases = [
        {"client": client, "url": f"{url}/{client}/{fault}/v1", "request": REQUEST}
        for fault in names
    ]
    try:
        reports = runner.run(cases)
    except EnvironmentLackingError as error:
        give_up(client, error)
    outcomes = {
        fault: report["outcome"] for fault, report in zip(names, reports, strict=True)
    }
    return {fault: each for fault, each in outcomes.items() if _is_wrong(each)}


def _is_wrong(outcome: dict[str, Any]) -> bool:
    calling, saying = [*outcome.get("turns", []), {}, {}][:2]
    found = [calling.get("calls"), saying.get("text"), saying.get("calls")]
    return bool({"error", "unhandled"} & outcome.keys()) or found != ENDING
