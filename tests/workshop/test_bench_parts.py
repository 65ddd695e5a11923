"""The benchmark's parts: its streams, what repairs them, and what is made of figures."""

import argparse
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from launchers import load

PROVIDERS = ("NIM", "DeepSeek", "Groq", "OpenRouter", "OpenAI")


# The streams


def plan(kind: str, events: int = 60, seed: int = 7) -> Any:
    traffic = load("workshop.bench.traffic")
    events = traffic.size(kind) if kind in PROVIDERS else events
    return traffic.Plan(kind, events, seed)


def values(events: list[bytes], name: str) -> set[str]:
    chunks = [json.loads(event[5:]) for event in events if event.startswith(b"data: {")]
    return {str(chunk.get(name)) for chunk in chunks}


@pytest.mark.parametrize("kind", ["good", "nim", *PROVIDERS])
def test_each_stream_has_an_id_a_time_and_texts_of_its_own(kind: str) -> None:
    traffic = load("workshop.bench.traffic")
    one, two = (traffic.sent(plan(kind, seed=seed)) for seed in (7, 8))
    assert len(one) == len(two) == plan(kind).events
    for name in ("id", "created"):
        assert values(one, name) & values(two, name) <= {"", "None"}
    for name in ("object", "model"):
        assert values(one, name) == values(two, name)
    sent = [one, *(traffic.sent(plan(kind, seed=seed)) for seed in range(9))]
    texts = {traffic.text_of(b"".join(each)) for each in sent}
    # A capture of the repository may have a call without arguments, and no words.
    assert len(texts) > 1 or not set(traffic._LETTERS) & set(*texts)
    assert traffic.sent(plan(kind)) == one


@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_yardstick_drops_nulls_however_the_stream_is_cut(size: int) -> None:
    traffic, lean = load("workshop.bench.traffic"), load("workshop.bench.lean")
    (data,) = traffic.expected(plan("nim"), "sent")
    lean._pairs.clear()
    stream = lean.stream_of("x", pairs=True)
    reads = [data[at : at + size] for at in range(0, len(data), size)]
    out = b"".join(b"".join([stream(read) or b""]) for read in reads)
    events = out.split(b"\n\n")
    assert b'"role":null' not in out
    assert traffic.text_of(out) == traffic.text_of(data)
    assert events == b"".join(map(lean.repaired, traffic.sent(plan("nim")))).split(
        b"\n\n"
    )
    assert len(lean._pairs) == 58


# Figures and the report


def report() -> Any:
    return load("workshop.bench.report")


def duels(*costs: tuple[float, float], kept_up: bool = True) -> list[Any]:
    used = load("workshop.bench.client").Used
    return [
        report().Duel(used(own, kept_up), used(floor, True)) for own, floor in costs
    ]


def test_ratio_is_taken_within_a_round_and_over_both_orders() -> None:
    # One order costs the side a tenth, the other the floor; then all takes six times.
    *found, _ = report().ratio(duels((110, 100), (100, 110), (792, 600), (720, 660)))
    assert found == pytest.approx([1.1, 1.0, 1.2])


def result(*, kept_up: bool = True) -> Any:
    names = ("cpu", "memory", "os", "python", "mitmproxy", "date")
    line = load("workshop.bench.sides").LINES["nim"]
    ours = duels((110, 100), (110, 100), (120, 100), (120, 100), kept_up=kept_up)
    short, longer = ("nim", "5 events"), ("nim", "60 events")
    found = {(*short, "repair"): ours, (*short, "lean"): duels((104, 100))}
    found[*longer, "repair"] = duels((110, 100))
    machine = {name: f"<{name}>" for name in names}
    return report().Result(machine, "nothing is pinned", 2, {"nim": line}, found)


def test_row_has_what_was_measured_beside_its_goals() -> None:
    *_, row = report().table(result()).splitlines()
    assert row == (
        "| `nim`: NIM's stream, 5 / 60 events | 1.15 (1.10…1.20) / 1.10 "
        "| ≤ 1.18 met / ≤ 1.10 met | 1.04 |"
    )


@pytest.mark.parametrize("kept_up", [True, False])
def test_table_of_a_side_that_fell_behind_is_in_no_document(
    kept_up: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = load("workshop.bench.command")
    document = tmp_path / "performance.md"
    before = "<!-- begin bench (x writes this) -->\n<!-- end bench -->\n"
    document.write_text(before)
    monkeypatch.setattr(command, "DOCUMENT", document)
    flags = argparse.Namespace(update_docs=True)
    refused: Any = contextlib.nullcontext()
    if not kept_up:
        refused = pytest.raises(command.OverloadedError, match="a side was overloaded")
    with refused:
        command.tell(flags, result(kept_up=kept_up))
    assert (document.read_text() != before) is kept_up
