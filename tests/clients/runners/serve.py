"""What every client's program shares: cases in on stdin, reports out on stdout.

It runs in the client's own environment, so it imports nothing but the standard library.
"""

import gc
import json
import sys
from collections.abc import Callable
from typing import Any

type Json = dict[str, Any]
type Client = Callable[[str, Json, Json], None]

CLIENTS: dict[str, Client] = {}


def client(name: str) -> Callable[[Client], Client]:
    """Name a function (base URL, request, report) that fills the report as it reads.

    `report["outcome"]` is what the caller has in the end, `report["events"]` how he got
    it. What he had before an error stays. The tests read the names from the source: one
    `@client("name")` a line.
    """

    def take(function: Client) -> Client:
        CLIENTS[name] = function
        return function

    return take


# Likewise, of clients that ask by another protocol than chat completions.
responses = messages = client


def begin_turn(report: Json) -> Json:
    """Return what is to be filled with one answer of a conversation."""
    turn: Json = {"text": "", "reasoning": "", "calls": [], "finish": None}
    report["outcome"].setdefault("turns", []).append(turn)
    return turn


def report_of(case: Json) -> Json:
    """Return what the caller of one client sees."""
    report: Json = {"outcome": {}, "events": []}
    try:
        CLIENTS[case["client"]](case["url"], case["request"], report)
    except Exception as error:  # noqa: BLE001 - what a caller would get
        report["outcome"]["error"] = [type(error).__name__, words_of(error)]
    return report


def words_of(error: Exception) -> Any:
    """Return what an error says; of an HTTP error what a caller can look up."""
    if not hasattr(error, "status_code"):
        return str(error)
    names = ("status_code", "type", "code", "param", "body")
    return {name: getattr(error, name, None) for name in names}


def main() -> None:
    """Serve the cases."""
    out, sys.stdout = sys.stdout, sys.stderr  # a library may print
    # A reader that raised leaves its stream open. Were it collected in the midst of the
    # next request, closing it would wait for the lock which that one holds (httpcore).
    gc.disable()
    gc.freeze()
    reports = []
    for case in json.load(sys.stdin):
        reports.append(report_of(case))
        # What came since the last time only: libraries load as they are first used, and
        # to look through all of that each time takes longer than the conversations.
        gc.collect(0)
    json.dump(reports, out)
