"""The system runs out of something: room on the disk, time to write, file handles."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.logs import CANNOT, LINES, answered, count, lost, records, rotated
from faults.rig import ASKED, DUE, SENT, Rig, whole
from support import BrokenEndError, Http1Client, Http1Reply, connect

if sys.platform == "linux":
    import resource
    import subprocess

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="prlimit and tmpfs are Linux's"
)

type Start = Callable[..., Rig]

ANSWERS = 7
"""In each of these tests: one before, three while the disk is full, one after, the
bystander, and one after that."""


def while_full(rig: Rig, full: contextlib.AbstractContextManager[None]) -> None:
    """Have answers while the disk is full, and until mitmdump has said so."""
    with full:
        for _ in range(3):
            rig.works()
        rig.mitmdump.wait_for(CANNOT)


def no_line_is_gone_without_a_word(rig: Rig, path: Path) -> None:
    rig.mitmdump.stop()
    found = records(rotated(path))
    assert count(found) == LINES * ANSWERS
    assert lost(found) > 0
    assert rig.mitmdump.log.count(CANNOT) == 1


@contextlib.contextmanager
def limited(rig: Rig, kind: int, limit: int) -> Iterator[None]:
    """Lower a limit that the system sets mitmdump (getrlimit(2))."""
    process = rig.mitmdump.pid
    old = resource.prlimit(process, kind)
    resource.prlimit(process, kind, (limit, old[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process, kind, old)


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no room in *folder*, for no byte and no file."""
    filler = folder / "filler"
    try:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))
        with contextlib.suppress(OSError):
            for number in range(100):
                (folder / f"filler{number}").touch()
        yield
    finally:
        for each in folder.glob("filler*"):
            each.unlink()


@contextlib.contextmanager
def obstructed(path: Path) -> Iterator[None]:
    """Have a folder where the oldest of the rotated files at *path* should go."""
    path.with_name(f"{path.name}.3").touch()
    (path.with_name(f"{path.name}.4") / "something").mkdir(parents=True)
    yield
    (path.with_name(f"{path.name}.4") / "something").rmdir()
    path.with_name(f"{path.name}.4").rmdir()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of 64 KiB and five files."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = "mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=5", "tmpfs", str(folder)
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.fault("disk-full")
# Room for no byte, and for some lines and a part of one.
@pytest.mark.parametrize("room", [0, 1000])
def test_full_disk_costs_lines_and_says_how_many(start: Start, room: int) -> None:
    rig = start()
    path = rig.mitmdump.pairs_path
    answered(rig, path)
    with rig.bystander(recorded=False):
        size = path.stat().st_size + room
        while_full(rig, limited(rig, resource.RLIMIT_FSIZE, size))
        answered(rig, path)
    no_line_is_gone_without_a_word(rig, path)


@pytest.mark.fault("disk-full-for-real")
@pytest.mark.parametrize("size", ["64m", "6k"])
def test_small_disk_costs_counted_lines(start: Start, small: Path, size: str) -> None:
    path = small / "pairs.jsonl"
    options = {"normalize_pairs": str(path), "normalize_pairs_size": size}
    rig = start(options=options)
    answered(rig, path)
    with rig.bystander(recorded=False):
        while_full(rig, filled(small))
        answered(rig, path)
    no_line_is_gone_without_a_word(rig, path)


@pytest.mark.fault("cannot-rotate")
def test_log_that_cannot_rotate_costs_lines_and_says_how_many(
    start: Start, tmp_path: Path
) -> None:
    path = tmp_path / "logs" / "pairs.jsonl"
    options = {"normalize_pairs": str(path), "normalize_pairs_size": "6k"}
    rig = start(options=options)
    answered(rig, path)
    with rig.bystander(recorded=False):
        while_full(rig, obstructed(path))
        answered(rig, path)
    no_line_is_gone_without_a_word(rig, path)


@pytest.mark.fault("disk-hangs")
def test_disk_that_hangs_holds_nobody(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)  # nobody reads it: it takes 64 KiB, and then nothing
    rig = start(options={"normalize_pairs": str(path)})
    with rig.bystander(recorded=False):
        for _ in range(60):
            rig.works()
    assert rig.mitmdump.terminate() == 0


@pytest.mark.fault("flow-file-full")
@pytest.mark.alone("mitmdump itself ends")
def test_flow_file_on_a_full_disk_ends_mitmproxy(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "flows"
    rig = start("-w", str(path))
    rig.works()
    answered(rig, rig.mitmdump.pairs_path)
    script = rig.provider.script(*SENT)
    with (
        limited(rig, resource.RLIMIT_FSIZE, path.stat().st_size),
        contextlib.suppress(BrokenEndError, OSError),
    ):
        for _ in range(10):  # it ends at the first, or soon after
            rig.ask(script)
    assert rig.mitmdump.ended() != 0
    assert "mitmproxy/addons/save.py" in rig.mitmdump.log


@pytest.mark.fault("no-handles")
def test_lack_of_file_handles_makes_new_clients_wait(start: Start) -> None:
    rig = start()
    answered(rig, rig.mitmdump.pairs_path)
    with rig.bystander(bugs=None), rig.client() as client:
        gate = threading.Event()
        script = rig.provider.script(SENT[0], gate, *SENT[1:])
        waits = rig.provider.script(*SENT)
        reply = client.post(script.path, ASKED)
        reply.until(DUE[0])
        handles = Path(f"/proc/{rig.mitmdump.pid}/fd")
        taken = len(list(handles.iterdir()))
        with limited(rig, resource.RLIMIT_NOFILE, taken):
            other = Http1Client(connect(rig.mitmdump.port))
            other.send(waits.path, ASKED)
            rig.mitmdump.wait_for("Too many open files")
            gate.set()
            assert reply.rest() == whole(DUE)
            assert not waits.asked.is_set()
        with other:
            assert Http1Reply(other).rest() == whole(DUE)
        for each in (script, waits):
            assert rig.mitmdump.records(each)[-1]["end"] == "complete"
