"""The benchmark, run for real: what it tells, what it refuses, what it leaves behind."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from script_runs import command, is_empty
from workshop.bench import client, sides, traffic
from workshop.bench import command as bench_command
from workshop.child import ChildError
from workshop.machine import Cpus

SMALL = ("--quick", "--rounds", "1")

# Loses or changes something, by the number of events that the stream has.
FAULTY = """
import re

from mitmproxy import ctx, http

class Faulty:
    def __init__(self, fault):
        self.fault = fault
        self.seen = 0

    def __call__(self, data):
        if not data:
            return []
        self.seen += 1
        if self.seen == 10:
            if self.fault == "crash":
                raise ValueError("broken on purpose")
            if self.fault == "lose":
                return []
            if self.fault == "change":
                data = data.replace(b'"content":" ', b'"content":"_')
        return [data]

FAULTS = {"22": "lose", "23": "change", "24": "crash"}

def responseheaders(flow: http.HTTPFlow):
    events = flow.request.headers["x-bench"].split()[1]
    flow.response.stream = Faulty(FAULTS.get(events, "none"))

def load(loader):
    loader.add_option("normalize_pairs", str, "", "as the addon has it")
"""


def environment(folder: Path) -> dict[str, str]:
    # The short captures of the repository, whatever else is at hand.
    more = {"TMPDIR": str(folder), "TEMP": str(folder), "LLM_CAPTURES": str(folder)}
    return {**os.environ, **more}


def test_run_has_all_figures_and_leaves_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("bench", *SMALL, "--only", "recorded"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert "round 1 of 1" in err
    assert out.startswith("Measured on ")
    (row,) = [line for line in out.splitlines() if line.startswith("| `")]
    title, addon, goals, lean = row.strip("| ").split(" | ")
    assert title.startswith("`recorded`: ")
    assert re.findall(r"(\w+) \(\d+ events\)", title) == [
        *("NIM", "DeepSeek", "Groq", "OpenRouter", "OpenAI"),
    ]
    for ratios in (addon, lean):
        assert [float(each.split(",")[0]) > 0 for each in ratios.split(" / ")] == [
            True
        ] * 5
    assert goals.count("≤ 1.12 ") == 5
    assert is_empty(process.pid)
    assert list(tmp_path.iterdir()) == []


# A proxy that is fast because it is wrong


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Asks for two streams, through a proxy that is at fault."""
    line = sides.LINES["nim"]._replace(lean="")
    script = tmp_path_factory.mktemp("bench") / "faulty.py"
    script.write_text(FAULTY)
    cpus = Cpus(frozenset(), frozenset(), "")
    with bench_command.bench(cpus, script) as made, made.started({"nim": line}):

        def run(events: int, form: Any = "sent", kind: str = "nim") -> Any:
            party = client.Party("it", made._proxies["repair"], form)
            plans = [traffic.Plan(kind, events, 2 * events + n) for n in range(2)]
            return client.run([party], plans, made._trusted)[0]

        run.check = sides.check  # type: ignore[attr-defined]
        run.proxy = made._proxies["repair"]  # type: ignore[attr-defined]
        yield run
        run.proxy.alarms.clear()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("events", "form"),
    [(22, "sent"), (23, "sent"), (23, "text")],
)
def test_wrong_proxy_fails_loudly(ask: Any, events: int, form: str) -> None:
    with pytest.raises(ChildError) as caught:
        ask(events, form)
    assert "it: 2 of 2 streams are at fault" in str(caught.value)
    assert "than it must have" in str(caught.value)
    assert caught.value.lines  # what the proxy said last


def test_bug_that_only_the_log_tells_of_fails_loudly(ask: Any) -> None:
    # mitmproxy goes on, without the event; so this comes last: the log keeps it.
    with pytest.raises(ChildError):
        ask(24)
    with pytest.raises(ChildError, match="met a bug"):
        ask.check(ask.proxy)
