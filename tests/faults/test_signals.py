"""mitmdump is ended, by its user or by force, while streams are under way."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.rig import ASKED, DUE, SENT, Rig, whole

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no such signals"
)
ends = pytest.mark.alone("mitmdump itself ends")

type Start = Callable[..., Rig]


def lines(path: Path) -> tuple[list[dict[str, object]], list[bytes]]:
    """Return the records of the log at *path*, and the lines that are none."""
    records, torn = [], []
    for line in path.read_bytes().splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            torn.append(line)
    return records, torn


@pytest.mark.fault("terminated")
@ends
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_end_by_the_user_loses_no_line(start: Start, number: signal.Signals) -> None:
    rig = start()
    never = threading.Event()
    scripts = [rig.provider.script(*SENT[:3], never) for _ in range(3)]
    clients = [rig.client() for _ in scripts]
    replies = [
        client.post(script.path, ASKED)
        for client, script in zip(clients, scripts, strict=True)
    ]
    for reply in replies:
        reply.until(whole(DUE[:3]))
    os.kill(rig.mitmdump.pid, number)
    for reply in replies:
        assert reply.broken() == whole(DUE[:3])
    rig.mitmdump.stop()
    for client in clients:
        client.socket.close()
    never.set()
    records, torn = lines(rig.mitmdump.pairs_path)
    assert torn == []
    flows = [each for each in records if each["type"] == "flow"]
    assert len(records) == len(scripts) * 4
    for flow in flows:
        assert flow["end"] == "upstream-broke"
        assert (flow["events"], flow["changed"]) == (3, 3)
        assert flow["bytes_out"] == len(whole(DUE[:3]))
        assert flow["status"] == 200, "the client got it"


@pytest.mark.fault("killed")
@ends
def test_end_by_force_spoils_no_other_line(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    options = {"normalize_pairs": str(path)}
    rig = start(options=options)
    never = threading.Event()
    done = rig.provider.script(*SENT)
    assert rig.ask(done) == whole(DUE)
    assert len(rig.mitmdump.records(done, path)) == 5
    script = rig.provider.script(*SENT[:3], never)
    with rig.client() as client:
        reply = client.post(script.path, ASKED)
        reply.until(whole(DUE[:3]))
        os.kill(rig.mitmdump.pid, signal.SIGKILL)
        assert reply.broken() == whole(DUE[:3])
    never.set()
    rig.mitmdump.stop()
    records, _ = lines(path)
    assert records[4]["end"] == "complete"
    # What is left by a death in the middle of a write, which cannot be timed.
    os.truncate(path, path.stat().st_size - 10)
    kept = path.read_bytes()
    again = start(options=options)
    script = again.provider.script(*SENT)
    assert again.ask(script) == whole(DUE)
    again.mitmdump.wait_for("repaired (")
    again.mitmdump.stop()
    assert path.read_bytes().startswith(kept + b"\n")
    later, torn = lines(path)
    assert torn == [kept.splitlines()[-1]]
    assert len(later) == len(records) - 1 + 5
    assert later[-1]["end"] == "complete"
    assert "another instance" not in again.mitmdump.log


@pytest.mark.fault("stopped")
def test_sleep_in_mid_stream_is_a_pause(reverse: Rig) -> None:
    gate, sent = threading.Event(), threading.Event()
    script = reverse.provider.script(*SENT[:2], gate, *SENT[2:])
    process = reverse.mitmdump.pid
    with reverse.bystander(), reverse.client() as client:
        reply = client.post(script.path, ASKED)
        reply.until(whole(DUE[:2]))
        os.kill(process, signal.SIGSTOP)
        try:
            gate.set()
            sent.wait(0.5)  # it is sent meanwhile, and not read
        finally:
            os.kill(process, signal.SIGCONT)
        assert reply.rest() == whole(DUE)
        *_, flow = reverse.mitmdump.records(script)
        assert flow["end"] == "complete"
        assert flow["total_ms"] >= 500
