"""The benchmark's parts: its streams, what repairs them, and what is made of figures."""

import argparse
import ast
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from launchers import load
from workshop.child import ChildError

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
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
    texts = [traffic.text_of(b"".join(each)) for each in (one, two)]
    assert texts[0] != texts[1]
    assert traffic.sent(plan(kind)) == one


@pytest.mark.parametrize("kind", PROVIDERS)
def test_recorded_stream_keeps_its_form(kind: str) -> None:
    traffic = load("workshop.bench.traffic")
    recorded = traffic._recording(kind)
    sent = b"".join(traffic.sent(plan(kind)))
    assert len(sent) == len(recorded)
    shapes = [
        traffic._ID.sub(b"", traffic._TEXT.sub(b"", traffic._CREATED.sub(b"", each)))
        for each in (sent, recorded)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("events", [5, 60, 600])
def test_made_stream_is_as_large_and_as_varied_as_real_ones(events: int) -> None:
    for kind in ("good", "nim"):
        sent = load("workshop.bench.traffic").sent(plan(kind, events))
        assert len(sent) == events
        assert all(220 <= len(event) <= 310 for event in sent[1:-3])
        assert sent[-1] == b"data: [DONE]\n\n"
        usage = json.loads(sent[-2][5:])["usage"]
        assert usage["completion_tokens"] == events - 4
    joined = b"".join(sent).decode()
    assert events < 600 or (not joined.isascii() and '\\"' in joined)


@pytest.mark.parametrize("kind", ["good", "nim"])
def test_only_nim_s_stream_needs_repair(kind: str) -> None:
    traffic = load("workshop.bench.traffic")
    sent, repaired = (
        traffic.expected(plan(kind), form)[0] for form in ("sent", "repaired")
    )
    assert (sent == repaired) == (kind == "good")
    assert b'"role":null' not in repaired
    assert traffic.text_of(sent).count(b"\n") >= 55
    for form in ("sent", "repaired"):
        (wanted,) = traffic.expected(plan(kind), form)
        assert wanted.count(b'"usage":{') == 1


def test_request_asks_for_what_the_answer_has() -> None:
    body = json.loads(plan("OpenAI").request())
    assert body["tools"][0]["function"]["name"]
    assert json.loads(plan("nim").request())["stream_options"]["include_usage"]


def test_header_carries_the_plan() -> None:
    of_header = load("workshop.bench.traffic").Plan.of_header
    for each in (plan("nim", 200, 97), plan("Groq")):
        assert of_header(each.header()) == each


@pytest.mark.parametrize("text", ["", "nim 4 1", "nim 9", "other 60 1", "nim x 1"])
def test_request_without_a_plan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"plan|invalid literal|unpack"):
        load("workshop.bench.traffic").Plan.of_header(text)


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


# The machine


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_linux_and_psutil_agree() -> None:
    machine = load("workshop.bench.machine")
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    fine, coarse = machine.cpu_of(os.getpid()), machine.cpu_anywhere(os.getpid())
    assert fine == pytest.approx(coarse, abs=0.1)


def test_memory_is_read_from_proc() -> None:
    parse = load("workshop.traffic.memory").parse_status
    assert parse("VmHWM:\t 20480 kB\nVmRSS:\t 10240 kB\n") == (
        10240 * 1024,
        20480 * 1024,
    )
    with pytest.raises(ProcessLookupError):
        parse("Name:\tpython3\nState:\tZ (zombie)\n")


def test_process_that_has_ended_cannot_be_read() -> None:
    machine = load("workshop.bench.machine")
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(machine.GoneError, match="has ended"):
        machine.cpu_of(process.pid)


def test_proxies_have_a_cpu_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load("workshop.bench.machine")
    monkeypatch.setattr(machine, "siblings", lambda cpu: {cpu, cpu ^ 1})
    shared = machine.share_cpus({0, 1, 2, 3})
    assert (shared.proxies, shared.traffic) == ({3}, {0, 1})
    shared = machine.share_cpus({0, 1})
    assert (shared.proxies, shared.traffic) == ({1}, {0})
    assert "the same core" in shared.sentence
    shared = machine.share_cpus({5})
    assert (shared.proxies, shared.traffic) == (set(), set())
    assert "one CPU only" in shared.sentence


def test_without_affinity_nothing_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load("workshop.bench.machine")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    shared = machine.share_cpus()
    assert (shared.proxies, shared.traffic) == (set(), set())
    assert "nothing is pinned" in shared.sentence
    machine.pin(os.getpid(), shared.proxies)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="nothing is pinned")
def test_threads_of_a_process_are_pinned() -> None:
    machine = load("workshop.bench.machine")
    code = "import threading as t; w = t.Event().wait; t.Thread(target=w).start()\n"
    code += "print(flush=True)\nw()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=-1) as process:
        assert process.stdout
        process.stdout.readline()
        cpu = min(os.sched_getaffinity(0))
        machine.pin(process.pid, frozenset({cpu}))
        threads = [thread.id for thread in psutil.Process(process.pid).threads()]
        assert len(threads) == 2
        assert [os.sched_getaffinity(each) for each in threads] == [{cpu}, {cpu}]
        process.kill()


# What is run


def test_every_load_is_run_beside_the_floor_by_the_addon_and_by_lean() -> None:
    lines, bench = (
        load("workshop.bench.sides").LINES,
        load("workshop.bench.command").Bench,
    )
    jobs = list(bench.jobs(lines, quick=False))
    assert len(jobs) == len(set(jobs)) == 3 * 3 * 2 + 3 + 5 * 2
    assert {line.floor for line in lines.values()} == {"floor", "floor-tls"}
    quick = list(bench.jobs(lines, quick=True))
    assert {each.label for _, each, _ in quick} < {each.label for _, each, _ in jobs}
    for line in lines.values():
        assert len(line.goals) in (0, len(line.loads()))


@pytest.mark.parametrize("number", [0, 1])
def test_duel_takes_turns(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    command, sides = load("workshop.bench.command"), load("workshop.bench.sides")
    asked: list[Any] = []

    def run(parties: list[Any], plans: list[Any], _: object, tunnel: int) -> list[Any]:
        asked.append((parties, plans, tunnel))
        return [party.name for party in parties]

    monkeypatch.setattr(command.client, "run", run)
    monkeypatch.setattr(command, "client_context", lambda *_: None)
    bench = command.Bench(argparse.Namespace(trusted=None), 5)
    line = sides.LINES["recorded"]
    bench._proxies = {line.addon: "ours", line.floor: "floor"}
    duel = bench.duel(line, line.loads()[0], line.addon, number)
    assert [each.split(",")[0] for each in duel] == ["pairs-tls", "floor-tls"]
    ((parties, plans, tunnel),) = asked
    forms = [(party.proxy, party.form) for party in parties]
    wanted = [("ours", "repaired"), ("floor", "sent")]
    assert forms == (wanted[::-1] if number else wanted)
    assert len(plans) == len({each.seed for each in plans}) >= 6
    assert tunnel == 5


# Figures and the report


def figure(*costs: tuple[float, float], kept_up: bool = True) -> Any:
    found, client = load("workshop.bench.figures"), load("workshop.bench.client")
    return found.figure(
        [
            found.Duel(client.Used(own, kept_up), client.Used(floor, True))
            for own, floor in costs
        ]
    )


def test_ratio_is_taken_within_a_round_and_over_both_orders() -> None:
    # One order costs the side a tenth, the other the floor; then all takes six times.
    found = figure((110, 100), (100, 110), (792, 600), (720, 660))
    assert found["ratio"] == {
        "median": pytest.approx(1.1),
        "low": pytest.approx(1.0),
        "high": pytest.approx(1.2),
    }
    assert found["us"]["median"] == pytest.approx(415)


def result(*, kept_up: bool = True, rounds: int = 2) -> dict[str, Any]:
    names = ("cpu", "memory", "os", "python", "mitmproxy", "date")
    ours = figure((110, 100), (110, 100), (120, 100), (120, 100), kept_up=kept_up)
    ours |= {"goal": 1.06, "met": False}
    lean = figure((104, 100))
    line = {"title": "a", "addon": {"5 events": ours}, "lean": {"5 events": lean}}
    return {
        "machine": {name: f"<{name}>" for name in names},
        "pinned": "nothing is pinned",
        "rounds": rounds,
        "lines": {"nim": line},
    }


def test_table_has_a_row_for_each_line() -> None:
    text = load("workshop.bench.report").markdown(result())
    row = "| `nim`: a, 5 events | 1.15 (1.10…1.20) | ≤ 1.06 missed | 1.04 |"
    assert row in text.splitlines()
    for said in ("<cpu>", "<os>", "mitmproxy <mitmproxy>", "on <date>", "2 rounds"):
        assert said in text


def test_single_round_is_told_to_have_no_spread() -> None:
    text = load("workshop.bench.report").markdown(result(rounds=1))
    assert "Of one round" in text
    assert "lowest" not in text


@pytest.mark.parametrize("kept_up", [True, False])
def test_table_of_a_side_that_fell_behind_is_in_no_document(
    kept_up: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = load("workshop.bench.command")
    document = tmp_path / "performance.md"
    before = "<!-- begin bench (x writes this) -->\n<!-- end bench -->\n"
    document.write_text(before)
    monkeypatch.setattr(command, "DOCUMENT", document)
    flags = argparse.Namespace(json=None, update_docs=True)
    refused: Any = contextlib.nullcontext()
    if not kept_up:
        refused = pytest.raises(command.OverloadedError, match="a side was overloaded")
    with refused:
        command.tell(flags, result(kept_up=kept_up))
    assert (document.read_text() != before) is kept_up


# The command line


def test_script_is_written_for_python_3_8() -> None:
    source = (SCRIPTS / "bench.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))


def parse(*given: str) -> argparse.Namespace:
    flags: argparse.Namespace = load("bench").parse(list(given))
    return flags


def test_lines_are_those_that_are_known() -> None:
    assert tuple(load("workshop.bench.sides").LINES) == load("bench").LINES


def test_usual_run_is_whole_and_quick_one_smaller() -> None:
    flags = parse()
    assert (flags.only, flags.rounds) == (list(load("bench").LINES), 6)
    assert parse("--quick").rounds < 5
    assert parse("--only", "recorded", "good").only == ["good", "recorded"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--rounds", "0"], "--rounds takes a number above 0"),
        (["--only", "fast"], "invalid choice"),
        (["--other", "/no/such/file"], "there is no file"),
        (["--json", "/no/such/folder/x"], "there is no folder"),
        (["--quick", "--update-docs"], "wants all lines"),
        (["--only", "good", "--update-docs"], "wants all lines"),
        (["--rou", "3"], "unrecognized arguments"),
    ],
)
def test_what_cannot_be_done_is_refused(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(*given)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_fault_ends_with_a_sentence_and_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = load("workshop.bench.command")

    def measure(_: object) -> None:
        raise ChildError("nim does not bring what it has to.", ["last words"])

    monkeypatch.setattr(main, "measure", measure)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert main.main(parse()) == 1
    said = "    last words\nllm_normalize: nim does not bring what it has to.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("live", [True, False])
def test_progress_is_a_line_on_a_terminal_and_one_a_round_elsewhere(
    live: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: live)
    with load("workshop.bench.command").progress() as announce:
        announce("round 1", begins=True)
        announce("one")
        announce("two")
    said = capsys.readouterr().err
    assert said.count("\n") == (0 if live else 1)
    assert said.count("round 1") == (3 if live else 1)
    assert ("round 1: two" in said) is live
