"""The audit of packages in scripts/check.py, without a network: uv is stood in for."""

import os
from pathlib import Path
from typing import Any

import pytest

import _uv
from launchers import executable, load

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="stands in for uv with a shell script"
)


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module, with a uv that finds that packages fit together, and no hole."""
    module = load("workshop.release.audit")
    monkeypatch.setattr(module.sys, "argv", ["audit"])
    uv(tmp_path, 0, "Found no known vulnerabilities in 80 packages")
    found = _uv.Uv(str(tmp_path / "uv"), (), {"PATH": os.environ["PATH"]})
    monkeypatch.setattr(module._bootstrap, "uv", lambda: found)
    return module


def uv(folder: Path, code: int, said: str, fits: int = 0) -> None:
    executable(
        folder / "uv",
        f'case "$*" in *"pip check"*) echo "a 1 requires b"; exit {fits};; esac',
        f"cat <<'END'\n{said}\nEND",
        f"exit {code}",
    )


def test_without_a_service_nothing_was_audited_and_that_is_reported(
    audit: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uv(tmp_path, 2, "error: at https://joe:secret@host\n  cause: dns\n  cause: no name")
    assert audit.main() == audit.NOT_DONE
    assert capsys.readouterr().out == "not audited: no name\n"


def test_uv_that_is_not_the_reviewed_one_is_a_failure(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise _uv.MismatchError("uv is not what was reviewed")

    monkeypatch.setattr(audit._bootstrap, "uv", fail)
    assert audit.main() == 1
    assert "uv is not what was reviewed" in capsys.readouterr().out
