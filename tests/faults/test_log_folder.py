"""Somebody meddles with the folder of the before/after log."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.logs import CANNOT, LINES, answered, count, lost, records, rotated
from faults.rig import Rig

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows keeps open files where they are"
)

type Start = Callable[..., Rig]


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def remove_file(path: Path) -> None:
    path.unlink()


def move_file(path: Path) -> None:
    path.rename(path.with_name("moved.jsonl"))


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


@pytest.mark.fault("log-removed")
@pytest.mark.parametrize("meddle", [remove_folder, remove_file, move_file, move_folder])
def test_log_that_is_taken_away_goes_on_anew(
    start: Start, tmp_path: Path, meddle: Callable[[Path], None]
) -> None:
    path = tmp_path / "logs" / "pairs.jsonl"
    rig = start(options={"normalize_pairs": str(path)})
    answered(rig, path)
    with rig.bystander(recorded=False):
        meddle(path)
        answered(rig, path)
        if meddle is remove_folder:
            # The name is still locked: another mitmproxy takes the next.
            other = start(options={"normalize_pairs": str(path)})
            answered(other, path.with_name("pairs-2.jsonl"))
    rig.mitmdump.stop()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    # After it: one more, the bystander's last event and flow, and the next answer.
    assert count(records([path])) >= LINES + 2 + LINES
    assert "another instance" not in rig.mitmdump.log


@pytest.mark.fault("log-is-folder")
def test_folder_in_the_logs_place_costs_lines(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "logs" / "pairs.jsonl"
    rig = start(options={"normalize_pairs": str(path)})
    answered(rig, path)
    with rig.bystander(recorded=False):
        while not path.is_dir():
            path.unlink(missing_ok=True)
            with contextlib.suppress(FileExistsError):  # begun anew meanwhile
                path.mkdir()
        rig.works()
        rig.mitmdump.wait_for(CANNOT)
        path.rmdir()
        answered(rig, path)
    rig.mitmdump.stop()
    found = records([path])
    assert lost(found) >= 1
    assert count(found) >= LINES * 3
    assert rig.mitmdump.log.count(CANNOT) == 1


# Each at a stroke: a log that is missing for a moment is begun anew.


def link_log(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path.with_name("target"))
    link.replace(path)


def pipe_log(path: Path) -> None:
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    pipe.replace(path)


def open_folder(path: Path) -> None:
    path.parent.chmod(0o777)
    path.unlink()


@pytest.mark.fault("log-not-ours")
@pytest.mark.parametrize("meddle", [link_log, pipe_log, open_folder])
def test_log_that_is_not_ours_alone_is_not_written_to(
    start: Start, tmp_path: Path, meddle: Callable[[Path], None]
) -> None:
    path = tmp_path / "logs" / "pairs.jsonl"
    rig = start(options={"normalize_pairs": str(path)})
    answered(rig, path)
    with rig.bystander(recorded=False):
        meddle(path)
        rig.works()
        rig.mitmdump.wait_for(CANNOT)
        assert not path.with_name("target").exists()
        path.parent.chmod(0o700)
        path.unlink(missing_ok=True)
        answered(rig, path)
    rig.mitmdump.stop()
    assert rig.mitmdump.log.count(CANNOT) == 1
    assert (
        "or set normalize_pairs to a file in a folder of your own" in rig.mitmdump.log
    )


POWERLESS = """\
# Root may write anywhere; without this power it is as everybody else.
import ctypes

DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
libc = ctypes.CDLL(None, use_errno=True)
header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this thread
sets = (ctypes.c_uint32 * 6)()
if libc.capget(header, sets) == 0:
    sets[0] &= ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")
"""


@pytest.mark.fault("read-only")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drops capabilities")
@pytest.mark.parametrize("when", ["from the start", "later"])
def test_read_only_folder_costs_lines(start: Start, tmp_path: Path, when: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir(mode=0o500 if when == "from the start" else 0o700)
    path = folder / "pairs.jsonl"
    options = {"normalize_pairs": str(path), "normalize_pairs_size": "6k"}
    rig = start(options=options, scripts=[POWERLESS])
    answers = 3 + 1 + 2
    if when == "later":
        answers += 1
        answered(rig, path)
        folder.chmod(0o500)
    with rig.bystander(recorded=False):
        for _ in range(3):
            rig.works()
        rig.mitmdump.wait_for(CANNOT)
        rig.mitmdump.wait_for(os.strerror(13))
        folder.chmod(0o700)
        rig.works()
    rig.mitmdump.stop()
    found = records(rotated(path))
    assert lost(found) >= 1
    assert count(found) == LINES * answers
    assert rig.mitmdump.log.count(CANNOT) == 1
