import os
import shutil
import stat
from pathlib import Path

import pytest

from llm_normalize.records import log_file
from llm_normalize.records.log_file import OLD_FILES, LogFile

posix = pytest.mark.skipif(os.name == "nt", reason="an open file cannot be moved there")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def log(tmp_path: Path, said: list[str]) -> LogFile:
    return LogFile(tmp_path / "logs" / "a.log", 20, said.append)


def write(log: LogFile, *lines: bytes) -> None:
    left = list(lines)
    while left:
        left = left[log.append(left) :]


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir() if not each.name.startswith("."))


def test_lines_fill_the_file_before_it_rotates(log: LogFile) -> None:
    assert log.append([b"12345678\n", b"12345678\n", b"1234\n"]) == 2
    assert log.append([b"x" * 30 + b"\n", b"1\n"]) == 1  # one, however long
    write(log, b"last\n")
    log.close()
    assert log.path.read_bytes() == b"last\n"
    assert names(log.path.parent) == ["a.log", "a.log.1"]


def test_only_so_many_old_files_stay(log: LogFile) -> None:
    write(log, *[b"%d" % at * 20 + b"\n" for at in range(8)])
    log.close()
    assert len(names(log.path.parent)) == OLD_FILES + 1
    assert log.path.with_name("a.log.4").read_bytes() == b"3" * 20 + b"\n"


@posix
def test_a_name_without_its_lock_is_locked_again(log: LogFile, said: list[str]) -> None:
    write(log, b"1\n")
    shutil.rmtree(log.path.parent)
    other = LogFile(log.wanted, 20, said.append)
    write(other, b"other\n")
    write(log, b"2\n")
    assert other.path == log.wanted
    assert log.path == log.wanted.with_name("a-2.log")
    assert len(said) == 1
    log.close()
    other.close()


@posix
def test_a_folder_in_the_logs_place_is_an_error_until_it_is_gone(log: LogFile) -> None:
    write(log, b"1\n")
    log.path.unlink()
    log.path.mkdir()
    with pytest.raises(OSError, match="directory"):
        log.append([b"2\n"])
    log.path.rmdir()
    write(log, b"3\n")
    log.close()
    assert log.path.read_bytes() == b"3\n"


def test_a_shared_name_is_locked_and_rotated_by_the_one_that_comes_after(
    log: LogFile, said: list[str]
) -> None:
    write(log, b"1\n")
    log.shared = True
    log.let_go()
    new = LogFile(log.wanted, 20, said.append)
    write(new, b"2\n")
    write(log, b"3" * 40 + b"\n", b"4\n")
    assert (new.path, said) == (log.wanted, [])
    assert names(log.path.parent) == ["a.log"]
    assert log.path.read_bytes() == b"1\n2\n" + b"3" * 40 + b"\n4\n"
    log.close()
    new.close()


@posix
def test_a_lock_that_was_deleted_alone_is_taken_again(log: LogFile) -> None:
    write(log, b"1\n")
    lock = log.path.with_name(".a.log.lock")
    lock.unlink()
    write(log, b"2\n")
    assert lock.exists()
    log.close()
    assert log.path.read_bytes() == b"1\n2\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("size", [0, 30])
def test_others_lose_their_rights_to_a_log_that_was_there(
    log: LogFile, said: list[str], size: int
) -> None:
    log.path.parent.mkdir()
    log.path.write_bytes(b"x" * size)
    log.path.chmod(0o666)
    write(log, b"1\n")
    log.close()
    found = [log.path, *log.path.parent.glob("a.log.*")]
    assert [mode(each) for each in found] == [0o600] * (2 if size else 1)
    assert said == []


@posix
def test_mode_that_cannot_be_set_is_reported_and_the_log_goes_on(
    log: LogFile, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: int, _mode: int) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(log_file, "_set_mode", refuse)
    log.path.parent.mkdir()
    log.path.touch()
    log.path.chmod(0o644)
    write(log, b"1\n")
    log.close()
    assert log.path.read_bytes() == b"1\n"
    assert said == [f"others may be able to read {log.path}: no"]


# -- what somebody else has a hand in ---------------------------------------------------


def refused(log: LogFile, why: str) -> None:
    """Have nothing written, within the time that a pipe without a reader would take."""
    with pytest.raises(PermissionError, match=f"{why}.*normalize_pairs"):
        log.append([b"1\n"])
    log.close()


@pytest.fixture
def folder(log: LogFile) -> Path:
    log.path.parent.mkdir(mode=0o700)
    return log.path.parent


def link(path: Path, target: Path) -> None:
    target.write_bytes(b"mine\n")
    path.symlink_to(target)


PLACES = ["a.log", ".a.log.lock"]


@posix
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("exists", [True, False])
def test_link_is_not_followed(
    log: LogFile, folder: Path, tmp_path: Path, name: str, exists: bool
) -> None:
    target = tmp_path / "target"
    link(folder / name, target)
    if not exists:
        target.unlink()
    refused(log, "it is a link")
    assert (target.read_bytes() if exists else target.exists()) == (
        b"mine\n" * exists or 0
    )


@posix
@pytest.mark.parametrize("name", PLACES)
def test_file_of_another_user_is_not_written_to(
    log: LogFile, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / name).write_bytes(b"theirs\n")
    theirs = (folder / name).stat().st_ino
    monkeypatch.setattr(log_file, "_is_ours", lambda found: found.st_ino != theirs)
    refused(log, "it belongs to another user")
    assert (folder / name).read_bytes() == b"theirs\n"


@posix
def test_folder_of_another_user_is_not_written_to(
    log: LogFile, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "_is_ours", lambda _: False)
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    refused(log, "belongs to another user")
    assert names(folder) == []


@posix
@pytest.mark.parametrize("rights", [0o777, 0o720, 0o702])
def test_folder_that_others_write_to_is_refused(
    log: LogFile, folder: Path, rights: int
) -> None:
    folder.chmod(rights)
    refused(log, f"chmod go-w {folder}")
    assert names(folder) == []
    folder.chmod(rights | stat.S_ISVTX)  # as /tmp: nobody can take ours away
    write(log, b"1\n")
    log.close()
    assert mode(log.path) == 0o600


@posix
def test_folder_of_our_own_is_closed_to_others(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "normalize" / "a.log", 20, print)
    log.path.parent.mkdir()
    log.path.parent.chmod(0o777)
    write(log, b"1\n")
    log.close()
    assert mode(log.path.parent) == 0o700


@posix
@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_modes_are_ours_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    log = LogFile(tmp_path / "deep" / "logs" / "a.log", 20, print)
    before = os.umask(umask)
    try:
        write(log, b"x" * 20 + b"\n", b"1\n")
    finally:
        os.umask(before)
        log.close()
    found = list(log.path.parent.iterdir())
    assert {mode(each) for each in found} == {0o600}
    assert len(found) == 3
    assert {mode(log.path.parents[at]) for at in (0, 1)} == {0o700}


@posix
def test_rotation_follows_no_links(log: LogFile, folder: Path, tmp_path: Path) -> None:
    targets = [tmp_path / f"target{at}" for at in (1, 3, 4)]
    for at, target in zip((1, 3, 4), targets, strict=True):
        link(folder / f"a.log.{at}", target)
    targets[0].unlink()  # leads nowhere
    write(log, b"x" * 20 + b"\n", b"1\n")
    log.close()
    assert names(folder) == ["a.log", "a.log.1"]
    assert not any(each.is_symlink() for each in folder.iterdir())
    assert [each.read_bytes() for each in targets[1:]] == [b"mine\n"] * 2


@posix
def test_link_where_nothing_says_so_is_seen_all_the_same(
    log: LogFile, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder == log.path.parent
    monkeypatch.setattr(log_file, "_FLAGS", log_file._FLAGS & ~os.O_NOFOLLOW)
    link(log.path, tmp_path / "target")
    refused(log, "it is a link")
    assert (tmp_path / "target").read_bytes() == b"mine\n"


@posix
def test_file_with_another_name_is_not_written_to(
    log: LogFile, folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine\n")
    os.link(target, folder / "a.log")
    refused(log, "another name")
    assert target.read_bytes() == b"mine\n"
