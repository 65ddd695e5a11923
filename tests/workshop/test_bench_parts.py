"""The benchmark's parts: its streams, what reads them, and what is made of figures."""

import argparse
import ast
import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from launchers import load
from llm_normalize.chat.stream_state import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.records.record_line import line
from llm_normalize.repair.fix import Fix
from llm_normalize.repair.pipeline import Pipeline
from workshop.child import ChildError

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
KINDS = ("good", "nim")


# The streams


def body(plan: Any, form: str, stamp: bytes = b"") -> list[bytes]:
    """Return the events that arrive, each with a sending time where one is given."""
    traffic = load("workshop.bench.traffic")
    every = traffic.dialect(plan.kind, plan.answer, repaired=form == "repaired")
    middle = [
        (b"@" + stamp).join(every.events[place])
        if stamp
        else b"".join(every.events[place])
        for place in traffic.in_turn(plan)
    ]
    return [every.opening, *middle, every.finish, traffic.DONE]


@pytest.mark.parametrize("kind", KINDS)
def test_addon_makes_what_the_bench_expects(kind: str) -> None:
    plan = load("workshop.bench.traffic").Plan(kind, 2051)
    pipeline = Pipeline(Asked(stream=True), FIXES)
    sent, wanted = body(plan, "sent"), body(plan, "repaired")
    out = [b"".join(pipeline.feed(event)) for event in sent]
    assert b"".join([*out, *pipeline.end()]) == b"".join(wanted)
    assert (sent == wanted) == (kind == "good")


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_as_large_and_as_varied_as_real_ones(kind: str) -> None:
    events = load("workshop.bench.traffic").dialect(kind).events
    assert all(220 <= len(b"".join(event)) <= 305 for event in events)
    assert len(set(events)) > 2000
    joined = b"".join(map(b"".join, events)).decode()
    assert not joined.isascii()
    assert '\\"' in joined
    assert "\\n" in joined


def test_provider_sends_each_event_in_a_chunk_of_its_own() -> None:
    traffic = load("workshop.bench.traffic")
    plan = traffic.Plan("nim", 5003, start=2000)
    sent = b"".join(traffic.text_chunks(plan))
    chunks = list(map(traffic.http_chunk, body(plan, "sent")[1:-2]))
    assert len(chunks) == 5000
    assert sent == b"".join(chunks)


def test_request_carries_the_plan() -> None:
    traffic = load("workshop.bench.traffic")
    plan = traffic.Plan("nim", 200, 10_000, 400, 97)
    head, _, sent = plan.request("host:1").partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\nhost: host:1\r\n")
    assert f"content-length: {len(sent)}".encode() in head
    assert traffic.Plan.of_request(sent) == plan


@pytest.mark.parametrize(
    "sent",
    [
        b"{}",
        b"[1]",
        b'{"messages":[{"content":"hello there"}]}',
        b'{"messages":[{"content":"nim 3"}]}',
        b'{"messages":[{"content":"nim"}]}',
        b'{"messages":[{"content":"other 40"}]}',
        b'{"messages":[{"content":["nim"]}]}',
        b"?",
    ],
)
def test_request_without_a_plan_is_refused(sent: bytes) -> None:
    with pytest.raises(ValueError, match=r"plan|invalid literal|Expecting value"):
        load("workshop.bench.traffic").Plan.of_request(sent)


def test_slow_proxy_is_left_and_not_waited_for() -> None:
    provider, traffic = load("workshop.bench.provider"), load("workshop.bench.traffic")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        paced = provider.Paced(ours, traffic.Plan("nim", 100_000, 1000))
        first = paced.due
        while paced.send():
            pass
        assert paced.done.is_set()
        assert not paced.kept_up
        assert paced.due > first
        assert theirs.recv(65536).count(b"@") > 10


# What arrives


def arrive(plan: Any, form: str, *reads: bytes) -> Any:
    late: list[int] = []
    arrival = load("workshop.bench.arrival").Arrival(plan, form, late)
    for number, data in enumerate(reads):
        if not arrival.over:
            arrival.receive(data, 1000 + number)
    arrival.late = late
    return arrival


def answer(events: list[bytes]) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = map(load("workshop.bench.traffic").http_chunk, events)
    return head + b"".join(chunks) + b"0\r\n\r\n"


@pytest.mark.parametrize("form", ["sent", "repaired", "text"])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_whole_stream_is_right_however_it_is_cut(
    form: str, timed: bool, size: int
) -> None:
    plan = load("workshop.bench.traffic").Plan(
        "nim", 12, 10_000 if timed else 0, start=2045
    )
    data = answer(body(plan, form, b"%019d" % 400 if timed else b""))
    reads = [data[at : at + size] for at in range(0, len(data), size)]
    arrival = arrive(plan, form, *reads)
    assert (arrival.over, arrival.fault) == (True, "")
    assert arrival.events == (9 if form == "text" else 12)
    assert len(arrival.late) == (9 if timed else 0)
    if timed and size == 10**6:
        assert set(arrival.late) == {600}


def test_times_count_from_a_stream_s_middle_on() -> None:
    plan = load("workshop.bench.traffic").Plan("nim", 12, 10_000)
    late: list[int] = []
    arrival = load("workshop.bench.arrival").Arrival(plan, "sent", late, 6)
    data = answer(body(plan, "sent", b"%019d" % 400))
    for at in range(0, len(data), 50):
        arrival.receive(data[at : at + 50], 1000)
    assert arrival.fault == ""
    assert (
        len(late) == 4
    )  # the seventh event to the tenth, which is the last with a text


def test_answer_without_chunks_ends_with_its_connection() -> None:
    plan = load("workshop.bench.traffic").Plan("nim", 12)
    data = b"HTTP/1.0 200 OK\r\n\r\n" + b"".join(body(plan, "sent"))
    assert not arrive(plan, "sent", data).over
    assert arrive(plan, "sent", data, b"").fault == ""
    cut = arrive(plan, "sent", data[:-14], b"")
    assert cut.fault == "ended after 11 of 12 events"


def wrong_streams() -> list[tuple[str, str, str]]:
    """Return (what is done to a stream, form, what is said of it)."""
    bytes_ = "has other bytes than it must have, after 12 of 12 events"
    text = "has other text than it must have, after 9 of 9 events"
    return [
        ("byte", "sent", bytes_),
        ("byte", "repaired", bytes_),
        ("byte", "text", text),
        ("swap", "sent", bytes_),
        ("swap", "text", text),
        ("lose", "sent", "ended after 11 of 12 events"),
        ("lose", "text", "ended after 8 of 9 events"),
        ("double", "sent", "ended after 13 of 12 events"),
        ("glue", "sent", "ended after 11 of 12 events"),
        ("half", "repaired", "ended within an event after 11 of 12 events"),
        ("garble", "text", "has an event that is no chunk"),
    ]


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(("wrong", "form", "fault"), wrong_streams())
def test_wrong_stream_is_found_out(
    wrong: str, form: str, fault: str, timed: bool
) -> None:
    plan = load("workshop.bench.traffic").Plan("nim", 12, 10_000 if timed else 0)
    events = body(plan, form, b"%019d" % 400 if timed else b"")
    match wrong:
        case "byte":
            events[4] = events[4].replace(b'"content":" ', b'"content":"_')
        case "swap":
            events[3], events[4] = events[4], events[3]
        case "lose":
            del events[4]
        case "double":
            events[4:4] = [events[4]]
        case "glue":
            events[4] = events[4][:-1]
        case "half":
            events[-1] = events[-1][:-1]
        case _:
            events[4] = b"data: {\n\n"
    arrival = arrive(plan, form, answer(events))
    assert arrival.over
    assert arrival.fault.startswith(fault)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\nno", "was refused: 'HTTP/1.1 502"),
        (b"", "broke off after 0 of 12 events"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            "has a broken chunk, after 0 of 12 events",
        ),
    ],
)
def test_answer_that_is_none_is_found_out(data: bytes, fault: str) -> None:
    plan = load("workshop.bench.traffic").Plan("nim", 12)
    assert arrive(plan, "sent", data).fault.startswith(fault)


def test_answer_that_breaks_off_is_found_out() -> None:
    plan = load("workshop.bench.traffic").Plan("nim", 12)
    whole = answer(body(plan, "sent"))
    assert arrive(plan, "sent", whole[:-5], b"").fault == (
        "broke off after 12 of 12 events"
    )


# The client's marks


def party(events: int, streams: int, pid: int = 0, **more: Any) -> Any:
    client, load_ = load("workshop.bench.client"), load("workshop.bench.load")
    target = load_.Target("x", 1, pid, "nim", "sent", streams, events)
    return client.parties_of(load_.Load([target], **more))[0]


def test_work_counts_from_when_all_streams_run_until_one_ends() -> None:
    made = party(40, 2, os.getpid())
    one, two = made.arrivals
    for arrival, events in ((one, 30), (two, 9), (two, 10)):
        arrival.events = events
        made.note(arrival, 1)
    assert made.begun.events == 40
    one.events, one.over = 40, True
    made.note(one, 2)
    two.events, two.over = 40, True
    made.note(two, 3)
    made.finish()
    reported = made.report()
    assert reported["window"]["events"] == 10
    assert reported["window"]["cpu"] >= 0
    assert reported["events"] == 80
    assert reported["rss"]["mark"] > 1e6


def test_work_may_count_until_just_before_the_end() -> None:
    made = party(100, 1, os.getpid(), mark=0.2, until=0.98)
    (arrival,) = made.arrivals
    for events in (19, 20, 97, 98, 100):
        arrival.events = events
        made.note(arrival, 1)
    assert (made.begun.events, made.ended.events) == (20, 98)


def test_streams_that_are_too_short_have_no_window() -> None:
    made = party(40, 1, os.getpid())
    (arrival,) = made.arrivals
    arrival.events, arrival.over = 40, True
    made.note(arrival, 1)
    made.finish()
    assert made.report()["window"] is None


def test_parties_take_turns_within_the_gap() -> None:
    client, load_ = load("workshop.bench.client"), load("workshop.bench.load")
    targets = [load_.Target(name, 1, 0, "nim", "sent", 4, 40) for name in "ab"]
    parties = client.parties_of(load_.Load(targets, 8000))
    phases = [[each.plan.phase_us for each in made.arrivals] for made in parties]
    assert phases == [[0, 2000, 4000, 6000], [1000, 3000, 5000, 7000]]
    starts = {each.plan.start for made in parties for each in made.arrivals}
    assert len(starts) == 8


def test_load_survives_its_line() -> None:
    load_ = load("workshop.bench.load")
    target = load_.Target("x", 1, 2, "nim", "text", 3, 40)
    reported = load_.Load([target], 10, 0.2, 0.9, settle=True)
    assert load_.Load.of_line(reported.line()) == reported


@pytest.mark.parametrize("gap", [0, 8000])
def test_streams_are_asked_for_by_turns_one_after_the_other(gap: int) -> None:
    client, load_ = load("workshop.bench.client"), load("workshop.bench.load")
    with socket.create_server((client.HOST, 0)) as listener:
        port = listener.getsockname()[1]
        targets = [
            load_.Target(name, port, 0, "nim", "sent", 3, 60) for name in ("a", "b")
        ]
        run = client.Run(load_.Load(targets, gap))
        waiting = run._connect()
        for *_, connection in waiting:
            connection.close()
    assert [party.target.name for party, *_ in waiting] == ["a", "b"] * 3
    due = [run._due(5, number) - 5 for number in range(3)]
    assert due == [0, *([client.STAGGER, 2 * client.STAGGER] if gap else [0, 0])]


def test_quantiles_are_values_that_were_there() -> None:
    quantiles = load("workshop.bench.client").quantiles
    assert quantiles([]) is None
    assert quantiles([5000]) == {"p50": 5.0, "p99": 5.0, "count": 1}
    assert quantiles(range(0, 101_000, 1000)) == {
        "p50": 50.0,
        "p99": 99.0,
        "count": 101,
    }


# The machine


STATUS = """Name:\tpython3
VmPeak:\t   99999 kB
VmHWM:\t   20480 kB
VmRSS:\t   10240 kB
VmData:\t     512 kB
"""


def test_memory_is_read_from_proc() -> None:
    parse = load("workshop.traffic.memory").parse_status
    assert parse(STATUS) == (10240 * 1024, 20480 * 1024)
    with pytest.raises(ProcessLookupError):
        parse("Name:\tpython3\nState:\tZ (zombie)\n")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_linux_and_psutil_agree() -> None:
    machine = load("workshop.bench.machine")
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    fine, coarse = machine.read(os.getpid()), machine.read_anywhere(os.getpid())
    assert fine.cpu == pytest.approx(coarse.cpu, abs=0.1)
    assert fine.rss == pytest.approx(coarse.rss, rel=0.1)
    assert fine.peak >= fine.rss
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[11:13]
    seconds = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    assert fine.cpu == pytest.approx(seconds, abs=0.1)


def test_process_that_has_ended_cannot_be_read() -> None:
    machine = load("workshop.bench.machine")
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(machine.GoneError, match="has ended"):
        machine.read(process.pid)


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


# Processes


def test_child_that_ends_is_reported_with_its_last_words(tmp_path: Path) -> None:
    children = load("workshop.bench.children")
    code = "print('no such option'); raise SystemExit(3)"
    with children.Worker("it", [sys.executable, "-c", code], tmp_path) as child:
        assert child.line(20) == "no such option"
        with pytest.raises(ChildError, match=r"it has ended \(exit code 3\)"):
            child.line(20)
        with pytest.raises(ChildError) as caught:
            child.check()
    assert list(caught.value.lines) == ["no such option"]


def test_child_that_is_missing_or_silent_gives_a_sentence(tmp_path: Path) -> None:
    children = load("workshop.bench.children")
    with pytest.raises(ChildError, match="it cannot be started"):
        children.Worker("it", [str(tmp_path / "none")]).start()
    code = "import sys; sys.stdin.read()"
    with (
        children.Worker("it", [sys.executable, "-c", code]) as child,
        pytest.raises(ChildError, match="it did not print a line in 0 s"),
    ):
        child.line(0.1)


def test_child_is_not_led_through_a_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children = load("workshop.bench.children")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("LITELLM_X", "1")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    command = [sys.executable, "-c", code]
    more = {"MORE": "1"}
    with children.Worker("it", command, None, more, without=("LITELLM_",)) as child:
        reported = json.loads(child.line(20))
    assert reported["MORE"] == "1"
    assert not {"HTTPS_PROXY", "http_proxy", "LITELLM_X"} & set(reported)


def test_client_tells_of_what_it_could_not_do() -> None:
    children, load_ = load("workshop.bench.children"), load("workshop.bench.load")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    target = load_.Target("x", port, 0, "nim", "sent", 1, 40)
    with (
        children.client(frozenset()) as client,
        pytest.raises(ChildError, match=r"client failed: .*refused"),
    ):
        children.ask(client, load_.Load([target]).line(), 30)


# Peers


def test_peer_that_cannot_be_had_is_skipped_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = load("workshop.bench.peers")
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("./none-1.0-py3-none-any.whl\n")  # asks no network
    monkeypatch.setattr(peers, "lock", lambda _: wanted)
    monkeypatch.setattr(peers.environments, "CACHE", tmp_path / "cache")
    cpus = load("workshop.bench.machine").Cpus(frozenset(), frozenset(), "")
    notes: list[str] = []
    names = ["flask", "litellm"]
    with peers.running(names, 1, tmp_path, cpus, notes.append) as found:
        assert found == {}
    assert [note.partition(":")[0] for note in notes] == [
        "flask is not measured",
        "litellm is not measured",
    ]
    assert "none-1.0" in notes[0]


def test_peer_that_does_not_start_is_skipped_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = load("workshop.bench.peers")
    monkeypatch.setattr(peers, "environment", lambda _: Path(sys.executable))
    monkeypatch.setattr(peers, "_LITELLM", "print('no such model'); exit(2)")
    cpus = load("workshop.bench.machine").Cpus(frozenset(), frozenset(), "")
    notes: list[str] = []
    with peers.running(["litellm"], 1, tmp_path, cpus, notes.append) as found:
        assert found == {}
    (note,) = notes
    assert note.startswith("litellm is not measured: LiteLLM's proxy has ended")
    assert "no such model" in note


@pytest.mark.parametrize("name", ["flask", "litellm"])
def test_peer_is_pinned_to_the_last(name: str) -> None:
    lines = (
        load("workshop.bench.peers").lock(name).read_text(encoding="utf-8").splitlines()
    )
    pins = [line for line in lines if not line.startswith("#")]
    assert len(pins) > 10
    assert all(len(pin.split("==")) == 2 for pin in pins)
    assert any(pin.lower().startswith(f"{name}==") for pin in pins)


# What is run


def jobs(part: str, pace: float = 20e-6, scale: float = 1) -> Any:
    sides = load("workshop.bench.sides")
    wanted = [sides.DIRECT, sides.FLOOR, sides.SIDES["nim"], sides.SIDES["litellm"]]
    paces = dict.fromkeys((side.name for side in wanted), pace)
    paces["floor"] = 15e-6
    return load("workshop.bench.jobs").jobs_of(part, wanted, scale, paces)


def test_only_rivals_duel_with_the_floor() -> None:
    assert [job.side.name for job in jobs("burst")] == ["nim", "litellm"]
    paced = {(job.side.name, job.events): job.streams for job in jobs("paced")}
    assert paced == {
        ("nim", 5): 50,
        ("nim", 60): 10,
        ("nim", 600): 10,
        ("litellm", 5): 5,
        ("litellm", 60): 1,
        ("litellm", 600): 1,
    }
    assert [job.side.name for job in jobs("memory")] == ["floor", "nim", "litellm"]


def test_paced_streams_are_never_more_at_once() -> None:
    for scale, streams in ((3, [50, 10, 10]), (0.5, [25, 5, 5]), (0.01, [1, 1, 1])):
        paced = jobs("paced", scale=scale)
        assert [job.streams for job in paced if job.side.name == "nim"] == streams


@pytest.mark.parametrize("part", ["paced", "burst"])
@pytest.mark.parametrize("name", ["nim", "nim-pairs"])
def test_duel_takes_turns_and_waits_for_a_log(
    part: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, sides = load("workshop.bench.rounds"), load("workshop.bench.sides")
    asked: list[dict[str, Any]] = []

    def ask(_client: object, line: str, _patience: float) -> list[dict[str, Any]]:
        asked.append(json.loads(line))
        return [{"name": each["name"], "faults": []} for each in asked[-1]["targets"]]

    monkeypatch.setattr(rounds, "ask", ask)
    job = load("workshop.bench.jobs").Job(part, sides.SIDES[name], 2, 60)
    for number in (0, 1):
        rounds.Bench(None, 1, {}, None).run([job], number)
    first, second = ([each["name"] for each in made["targets"]] for made in asked)
    assert first == second[::-1] == [name, "floor"]
    assert {made["gap_us"] for made in asked} == {10_000 if part == "paced" else 0}
    assert {made["settle"] for made in asked} == {name == "nim-pairs"}


def test_each_round_has_proxies_of_its_own() -> None:
    begun, ended, checked = list[Any](), list[Any](), list[Any]()

    class Mitmdumps:
        @contextlib.contextmanager
        def running(self, names: list[str]) -> Iterator[dict[str, Any]]:
            assert names == ["", "floor", "flask"]
            child = SimpleNamespace()
            child.check = functools.partial(checked.append, child)
            begun.append(child)
            yield {"floor": SimpleNamespace(child=child)}
            ended.append(child)

    peer = SimpleNamespace()
    bench = load("workshop.bench.rounds").Bench(None, 1, {"flask": peer}, Mitmdumps())
    for number in (1, 2):
        with bench.started(["", "floor", "flask"]):
            assert bench._proxies["floor"].child is begun[-1]
            assert bench._proxies["flask"] is peer
            assert len(ended) == number - 1
        assert bench._proxies == {"flask": peer}
    assert [*map(id, begun)] == [*map(id, ended)] == [*map(id, checked)]
    assert begun[0] is not begun[1]


def test_long_stream_is_long() -> None:
    assert jobs("memory")[1][2:] == (1, 200_000)


def test_slow_side_gets_fewer_events_but_never_too_few() -> None:
    fast, slow = jobs("saturation")[4], jobs("saturation", 200e-6)[4]
    assert fast.side.name == slow.side.name == "nim"
    assert fast.events == pytest.approx(10 * slow.events, rel=0.01)
    assert jobs("saturation", 1.0)[4].events == load("workshop.bench.jobs").LEAST
    # In a duel the floor has as many, and needs enough to be measured by.
    assert jobs("burst", 1.0)[0].events > 1000


def test_latency_is_measured_at_each_number_of_streams() -> None:
    streams = {job.streams for job in jobs("latency") if job.side.name == "nim"}
    assert streams == {1, 10, 50}


# Figures


def outcome(part: str, side: str, number: int = 0, **reported: Any) -> Any:
    jobs_, sides = load("workshop.bench.jobs"), load("workshop.bench.sides")
    floor = reported.pop("floor", None)
    events = 600 if part == "paced" else 200_000
    job = jobs_.Job(part, sides.SIDES[side], reported.pop("streams", 1), events)
    return jobs_.JobResult(job, number, reported, floor)


def used(cpu: float, events: int = 1000, **more: Any) -> dict[str, Any]:
    window = {"events": events // 2, "cpu": cpu / 2, "seconds": events / 200}
    return {"seconds": 1.0, "events": events, "cpu": cpu, "window": window, **more}


def figures(outcomes: list[Any], *names: str) -> Any:
    sides = load("workshop.bench.sides").SIDES
    return load("workshop.bench.figures").figures(
        outcomes, [sides[name] for name in names]
    )


def test_ratio_is_taken_within_a_round() -> None:
    # The second round ran on a machine that was slow for a while.
    outcomes = [
        outcome("paced", "nim", 0, **used(0.11), floor=used(0.10)),
        outcome("paced", "nim", 1, **used(0.66), floor=used(0.60)),
        outcome("paced", "nim", 2, **used(0.12), floor=used(0.10)),
    ]
    found = figures(outcomes, "nim")["nim"]["paced"]["600"]
    assert found["ratio"] == {
        "median": pytest.approx(1.15),
        "low": pytest.approx(1.1),
        "high": pytest.approx(1.2),
    }
    assert found["us"]["median"] == pytest.approx(120)
    assert (found["goal"], found["met"], found["kept_up"]) == (1.06, False, True)


def test_who_is_asked_first_counts_for_nothing() -> None:
    # One order costs the side a tenth, the other the floor.
    costs = [(0.11, 0.10), (0.10, 0.11), (0.132, 0.10), (0.12, 0.11)]
    outcomes = [
        outcome("burst", "nim", number, **used(own), floor=used(floor))
        for number, (own, floor) in enumerate(costs)
    ]
    found = figures(outcomes, "nim")["nim"]["burst"]
    assert found["ratio"] == {
        "median": pytest.approx(1.1),
        "low": pytest.approx(1.0),
        "high": pytest.approx(1.2),
    }


def test_connections_count_in_a_duel() -> None:
    # While streams ran, both used the same.
    window = {"events": 500, "cpu": 0.05, "seconds": 1.0}
    own, floor = (used(cpu) | {"window": window} for cpu in (0.3, 0.2))
    for part in ("paced", "burst"):
        found = figures([outcome(part, "nim", 0, **own, floor=floor)], "nim")["nim"]
        duel = found[part]["600"] if part == "paced" else found[part]
        assert duel["ratio"]["median"] == pytest.approx(1.5)


def test_window_counts_where_it_is_long_enough() -> None:
    cost = load("workshop.bench.figures").steady_cost
    assert cost(used(0.1) | {"window": {"events": 600, "cpu": 0.03}}) == pytest.approx(
        50e-6
    )
    assert cost(used(0.2) | {"window": {"events": 10, "cpu": 0.01}}) == pytest.approx(
        200e-6
    )
    assert cost(used(0.2) | {"window": None}) == pytest.approx(200e-6)


def test_goal_that_is_missed_is_reported() -> None:
    outcomes = [outcome("burst", "nim", 0, **used(0.15), floor=used(0.10))]
    found = figures(outcomes, "nim")["nim"]["burst"]
    assert (found["goal"], found["met"]) == (1.28, False)


def test_proxy_that_falls_behind_is_reported() -> None:
    behind = used(0.11, seconds=8.0)
    for pair in ((used(0.11), behind), (behind, used(0.11))):
        found = figures([outcome("paced", "nim", 0, **pair[0], floor=pair[1])], "nim")
        assert not found["nim"]["paced"]["600"]["kept_up"]


@pytest.mark.parametrize(("streams", "seconds"), [(1, 6.02), (16, 6.32)])
def test_streams_that_begin_later_are_not_behind(streams: int, seconds: float) -> None:
    for late, keeps_up in ((0.04, True), (0.06, False)):
        reported = used(0.1, seconds=seconds + late)
        duel = outcome("paced", "nim", 0, streams=streams, floor=reported, **reported)
        found = figures([duel], "nim")["nim"]["paced"]["600"]
        assert found["kept_up"] is keeps_up


def late(side: str, number: int, p50: float, p99: float) -> Any:
    reported = {"late_us": {"p50": p50, "p99": p99}, "first_ms": [3.0, 1.0, 2.0]}
    return outcome("latency", side, number, **reported)


def test_added_latency_is_what_direct_does_not_have() -> None:
    outcomes = [
        *(late("direct", 0, 50, 100), late("direct", 1, 60, 100)),
        *(late("floor", 0, 150, 300), late("floor", 1, 190, 300)),
        *(late("nim", 0, 180, 400), late("nim", 1, 200, 500)),
        # Not even a range as wide as this makes it the same.
        *(late("good", 0, 150, 400), late("good", 1, 400, 500)),
    ]
    found = figures(outcomes, "direct", "floor", "nim", "good")
    nim = found["nim"]["latency"]["1"]
    assert nim["added_p50_us"] == {"median": 135, "low": 130, "high": 140}
    assert nim["first_ms"]["median"] == 2
    assert nim["like_floor"]
    assert not found["good"]["latency"]["1"]["like_floor"]
    assert "like_floor" not in found["floor"]["latency"]["1"]


def test_latency_beyond_the_gap_is_an_overload() -> None:
    names = ("direct", "floor", "nim")
    outcomes = [
        late(name, number, 20_000 if name == "nim" else 100 + number, 30_000)
        for name in names
        for number in (0, 1)
    ]
    found = figures(outcomes, *names)
    assert found["floor"]["latency"]["1"]["kept_up"]
    assert not found["nim"]["latency"]["1"]["kept_up"]
    text = load("workshop.bench.report").markdown(result(sides=found))
    assert text.count(", overloaded") == 1


@pytest.mark.parametrize("kept_up", [True, False])
def test_table_of_a_side_that_fell_behind_is_in_no_document(
    kept_up: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = load("workshop.bench.command")
    document = tmp_path / "performance.md"
    before = "<!-- begin bench (x writes this) -->\n<!-- end bench -->\n"
    document.write_text(before)
    monkeypatch.setattr(command, "DOCUMENT", document)
    measured = result()
    for duel in measured["sides"]["nim"]["paced"].values():
        duel["kept_up"] = kept_up
    flags = argparse.Namespace(json=None, markdown=None, update_docs=True)
    refused: Any = contextlib.nullcontext()
    if not kept_up:
        refused = pytest.raises(command.OverloadedError, match="a side was overloaded")
    with refused:
        command.tell(flags, measured)
    assert (document.read_text() != before) is kept_up


def test_one_round_proves_no_likeness() -> None:
    outcomes = [late(name, 0, 100, 200) for name in ("direct", "floor", "nim")]
    found = figures(outcomes, "direct", "floor", "nim")
    assert "like_floor" not in found["nim"]["latency"]["1"]


@pytest.mark.parametrize(("end", "met"), [(90.5, True), (92.0, False)])
def test_memory_must_not_grow(end: float, met: bool) -> None:
    rss = {"before": 80e6, "mark": 90e6, "end": end * 1e6, "peak": 95e6}
    found = figures([outcome("memory", "nim", rss=rss)], "nim")["nim"]["memory"]
    assert found["growth_mb"]["median"] == pytest.approx(end - 90)
    assert found["peak_mb"]["median"] == pytest.approx(95)
    assert found["met"] is met


# The report


def result(**more: Any) -> dict[str, Any]:
    outcomes = [
        *(
            outcome("paced", "nim", number, **used(cpu), floor=used(0.10))
            for number, cpu in enumerate((0.11, 0.11, 0.12, 0.12))
        ),
        outcome("saturation", "floor", 0, events=68_123, seconds=1.0, cpu=1.0),
        outcome("saturation", "nim", 0, events=34_000, seconds=1.0, cpu=1.0),
        *(late("direct", number, 50, 100 + number) for number in (0, 1)),
        *(late("floor", number, 150 + number, 300) for number in (0, 1)),
        *(late("nim", number, 190, 300) for number in (0, 1)),
    ]
    names = ("cpu", "memory", "os", "python", "mitmproxy", "date")
    return {
        "machine": {name: f"<{name}>" for name in names},
        "pinned": "nothing is pinned",
        "rounds": 2,
        "sides": figures(outcomes, "direct", "floor", "nim"),
        "notes": ["flask is not measured: no network"],
        **more,
    }


def test_table_has_a_row_for_each_side_and_a_column_for_what_ran() -> None:
    text = load("workshop.bench.report").markdown(result())
    head, _, direct, floor, nim = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    assert head == [
        "side",
        "CPU per event, 600 events",
        "events/s, 1 stream",
        "CPU s per 100,000 events",
        "added latency, 1 stream",
    ]
    assert direct[1:] == ["", "", "", "0 of 50.0 / 100 (100…101)"]
    assert floor[1:3] == ["", "68,100"]
    assert nim[0] == "`nim`: repair, NIM's stream"
    assert nim[1] == "1.15 (1.10…1.20), goal ≤ 1.06 missed"
    assert nim[2:4] == ["34,000", "2.94"]
    assert nim[4] == "140 / 200 (199…200), p50 above"
    for said in ("<cpu>", "<os>", "mitmproxy <mitmproxy>", "on <date>", "2 rounds"):
        assert said in text
    assert "- flask is not measured: no network" in text


def test_single_round_is_told_to_have_no_spread() -> None:
    text = load("workshop.bench.report").markdown(result(rounds=1))
    assert "is of one round, and has no spread" in text
    assert "lowest" not in text


def test_table_of_stages_tells_both_streams() -> None:
    spread = {"median": 2.0, "low": 1.5, "high": 2.5}
    row = {"group": "fix", "name": "role-null", "good_us": spread, "nim_us": spread}
    text = load("workshop.bench.report").markdown(result(sides={}, micro=[row]))
    assert "| fix | `role-null`" in text
    assert text.count("2.00 (1.50…2.50)") == 2
    assert "nothing is pinned" not in text


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (0.01234, "0.01"),
        (1.2345, "1.23"),
        (14.61, "14.6"),
        (146.1, "146"),
        (68_123.0, "68,100"),
        (-23.4, "-23.4"),
    ],
)
def test_number_has_the_digits_that_count(value: float, spelled: str) -> None:
    assert load("workshop.bench.report").number(value) == spelled


def test_table_of_a_file_aligns_no_cells() -> None:
    report = load("workshop.bench.report")
    table = report.table([["a", "b"], ["long cell", "c"]])
    assert report.compact(table) == "| a | b |\n| --- | --- |\n| long cell | c |"


# Stages and fixes


def test_every_stage_and_every_fix_of_streams_is_timed() -> None:
    rows = load("workshop.bench.micro").measure(2, 40)
    costs = [row["nim_us"]["median"] for row in rows]
    assert costs == sorted(costs, reverse=True)
    names = {row["name"] for row in rows}
    streams = {
        fix.name
        for fix in FIXES
        if any(getattr(fix, name) is not getattr(Fix, name) for name in METHODS)
    }
    assert streams <= names
    for row in rows:
        for kind in KINDS:
            spread = row[f"{kind}_us"]
            assert 0 <= spread["low"] <= spread["median"] <= spread["high"]


METHODS = ("edit", "replace", "event")


@pytest.mark.parametrize(("kind", "pairs"), [("good", 0), ("nim", 50)])
def test_log_that_is_timed_has_what_changed(kind: str, pairs: int) -> None:
    stages = load("workshop.bench.stages")
    records: list[Any] = []
    rewriter = stages.rewriter(records.append)
    stages.settle(rewriter.read, kind)
    records.clear()
    for event in stages.events_of(kind, 50):
        rewriter.read(event)
    assert len(records) == pairs
    assert all(json.loads(line(record))["type"] == "pair" for record in records)


@pytest.mark.parametrize("ours", [False, True])
def test_mitmproxys_layers_really_pass_the_stream(ours: bool) -> None:
    traffic, stages = load("workshop.bench.traffic"), load("workshop.bench.stages")
    layers = load("workshop.bench.layers").Layers(
        stages.rewriter().read if ours else True
    )
    plan = traffic.Plan("nim", 12)
    for event in body(plan, "sent"):
        layers.receive(traffic.http_chunk(event))
    layers.receive(b"0\r\n\r\n")
    arrival = arrive(plan, "repaired" if ours else "sent", *layers.sent)
    assert (arrival.over, arrival.fault) == (True, "")


# The command line


def test_script_is_written_for_python_3_8() -> None:
    source = (SCRIPTS / "bench.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))


def parse(*given: str) -> argparse.Namespace:
    flags: argparse.Namespace = load("bench").parse(list(given))
    return flags


def test_parts_and_sides_are_those_that_are_known() -> None:
    bench, sides, jobs_ = (
        load("bench"),
        load("workshop.bench.sides"),
        load("workshop.bench.jobs"),
    )
    assert (*jobs_.PARTS, "micro") == bench.PARTS
    assert set(bench.SIDES) == {side.name for side in (*sides.OURS, sides.JSON)}
    assert set(bench.PEERS) == {side.name for side in sides.PEERS}
    assert (sides.DIRECT.name, sides.FLOOR.name) == bench.ALWAYS


def test_usual_run_is_whole() -> None:
    flags = parse()
    assert flags.only == ["paced", "burst", "saturation", "latency", "memory"]
    assert flags.sides == list(load("bench").SIDES)
    assert (flags.rounds, flags.scale) == (6, 1.0)


def test_quick_run_is_smaller_and_micro_stands_alone() -> None:
    flags = parse("--quick")
    assert flags.rounds < 5
    assert flags.scale < 1
    assert set(flags.sides) < set(parse().sides)
    assert parse("--quick", "--sides", "json").sides == ["json"]
    assert parse("--micro").only == ["micro"]
    assert parse("--only", "micro", "paced").only == ["micro", "paced"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--rounds", "0"], "--rounds takes a number above 0"),
        (["--scale", "-1"], "--scale takes a number above 0"),
        (["--micro", "--only", "paced"], "give one of them"),
        (["--only", "fast"], "invalid choice"),
        (["--sides", "best"], "invalid choice"),
        (["--other", "/no/such/file"], "there is no file"),
        (["--json", "/no/such/folder/x"], "there is no folder"),
        (["--quick", "--update-docs"], "wants paced streams of all sides"),
        (["--only", "burst", "--update-docs"], "wants paced streams of all sides"),
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
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)
    assert main.main(parse()) == 1
    said = "    last words\nllm_normalize: nim does not bring what it has to.\n"
    assert capsys.readouterr().err == said


def test_progress_is_a_line_on_a_terminal_and_one_a_round_elsewhere() -> None:
    progress = load("workshop.bench.rounds").Progress
    reported: list[str] = []
    plain = progress(20, reported.append, live=False)
    plain.begin("round 1")
    plain.job("one")
    plain.end()
    assert [line.partition(": ")[2] for line in reported] == ["round 1\n"]
    reported.clear()
    live = progress(20, reported.append, live=True)
    live.begin("round 1")
    for number in range(4):
        live.job(f"job {number}")
    live.end()
    assert all(line.startswith("\r") and "\n" not in line for line in reported)
    assert "round 1: job 3" in reported[3]
    assert "left" in reported[3]
    assert reported[-1].strip() == ""
