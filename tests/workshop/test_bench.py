"""The benchmark, run for real: what it tells, what it refuses, what it leaves behind."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers import load
from script_runs import command
from workshop.child import ChildError

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"

SMALL = ("--scale", "0.01", "--rounds", "1", "--sides", "nim-pairs")

# Loses, changes or swaps something, by the number of events that the stream has.
FAULTY = """
import re

from mitmproxy import http

class Faulty:
    def __init__(self, fault):
        self.fault = fault
        self.seen = 0
        self.kept = b""

    def __call__(self, data):
        data = data.replace(b'"role":null,', b"")
        data = data.replace(b'"role":"assistant","content":null', b'"role":"assistant","content":""')
        data = data.replace(b'"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null', b'"delta":{},"logprobs":null,"finish_reason":"stop"')
        if not data:
            return []
        self.seen += 1
        if self.seen == 20:
            if self.fault == "crash":
                raise ValueError("broken on purpose")
            if self.fault == "lose":
                return []
            if self.fault == "change":
                data = data.replace(b'"content":" ', b'"content":"_')
            if self.fault == "swap":
                self.kept = data
                return []
            if self.fault == "double":
                data = data + data
        if self.seen == 21:
            data, self.kept = data + self.kept, b""
        return [data]

FAULTS = {"101": "none", "102": "lose", "103": "change", "104": "swap", "105": "double", "106": "crash"}

def responseheaders(flow: http.HTTPFlow):
    events = re.search(rb"nim (\\d+)", flow.request.content)[1].decode()
    flow.response.stream = Faulty(FAULTS.get(events, "none"))

def request(flow):
    if b"nim 107" in flow.request.content:
        flow.response = http.Response.make(503, b"not now")

from mitmproxy import ctx
def load(loader):
    loader.add_option("normalize_pairs", str, "", "as the addon has it")
"""


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder)}


def is_empty(group: int) -> bool:
    """Tell whether no process of a process group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_run_has_all_figures_and_leaves_nothing(tmp_path: Path) -> None:
    said = tmp_path / "told.json"
    table = tmp_path / "table.md"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with subprocess.Popen(
        command("bench", *SMALL, "--json", str(said), "--markdown", str(table)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(temporary),
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert "round 1 of 1" in err
    assert out == table.read_text(encoding="utf-8")
    result = json.loads(said.read_text(encoding="utf-8"))
    assert list(result["sides"]) == ["direct", "floor", "nim-pairs"]
    assert set(result["machine"]) == {
        *("cpu", "memory", "os", "python", "mitmproxy", "date"),
    }
    direct, floor, ours = result["sides"].values()
    assert list(ours["paced"]) == ["5", "60", "600"]
    for duel, goal in ((ours["paced"]["60"], 1.15), (ours["burst"], 1.5)):
        assert duel["ratio"]["median"] == pytest.approx(
            duel["us"]["median"] / duel["floor_us"]["median"]
        )
        assert duel["floor_us"]["median"] > 1
        assert duel["goal"] == goal
    for side in (direct, floor, ours):
        assert list(side["latency"]) == ["1", "10", "50"]
        assert list(side["saturation"]) == ["1", "20"]
        for figures in side["latency"].values():
            assert 0 < figures["p50_us"]["median"] <= figures["p99_us"]["median"]
            assert figures["first_ms"]["median"] > 0
        for figures in side["saturation"].values():
            assert figures["events_per_s"]["median"] > 0
    for side in (floor, ours):
        assert side["saturation"]["1"]["cpu_s_per_100k"]["median"] > 0.1
        assert side["memory"]["peak_mb"]["median"] > 20
        assert side["memory"]["growth_mb"]
    assert direct["latency"]["1"]["added_p50_us"]["median"] == 0
    rows = [line for line in out.splitlines() if line.startswith("| `")]
    assert [re.match(r"\| `([\w-]+)`", row)[1] for row in rows] == [*result["sides"]]  # type: ignore[index]
    assert "goal ≤ 1.15" in rows[2]
    assert is_empty(process.pid)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_interrupted_run_leaves_nothing(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with subprocess.Popen(
        command("bench", *SMALL[2:], "--only", "paced", "--scale", "10"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        assert any("round 1" in line for line in process.stderr)
        os.killpg(process.pid, number)  # as a terminal does
        out, err = process.communicate(timeout=60)
        assert process.returncode == code
    assert out == ""
    assert "Traceback" not in err
    assert is_empty(process.pid)
    assert list(tmp_path.iterdir()) == []


# A proxy that is fast because it is wrong


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A benchmark whose side `other` is at fault."""
    children, sides = load("workshop.bench.children"), load("workshop.bench.sides")
    folder = tmp_path_factory.mktemp("bench")
    script = folder / "faulty.py"
    script.write_text(FAULTY)
    cpus = load("workshop.bench.machine").Cpus(frozenset(), frozenset(), "")
    with children.provider(frozenset()) as provider, children.client(frozenset()) as it:
        port = int(provider.line(30))
        mitmdumps = sides.Mitmdumps(folder, port, cpus, script)
        with mitmdumps.running(["other"]) as proxies:
            yield load("workshop.bench.rounds").Bench(it, port, proxies, mitmdumps)


def run(bench: Any, events: int, part: str = "latency", **more: Any) -> Any:
    side = load("workshop.bench.sides").OTHER._replace(**more)
    job = load("workshop.bench.jobs").Job(part, side, 2, events)
    bench.run([job], 0)
    return bench.outcomes[-1].reported


@pytest.mark.parametrize("part", ["latency", "saturation"])
def test_right_proxy_passes(bench: Any, part: str) -> None:
    said = run(bench, 101, part)
    assert said["faults"] == []
    assert said["events"] == 202


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        (102, "ended after 101 of 102 events"),
        (103, "has other bytes than it must have, after 103 of 103 events"),
        (104, "has other bytes than it must have, after 104 of 104 events"),
        (105, "ended after 106 of 105 events"),
        (107, "was refused: 'HTTP/1.1 503"),
    ],
)
def test_wrong_proxy_fails_loudly(bench: Any, events: int, fault: str) -> None:
    with pytest.raises(ChildError) as caught:
        run(bench, events)
    assert "2 of 2 streams in the part latency are at fault" in str(caught.value)
    assert fault in str(caught.value)
    assert caught.value.lines  # what the proxy said last


def test_same_bytes_are_not_what_must_arrive_when_repair_is_expected(
    bench: Any,
) -> None:
    with pytest.raises(ChildError, match="other bytes"):
        run(bench, 101, form="sent")


def test_text_alone_may_be_what_counts(bench: Any) -> None:
    assert run(bench, 101, form="text")["faults"] == []
    with pytest.raises(ChildError, match="other text"):
        run(bench, 103, form="text")


def test_bug_that_only_the_log_tells_of_fails_loudly(bench: Any) -> None:
    # mitmproxy goes on, without the event; so this comes last: the log keeps it.
    with pytest.raises(ChildError) as caught:
        run(bench, 106, form="sent")
    assert "of 106 events" in str(caught.value)
    proxy = bench._proxies["other"].child
    with pytest.raises(ChildError, match="met a bug"):
        proxy.check()
