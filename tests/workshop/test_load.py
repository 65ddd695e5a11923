"""The load: that it runs, that it counts right, and that a damaged byte is caught."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import script_runs
from launchers import load
from llm_normalize.report.histogram import Histogram
from workshop.load import command, slow
from workshop.load.figures import Figures
from workshop.load.paced import SILENCE, Check, Phase, Spoken, Words
from workshop.load.side import WARM_UP, WITH, Asked, Place
from workshop.traffic.process import ProviderProcess

# Damages the text of the streams 1 and 2 after the addon has repaired them, each in a way
# of its own, and lets all others pass.
DAMAGE = """
import json
import re

OTHERS = {}


def responseheaders(flow):
    if not callable(flow.response.stream):
        return
    content = json.loads(flow.request.content)["messages"][0]["content"]
    seed = json.loads(content)[0]
    repair = flow.response.stream
    heard = 0

    def damaged(data):
        nonlocal heard
        out = b"".join(repair(data))
        OTHERS[seed] = out or OTHERS[seed]
        heard += 1
        if heard == 4 and seed == 1:
            at = out.index(b'"content":"') + 13
            out = out[:at] + bytes([out[at] ^ 1]) + out[at + 1 :]
        elif heard >= 4 and seed == 2:
            out = OTHERS.get(7, out)  # once it has said something
        return [out] if out else []

    flow.response.stream = damaged
"""


# -- whole runs ------------------------------------------------------------------------


@script_runs.linux
def test_every_byte_of_a_load_arrives_and_the_figures_add_up() -> None:
    wanted = ["--streams", "20", "--seconds", "1", "--idle", "20", "--slow", "0"]
    done = script_runs.run("load", *wanted, "--rate", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    # To warm up, at once, and held.
    assert f"{3 * 20} streams, {20 * 20 + 20 * 5 + 20 * 2} events" in done.stdout
    assert "every byte checked: 0 streams corrupted." in done.stdout
    assert "| with the addon | 100 a second |" in done.stdout
    for table in ("p99", "an idle stream"):
        assert table in done.stdout


@script_runs.linux
def test_slow_clients_are_measured_and_what_others_feel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow, "seconds_of", lambda _: 0.5)
    figures = Figures({})
    asked = Asked(10, [10.0], 1, 0, 2, floor=False)

    async def measure() -> None:
        with ProviderProcess("workshop.load.provider", tmp_path) as provider:
            numbers = itertools.count()
            place = Place(asked, tmp_path, provider, figures, lambda _: None, numbers)
            await slow.measure(WITH, place)

    asyncio.run(measure())
    assert (figures.total.faults, figures.alarms) == ({}, [])
    assert figures.total.streams == 3 * WARM_UP + 2 + slow.UNREAD + 10 + 2
    assert len(figures.hoards) == 2
    for each in figures.hoards:
        assert each.taken[1] >= each.taken[0] > 10 * 1024
    assert [each.when for each in figures.felt] == [*slow.WHEN]
    assert all(0 < each.p50 <= each.p99 for each in figures.felt)


@script_runs.linux
def test_load_names_the_streams_that_a_proxy_damages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "damage.py"
    script.write_text(DAMAGE)
    asked = Asked(10, [10.0], 1, 0, 0, floor=False)
    figures = asyncio.run(command.measure(asked, lambda _: None, [script]))
    assert figures.total.faults.keys() == {1, 2}
    assert figures.alarms == []
    assert "chat-7" in "".join(figures.total.faults[2])
    monkeypatch.setattr(command, "run", lambda _: figures)
    script_of_load = load("load")
    assert script_of_load._run(script_of_load.parse(["--quick"])) == 1
    assert "\nstream 2: event " in capsys.readouterr().out


# -- the check ---------------------------------------------------------------------------

SPOKEN = Spoken(5, [Phase(4, 1)])


def repaired(words: Words, events: int) -> list[bytes]:
    """Return what the addon makes of a stream, written without it."""
    out = []
    sent = [words.opening(), *(words.text(n, 17 + n) for n in range(events))]
    for event in [*sent, *words.ending(events)]:
        text = event.decode().replace('"role":null,', "")
        text = text.replace('"role":"assistant","content":null', '"role":"assistant","content":""')  # fmt: skip
        text = text.replace('{"content":""},"finish_reason":"stop","stop_reason":null', '{},"finish_reason":"stop"')  # fmt: skip
        out.append(text.encode())
    return out


def faults(data: bytes, spoken: Spoken = SPOKEN) -> list[str]:
    check = Check(spoken, repaired=True, late=[Histogram()])
    check.feed(data, 20)
    check.end(clean=True)
    return check.faults


GOOD = b"".join(repaired(Words(5), 4))


def test_check_takes_what_a_proxy_only_passes_on() -> None:
    words = Words(5)
    sent = [words.opening(), *(words.text(n, 17) for n in range(4)), *words.ending(4)]
    check = Check(SPOKEN, repaired=False)
    check.feed(b"".join(sent), 20)
    check.end(clean=True)
    assert check.faults == []
    assert faults(b"".join(sent)) != []


@pytest.mark.parametrize(
    ("at", "silence", "repaired", "is_due"),
    [
        (2, SILENCE, True, True),
        (2, SILENCE - 1, True, False),
        (2, SILENCE, False, False),
        (0, SILENCE, True, False),  # before any event
        (99, SILENCE, True, False),  # after [DONE]
    ],
)
def test_newline_that_bridges_silence_is_due_after_silence(
    at: int, silence: int, repaired: bool, is_due: bool
) -> None:
    events = [b"%b\n\n" % each for each in GOOD.split(b"\n\n")[:-1]]
    check = Check(SPOKEN, repaired=True, late=[Histogram()])
    now = 20
    for each in events[:at]:
        check.feed(each, now)
    check._repaired = repaired
    for _ in range(2):
        now += silence
        check.feed(b"\n", now)
    check._repaired = True
    for each in events[at:]:
        check.feed(each, now)
    check.end(clean=True)
    assert (check.faults == []) is is_due


def mutants(data: bytes) -> Iterator[bytes]:
    """Yield *data* with each byte lost, doubled, swapped with the next, or another."""
    for at in range(len(data)):
        yield data[:at] + data[at + 1 :]
        yield data[:at] + data[at : at + 1] + data[at:]
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        if at and data[at - 1] != data[at]:
            yield (
                data[: at - 1] + data[at : at + 1] + data[at - 1 : at] + data[at + 1 :]
            )


def test_no_byte_is_lost_doubled_swapped_or_changed_unseen() -> None:
    unseen = [mutant for mutant in mutants(GOOD) if not faults(mutant)]
    assert unseen == []
