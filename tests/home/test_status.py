import json
from dataclasses import replace

import pytest

from llm_normalize.home.status import ROWS, Facts, Row, grouped
from llm_normalize.records.statistics import Stats

FACTS = Facts(
    version="1.2.3",
    pid=7,
    confdir="/conf",
    mode="repair",
    seconds=59.9,
    hosts=["api.test", "*.many.test"],
    routes=[("old.test", "https://new.test/v1")],
    opens="listed",
    ca_sha256="AA:BB",
    probe="check.invalid/token",
    rows=[Row("api.test", "m", 3, 2, {"role-null": 5})],
    more=1,
    waiting=[("api.test", 2, 3.456)],
    refused={"api.test": 2},
)


def test_json_has_what_programs_look_for() -> None:
    assert json.loads(FACTS.json()) == {
        "name": "llm_normalize",
        "version": "1.2.3",
        "pid": 7,
        "confdir": "/conf",
        "mode": "repair",
        "seconds": 59,
        "hosts": ["api.test", "*.many.test"],
        "routes": {"old.test": "https://new.test/v1"},
        "opens": "listed",
        "ca_sha256": "AA:BB",
        "probe": "check.invalid/token",
        "counters": [
            {
                "host": "api.test",
                "model": "m",
                "responses": 3,
                "repaired": 2,
                "fixes": {"role-null": 5},
            }
        ],
        "counters_left_out": 1,
        "waiting": [{"host": "api.test", "requests": 2, "longest_seconds": 3.5}],
        "refused": {"api.test": 2},
    }


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 min"),
        (3599, "59 min"),
        (3600, "1 h 0 min"),
        (90_061, "1 d 1 h 1 min"),
        (86_400, "1 d 0 min"),
    ],
)
def test_running_time_in_words(seconds: int, words: str) -> None:
    assert replace(FACTS, seconds=seconds).running == words


def test_rows_are_grouped_by_host_and_model() -> None:
    stats = Stats()
    stats.add("a.test", "m", {"role-null": 1, "content-null": 4}, ["store-refused"])
    stats.add("a.test", "m", {})
    stats.add("b.test", "n", {})
    stats.add("b.test", "n", {"error-unwrapped": 1}, status=429)
    assert grouped(stats.by_pair()) == (
        [
            Row(
                "a.test",
                "m",
                2,
                1,
                {"content-null": 4, "role-null": 1, "request: store-refused": 1},
            ),
            Row("b.test", "n", 1, 0, {"error-unwrapped": 1}, {"429": 1}),
        ],
        0,
    )


def test_rows_are_bounded() -> None:
    stats = Stats()
    for number in range(ROWS + 3):
        stats.add("a.test", f"{number:04}", {})
    rows, more = grouped(stats.by_pair())
    assert (len(rows), more) == (ROWS, 3)
