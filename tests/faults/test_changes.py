"""Something changes in mid-stream: options, the addon itself, the clock."""

import datetime as dt
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.logs import LINES
from faults.rig import ASKED, DUE, SENT, Rig, whole
from support import Break

type Start = Callable[..., Rig]


@pytest.mark.fault("options-change")
@pytest.mark.parametrize(
    "options",
    [
        {"normalize_mode": "observe"},
        {"normalize_skip": ["role-null", "content-null"]},
        {"normalize_hosts": ["elsewhere.test"]},
        {"normalize_only": False},
        {"normalize_strict": True},
        {"normalize_pairs": ""},
        {"normalize_pairs_size": "1k"},
        {"body_size_limit": "500"},
        {"stream_large_bodies": "1m"},
        {"store_streamed_bodies": True},
        {"anticomp": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_running_answer_keeps_what_it_began_with(
    reverse: Rig, options: dict[str, Any]
) -> None:
    gate = threading.Event()
    script = reverse.provider.script(*SENT[:2], gate, *SENT[2:])
    with reverse.bystander(recorded=False), reverse.client() as client:
        reply = client.post(script.path, ASKED)
        reply.until(whole(DUE[:2]))
        with reverse.mitmdump.options(**options):
            gate.set()
            assert reply.rest() == whole(DUE)
            if "normalize_pairs_size" not in options:  # it may rotate away
                found = reverse.mitmdump.records(script)
                assert len(found) == LINES
                assert "mode" not in found[-1]


@pytest.mark.fault("too-large")
@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_size_limit_is_for_bodies_not_for_streams(start: Start, framing: str) -> None:
    rig = start(options={"body_size_limit": "1000"})
    small = rig.provider.script(*SENT)
    with rig.bystander():
        script = rig.provider.script(*SENT, *SENT, framing=framing)
        with rig.client() as client:
            reply = client.post(script.path, ASKED)
            if framing == "chunked":
                assert reply.rest().startswith(whole(DUE))
                expected = "complete", 200
            else:
                assert reply.status == 502
                assert b"body_size_limit" in reply.rest()
                expected = "upstream-broke", 502
        *_, flow = rig.mitmdump.records(script)
        assert (flow["end"], flow["status"]) == expected
        assert rig.ask(small) == whole(DUE)
    assert small.requests


# -- reload ----------------------------------------------------------------------------


@pytest.mark.fault("reloaded")
def test_reload_in_mid_stream_loses_nothing(start: Start, addon: Path) -> None:
    rig = start(addon=addon)
    gate = threading.Event()
    running = rig.provider.script(*SENT[:2], gate, *SENT[2:])
    with rig.bystander(), rig.client() as client:
        reply = client.post(running.path, ASKED)
        reply.until(whole(DUE[:2]))
        for _ in range(2):
            rig.mitmdump.reload()
            later = rig.provider.script(*SENT)
            assert rig.ask(later) == whole(DUE)
            assert len(rig.mitmdump.records(later)) == LINES
        gate.set()
        assert reply.rest() == whole(DUE)
        assert len(rig.mitmdump.records(running)) == LINES
    assert "another instance" not in rig.mitmdump.printed()


@pytest.mark.fault("reloaded-then-broken")
@pytest.mark.parametrize("who", ["provider", "client"])
def test_break_after_a_reload_is_recorded(start: Start, addon: Path, who: str) -> None:
    rig = start(addon=addon)
    gate = threading.Event()
    script = rig.provider.script(*SENT[:2], gate, Break.RESET)
    with rig.bystander():
        with rig.client() as client:
            reply = client.post(script.path, ASKED)
            reply.until(whole(DUE[:2]))
            rig.mitmdump.reload()
            if who == "provider":
                gate.set()
                assert reply.broken() == whole(DUE[:2])
        gate.set()
        *pairs, flow = rig.mitmdump.records(script)
        assert [pair["n"] for pair in pairs] == [0, 1]
        assert flow["end"] == ("upstream-broke" if who == "provider" else "client-left")
        assert (flow["status"], flow["bytes_out"]) == (200, len(whole(DUE[:2])))


# -- the clock -------------------------------------------------------------------------

CLOCK = """\
# Shifts the clock as NTP, a user or a virtual machine does: by the header's seconds.
import time

true = time.time
shift = 0.0

def shifted():
    return true() + shift

time.time = shifted

def request(flow):
    global shift
    if "clock" in flow.request.headers:
        shift = float(flow.request.headers.pop("clock"))
"""
HOUR = 3600.0


@pytest.mark.fault("clock")
@pytest.mark.parametrize("shift", [-HOUR, HOUR])
def test_setting_the_clock_changes_no_durations(start: Start, shift: float) -> None:
    rig = start(scripts=[CLOCK])
    gate = threading.Event()
    script = rig.provider.script(SENT[0], gate, *SENT[1:])
    with rig.bystander(), rig.client() as client:
        reply = client.post(script.path, ASKED)
        reply.until(DUE[0])
        with rig.client() as other:
            path = rig.provider.script(*SENT).path
            assert other.post(path, ASKED, {"clock": str(shift)}).rest() == whole(DUE)
        gate.set()
        assert reply.rest() == whole(DUE)
        *pairs, flow = rig.mitmdump.records(script)
        assert [pair["ms"] for pair in pairs] == sorted(pair["ms"] for pair in pairs)
        assert all(0 <= pair["ms"] < HOUR for pair in pairs)
        assert 0 <= flow["first_ms"] <= flow["total_ms"] < HOUR * 1000
        reported = dt.datetime.fromisoformat(flow["time"]).timestamp()
        now = dt.datetime.now(dt.UTC).timestamp() + shift
        assert abs(reported - now) < 60
