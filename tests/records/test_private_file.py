import os
from pathlib import Path

import pytest

from llm_normalize.records import private_file


def test_file_is_replaced_and_its_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("before")
    path.chmod(0o644)
    (tmp_path / f".a.json.{os.getpid()}").write_text("of a start that was killed")
    private_file.write(path, "ä\n")
    assert path.read_bytes() == "ä\n".encode()
    assert [*tmp_path.iterdir()] == [path]
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600


def test_what_was_there_stays_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.json"
    path.write_text("before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        private_file.write(path, "after")
    assert path.read_text() == "before"
    assert [*tmp_path.iterdir()] == [path]
